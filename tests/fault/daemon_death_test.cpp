// The real daemon and its workers dying, or standing still, at every step of the conversation with the real client
// library. Oracle: the kir interpreter run here; policy exact, so every tier owes the same bits.
//
// At every step: the answers are right before, during and after, and nobody but the client's own library looks for the
// new daemon.
#include <gtest/gtest.h>
#include <signal.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "clients/c/trident.h"
#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "runtime/os/clock.h"
#include "tests/daemon/private_daemon.h"
#include "tests/fault/relay.h"

namespace trident {
namespace {

using testing::Relay;
using testing::Step;
using testing::When;
using tests::eventually;
using tests::PrivateDaemon;

constexpr std::size_t kElements = 37;
constexpr std::uint32_t kBaseline = 1;
constexpr std::uint32_t kPatienceMs = 30'000;
constexpr const char* kText = "sin(x)*exp(y) + sqrt(x*x + y*y)/(1 + x*x) + x/(y*y + 3)";

/// A context whose kernels are compared with the interpreter at every call.
class Client {
 public:
  explicit Client(const std::string& socket) {
    ::setenv("TRIDENT_ENGINE", "/nonexistent/libtrident-engine.so", 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.socket_path = socket.c_str();
    EXPECT_EQ(trident_open(&options, &ctx_), TRIDENT_OK);
    for (std::size_t i = 0; i < kElements; ++i) {
      x_[i] = 0.1 * static_cast<double>(i) - 1.7;
      y_[i] = 2 - 0.07 * static_cast<double>(i);
    }
  }
  ~Client() {
    for (const Kernel& kernel : kernels_) trident_close_kernel(kernel.handle);
    trident_close(ctx_);
  }

  trident_kernel* submit(const std::string& text) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.policy = TRIDENT_EXACT;
    Kernel kernel;
    EXPECT_EQ(trident_submit(ctx_, text.c_str(), &options, &kernel.handle), TRIDENT_OK) << trident_last_error();
    const auto e = expr::parse(text);
    const auto lowered = expr::lower(*e, {.policy = {expr::PolicyKind::exact}, .simplify = false});
    const void* in[] = {x_, y_};
    void* out[] = {kernel.right};
    kir::interpret(*lowered, kElements, in, out, nullptr);
    kernels_.push_back(kernel);
    call();
    return kernel.handle;
  }

  /// Calls every kernel and compares.
  void call() const {
    for (const Kernel& kernel : kernels_) {
      double z[kElements];
      const void* in[] = {x_, y_};
      void* out[] = {z};
      trident_call(kernel.handle, kElements, in, out, nullptr);
      for (std::size_t i = 0; i < kElements; ++i)
        ASSERT_EQ(std::bit_cast<std::uint64_t>(z[i]), std::bit_cast<std::uint64_t>(kernel.right[i])) << i;
    }
  }
  void call_for_ms(std::uint64_t ms) const {
    for (const std::uint64_t end = os::monotonic_ns() + ms * 1'000'000; os::monotonic_ns() < end;) call();
  }
  /// Calls until `condition` holds; false when patience is over.
  template <class Condition>
  bool call_until(Condition condition, std::uint64_t ms = kPatienceMs) const {
    for (const std::uint64_t end = os::monotonic_ns() + ms * 1'000'000; os::monotonic_ns() < end; tests::sleep_ms(1)) {
      call();
      if (condition()) return true;
    }
    return false;
  }
  static trident_kernel_info info(const trident_kernel* kernel) {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(trident_info(kernel, &info), TRIDENT_OK);
    return info;
  }
  [[nodiscard]] trident_stats stats() const {
    trident_stats stats{};
    stats.struct_size = sizeof(stats);
    EXPECT_EQ(trident_get_stats(ctx_, &stats), TRIDENT_OK);
    return stats;
  }

 private:
  struct Kernel {
    trident_kernel* handle = nullptr;
    double right[kElements] = {};
  };
  trident_ctx* ctx_ = nullptr;
  double x_[kElements], y_[kElements];
  std::vector<Kernel> kernels_;
};

std::vector<Step> steps() {
  std::vector<Step> steps;
  for (const When when : {When::before, When::half, When::after})
    for (const wire::Body kind :
         {wire::Body::Hello, wire::Body::Welcome, wire::Body::Submit, wire::Body::Accepted, wire::Body::Done})
      steps.push_back({kind, {}, when});
  for (const When when : {When::before, When::half, When::after})
    for (const wire::Tier tier : {wire::Tier::baseline, wire::Tier::optimised})
      steps.push_back({wire::Body::KernelReady, tier, when});
  return steps;
}

class DaemonDeath : public ::testing::TestWithParam<Step> {
 protected:
  PrivateDaemon daemon_{{"--budget-ms", "3000"}};
  std::string socket_ = daemon_.directory() + "/relay/relay.sock";

  /// Submits and waits until the relay has acted at the step.
  static bool reach_step(Client& client, const Relay& relay) {
    const trident_kernel* kernel = client.submit(tests::text_with_certain_gain(0));
    EXPECT_TRUE(client.call_until([&] { return relay.has_acted() || Client::info(kernel).done != 0; }));
    return relay.has_acted() || client.call_until([&] { return relay.has_acted(); }, 1000);
  }
  /// A new submission gets its kernel from the daemon.
  void expect_served(Client& client, const char* text) {
    const trident_kernel* kernel = client.submit(text);
    EXPECT_TRUE(client.call_until([&] { return Client::info(kernel).tier >= kBaseline; }));
    EXPECT_EQ(client.stats().connected, 1u);
    EXPECT_EQ(client.stats().rejected_images, 0u);
  }
};

TEST_P(DaemonDeath, AKilledDaemonCostsNothingAndTheNextIsFound) {
  Relay relay(socket_, daemon_.socket(), GetParam(), [&] {
    daemon_.signal(SIGKILL);
    return Relay::Then::hang_up;
  });
  Client client(socket_);
  ASSERT_TRUE(reach_step(client, relay));
  EXPECT_EQ(daemon_.wait(), "signal 9");
  client.call_for_ms(50);
  daemon_.restart();
  expect_served(client, "x*y - 5*x");
  // Before the first welcome there was no connection to have again.
  if (GetParam().kind != wire::Body::Hello && GetParam().kind != wire::Body::Welcome) {
    EXPECT_GE(client.stats().reconnects, 1u);
  }
}

TEST_P(DaemonDeath, AStandingDaemonIsWaitedForWithoutWaiting) {
  Relay relay(socket_, daemon_.socket(), GetParam(), [&] {
    daemon_.signal(SIGSTOP);
    return Relay::Then::go_on;
  });
  Client client(socket_);
  ASSERT_TRUE(reach_step(client, relay));
  const std::uint64_t before = os::monotonic_ns();
  client.submit("x*y + 7*x");  // does not hang
  EXPECT_LT(os::monotonic_ns() - before, 2'000'000'000u);
  client.call_for_ms(150);
  daemon_.signal(SIGCONT);
  expect_served(client, "x*y - 5*x");
}

TEST_P(DaemonDeath, KilledWorkersCostATryAtMost) {
  Relay relay(socket_, daemon_.socket(), GetParam(), [&] {
    for (const char* lane : {"baseline", "optimise"})
      for (const int worker : daemon_.workers(lane)) ::kill(worker, SIGKILL);
    return Relay::Then::go_on;
  });
  Client client(socket_);
  ASSERT_TRUE(reach_step(client, relay));
  client.call_for_ms(20);
  expect_served(client, "x*y - 5*x");
  EXPECT_EQ(client.stats().reconnects, 0u);
  EXPECT_TRUE(tests::is_running(daemon_.pid()));
}

INSTANTIATE_TEST_SUITE_P(AtEveryStep, DaemonDeath, ::testing::ValuesIn(steps()), [](const auto& info) {
  std::string name;
  for (const char c : testing::name_of(info.param))
    if (c != ' ') name += c;
  return name;
});

TEST(DaemonRestart, KilledAgainAndAgainWhileItStarts) {
  PrivateDaemon daemon;
  Client client(daemon.socket());
  const trident_kernel* first = client.submit(kText);
  for (unsigned death = 0; death < 6; ++death) {
    daemon.signal(SIGKILL);
    daemon.wait();
    client.call_for_ms(5);
    daemon.restart();
    tests::sleep_ms(death * 7);  // before the client is back, while it says hello, while it submits again
    client.call();
  }
  EXPECT_TRUE(client.call_until([&] { return Client::info(first).tier >= kBaseline; }));
  const trident_kernel* second = client.submit("x*y - 5*x");
  EXPECT_TRUE(client.call_until([&] { return Client::info(second).tier >= kBaseline; }));
  client.call();
}

}  // namespace
}  // namespace trident
