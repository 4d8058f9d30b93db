// Oracles: scores and accumulators by the formula in 64-bit integers, over the places of a state; a state's features,
// worked out by hand; jit/tir/equiv for the results of searches that follow random weights.
#include "jit/tir/superopt/ordering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "jit/tir/equiv/equiv.h"
#include "jit/tir/superopt/random_blocks.h"
#include "jit/tir/superopt/random_ordering.h"
#include "jit/tir/superopt/shipped_weights.h"
#include "jit/tir/superopt/superopt.h"
#include "jit/tir/tasm/program.h"

namespace trident::tir::superopt {
namespace {

using Random = std::mt19937_64;
constexpr auto kHead = static_cast<std::size_t>(nn::HeadKind::judge);

std::vector<Instruction> block_of(const char* text) {
  const auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program) << text;
  return program->instructions;
}

State first_of(const Specification& specification) {
  State state;
  state.size = static_cast<std::uint8_t>(specification.before.size());
  std::copy(specification.before.begin(), specification.before.end(), state.stack);
  return state;
}

/// Changes a state as no search would, but to a valid one.
State changed(State state, const Specification& specification, Random& random) {
  const auto any = [&] { return static_cast<Id>(random() % specification.values.size()); };
  for (std::uint64_t times = 1 + random() % 3; times > 0; --times) switch (random() % 4) {
      case 0:
        if (state.size < kStackMax) state.stack[state.size++] = any();
        break;
      case 1:
        if (state.size > 0) --state.size;
        break;
      case 2:
        if (state.size > 1) std::swap(state.stack[state.size - 1], state.stack[random() % state.size]);
        break;
      default:
        if (!specification.tasks.empty()) state.done |= std::uint64_t{1} << random() % specification.tasks.size();
    }
  state.before_last = state.last.op;
  state.last = {tasm::Op::kDup, tasm::Element(random() % 16)};
  state.left = static_cast<float>(random() % 40);
  return state;
}

std::vector<std::int64_t> sum_of(const nn::PlainWeights& w, const Places& places) {
  std::vector<std::int64_t> sum(w.bias.begin(), w.bias.end());
  for (const Feature f : places) {
    const auto at = std::find(w.order.begin(), w.order.end(), f);
    if (at == w.order.end()) continue;
    const auto row = static_cast<std::size_t>(at - w.order.begin()) * nn::kLanes;
    for (std::size_t l = 0; l < nn::kLanes; ++l) sum[l] += w.rows[row + l];
  }
  return sum;
}
std::int64_t answer_of(const nn::PlainWeights& w, const std::vector<std::int64_t>& sum, const Scalars& scalars) {
  const nn::PlainWeights::Head& head = w.heads[kHead];
  std::int64_t answer = head.b2;
  for (std::size_t j = 0; j < nn::kHidden; ++j) {
    std::int64_t z = head.bias[0][j];
    for (std::size_t l = 0; l < nn::kLanes; ++l)
      z += head.w1[j * nn::kLanes + l] *
           std::min<std::int64_t>(127, std::max<std::int64_t>(0, sum[l]) * w.pool_factor >> 16);
    for (std::size_t k = 0; k < nn::kScalars; ++k) z += std::int64_t{head.ws[j * nn::kScalars + k]} * scalars[k];
    answer += head.w2[j] * std::clamp<std::int64_t>(z >> head.shift, 0, head.most);
  }
  return answer;
}

TEST(Ordering, FollowsAsIfBuiltAnew) {
  Random random(5);
  const nn::PlainWeights plain = random_weights(6);
  const auto network = nn::AccumulatorWeights::make(plain);
  ASSERT_TRUE(network.ok()) << network.error().message;
  std::size_t looked_at = 0;
  std::set<std::int64_t> answers;
  for (int round = 0; round < 60; ++round) {
    const auto specification = specify(random_block(random));
    if (!specification) continue;
    const Weights weights{1, 0.1, 0.01};
    Ordering ordering(*network, *specification, weights);
    Onlooker onlooker(*specification, weights);
    std::vector<State> parents = {first_of(*specification)};
    ordering.begin(parents[0]);
    std::uint32_t first = 0;
    for (int layer = 0; layer < 6; ++layer) {
      std::vector<State> kept;
      for (int i = 0; i < 6; ++i) {
        const auto parent = static_cast<std::uint32_t>(random() % parents.size());
        State child = changed(parents[parent], *specification, random);
        child.parent = first + parent;
        child.estimate = 3;
        ordering.score(std::span(&child, 1));
        Seen seen;
        onlooker.look(child, seen);
        const auto sum = sum_of(plain, seen.places);
        const std::int64_t answer = answer_of(plain, sum, seen.scalars);
        ASSERT_NEAR(3 + static_cast<double>(answer) * 2.1 * double{plain.judge_unit}, child.estimate,
                    2e-6 * std::abs(static_cast<double>(answer)) + 1e-5);
        answers.insert(answer);
        if (random() % 3 == 0) continue;
        ordering.keep(child);
        kept.push_back(child);
      }
      if (kept.empty()) break;
      ordering.end_layer();
      first += static_cast<std::uint32_t>(parents.size());
      parents = kept;
      for (std::uint32_t k = 0; k < parents.size(); ++k, ++looked_at) {
        Seen seen;
        onlooker.look(parents[k], seen);
        const auto sum = sum_of(plain, seen.places);
        const nn::Accumulator followed = ordering.accumulator(first + k), anew = ordering.rebuilt(parents[k]);
        for (std::size_t l = 0; l < nn::kLanes; ++l) {
          ASSERT_EQ(sum[l], followed.lane[l]);
          ASSERT_EQ(sum[l], anew.lane[l]);
        }
      }
    }
  }
  EXPECT_GT(looked_at, 600u);
  EXPECT_GT(answers.size(), 600u);
}

std::vector<std::size_t> different(const Seen& a, const Seen& b) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < kPlaces; ++i)
    if (a.places[i] != b.places[i]) out.push_back(i);
  return out;
}

TEST(Onlooker, ShowsWhatLiesWhere) {
  // st1 st0 = a b: two tasks, a * b (number 0) and (a * b) * b (number 1), which waits for the first.
  const auto specification = specify(block_of("dup 0 pick 2 mul mul"));
  ASSERT_TRUE(specification);
  ASSERT_EQ(2u, specification->tasks.size());
  Onlooker onlooker(*specification, {1, 0, 0});
  State state = first_of(*specification);
  Seen before, after;
  onlooker.look(state, before);
  constexpr std::size_t kTasks = tasm::kRegisters, kEnd = kTasks + kTasksMax;
  EXPECT_NE(kNoFeature, before.places[kTasks]);
  EXPECT_NE(kNoFeature, before.places[kTasks + 1]);
  EXPECT_EQ(kNoFeature, before.places[kTasks + 2]);
  EXPECT_EQ(kNoFeature, before.places[2]);  // there is no st2
  EXPECT_EQ(16, before.scalars[0]);         // one copy of b is missing
  EXPECT_EQ(16, before.scalars[2]);         // the end's value is missing

  // The product commutes, so exchanged operands are as good; the registers differ, since another b is needed.
  State exchanged = state;
  std::swap(exchanged.stack[0], exchanged.stack[1]);
  onlooker.look(exchanged, after);
  EXPECT_EQ((std::vector<std::size_t>{0, 1}), different(before, after));

  // After a * b, with b below it: the other task can start.
  State product = state;
  product.stack[0] = state.stack[1], product.stack[1] = specification->tasks[0].gives[0];
  product.done = 1;
  onlooker.look(product, after);
  EXPECT_EQ(kNoFeature, after.places[kTasks]);
  EXPECT_NE(before.places[kTasks + 1], after.places[kTasks + 1]);
  EXPECT_EQ(0, after.scalars[0]);

  // At the end no value is out of place and no task is open.
  State end = product;
  end.size = 1, end.stack[0] = specification->after[0], end.done = 3;
  onlooker.look(end, after);
  for (std::size_t i = kTasks; i < kEnd + kStackMax; ++i) EXPECT_EQ(kNoFeature, after.places[i]) << i;
  EXPECT_EQ(0, after.scalars[0] + after.scalars[1] + after.scalars[2] + after.scalars[4] + after.scalars[5]);
}

TEST(Ordering, BadWeightsProveNothingWrongAndMakeNothingWorse) {
  Random random(20261125);
  std::size_t proposed = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto network = nn::AccumulatorWeights::make(random_weights(seed));
    ASSERT_TRUE(network.ok());
    Options options;
    options.width = 16;
    options.network = &*network;
    for (int round = 0; round < 100; ++round) {
      const auto block = random_block(random);
      for (const auto& found : propose(block, options)) {
        ++proposed;
        EXPECT_EQ(equiv::Answer::equal, equiv::decide(block, found).answer) << text_of(block) << "\n" << text_of(found);
        EXPECT_TRUE(std::any_of(options.measures.begin(), options.measures.end(),
                                [&](const Weights& measure) { return cost(found, measure) < cost(block, measure); }));
      }
    }
  }
  EXPECT_GT(proposed, 70u);
}

TEST(Ordering, ShippedWeightsAreOfTheseFeatures) {
  const nn::AccumulatorWeights& weights = shipped_ordering();
  EXPECT_EQ(feature_space().features, weights.features());
  EXPECT_GT(weights.stored_rows(), 100u);
  EXPECT_GT(weights.judge_unit(), 0);
  Options options;
  options.width = 16;
  options.network = &weights;
  const auto found = propose(block_of("dup 1 dup 1 add dup 2 dup 2 add mul swap 2 pop 2"), options);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(block_of("add dup 0 mul"), found[0]);
}

}  // namespace
}  // namespace trident::tir::superopt
