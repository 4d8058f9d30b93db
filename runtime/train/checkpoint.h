// The whole state of a run, for going on with the same bits: weights, optimiser state, and progress. One
// safetensors file (runtime/nn/safetensors.h); the optimiser's tensors have names that begin with "optimiser.", so that
// the file can be loaded as weights too.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/tensor/parameter_store.h"
#include "runtime/train/optimiser.h"

namespace trident::train {

/// Figures of one epoch.
struct EpochFigures {
  std::uint64_t step = 0;  ///< batches done at its end, in all
  double loss = 0;         ///< mean of its batches
  double metric = 0;       ///< Model::validate
  double beside = 0;       ///< Model::beside
  double rate = 0;         ///< of its last batch
  double seconds = 0;      ///< spent up to its end
  bool best = false;       ///< of those up to it
};

/// The terms of a run, by name: everything that decides its bits. A run is resumed only where all are unchanged.
using RunTerms = std::vector<std::pair<std::string, std::string>>;

/// Position of a run, besides weights and optimiser. The order of an epoch's samples follows from seed and epoch, so
/// no generator has more state than these.
struct Progress {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;     ///< from 0
  std::uint64_t position = 0;  ///< batches done within the epoch
  std::uint64_t step = 0;      ///< batches done in all
  double loss_sum = 0;         ///< of the epoch's batches
  double best_metric = 0;      ///< meaningless while best_epoch is none
  std::uint64_t best_epoch = kNone;
  double seconds = 0;                 ///< spent so far
  std::vector<EpochFigures> history;  ///< of the epochs that are done
  RunTerms terms;
  static constexpr std::uint64_t kNone = UINT64_MAX;
};

Result<void> save_checkpoint(const std::string& path, const tensor::ParameterStore<float>& store,
                             Optimiser<float>& optimiser, const Progress& progress, const std::string& architecture);

/// Fills store and optimiser. InvalidArgument, naming what differs, when the run there began with other terms;
/// RejectedRecord when the file is damaged, of another model or of an earlier version. Nothing is changed then.
Result<Progress> load_checkpoint(const std::string& path, tensor::ParameterStore<float>& store,
                                 Optimiser<float>& optimiser, const std::string& architecture, const RunTerms& terms);

}  // namespace trident::train
