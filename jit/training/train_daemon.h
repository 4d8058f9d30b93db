// The daemon's trainer (`trident train daemon`): rounds of playing what clients have submitted, training, and judging
// on the held-out ones; weights that find more are promoted (runtime/store/versions.h), and the daemon sees them.
#pragma once

#include <functional>
#include <string>

#include "jit/learn/guide_trainer.h"
#include "jit/learn/submitted.h"
#include "runtime/store/versions.h"

namespace trident::training {

struct DaemonTraining {
  std::string state;  ///< the daemon's folder (daemon/learning)
  std::uint64_t seed = 1;
  std::uint32_t episodes = 600;  ///< of each round
  std::uint64_t epochs = 2;
  unsigned threads = 1;
  std::size_t least = 24;  ///< expressions that a round needs, held out or not
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress{};
  std::function<bool()> stopped{};  ///< asked after every batch
};

/// The outcome of a round: a line of STATE/training.jsonl.
struct TrainedRound {
  std::uint64_t round = 0;
  std::size_t submitted = 0, held_out = 0, samples = 0;
  std::size_t passed_over = 0;         ///< lines of the journal that are no expressions
  double auc = 0;                      ///< held-out episodes
  double ratio_before = 1, ratio = 1;  ///< learn::found_ratio() of the held-out expressions, of both
  std::string before, candidate;       ///< names; candidate: empty when it was not stored
  bool enough = false, promoted = false, interrupted = false;
  double seconds = 0;
};

/// A candidate is promoted only when it finds so much more: less may be luck.
inline constexpr double kPromotionGain = 0.003;
/// Returns true when `after` improves on `before`.
bool improves(double before, double after);

/// Stores the weights and makes them the chosen ones if they find more in `held_out` than those that are chosen now.
/// Fills in names, ratios, promoted. Errors: those of the folder; Cancelled when others were chosen meanwhile.
Result<void> promote_if_better(store::Versions& versions, std::span<const std::byte> block,
                               std::span<const expr::Expr> held_out, TrainedRound& round);

class DaemonTrainer {
 public:
  explicit DaemonTrainer(DaemonTraining options) : options_(std::move(options)) {}
  /// One round; `enough` is false when there is nothing to learn from yet. Errors: of files, of the trainer.
  Result<TrainedRound> round();

 private:
  [[nodiscard]] std::vector<expr::Expr> cases(const learn::Submitted& submitted) const;
  learn::GuideSamples pool() const;
  Result<learn::GuideSamples> play(const learn::Submitted& submitted, std::uint64_t seed, std::uint32_t episodes,
                                   const nn::AccumulatorWeights& weights) const;

  DaemonTraining options_;
  std::uint64_t rounds_ = 0;
  std::vector<learn::GuideSamples> played_;  ///< the last rounds', the newest last
  learn::GuideSamples held_out_;             ///< episodes, for the figure by which an epoch is the best
};

std::string round_json(const TrainedRound& round);

}  // namespace trident::training
