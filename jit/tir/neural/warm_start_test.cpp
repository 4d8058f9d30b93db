// Oracles: central differences; the network in fixed point against its twin; answers that were not in the training.
#include "jit/tir/neural/warm_start.h"

#include <gtest/gtest.h>

#include "jit/tir/neural/decode.h"
#include "jit/tir/neural/sample_blocks.h"
#include "jit/tir/neural/table_ops.h"
#include "jit/tir/tasm/program.h"
#include "runtime/autodiff/gradient_check.h"
#include "runtime/autodiff/ops.h"

namespace trident::tir::neural {
namespace {

using autodiff::Mode;
using autodiff::Tape;
using tensor::ParameterStore;

TEST(TableOps, GradientsAreCentralDifferences) {
  for (const bool compare_first : {false, true}) {
    ParameterStore<double> store(1);
    store.declare("table", {7, 4}, tensor::SliceKind::weight, tensor::Initialiser::xavier_uniform, 4, 4);
    store.declare("bias", {5}, tensor::SliceKind::bias, tensor::Initialiser::zeros);
    Tape<double> tape(store, Mode::train);
    const auto bags = tape.bags("bags", 3, 8);
    const std::int32_t ids[] = {0, 6, 6, 2, 1, 4, 3}, offsets[] = {0, 4, 4, 7};
    std::copy(std::begin(ids), std::end(ids), bags.ids.data);
    std::copy(std::begin(offsets), std::end(offsets), bags.offsets.data);
    const auto table = tape.parameter("table");
    auto x = tape.input("x", {3, 4}, true);
    autodiff::fill_random(x.values(), 4);
    if (!compare_first) x = autodiff::add(tape, x, sum_table_rows(tape, table, bags));
    auto y = compare_with_rows(tape, x, table, 5, tape.parameter("bias"));
    if (compare_first)
      y = autodiff::multiply(
          tape, y, compare_with_rows(tape, sum_table_rows(tape, table, bags), table, 5, tape.parameter("bias")));
    const auto target = tape.input("target", {3, 5});
    autodiff::fill_random(target.values(), 5);
    const auto loss = autodiff::mse(tape, y, target);
    tape.finish(loss);
    autodiff::expect_parameter_gradients(tape, loss);
  }
}

std::vector<Pair> sample_pairs(std::size_t count, std::size_t length) {
  tensor::Generator random(17);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < count; ++i)
    pairs.push_back({sample_block(random, 1 + random.below(length)), sample_block(random, random.below(length))});
  return pairs;
}

TEST(TrainingTwin, GradientsAreCentralDifferences) {
  ParameterStore<double> store(1, 1u << 18);
  Weights weights = initial_weights(3);
  tensor::Generator random(2);
  for (std::int32_t& w : weights) w += static_cast<std::int32_t>(random.below(8000)) - 4000;
  TrainingTwin<double> twin(store, {3, 8, 24});
  put_weights(weights, store);
  // Nodes that see several others, so that attention has a choice.
  const Pair pairs[] = {{block_of("dup 1 mul dup 1 add read_io 1 mul eq"), block_of("dup 0 add swap 3 push 77")},
                        {block_of("add mul addi 5 split"), block_of("mul push 9 hash")}};
  for (std::size_t i = 0; i < std::size(pairs); ++i) twin.load(i, *lesson_of(pairs[i]));
  twin.begin(std::size(pairs));
  for (const char* name : {"features", "layer0.query", "layer0.norm1.gain", "layer1.value", "layer1.in.weight",
                           "layer1.out.bias", "decoder.hidden.weight", "decoder.out.weight", "tokens.bias"}) {
    const auto& slice = *store.find(name);
    autodiff::expect_gradient(
        twin.tape(), twin.loss(), store.values(slice),
        std::span<const double>(twin.tape().gradient()).subspan(slice.offset, slice.shape.count()), name);
  }
}

TEST(TrainingTwin, ScoresAreTheNetworksButForRounding) {
  ParameterStore<double> store(1, 1u << 18);
  const Weights weights = initial_weights(4);
  const TwinShape shape{6, kNodesMax, kDraftTokensMax};
  TrainingTwin<double> twin(store, shape);
  put_weights(weights, store);
  EXPECT_EQ(rounded_weights(store), weights);
  std::vector<Pair> pairs;
  for (const Pair& p : sample_pairs(40, 12)) {
    if (const auto lesson = lesson_of(p); lesson.ok() && pairs.size() < shape.lessons) {
      twin.load(pairs.size(), *lesson);
      pairs.push_back(p);
    }
  }
  ASSERT_EQ(pairs.size(), shape.lessons);
  twin.begin(pairs.size());
  twin.tape().forward();
  Network network(weights);
  double largest = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Original original = *Original::of(pairs[i].baseline);
    const Encoded encoded = network.encode(original);
    Draft draft(original);
    std::vector<std::int32_t> scores;
    std::size_t at = 0;
    for (const Token token : tokens_of(pairs[i].better, original.pool())) {
      network.score(std::vector<Network::Query>{{&encoded, &draft}}, scores);
      for (std::size_t t = 0; t < kTokenCount; ++t)
        largest = std::max(largest, std::abs(real_of(scores[t]) - twin.scores(i, at)[t]));
      draft.take(token);
      ++at;
    }
  }
  EXPECT_LT(largest, 0.01);
  EXPECT_GT(largest, 0);
}

/// Makes pairs from rewrites that hold for any constant and any neighbours.
Pair toy(tensor::Generator& random) {
  struct Rule {
    const char *from, *to;
  };
  constexpr Rule kRules[] = {{"push C add", "addi C"},
                             {"swap 1 add", "add"},
                             {"pop 1 pop 1", "pop 2"},
                             {"dup 0 pop 1", ""},
                             {"swap 1 mul", "mul"},
                             {"push 0 add", ""},
                             {"read_io 1 read_io 1", "read_io 2"},
                             {"swap 1 swap 1", ""},
                             {"addi C addi 1", "addi C addi 1"}};
  constexpr const char* kPlain[] = {"add", "mul", "dup 1", "split", "hash", "push C", "swap 2", "pick 3"};
  std::string from, to;
  const std::uint64_t rules = 1 + random.below(2);
  for (std::uint64_t r = 0; r < rules; ++r) {
    const std::string constant = std::to_string(1000 + random.below(1'000'000));
    const auto put = [&](std::string text) {
      if (const auto at = text.find('C'); at != std::string::npos) text.replace(at, 1, constant);
      return text + " ";
    };
    const Rule& rule = kRules[random.below(std::size(kRules))];
    const std::string plain = put(kPlain[random.below(std::size(kPlain))]);
    from += plain + put(rule.from), to += plain + put(rule.to);
  }
  return {block_of(from), block_of(to)};
}

TEST(WarmStart, LearnsRewritesAndKeepsThemWhenRounded) {
  tensor::Generator random(8);
  std::vector<Pair> pairs;
  for (int i = 0; i < 3000; ++i) pairs.push_back(toy(random));
  pairs.push_back({std::vector<Instruction>(kNodesMax + 1, {tasm::Op::kNop, {}}), {}});
  const auto taught =
      warm_start(pairs, initial_weights(1),
                 {.steps = 400, .lessons_per_step = 32, .nodes_max = 10, .tokens_max = 10, .threads = 2});
  ASSERT_TRUE(taught.ok());
  EXPECT_EQ(taught->used, 3000u);
  EXPECT_EQ(taught->left_out, 1u);
  Network network(taught->weights);
  int right = 0;
  constexpr int kHeldOut = 200;
  for (int i = 0; i < kHeldOut; ++i) {
    const Pair pair = toy(random);
    const auto written = decode(network, *Original::of(pair.baseline), {.width = 4, .tokens_max = 12});
    right += !written.empty() && written[0].block == pair.better ? 1 : 0;
  }
  RecordProperty("right", right);
  EXPECT_GE(right, kHeldOut * 85 / 100) << "loss " << taught->loss;
  EXPECT_EQ(network.saturated(), 0u);
}

TEST(WarmStart, DoesNotDependOnTheNumberOfThreads) {
  tensor::Generator random(9);
  std::vector<Pair> pairs;
  for (int i = 0; i < 50; ++i) pairs.push_back(toy(random));
  WarmStartOptions options{.steps = 10, .lessons_per_step = 8, .nodes_max = 10, .tokens_max = 10};
  const auto one = warm_start(pairs, initial_weights(1), options);
  options.threads = 2;
  const auto two = warm_start(pairs, initial_weights(1), options);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->weights, two->weights);
  EXPECT_FALSE(warm_start({}, initial_weights(1), options).ok());
}

}  // namespace
}  // namespace trident::tir::neural
