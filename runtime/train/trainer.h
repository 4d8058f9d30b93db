// The loop around ShardedStep: epochs of shuffled batches, a held-out figure after each, early stopping that ends with
// the best weights, and a folder that a killed run can go on from:
//
//   FOLDER/last.safetensors   checkpoint, replaced every `checkpoint_steps` batches and after each epoch
//   FOLDER/best.safetensors   weights of the best epoch so far
//   FOLDER/log.csv, log.jsonl one line per epoch
//
// The same options, samples and seed give the same bits, with any number of threads, and killed at any time and
// resumed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/schedule.h"
#include "runtime/train/sharded_step.h"

namespace trident::train {

/// The model to train.
struct Model {
  tensor::ParameterStore<float>* store;
  std::vector<Shard> shards;
  std::string architecture;  ///< nn::architecture_hash
  /// Fills the inputs of shard `shard` with `samples` (as many as every shard takes). Called from several threads at
  /// once, for different shards.
  std::function<void(std::size_t shard, std::span<const std::uint32_t> samples)> load;
  /// The held-out figure, smaller is better, from the weights as they are. May use other tapes over the store.
  std::function<double()> validate;
  /// Another figure of the weights that validate() has just looked at, kept beside its own; empty: 0.
  std::function<double()> beside{};
};

struct TrainerOptions {
  std::string folder;  ///< must exist
  std::uint64_t seed = 0;
  std::uint64_t epochs = 10;
  std::size_t samples_per_shard = 64;  ///< a batch is this times the number of shards; what is left of an epoch waits
  std::uint64_t patience = 5;          ///< epochs without a better figure before stopping
  double enough = -std::numeric_limits<double>::infinity();  ///< a figure that ends training: as good as is asked for
  std::uint64_t checkpoint_steps = 1000;
  Schedule schedule;
  OptimiserOptions optimiser;
  RowOptions rows;
  unsigned threads = 1;
  bool resume = false;  ///< go on from FOLDER/last.safetensors if it is there
  /// Terms that decide the samples, the model and its figures. Seed, epochs, batch, rates and optimiser are added to
  /// them; a resumed run must have the same terms.
  RunTerms terms{};
};

/// Figures given to the callback after every batch; epoch_done says that `metric` is new.
struct Report {
  std::uint64_t epoch, epochs, position, positions, step;
  double loss;  ///< mean over the epoch so far
  double metric, best_metric, beside;
  bool epoch_done, best;
  double rate, seconds, seconds_left;
};

struct TrainingResult {
  std::uint64_t epochs, best_epoch, steps;
  double best_metric;
  bool stopped_early, interrupted;
  std::vector<EpochFigures> history;  ///< of all epochs, those before it went on too
};

/// Trains; ends with the best weights in the store. `progress` may be empty; returning false saves a checkpoint and
/// stops (interrupted: the store then holds the weights of the moment). InvalidArgument when a batch is larger than the
/// samples, the loss stops being finite (the last checkpoint stays), or the run to go on with has other terms; OsError,
/// RejectedRecord from files. A run goes on with other threads, checkpoint_steps, patience and `enough` too: what stops
/// it early is asked of the epochs that are done as if it had been so from the last of them on.
Result<TrainingResult> train(const Model& model, std::span<const std::uint32_t> samples, const TrainerOptions& options,
                             const std::function<bool(const Report&)>& progress = {});

}  // namespace trident::train
