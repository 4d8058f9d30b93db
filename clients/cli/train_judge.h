// Training of the judge (`trident train judge`): from kernels that were timed to a guess of times, reported beside what
// an analytical model and regressions guess on the same kernels.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "jit/learn/judge_trainer.h"

namespace trident::cli {

struct TrainJudgeOptions {
  std::string kernels;  ///< file of timed kernels; empty: those that are shipped
  std::uint64_t seed = 1, epochs = 12, patience = 4;
  unsigned threads = 1, depth = nnue::kDefaultDepth;
  std::uint32_t width = nn::kLanes;
  std::vector<std::string> without;  ///< generators of families that are left out of training, and tested on
  std::string folder;                ///< of checkpoints and logs
  bool resume = false;
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress{};
  std::function<bool()> stopped{};  ///< asked after every batch
};

struct TrainedJudge {
  struct Epoch {
    double loss = 0, error = 0;  ///< of training; mean error of logarithms, held out
  };
  struct Split {
    std::string name;
    learn::JudgeFigures figures;
  };
  std::vector<Epoch> epochs;
  std::vector<Split> splits;
  double ceiling = 0;  ///< rank correlation of the times with those of a second measurement
  std::string machine;
  std::size_t kernels = 0, families = 0, trained_on = 0;
  std::vector<std::pair<double, double>>
      calibration;               ///< held out, by what is guessed: logarithms, guessed and measured
  std::vector<std::byte> block;  ///< for nn::AccumulatorWeights
  bool interrupted = false;
};

/// Number of the machine whose kernels are trained on: the newest of those that have nearly the most.
std::uint32_t machine_trained_on(const learn::TimedKernels& timed);
/// Which of its kernels are trained on.
learn::JudgeSplit judge_split(const learn::JudgeSamples& samples, std::span<const std::string> without);

/// Errors: those of the cache, the trainer, and of files in the folder.
Result<TrainedJudge> train_judge(const TrainJudgeOptions& options);

std::string judge_text(const TrainedJudge& trained);
std::string judge_json(const TrainedJudge& trained);
/// Loss, rank correlation beside the baselines', and calibration, as one SVG.
std::string judge_plot(const TrainedJudge& trained);

}  // namespace trident::cli
