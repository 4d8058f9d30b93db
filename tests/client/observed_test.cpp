// A kernel whose arguments were shown, from the client through the daemon and back: code that is fast in the ranges of
// its data, and right outside. Oracle: the interpreter of a client that asks no compiler; the daemon's own counters.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "clients/c/trident.h"
#include "schemas/kernel_image.h"
#include "tests/daemon/private_daemon.h"

namespace trident::tests {
namespace {

constexpr std::uint32_t kPatienceMs = 120'000;
constexpr std::size_t kN = 5000;

struct Client {
  Client(trident_mode mode, const std::string& socket, bool speculates = true) {
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = mode;
    options.socket_path = socket.c_str();
    options.connect_timeout_ms = kPatienceMs;
    options.no_speculation = speculates ? 0 : 1;
    EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  }
  ~Client() { trident_close(ctx); }
  trident_kernel* submit(const std::string& text) const {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.type = TRIDENT_F32;
    options.policy = TRIDENT_EXACT;
    trident_kernel* kernel = nullptr;
    EXPECT_EQ(TRIDENT_OK, trident_submit(ctx, text.c_str(), &options, &kernel)) << trident_last_error();
    return kernel;
  }
  [[nodiscard]] std::uint64_t observed() const {
    char text[16384];
    EXPECT_EQ(TRIDENT_OK, trident_daemon_stats(ctx, text, sizeof(text), kPatienceMs)) << trident_last_error();
    return nlohmann::json::parse(text)["jobs"]["observed"];
  }
  trident_ctx* ctx = nullptr;
};

using Floats = std::vector<float>;

/// Values in [-3, 3] but for each `every`-th, which are far out, infinite or no number.
Floats values(std::size_t every, float phase) {
  Floats x(kN);
  const float far[] = {4096.5F, -1e30F, INFINITY, NAN, -4.000001F};
  for (std::size_t i = 0; i < kN; ++i)
    x[i] = every != 0 && i % every == every - 1 ? far[i / every % std::size(far)]
                                                : 3 * std::sin(static_cast<float>(i) + phase);
  return x;
}

Floats call(const trident_kernel* kernel, const Floats& x, const Floats& y) {
  Floats out(kN);
  const void* const in[] = {x.data(), y.data()};
  void* const outs[] = {out.data()};
  trident_call(kernel, kN, in, outs, nullptr);
  return out;
}

void expect_bits(const Floats& wanted, const Floats& have) {
  for (std::size_t i = 0; i < kN; ++i) {
    const bool same = std::memcmp(&wanted[i], &have[i], sizeof(float)) == 0;
    ASSERT_TRUE(same || (std::isnan(wanted[i]) && std::isnan(have[i]))) << i;
  }
}

trident_kernel_info info_of(const trident_kernel* kernel) {
  trident_kernel_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(TRIDENT_OK, trident_info(kernel, &info));
  return info;
}

void show(const trident_kernel* kernel, const Floats& x, const Floats& y) {
  const void* const in[] = {x.data(), y.data()};
  trident_observe(kernel, kN, in, nullptr);
}

/// Times decide whether a speculative kernel is published, and a busy machine may refuse some.
TEST(Observed, KernelsAreFastInTheRangesOfTheirDataAndRightOutside) {
  const PrivateDaemon daemon;
  const Client client(TRIDENT_MODE_DAEMON, daemon.socket()), oracle(TRIDENT_MODE_INTERP, "");
  std::uint64_t misses = 0;
  for (int i = 1; i <= 6 && misses == 0; ++i) {
    const std::string text = "sin(" + std::to_string(i) + "*sin(x) + cos(y))*sin(x + y)";
    trident_kernel *kernel = client.submit(text), *right = oracle.submit(text);
    show(kernel, values(0, 0), values(0, 1));
    ASSERT_TRUE(eventually([&] { return client.observed() == static_cast<std::uint64_t>(i); }));
    EXPECT_EQ(TRIDENT_OK, trident_wait(kernel, TRIDENT_TIER_OPTIMISED, kPatienceMs)) << trident_last_error();
    ASSERT_TRUE(eventually([&] { return info_of(kernel).done != 0; }, 120));
    for (const std::size_t every : {0, 1, 2, 17, 500, 5000})
      expect_bits(call(right, values(every, 0), values(every, 1)), call(kernel, values(every, 0), values(every, 1)));
    misses = info_of(kernel).misses;
    trident_close_kernel(kernel);
    trident_close_kernel(right);
  }
  EXPECT_GT(misses, 0u);
}

/// Each seventh value is missing, or each third: NaN is no miss, values far out are.
TEST(Observed, MissingDataGetFastCodeAndAreNoMisses) {
  const auto with_gaps = [](Floats x, std::size_t every) {
    for (std::size_t i = 0; i < x.size(); i += every) x[i] = NAN;
    return x;
  };
  const Floats x = with_gaps(values(0, 0), 7), y = with_gaps(values(0, 1), 3), far = values(17, 0);
  const PrivateDaemon daemon;
  for (const trident_mode mode : {TRIDENT_MODE_DAEMON, TRIDENT_MODE_EMBEDDED}) {
    const Client client(mode, daemon.socket()), oracle(TRIDENT_MODE_INTERP, "");
    std::uint64_t misses = 0;
    for (int i = 1; i <= 6 && misses == 0; ++i) {
      const std::string text = "sin(" + std::to_string(i) + "*sin(x) + cos(y))*sin(x + y) + (x > y ? x : min(x, y))";
      trident_kernel *kernel = client.submit(text), *right = oracle.submit(text);
      show(kernel, x, y);
      EXPECT_EQ(TRIDENT_OK, trident_wait(kernel, TRIDENT_TIER_OPTIMISED, kPatienceMs)) << trident_last_error();
      ASSERT_TRUE(eventually([&] { return info_of(kernel).done != 0; }, 120));
      expect_bits(call(right, x, y), call(kernel, x, y));
      expect_bits(call(right, y, x), call(kernel, y, x));
      EXPECT_EQ(info_of(kernel).misses, 0u);
      expect_bits(call(right, far, y), call(kernel, far, y));
      misses = info_of(kernel).misses;
      trident_close_kernel(kernel);
      trident_close_kernel(right);
    }
    EXPECT_GT(misses, 0u);
  }
}

TEST(Observed, NobodyIsToldWhereSpeculationIsOff) {
  const PrivateDaemon daemon;
  const Client off(TRIDENT_MODE_DAEMON, daemon.socket(), false);
  trident_kernel* kernel = off.submit("sin(x)*cos(y)");
  show(kernel, values(0, 0), values(0, 1));
  trident_wait(kernel, TRIDENT_TIER_OPTIMISED, kPatienceMs);
  EXPECT_EQ(off.observed(), 0u);
  trident_close_kernel(kernel);
  ::setenv("TRIDENT_SPECULATE", "0", 1);
  const Client also(TRIDENT_MODE_DAEMON, daemon.socket());
  ::unsetenv("TRIDENT_SPECULATE");
  kernel = also.submit("sin(x)*cos(y) + 1");
  show(kernel, values(0, 0), values(0, 1));
  trident_wait(kernel, TRIDENT_TIER_OPTIMISED, kPatienceMs);
  EXPECT_EQ(also.observed(), 0u);
  trident_close_kernel(kernel);
}

}  // namespace
}  // namespace trident::tests
