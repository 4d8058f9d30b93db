#include "daemon/jobs/renewals.h"

#include <gtest/gtest.h>

namespace trident::jobs {
namespace {

Renewals::Kernel kernel(const char* id, std::size_t bytes = 10) {
  Renewals::Kernel k;
  k.id = id;
  Order order;
  order.message.resize(bytes);
  k.order = std::make_shared<const Order>(std::move(order));
  return k;
}

std::vector<std::string> waiting(Renewals& renewals) {
  std::vector<std::string> ids;
  while (const auto number = renewals.next()) {
    ids.push_back(renewals.find(*number)->id);
    renewals.find(*number)->weights = renewals.weights();
  }
  return ids;
}

TEST(Renewals, WaitOnceForOtherWeights) {
  Renewals renewals(1000);
  renewals.remember({1, 1}, kernel("a"));
  renewals.remember({1, 2}, kernel("b"));
  renewals.remember({2, 1}, kernel("a"));
  EXPECT_EQ(renewals.size(), 2u);
  EXPECT_TRUE(waiting(renewals).empty());
  renewals.set_weights(1);
  renewals.set_weights(2);
  EXPECT_EQ(waiting(renewals), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(waiting(renewals).empty());
}

TEST(Renewals, AreForgottenWithTheirLastSubscriber) {
  Renewals renewals(1000);
  renewals.remember({1, 1}, kernel("a"));
  renewals.remember({2, 1}, kernel("a"));
  renewals.set_weights(1);
  renewals.forget({1, 1});
  renewals.forget({1, 1});
  renewals.forget({3, 3});
  EXPECT_EQ(renewals.size(), 1u);
  renewals.forget({2, 1});
  EXPECT_EQ(renewals.size(), 0u);
  EXPECT_EQ(renewals.bytes(), 0u);
  EXPECT_TRUE(waiting(renewals).empty());
}

TEST(Renewals, OfAnotherTimeWaitAtOnce) {
  Renewals renewals(1000);
  renewals.set_weights(3);
  Renewals::Kernel late = kernel("late"), fresh = kernel("fresh");
  fresh.weights = 3;
  renewals.remember({1, 1}, late);
  renewals.remember({1, 2}, fresh);
  EXPECT_EQ(waiting(renewals), std::vector<std::string>{"late"});
}

TEST(Renewals, AreBounded) {
  Renewals renewals(25);
  renewals.remember({1, 1}, kernel("a"));
  renewals.remember({1, 2}, kernel("b"));
  renewals.remember({1, 3}, kernel("c"));
  renewals.remember({1, 4}, kernel("a"));  // takes nothing more
  EXPECT_EQ(renewals.size(), 2u);
  EXPECT_EQ(renewals.bytes(), 20u);
  renewals.forget({1, 2});
  renewals.remember({1, 3}, kernel("c"));
  EXPECT_EQ(renewals.size(), 2u);
  Renewals::Kernel often = kernel("often", 1);
  often.renewed = kRenewalsMax;
  renewals.remember({1, 5}, often);
  renewals.set_weights(1);
  EXPECT_EQ(waiting(renewals), (std::vector<std::string>{"a", "c"}));
}

}  // namespace
}  // namespace trident::jobs
