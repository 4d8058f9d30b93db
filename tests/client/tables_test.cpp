// Tables through a real daemon: kernels that read by index are right in the interpreter, as baselines and optimised,
// also where an index lies outside and where a table is of another length than it was timed with. Oracle: loops here.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "clients/c/trident.h"
#include "schemas/kernel_image.h"
#include "tests/daemon/private_daemon.h"

namespace trident::tests {
namespace {

constexpr std::uint32_t kPatienceMs = 60'000;
constexpr std::uint32_t kInterpreter = TRIDENT_TIER_INTERPRETER, kBaseline = TRIDENT_TIER_BASELINE,
                        kOptimised = TRIDENT_TIER_OPTIMISED;
constexpr std::size_t kElements = 1003;  // with a tail at every vector length

/// Inputs of one call: x, indices j and the table t of any length.
struct CallInputs {
  explicit CallInputs(std::size_t length) : t(length), x(kElements), j(kElements) {
    for (std::size_t i = 0; i < length; ++i) t[i] = 0.5 + static_cast<double>(i * 37 % 101) / 8;
    for (std::size_t i = 0; i < kElements; ++i) {
      x[i] = 0.25 + static_cast<double>(i * 53 % 97) / 16;
      j[i] = static_cast<std::int64_t>(i * 29 % (length + 9)) - 4;  // some lie before the table, some behind
    }
    j[7] = INT64_MIN;
    j[8] = INT64_MAX;
  }
  [[nodiscard]] long double element(std::int64_t number) const {
    return number >= 0 && number < std::ssize(t) ? t[static_cast<std::size_t>(number)] : 0;
  }
  std::vector<double> t, x;
  std::vector<std::int64_t> j;
};

struct Case {
  const char* text;
  std::function<long double(const CallInputs&, std::int64_t)> wanted;
};

const Case kCases[] = {
    {"table t; j: i64; t[j] * x + t[j] * 3 + 0 * x",
     [](const CallInputs& d, std::int64_t i) {
       const auto at = static_cast<std::size_t>(i);
       return d.element(d.j[at]) * (static_cast<long double>(d.x[at]) + 3);
     }},
    {"table t; sqrt(t[2 * index + 1] * t[2 * index + 1]) + x",
     [](const CallInputs& d, std::int64_t i) {
       return std::abs(d.element(2 * i + 1)) + d.x[static_cast<std::size_t>(i)];
     }},
    {"table t; exp(t[index] / 8) * exp(x / 8)",
     [](const CallInputs& d, std::int64_t i) {
       return std::exp((d.element(i) + d.x[static_cast<std::size_t>(i)]) / 8);
     }},
    {"table t; t[900 - index] + x * 1 + 0",
     [](const CallInputs& d, std::int64_t i) { return d.element(900 - i) + d.x[static_cast<std::size_t>(i)]; }},
    {"table t; t[i64(floor(x))] * (x / x)",
     [](const CallInputs& d, std::int64_t i) {
       return d.element(static_cast<std::int64_t>(std::floor(d.x[static_cast<std::size_t>(i)])));
     }},
};

class TablesInDaemon : public testing::Test {
 protected:
  void SetUp() override {
    const std::string socket = daemon_.socket();
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = TRIDENT_MODE_DAEMON;
    options.socket_path = socket.c_str();
    options.connect_timeout_ms = 10'000;
    ASSERT_EQ(TRIDENT_OK, trident_open(&options, &ctx_)) << trident_last_error();
  }
  void TearDown() override { trident_close(ctx_); }

  static void expect_right(const trident_kernel* kernel, const Case& c, const CallInputs& data) {
    std::vector<const void*> in(3);
    const auto give = [&](const char* name, const void* values) {
      if (const int at = trident_array_index(kernel, name); at >= 0) in[static_cast<std::size_t>(at)] = values;
    };
    give("t", data.t.data());
    give("x", data.x.data());
    give("j", data.j.data());
    ASSERT_EQ(0, trident_scalar_index(kernel, "t.length"));
    const std::uint64_t params[] = {data.t.size()};
    std::vector<double> y(kElements, -1);
    void* out[] = {y.data()};
    trident_call(kernel, kElements, in.data(), out, params);
    for (std::size_t i = 0; i < kElements; ++i) {
      const long double wanted = c.wanted(data, static_cast<std::int64_t>(i));
      ASSERT_LE(std::abs(y[i] - wanted), 8 * 0x1p-52L * std::abs(wanted))
          << c.text << ", element " << i << " of a table of " << data.t.size();
    }
  }

  PrivateDaemon daemon_;
  trident_ctx* ctx_ = nullptr;
};

TEST_F(TablesInDaemon, AreRightInEveryTier) {
  unsigned optimised = 0;
  for (const Case& c : kCases) {
    trident_kernel* kernel = nullptr;
    ASSERT_EQ(TRIDENT_OK, trident_submit(ctx_, c.text, nullptr, &kernel)) << trident_last_error();
    for (const std::uint32_t tier : {kInterpreter, kBaseline, kOptimised}) {
      ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, tier, kPatienceMs)) << c.text << ": " << trident_last_error();
      for (const std::size_t length : {0, 1, 37, 2048}) expect_right(kernel, c, CallInputs(length));
    }
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    ASSERT_EQ(TRIDENT_OK, trident_info(kernel, &info));
    EXPECT_GE(info.tier, kBaseline) << c.text;
    EXPECT_TRUE(info.tier == kOptimised || info.done != 0) << c.text;
    optimised += info.tier == kOptimised;
    trident_close_kernel(kernel);
  }
  EXPECT_GE(optimised, 1u) << "no kernel with a table was ever optimised";
}

}  // namespace
}  // namespace trident::tests
