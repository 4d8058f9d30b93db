// The library without a daemon: what trident.h promises of parsing, naming, the interpreter, errors, older callers'
// structs, threads and fork(). Oracle: the same formulas in C++ here.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/interpreted_context.h"
#include "clients/c/kernel.h"
#include "clients/c/trident.h"
#include "jit/expr/builder.h"
#include "runtime/os/socket.h"

namespace {

class ClientTest : public trident::client::InterpretedContext {
 protected:
  trident_status refused(const char* text, const trident_submit_options* options = nullptr) {
    trident_kernel* kernel = nullptr;
    const trident_status status = trident_submit(ctx_, text, options, &kernel);
    EXPECT_EQ(nullptr, kernel);
    return status;
  }
};

// Submissions that the daemon would refuse must not leave here: the kernel would stay interpreted without a word.
TEST_F(ClientTest, LimitsOfTheDaemonAreTheClients) {
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.elements_hint = 3'000'000'000;
  const trident_kernel* kernel = submit("x+1", &options);
  ASSERT_NE(nullptr, kernel);
  EXPECT_EQ(1u << 24, trident::client::Kernel::of(kernel)->elements);
  options.k = 1e6;
  EXPECT_NE(nullptr, submit("x+1", &options));
  for (const double k : {1.1e6, 1.9, 0.5, -1.0, std::nan(""), HUGE_VAL}) {
    options.k = k;
    EXPECT_EQ(TRIDENT_E_INVALID, refused("x+1", &options)) << k;
    EXPECT_NE(nullptr, std::strstr(trident_last_error(), "1e6")) << trident_last_error();
  }
}

TEST_F(ClientTest, ComputesWithArraysScalarsAndReductions) {
  const trident_kernel* k = submit("param a; y = a * u - v / 4; s = sum(u); (y, s)");
  ASSERT_NE(nullptr, k);
  std::vector<double> u(1000), v(1000), y(1000);
  double s = 0;
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = static_cast<double>(i) - 500, v[i] = static_cast<double>(i * i);
  ASSERT_EQ(0, trident_array_index(k, "u"));
  ASSERT_EQ(1, trident_array_index(k, "v"));
  ASSERT_EQ(0, trident_scalar_index(k, "a"));
  const void* in[] = {u.data(), v.data()};
  void* out[] = {y.data(), &s};
  const double a = 2.5;
  std::uint64_t params[1];
  std::memcpy(params, &a, sizeof(a));
  trident_call(k, u.size(), in, out, params);
  for (std::size_t i = 0; i < u.size(); ++i) ASSERT_EQ(2.5 * u[i] - v[i] / 4, y[i]) << i;
  EXPECT_EQ(-500.0, s);  // exact: the partial sums are integers
}

TEST_F(ClientTest, NamesAndTypes) {
  const trident_kernel* k = submit("param a: f32; i: i64; p = f32(u) * a; q = i + 1; t = sum(u); (p, q, t)");
  ASSERT_NE(nullptr, k);
  EXPECT_EQ(0, trident_array_index(k, "i"));
  EXPECT_EQ(1, trident_array_index(k, "u"));
  EXPECT_EQ(-1, trident_array_index(k, "a"));
  EXPECT_EQ(0, trident_scalar_index(k, "a"));
  EXPECT_EQ(2, trident_output_index(k, "t"));
  EXPECT_EQ(-1, trident_output_index(k, "nothing"));
  EXPECT_STREQ("u", trident_array_name(k, 1));
  EXPECT_EQ(nullptr, trident_array_name(k, 2));
  EXPECT_STREQ("a", trident_scalar_name(k, 0));
  EXPECT_EQ(TRIDENT_I64, trident_array_type(k, 0));
  EXPECT_EQ(TRIDENT_F64, trident_array_type(k, 1));
  EXPECT_EQ(TRIDENT_F32, trident_scalar_type(k, 0));
  EXPECT_EQ(TRIDENT_F32, trident_output_type(k, 0));
  EXPECT_EQ(TRIDENT_I64, trident_output_type(k, 1));
  EXPECT_EQ(-1, trident_output_type(k, 3));
  EXPECT_EQ(0, trident_output_is_scalar(k, 0));
  EXPECT_EQ(1, trident_output_is_scalar(k, 2));
  EXPECT_EQ(-1, trident_output_is_scalar(k, 3));
}

TEST_F(ClientTest, DeclaredVariablesKeepTheirOrder) {
  const trident_variable variables[] = {
      {"z", TRIDENT_F32, 0, -INFINITY, INFINITY}, {"unused", TRIDENT_F64, 0, 0, 1}, {"s", TRIDENT_I32, 1, 0, 10}};
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.type = TRIDENT_F32;
  options.variables = variables;
  options.variable_count = 3;
  const trident_kernel* k = submit("z * y", &options);
  ASSERT_NE(nullptr, k);
  EXPECT_EQ(0, trident_array_index(k, "z"));
  EXPECT_EQ(1, trident_array_index(k, "unused"));
  EXPECT_EQ(2, trident_array_index(k, "y"));
  EXPECT_EQ(TRIDENT_F32, trident_array_type(k, 2));
  trident_kernel_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(TRIDENT_OK, trident_info(k, &info));
  EXPECT_EQ(3u, info.array_count);
  EXPECT_EQ(1u, info.scalar_count);
  EXPECT_EQ(1u, info.done);
  EXPECT_EQ(0u, info.tier);
}

// Such a variable would take a place among the arrays that no text reads.
TEST_F(ClientTest, DeclaredNamesAreThoseThatATextCanWrite) {
  trident_variable variable = {"x", TRIDENT_F64, 0, -INFINITY, INFINITY};
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.variables = &variable;
  options.variable_count = 1;
  for (const char* name : {"", "1x", "12", " ", "a b", "x\n", "a(b", "\"x\"", "x;", "-1", "\xFF", "caf\xE9"}) {
    for (const unsigned syntax :
         {TRIDENT_SYNTAX_AUTO, TRIDENT_SYNTAX_INFIX, TRIDENT_SYNTAX_SEXPR, TRIDENT_SYNTAX_FPCORE}) {
      variable.name = name;
      options.syntax = syntax;
      EXPECT_EQ(TRIDENT_E_INVALID, refused("(FPCore (y) (+ y 1))", &options)) << name;
      EXPECT_NE(nullptr, std::strstr(trident_last_error(), *name == '\0' ? "without a name" : "no text can name"))
          << trident_last_error();
    }
  }
  variable.name = "a-b";  // a subtraction in the infix form, a word in the others
  options.syntax = TRIDENT_SYNTAX_INFIX;
  EXPECT_EQ(TRIDENT_E_INVALID, refused("y + 1", &options));
  EXPECT_NE(nullptr, std::strstr(trident_last_error(), "no text can name a variable 'a-b'")) << trident_last_error();
  options.syntax = TRIDENT_SYNTAX_SEXPR;
  const trident_kernel* k = submit("(+ a-b 1)", &options);
  ASSERT_NE(nullptr, k);
  EXPECT_EQ(0, trident_array_index(k, "a-b"));
  EXPECT_EQ(nullptr, trident_array_name(k, 1));
}

TEST_F(ClientTest, ErrorsHaveAStatusAndAText) {
  EXPECT_EQ(TRIDENT_E_SYNTAX, refused("a + * b"));
  EXPECT_NE(nullptr, std::strstr(trident_last_error(), "a + * b\n      ^")) << trident_last_error();
  EXPECT_EQ(TRIDENT_E_TYPE, refused("x << 1"));
  EXPECT_EQ(TRIDENT_E_INVALID, refused(nullptr));
  EXPECT_EQ(TRIDENT_E_INVALID, trident_submit(nullptr, "x", nullptr, nullptr));
  EXPECT_EQ(TRIDENT_E_LIMIT, refused((std::string(1u << 20, ' ') + "x").c_str()));
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  const auto bad = [&](auto change) {
    trident_submit_options changed = options;
    change(changed);
    return refused("x", &changed);
  };
  EXPECT_EQ(TRIDENT_E_INVALID, bad([](auto& o) { o.struct_size = 0; }));
  EXPECT_EQ(TRIDENT_E_INVALID, bad([](auto& o) { o.type = TRIDENT_I32; }));
  EXPECT_EQ(TRIDENT_E_INVALID, bad([](auto& o) { o.policy = 3; }));
  EXPECT_EQ(TRIDENT_E_INVALID, bad([](auto& o) { o.syntax = 5; }));
  EXPECT_EQ(TRIDENT_E_INVALID, bad([](auto& o) { o.k = 0.5; }));
  EXPECT_EQ(TRIDENT_E_INVALID, bad([](auto& o) { o.k = NAN; }));
  EXPECT_EQ(TRIDENT_E_INVALID, bad([](auto& o) { o.variable_count = 1; }));
  EXPECT_EQ(TRIDENT_E_LIMIT, bad([](auto& o) { o.variable_count = 65; }));
  const trident_variable variable = {"x", TRIDENT_F64, 0, 1, -1};
  EXPECT_EQ(TRIDENT_E_INVALID, bad([&](auto& o) { o.variables = &variable, o.variable_count = 1; }));
}

TEST_F(ClientTest, StructsOfOlderCallers) {
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.struct_size = offsetof(trident_submit_options, k);  // what follows must not be read
  options.k = NAN;
  options.variable_count = 1000;
  EXPECT_NE(nullptr, submit("x + 1", &options));
  trident_kernel_info info;
  std::memset(&info, 0xEE, sizeof(info));
  info.struct_size = offsetof(trident_kernel_info, swaps);
  ASSERT_EQ(TRIDENT_OK, trident_info(kernels_.back(), &info));
  EXPECT_EQ(1u, info.array_count);
  EXPECT_EQ(0xEEEEEEEEu, info.swaps);
  info.struct_size = 0;
  EXPECT_EQ(TRIDENT_E_INVALID, trident_info(kernels_.back(), &info));
}

TEST_F(ClientTest, WaitReturnsAtOnceWhenNothingWillCome) {
  trident_kernel* k = submit("x + 1");
  EXPECT_EQ(TRIDENT_OK, trident_wait(k, 0, 0));
  EXPECT_EQ(TRIDENT_OK, trident_wait(k, 2, 0));
  EXPECT_EQ(TRIDENT_E_INVALID, trident_wait(k, 3, 0));
}

TEST_F(ClientTest, ManyThreadsMakeTheFirstCall) {
  for (int round = 0; round < 20; ++round) {
    const trident_kernel* k = submit("x * 2 + 1");
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([k, t] {
        std::array<double, 64> x, y;
        x.fill(t);
        const void* in[] = {x.data()};
        void* out[] = {y.data()};
        trident_call(k, x.size(), in, out, nullptr);
        for (const double v : y) EXPECT_EQ(2.0 * t + 1, v);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(ClientTest, OutlivesItsContext) {
  trident_kernel* k = submit("x + 1");
  trident_ctx* other = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_open(nullptr, &other));
  trident_kernel* orphan = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(other, "x - 1", nullptr, &orphan));
  trident_close(other);
  double x = 5, y = 0;
  const void* in[] = {&x};
  void* out[] = {&y};
  trident_call(orphan, 1, in, out, nullptr);
  EXPECT_EQ(4.0, y);
  EXPECT_EQ(TRIDENT_OK, trident_wait(orphan, 2, 10'000));
  trident_close_kernel(orphan);
  trident_call(k, 1, in, out, nullptr);
  EXPECT_EQ(6.0, y);
}

TEST_F(ClientTest, ChildOfForkComputes) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support new threads after a fork with several";
#endif
  ::setenv("TRIDENT_ENGINE", "/nonexistent/libtrident-engine.so", 1);
  trident_options options{};
  options.struct_size = sizeof(options);
  options.socket_path = "/nonexistent/tridentd.sock";
  trident_ctx* ctx = nullptr;  // mode auto: with an I/O thread that tries to connect
  ASSERT_EQ(TRIDENT_OK, trident_open(&options, &ctx));
  trident_kernel* k = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(ctx, "x + 1", nullptr, &k));
  const auto right = [&] {
    double x = 5, y = 0;
    const void* in[] = {&x};
    void* out[] = {&y};
    trident_call(k, 1, in, out, nullptr);
    trident_kernel* other = nullptr;
    if (trident_submit(ctx, "x * 3", nullptr, &other) != TRIDENT_OK) return false;
    double z = 0;
    out[0] = &z;
    trident_call(other, 1, in, out, nullptr);
    if (trident_wait(other, 1, 20) != TRIDENT_E_TIMEOUT) return false;
    trident_close_kernel(other);
    return y == 6 && z == 15;
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(right() ? 0 : 1);
  EXPECT_TRUE(right());
  int status = -1;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
  trident_close_kernel(k);
  trident_close(ctx);
}

/// Names of the sockets among this process's descriptors ("socket:[12345]").
std::set<std::string> open_sockets() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    char name[64] = "";
    if (::readlink(entry.path().c_str(), name, sizeof name - 1) > 0 && std::strncmp(name, "socket:", 7) == 0)
      names.insert(name);
  }
  return names;
}

// The connection is the parent's conversation: a copy in the child would keep it open after the parent's end, and two
// could talk on it.
TEST_F(ClientTest, ChildOfForkHoldsNoCopyOfTheConnection) {
  char folder[] = "/tmp/trident-fork-XXXXXX";
  ASSERT_NE(nullptr, ::mkdtemp(folder));
  const std::string path = std::string(folder) + "/s";
  {
    const auto listener = trident::os::UnixListener::bind(path, 0600, 4);
    ASSERT_TRUE(listener.ok()) << listener.error().message;
    const auto accept = [&] {
      for (int i = 0; i < 60'000; ++i) {
        auto accepted = trident::os::accept_unix(listener->fd());
        if (accepted.status == trident::os::AcceptStatus::ok) return std::move(accepted.socket);
        ::usleep(1000);
      }
      return trident::os::Fd();
    };
    trident_options options{};
    options.struct_size = sizeof(options);
    options.socket_path = path.c_str();
    trident_ctx* ctx = nullptr;
    ASSERT_EQ(TRIDENT_OK, trident_open(&options, &ctx));
    trident_kernel* k = nullptr;
    ASSERT_EQ(TRIDENT_OK, trident_submit(ctx, "x + 1", nullptr, &k));
    const trident::os::Fd ours = accept();
    ASSERT_TRUE(ours.valid());
    // The client's hello: from here on the context holds the connection and waits for an answer, which does not come.
    trident::os::wait_readable(ours);
    std::set<std::string> of_the_client = open_sockets();
    for (const int fd : {listener->fd().get(), ours.get()}) {
      char name[64] = "";
      ASSERT_GT(::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof name - 1), 0);
      of_the_client.erase(name);
    }
    ASSERT_FALSE(of_the_client.empty());
    const pid_t child = ::fork();
    if (child == 0) {
      for (const std::string& name : open_sockets())
        if (of_the_client.contains(name)) ::_exit(1);
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_EQ(0, status) << "the child holds the parent's connection";
    trident_close_kernel(k);
    trident_close(ctx);
  }
  std::filesystem::remove_all(folder);
}

TEST_F(ClientTest, ScalarOutputsAgreeWithTheLoweredKernel) {
  using trident::client::Kernel;
  for (const char* text :
       {"sum(x)", "param a; a * 2", "param a; a * sum(x)", "x", "mean(x) / max(minof(x), 1)", "1.5"}) {
    const trident_kernel* k = submit(text);
    ASSERT_NE(nullptr, k) << text;
    const auto lowered = trident::expr::lower(Kernel::of(k)->expr, {});
    ASSERT_TRUE(lowered) << text;
    const bool scalar = lowered->outputs[0].kind == trident::kir::OutputKind::scalar;
    EXPECT_EQ(scalar, trident_output_is_scalar(k, 0) == 1) << text;
  }
}

// A call reads the entry's cache line. What the library's threads write to must not share it.
TEST_F(ClientTest, NothingThatIsWrittenToLiesBesideTheEntry) {
  const auto& kernel = *trident::client::Kernel::of(submit("x + 1"));
  const auto line_of = [](const void* place) { return reinterpret_cast<std::uintptr_t>(place) / 64; };
  EXPECT_LT(line_of(&kernel.entry), line_of(&kernel.told));
  EXPECT_LT(line_of(&kernel.entry), line_of(&kernel.submission));
  EXPECT_EQ(0u, reinterpret_cast<std::uintptr_t>(&kernel.entry) % sizeof(kernel.entry));
}

TEST_F(ClientTest, ManyOpsAreRefusedOrLoweredAtOnce) {
  // Each of 256 ops may expand a lot: the sum must stay below the limit that lowering has.
  std::string text = "x";
  for (int i = 0; i < 84; ++i) text = "exp(sin(" + text + ") * x" + std::to_string(i % 60) + ")";
  trident_kernel* k = submit(text.c_str());
  ASSERT_NE(nullptr, k);
  EXPECT_EQ(TRIDENT_OK, trident_wait(k, 0, 0)) << trident_last_error();
}

}  // namespace
