// Oracle: what was noted, counted by hand.
#include "daemon/jobs/past_failures.h"

#include <gtest/gtest.h>

namespace trident::jobs {
namespace {

constexpr auto kBaseline = worker::Lane::baseline, kOptimise = worker::Lane::optimise;
const Error kTooLarge{ErrorCode::kLimitExceeded, "too large"};

TEST(PastFailures, AreKnownToTheirUserLaneAndTime) {
  PastFailures failures;
  failures.remember(1, "a", kBaseline, kTooLarge, 0);
  const Error* const known = failures.known(1, "a", kBaseline, 1);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->message, "too large");
  EXPECT_EQ(failures.known(2, "a", kBaseline, 1), nullptr);
  EXPECT_EQ(failures.known(1, "b", kBaseline, 1), nullptr);
  EXPECT_EQ(failures.known(1, "a", kOptimise, 1), nullptr);
  EXPECT_EQ(failures.known(1, "a", kBaseline, kFailuresRememberedNs), nullptr);
  EXPECT_EQ(failures.size_of(1), 0u);
}

TEST(PastFailures, ThatMayPassAreNotRemembered) {
  PastFailures failures;
  for (const ErrorCode code : {ErrorCode::kOutOfMemory, ErrorCode::kOsError, ErrorCode::kTimeout, ErrorCode::kBusy})
    failures.remember(1, "a", kBaseline, {code, "now"}, 0);
  EXPECT_EQ(failures.known(1, "a", kBaseline, 1), nullptr);
}

TEST(PastFailures, StrikesQuarantineALane) {
  PastFailures failures;
  for (std::uint32_t i = 1; i <= kStrikesMax; ++i) {
    EXPECT_FALSE(failures.quarantined(1, "a", kBaseline, 1));
    EXPECT_EQ(failures.strike(1, "a", kBaseline, 0), i);
  }
  EXPECT_TRUE(failures.quarantined(1, "a", kBaseline, 1));
  EXPECT_FALSE(failures.quarantined(1, "a", kOptimise, 1));
  failures.forget(1, "a");
  EXPECT_FALSE(failures.quarantined(1, "a", kBaseline, 1));
}

TEST(PastFailures, AFloodDisplacesItsUsersAlone) {
  PastFailures failures;
  failures.remember(1, "mine", kBaseline, kTooLarge, 0);
  for (std::size_t i = 0; i < 10 * kFailuresPerUserMax; ++i)
    failures.remember(2, std::to_string(i), kBaseline, kTooLarge, 1);
  EXPECT_NE(failures.known(1, "mine", kBaseline, 2), nullptr);
  EXPECT_EQ(failures.size_of(2), kFailuresPerUserMax);
  EXPECT_EQ(failures.known(2, "0", kBaseline, 2), nullptr);
  EXPECT_NE(failures.known(2, std::to_string(10 * kFailuresPerUserMax - 1), kBaseline, 2), nullptr);
}

TEST(PastFailures, OfManyUsersTheLatestAreKept) {
  PastFailures failures;
  for (std::uint32_t uid = 0; uid < 2 * kFailingUsersMax; ++uid) failures.remember(uid, "a", kBaseline, kTooLarge, uid);
  EXPECT_EQ(failures.size_of(0), 0u);
  EXPECT_EQ(failures.size_of(kFailingUsersMax), 1u);
  EXPECT_EQ(failures.size_of(2 * kFailingUsersMax - 1), 1u);
}

}  // namespace
}  // namespace trident::jobs
