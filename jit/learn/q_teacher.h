// A second teacher of the guide, by reinforcement: it learns the value of applying an offered match, and of leaving it.
//
// The matches that an order offers to a search are a decision process, an episode for each graph:
//
//   state    the afterstate as the network sees it: its embedding, pooled and clipped, a byte for each lane; the
//            scalars; how often its rule was needed in training
//   actions  leave it (0): it goes behind the others, and is offered again; take it (1)
//   reward   for a taken match: the fall of the logarithm of the incumbent's cost, less a price
//   end      terminal when all waiting matches were left since the last was taken; truncated when the budget is spent
//
// runtime/train learns both values. The advantage of taking becomes a label: sigmoid(difference / T).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "jit/learn/guide_trainer.h"
#include "runtime/train/curriculum.h"
#include "runtime/train/q_agent.h"

namespace trident::learn {

/// Sources of labels. X(name, "meaning").
#define TRIDENT_TEACHERS(X)                                             \
  X(hindsight, "whether the best term rests on a rewrite")              \
  X(q, "how much more it is worth to apply a rewrite than to leave it") \
  X(both, "the mean of the two")
#define X(name, meaning) name,
enum class Teacher : std::uint8_t { TRIDENT_TEACHERS(X) };
#undef X

/// A decision and its outcome.
struct Decision {
  std::span<const std::byte> state, next_state;
  bool taken = false;
  double reward = 0;
  train::Outcome outcome = train::Outcome::going;
};

/// Offers the matches of an order to a policy that takes or leaves them.
class TakeOrLeave final : public egraph::Guide {
 public:
  struct Options {
    double price = 0;  ///< per taken match, as a logarithm of cost
    std::size_t state_bytes = 0;
    std::function<void(const GuideSamples& noted, const GuideSample& match, std::span<std::byte> state)> describe;
    std::function<bool(std::span<const std::byte> state)> takes;
    /// Called with every decision in its order, some time after it. A match taken when the budget ended is not told.
    std::function<void(const Decision& decision)> tell;
  };
  TakeOrLeave(const nn::AccumulatorWeights& weights, const nnue::KindTable& kinds, unsigned depth, Options options);
  /// Sets the order of matches before each search. It must outlive the search.
  void ask(egraph::Guide& order) { order_ = &order; }

  void begin(const egraph::GuidedGraph& graph) override;
  void add(std::span<const egraph::Candidate> matches) override { order_->add(matches); }
  std::optional<egraph::Candidate> take() override;
  void follow() override;
  void end(const egraph::Term& found) override;

 private:
  struct Waiting {
    egraph::Candidate match;
    std::uint64_t left_at = 0;  ///< taken_ at that time
  };
  struct Made {
    std::vector<std::byte> state;
    bool taken = false;
    double reward = 0;
  };
  std::optional<egraph::Candidate> offered();
  void tell_but(std::size_t last);

  Options options_;
  egraph::Guide* order_ = nullptr;
  Onlooker onlooker_;
  std::deque<Waiting> left_;
  std::vector<Made> made_;   ///< decisions not told yet
  std::size_t settled_ = 0;  ///< those of made_ with known rewards
  std::uint64_t taken_ = 0;
  bool ended_itself_ = false;
};

struct QTeacherOptions {
  std::uint64_t seed = 1;
  double price = 0.002;
  /// Temperature T; 0: the standard deviation of the differences that become labels.
  double temperature = 0;
  double discount = 0.98;
  std::size_t steps = 3;        ///< steps of a transition
  std::size_t learn_every = 8;  ///< decisions per step of learning
  std::size_t capacity = 50'000;
  std::vector<std::size_t> hidden = {128, 64};
  double rate = 5e-4;
  train::Exploration exploration = {.first = 1, .last = 0.05, .decay = 0.98};  ///< per episode
};

class QTeacher {
 public:
  /// `network`, whose embedding gives its states, must outlive it. `train`: sets how often rules were needed.
  QTeacher(const Network& network, const nnue::KindTable& kinds, const GuideSamples& train,
           const QTeacherOptions& options);

  /// Returns a guide for one search, by `order`; `episode` counts searches.
  egraph::Guide& between(egraph::Guide& order, std::uint32_t episode);
  /// Returns the error if learning has failed: QAgent::learn().
  [[nodiscard]] const Result<void>& state() const { return failed_; }

  /// Returns how much more taking is worth than leaving.
  double advantage(std::span<const std::byte> state);
  void describe(const GuideSamples& samples, const GuideSample& sample, std::span<std::byte> state) const;
  [[nodiscard]] std::size_t state_bytes() const;
  /// Returns for each sample how likely it is worth taking, within (0, 1).
  std::vector<float> labels(const GuideSamples& samples);

  [[nodiscard]] std::uint64_t decisions() const { return decisions_; }
  [[nodiscard]] std::uint64_t steps() const { return agent_.steps(); }

 private:
  void lived(const Decision& decision);

  const Network& network_;
  QTeacherOptions options_;
  std::vector<std::uint8_t> shares_;  ///< per rule: how often it was needed, in units of 1 / 255
  train::ReplayRing ring_;
  train::QAgent agent_;
  TakeOrLeave guide_;
  Result<void> failed_;
  std::uint64_t decisions_ = 0;
  double epsilon_ = 1;
};

/// Makes a curriculum of `episodes`: from good forms made worse by one rewrite to those by eight. The next level begins
/// when enough ways back were found, or after its share of the episodes.
train::Curriculum way_back_curriculum(std::uint32_t episodes);

/// Returns for each sample the mean of its label and of whether it was needed.
std::vector<float> mean_of_both(std::span<const float> labels, const GuideSamples& samples);

}  // namespace trident::learn
