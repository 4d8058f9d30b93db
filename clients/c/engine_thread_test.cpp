// The order of searches that wait to go on. Oracle: orders written out.
#include "clients/c/engine_thread.h"

#include <gtest/gtest.h>

namespace trident::client {
namespace {

std::vector<std::size_t> order_of(std::vector<WaitingSearch> waiting) {
  std::vector<std::size_t> order, numbers(waiting.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  while (!waiting.empty()) {
    const auto next = static_cast<std::ptrdiff_t>(next_to_go_on(waiting));
    order.push_back(numbers[static_cast<std::size_t>(next)]);
    waiting.erase(waiting.begin() + next), numbers.erase(numbers.begin() + next);
  }
  return order;
}

TEST(EngineThread, SearchesThatHaveNothingSoFarGoOnFirst) {
  EXPECT_EQ(order_of({{false, 0}, {false, 900}, {true, 0}, {false, 7}}), (std::vector<std::size_t>{2, 1, 3, 0}));
}

TEST(EngineThread, AmongEqualsTheMostCalledSearchGoesOnFirst) {
  EXPECT_EQ(order_of({{true, 5}, {true, 90}, {true, 5}, {true, 0}}), (std::vector<std::size_t>{1, 0, 2, 3}));
  EXPECT_EQ(order_of({{false, 0}, {false, 1}, {false, 0}}), (std::vector<std::size_t>{1, 0, 2}));
}

}  // namespace
}  // namespace trident::client
