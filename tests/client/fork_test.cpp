// fork() while the library's threads are in the middle of something. Oracles: the formula and the deadline of
// fork_stress.c; for what is made once in a process, the guards of all statics in the engine's and the library's files.
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "clients/c/engine_abi.h"
#include "clients/c/trident.h"
#include "clients/c/trident_function.h"
#include "runtime/os/process.h"
#include "tests/client/guest_loops.h"
#include "tests/daemon/private_daemon.h"
#include "tests/support/draws.h"

namespace trident::tests {
namespace {

constexpr std::uint32_t kPatienceMs = 60'000;

void expect_survives(const std::string& mode, int tier, int children, unsigned delay_us,
                     const std::string& socket = {}) {
  const std::vector<std::string> command = {FORK_STRESS_PATH, mode, std::to_string(tier), std::to_string(children),
                                            std::to_string(delay_us)};
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  ::setenv("TRIDENT_SOCKET", socket.empty() ? "/nonexistent/tridentd.sock" : socket.c_str(), 1);
  const auto result = os::run_command(command, 10 * kPatienceMs);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ("exit status 0", result->exit.describe()) << mode << ", " << delay_us << " us\n" << result->output;
}

/// A child forked after each of some delays up to 30 ms.
void expect_survives_after_delays(const std::string& mode, std::uint64_t delays, const std::string& socket = {}) {
  constexpr std::uint64_t kDelayMaxUs = 30'000;
  for (std::uint64_t i = 0; i <= delays; ++i)
    expect_survives(mode, 2, 1, static_cast<unsigned>(kDelayMaxUs * i / delays), socket);
}

// A process of its own for each delay: what is made once is made in its first optimisation.
TEST(Fork, DuringTheFirstOptimisationInThisProcess) {
  expect_survives_after_delays("embedded", testing::draws(2));
}
TEST(Fork, WhileTheEngineIsLoadedForModeAuto) {
  expect_survives_after_delays("auto", testing::draws(1));
}
TEST(Fork, WithADaemon) {
  const PrivateDaemon daemon;
  expect_survives_after_delays("daemon", testing::draws(1), daemon.socket());
}

TEST(Fork, ManyChildren) {
  const auto children = static_cast<int>(testing::draws(50));
  expect_survives("embedded", 1, children, 3000);
  const PrivateDaemon daemon;
  expect_survives("daemon", 1, children, 3000, daemon.socket());
}

/// A loaded file's statics that are made on first use.
class Statics {
 public:
  Statics(const void* any_function, const std::string& file) {
    Dl_info info{};
    EXPECT_NE(0, ::dladdr(any_function, &info));
    const auto* base = static_cast<const unsigned char*>(info.dli_fbase);
    std::ifstream in(file, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    const auto& header = at<Elf64_Ehdr>(0);
    for (unsigned s = 0; s < header.e_shnum; ++s) {
      const auto& section = at<Elf64_Shdr>(header.e_shoff + s * sizeof(Elf64_Shdr));
      if (section.sh_type == SHT_SYMTAB) read_symbols(section, base);
    }
  }
  [[nodiscard]] std::size_t size() const { return guards_.size(); }
  /// Names of those that are made.
  [[nodiscard]] std::set<std::string> made() const {
    std::set<std::string> names;
    for (const auto& [name, guard] : guards_)
      if (__atomic_load_n(guard, __ATOMIC_ACQUIRE) != 0) names.insert(name);
    return names;
  }

 private:
  template <class T>
  const T& at(std::size_t offset) const {
    return *reinterpret_cast<const T*>(bytes_.data() + offset);
  }
  void read_symbols(const Elf64_Shdr& section, const unsigned char* base) {
    const auto& names = at<Elf64_Shdr>(at<Elf64_Ehdr>(0).e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    for (std::size_t o = 0; o < section.sh_size; o += sizeof(Elf64_Sym)) {
      const auto& symbol = at<Elf64_Sym>(section.sh_offset + o);
      const char* name = bytes_.data() + names.sh_offset + symbol.st_name;
      const bool per_thread = ELF64_ST_TYPE(symbol.st_info) == STT_TLS;
      if (per_thread || std::strncmp(name, "_ZGV", 4) != 0) continue;
      const std::unique_ptr<char, decltype(&std::free)> readable(abi::__cxa_demangle(name, nullptr, nullptr, nullptr),
                                                                 &std::free);
      guards_.emplace_back(readable != nullptr ? readable.get() : name, base + symbol.st_value);
    }
  }
  std::vector<char> bytes_;
  std::vector<std::pair<std::string, const unsigned char*>> guards_;
};

std::set<std::string> without(std::set<std::string> all, const std::set<std::string>& known) {
  for (const std::string& name : known) all.erase(name);
  return all;
}

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

const char* const kTexts[] = {
    "x + 1",
    "sin(x)^2 + exp(-y) * log(1 + z*z)",
    "param a; (sum(x*a), mean(x), min(x), atan2(x, y))",
    "diff(tanh(x)*erf(x), x) + cbrt(x)",
    "table t; t[2*index + 1] * pow(x, 3)",
    "x: f32; y: i32; where(x > 1, f32(y) * x, sqrt(x))",
    "a: i64; b: i64; a*b + (a & b)",
    "(a*x + b)*(a*x - b) / (1 + x/(1 + x))",
};

/// Submits every text under one policy, the policies in turn, and waits for the end.
void work_of_all_kinds(trident_ctx* ctx) {
  std::vector<trident_kernel*> kernels;
  std::size_t turn = 0;
  for (const char* text : kTexts) {
    constexpr std::uint32_t kPolicies[] = {TRIDENT_BOUNDED, TRIDENT_EXACT, TRIDENT_FAST};
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.policy = kPolicies[turn++ % std::size(kPolicies)];
    trident_kernel* kernel = nullptr;
    if (trident_submit(ctx, text, &options, &kernel) == TRIDENT_OK) kernels.push_back(kernel);
  }
  EXPECT_EQ(kernels.size(), std::size(kTexts));
  for (trident_kernel* kernel : kernels) {
    EXPECT_EQ(TRIDENT_OK, trident_wait(kernel, 2, kPatienceMs)) << trident_last_error();
    trident_close_kernel(kernel);
  }
}

/// Submits every loop, and one that is refused, and waits for the answers.
void work_of_loops(trident_ctx* ctx) {
#if defined(__x86_64__)
  trident_loops* loops = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_loops_open(ctx, nullptr, &loops));
  std::uint64_t head = kGuestHead;
  std::vector<std::vector<std::uint32_t>> codes = {{0xd65f03c0}};
  for (const GuestLoop& what : guest_loops()) codes.push_back(what.words());
  for (const auto& words : codes) {
    trident_loop_request request{sizeof request, 0, head, head, words.data(), 4 * words.size()};
    trident_loop* loop = nullptr;
    ASSERT_EQ(TRIDENT_OK, trident_loop_submit(loops, &request, &loop)) << trident_last_error();
    trident_loop_facts facts{};
    facts.struct_size = sizeof facts;
    const auto settled = [&] {
      return trident_loop_info(loop, &facts) == TRIDENT_OK && facts.state != TRIDENT_LOOP_WAITING;
    };
    EXPECT_TRUE(eventually(settled));
    EXPECT_EQ(words.size() == 1 ? TRIDENT_LOOP_GIVEN_UP : TRIDENT_LOOP_READY, static_cast<int>(facts.state));
    head += 0x1000;
  }
  trident_loops_close(loops);
#endif
}

/// Submits a function whose calls are copied in, and one of the library, and waits for their code.
void work_of_functions(trident_ctx* ctx) {
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.syntax = TRIDENT_SYNTAX_FUNCTION;
  trident_kernel *own = nullptr, *sort = nullptr;
  ASSERT_EQ(TRIDENT_OK,
            trident_submit(ctx, "fn f(a: i64) -> i64 { let t = [i64; 9]; return gcd(a, t[2]); }", &options, &own));
  trident_library* shipped = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_library_open(ctx, nullptr, &shipped));
  ASSERT_EQ(TRIDENT_OK, trident_library_function(shipped, "quicksort", &sort));
  for (trident_kernel* kernel : {own, sort}) EXPECT_EQ(TRIDENT_OK, trident_wait(kernel, 1, kPatienceMs));
  trident_argument argument{};
  argument.value.i = 7;
  trident_returned returned{};
  returned.struct_size = sizeof returned;
  EXPECT_EQ(TRIDENT_OK, trident_function_call(own, &argument, 1, 0, &returned));
  trident_library_close(shipped);
  trident_close_kernel(own);
}

TEST(Fork, NothingIsMadeLazilyInAThreadOfTheLibrary) {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  void* const library = ::dlopen(TRIDENT_ENGINE_PATH, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(nullptr, library) << ::dlerror();
  void* const prepare = ::dlsym(library, "trident_engine_prepare");
  ASSERT_NE(nullptr, prepare);
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_EMBEDDED;
  trident_ctx* ctx = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  for (const auto work : {TRIDENT_ENGINE_BASELINES, TRIDENT_ENGINE_SEARCHES, TRIDENT_ENGINE_PROGRAMS,
                          TRIDENT_ENGINE_LOOPS, TRIDENT_ENGINE_FUNCTIONS})
    reinterpret_cast<trident_engine_prepare_fn>(prepare)(work);
  const Statics engine(prepare, TRIDENT_ENGINE_PATH);
  const Statics client(reinterpret_cast<const void*>(&trident_open), TRIDENT_LIBRARY_PATH);
  EXPECT_GT(engine.size(), 10u);
  trident_library* shipped = nullptr;  // made under the lock that fork() takes, too
  ASSERT_EQ(TRIDENT_OK, trident_library_open(ctx, nullptr, &shipped));
  trident_library_close(shipped);
  const std::set<std::string> made = engine.made(), made_by_client = client.made();
  EXPECT_GT(made.size(), 8u);
  work_of_all_kinds(ctx);
  trident_program* program = nullptr;
  EXPECT_EQ(TRIDENT_OK,
            trident_build_program(ctx, "push 1 push 2 add write_io 1 halt", nullptr, nullptr, nullptr, &program))
      << trident_last_error();
  trident_free_program(program);
  work_of_loops(ctx);
  work_of_functions(ctx);
  EXPECT_EQ("", listed(without(engine.made(), made)));
  EXPECT_EQ("", listed(without(client.made(), made_by_client)));
  trident_close(ctx);
}

}  // namespace
}  // namespace trident::tests
