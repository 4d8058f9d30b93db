// Kernels made in the client's own process by libtrident-engine.so: submitted, swapped twice, right each time, and
// given up at once when the context closes in the middle of a search. Oracle: the formulas, in long double.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/trident.h"
#include "schemas/kernel_image.h"

namespace {

constexpr std::uint32_t kPatienceMs = 60'000;
constexpr std::size_t kElements = 1003;  // with a tail at every vector length

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Processor time of all threads of this process.
double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

trident_ctx* open_context(trident_mode mode, const char* socket = nullptr) {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = static_cast<std::uint32_t>(mode);
  options.socket_path = socket;
  trident_ctx* ctx = nullptr;
  EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  return ctx;
}

trident_kernel* submit(trident_ctx* ctx, const char* text) {
  trident_kernel* kernel = nullptr;
  EXPECT_EQ(TRIDENT_OK, trident_submit(ctx, text, nullptr, &kernel)) << trident_last_error();
  return kernel;
}

trident_kernel_info info_of(const trident_kernel* kernel) {
  trident_kernel_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(TRIDENT_OK, trident_info(kernel, &info));
  return info;
}

// "param a; y = a * exp(-x) + sqrt(x); s = sum(x); (y, s)" on numbers whose sum is exact.
constexpr const char* kText = "param a; y = a * exp(-x) + sqrt(x); s = sum(x); (y, s)";

void expect_right(const trident_kernel* kernel, const char* when) {
  const double a = 2.5;
  std::vector<double> x(kElements), y(kElements, -1);
  double sum = -1, wanted_sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) wanted_sum += x[i] = 0.25 * static_cast<double>(i % 40);
  const void* in[] = {x.data()};
  void* out[] = {y.data(), &sum};
  std::uint64_t params[1];
  std::memcpy(params, &a, sizeof(a));
  trident_call(kernel, x.size(), in, out, params);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double wanted =
        a * std::exp(-static_cast<long double>(x[i])) + std::sqrt(static_cast<long double>(x[i]));
    ASSERT_LE(std::abs(static_cast<double>(y[i] - wanted)), 4 * 0x1p-52 * static_cast<double>(std::abs(wanted)))
        << when << ", element " << i;
  }
  ASSERT_EQ(wanted_sum, sum) << when;
}

std::ptrdiff_t threads_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// docs/embedding.md promises these numbers. Oracle: the system's list of this process's threads.
TEST(Embedded, AThreadCompilesAndAnotherSearches) {
  std::thread([] {}).join();  // ThreadSanitizer adds a thread of its own to a process that has ever had another
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a joined thread leaves the list a little later
  const std::ptrdiff_t own = threads_now();
  for (const trident_mode mode : {TRIDENT_MODE_INTERP, TRIDENT_MODE_EMBEDDED}) {
    const std::ptrdiff_t compiles = mode == TRIDENT_MODE_EMBEDDED ? 1 : 0;
    trident_ctx* ctx = open_context(mode);
    ASSERT_NE(nullptr, ctx);
    EXPECT_EQ(own + compiles, threads_now());
    for (int round = 0; round < 2; ++round) {  // one kernel after the other: the same thread searches
      trident_kernel* kernel = submit(ctx, kText);
      ASSERT_NE(nullptr, kernel);
      expect_right(kernel, "threads");
      const Clock::time_point begin = Clock::now();
      while (compiles != 0 && info_of(kernel).done == 0 &&
             seconds_since(begin) < 60)  // data that were seen begin another search
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_LE(threads_now(), own + 2 * compiles);
      trident_close_kernel(kernel);
    }
    trident_close(ctx);
    EXPECT_EQ(own, threads_now());
  }
}

TEST(Embedded, InterpretsThenCompilesThenOptimises) {
  trident_ctx* ctx = open_context(TRIDENT_MODE_EMBEDDED);
  ASSERT_NE(nullptr, ctx);
  trident_kernel* kernel = submit(ctx, kText);
  ASSERT_NE(nullptr, kernel);
  expect_right(kernel, "at once");
  ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
  EXPECT_GE(info_of(kernel).tier, static_cast<unsigned>(TRIDENT_TIER_BASELINE));
  EXPECT_NE(0u, info_of(kernel).isa);
  expect_right(kernel, "compiled");
  ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, TRIDENT_TIER_OPTIMISED, kPatienceMs)) << trident_last_error();
  // The job's end follows its last image.
  const Clock::time_point begin = Clock::now();
  while (info_of(kernel).done == 0 && seconds_since(begin) < kPatienceMs / 1000)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(1u, info_of(kernel).done);
  expect_right(kernel, "optimised");
  trident_stats stats{};
  stats.struct_size = sizeof(stats);
  ASSERT_EQ(TRIDENT_OK, trident_get_stats(ctx, &stats));
  EXPECT_EQ(1u, stats.baseline_received);
  EXPECT_GE(stats.optimised_received + stats.no_gain, 1u);
  EXPECT_LE(stats.optimised_received + stats.no_gain, 2u);  // general code, and code for the data of the calls
  EXPECT_EQ(0u, stats.errors + stats.rejected_images);
  trident_close_kernel(kernel);
  trident_close(ctx);
}

std::size_t engine_threads() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "trident-engine" ? 1 : 0;
  }
  return count;
}

TEST(Embedded, SeveralSearchesUseTheProcessorsThatThereAre) {
  trident_ctx* ctx = open_context(TRIDENT_MODE_EMBEDDED);
  ASSERT_NE(nullptr, ctx);
  std::vector<trident_kernel*> kernels;
  for (int i = 0; i < 6; ++i)
    kernels.push_back(submit(ctx, (std::string(kText) + std::string(static_cast<std::size_t>(i), ' ')).c_str()));
  for (const trident_kernel* kernel : kernels) ASSERT_NE(nullptr, kernel);
  for (trident_kernel* kernel : kernels)
    ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, TRIDENT_TIER_OPTIMISED, 10 * kPatienceMs)) << trident_last_error();
  EXPECT_EQ(engine_threads(), 1 + std::min(std::thread::hardware_concurrency(), 4u));  // one makes baselines
  for (trident_kernel* kernel : kernels) {
    expect_right(kernel, "after several searches");
    trident_close_kernel(kernel);
  }
  trident_close(ctx);
  EXPECT_EQ(engine_threads(), 0u);
}

// A search of seconds for each processor, and one more: the baseline of a new text does not wait for any of them.
TEST(Embedded, BaselinesDoNotWaitForSearches) {
  trident_ctx* ctx = open_context(TRIDENT_MODE_EMBEDDED);
  ASSERT_NE(nullptr, ctx);
  std::vector<trident_kernel*> searched;
  for (unsigned i = 0; i <= std::thread::hardware_concurrency(); ++i) {
    std::string text = "x";
    for (int term = 0; term < 300; ++term) text += " + x*" + std::to_string(1000 * i + term) + ".25";
    searched.push_back(submit(ctx, text.c_str()));
    ASSERT_NE(nullptr, searched.back());
    ASSERT_EQ(TRIDENT_OK, trident_wait(searched.back(), TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
  }
  trident_kernel* kernel = submit(ctx, kText);
  ASSERT_NE(nullptr, kernel);
  ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
  for (const trident_kernel* other : searched) EXPECT_EQ(0u, info_of(other).done);
  expect_right(kernel, "compiled beside searches");
  trident_close_kernel(kernel);
  for (trident_kernel* other : searched) trident_close_kernel(other);
  trident_close(ctx);
}

// t[2*index + 1] beside a gather by an array of numbers, of which some lie outside: the length is a scalar of its own.
TEST(Embedded, TablesAreReadByTheNumbersOfTheirElements) {
  trident_ctx* ctx = open_context(TRIDENT_MODE_EMBEDDED);
  ASSERT_NE(nullptr, ctx);
  const double inf = std::numeric_limits<double>::infinity();
  const trident_variable variables[] = {{"j", TRIDENT_I64, TRIDENT_ARRAY, -inf, inf},
                                        {"t", TRIDENT_F64, TRIDENT_TABLE, -inf, inf},
                                        {"a", TRIDENT_F64, TRIDENT_SCALAR, -inf, inf}};
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.variables = variables;
  options.variable_count = 3;
  trident_kernel* kernel = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(ctx, "a * t[2*index + 1] + t[j]", &options, &kernel)) << trident_last_error();
  EXPECT_EQ(2u, info_of(kernel).array_count);
  EXPECT_EQ(2u, info_of(kernel).scalar_count);
  EXPECT_EQ(1, trident_array_index(kernel, "t"));
  EXPECT_EQ(0, trident_scalar_index(kernel, "a"));
  EXPECT_EQ(1, trident_scalar_index(kernel, "t.length"));
  EXPECT_STREQ("t.length", trident_scalar_name(kernel, 1));
  EXPECT_EQ(TRIDENT_I64, trident_scalar_type(kernel, 1));
  const auto element = [](const std::vector<double>& t, std::int64_t at) {
    return at >= 0 && at < static_cast<std::int64_t>(t.size()) ? t[static_cast<std::size_t>(at)] : 0.0;
  };
  for (const std::uint32_t tier : {TRIDENT_TIER_INTERPRETER, TRIDENT_TIER_BASELINE, TRIDENT_TIER_OPTIMISED}) {
    ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, tier, kPatienceMs)) << trident_last_error();
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{500}, std::size_t{4000}}) {
      std::vector<double> t(length), y(kElements, -1);
      std::vector<std::int64_t> j(kElements);
      for (std::size_t i = 0; i < length; ++i) t[i] = 0.5 * static_cast<double>(i) + 1;
      for (std::size_t i = 0; i < j.size(); ++i) j[i] = static_cast<std::int64_t>(i * 7 % 600) - 40;
      const void* in[] = {j.data(), t.data()};
      void* out[] = {y.data()};
      const double a = 2;
      std::uint64_t params[2];
      std::memcpy(params, &a, sizeof(a));
      params[1] = length;
      trident_call(kernel, kElements, in, out, params);
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(a * element(t, 2 * static_cast<std::int64_t>(i) + 1) + element(t, j[i]), y[i])
            << "tier " << tier << ", length " << length << ", element " << i;
    }
  }
  trident_close_kernel(kernel);
  trident_close(ctx);
}

TEST(Embedded, VariablesWithoutRangesMayBeAnything) {
  trident_ctx* ctx = open_context(TRIDENT_MODE_EMBEDDED);
  ASSERT_NE(nullptr, ctx);
  trident_variable variables[2] = {};  // zeros, as a designated initialiser leaves them
  variables[0].name = "s", variables[0].type = TRIDENT_F64, variables[0].scalar = TRIDENT_SCALAR;
  variables[1].name = "x", variables[1].type = TRIDENT_F64;
  for (const trident_policy policy : {TRIDENT_EXACT, TRIDENT_BOUNDED, TRIDENT_FAST}) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.variables = variables, options.variable_count = 2, options.policy = policy;
    trident_kernel* kernel = nullptr;
    ASSERT_EQ(TRIDENT_OK, trident_submit(ctx, "exp(s*x) + sin(x)/(1 + s)", &options, &kernel)) << trident_last_error();
    for (const std::uint32_t tier : {TRIDENT_TIER_INTERPRETER, TRIDENT_TIER_BASELINE, TRIDENT_TIER_OPTIMISED}) {
      ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, tier, kPatienceMs)) << trident_last_error();
      std::vector<double> x(kElements), y(kElements);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01 * static_cast<double>(i);
      const double s = 0.5;
      std::uint64_t param;
      std::memcpy(&param, &s, sizeof(s));
      const void* in[] = {x.data()};
      void* out[] = {y.data()};
      trident_call(kernel, kElements, in, out, &param);
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(1, y[i] / (std::exp(s * x[i]) + std::sin(x[i]) / (1 + s)), 1e-12)
            << "policy " << policy << ", tier " << tier;
    }
    trident_close_kernel(kernel);
  }
  trident_close(ctx);
}

TEST(Embedded, NoElementsNeedNoTablesWhereAllOutputsAreArrays) {
  trident_ctx* ctx = open_context(TRIDENT_MODE_EMBEDDED);
  ASSERT_NE(nullptr, ctx);
  // One with scalars and a frame, one that only fills, one with a reduction.
  trident_kernel* maps = submit(ctx, "param a; (x * a + sin(y), exp(x) / y, a + 1)");
  trident_kernel* fills = submit(ctx, "(2.5, x)");
  trident_kernel* sums = submit(ctx, "param a; (sum(x * a), x)");
  for (const std::uint32_t tier : {TRIDENT_TIER_INTERPRETER, TRIDENT_TIER_BASELINE, TRIDENT_TIER_OPTIMISED}) {
    for (trident_kernel* kernel : {maps, fills, sums})
      ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, tier, kPatienceMs)) << trident_last_error();
    for (const trident_kernel* kernel : {maps, fills}) trident_call(kernel, 0, nullptr, nullptr, nullptr);
    double sum = -1;
    const void* in[] = {nullptr};
    void* out[] = {&sum, nullptr};
    const std::uint64_t params[] = {0};
    trident_call(sums, 0, in, out, params);
    EXPECT_EQ(0, sum) << tier;
  }
  for (trident_kernel* kernel : {maps, fills, sums}) trident_close_kernel(kernel);
  trident_close(ctx);
}

TEST(Embedded, TakesOverWhereNoDaemonIs) {
  trident_ctx* ctx = open_context(TRIDENT_MODE_AUTO, "/nonexistent/tridentd.sock");
  ASSERT_NE(nullptr, ctx);
  trident_kernel* kernel = submit(ctx, kText);
  ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
  EXPECT_GE(info_of(kernel).tier, static_cast<unsigned>(TRIDENT_TIER_BASELINE));
  expect_right(kernel, "compiled");
  trident_close_kernel(kernel);
  trident_close(ctx);
}

// The engine's thread is started by the I/O thread, at any moment of a close: a close that it does not hear of waits
// for ever.
TEST(Embedded, AContextMayCloseWhileTheEngineStarts) {
  constexpr int kContexts = 400;
  for (int i = 0; i < kContexts; ++i) {
    trident_ctx* ctx = open_context(TRIDENT_MODE_AUTO, "/nonexistent/tridentd.sock");
    trident_kernel* kernel = nullptr;
    ASSERT_EQ(trident_submit(ctx, "-x^2", nullptr, &kernel), TRIDENT_OK);
    std::this_thread::sleep_for(std::chrono::microseconds(10 * (i % 100)));
    trident_close_kernel(kernel);
    trident_close(ctx);
  }
}

constexpr int kSkipped = 77;

/// Lets this process start no thread. Ends it with kSkipped where that cannot be had. A limit may be lifted again up to
/// the hard one, which stays.
void forbid_threads(rlimit& before) {
  constexpr uid_t kNobody = 65534;  // root has no limit of processes
  if (geteuid() == 0 && setuid(kNobody) != 0) _exit(kSkipped);
  getrlimit(RLIMIT_NPROC, &before);
  const rlimit none{0, before.rlim_max};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(kSkipped);
}

/// Returns the exit status of `child`; -1 where a signal ended it.
int status_of(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Embedded, WithoutAThreadTheStatusNamesNoDaemon) {
  const pid_t child = fork();
  if (child == 0) {
    rlimit before{};
    forbid_threads(before);
    if (access(TRIDENT_ENGINE_PATH, R_OK) != 0) _exit(kSkipped);
    ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = TRIDENT_MODE_EMBEDDED;
    trident_ctx* ctx = nullptr;
    _exit(static_cast<int>(trident_open(&options, &ctx)));
  }
  const int status = status_of(child);
  if (status == kSkipped)
    GTEST_SKIP() << "the limit of processes cannot be set, or the user nobody may not read the engine";
  EXPECT_EQ(TRIDENT_E_MEMORY, status);
}

// Mode auto opens without a thread; what would ask a compiler starts with the first kernel. The interpreter answers.
TEST(Embedded, WithoutAThreadAKernelSaysSoAndNobodyWaits) {
  const pid_t child = fork();
  if (child == 0) {
    rlimit before{};
    forbid_threads(before);
    ::unsetenv("TRIDENT_MODE");
    trident_options options{};
    options.struct_size = sizeof(options);
    options.socket_path = "/nowhere/tridentd.sock";
    trident_ctx* ctx = nullptr;
    trident_kernel* kernel = nullptr;
    if (trident_open(&options, &ctx) != TRIDENT_OK) _exit(1);
    if (trident_submit(ctx, kText, nullptr, &kernel) != TRIDENT_OK) _exit(2);
    const char* note = trident_kernel_note(kernel);
    if (note == nullptr || std::strstr(note, "no thread can be started: pthread_create") != note) _exit(3);
    if (trident_wait(kernel, TRIDENT_TIER_INTERPRETER, 0) != TRIDENT_OK) _exit(4);
    const Clock::time_point begin = Clock::now();
    if (trident_wait(kernel, TRIDENT_TIER_BASELINE, kPatienceMs) != TRIDENT_E_MEMORY) _exit(5);
    if (std::strstr(trident_last_error(), "pthread_create") == nullptr) _exit(6);
    char stats[64];
    if (trident_daemon_stats(ctx, stats, sizeof(stats), kPatienceMs) != TRIDENT_E_MEMORY) _exit(7);
    if (seconds_since(begin) > kPatienceMs / 2000) _exit(8);
    expect_right(kernel, "without a thread");
    if (testing::Test::HasFailure()) _exit(9);
    setrlimit(RLIMIT_NPROC, &before);  // where the program ends other threads, the next wait starts ours
    pthread_t own;
    if (pthread_create(
            &own, nullptr, [](void*) -> void* { return nullptr; }, nullptr) != 0)
      _exit(kSkipped);
    pthread_join(own, nullptr);
    // Other tests start threads of the same user, so one may be refused once more.
    const auto has_none = [&] {
      trident_wait(kernel, TRIDENT_TIER_BASELINE, 1);
      note = trident_kernel_note(kernel);
      return note != nullptr && std::strstr(note, "no thread") != nullptr;
    };
    for (int asked = 1; has_none(); ++asked) {
      if (asked == 100) _exit(10);
      ::usleep(20'000);
    }
    trident_close_kernel(kernel);
    trident_close(ctx);
    _exit(0);
  }
  const int status = status_of(child);
  if (status == kSkipped) GTEST_SKIP() << "the limit of processes cannot be set, or nobody's is reached";
  EXPECT_EQ(0, status);
}

TEST(Embedded, ClosingDoesNotWaitForASearch) {
  trident_ctx* ctx = open_context(TRIDENT_MODE_EMBEDDED);
  ASSERT_NE(nullptr, ctx);
  // A queue of searches that take seconds in sum, so that one is under way whenever we close.
  std::vector<trident_kernel*> kernels = {submit(ctx, kText)};
  for (int i = 1; i <= 40; ++i) {
    const std::string text = "sin(x * " + std::to_string(i) + ") * exp(cos(y)) + log(x * x + " + std::to_string(i) +
                             ") * atan2(x, y) + tanh(x) * erf(y) + cbrt(x)^" + std::to_string(i % 5 + 2);
    kernels.push_back(submit(ctx, text.c_str()));
  }
  for (trident_kernel* kernel : kernels) {
    ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_EQ(0u, info_of(kernels.back()).done) << "the searches were over before the test began";
  // On a busy machine the engine's thread, which is nice, may come to its end late, but not after much more work.
  const Clock::time_point begin = Clock::now();
  const double cpu_begin = cpu_seconds();
  trident_close(ctx);
  EXPECT_LT(cpu_seconds() - cpu_begin, 1.5);
  EXPECT_LT(seconds_since(begin), 60);
  expect_right(kernels.front(), "after its context was closed");
  for (trident_kernel* kernel : kernels) trident_close_kernel(kernel);
}

}  // namespace
