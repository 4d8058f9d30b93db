// Mode auto between the engine in this process and a daemon that comes late or again: the one that works gets the jobs,
// and nobody has to submit anything for that. Oracle: the daemon's own counters, and the client's.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "clients/c/trident.h"
#include "schemas/kernel_image.h"
#include "tests/daemon/private_daemon.h"

namespace trident::tests {
namespace {

constexpr std::uint32_t kPatienceMs = 60'000;

struct Client {
  explicit Client(const std::string& socket) {
    ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.socket_path = socket.c_str();
    EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  }
  ~Client() {
    for (trident_kernel* kernel : kernels) trident_close_kernel(kernel);
    trident_close(ctx);
  }
  /// Searches that take seconds in sum.
  void submit(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(kernels.size() + 1);
      const std::string text =
          "sin(x * " + n + ") * exp(cos(y)) + log(x * x + " + n + ") * atan2(x, y) + tanh(x) * erf(y)";
      trident_kernel* kernel = nullptr;
      ASSERT_EQ(TRIDENT_OK, trident_submit(ctx, text.c_str(), nullptr, &kernel)) << trident_last_error();
      kernels.push_back(kernel);
    }
  }
  [[nodiscard]] trident_stats stats() const {
    trident_stats s{};
    s.struct_size = sizeof(s);
    EXPECT_EQ(TRIDENT_OK, trident_get_stats(ctx, &s));
    return s;
  }
  [[nodiscard]] bool connects() const {
    return eventually([&] { return stats().connected != 0; }, 30);
  }
  [[nodiscard]] std::uint64_t submissions_that_the_daemon_saw() const {
    char text[16384];
    EXPECT_EQ(TRIDENT_OK, trident_daemon_stats(ctx, text, sizeof(text), kPatienceMs)) << trident_last_error();
    return nlohmann::json::parse(text)["jobs"]["submitted"];
  }

  /// Submissions follow once the connection stands.
  [[nodiscard]] bool hands_over() const {
    return eventually([&] { return submissions_that_the_daemon_saw() > 10; }, 5);
  }

  trident_ctx* ctx = nullptr;
  std::vector<trident_kernel*> kernels;
};

TEST(Takeover, ADaemonThatComesLateGetsWhatTheEngineHasNotBegun) {
  PrivateDaemon daemon;
  daemon.signal(SIGKILL);
  daemon.wait();
  Client client(daemon.socket());
  client.submit(60);
  // The engine is at work: the first baseline is there.
  ASSERT_EQ(TRIDENT_OK, trident_wait(client.kernels[0], TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
  ASSERT_EQ(0u, client.stats().connected);
  daemon.restart();
  ASSERT_TRUE(client.connects());
  EXPECT_TRUE(client.hands_over());
  for (trident_kernel* kernel : client.kernels)
    EXPECT_EQ(TRIDENT_OK, trident_wait(kernel, TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
}

TEST(Takeover, SoDoesOneThatComesAgain) {
  PrivateDaemon daemon;
  Client client(daemon.socket());
  client.submit(1);
  ASSERT_TRUE(client.connects());
  daemon.signal(SIGKILL);
  daemon.wait();
  client.submit(60);
  // Long enough away for the engine to be called in.
  ASSERT_EQ(TRIDENT_OK, trident_wait(client.kernels[1], TRIDENT_TIER_BASELINE, kPatienceMs)) << trident_last_error();
  ASSERT_EQ(0u, client.stats().connected);
  daemon.restart();
  ASSERT_TRUE(client.connects());
  EXPECT_TRUE(client.hands_over());
}

}  // namespace
}  // namespace trident::tests
