// Rewrites that wait: every one is scored by what T would be after it, by which rule it is, and by some numbers about
// the place.
//
//   z = W1 pool(accumulator + delta) + B[rule] + Ws s,   score = w2 clip(z)         (runtime/simd/kernels.h)
//
// A delta is worked out once and kept (512 bytes). When T has changed meanwhile, a candidate that comes to the top is
// scored anew from its delta, or, if what that depends on was touched, from a new one; it is taken only if it is still
// the best (lazy greedy, after Minoux 1978). So a score may be stale only in those that are not taken, and a candidate
// whose score rose is found when it is scored with the best ones (rescore_best()).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "jit/egraph/matcher.h"
#include "jit/nnue/afterstate.h"

namespace trident::nnue {

/// What a head is told of a candidate beside the accumulator. X(Name, "meaning"); clipped to 2^11 either way. Those
/// above `context` are filled in here, the others by who searches.
#define TRIDENT_NNUE_SCALARS(X)                                                   \
  X(references, "of the place in T, at most 2^11")                                \
  X(in_term, "1 where the class that is rewritten is in T")                       \
  X(steps, "from T down to it, where it is not")                                  \
  X(regret, "of the class, in quarters of the cost's unit, logarithmic: 0 to 32") \
  X(nodes_gained, "of T")                                                         \
  X(nodes_made, "of the right side, that the graph has not")                      \
  X(right_side_known, "1 where the graph has the whole right side")               \
  X(cost_change, "by static costs")                                               \
  X(path_change, "of the critical path")                                          \
  X(rule_hits, "how often the rule was applied in this search")                   \
  X(rule_benefit, "what that brought on average")                                 \
  X(budget_left, "in 128ths")                                                     \
  X(spare_12, "0") X(spare_13, "0") X(spare_14, "0") X(spare_15, "0")
#define X(name, meaning) name,
enum class Scalar : std::uint8_t { TRIDENT_NNUE_SCALARS(X) context = cost_change };
#undef X
struct alignas(32) Scalars {
  std::array<std::int16_t, simd::kScalars> value{};
  void set(Scalar scalar, std::int64_t v);
};
static_assert(static_cast<std::size_t>(Scalar::spare_15) + 1 == simd::kScalars);

using egraph::Candidate;

/// Fills in what there is to tell of an afterstate and its delta: the scalars above `context`.
void describe(const Afterstate& after, const Delta& delta, const Incumbent& incumbent, double regret, Scalars& out);

class Candidates {
 public:
  /// Fills in what of a candidate only the searcher knows; called whenever its delta is worked out.
  using Context = std::function<void(const Candidate& candidate, Scalars& out)>;

  /// All must outlive it. `rows`: the row of biases of the guide's head for each rule; empty: as rules are numbered.
  Candidates(std::span<const egraph::Rule> rules, Afterstates& afterstates, Incumbent& incumbent,
             const Hosts* hosts = nullptr, Context context = {}, std::span<const std::uint32_t> rows = {});

  /// Scores matches at their first sight and lets them wait; `context` says what only the searcher knows, and is taken
  /// for all. Those without an afterstate wait with `prior`. Lazily: their deltas are worked out when they come to the
  /// top, and before that they are scored as if they changed nothing.
  void add(std::span<const Candidate> matches, const Scalars& context, std::int32_t prior, bool lazily = false);
  /// The one that is best now, and no longer waits. Of equal scores the one that came first. Of `rescored_max` at the
  /// top that had to be scored anew the best is taken, even if one below might have become better.
  std::optional<Candidate> take_best(std::size_t rescored_max = std::numeric_limits<std::size_t>::max());
  /// Any of those that wait: number `draw` modulo their count. The best stays where it is.
  std::optional<Candidate> take_any(std::uint64_t draw);
  /// Scores the `count` that looked best anew.
  void rescore_best(std::size_t count);
  void clear();

  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  /// The last score of one that waits (take_best()'s, when it returned it).
  [[nodiscard]] std::int32_t last_score() const { return last_score_; }
  /// Deltas worked out, and scores given, so far.
  [[nodiscard]] std::uint64_t built() const { return built_; }
  [[nodiscard]] std::uint64_t scored() const { return scored_; }

 private:
  struct Waiting {
    Scalars scalars;
    Candidate candidate;
    std::uint64_t scored_at = 0;  ///< Incumbent::moves() then
    std::int32_t prior = 0;
    std::uint32_t delta = egraph::kNone;  ///< in deltas_; kNone: scored as if it changed nothing, so far
    bool has_afterstate = false;
  };
  struct Entry {
    std::int32_t score;
    std::uint32_t slot;
    std::uint64_t sequence;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.score != b.score ? a.score < b.score : a.sequence > b.sequence;
    }
  };
  void build(Waiting& waiting);
  void describe_place(Waiting& waiting) const;
  void score(std::span<Entry> entries);
  std::uint32_t slot();
  void release(std::uint32_t slot);

  std::span<const egraph::Rule> rules_;
  Afterstates& afterstates_;
  Incumbent& incumbent_;
  const Hosts* hosts_;
  Context context_;
  std::span<const std::uint32_t> rows_;
  std::vector<Entry> heap_;
  std::vector<Waiting> slots_;
  std::deque<Delta> deltas_;  ///< which stay where they are
  std::vector<std::uint32_t> free_, free_deltas_;
  std::uint64_t sequence_ = 0, built_ = 0, scored_ = 0;
  std::int32_t last_score_ = 0;

  Afterstate afterstate_;
  std::vector<Entry> batch_;
  std::vector<simd::Afterstate> states_;
  std::vector<std::int32_t> scores_;
  std::vector<std::uint32_t> which_;
};

}  // namespace trident::nnue
