// Oracle: the machine (vm/machine.h), which must show the difference in the state that refuted a candidate. The lanes'
// results are compared with the machine's, state by state.
#include "jit/tir/equiv/screen.h"

#include <gtest/gtest.h>

#include "jit/tir/equiv/random_block.h"

namespace trident::tir::equiv {
namespace {

TEST(Screen, WhatDoesNotSurviveIsShownByTheMachine) {
  Random random(7);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto origin = random_block(random, 24);
    Screen screen(origin, static_cast<std::uint64_t>(round));
    EXPECT_TRUE(screen.survives(origin)) << text(origin);
    for (int i = 0; i < 8; ++i) {
      const auto mutant = i == 0 ? random_block(random, 24) : changed(random, origin, Change::careless);
      if (screen.survives(mutant)) continue;
      ++refused;
      EXPECT_NE(Pair(origin, mutant).difference(screen.witness()), "") << text(origin) << "  /  " << text(mutant);
    }
  }
  EXPECT_GT(refused, 6000);
}

TEST(Screen, WhatIsTheSameSurvives) {
  Random random(8);
  for (int round = 0; round < 1000; ++round) {
    const auto origin = random_block(random, 24);
    Screen screen(origin, static_cast<std::uint64_t>(round), 40);  // rewrites may change the depth that is needed
    for (int i = 0; i < 8; ++i) {
      const auto mutant = changed(random, origin, Change::sound);
      EXPECT_TRUE(screen.survives(mutant)) << text(origin) << "  /  " << text(mutant);
    }
  }
}

/// Compares words, failures, RAM and sponge of eight states with eight runs, through assertions that each element at
/// the end equals the lanes' one.
TEST(Screen, LanesAreTheMachine) {
  Random random(9);
  int ended = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto block = random_block(random, 16);
    const Shape shape = shape_of(block);
    States source(static_cast<std::uint64_t>(round), block, {}, 16);
    Lanes lanes(source, static_cast<std::uint64_t>(round), shape, 32);
    LaneEnd end;
    lanes.run(block, end);
    EXPECT_EQ(lanes.difference(end, end), 0);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const State state = lanes.state(lane, lanes.cells());
      // The block, then an assertion that the top is what the lane has there, popped, and so on.
      std::vector<Instruction> checked = block;
      for (std::size_t i = 0; i < 12 && i < end.stack.size(); ++i) {
        checked.push_back({tasm::Op::kPush, lanes.word(end.stack[end.stack.size() - 1 - i], lane)});
        checked.push_back({tasm::Op::kEq, {}});
        checked.push_back({tasm::Op::kAssert, {}});
      }
      const bool failed = (end.failed >> lane & 1) != 0;
      const std::vector<Instruction> fails = {{tasm::Op::kPush, {}}, {tasm::Op::kAssert, {}}};
      Pair against(checked, fails);
      EXPECT_EQ(against.difference(state).empty(), failed) << text(block) << " lane " << lane;
      ended += failed ? 0 : 1;
    }
  }
  EXPECT_GT(ended, 4000);
}

}  // namespace
}  // namespace trident::tir::equiv
