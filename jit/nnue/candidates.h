// Queue of possible rewrites: each is scored by T after it, by its rule, and by some numbers about
// the place.
//
//   z = W1 pool(accumulator + delta) + B[rule] + Ws s,   score = w2 clip(z)         (runtime/simd/kernels.h)
//
// A delta is computed once and kept (512 bytes). If T has changed since, a candidate that comes to the top is
// scored anew from its delta or, if the delta depends on a changed class, from a new one; it is taken only if it is
// still the best (lazy greedy, after Minoux 1978). So only candidates that are not taken may have stale scores, and one
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

/// Inputs of a head besides the accumulator. X(Name, "meaning"); clipped to 2^11 either way. Those
/// above `context` are filled in here, the others by the searcher.
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

/// Fills in the scalars above `context`, from an afterstate and its delta.
void describe(const Afterstate& after, const Delta& delta, const Incumbent& incumbent, double regret, Scalars& out);

class Candidates {
 public:
  /// Fills in the scalars that only the searcher knows; called whenever a candidate's delta is computed.
  using Context = std::function<void(const Candidate& candidate, Scalars& out)>;

  /// All arguments must outlive it. `rows`: the row of biases of the guide's head for each rule; empty: rules' numbers.
  Candidates(std::span<const egraph::Rule> rules, Afterstates& afterstates, Incumbent& incumbent,
             const Hosts* hosts = nullptr, Context context = {}, std::span<const std::uint32_t> rows = {});

  /// Scores new matches and adds them to the queue; `context` holds the searcher's scalars for
  /// all of them. Matches without an afterstate get `prior`. Lazily: deltas are computed only at the
  /// top of the queue, and until then scores are as if nothing changed.
  void add(std::span<const Candidate> matches, const Scalars& context, std::int32_t prior, bool lazily = false);
  /// Removes and returns the best now, the first one among equal scores. If `rescored_max` candidates at the
  /// top had to be scored anew, returns the best of them, even if one below might have become better.
  std::optional<Candidate> take_best(std::size_t rescored_max = std::numeric_limits<std::size_t>::max());
  /// Removes the waiting candidate at draw % size(). The best stays in its place.
  std::optional<Candidate> take_any(std::uint64_t draw);
  /// Scores the `count` best candidates anew.
  void rescore_best(std::size_t count);
  void clear();

  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  /// Returns the last known score of the candidate that was taken last.
  [[nodiscard]] std::int32_t last_score() const { return last_score_; }
  /// Returns the deltas computed so far; scored() the scores given.
  [[nodiscard]] std::uint64_t built() const { return built_; }
  [[nodiscard]] std::uint64_t scored() const { return scored_; }

 private:
  struct Waiting {
    Scalars scalars;
    Candidate candidate;
    std::uint64_t scored_at = 0;  ///< Incumbent::moves() at that time
    std::int32_t prior = 0;
    std::uint32_t delta = egraph::kNone;  ///< in deltas_; kNone: scored so far as if it changed nothing
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
  std::deque<Delta> deltas_;  ///< a deque, so that they keep their addresses
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
