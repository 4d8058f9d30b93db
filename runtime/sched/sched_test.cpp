// Oracle: a count of what went in against what came out.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/sched/bounded_queue.h"
#include "runtime/sched/budget.h"

namespace trident::sched {
namespace {

TEST(BoundedQueue, RefusesWhenFullAndKeepsOrder) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.try_push(1));
  EXPECT_TRUE(queue.try_push(2));
  EXPECT_FALSE(queue.try_push(3));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_TRUE(queue.try_push(4));
  queue.close();
  EXPECT_FALSE(queue.try_push(5));
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), 4);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, LosesNothingBetweenThreads) {
  BoundedQueue<std::uint64_t> queue(16);
  constexpr std::uint64_t kItems = 20'000;
  std::uint64_t sum = 0, taken = 0;
  std::thread consumer([&] {
    while (auto item = queue.pop()) {
      sum += *item;
      ++taken;
    }
  });
  std::vector<std::thread> producers;
  for (std::uint64_t p = 0; p < 4; ++p)
    producers.emplace_back([&queue, p] {
      for (std::uint64_t i = p; i < kItems; i += 4)
        while (!queue.try_push(std::uint64_t{i})) std::this_thread::yield();
    });
  for (auto& producer : producers) producer.join();
  queue.close();
  consumer.join();
  EXPECT_EQ(taken, kItems);
  EXPECT_EQ(sum, kItems * (kItems - 1) / 2);
}

TEST(Budget, StepsAreExactAndSpentStaysSpent) {
  Budget budget({.steps_max = 1000});
  std::uint64_t granted = 0;
  for (int i = 0; i < 5000; ++i) granted += budget.spend() ? 1 : 0;
  EXPECT_EQ(granted, 1000u);
  EXPECT_TRUE(budget.spent());
}

TEST(Budget, PastDeadlineIsSeenWithinOneLook) {
  Budget budget({.deadline_ns = 1});
  std::uint64_t granted = 0;
  while (budget.spend()) ++granted;
  EXPECT_LT(granted, Budget::kStepsPerLook);
}

// The oracle is the thread's own clock.
TEST(Budget, CpuTimeCountsAndSleepDoesNot) {
  Budget budget({.cpu_ns = 30'000'000});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(budget.spent());
  const std::uint64_t start_ns = os::thread_cpu_ns();
  while (!budget.spent()) {
    ASSERT_LT(os::thread_cpu_ns() - start_ns, 1'000'000'000u);
  }
  EXPECT_GE(os::thread_cpu_ns() - start_ns, 20'000'000u);
}

TEST(Budget, CancelIsSeen) {
  std::atomic<bool> cancelled = false;
  Budget budget({}, &cancelled);
  EXPECT_TRUE(budget.spend(10 * Budget::kStepsPerLook));
  cancelled = true;
  EXPECT_TRUE(budget.spent());
  EXPECT_FALSE(budget.spend());
}

}  // namespace
}  // namespace trident::sched
