// Oracle: the blocks that were left.
#include "jit/tir/neural/left_blocks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "jit/tir/neural/apprentice.h"

namespace trident::tir::neural {
namespace {

using tasm::Op;

class LeftBlocks : public testing::Test {
 protected:
  LeftBlocks() { std::filesystem::remove_all(folder); }
  ~LeftBlocks() override { std::filesystem::remove_all(folder); }
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("tir-left-blocks-" + std::to_string(::getpid()))).string();
};

BlockRecord record_of_addition(std::uint64_t i) {
  return {{{Op::kPush, Element(i)}, {Op::kAdd, {}}}, {{Op::kAddI, Element(i)}}, 3, 2};
}

TEST_F(LeftBlocks, AreTakenOnce) {
  ASSERT_TRUE(take_left_blocks(folder).ok());
  EXPECT_TRUE(take_left_blocks(folder)->empty());
  ASSERT_TRUE(leave_blocks(folder, {record_of_addition(1), record_of_addition(2)}).ok());
  ASSERT_TRUE(leave_blocks(folder, {{{{Op::kSkiz, {}}}, {}, 1, 1}, record_of_addition(3), record_of_addition(1)})
                  .ok());  // no block; again
  EXPECT_EQ(take_left_blocks(folder).value(),
            (std::vector<BlockRecord>{record_of_addition(2), record_of_addition(3), record_of_addition(1)}));
  EXPECT_TRUE(take_left_blocks(folder)->empty());
}

TEST_F(LeftBlocks, OfManyProcessesAtOnceAreAllThere) {
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 5; ++i) EXPECT_TRUE(leave_blocks(folder, {record_of_addition(10 * t + i)}).ok());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(take_left_blocks(folder)->size(), 20u);
}

TEST_F(LeftBlocks, ThatCannotBeReadAreGone) {
  ASSERT_TRUE(leave_blocks(folder, {record_of_addition(1)}).ok());
  std::ofstream(folder + "/left", std::ios::app) << "x";
  EXPECT_EQ(take_left_blocks(folder).error().code, ErrorCode::kRejectedRecord);
  EXPECT_TRUE(take_left_blocks(folder)->empty());
}

TEST_F(LeftBlocks, AreLearntFromInARoundThatIsNoted) {
  std::vector<BlockRecord> records;
  for (std::uint64_t i = 0; i < 60; ++i) records.push_back(record_of_addition(1000 + i));
  ASSERT_TRUE(leave_blocks(folder, records).ok());
  auto apprentice = Apprentice::open(folder);
  ASSERT_TRUE(apprentice.ok());
  const BlockJudge nothing_is_right = [](auto, auto) { return std::optional<double>(); };
  const auto report = apprentice->round(nothing_is_right, {.generations = 0, .warm_start_steps = 0, .blocks_min = 4});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->enough);
  EXPECT_EQ(report->learned_from + report->held_out, 60u);
  std::ifstream rounds(Apprentice::rounds_path(folder));
  const auto noted = nlohmann::json::parse(rounds);
  EXPECT_EQ(noted.at("learned_from"), report->learned_from);
  EXPECT_EQ(noted.at("held_out"), report->held_out);
  EXPECT_EQ(noted.at("promoted"), report->promoted);
}

TEST_F(LeftBlocks, TooFewForARoundAreKept) {
  ASSERT_TRUE(leave_blocks(folder, {record_of_addition(1), record_of_addition(2)}).ok());
  {
    auto apprentice = Apprentice::open(folder);
    ASSERT_TRUE(apprentice.ok());
    const auto report = apprentice->round([](auto, auto) { return std::optional<double>(); }, {});
    ASSERT_TRUE(report.ok());
    EXPECT_FALSE(report->enough);
    EXPECT_FALSE(std::filesystem::exists(Apprentice::rounds_path(folder)));
  }
  EXPECT_EQ(Apprentice::open(folder)->blocks(), 2u);
}

}  // namespace
}  // namespace trident::tir::neural
