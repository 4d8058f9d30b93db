// Oracles: breadth-first distances in a maze; paths walked move by move; probabilities that add up to one.
#include "runtime/train/trace_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <queue>

#include "runtime/tensor/generator.h"
#include "runtime/train/beam_search.h"

namespace trident::train {
namespace {

constexpr int kSide = 9, kCells = kSide * kSide;
constexpr std::uint32_t kGoal = 0;

/// Cells of a square with walls; moves: left, right, up, down. A move into a wall stays.
struct Maze {
  std::array<bool, kCells> wall{};
  std::array<int, kCells> distance{};

  Maze() {
    for (int x = 0; x + 2 < kSide; ++x) wall[static_cast<std::size_t>(2 * kSide + x)] = true;
    for (int x = 2; x < kSide; ++x) wall[static_cast<std::size_t>(5 * kSide + x)] = true;
    distance.fill(-1);
    std::queue<std::uint32_t> open;
    distance[kGoal] = 0;
    for (open.push(kGoal); !open.empty(); open.pop())
      for (int m = 0; m < 4; ++m) {
        const std::uint32_t to = move(open.front(), m);
        if (distance[to] >= 0) continue;
        distance[to] = distance[open.front()] + 1;
        open.push(to);
      }
  }
  [[nodiscard]] std::uint32_t move(std::uint32_t from, std::int32_t m) const {
    const int x = static_cast<int>(from) % kSide + (m == 1) - (m == 0),
              y = static_cast<int>(from) / kSide + (m == 3) - (m == 2);
    if (x < 0 || x >= kSide || y < 0 || y >= kSide) return from;
    const auto to = static_cast<std::uint32_t>(y * kSide + x);
    return wall[to] ? from : to;
  }
};

TEST(BeamSearch, WithoutAnyKnowledgeAWideBeamFindsShortestPaths) {
  const Maze maze;
  const std::vector<float> same(4 * kCells, std::log(0.25f));
  int tried = 0;
  for (std::uint32_t from = 0; from < kCells; ++from) {
    if (maze.distance[from] < 0) continue;
    const BeamPath path = beam_search(
        from, {.width = kCells, .moves = 4, .depth_max = 60},
        [&](std::uint32_t s, std::int32_t m) { return maze.move(s, m); }, [](std::uint32_t s) { return s == kGoal; },
        [&](std::span<const std::uint32_t> states) { return std::span(same).first(4 * states.size()); });
    ASSERT_TRUE(path.found) << from;
    EXPECT_EQ(static_cast<int>(path.moves.size()), maze.distance[from]);
    std::uint32_t at = from;
    for (const std::int32_t m : path.moves) at = maze.move(at, m);
    EXPECT_EQ(at, kGoal);
    ++tried;
  }
  EXPECT_GT(tried, 60);
}

TEST(BeamSearch, SaysWhereThereIsNoWay) {
  const std::vector<float> same(2, 0.0f);
  const BeamPath path = beam_search(
      1u, {.width = 4, .moves = 2, .depth_max = 10}, [](std::uint32_t s, std::int32_t) { return s; },
      [](std::uint32_t s) { return s == 0; },
      [&](std::span<const std::uint32_t>) { return std::span<const float>(same); });
  EXPECT_FALSE(path.found);
  EXPECT_EQ(path.evaluations, 1u);
}

TEST(TracePolicy, WalksAwayFromTheGoalTeachTheWayBack) {
  const Maze maze;
  constexpr std::size_t kBatch = 128, kSteps = 1500, kWalk = 600;
  TracePolicy policy({.inputs = kCells,
                      .moves = 4,
                      .hidden = {64},
                      .batch = kBatch,
                      .states_max = kCells,
                      .rate = {.peak = 5e-3, .last = 1e-4, .warmup_steps = 20, .steps = kSteps},
                      .seed = 3},
                     [](std::span<const std::byte> state, std::span<float> inputs) {
                       std::uint32_t cell;
                       std::memcpy(&cell, state.data(), sizeof cell);
                       std::fill(inputs.begin(), inputs.end(), 0.0f);
                       inputs[cell] = 1;
                     });
  tensor::Generator generator(1, 2);
  std::vector<std::uint32_t> states;
  std::vector<std::int32_t> back;
  double first = 0, last = 0;
  for (std::size_t step = 0; step < kSteps; ++step) {
    // Takes some states of a long walk at random: neighbours on it are too much alike.
    states.clear(), back.clear();
    for (std::uint32_t at = kGoal; states.size() < kBatch;) {
      const auto m = static_cast<std::int32_t>(generator.below(4));
      const std::uint32_t to = maze.move(at, m);
      if (to != at && to != kGoal && generator.below(8) == 0) states.push_back(to), back.push_back(m ^ 1);
      at = generator.below(kWalk) == 0 ? kGoal : to;
    }
    const auto loss = policy.learn(std::as_bytes(std::span(states)), sizeof(std::uint32_t), back);
    ASSERT_TRUE(loss.ok());
    (step == 0 ? first : last) = *loss;
  }
  EXPECT_LT(last, first);
  int worse = 0;
  for (std::uint32_t from = 1; from < kCells; ++from) {
    if (maze.distance[from] < 0) continue;
    const auto one = policy.log_probabilities(std::as_bytes(std::span(&from, 1)), sizeof from);
    double sum = 0;
    for (const float l : one) sum += std::exp(l);
    EXPECT_NEAR(sum, 1, 1e-5);
    const BeamPath path = beam_search(
        from, {.width = 4, .moves = 4, .depth_max = 60},
        [&](std::uint32_t s, std::int32_t m) { return maze.move(s, m); }, [](std::uint32_t s) { return s == kGoal; },
        [&](std::span<const std::uint32_t> at) { return policy.log_probabilities(std::as_bytes(at), sizeof from); });
    ASSERT_TRUE(path.found) << from;
    worse += static_cast<int>(path.moves.size()) > maze.distance[from];
  }
  EXPECT_LE(worse, 6);  // of some sixty cells
}

}  // namespace
}  // namespace trident::train
