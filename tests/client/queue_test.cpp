// Many kernels that are submitted at once: none waits for the searches of the others before it runs native code, what
// is called most is searched first, and a kernel without gain is told so in its turn, by a real daemon and by the
// engine. Oracle: what the library says of the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schemas/kernel_image.h"
#include "tests/client/client_context.h"
#include "tests/daemon/private_daemon.h"

namespace trident::tests {
namespace {

constexpr int kCold = 300;

trident_kernel_info info_of(const trident_kernel* kernel) {
  trident_kernel_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(TRIDENT_OK, trident_info(kernel, &info));
  return info;
}

trident_kernel* submit(const ClientContext& context, const std::string& text) {
  trident_kernel* kernel = nullptr;
  EXPECT_EQ(TRIDENT_OK, trident_submit(context.get(), text.c_str(), nullptr, &kernel)) << trident_last_error();
  return kernel;
}

/// Kernels that nobody calls, and one behind them.
class Crowd {
 public:
  explicit Crowd(const ClientContext& context) {
    for (int i = 0; i < kCold; ++i) cold_.push_back(submit(context, "exp(x*" + std::to_string(i + 2) + ".5)*y + x"));
    last_ = submit(context, "sqrt(x*x + 7.25*y)");
  }
  ~Crowd() {
    for (trident_kernel* kernel : cold_) trident_close_kernel(kernel);
    trident_close_kernel(last_);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  [[nodiscard]] trident_kernel* last() const { return last_; }
  [[nodiscard]] bool last_was_searched() const {
    const trident_kernel_info info = info_of(last_);
    return info.tier == TRIDENT_TIER_OPTIMISED || info.done != 0;
  }
  /// Returns how many of the others wait for nothing any more.
  [[nodiscard]] std::ptrdiff_t done() const {
    return std::count_if(cold_.begin(), cold_.end(), [](const trident_kernel* k) { return info_of(k).done != 0; });
  }
  void call_last(int times) const {
    const std::vector<double> x(4096, 14), y(4096, 4);
    std::vector<double> out(4096);
    const void* const in[] = {x.data(), y.data()};
    void* const outs[] = {out.data()};
    for (int i = 0; i < times; ++i) trident_call(last_, x.size(), in, outs, nullptr);
    EXPECT_EQ(out[4095], 15);  // the root of 225
  }

 private:
  std::vector<trident_kernel*> cold_;
  trident_kernel* last_ = nullptr;
};

/// A tenth of the others may be searched before: that many are done while baselines are made, or have begun before the
/// first call is told.
void expect_hot_first(const ClientContext& context) {
  const Crowd crowd(context);
  ASSERT_EQ(TRIDENT_OK, trident_wait(crowd.last(), TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
  EXPECT_LT(crowd.done(), kCold / 10);
  crowd.call_last(1000);
  for (int i = 0; i < 600 && !crowd.last_was_searched(); ++i) {
    crowd.call_last(10);
    trident_wait(crowd.last(), TRIDENT_TIER_OPTIMISED, 100);
  }
  EXPECT_TRUE(crowd.last_was_searched());
  EXPECT_LT(crowd.done(), kCold / 10);
}

TEST(Queue, TheDaemonSearchesFirstWhatIsCalledMost) {
  const PrivateDaemon daemon;
  expect_hot_first(ClientContext(TRIDENT_MODE_DAEMON, daemon.socket()));
}

TEST(Queue, TheEngineSearchesFirstWhatIsCalledMost) {
  expect_hot_first(ClientContext(TRIDENT_MODE_EMBEDDED));
}

/// Nothing beats the baseline of one multiplication, or there is better code at once; the others gain in their first
/// looks, and are left then. A few of them are searched before, or beside it.
void expect_no_gain_in_its_turn(const ClientContext& context) {
  constexpr int kOthers = 14;
  std::vector<trident_kernel*> others;
  const auto submit_other = [&](int i) {
    others.push_back(
        submit(context, "exp(x*" + std::to_string(i + 2) + ".5)*sin(y) + log(x + " + std::to_string(i) + ")"));
  };
  submit_other(0);
  trident_kernel* const plain = submit(context, "x*2.5");
  for (int i = 1; i < kOthers; ++i) submit_other(i);
  EXPECT_EQ(TRIDENT_OK, trident_wait(plain, TRIDENT_TIER_OPTIMISED, kPatienceMs)) << trident_last_error();
  const auto searched =
      std::count_if(others.begin(), others.end(), [](auto* k) { return info_of(k).tier == TRIDENT_TIER_OPTIMISED; });
  EXPECT_LT(searched, kOthers / 2);
  for (trident_kernel* kernel : others) trident_close_kernel(kernel);
  trident_close_kernel(plain);
}

TEST(Queue, TheDaemonTellsOfNoGainBeforeItSearchesAllOthers) {
  const PrivateDaemon daemon;
  expect_no_gain_in_its_turn(ClientContext(TRIDENT_MODE_DAEMON, daemon.socket()));
}

TEST(Queue, TheEngineTellsOfNoGainBeforeItSearchesAllOthers) {
  expect_no_gain_in_its_turn(ClientContext(TRIDENT_MODE_EMBEDDED));
}

}  // namespace
}  // namespace trident::tests
