// Reports of `trident train`, as text, JSON and SVG.
#pragma once

#include <string>

#include "jit/training/score_guide.h"
#include "jit/training/train_guide.h"
#include "jit/training/train_judge.h"
#include "jit/training/train_judge_folds.h"

namespace trident::cli {

std::string guide_text(const training::TrainedGuide& trained);
std::string guide_json(const training::TrainedGuide& trained);
/// Loss, area under the curve, and calibration, as one SVG.
std::string guide_plot(const training::TrainedGuide& trained);

std::string score_text(const training::GuideScore& score);
std::string score_json(const training::GuideScore& score);

std::string judge_text(const training::TrainedJudge& trained);
std::string judge_json(const training::TrainedJudge& trained);
/// Loss, rank correlation beside the baselines', and calibration, as one SVG.
std::string judge_plot(const training::TrainedJudge& trained);

std::string folds_text(const training::JudgeFolds& folds);
std::string folds_json(const training::JudgeFolds& folds);

}  // namespace trident::cli
