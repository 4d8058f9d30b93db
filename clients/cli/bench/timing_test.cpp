// The timing child on contestants whose answers, faults and relative speed are known from their source.
#include "clients/cli/bench/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "clients/cli/bench/compilers.h"
#include "runtime/os/memfd.h"

namespace trident::cli {
namespace {

/// The object of a contestant whose loop body is `body` (x, out: arrays of float; i: the index).
std::string object_of(const std::string& body, const std::string& before = "") {
  static const Compiler plain{"test", "cc", {"-O2", "-fno-tree-vectorize"}, false, "test"};
  std::vector<Build> builds = {
      {"#include <stdint.h>\nvoid trident_contestant(const void* self, uint64_t n, const void* const* in, "
       "void* const* out_, const uint64_t* params) {\n const float* x = in[0]; float* out = out_[0];\n" +
           before + " for (uint64_t i = 0; i < n; ++i) {" + body + "}\n}\n",
       &plain, "", "", false}};
  EXPECT_TRUE(build_all(builds, 1, [](std::size_t) {}).ok());
  EXPECT_EQ(builds[0].error, "");
  return builds[0].object;
}

expr::Expr one_input(double lo, double hi, ir::Type type = ir::Type::f32) {
  expr::ParseOptions options;
  options.type = type;
  options.variables.resize(1);
  options.variables[0].name = "x", options.variables[0].type = type;
  options.variables[0].lo = lo, options.variables[0].hi = hi;
  return expr::parse("x * 2", options).value();
}

Contestant contestant(const char* name, std::string object) {
  Contestant c;
  c.name = name;
  c.object = std::move(object);
  return c;
}

TEST(Workload, SamplesStayInTheRangeAndArraysAreAligned) {
  // 0.1 and 0.3 are not floats: rounding must not step outside.
  const expr::Expr e = one_input(0.1, 0.1000001);
  const Workload w(e, e.variables, 1000, 7), same(e, e.variables, 1000, 7), other(e, e.variables, 1000, 8);
  const auto* x = static_cast<const float*>(w.inputs()[0]);
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_GE(static_cast<double>(x[i]), 0.1);
    EXPECT_LE(static_cast<double>(x[i]), 0.1000001);
  }
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(w.outputs()[0]) % 64, 0u);
  EXPECT_NE((reinterpret_cast<std::uintptr_t>(x) ^ reinterpret_cast<std::uintptr_t>(w.outputs()[0])) % 4096, 0u);
  EXPECT_EQ(std::memcmp(x, same.inputs()[0], 4000), 0);
  EXPECT_NE(std::memcmp(x, other.inputs()[0], 4000), 0);
}

TEST(Workload, TellsTheRangesThatItsSamplesLieIn) {
  const expr::Expr e = one_input(-1, 3);
  const Workload w(e, e.variables, 1000, 7);
  const auto* x = static_cast<const float*>(w.inputs()[0]);
  ASSERT_EQ(w.seen().size(), 1u);
  EXPECT_EQ(w.seen()[0].lo, static_cast<double>(*std::min_element(x, x + 1000)));
  EXPECT_EQ(w.seen()[0].hi, static_cast<double>(*std::max_element(x, x + 1000)));
}

TEST(Timing, AnswersTimesAndFaults) {
  const expr::Expr e = one_input(-1, 1);
  const Workload w(e, e.variables, 1024, 1);
  const std::vector<Contestant> contestants = {
      contestant("double", object_of("out[i] = x[i] * 2;")),
      contestant("slow", object_of("float t = x[i]; for (int k = 0; k < 40; ++k) t = t / 1.0001f; out[i] = t;")),
      contestant("crash", object_of("out[i] = *(volatile float*)0;")),
      contestant("flush", object_of("out[i] = x[i];", "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);")),
      contestant("missing", "/nonexistent.so"),
  };
  TimingOptions options;
  options.sizes = {1024, 256};
  options.rounds = 15;
  options.batch_ns = 5000;
  const auto run = time_contestants(contestants, w, options);
  ASSERT_TRUE(run.ok()) << run.error().message;
  const Timing &fast = run->contestants[0], &slow = run->contestants[1];
  EXPECT_EQ(fast.failure, "");
  ASSERT_EQ(fast.outputs.size(), 1u);
  for (std::size_t i = 0; i < 1024; ++i) {
    float got = 0;
    std::memcpy(&got, fast.outputs[0].data() + i * 4, 4);
    EXPECT_EQ(got, 2 * static_cast<const float*>(w.inputs()[0])[i]);
  }
  EXPECT_GT(fast.median_ns(0), 0);
  EXPECT_GT(fast.median_ns(0), fast.median_ns(1));
  // 40 dependent divisions take at least 100 cycles an element, the doubling about one: a loose factor is safe.
  EXPECT_GT(median_ratio(slow.ns[0], fast.ns[0]), 8);
#ifdef __SANITIZE_ADDRESS__  // which turns the signal into its report and an exit status
  constexpr const char* kCrash = "crashed: exit status 1";
#else
  constexpr const char* kCrash = "crashed: signal 11";
#endif
  EXPECT_NE(run->contestants[2].failure.find(kCrash), std::string::npos) << run->contestants[2].failure;
  EXPECT_NE(run->contestants[3].failure.find("denormals"), std::string::npos) << run->contestants[3].failure;
  EXPECT_NE(run->contestants[4].failure.find("nonexistent"), std::string::npos);
  EXPECT_GT(run->clock_ghz, 0.5);
  EXPECT_LT(run->clock_ghz, 8);
}

/// The calls of recorded contestants in their order, in memory that the child shares.
struct CallLog {
  std::uint32_t count;
  std::uint8_t who[4096];
};
CallLog* call_log = nullptr;
template <std::uint8_t kWho>
void recorded(const void*, std::uint64_t, const void* const*, void* const*, const std::uint64_t*) {
  if (call_log->count < std::size(call_log->who)) call_log->who[call_log->count++] = kWho;
}

TEST(Timing, EveryContestantOpensAsManyRoundsAsTheOthers) {
  auto memory = os::map_shared(sizeof(CallLog));
  ASSERT_TRUE(memory.ok());
  call_log = static_cast<CallLog*>(memory->base());
  const expr::Expr e = one_input(-1, 1);
  const Workload w(e, e.variables, 64, 1);
  std::vector<Contestant> contestants(3);
  contestants[0].entry = recorded<0>, contestants[1].entry = recorded<1>, contestants[2].entry = recorded<2>;
  TimingOptions options;
  options.sizes = {64};
  options.rounds = 15;
  options.batch_ns = 0;  // a batch is one call then, after one that warms up
  ASSERT_TRUE(time_contestants(contestants, w, options).ok());
  constexpr std::uint32_t kRound = 3 * 2;
  ASSERT_GE(call_log->count, 15 * kRound);
  ASSERT_LT(call_log->count, std::size(call_log->who));
  const std::uint8_t* const rounds = call_log->who + call_log->count - 15 * kRound;
  std::array<int, 3> opened{};
  for (std::uint32_t r = 0; r < 15; ++r) {
    std::array<int, 3> calls{};
    for (std::uint32_t i = 0; i < kRound; ++i) ++calls[rounds[r * kRound + i]];
    EXPECT_EQ(calls, (std::array{2, 2, 2})) << "round " << r;
    ++opened[rounds[r * kRound]];
  }
  EXPECT_EQ(opened, (std::array{5, 5, 5}));
}

TEST(Timing, MedianRatioIgnoresAnOutlier) {
  EXPECT_DOUBLE_EQ(median_ratio({1, 100, 3}, {2, 2, 6}), 0.5);
}

}  // namespace
}  // namespace trident::cli
