// Trains the guide's head, and the embedding below it, on samples of searches (episodes.h).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jit/learn/episodes.h"
#include "jit/learn/gains.h"
#include "jit/learn/network.h"
#include "jit/learn/scrambles.h"
#include "runtime/train/curriculum.h"
#include "runtime/train/trainer.h"

namespace trident::learn {

/// Options for playing episodes.
struct EpisodeOptions {
  std::uint64_t seed = 1;
  std::uint32_t episodes = 1000;
  ScrambleOptions scrambles{};
  /// Expressions for half of the episodes, in turn: unchanged, then made worse at random. Empty: only composed ones.
  std::span<const expr::Expr> expressions{};
  bool composed = true;  ///< false: `expressions` in all episodes
  unsigned depth = nnue::kDefaultDepth;
  Gain gain = Gain::none;            ///< gives the weights of samples (weights_of)
  std::uint32_t nodes = 1500;        ///< limit of an episode's graph
  std::uint32_t applications = 600;  ///< recorded per episode
  /// If not null, episodes begin at good forms made worse by as many random rewrites as its level says;
  /// an episode is solved if it ends with a form as cheap as the good one. It gets each result.
  train::Curriculum* curriculum = nullptr;
  /// Replaces the static order in half of the episodes; null: none.
  egraph::Guide* guide = nullptr;
  /// Returns a guide to put between the search and the episode's order; empty: none.
  std::function<egraph::Guide&(egraph::Guide& order, std::uint32_t episode)> between{};
  std::function<bool(std::uint32_t done)> progress{};  ///< false: no more episodes
};
GuideSamples play(const EpisodeOptions& options);

/// Inputs of a network for a sample; less than all is for comparison.
struct Sight {
  bool delta = true;  ///< the change that the rewrite makes; else the state as it was
  bool rule = true;   ///< number of the rule
};
/// Makes a head's input from a sample. `list` holds its features and must outlive it.
Example example_of(const GuideSamples& samples, const GuideSample& sample, Sight sight,
                   std::vector<std::uint32_t>& list);

/// Measures how well scores tell needed samples from others: the share of pairs, one of each kind, in the
/// right order (area under the receiver's operating characteristic). 0.5 if there are no pairs.
double area_under_curve(std::span<const double> scores, std::span<const bool> needed);
/// Computes the area over all samples, with scores by `score`.
double area_under_curve(const GuideSamples& samples, const std::function<double(const GuideSample&)>& score);

/// Computes the area over pairs of one graph.
double area_within_graphs(const GuideSamples& samples, const std::function<double(const GuideSample&)>& score);

struct GuideFigures {
  double auc = 0.5;                            ///< by the network
  double auc_no_delta = 0.5;                   ///< by the network, shown the state as it was
  double within = 0.5, within_no_delta = 0.5;  ///< likewise, over pairs of rewrites of one graph alone
  double auc_static = 0.5;                     ///< by the change of tree cost alone
  double auc_rule = 0.5;                       ///< by how often a rule was needed in training
  std::size_t samples = 0, needed = 0;
};
GuideFigures figures_of(const Network& network, const GuideSamples& train, const GuideSamples& held_out,
                        Sight sight = {});

/// Computes scores as a search does: by integers, one per sample. A rule has the row with its key in the weights.
std::vector<std::int32_t> integer_scores(const nn::AccumulatorWeights& weights, const GuideSamples& samples,
                                         Sight sight = {});
/// Returns the share with different scores among pairs of neighbouring candidates of one state that differ in rule,
/// features or scalars.
double told_apart(const GuideSamples& samples, std::span<const std::int32_t> scores);

struct GuideTraining {
  train::TrainerOptions trainer;
  bool frozen = false;  ///< trains only the head
  Sight sight;
  /// Replaces whether each training sample was needed by its probability (QTeacher); empty: by hindsight.
  std::span<const float> labels{};
  /// Called after every epoch with the area under the curve; the epoch with the least result is the best. Empty: the
  /// one with the largest area.
  std::function<double(double auc)> judge{};
  std::function<bool(const train::Report&)> progress{};
};
Result<train::TrainingResult> train_guide(Network& network, const GuideSamples& train, const GuideSamples& held_out,
                                          const GuideTraining& options);

/// Counts how often every feature is in states and afterstates of samples: for nn::hot_first and Network::quantise.
std::vector<std::uint64_t> hits_of(const GuideSamples& samples);

}  // namespace trident::learn
