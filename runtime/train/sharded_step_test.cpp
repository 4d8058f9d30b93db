// Oracle: one tape over the whole batch, and plain sums for its rows.
#include "runtime/train/sharded_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/nn/layers.h"
#include "runtime/tensor/generator.h"

namespace trident::train {
namespace {

using autodiff::Activation;
using autodiff::Bags;
using autodiff::Mode;
using autodiff::Tape;
using autodiff::Value;
using tensor::ParameterStore;

constexpr std::size_t kBatchSize = 24, kIds = 3, kRows = 10;

/// `shards` tapes over a batch of 24, filled with the same samples whatever their number; weights after some steps.
std::vector<float> weights_after_steps(std::size_t shards, unsigned threads) {
  const std::size_t size = kBatchSize / shards;
  ParameterStore<float> store(5);
  std::vector<std::unique_ptr<Tape<float>>> tapes;
  std::vector<Shard> all;
  for (std::size_t s = 0; s < shards; ++s) {
    auto& tape = *tapes.emplace_back(std::make_unique<Tape<float>>(store, Mode::train));
    const Bags bags = tape.bags("ids", size, size * kIds);
    const auto h =
        nn::sparse_bag(tape, "bag", bags, kRows, 20, planes_of(RowAlgorithm::adagrad), kIds, Activation::gelu);
    const auto target = tape.input("target", {size, 1});
    const auto loss = mse(tape, nn::mlp(tape, "m", h, {7, 1}), target);
    tape.finish(loss);
    all.push_back({&tape, loss});
    for (std::size_t i = 0; i < size; ++i) {
      tensor::Generator generator(1, s * size + i);
      for (std::size_t k = 0; k < kIds; ++k)
        bags.ids.data[i * kIds + k] = static_cast<std::int32_t>(generator.below(kRows));
      bags.offsets.data[i + 1] = static_cast<std::int32_t>((i + 1) * kIds);
      target.data[i] = static_cast<float>(generator.uniform());
    }
  }
  Team team(threads);
  // Momentum and Adagrad are smooth in the gradient, so that the other order of its sums shows as little as it is.
  const OptimiserOptions options{.algorithm = Algorithm::sgd, .clip_norm = 0.1};
  ShardedStep step(store, all, options, {.algorithm = RowAlgorithm::adagrad, .epsilon = 1e-2}, team);
  for (int i = 0; i < 5; ++i) step.run(0.1, [](std::size_t) {});
  std::vector<float> weights(store.flat().begin(), store.flat().end());
  const auto& table = *store.tables()[0];
  for (std::size_t r = 0; r < kRows; ++r) weights.insert(weights.end(), table.row(r), table.row(r) + table.width());
  return weights;
}

TEST(ShardedStep, EqualsOneTapeOverTheWholeBatch) {
  const auto whole = weights_after_steps(1, 1);
  for (const std::size_t shards : {2u, 3u, 8u}) {
    const auto split = weights_after_steps(shards, 2);
    ASSERT_EQ(split.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(split[i], whole[i], 1e-5f) << shards << " shards, " << i;
  }
}

}  // namespace
}  // namespace trident::train
