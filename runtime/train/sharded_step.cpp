#include "runtime/train/sharded_step.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace trident::train {
namespace {
constexpr std::size_t kBlock = std::size_t{1} << 15;  // elements of the flat gradient that are added in one piece
}

ShardedStep::ShardedStep(tensor::ParameterStore<float>& store, std::vector<Shard> shards,
                         const OptimiserOptions& options, const RowOptions& row_options, Team& team)
    : shards_(std::move(shards)), optimiser_(store, options), team_(team) {
  CHECK(!shards_.empty());
  for (const auto& table : store.tables()) {
    std::vector<autodiff::RowGradient<float>> gradients;
    std::vector<std::size_t> ids_max;
    for (const Shard& shard : shards_) {
      for (const auto& gradient : shard.tape->row_gradients()) {
        if (gradient.table != table.get()) continue;
        gradients.push_back(gradient);
        ids_max.push_back(gradient.ids_max);
      }
    }
    if (!gradients.empty()) {
      row_optimisers_.push_back(std::make_unique<RowOptimiser<float>>(*table, row_options, gradients, ids_max));
    }
  }
}

double ShardedStep::update(double rate) {
  const std::size_t shards = shards_.size();
  const double share = 1 / static_cast<double>(shards);
  const std::span<float> sum = shards_[0].tape->gradient();
  if (shards > 1) {
    team_.run((sum.size() + kBlock - 1) / kBlock, [&](std::size_t block) {
      const std::size_t from = block * kBlock, count = std::min(kBlock, sum.size() - from);
      for (std::size_t s = 1; s < shards; ++s) {
        const float* other = shards_[s].tape->gradient().data() + from;
        tensor::kernels<float>().add(count, sum.data() + from, other, sum.data() + from);
      }
    });
  }
  gradient_norm_ = optimiser_.step(sum, rate, share);
  for (const auto& rows : row_optimisers_) rows->step(team_, rate, share);
  double loss = 0;
  for (const Shard& shard : shards_) loss += static_cast<double>(shard.loss.data[0]) * share;
  return loss;
}

}  // namespace trident::train
