// The judge on contestants that are no kernels: code that changes its context. Oracles: a walk that was not reset has
// nothing left to do, and counters in shared memory, which outlive the child.
#include "jit/judge/contestant.h"

#include <gtest/gtest.h>

#include <csignal>
#include <new>
#include <vector>

#include "jit/judge/guarded.h"
#include "jit/judge/timing.h"
#include "jit/judge/tournament.h"
#include "runtime/os/clock.h"
#include "runtime/os/memfd.h"

namespace trident::judge {
namespace {

using Kind = os::SandboxEnd::Kind;

/// A loop with a register that it leaves at its end, like the guest's in a region.
struct Walk {
  std::uint64_t steps = 0;
  std::uint64_t at = 0;
  std::uint64_t calls = 0, resets = 0;
  std::uint64_t stale_calls = 0;  ///< those that did not begin at 0
};

void walk(void* opaque) {
  auto& w = *static_cast<Walk*>(opaque);
  ++w.calls;
  w.stale_calls += w.at != 0 ? 1 : 0;
  for (; w.at < w.steps; ++w.at) asm volatile("" ::: "memory");
}
void back_to_start(void* opaque) {
  auto& w = *static_cast<Walk*>(opaque);
  ++w.resets;
  w.at = 0;
}
void crash(void*) {
  ::raise(SIGILL);  // a system call, which the sandbox answers with SIGSYS
}
void hang(void*) {
  for (;;) asm volatile("");
}
bool walked_to_the_end(void* opaque) {
  const auto& w = *static_cast<const Walk*>(opaque);
  return w.at == w.steps;
}

/// Walks in memory that children share.
class Walks {
 public:
  explicit Walks(std::initializer_list<std::uint64_t> steps) {
    auto mapping = os::map_shared(steps.size() * sizeof(Walk));
    CHECK(mapping.ok());
    mapping_ = std::move(mapping).value();
    walks_ = {static_cast<Walk*>(mapping_.base()), steps.size()};
    for (std::size_t i = 0; i < steps.size(); ++i) new (&walks_[i]) Walk{.steps = steps.begin()[i]};
  }
  Walk& operator[](std::size_t i) { return walks_[i]; }

 private:
  os::Mapping mapping_;
  std::span<Walk> walks_;
};

constexpr TimingRules kRules{.rounds = 9, .batch_ns = 20'000, .cpu_ns = 1'000'000'000};

TEST(Contestants, AResetComesBeforeEveryTimedCall) {
  Walks walks{100, 3000};
  const Contestant contestants[] = {{walk, &walks[0], back_to_start}, {walk, &walks[1], back_to_start}};
  const auto timings = time_rounds(contestants, kRules);
  ASSERT_TRUE(timings.ok()) << timings.error().message;
  for (const int i : {0, 1}) {
    EXPECT_GT(walks[i].calls, 9u);
    EXPECT_EQ(walks[i].resets, walks[i].calls);
    EXPECT_EQ(walks[i].stale_calls, 0u);
    EXPECT_EQ(timings->ns[i].size(), 9u);
  }
  int slower_rounds = 0;
  for (int round = 0; round < 9; ++round) slower_rounds += timings->ns[1][round] > timings->ns[0][round] ? 1 : 0;
  EXPECT_GE(slower_rounds, 8);
}

TEST(Contestants, WithoutAResetCallsAreRepeatedAsTheyAre) {
  Walks walks{100};
  const Contestant contestants[] = {{walk, &walks[0]}};
  ASSERT_TRUE(time_rounds(contestants, kRules).ok());
  EXPECT_GT(walks[0].calls, 9u);
  EXPECT_EQ(walks[0].resets, 0u);
  EXPECT_EQ(walks[0].stale_calls, walks[0].calls - 1);
}

// The walk is short; its reset takes a hundred times as long.
TEST(Contestants, ResetsAreNotInTheTimes) {
  Walks walks{10, 20'000};
  const auto slow_reset = [](void* opaque) {
    for (std::uint64_t i = 0; i < 20'000; ++i) asm volatile("" ::: "memory");
    back_to_start(opaque);
  };
  const Contestant contestants[] = {{walk, &walks[0], slow_reset}, {walk, &walks[1], back_to_start}};
  const auto timings = time_rounds(contestants, kRules);
  ASSERT_TRUE(timings.ok()) << timings.error().message;
  int cheaper_rounds = 0;
  for (int round = 0; round < 9; ++round) cheaper_rounds += timings->ns[0][round] < timings->ns[1][round] / 4 ? 1 : 0;
  EXPECT_GE(cheaper_rounds, 8);
  EXPECT_LT(walks[0].calls, 1000u);  // but they are in the length of a batch
}

TEST(Contestants, OneThatCrashesOrHangsIsTakenOut) {
  Walks walks{100, 100};
  const Contestant contestants[] = {
      {walk, &walks[0], back_to_start}, {crash, nullptr}, {hang, nullptr}, {walk, &walks[1], back_to_start}};
  const auto timings = time_rounds(contestants, {.rounds = 5, .batch_ns = 2000, .cpu_ns = 30'000'000});
  ASSERT_TRUE(timings.ok()) << timings.error().message;
  EXPECT_EQ(timings->ends[1].signal, SIGSYS);
  EXPECT_EQ(timings->ends[2].kind, Kind::timed_out);
  EXPECT_EQ(timings->ns[0].size(), 5u);
  EXPECT_EQ(timings->ns[3].size(), 5u);
}

TEST(Contestants, TheFastestWinsATournament) {
  Walks walks{20'000, 10'000, 500, 8'000};
  std::vector<Contestant> contestants;
  for (std::size_t i = 0; i < 4; ++i) contestants.push_back({walk, &walks[i], back_to_start});
  const auto verdict = hold_tournament(contestants, {.cpu_ns = 2'000'000'000});
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->gain);
  EXPECT_EQ(verdict->winner, 2u);
}

TEST(Contestants, GuardedCallsRunOnceInTurnAfterTheirReset) {
  Walks walks{5, 7};
  walks[0].at = walks[1].at = 3;
  const Contestant calls[] = {{walk, &walks[0], back_to_start}, {walk, &walks[1], back_to_start}, {walk, &walks[0]}};
  const auto end = run_guarded(calls, walked_to_the_end, {}, 1'000'000'000);
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_TRUE(end->sound());
  EXPECT_EQ(end->calls_done, 3u);
  EXPECT_EQ(walks[0].calls, 2u);
  EXPECT_EQ(walks[0].resets, 1u);
  EXPECT_EQ(walks[0].stale_calls, 1u);
  EXPECT_EQ(walks[1].calls, 1u);
  EXPECT_EQ(walks[1].stale_calls, 0u);
}

TEST(Contestants, AGuardedRunEndsAtTheFirstFault) {
  Walks walks{5, 5, 5};
  const Contestant good{walk, &walks[0], back_to_start}, after{walk, &walks[2], back_to_start};
  const auto leaves_early = [](void* opaque) { static_cast<Walk*>(opaque)->at = 1; };
  {
    const Contestant calls[] = {good, {leaves_early, &walks[1]}, after};
    const auto end = run_guarded(calls, walked_to_the_end, {}, 1'000'000'000);
    ASSERT_TRUE(end.ok()) << end.error().message;
    EXPECT_EQ(end->end.kind, Kind::finished);
    EXPECT_TRUE(end->wrote_outside);
    EXPECT_FALSE(end->sound());
    EXPECT_EQ(end->calls_done, 1u);
  }
  for (const auto fault : {crash, hang}) {
    const Contestant calls[] = {good, {fault, nullptr}, after};
    const auto end = run_guarded(calls, walked_to_the_end, {}, 50'000'000);
    ASSERT_TRUE(end.ok()) << end.error().message;
    EXPECT_NE(end->end.kind, Kind::finished);
    EXPECT_EQ(end->calls_done, 1u);
  }
  EXPECT_EQ(walks[2].calls, 0u);
}

TEST(Contestants, ReadOnlyRegionsCannotBeWritten) {
  auto region = os::GuardedMapping::make(64);
  ASSERT_TRUE(region.ok());
  const std::span<std::byte> bytes = region->bytes();
  const Contestant calls[] = {{[](void* p) { *static_cast<volatile char*>(p) = 1; }, bytes.data()}};
  const auto always = [](void*) { return true; };
  const auto written = run_guarded(calls, always, {}, 1'000'000'000);
  ASSERT_TRUE(written.ok());
  EXPECT_TRUE(written->sound());
  EXPECT_EQ(bytes[0], std::byte{1});
  const auto refused = run_guarded(calls, always, {&bytes, 1}, 1'000'000'000);
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->end.signal, SIGSEGV);
}

}  // namespace
}  // namespace trident::judge
