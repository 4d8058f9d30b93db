// The judge trained several times over, each time without another part of the families (`trident train judge --folds`):
// how far its figures, and those of the baselines beside it, depend on which families are held out.
#pragma once

#include <string>
#include <vector>

#include "jit/training/train_judge.h"

namespace trident::training {

/// Over folds.
struct FoldMean {
  double mean = 0, deviation = 0;  ///< standard deviation, of n - 1
};
FoldMean mean_of(const std::vector<double>& values);

struct JudgeFolds {
  struct Guess {
    std::string name;
    FoldMean spearman, pairs, median_error, regret;
  };
  struct Extraction {
    double margin = 0;
    FoldMean gain, faster, slower, possible;
  };
  struct Split {
    std::string name;
    FoldMean kernels, families;
    std::vector<Guess> guesses;
    std::vector<Extraction> extraction;
  };
  std::vector<Split> splits;
  std::uint32_t folds = 0;
  double ceiling = 0;
  std::string machine;
  std::size_t kernels = 0, families = 0;
  bool interrupted = false;
};

/// Every family but those written by hand and those of `without` is in one fold. Of a fold's training a fifth of the
/// other families chooses the epoch: nothing that is reported has been chosen by. No weights come of it. Folders:
/// fold1, fold2, ... in that of the options. Errors: as train_judge().
Result<JudgeFolds> train_judge_folds(const TrainJudgeOptions& options);

}  // namespace trident::training
