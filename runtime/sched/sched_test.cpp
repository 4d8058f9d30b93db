// Oracle: counts of items in and out.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/sched/bounded_queue.h"

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

}  // namespace
}  // namespace trident::sched
