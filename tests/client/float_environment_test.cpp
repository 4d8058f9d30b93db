// A program whose threads round otherwise, lose subnormals or trap exceptions submits and calls kernels and functions,
// in every mode. Oracle: of kernels the interpreter's bits in the standard environment, which policy exact promises of
// every tier; of functions C++ in the standard environment.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/trident_function.h"
#include "runtime/os/cpu.h"
#include "schemas/kernel_image.h"
#include "tests/daemon/private_daemon.h"
#include "tests/support/foreign_floats.h"

namespace trident::tests {
namespace {

using testing::FloatEnvironment;
using testing::ForeignFloats;
using testing::kForeignFloats;

constexpr std::uint32_t kPatienceMs = 120'000;
constexpr std::size_t kElements = 67;

/// Literals that round, and a subnormal one; folded constants; a comparison of subnormals; reductions; all functions of
/// which one depends on the environment.
constexpr const char* kTexts[] = {
    "max(x)",
    "x / 3 + 0.1 + 1e-310 * 2",
    "y = exp(-x / 7) * sqrt(abs(x)) + pow(2, 0.3) * x; s = sum(y); (y, s)",
    "select(x < 2e-310, x * 0.3, 1 / x)",
};

std::vector<double> data() {
  std::vector<double> x(kElements);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i) * 0.37 - 5;
  x[3] = std::numeric_limits<double>::denorm_min();
  x[9] = 0x1.8p-1030;
  x[20] = 0;
  x[40] = std::numeric_limits<double>::max();
  return x;
}

struct Answer {
  std::vector<double> y = std::vector<double>(kElements), s = std::vector<double>(kElements);
  [[nodiscard]] bool same(const Answer& other) const {
    return std::memcmp(y.data(), other.y.data(), kElements * sizeof(double)) == 0 &&
           std::memcmp(s.data(), other.s.data(), kElements * sizeof(double)) == 0;
  }
};

/// Observations of one thread with one kernel; filled without arithmetic, for the thread's traps are real.
struct Seen {
  bool submitted = false;
  Answer at_once, baseline, last;
  trident_status waited_baseline = TRIDENT_E_TIMEOUT, waited_end = TRIDENT_E_TIMEOUT;
  trident_kernel_info info{};
};

const std::vector<double>& shared_data() {
  static const std::vector<double> x = data();
  return x;
}

void call(const trident_kernel* kernel, Answer& answer) {
  const void* in[] = {shared_data().data()};
  void* out[] = {answer.y.data(), answer.s.data()};
  trident_call(kernel, kElements, in, out, nullptr);
}

void use(trident_ctx* ctx, const char* text, Seen& seen) {
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.policy = TRIDENT_EXACT;
  trident_kernel* kernel = nullptr;
  if (trident_submit(ctx, text, &options, &kernel) != TRIDENT_OK) return;
  seen.submitted = true;
  call(kernel, seen.at_once);
  seen.waited_baseline = trident_wait(kernel, TRIDENT_TIER_BASELINE, kPatienceMs);
  call(kernel, seen.baseline);
  seen.waited_end = trident_wait(kernel, TRIDENT_TIER_OPTIMISED, kPatienceMs);
  call(kernel, seen.last);
  seen.info.struct_size = sizeof(seen.info);
  trident_info(kernel, &seen.info);
  trident_close_kernel(kernel);
}

/// Runs everything in the environment, in a thread of its own: opening, submitting, calling, closing.
struct Session {
  Session(const FloatEnvironment& environment, trident_mode mode, const char* socket) : seen(std::size(kTexts)) {
    std::thread([&] {
      const ForeignFloats floats(environment);
      trident_options options{};
      options.struct_size = sizeof(options);
      options.mode = static_cast<std::uint32_t>(mode);
      options.socket_path = socket;
      trident_ctx* ctx = nullptr;
      opened = trident_open(&options, &ctx) == TRIDENT_OK;
      if (!opened) return;
      for (std::size_t i = 0; i < seen.size(); ++i) use(ctx, kTexts[i], seen[i]);
      stats.struct_size = sizeof(stats);
      trident_get_stats(ctx, &stats);
      trident_close(ctx);
      intact = floats.intact();
    }).join();
  }
  std::vector<Seen> seen;
  trident_stats stats{};
  bool opened = false, intact = false;
};

constexpr FloatEnvironment kStandard{"standard", kStandardMxcsr, kStandardX87};

void expect_right(const FloatEnvironment& environment, trident_mode mode, const char* socket = nullptr) {
  static const Session right(kStandard, TRIDENT_MODE_INTERP, nullptr);
  const Session session(environment, mode, socket);
  ASSERT_TRUE(session.opened) << environment.name << ": " << trident_last_error();
  EXPECT_TRUE(session.intact) << environment.name;
  const bool compiles = mode != TRIDENT_MODE_INTERP;
  for (std::size_t i = 0; i < session.seen.size(); ++i) {
    const Seen& seen = session.seen[i];
    const std::string what = std::string(environment.name) + ", " + kTexts[i];
    ASSERT_TRUE(seen.submitted) << what;
    EXPECT_TRUE(seen.at_once.same(right.seen[i].at_once)) << what;
    EXPECT_TRUE(seen.baseline.same(right.seen[i].at_once)) << what;
    EXPECT_TRUE(seen.last.same(right.seen[i].at_once)) << what;
    if (!compiles) continue;
    EXPECT_EQ(seen.waited_baseline, TRIDENT_OK) << what;
    EXPECT_EQ(seen.waited_end, TRIDENT_OK) << what;
    EXPECT_GE(seen.info.tier, static_cast<unsigned>(TRIDENT_TIER_BASELINE)) << what << ": revoked";
  }
  if (!compiles) return;
  // A daemon answers what another environment has asked for from its cache, with the optimised code at once.
  if (mode == TRIDENT_MODE_EMBEDDED) {
    EXPECT_EQ(session.stats.baseline_received, std::size(kTexts)) << environment.name;
  } else {
    EXPECT_GE(session.stats.baseline_received + session.stats.optimised_received, std::size(kTexts))
        << environment.name;
  }
  EXPECT_EQ(session.stats.errors + session.stats.rejected_images, 0u) << environment.name;
}

TEST(FloatEnvironments, InterpreterGivesTheStandardBits) {
  for (const FloatEnvironment& environment : kForeignFloats) expect_right(environment, TRIDENT_MODE_INTERP);
}

TEST(FloatEnvironments, KernelsOfTheEngineGiveTheStandardBits) {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  for (const std::size_t i : {0, 3, 7, 9})  // one of each kind: every one takes the optimiser seconds
    expect_right(kForeignFloats[i], TRIDENT_MODE_EMBEDDED);
}

TEST(FloatEnvironments, KernelsOfADaemonGiveTheStandardBits) {
  PrivateDaemon daemon;
  const std::string socket = daemon.socket();
  for (const FloatEnvironment& environment : kForeignFloats)
    expect_right(environment, TRIDENT_MODE_DAEMON, socket.c_str());
}

// --- functions -------------------------------------------------------------------------------------------------------

/// Many rounds at once; the last ones alone, or under a mask.
constexpr const char* kBulkFunction = R"(@param lo in [0.0, 10.0]
fn scaled(x: [f64], lo: f64, y: out [f64]) -> i64 {
  let n = 0;
  for i in 0..len(x) {
    y[i] = sqrt(abs(x[i])) / 3.0 + x[i] * lo;
    if x[i] < lo {
      n = n + 1;
    }
  }
  return n;
}
)";
/// One round after the other.
constexpr const char* kScalarFunction = R"(@param lo in [0.0, 10.0]
fn running_sums(x: [f64], lo: f64, y: out [f64]) -> i64 {
  let s = lo;
  let n = 0;
  for i in 0..len(x) {
    s = s + x[i] * 0.1;
    y[i] = s / 3.0;
    if s < lo {
      n = n + 1;
    }
  }
  return n;
}
)";
constexpr double kLeast = std::numeric_limits<double>::denorm_min();

struct FunctionAnswer {
  std::vector<double> y = std::vector<double>(kElements);
  std::int64_t n = -1;
  [[nodiscard]] bool same(const FunctionAnswer& other) const {
    return n == other.n && std::memcmp(y.data(), other.y.data(), kElements * sizeof(double)) == 0;
  }
};

FunctionAnswer scaled(double lo) {
  FunctionAnswer answer{.n = 0};
  for (std::size_t i = 0; i < kElements; ++i) {
    const double x = shared_data()[i];
    answer.y[i] = std::sqrt(std::fabs(x)) / 3 + x * lo;
    answer.n += x < lo ? 1 : 0;
  }
  return answer;
}

FunctionAnswer running_sums(double lo) {
  FunctionAnswer answer{.n = 0};
  double s = lo;
  for (std::size_t i = 0; i < kElements; ++i) {
    s = s + shared_data()[i] * 0.1;
    answer.y[i] = s / 3;
    answer.n += s < lo ? 1 : 0;
  }
  return answer;
}

/// Observations of one thread with one function; filled without arithmetic.
struct FunctionSeen {
  FunctionAnswer at_once, last;
  trident_returned returned{}, below_range{}, not_a_number{};
  trident_status waited = TRIDENT_E_TIMEOUT;
};

trident_returned call(const trident_kernel* kernel, const double& lo, FunctionAnswer& answer) {
  trident_argument arguments[3] = {};
  arguments[0].data = const_cast<double*>(shared_data().data()), arguments[0].count = kElements;
  std::memcpy(&arguments[1].value, &lo, sizeof lo);
  arguments[2].data = answer.y.data(), arguments[2].count = kElements;
  trident_returned returned{};
  returned.struct_size = sizeof returned;
  trident_function_call(kernel, arguments, 3, 0, &returned);
  answer.n = returned.value.i;
  return returned;
}

/// Submits and calls `text` in the environment, in a thread of its own.
FunctionSeen use_function(const FloatEnvironment& environment, trident_mode mode, const char* socket, const char* text,
                          const double& lo) {
  FunctionSeen seen;
  FunctionAnswer none;
  constexpr double kBelow = -kLeast, kNan = std::numeric_limits<double>::quiet_NaN();
  std::thread([&] {
    const ForeignFloats floats(environment);
    trident_options options{};
    options.struct_size = sizeof options;
    options.mode = static_cast<std::uint32_t>(mode);
    options.socket_path = socket;
    trident_ctx* ctx = nullptr;
    trident_kernel* kernel = nullptr;
    trident_submit_options submit = TRIDENT_SUBMIT_OPTIONS_INIT;
    submit.syntax = TRIDENT_SYNTAX_FUNCTION;
    if (trident_open(&options, &ctx) != TRIDENT_OK) return;
    if (trident_submit(ctx, text, &submit, &kernel) == TRIDENT_OK) {
      call(kernel, lo, seen.at_once);
      seen.waited = trident_wait(kernel, TRIDENT_TIER_BASELINE, kPatienceMs);
      seen.returned = call(kernel, lo, seen.last);
      seen.below_range = call(kernel, kBelow, none);
      seen.not_a_number = call(kernel, kNan, none);
      trident_close_kernel(kernel);
    }
    trident_close(ctx);
  }).join();
  return seen;
}

void expect_functions_right(trident_mode mode, const char* socket = nullptr) {
  struct Row {
    const char* text;
    FunctionAnswer (*oracle)(double lo);
    std::uint32_t tier;
  };
  const Row rows[] = {{kBulkFunction, &scaled, TRIDENT_TIER_OPTIMISED},
                      {kScalarFunction, &running_sums, TRIDENT_TIER_BASELINE}};
  const bool compiles = mode != TRIDENT_MODE_INTERP && os::cpu_features().bmi2;
  for (const Row& row : rows)
    for (const FloatEnvironment& environment : kForeignFloats)
      for (const double lo : {0.0, 4 * kLeast, 1e-310, 0.3}) {
        const FunctionSeen seen = use_function(environment, mode, socket, row.text, lo);
        const std::string what = std::string(environment.name) + ", " + std::to_string(lo) + ", " + row.text;
        const FunctionAnswer expected = row.oracle(lo);
        EXPECT_TRUE(seen.at_once.same(expected)) << what;
        EXPECT_TRUE(seen.last.same(expected)) << what;
        EXPECT_GE(seen.returned.tier, compiles ? row.tier : 0) << what;
        EXPECT_EQ(TRIDENT_FAILED_RANGE, seen.below_range.failure) << what;
        EXPECT_EQ(TRIDENT_FAILED_RANGE, seen.not_a_number.failure) << what;
      }
}

TEST(FloatEnvironments, InterpretedFunctionsGiveTheStandardBits) {
  expect_functions_right(TRIDENT_MODE_INTERP);
}

TEST(FloatEnvironments, FunctionsOfTheEngineGiveTheStandardBits) {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  expect_functions_right(TRIDENT_MODE_EMBEDDED);
}

TEST(FloatEnvironments, FunctionsOfADaemonGiveTheStandardBits) {
  const PrivateDaemon daemon;
  expect_functions_right(TRIDENT_MODE_DAEMON, daemon.socket().c_str());
}

}  // namespace
}  // namespace trident::tests
