// Replay memory of an agent: a ring of transitions in one array per field, sampled in
// proportion to how wrong the agent was about them (Schaul et al. 2016, "Prioritized Experience Replay").
//
// A transition spans up to `steps` moves, and every move begins one: the windows overlap.
//
//   s0 -a0,r0-> s1 -a1,r1-> s2 -a2,r2-> s3 ...      steps = 3
//   (s0, a0, r0 + g r1 + g^2 r2, bootstrap g^3 from s3), (s1, a1, r1 + g r2 + ..), ...
//
// An episode that ends by itself (terminal) is worth nothing beyond its end: bootstrap 0. One that is only cut short
// (truncated, a time-out) goes on being worth what its last state is worth: bootstrap g^m after the m moves there were.
//
// States are bytes of a fixed number that mean nothing here; the learner turns them into inputs. Several streams, each
// with episodes of its own, may be fed in turn. No allocation after construction. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/tensor/generator.h"
#include "runtime/train/sum_tree.h"

namespace trident::train {

/// How a move left its episode.
enum class Outcome : std::uint8_t { going, terminal, truncated };

struct ReplayOptions {
  std::size_t capacity = 20'000;  ///< transitions; at most 2^32 - 1
  std::size_t streams = 1;
  std::size_t state_bytes = 0;
  std::size_t steps = 3;
  double discount = 0.99;  ///< g
  double alpha = 0.6;      ///< priority (|error| + epsilon)^alpha; 0 samples uniformly
  double epsilon = 1e-6;
};

/// Transition `i` of the ring.
struct Transition {
  std::span<const std::byte> state, next_state;
  std::int32_t action;
  float reward;     ///< discounted sum of the window's rewards
  float bootstrap;  ///< what the value of next_state counts: g^m, or 0 after a terminal move
};

class ReplayRing {
 public:
  explicit ReplayRing(const ReplayOptions& options);

  /// One move of stream `stream`. Adds the transitions that it completes: the oldest of a full window, or all that are
  /// pending when the episode ends. They get the largest priority there has been, so that each is likely seen once.
  void add(std::size_t stream, std::span<const std::byte> state, std::int32_t action, double reward,
           std::span<const std::byte> next_state, Outcome outcome);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Transition operator[](std::size_t i) const;
  /// The chance that a draw gives `i`.
  [[nodiscard]] double chance(std::size_t i) const { return tree_.priority(i) / tree_.total(); }

  /// Draws indices.size() transitions, one from each of as many equal parts of the whole priority, and their importance
  /// weights (size() chance)^-beta over the largest of the draw. The ring must not be empty.
  void sample(tensor::Generator& generator, double beta, std::span<std::uint32_t> indices,
              std::span<float> weights) const;
  /// New priorities by temporal-difference errors, which must be finite.
  void update(std::span<const std::uint32_t> indices, std::span<const float> errors);

  [[nodiscard]] const ReplayOptions& options() const { return options_; }

 private:
  void finish_oldest(std::size_t stream, std::span<const std::byte> next_state, bool terminal);

  ReplayOptions options_;
  // Fields of the transitions.
  std::vector<std::byte> states_, next_states_;
  std::vector<std::int32_t> actions_;
  std::vector<float> rewards_, bootstraps_;
  SumTree tree_;
  double priority_max_ = 1;
  std::size_t size_ = 0, next_ = 0;
  // Fields of the streams, each with a ring of `steps` moves that wait for their window.
  std::vector<std::byte> pending_states_;
  std::vector<std::int32_t> pending_actions_;
  std::vector<double> pending_rewards_;
  std::vector<std::size_t> pending_first_, pending_count_;
};

}  // namespace trident::train
