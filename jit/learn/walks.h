// Backward walks: from a good form some random rewrites, each of which has another that undoes it. Of every state on
// the way all rewrites are samples, as a guide would see them when a graph begins with that state; needed are those
// that lead back, to where the walk came from: which rewrite led here?
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
  std::uint32_t steps = 1;      ///< of each walk
  ScrambleOptions scrambles{};  ///< what good forms are made of, and how large states become
  unsigned depth = nnue::kDefaultDepth;
  std::function<bool(const GuideSample&)> leaves_out{};  ///< what is no sample; no walk goes back by that alone
  std::function<bool(std::uint32_t done)> progress{};    ///< false: no more walks
};

/// A graph for each state, in the order of the walk; GuideSample::episode is the number of the walk. The same for the
/// same options.
GuideSamples walked(const WalkOptions& options);

/// What a short search leaves of an expression.
expr::Expr good_form(const expr::Expr& source, const egraph::CostModel& costs);

struct Walk {
  std::vector<egraph::Term> states;   ///< from the good form on
  std::vector<GuideSamples> samples;  ///< of all but the first state
};
/// So many rewrites, none to what was there before; nothing where it does not go on so far. `nodes_max`: of a state.
std::optional<Walk> walk_from(const egraph::SearchSpace& space, const egraph::Term& good, std::uint32_t steps,
                              std::uint32_t nodes_max, unsigned depth, std::uint64_t seed);

/// All rewrites of `at`, as a guide is offered them when a graph begins with it; needed are those that lead to `back`.
GuideSamples ways_back(const egraph::SearchSpace& space, const egraph::Term& at, const egraph::Term& back,
                       unsigned depth);

/// How often a way back comes first of all rewrites of a state.
struct Ranking {
  std::size_t states = 0;
  double first = 0;   ///< share of the states; ways that score alike share the place
  double chance = 0;  ///< what scores would do that say nothing
};
using Score = std::function<double(const GuideSample&)>;
/// States without a way back do not count.
Ranking rank_ways_back(const GuideSamples& samples, const Score& score);
/// Per walk whether, in its last state, a way back scores more than all that leads elsewhere.
std::vector<bool> ends_solved(const GuideSamples& samples, const Score& score);

}  // namespace trident::learn
