// Pretrains the guide's network before it learns from searches: given a state of a backward walk (walks.h), it learns
// which rewrite led there. Short walks come first; longer ones follow once the network picks the way back first at the
// ends of enough unseen walks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jit/learn/guide_trainer.h"
#include "jit/learn/walks.h"

namespace trident::learn {

struct PretrainingOptions {
  std::uint64_t seed = 1;
  std::uint32_t walks = 2000;  ///< to train on, as many of each length; a quarter more are for tests
  ScrambleOptions scrambles{};
  struct Length {
    std::uint32_t steps;  ///< rewrites of each walk
    double enough;        ///< share of ends at which the way back must come first
  };
  /// Lengths, with lower shares for longer walks: of rewrites at different places any may be undone first, and the last
  /// one cannot be seen.
  std::vector<Length> lengths = {{1, 0.7}, {2, 0.5}, {4, 0.35}, {8, 0.25}};
  std::uint64_t epochs_max = 6;                          ///< per length
  std::function<bool(const GuideSample&)> leaves_out{};  ///< WalkOptions::leaves_out
  /// Options of the trainer: folder (one below it for each length), seed, samples of a shard, threads, resume; and the
  /// network's inputs. Its progress is not called.
  GuideTraining training{};
  std::function<train::Schedule(std::uint64_t epochs, std::size_t samples)> schedule;
  /// Called with "walking", walks done and in all; or "pretraining", batches.
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress{};
  std::function<bool()> stopped{};  ///< called after every batch
};

struct Pretrained {
  /// Results on unseen walks, after training on those of the same length.
  struct OfLength {
    std::uint32_t steps = 0;
    std::size_t walks = 0, samples = 0;  ///< of training
    std::size_t walks_tested = 0;        ///< of the test
    std::uint64_t epochs = 0;            ///< up to the best one
    Ranking network{}, by_cost{};        ///< over all states on the way; by the change of static cost
    double ends = 0, ends_before = 0;    ///< share of ends where the way back is first; before training
    bool enough = false;
  };
  std::vector<OfLength> lengths;  ///< in their order, up to the first that was not passed
  std::uint32_t reached = 0;      ///< the longest that was passed; 0: none
  bool interrupted = false;
};

/// Trains the network. Equal options give equal networks, with any number of threads and after a restart. Errors: those
/// of the trainer, and of files in the folder.
Result<Pretrained> pretrain(Network& network, const PretrainingOptions& options);

}  // namespace trident::learn
