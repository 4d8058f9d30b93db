// Backward walks: random rewrites of a good form, each of which another rewrite undoes. All rewrites of every state on
// the way are samples, as a guide would see them when a graph begins with that state; those
// that lead back to the previous state are the needed ones: which rewrite led here?
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "jit/egraph/search.h"
#include "jit/learn/episodes.h"
#include "jit/learn/scrambles.h"

namespace trident::learn {

struct WalkOptions {
  std::uint64_t seed = 1;
  std::uint32_t walks = 100;
  std::uint32_t steps = 1;      ///< per walk
  ScrambleOptions scrambles{};  ///< composition of good forms, and limit of states
  unsigned depth = nnue::kDefaultDepth;
  std::function<bool(const GuideSample&)> leaves_out{};  ///< excludes samples; no walk depends on them alone to go back
  std::function<bool(std::uint32_t done)> progress{};    ///< false: no more walks
};

/// Makes walks: a graph for each state, in the order of the walk; GuideSample::episode is the number of the walk. Equal
/// options give equal walks.
GuideSamples walked(const WalkOptions& options);

/// Returns an expression's form after a short search.
expr::Expr good_form(const expr::Expr& source, const egraph::CostModel& costs);

struct Walk {
  std::vector<egraph::Term> states;   ///< the good form first
  std::vector<GuideSamples> samples;  ///< for all but the first state
};
/// Walks `steps` rewrites, none to an earlier state; none if it cannot go on so far. `nodes_max`: limit of a state.
std::optional<Walk> walk_from(const egraph::SearchSpace& space, const egraph::Term& good, std::uint32_t steps,
                              std::uint32_t nodes_max, unsigned depth, std::uint64_t seed);

/// Returns all rewrites of `at`, as a guide is offered them when a graph begins with it; needed: those to `back`.
GuideSamples ways_back(const egraph::SearchSpace& space, const egraph::Term& at, const egraph::Term& back,
                       unsigned depth);

/// Figures of how often a way back is the first of all rewrites of a state.
struct Ranking {
  std::size_t states = 0;
  double first = 0;   ///< share of the states; ways with equal scores share the place
  double chance = 0;  ///< the share by random scores
};
using Score = std::function<double(const GuideSample&)>;
/// Ranks ways back by `score`. States without a way back do not count.
Ranking rank_ways_back(const GuideSamples& samples, const Score& score);
/// Returns per walk whether, in its last state, a way back scores more than all other rewrites.
std::vector<bool> ends_solved(const GuideSamples& samples, const Score& score);

}  // namespace trident::learn
