// Training of the judge (`trident train judge`): from kernels that were timed to a guess of times, reported beside what
// an analytical model and regressions guess on the same kernels.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/learn/judge_trainer.h"

namespace trident::training {

struct TrainJudgeOptions {
  std::string kernels;  ///< file of timed kernels; empty: those that come with the program
  std::uint64_t seed = 1, epochs = 16, patience = 4;
  unsigned threads = 1, depth = nnue::kDefaultDepth;
  std::uint32_t width = 8;           ///< of few kernels; a wide embedding learns them by heart
  std::vector<std::string> without;  ///< generators of families that are left out of training, and tested on
  std::string folder;                ///< of checkpoints and logs
  bool resume = false;
  std::uint32_t folds = 0;                                    ///< of train_judge_folds()
  std::function<void(const std::string& line)> epoch_line{};  ///< told the figures of every epoch
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress{};
  std::function<bool()> stopped{};  ///< asked after every batch
};

struct TrainedJudge {
  struct Epoch {
    double loss = 0, error = 0;  ///< of training; learn::judge_fault() of the families that validate
  };
  struct Split {
    std::string name;
    learn::JudgeFigures figures;
  };
  std::vector<Epoch> epochs;
  std::vector<Split> splits;
  learn::Ceiling ceiling;  ///< rank correlation of the times with those of a second measurement
  std::string machine;
  std::size_t kernels = 0, families = 0, trained_on = 0;
  std::vector<std::pair<double, double>>
      calibration;               ///< held out, by what is guessed: logarithms, guessed and measured
  std::vector<std::byte> block;  ///< for nn::AccumulatorWeights
  bool interrupted = false;
};

/// Number of the machine whose kernels are trained on: the newest of those that have nearly the most.
std::uint32_t machine_trained_on(const learn::TimedKernels& timed);
/// Splits the kernels into those for training and those held out.
learn::JudgeSplit judge_split(const learn::JudgeSamples& samples, std::span<const std::string> without);

/// Kernels as a judge sees them, and where they are from.
struct JudgeKernels {
  std::string name;  ///< for messages
  learn::JudgeSamples samples;
  learn::Ceiling ceiling;
  std::string machine;
};
/// Errors: those of the cache; InvalidArgument for what is no regular file.
Result<JudgeKernels> judge_kernels(const TrainJudgeOptions& options);

struct TaughtJudge {
  std::unique_ptr<learn::Network> network;
  std::vector<std::uint64_t> hits;  ///< learn::hits_of what it was trained on
  train::TrainingResult result{};
};
/// A network that has learnt from the kernels `train`, its epoch chosen by `validation`; makes the folder. `name`
/// begins the lines of its epochs. Errors: InvalidArgument for too few kernels; those of the trainer.
Result<TaughtJudge> teach_judge(const TrainJudgeOptions& options, const JudgeKernels& kernels,
                                std::span<const std::uint32_t> train, std::span<const std::uint32_t> validation,
                                const std::string& folder, const std::string& name);

/// Errors: those of judge_kernels(), the trainer, and of files in the folder.
Result<TrainedJudge> train_judge(const TrainJudgeOptions& options);

}  // namespace trident::training
