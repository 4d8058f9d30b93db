// Oracles: the turn each user should have, counted; the time that each user was served, summed; the bound of start-time
// fair queueing on the difference between two users.
#include "daemon/jobs/fair_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

namespace trident::jobs {
namespace {

TEST(FairQueue, UsersTakeTurns) {
  FairQueue<int> queue;
  for (int i = 0; i < 1000; ++i) queue.push_back(7, i);
  queue.push_back(3, -1);
  queue.push_back(3, -2);
  queue.push_back(9, -3);
  std::vector<int> first;
  for (int i = 0; i < 6; ++i) {
    first.push_back(*queue.pop());
    queue.settle(first.back() >= 0 ? 7 : first.back() == -3 ? 9 : 3, 100);
  }
  EXPECT_EQ(first, (std::vector<int>{-1, 0, -3, -2, 1, 2}));
}

// The second group's item keeps its turn whatever the first one's weigh.
TEST(FairQueue, TheHeaviestOfAGroupIsFirst) {
  FairQueue<int> queue;
  std::vector<FairQueue<int>::Place> places;
  for (int i = 0; i < 5; ++i) places.push_back(queue.push_back(1, i, 1));
  queue.push_back(1, 10, 2);
  queue.push_back(1, 11, 2);
  queue.set_weight(places[4], 3);
  queue.set_weight(places[2], 7);
  queue.set_weight(places[4], 2);  // weights only grow
  queue.push_front(1, -1);
  queue.set_weight(places[3], 1000);
  std::vector<int> order;
  while (const auto next = queue.pop()) order.push_back(*next);
  EXPECT_EQ(order, (std::vector<int>{-1, 3, 10, 2, 11, 4, 0, 1}));
}

TEST(FairQueue, ItemsForLaterComeBehindAllOthersOfTheirUser) {
  FairQueue<int> queue;
  queue.push_later(1, 10, 0);
  const auto grows = queue.push_later(1, 11, 0);
  queue.push_later(1, 12, 5);
  const auto goes = queue.push_later(1, 13, 1);
  queue.push_back(1, 0);
  queue.push_urgent(1, -1);
  queue.push_later(2, 20, 0);
  queue.set_weight(grows, 3);
  queue.erase(goes);
  EXPECT_EQ(queue.size_of(1), 1u);
  std::vector<int> order;
  while (const auto next = queue.pop()) {
    order.push_back(*next);
    queue.settle(*next < 20 ? 1 : 2, 100);
  }
  EXPECT_EQ(order, (std::vector<int>{-1, 20, 0, 12, 11, 10})) << "the second user has used nothing";
  EXPECT_EQ(queue.size(), 0u);
}

TEST(FairQueue, OfItemsForLaterThoseThatMayNotRunLetOthersPass) {
  FairQueue<int> queue;
  for (const int item : {1, 2, 3}) queue.push_later(7, item, 0);
  const auto is_even = [](int item) { return item % 2 == 0; };
  EXPECT_EQ(queue.pop(is_even), 2);
  EXPECT_EQ(queue.pop(is_even), std::nullopt);
  queue.push_back(7, 5);
  queue.push_back(7, 6);
  EXPECT_EQ(queue.pop(is_even), std::nullopt) << "others do not";
  EXPECT_EQ(queue.pop(), 5);
}

TEST(FairQueue, AnItemWhoseWeightGrewCanBeErased) {
  FairQueue<int> queue;
  std::vector<FairQueue<int>::Place> places;
  for (int i = 0; i < 4; ++i) places.push_back(queue.push_back(1, i, 1));
  queue.set_weight(places[3], 1);
  queue.erase(places[3]);
  queue.erase(places[0]);
  EXPECT_EQ(*queue.pop(), 1);
  EXPECT_EQ(*queue.pop(), 2);
  EXPECT_EQ(queue.size(), 0u);
}

/// One server for users that always wait, whose items take `time_of(user)`. Returns the time that each was served.
template <class TimeOf>
std::map<std::uint32_t, std::uint64_t> serve_for(std::uint64_t ns, const std::vector<std::uint32_t>& users,
                                                 TimeOf time_of) {
  FairQueue<std::uint32_t> queue;
  std::map<std::uint32_t, std::uint64_t> served;
  for (const auto user : users)
    for (int i = 0; i < 3; ++i) queue.push_back(user, user);
  for (std::uint64_t now = 0; now < ns;) {
    const std::uint32_t user = *queue.pop();
    queue.push_back(user, user);
    const std::uint64_t taken = time_of(user);
    queue.settle(user, taken);
    served[user] += taken;
    now += taken;
  }
  return served;
}

TEST(FairQueue, SlowItemsOfAUserCostThatUserAlone) {
  const auto served = serve_for(1'000'000, {1, 2}, [](std::uint32_t user) { return user == 1 ? 20'000u : 20u; });
  EXPECT_NEAR(static_cast<double>(served.at(1)), static_cast<double>(served.at(2)), 20'000);
}

TEST(FairQueue, ServiceOfTwoThatWaitDiffersByOneItemOfEach) {
  std::mt19937 random(7);
  constexpr std::uint64_t kItemMax = 1'000;
  for (int round = 0; round < 50; ++round) {
    const auto served = serve_for(50'000, {1, 2, 3, 4}, [&](std::uint32_t user) {
      return 1 + random() % (user == 1 ? kItemMax : user == 2 ? kItemMax / 10 : kItemMax / 2);
    });
    for (const auto& [a, time_a] : served)
      for (const auto& [b, time_b] : served) ASSERT_LE(time_a, time_b + 2 * kItemMax) << a << " " << b;
  }
}

TEST(FairQueue, ManyServersAreNotGivenToOneUserBeforeItIsCharged) {
  FairQueue<int> queue;
  for (int i = 0; i < 20; ++i) {
    queue.push_back(1, 1);
    queue.push_back(2, 2);
  }
  for (int i = 0; i < 2; ++i) queue.settle(static_cast<std::uint32_t>(*queue.pop()), 1'000);
  std::map<int, int> in_service;
  for (int i = 0; i < 8; ++i) ++in_service[*queue.pop()];
  EXPECT_EQ(in_service[1], 4);
  EXPECT_EQ(in_service[2], 4);
}

TEST(FairQueue, NobodySavesUpTime) {
  FairQueue<int> queue;
  for (int i = 0; i < 100; ++i) queue.push_back(1, 1);
  for (int i = 0; i < 50; ++i) queue.settle(static_cast<std::uint32_t>(*queue.pop()), 1'000);
  for (int i = 0; i < 100; ++i) queue.push_back(2, 2);
  std::map<int, int> served;
  for (int i = 0; i < 20; ++i) {
    const int user = *queue.pop();
    ++served[user];
    queue.settle(static_cast<std::uint32_t>(user), 1'000);
  }
  EXPECT_NEAR(served[1], served[2], 1);
}

TEST(FairQueue, PassesOverThoseThatMayNotRun) {
  FairQueue<int> queue;
  queue.push_back(1, 10);
  queue.push_back(2, 20);
  EXPECT_EQ(queue.pop([](int item) { return item == 20; }), 20);
  EXPECT_EQ(queue.pop([](int item) { return item == 20; }), std::nullopt);
  EXPECT_EQ(queue.size(), 1u);
}

TEST(FairQueue, UrgentItemsGoBeforeTheirUsersOthersAlone) {
  FairQueue<int> queue;
  queue.push_back(1, 10);
  const auto erased = queue.push_urgent(1, 0);
  for (int i = 11; i < 14; ++i) queue.push_urgent(1, i);
  queue.push_front(1, 9);
  queue.push_back(2, 20);
  queue.erase(erased);
  EXPECT_EQ(queue.urgent_size(), 3u);
  EXPECT_EQ(queue.size_of(1), 2u);
  std::vector<int> order;
  while (const auto item = queue.pop()) {
    order.push_back(*item);
    queue.settle(*item == 20 ? 2 : 1, 1'000);
  }
  EXPECT_EQ(order, (std::vector<int>{11, 20, 12, 13, 9, 10}));
}

// 300 of one connection, then one of another: it is served second. A third that comes later is not behind the rest.
TEST(FairQueue, ConnectionsOfAUserTakeTurns) {
  FairQueue<int> queue;
  for (int i = 0; i < 300; ++i) queue.push_back(1, i, 70);
  std::vector<int> order;
  const auto serve = [&](int count) {
    for (int i = 0; i < count; ++i) {
      order.push_back(*queue.pop());
      queue.settle(1, 100);
    }
  };
  serve(1);
  queue.push_back(1, 1000, 71);
  serve(3);
  for (int i = 0; i < 3; ++i) queue.push_back(1, 2000 + i, 72);
  queue.push_front(1, -1);
  serve(6);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 1000, 2, -1, 3, 2000, 4, 2001, 5}));
  serve(301 + 3 + 1 - 10);
  EXPECT_EQ(order.back(), 299);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(FairQueue, AgreesWithAListPerUser) {
  std::mt19937 random(4);
  FairQueue<int> queue;
  std::map<std::uint32_t, std::deque<int>> model;
  std::map<int, FairQueue<int>::Place> places;
  std::size_t size = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto user = static_cast<std::uint32_t>(random() % 5);
    switch (random() % 4) {
      case 0:
        places.insert_or_assign(i, queue.push_back(user, i));
        model[user].push_back(i);
        ++size;
        break;
      case 1:
        places.insert_or_assign(i, queue.push_front(user, i));
        model[user].push_front(i);
        ++size;
        break;
      case 2:
        if (const auto got = queue.pop()) {
          const auto place = places.find(*got);
          ASSERT_NE(place, places.end());
          auto& list = model[place->second.user];
          ASSERT_EQ(list.front(), *got);
          list.pop_front();
          queue.settle(place->second.user, random() % 100);
          places.erase(place);
          --size;
        } else {
          ASSERT_EQ(size, 0u);
        }
        break;
      case 3:
        if (!places.empty()) {
          auto place = places.begin();
          std::advance(place, random() % places.size());
          std::erase(model[place->second.user], place->first);
          queue.erase(place->second);
          places.erase(place);
          --size;
        }
        break;
    }
    ASSERT_EQ(queue.size(), size);
    ASSERT_EQ(queue.size_of(user), model[user].size());
  }
}

}  // namespace
}  // namespace trident::jobs
