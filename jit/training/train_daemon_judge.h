// The judge of the daemon's trainer: trained anew when there are other kernels with times of this machine in
// STATE/kernels (`trident calibrate --kernels N --output STATE/kernels`; the weekly timer does), and promoted when it
// ranks kernels of families that it has not learnt from better than the judge in use. It lies behind the guide's
// weights in one version, so that both are rolled back together.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jit/learn/judge_trainer.h"
#include "runtime/store/versions.h"

namespace trident::training {

std::string kernels_path(const std::string& state);

/// The outcome of a round: a line of STATE/training.jsonl.
struct TrainedJudgeRound {
  std::size_t kernels = 0, validation = 0;
  double rank_before = 0, rank = 0;  ///< rank correlation with the times of the families that validate, of both
  std::string before, candidate;     ///< names of versions; candidate: empty when none was stored
  bool enough = false;               ///< false: few kernels, or none but those that were trained on before
  bool promoted = false, interrupted = false;
};

/// A candidate is promoted only when it ranks so much better.
inline constexpr double kJudgePromotionGain = 0.001;

/// How well a judge ranks kernels: the correlation of its guesses with their times.
double judge_rank(const expr::rewrite::TimeModel& judge, const learn::JudgeSamples& samples,
                  std::span<const std::uint32_t> of);

/// A guide's weights, and behind them a judge's, as a version holds them. `judge` may be empty.
std::vector<std::byte> guide_and_judge(std::span<const std::byte> guide, std::span<const std::byte> judge);

/// Stores the judge behind the guide that is chosen, and chooses that, if it ranks `validation` better than the judge
/// in use. Fills in names, ranks, promoted. Errors: those of the folder; Cancelled when others were chosen meanwhile.
Result<void> promote_judge_if_better(store::Versions& versions, std::span<const std::byte> judge,
                                     const learn::JudgeSamples& samples, std::span<const std::uint32_t> validation,
                                     TrainedJudgeRound& round);

struct DaemonJudgeTraining {
  std::string state;
  std::uint64_t seed = 1, epochs = 16;
  unsigned threads = 1;
  std::size_t least = 5'000;  ///< kernels of this machine that a training needs
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress{};
  std::function<bool()> stopped{};
};

class DaemonJudgeTrainer {
 public:
  explicit DaemonJudgeTrainer(DaemonJudgeTraining options) : options_(std::move(options)) {}
  /// Errors: of files, of the trainer.
  Result<TrainedJudgeRound> round();

 private:
  DaemonJudgeTraining options_;
  std::uint64_t trained_on_ = 0;  ///< which families there were then
};

std::string judge_round_json(const TrainedJudgeRound& round);

}  // namespace trident::training
