// Beam search by a policy: of all states that a beam's states lead to, those survive whose path has the greatest
// probability. Independent of the states' meaning.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

namespace trident::train {

struct BeamOptions {
  std::size_t width = 256;
  std::size_t moves = 0;  ///< that every state has
  std::size_t depth_max = 32;
};

struct BeamPath {
  bool found = false;
  std::vector<std::int32_t> moves{};
  std::uint64_t evaluations = 0;  ///< states that the policy was asked about
};

/// `move(state, m)`: the next state. `is_goal(state)`. `policy(states)`: logarithms of probabilities, [states, moves],
/// valid until it is called again. No state is looked at twice. States are copied, hashed and compared.
template <class State, class Move, class IsGoal, class Policy>
BeamPath beam_search(const State& from, const BeamOptions& options, Move&& move, IsGoal&& is_goal, Policy&& policy) {
  struct Step {
    std::size_t parent = 0;  ///< number in the layer before
    std::int32_t move = -1;
  };
  struct Successor {
    double score = 0;
    std::size_t parent = 0;
    std::int32_t move = -1;
  };
  BeamPath path;
  std::vector<std::vector<Step>> layers;
  const auto trace_back = [&](std::size_t parent, std::int32_t last) {
    path.found = true;
    path.moves.push_back(last);
    for (std::size_t l = layers.size(); l-- > 0;) {
      path.moves.push_back(layers[l][parent].move);
      parent = layers[l][parent].parent;
    }
    std::reverse(path.moves.begin(), path.moves.end());
  };
  if (is_goal(from)) {
    path.found = true;
    return path;
  }
  std::vector<State> beam{from};
  std::vector<double> scores{0.0};
  std::unordered_set<State> seen{from};
  for (std::size_t depth = 0; depth < options.depth_max && !beam.empty(); ++depth) {
    const std::span<const float> logarithms = policy(std::span<const State>(beam));
    path.evaluations += beam.size();
    std::vector<Successor> successors;
    for (std::size_t i = 0; i < beam.size(); ++i) {
      for (std::size_t m = 0; m < options.moves; ++m) {
        if (is_goal(move(beam[i], static_cast<std::int32_t>(m)))) {
          trace_back(i, static_cast<std::int32_t>(m));
          return path;
        }
        successors.push_back({scores[i] + double{logarithms[i * options.moves + m]}, i, static_cast<std::int32_t>(m)});
      }
    }
    std::stable_sort(successors.begin(), successors.end(),
                     [](const Successor& a, const Successor& b) { return a.score > b.score; });
    std::vector<State> next;
    std::vector<double> next_scores;
    std::vector<Step> layer;
    for (const Successor& s : successors) {
      if (next.size() == options.width) break;
      State state = move(beam[s.parent], s.move);
      if (!seen.insert(state).second) continue;
      next.push_back(std::move(state));
      next_scores.push_back(s.score);
      layer.push_back({s.parent, s.move});
    }
    layers.push_back(std::move(layer));
    beam = std::move(next), scores = std::move(next_scores);
  }
  return path;
}

}  // namespace trident::train
