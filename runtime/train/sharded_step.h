// One step of training over a batch that is split into shards. Each shard has its own tape over the same weights; their
// number is part of the model and does not depend on how many threads there are, and their gradients are added in their
// order: 1 thread and 8 give the same bits.
#pragma once

#include <memory>
#include <vector>

#include "runtime/autodiff/tape.h"
#include "runtime/train/optimiser.h"
#include "runtime/train/row_optimiser.h"
#include "runtime/train/team.h"

namespace trident::train {

/// A finished tape and the loss it was finished with: the mean over the shard's samples.
struct Shard {
  autodiff::Tape<float>* tape;
  autodiff::Value<float> loss;
};

class ShardedStep {
 public:
  ShardedStep(tensor::ParameterStore<float>& store, std::vector<Shard> shards, const OptimiserOptions& options,
              const RowOptions& row_options, Team& team);

  /// load(shard) must fill the inputs of its tape (called from any thread of the team); then forward, backward, and an
  /// update by the mean of the shards' gradients. Returns the mean of their losses. Clipping is by the norm of the flat
  /// gradient; rows of tables are outside it. Allocates nothing.
  template <class Load>
  double run(double rate, Load&& load) {
    team_.run(shards_.size(), [&](std::size_t i) {
      load(i);
      shards_[i].tape->forward();
      shards_[i].tape->backward();
    });
    return update(rate);
  }

  [[nodiscard]] Optimiser<float>& optimiser() { return optimiser_; }
  [[nodiscard]] const std::vector<Shard>& shards() const { return shards_; }
  /// Norm of the last step's gradient before clipping; 0 without clipping.
  [[nodiscard]] double gradient_norm() const { return gradient_norm_; }

 private:
  double update(double rate);

  std::vector<Shard> shards_;
  Optimiser<float> optimiser_;
  std::vector<std::unique_ptr<RowOptimiser<float>>> row_optimisers_;
  Team& team_;
  double gradient_norm_ = 0;
};

}  // namespace trident::train
