// Trains the guide's head, and the embedding below it, on what searches teach (episodes.h).
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

/// How episodes are played.
struct EpisodeOptions {
  std::uint64_t seed = 1;
  std::uint32_t episodes = 1000;
  ScrambleOptions scrambles;
  /// Played in half of the episodes, in turn: as they are, then made worse at random. Empty: only what is composed.
  std::span<const expr::Expr> expressions{};
  bool composed = true;  ///< false: `expressions` in all episodes
  unsigned depth = nnue::kDefaultDepth;
  Gain gain = Gain::none;            ///< by which samples weigh (weights_of)
  std::uint32_t nodes = 1500;        ///< of the graph of an episode
  std::uint32_t applications = 600;  ///< that are watched of each
  /// Where there is one, episodes begin at good forms that as many random rewrites have made worse as its level says;
  /// an episode is solved that ends with a form as cheap as the good one. Told of each.
  train::Curriculum* curriculum = nullptr;
  /// Asked in place of the static order, in half of the episodes; null: none.
  egraph::Guide* guide = nullptr;
  /// Who stands between the search and the order that an episode goes by, of which it is told; empty: nobody.
  std::function<egraph::Guide&(egraph::Guide& order, std::uint32_t episode)> between{};
  std::function<bool(std::uint32_t done)> progress{};  ///< false: no more episodes
};
GuideSamples play(const EpisodeOptions& options);

/// What a network is shown of a sample; less than all is for comparison.
struct Sight {
  bool delta = true;  ///< the change that the rewrite makes; else the state as it was
  bool rule = true;   ///< which rule it is
};
/// A sample as a head sees it. `list` holds its features and must outlive it.
Example example_of(const GuideSamples& samples, const GuideSample& sample, Sight sight,
                   std::vector<std::uint32_t>& list);

/// How well scores tell samples that were needed from others: the share of pairs, of one and the other, that are in the
/// right order (area under the receiver's operating characteristic). 0.5 where there are no pairs.
double area_under_curve(std::span<const double> scores, std::span<const bool> needed);
/// ... over all samples, by what `score` says.
double area_under_curve(const GuideSamples& samples, const std::function<double(const GuideSample&)>& score);

/// ... of pairs of one graph.
double area_within_graphs(const GuideSamples& samples, const std::function<double(const GuideSample&)>& score);

struct GuideFigures {
  double auc = 0.5;                            ///< of the network
  double auc_no_delta = 0.5;                   ///< ... shown the state as it was
  double within = 0.5, within_no_delta = 0.5;  ///< the same, over pairs of rewrites of one graph alone
  double auc_static = 0.5;                     ///< by the change of tree cost alone
  double auc_rule = 0.5;                       ///< by how often a rule was needed in training
  std::size_t samples = 0, needed = 0;
};
GuideFigures figures_of(const Network& network, const GuideSamples& train, const GuideSamples& held_out,
                        Sight sight = {});

/// How a search sees them: scores by integers, one per sample. A rule has the row that the weights say is its.
std::vector<std::int32_t> integer_scores(const nn::AccumulatorWeights& weights, const GuideSamples& samples,
                                         Sight sight = {});
/// Of pairs of neighbouring candidates of one state that are not the same in rule, features and scalars, the share that
/// has different scores.
double told_apart(const GuideSamples& samples, std::span<const std::int32_t> scores);

struct GuideTraining {
  train::TrainerOptions trainer;
  bool frozen = false;  ///< only the head
  Sight sight;
  /// How likely each sample of training was needed, in place of whether it was (QTeacher); empty: by hindsight.
  std::span<const float> labels{};
  /// Told the area under the curve after every epoch; the epoch where it returns least is the best. Empty: the one with
  /// the largest area.
  std::function<double(double auc)> judge{};
  std::function<bool(const train::Report&)> progress{};
};
Result<train::TrainingResult> train_guide(Network& network, const GuideSamples& train, const GuideSamples& held_out,
                                          const GuideTraining& options);

/// How often every feature is in states and afterstates of samples: for nn::hot_first and Network::quantise.
std::vector<std::uint64_t> hits_of(const GuideSamples& samples);

}  // namespace trident::learn
