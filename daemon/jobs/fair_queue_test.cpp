// Oracle: the turn each user should have, counted.
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
  for (int i = 0; i < 6; ++i) first.push_back(*queue.pop());
  EXPECT_EQ(first, (std::vector<int>{-1, 0, -3, -2, 1, 2}));
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
