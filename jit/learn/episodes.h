// Samples from searches: every applied match, as the network would have seen it then, and whether the best term
// of its graph in the end rests on it (hindsight, by the graph's own explanation).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "jit/egraph/guide.h"
#include "jit/expr/rewrite/rewrite.h"
#include "jit/nnue/feature_list.h"
#include "jit/nnue/network_guide.h"

namespace trident::learn {

/// Marks in GuideSample::rule a rule that training does not know.
inline constexpr std::uint16_t kNewRule = 0xFFFF;

/// One match at the moment when it was applied. Its afterstate has the features of its state without `lost` and
/// with `gained`.
struct GuideSample {
  std::uint32_t state = 0;                                  ///< number in GuideSamples
  std::uint32_t first_lost = 0, first_gained = 0, end = 0;  ///< in GuideSamples::changes
  std::uint32_t nodes = 1;                                  ///< nodes after it
  std::uint32_t episode = 0, graph = 0;                     ///< of the graph: over all episodes
  std::uint16_t rule = 0;
  bool needed = false;  ///< the best term of the graph rests on it
  float gain = 0;       ///< how much cheaper the graph's best term is than the first: the difference of their log_cost
  std::array<std::int16_t, nn::kScalars> scalars{};
};

struct GuideSamples {
  struct State {
    std::uint32_t first = 0, end = 0;  ///< in `features`
    std::uint32_t nodes = 1;
  };
  std::vector<std::uint32_t> features, changes;
  std::vector<State> states;
  std::vector<GuideSample> samples;
  std::uint32_t graphs = 0;

  /// Writes the features that a network sees to `out`, replacing its content; `delta`: false for the state as it was.
  void features_of(const GuideSample& sample, bool delta, std::vector<std::uint32_t>& out) const;
  /// Returns the scalars; if `delta` is false, without those that only the afterstate has.
  static std::array<std::int16_t, nn::kScalars> scalars_of(const GuideSample& sample, bool delta);
  void append(const GuideSamples& other);
};

/// Follows a search's graph and records matches as the network would see them. Called by a guide during the search.
class Onlooker {
 public:
  /// Both must outlive it. `weights` only sets how features are counted.
  Onlooker(const nn::AccumulatorWeights& weights, const nnue::KindTable& kinds, unsigned depth);

  /// Starts with a new graph and forgets the records.
  void begin(const egraph::GuidedGraph& graph);
  [[nodiscard]] bool holds() const { return follower_.holds(); }
  /// Returns the match as if it were applied now, with its state and changes in noted(); none if there is no
  /// afterstate. Fills in rule and scalars, but not the episode.
  std::optional<GuideSample> look(const egraph::Candidate& match);
  void took(egraph::RuleIndex rule) { context_.took(rule); }
  void follow();
  /// Returns the tree cost of the incumbent, while there is one.
  [[nodiscard]] double cost() const { return cost_; }
  [[nodiscard]] const GuideSamples& noted() const { return noted_; }
  GuideSamples& noted() { return noted_; }

 private:
  nnue::Follower follower_;
  nnue::SearchContext context_;
  std::span<const egraph::Rule> rules_;
  std::vector<egraph::ClassId> roots_;
  GuideSamples noted_;
  std::vector<std::uint32_t> state_features_;
  std::uint64_t state_moves_ = ~std::uint64_t{0};
  double cost_ = 0;
  nnue::Afterstate afterstate_;
  nnue::Delta delta_;
};

/// Records the matches that a guide takes. Needs graphs with a log (SearchOptions::explain).
class Witness final : public egraph::Guide {
 public:
  struct Options {
    std::uint32_t episode = 0;
    std::uint32_t per_graph_max = 128;  ///< samples kept: those that were needed, others at random
    unsigned depth = nnue::kDefaultDepth;
    /// Returns the logarithm of a term's cost (gains.h), none if unknown; empty: samples have no gain.
    std::function<std::optional<double>(const egraph::Term&)> log_cost{};
  };
  /// All arguments must outlive it. `weights` only sets how features are counted.
  Witness(egraph::Guide& guide, const nn::AccumulatorWeights& weights, const nnue::KindTable& kinds,
          const Options& options, GuideSamples& out);

  void begin(const egraph::GuidedGraph& graph) override;
  void add(std::span<const egraph::Candidate> matches) override { guide_.add(matches); }
  std::optional<egraph::Candidate> take() override;
  void follow() override;
  void end(const egraph::Term& found) override;

 private:
  struct Pending {
    GuideSample sample;
    std::uint64_t first_edge = 0;  ///< the first log entry made by it, if it merged anything
    bool merged = false, open = true;
  };
  void settle();
  [[nodiscard]] float gain_of(const egraph::Term& found) const;

  egraph::Guide& guide_;
  Options options_;
  GuideSamples& out_;
  Onlooker onlooker_;
  std::optional<egraph::GuidedGraph> graph_;
  std::vector<Pending> pending_;
};

/// Returns weights of zeros, for a Follower that only counts.
const nn::AccumulatorWeights& counting_weights(const nnue::KindTable& kinds, unsigned depth, std::uint32_t rules);

}  // namespace trident::learn
