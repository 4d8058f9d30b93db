// Oracles: a run that was not stopped; one thread; the shares of weights that crossover and mutation promise.
#include "jit/tir/neural/evolution.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>

#include <filesystem>
#include <fstream>

#include "jit/tir/neural/fitness.h"
#include "jit/tir/tasm/program.h"

namespace trident::tir::neural {
namespace {

/// Rates weights quickly: the nearness of the first weights to a ramp.
std::int64_t to_a_ramp(std::span<const std::int32_t> weights) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < 2000; ++i) sum -= std::abs(weights[i] - static_cast<std::int32_t>(i) * 10);
  return sum;
}

std::string temporary(const char* name) {
  return (std::filesystem::temp_directory_path() / (std::string(name) + std::to_string(::getpid()))).string();
}

bool same(const Evolution& a, const Evolution& b) {
  if (a.generations() != b.generations()) return false;
  for (std::size_t i = 0; i < kPopulation; ++i)
    if (a.population()[i].weights != b.population()[i].weights ||
        a.population()[i].fitness != b.population()[i].fitness)
      return false;
  return true;
}

TEST(Evolution, ChildrenAreOfTwoSurvivorsWithOneWeightInAHundredMoved) {
  Evolution evolution({.seed = 3}, {});
  evolution.judge(to_a_ramp);
  const auto parents = evolution.population();
  evolution.breed();
  const auto& now = evolution.population();
  for (std::size_t i = 0; i < kSurvivors; ++i) EXPECT_EQ(now[i].weights, parents[i].weights);
  for (std::size_t i = kSurvivors; i < kPopulation; ++i) {
    // A weight is a parent's unless it was moved; the two most frequent parents have about half each.
    std::size_t from[kSurvivors] = {}, moved = 0;
    for (std::size_t w = 0; w < kParameterCount; ++w) {
      bool found = false;
      for (std::size_t p = 0; p < kSurvivors; ++p) {
        const bool equal = now[i].weights[w] == parents[p].weights[w];
        found |= equal;
        from[p] += equal ? 1 : 0;
      }
      moved += found ? 0 : 1;
    }
    EXPECT_NEAR(static_cast<double>(moved) / kParameterCount, 0.01, 0.002);
    std::sort(std::begin(from), std::end(from));
    EXPECT_NEAR(static_cast<double>(from[3]) / kParameterCount, 0.5, 0.03);
    EXPECT_NEAR(static_cast<double>(from[2]) / kParameterCount, 0.5, 0.03);
    EXPECT_LT(static_cast<double>(from[1]) / kParameterCount, 0.1);
  }
}

TEST(Evolution, TheBestIsNeverLost) {
  Evolution evolution({.seed = 4}, {});
  std::int64_t best = INT64_MIN;
  std::int64_t first = 0;
  for (int i = 0; i < 40; ++i) {
    evolution.generation(to_a_ramp);
    EXPECT_GE(evolution.population()[0].fitness, best);
    best = evolution.population()[0].fitness;
    if (i == 0) first = best;
  }
  EXPECT_GT(best, first);
}

TEST(Evolution, GoesOnFromAFileAsIfItHadNotStopped) {
  const std::string path = temporary("tir-evolution");
  Evolution through({.seed = 5}, {}), stopped({.seed = 5, .threads = 2}, {});
  for (int i = 0; i < 6; ++i) through.generation(to_a_ramp);
  for (int i = 0; i < 3; ++i) stopped.generation(to_a_ramp);
  ASSERT_TRUE(stopped.save(path).ok());
  auto resumed = Evolution::load(path, 2);
  ASSERT_TRUE(resumed.ok());
  EXPECT_TRUE(same(*resumed, stopped));
  for (int i = 0; i < 3; ++i) resumed->generation(to_a_ramp);
  EXPECT_TRUE(same(*resumed, through));
  Evolution other({.seed = 6}, {});
  for (int i = 0; i < 6; ++i) other.generation(to_a_ramp);
  EXPECT_FALSE(same(other, through));
  // Flips one bit of the file.
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file.put('x');
  }
  EXPECT_FALSE(Evolution::load(path, 1).ok());
  std::filesystem::remove(path);
  EXPECT_FALSE(Evolution::load(path, 1).ok());
}

TEST(Evolution, FoundersAreKeptAndTheOthersAreTheirMutants) {
  const Weights founder = initial_weights(9);
  const Evolution evolution({.seed = 1}, {&founder, 1});
  EXPECT_EQ(evolution.population()[0].weights, founder);
  std::size_t moved = 0;
  for (std::size_t w = 0; w < kParameterCount; ++w) moved += evolution.population()[7].weights[w] != founder[w] ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(moved) / kParameterCount, 0.01, 0.002);
}

std::vector<Original> toys() {
  std::vector<Original> originals;
  for (const char* text : {"swap 1 add", "push 1 add", "pop 1 pop 1", "dup 0 pop 1 mul", "push 2 pop 1", "swap 1 mul"})
    originals.push_back(*Original::of(tasm::assemble(ir::SourceText(text))->instructions));
  return originals;
}

TEST(Evolution, ComesNearerToBlocksInAHundredGenerations) {
  const std::vector<Original> originals = toys();
  const Judge judge = [&](std::size_t i, std::span<const Instruction> written) -> std::optional<double> {
    AbstractState state;
    Step step;
    for (const Instruction& instruction : written)
      if (!state.run(instruction, 0, step)) return {};
    if (!state.same(originals[i].end())) return {};
    return 1 - static_cast<double>(written.size()) / static_cast<double>(originals[i].nodes());
  };
  const auto measure = [&](std::span<const std::int32_t> weights) {
    return fitness(weights, originals, judge, {.tokens_max = 6});
  };
  Evolution evolution({.seed = 7, .mutation_spread = 0.5, .threads = 2}, {});
  evolution.generation(measure);
  const std::int64_t first = evolution.population()[0].fitness;
  while (evolution.generations() < 100) evolution.generation(measure);
  const std::int64_t last = evolution.population()[0].fitness;
  EXPECT_GT(last, first + kRight / 2);
  RecordProperty("first", static_cast<int>(first));
  RecordProperty("last", static_cast<int>(last));
}

TEST(Fitness, WhatIsRightIsWorthMoreThanWhatIsNear) {
  const std::vector<Original> originals = toys();
  for (const Original& original : originals) {
    Draft right(original), wrong(original);
    EXPECT_LT(nearness(right), kRight);
    for (const Token t : tokens_of(original.block(), original.pool())) right.take(t);
    wrong.take(first_token({tasm::Op::kPush, Element(5)}, original.pool()));
    EXPECT_EQ(nearness(right), kRight - 1);
    EXPECT_LT(nearness(wrong), nearness(right));
  }
  const Judge all_right = [](std::size_t, std::span<const Instruction>) { return std::optional<double>(0.0); };
  const Judge none_right = [](std::size_t, std::span<const Instruction>) { return std::optional<double>(); };
  const Weights weights = initial_weights(2);
  const DecodeOptions options{.tokens_max = 4};
  EXPECT_GT(fitness(weights, originals, all_right, options), fitness(weights, originals, none_right, options));
}

}  // namespace
}  // namespace trident::tir::neural
