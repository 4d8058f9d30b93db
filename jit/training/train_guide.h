// Training of the search's guide (`trident train guide`): episodes of searches over composed and scrambled expressions,
// then the network, judged on episodes that it has not seen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jit/learn/guide_trainer.h"
#include "jit/learn/pretraining.h"
#include "jit/learn/q_teacher.h"

namespace trident::training {

struct TrainGuideOptions {
  std::uint64_t seed = 1, epochs = 3, patience = 2;
  std::uint32_t episodes = 4000, rounds = 2;
  unsigned threads = 1;
  std::uint32_t width = nn::kLanes;
  unsigned depth = nnue::kDefaultDepth;
  learn::Sight sight;
  learn::Gain gain = learn::Gain::none;  ///< by which samples weigh in training
  learn::Teacher teacher = learn::Teacher::hindsight;
  std::uint32_t pretrain = 0;            ///< backward walks to pretrain on; 0: none
  std::string embedding;                 ///< network in floats whose embedding training begins with; empty: random
  bool frozen = false;                   ///< the embedding stays as it is
  std::vector<std::string> without;      ///< domains of rules that are left out of training, and tested on
  std::vector<std::string> only, tests;  ///< files: expressions to learn from, and none else; to test on
  std::string folder;                    ///< of checkpoints and logs, one below it for each round
  bool resume = false;
  std::function<void(const std::string& line)> epoch_line{};  ///< told the figures of every epoch
  /// "playing" and "reinforcing", episodes done and in all; "training", batches; "trying", cases; "walking",
  /// walks, and "pretraining", batches.
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress{};
  std::function<bool()> stopped{};  ///< asked after every batch and every episode
};

struct TrainedGuide {
  struct Epoch {
    double loss = 0, auc = 0;
    double ratio = 1;  ///< what searches find by its weights (learn::found_ratio), in cases to choose by
  };
  std::vector<std::vector<Epoch>> epochs;  ///< per round
  std::size_t round_chosen = 0;            ///< of all the one with the best epoch
  /// Decisions and steps of the second teacher, and how well its labels tell the needed rewrites; none for hindsight.
  std::uint64_t decisions = 0, learning_steps = 0;
  double auc_labels = 0.5;
  /// Rewrites that made the last episodes' good forms worse, and the share of these that found as good a form.
  std::uint32_t scramble = 0;
  double way_back = 0;
  learn::Pretrained pretrained;  ///< of no lengths where there was no pretraining
  learn::GuideFigures figures;   ///< held out
  /// On searches about the domains left out, and on rewrites by their rules; no samples if none is left out.
  learn::GuideFigures left_out, left_out_rules;
  learn::GuideFigures tested;                        ///< on the expressions of TrainGuideOptions::tests
  double ratio_tested = 1, ratio_static_tested = 1;  ///< as `ratio`, of these made worse at random
  /// learn::found_ratio() of the chosen epoch, in the cases that it was chosen by and in others.
  double ratio_chosen = 1, ratio = 1;
  double ratio_static = 1, ratio_static_chosen = 1;      ///< ... by the static cost that a rule saves, in both
  double ratio_constant = 1, ratio_constant_chosen = 1;  ///< ... of no preference at all
  double auc_integers = 0.5;                             ///< held out, by the integers that a search uses
  double told_apart = 1;                                 ///< of different rewrites of one state, held out
  /// Calibration on the held-out samples, by tenths of the predicted probability: its mean, and the share needed.
  std::vector<std::pair<double, double>> calibration;
  std::size_t samples = 0, graphs = 0, features = 0;
  double gain = 0, gain_most = 0;  ///< of the graphs trained on: mean and most (learn::GuideSample::gain)
  std::vector<std::byte> block;    ///< for nn::AccumulatorWeights
  bool interrupted = false;
};

/// Errors: those of the trainer, and of files in the folder.
Result<TrainedGuide> train_guide(const TrainGuideOptions& options);

/// Counts the expressions that no episode plays: the first half chooses the epoch, the second half is reported.
inline constexpr std::size_t kCasesChosenBy = 128;

/// A trained network as a block for nn::AccumulatorWeights, its rows in the order of `hits` (learn::hits_of).
Result<std::vector<std::byte>> packed_guide(const learn::Network& network, std::vector<std::uint64_t> hits);
/// A network that has learnt nothing; the seed decides its bits.
Result<std::vector<std::byte>> untrained_guide(std::uint64_t seed);
/// Terms that decide a training's bits, beside those that the trainer knows itself.
train::RunTerms guide_terms(const TrainGuideOptions& options);
/// Options of the trainer for a guide. Makes the folder; OsError when that fails.
Result<train::TrainerOptions> guide_trainer(const std::string& folder, std::uint64_t seed, std::uint64_t epochs,
                                            unsigned threads, std::size_t samples);
inline constexpr std::size_t kSamplesPerShard = 32;
train::Schedule guide_schedule(std::uint64_t epochs, std::size_t samples);
/// Features that have a row of their own when a network is trained on samples with these hits.
std::vector<std::uint32_t> features_with_rows(std::span<const std::uint64_t> hits);

}  // namespace trident::training
