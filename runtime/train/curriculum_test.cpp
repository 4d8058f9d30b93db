// Oracle: the rules counted out by hand.
#include "runtime/train/curriculum.h"

#include <gtest/gtest.h>

namespace trident::train {
namespace {

TEST(Curriculum, AdvancesWhenEnoughOfTheWindowIsSolved) {
  Curriculum curriculum({{.difficulty = 1, .threshold = 0.75}, {.difficulty = 5}}, 4);
  // Three of the last four, but never before there are four: 1 1 | 0 0 1 1 -> half; the next 1 makes 0 1 1 1.
  for (const bool solved : {true, true, false, false, true, true}) {
    EXPECT_FALSE(curriculum.record(0, solved));
    EXPECT_EQ(curriculum.difficulty(), 1u);
  }
  EXPECT_DOUBLE_EQ(curriculum.success(), 0.5);
  EXPECT_TRUE(curriculum.record(0, true));
  EXPECT_EQ(curriculum.difficulty(), 5u);
  EXPECT_TRUE(curriculum.at_last());
  EXPECT_EQ(curriculum.success(), 0) << "the window starts anew";
  EXPECT_FALSE(curriculum.record(0, true)) << "of an earlier level";
  EXPECT_EQ(curriculum.episodes(), 0u);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(curriculum.record(1, true)) << "there is no later level";
  EXPECT_EQ(curriculum.success(), 1);
}

TEST(Curriculum, ThreeQuicklySolvedAreNotEnough) {
  Curriculum curriculum({{.difficulty = 1, .threshold = 0.5}, {.difficulty = 2}}, 4);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(curriculum.record(0, true));
  EXPECT_TRUE(curriculum.record(0, true));
}

TEST(Curriculum, EpisodesOfALevelAreBounded) {
  Curriculum curriculum({{.difficulty = 1, .threshold = 0.5, .episodes_max = 6}, {.difficulty = 2}}, 4);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(curriculum.record(0, false));
  EXPECT_TRUE(curriculum.record(0, false));
}

TEST(Curriculum, RehearsesEarlierLevels) {
  Curriculum curriculum({{.difficulty = 1, .threshold = 0}, {.difficulty = 2, .threshold = 0}, {.difficulty = 3}}, 1,
                        0.5);
  tensor::Generator generator(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(curriculum.draw(generator), 0u);
  curriculum.record(0, true);
  curriculum.record(1, true);
  int seen[3] = {};
  for (int i = 0; i < 4000; ++i) ++seen[curriculum.draw(generator)];
  // 1000 +- 27 (one standard deviation) of each earlier one.
  EXPECT_NEAR(seen[0], 1000, 120);
  EXPECT_NEAR(seen[1], 1000, 120);
}

}  // namespace
}  // namespace trident::train
