// What the guide's network learns before it learns from searches: on backward walks (walks.h), which rewrite of a state
// led there. Short walks come first; longer ones follow once the network picks the way back first at the ends of enough
// walks that it was not trained on.
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
  std::uint32_t walks = 2000;  ///< to train on, as many of each length; a quarter more are there to be tested on
  ScrambleOptions scrambles{};
  struct Length {
    std::uint32_t steps;  ///< rewrites of each walk
    double enough;        ///< the share of ends at which the way back must come first
  };
  /// Less is asked of longer walks: of rewrites at different places any may be undone first, and which was the last
  /// cannot be seen.
  std::vector<Length> lengths = {{1, 0.7}, {2, 0.5}, {4, 0.35}, {8, 0.25}};
  std::uint64_t epochs_max = 6;                          ///< of each length
  std::function<bool(const GuideSample&)> leaves_out{};  ///< WalkOptions::leaves_out
  /// Of the trainer the folder (one below it for each length), seed, samples of a shard, threads, resume; and what is
  /// seen. Of its progress nothing is asked.
  GuideTraining training{};
  std::function<train::Schedule(std::uint64_t epochs, std::size_t samples)> schedule;
  /// "walking", walks done and in all; "pretraining", batches.
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress{};
  std::function<bool()> stopped{};  ///< asked after every batch
};

struct Pretrained {
  /// Of walks that were not trained on, after training on those of the same length.
  struct OfLength {
    std::uint32_t steps = 0;
    std::size_t walks = 0, samples = 0;  ///< that were trained on
    std::size_t walks_tested = 0;        ///< ... and not
    std::uint64_t epochs = 0;            ///< up to the best
    Ranking network{}, by_cost{};        ///< of all states on the way; by the change of static cost
    double ends = 0, ends_before = 0;    ///< share of ends where the way back is first; before training
    bool enough = false;
  };
  std::vector<OfLength> lengths;  ///< in their order, up to the first at which it was not enough
  std::uint32_t reached = 0;      ///< the longest at which it was enough; 0: none
  bool interrupted = false;
};

/// The same network for the same options, with any number of threads and when it goes on. Errors: those of the trainer,
/// and of files in the folder.
Result<Pretrained> pretrain(Network& network, const PretrainingOptions& options);

}  // namespace trident::learn
