// Scores a file of weights as a search's guide (`trident train guide --score`): the figures that its training
// would end with, from the held-out episodes and cases of the same seed, without any training.
#pragma once

#include <string>

#include "jit/training/train_guide.h"

namespace trident::training {

/// All figures are by the integers that a search uses.
struct GuideScore {
  std::string weights;
  std::size_t samples = 0, needed = 0;
  double auc = 0.5, within = 0.5;                    ///< within: over pairs of rewrites of one graph alone
  double auc_no_delta = 0.5, within_no_delta = 0.5;  ///< shown the state as it was
  double auc_no_rule = 0.5, within_no_rule = 0.5;    ///< ... every rule as one that is new
  double auc_static = 0.5;                           ///< by the change of static cost alone
  double auc_rule = 0.5;                             ///< by how often a rule was needed in the episodes of training
  double told_apart = 1;
  double ratio = 1, ratio_static = 1, ratio_constant = 1;  ///< learn::found_ratio(), in cases no epoch was chosen by
  double ratio_chosen = 1, ratio_static_chosen = 1, ratio_constant_chosen = 1;  ///< ... in those that it was
  bool interrupted = false;
};

/// Scores a file. `options` as in the training; read are episodes, rounds (only the first is played, for the rules'
/// shares), seed, without, only, depth and count. Errors: those of expr::rewrite::guide_weights(), and of files of
/// expressions.
Result<GuideScore> score_guide(const std::string& weights, const TrainGuideOptions& options);

}  // namespace trident::training
