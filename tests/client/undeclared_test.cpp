// Callers who declare nothing and show nothing: the library sees what data their calls have, code comes that is fast
// for these, and follows where data change for good. Through a real daemon, and by the engine in this process. Oracle:
// the interpreter of a client that asks no compiler, at every call; the counters of the daemon and of misses.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clients/c/trident.h"
#include "schemas/kernel_image.h"
#include "tests/daemon/private_daemon.h"

namespace trident::tests {
namespace {

constexpr std::uint32_t kPatienceMs = 120'000;
constexpr std::size_t kN = 4096;
/// Times decide whether a speculative kernel is published, and a busy machine may refuse some.
constexpr int kKernels = 5;

using Floats = std::vector<float>;

/// Values in [-reach, reach] but for each `every`-th, which are far out, infinite or no number.
Floats values(float reach, std::size_t every = 0) {
  Floats x(kN);
  const float far[] = {-1e30F, INFINITY, NAN, 3e7F};
  for (std::size_t i = 0; i < kN; ++i)
    x[i] = every != 0 && i % every == every - 1 ? far[i / every % std::size(far)]
                                                : reach * std::sin(static_cast<float>(i));
  return x;
}

struct Client {
  Client(trident_mode mode, const std::string& socket, bool speculates = true) {
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = static_cast<std::uint32_t>(mode);
    options.socket_path = socket.empty() ? nullptr : socket.c_str();
    options.connect_timeout_ms = kPatienceMs;
    options.no_speculation = speculates ? 0 : 1;
    EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  }
  ~Client() { trident_close(ctx); }
  [[nodiscard]] std::uint64_t told(const char* counter) const {
    char text[16384];
    EXPECT_EQ(TRIDENT_OK, trident_daemon_stats(ctx, text, sizeof(text), kPatienceMs)) << trident_last_error();
    return nlohmann::json::parse(text)["jobs"][counter];
  }
  trident_ctx* ctx = nullptr;
};

/// One kernel, and the same in a client that asks no compiler.
class Pair {
 public:
  /// `reduces`: to the sum of all elements.
  Pair(const Client& client, const Client& oracle, int number, bool reduces = false) {
    const std::string element = "sin(" + std::to_string(number) + "*sin(x) + cos(x*0.5))*sin(x + 1)";
    const std::string text = reduces ? "sum(" + element + ")" : element;
    kernel_ = submit(client, text), right_ = submit(oracle, text);
  }
  ~Pair() { trident_close_kernel(kernel_), trident_close_kernel(right_); }

  /// Calls both; false when their bits differ.
  [[nodiscard]] bool agree(const Floats& x) const {
    Floats have(kN), wanted(kN);
    call(kernel_, x, have), call(right_, x, wanted);
    for (std::size_t i = 0; i < kN; ++i) {
      const bool same = std::memcmp(&wanted[i], &have[i], sizeof(float)) == 0;
      if (!same && !(std::isnan(wanted[i]) && std::isnan(have[i]))) return false;
    }
    return true;
  }
  [[nodiscard]] trident_kernel_info info() const {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(TRIDENT_OK, trident_info(kernel_, &info));
    return info;
  }
  [[nodiscard]] bool has_code(int seconds) const {
    return trident_wait(kernel_, TRIDENT_TIER_BASELINE, static_cast<std::uint32_t>(seconds) * 1000) == TRIDENT_OK;
  }
  /// Shows the library data of calls to come.
  void show(const Floats& x) const {
    const void* const in[] = {x.data()};
    trident_observe(kernel_, kN, in, nullptr);
  }
  [[nodiscard]] bool is_done() const { return info().done != 0 && info().tier != 0; }

  /// Goes on calling with these values until `ended`, or for long.
  template <class Ended>
  [[nodiscard]] bool call_until(const Floats& x, Ended ended, int seconds = 60) const {
    bool right = true;
    const bool came = eventually(
        [&] {
          for (int i = 0; i < 8; ++i) right = right && agree(x);
          return !right || ended();
        },
        seconds);
    EXPECT_TRUE(right);
    return came && right;
  }

  /// Calls with small values; true once code has come that misses others.
  [[nodiscard]] bool becomes_fast() const {
    if (!call_until(values(3), [&] { return is_done(); })) return false;
    // A search in the ranges follows, and nobody says when it has ended: one wide value in a call is enough to
    // see.
    return call_until(
        values(3, kN), [&] { return info().misses != 0; }, 20);
  }

 private:
  static trident_kernel* submit(const Client& client, const std::string& text) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.type = TRIDENT_F32;
    options.policy = TRIDENT_EXACT;
    trident_kernel* kernel = nullptr;
    EXPECT_EQ(TRIDENT_OK, trident_submit(client.ctx, text.c_str(), &options, &kernel)) << trident_last_error();
    return kernel;
  }
  static void call(const trident_kernel* kernel, const Floats& x, Floats& out) {
    const void* const in[] = {x.data()};
    void* const outs[] = {out.data()};
    trident_call(kernel, kN, in, outs, nullptr);
  }
  trident_kernel *kernel_ = nullptr, *right_ = nullptr;
};

class Undeclared : public ::testing::TestWithParam<trident_mode> {
 protected:
  void SetUp() override {
    if (GetParam() == TRIDENT_MODE_DAEMON)
      daemon_.emplace();
    else
      ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  }
  [[nodiscard]] std::string socket() const { return daemon_ ? daemon_->socket() : "/nonexistent/tridentd.sock"; }
  std::optional<PrivateDaemon> daemon_;
  const Client oracle_{TRIDENT_MODE_INTERP, ""};
};

TEST_P(Undeclared, KernelsBecomeFastForTheirDataAndFollowWhenTheseChange) {
  const Client client(GetParam(), socket());
  for (int i = 1; i <= kKernels; ++i) {
    const Pair pair(client, oracle_, i);
    if (!pair.becomes_fast()) continue;
    for (const std::size_t every : {1, 2, 17, 500}) EXPECT_TRUE(pair.agree(values(3, every)));
    // Far values in every call: ranges get wider, or the speculation is taken back. Then they are missed no more.
    const Floats wide = values(50);
    std::uint64_t before = 0;
    EXPECT_TRUE(pair.call_until(wide, [&] {
      const std::uint64_t now = pair.info().misses;
      return std::exchange(before, now) == now && now != 0;
    }));
    if (daemon_) {
      EXPECT_GT(client.told("observed"), 0u);
      EXPECT_GT(client.told("widened") + client.told("dropped"), 0u);
      EXPECT_GT(client.told("misses"), 0u);
    }
    return;
  }
  ADD_FAILURE() << "no kernel became fast for its data";
}

/// A call is one kernel's as a whole.
TEST_P(Undeclared, KernelsThatReduceBecomeFastForTheirData) {
  const Client client(GetParam(), socket());
  for (int i = 21; i <= 20 + kKernels; ++i) {
    const Pair pair(client, oracle_, i, true);
    if (!pair.becomes_fast()) continue;
    const std::uint64_t before = pair.info().misses;
    EXPECT_TRUE(pair.agree(values(3)));
    EXPECT_EQ(pair.info().misses, before);
    for (const std::size_t every : {1, 2, 17, 500, 4096}) EXPECT_TRUE(pair.agree(values(3, every)));
    return;
  }
  ADD_FAILURE() << "no kernel became fast for its data";
}

/// The engine in the process makes speculative code at once, without general code before it.
TEST_P(Undeclared, CodeThatTakesThePlaceOfDroppedCodeIsOptimised) {
  const Client client(GetParam(), socket());
  for (int i = 11; i <= 10 + kKernels; ++i) {
    const Pair pair(client, oracle_, i);
    if (!pair.becomes_fast()) continue;
    std::uint64_t before = 0;
    EXPECT_TRUE(pair.call_until(
        values(3, 2), [&] { return std::exchange(before, pair.info().misses) == pair.info().misses; }, 40));
    EXPECT_EQ(pair.info().tier, 2u);
    return;
  }
  ADD_FAILURE() << "no kernel became fast for its data";
}

/// Calls long enough for code that assumes ranges to come, with one wide value in each: nothing misses.
void expect_nothing_learnt(const Client& client, const Client& oracle, bool daemon) {
  const Pair pair(client, oracle, 1);
  EXPECT_TRUE(pair.call_until(values(3), [&] { return pair.is_done(); }));
  EXPECT_FALSE(pair.call_until(
      values(3, 2), [&] { return pair.info().misses != 0; }, 3));
  if (daemon) {
    EXPECT_EQ(client.told("observed"), 0u);
  }
}

TEST_P(Undeclared, NothingIsLearntWhereTheOptionSaysSo) {
  expect_nothing_learnt(Client(GetParam(), socket(), false), oracle_, daemon_.has_value());
}

/// In mode embedded nobody but the misses of code tells whether data were looked at.
TEST_P(Undeclared, NothingIsLearntWhereTheEnvironmentSaysSo) {
  ::setenv("TRIDENT_SPECULATE", "0", 1);
  const Client off(GetParam(), socket());
  ::unsetenv("TRIDENT_SPECULATE");
  expect_nothing_learnt(off, oracle_, daemon_.has_value());
}

/// The child has no thread that looks: its calls may keep the detour, and are right.
TEST_P(Undeclared, ChildrenForkedWhileItLearnsAnswerRight) {
  const Client client(GetParam(), socket());
  const Pair pair(client, oracle_, 7);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(pair.agree(values(3)));
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      bool right = true;
      for (int call = 0; call < 40; ++call) right = right && pair.agree(values(call < 20 ? 3 : 50, 7));
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(pair.call_until(values(3), [&] { return pair.is_done(); }));
}

/// Data are shown when the search has begun. One call with wide values shows whether the code assumes ranges.
TEST(Embedded, NothingMoreComesOnceAKernelIsDone) {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  const Client client(TRIDENT_MODE_EMBEDDED, ""), oracle(TRIDENT_MODE_INTERP, "");
  bool fast = false;
  for (int i = 31; i <= 30 + kKernels && !fast; ++i) {
    const Pair pair(client, oracle, i);
    ASSERT_TRUE(pair.has_code(60));  // at once: on an idle machine a search takes less time than sleeps of a loop
    pair.show(values(3));
    ASSERT_TRUE(eventually([&] { return pair.is_done(); }, 60));
    const std::uint32_t swaps = pair.info().swaps;
    EXPECT_LE(swaps, 3u) << "one search for both kinds of code: the baseline, its first kernel, its last";
    EXPECT_TRUE(pair.agree(values(3, kN)));
    fast = pair.info().misses != 0;
    EXPECT_EQ(pair.info().swaps, swaps);
  }
  EXPECT_TRUE(fast);
}

INSTANTIATE_TEST_SUITE_P(Modes, Undeclared,
                         ::testing::Values(TRIDENT_MODE_DAEMON, TRIDENT_MODE_EMBEDDED, TRIDENT_MODE_AUTO),
                         [](const auto& mode) {
                           return mode.param == TRIDENT_MODE_DAEMON     ? "Daemon"
                                  : mode.param == TRIDENT_MODE_EMBEDDED ? "Embedded"
                                                                        : "WithoutADaemon";
                         });

}  // namespace
}  // namespace trident::tests
