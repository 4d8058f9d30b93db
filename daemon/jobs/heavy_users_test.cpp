#include "daemon/jobs/heavy_users.h"

#include <gtest/gtest.h>

namespace trident::jobs {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint32_t kUser = 1, kOther = 2;

/// Notes `count` compilations of `cpu_ns`, one every `every_ns`. Returns when the last was.
std::uint64_t note_many(HeavyUsers& users, std::uint32_t user, int count, std::uint64_t cpu_ns, std::uint64_t every_ns,
                        std::uint64_t from_ns) {
  for (int i = 0; i < count; ++i) users.note(user, cpu_ns, from_ns += every_ns);
  return from_ns;
}

TEST(HeavyUsers, OneLongCompilationMakesAUserHeavyForAWhile) {
  HeavyUsers users;
  users.note(kUser, 20 * kMs, 5 * kMs);
  EXPECT_TRUE(users.is_slow(kUser, 900 * kMs));
  EXPECT_TRUE(users.is_heavy(kUser, 900 * kMs));
  EXPECT_FALSE(users.is_slow(kUser, 1100 * kMs));
  EXPECT_FALSE(users.is_heavy(kOther, 6 * kMs));
}

TEST(HeavyUsers, AFloodOfBriefOnesIsHeavyWhileOthersArePresent) {
  HeavyUsers users;
  std::uint64_t now = note_many(users, kUser, 5000, 40'000, 100'000, kMs);
  EXPECT_FALSE(users.is_heavy(kUser, now));  // nobody else is here
  users.note(kOther, 40'000, now);
  EXPECT_TRUE(users.is_heavy(kUser, now));
  EXPECT_FALSE(users.is_slow(kUser, now));
  EXPECT_FALSE(users.is_heavy(kOther, now));
  EXPECT_TRUE(users.is_heavy(kUser, now + 500 * kMs));
  EXPECT_FALSE(users.is_heavy(kUser, now + 3000 * kMs));
}

TEST(HeavyUsers, ManyFloodsAreHeavyThoughEachHasASmallShare) {
  HeavyUsers users;
  std::uint64_t now = kMs;
  for (int round = 0; round < 20'000; ++round)
    for (std::uint32_t user = 1; user <= 8; ++user) users.note(user, 40'000, now += 100'000);
  for (std::uint32_t user = 1; user <= 8; ++user) EXPECT_TRUE(users.is_heavy(user, now)) << user;
}

TEST(HeavyUsers, OneThatAsksNowAndThenOrForHundredsAtOnceIsNot) {
  HeavyUsers users;
  users.note(kOther, 40'000, kMs);
  const std::uint64_t now = note_many(users, kUser, 300, 40'000, 100'000, 2 * kMs);
  users.note(kOther, 40'000, now);
  EXPECT_FALSE(users.is_heavy(kUser, now));
  const std::uint64_t end = note_many(users, kOther, 10'000, 40'000, 2 * kMs, now);
  users.note(kUser, 40'000, end);
  EXPECT_FALSE(users.is_heavy(kOther, end));
}

}  // namespace
}  // namespace trident::jobs
