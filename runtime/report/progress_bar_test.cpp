// Oracle: the rule of three, by hand.
#include "runtime/report/progress_bar.h"

#include <gtest/gtest.h>

namespace trident::report {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(TimeLeft, IsByThePaceOfThisRun) {
  TimeLeft left;
  left.say(0, 100, kSecond);
  EXPECT_FALSE(left.seconds());
  left.say(10, 100, kSecond + kSecond / 2);
  EXPECT_FALSE(left.seconds()) << "after half a second nothing is known";
  left.say(10, 100, 3 * kSecond);
  EXPECT_DOUBLE_EQ(*left.seconds(), 18);  // ten in two seconds, ninety are left
}

// 60 of 100 were done before; then ten take two seconds, and 30 are left.
TEST(TimeLeft, DoesNotCountWhatAnEarlierRunHasDone) {
  TimeLeft left;
  left.say(60, 100, 5 * kSecond);
  left.say(70, 100, 7 * kSecond);
  EXPECT_DOUBLE_EQ(*left.seconds(), 6);
}

TEST(TimeLeft, BeginsAnewWithEachStage) {
  TimeLeft left;
  left.say(0, 10, 0);
  left.say(10, 10, 100 * kSecond);
  left.say(1, 8, 100 * kSecond);  // another total
  EXPECT_FALSE(left.seconds());
  left.say(3, 8, 102 * kSecond);
  EXPECT_DOUBLE_EQ(*left.seconds(), 5);
  left.say(8, 8, 103 * kSecond);
  left.say(0, 8, 103 * kSecond);  // the same total, once more from the beginning
  left.say(2, 8, 113 * kSecond);
  EXPECT_DOUBLE_EQ(*left.seconds(), 30);
}

TEST(StageText, NamesTheStageAndTheBestRatioOnceThereIsOne) {
  EXPECT_EQ(stage_text("judge", 0.62), "judge, best takes 0.62 of the baseline's time");
  EXPECT_EQ(stage_text("lower", 1), "lower");
}

}  // namespace
}  // namespace trident::report
