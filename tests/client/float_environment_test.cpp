// A program whose threads round otherwise, lose subnormals or trap exceptions submits and calls kernels, in every mode.
// Oracle: the interpreter's bits in the standard environment, which policy exact promises of every tier.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/trident.h"
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
    EXPECT_GE(session.stats.baseline_received + session.stats.optimised_received, std::size(kTexts)) << environment.name;
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

}  // namespace
}  // namespace trident::tests
