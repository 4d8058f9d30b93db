// A guide orders the matches that a search applies. It sees the graph and everything that matches. It decides which
// match comes next and nothing else, so a bad one costs time and never a right result.
//
// The search tells a guide these events, in this order, for every graph:
//
//   begin    the graph holds the term to start from, rebuilt
//   add      matches wait
//   take     the search applies one, and says so by asking for the next, ...
//   follow   ... until it has rebuilt the graph
//   end      the best term that the graph holds
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/egraph/matcher.h"
#include "jit/egraph/term.h"

namespace trident::egraph {

/// A graph that begins, as a guide sees it. All of it but the guide's own copies ends with the graph.
struct GuidedGraph {
  const EGraph& graph;  ///< keeps its unions
  const Term& from;
  std::span<const ClassId> classes;  ///< of the term's nodes
  std::span<const Rule> rules;
  const CostModel& costs;
  const Semantics& semantics;
  /// 0: the most promising match goes first. Larger, up to 6: earlier graphs brought nothing, and the guide should
  /// order the matches differently.
  double noise = 0;
  std::uint64_t seed = 0;  ///< of the graph: seeds everything random
  bool first = true;       ///< of a search; costs and rules stay as they are in the others
};

class Guide {
 public:
  virtual ~Guide() = default;
  virtual void begin(const GuidedGraph& graph) = 0;
  virtual void add(std::span<const Candidate> matches) = 0;
  /// Returns the match to apply next and stops keeping it; nothing when none is worth it.
  virtual std::optional<Candidate> take() = 0;
  /// Says that the taken matches were applied and the graph was rebuilt.
  virtual void follow() = 0;
  /// `found` may be empty when the deadline passed.
  virtual void end(const Term& found) { static_cast<void>(found); }
};

/// The guides below are for comparison and tests: a guide may be arbitrarily bad.

/// Ranks all matches alike: they come in the order in which they were found.
class ConstantGuide final : public Guide {
 public:
  void begin(const GuidedGraph&) override { waiting_.clear(), next_ = 0; }
  void add(std::span<const Candidate> matches) override {
    waiting_.insert(waiting_.end(), matches.begin(), matches.end());
  }
  std::optional<Candidate> take() override {
    if (next_ == waiting_.size()) return std::nullopt;
    return waiting_[next_++];
  }
  void follow() override {}

 private:
  std::vector<Candidate> waiting_;
  std::size_t next_ = 0;
};

/// Takes matches in random order.
class RandomGuide final : public Guide {
 public:
  void begin(const GuidedGraph& graph) override { waiting_.clear(), state_ = graph.seed | 1; }
  void add(std::span<const Candidate> matches) override {
    waiting_.insert(waiting_.end(), matches.begin(), matches.end());
  }
  std::optional<Candidate> take() override;
  void follow() override {}

 private:
  std::vector<Candidate> waiting_;
  std::uint64_t state_ = 1;
};

/// Ranks matches by the cost that a rule saves among the ops that it names: the most first, or the least.
class StaticGuide final : public Guide {
 public:
  enum class Order : std::uint8_t { best_first, worst_first };
  explicit StaticGuide(Order order) : order_(order) {}
  void begin(const GuidedGraph& graph) override;
  void add(std::span<const Candidate> matches) override;
  std::optional<Candidate> take() override;
  void follow() override {}

 private:
  struct Waiting {
    double gain;
    std::uint64_t sequence;
    Candidate candidate;
    friend bool operator<(const Waiting& a, const Waiting& b) {
      return a.gain != b.gain ? a.gain < b.gain : a.sequence > b.sequence;
    }
  };
  Order order_;
  std::vector<double> gains_;  ///< per rule
  std::vector<Waiting> heap_;
  std::uint64_t sequence_ = 0;
};

/// Returns the cost of the ops of a rule's left side less that of its right side.
double static_gain(const Rule& rule, const CostModel& costs);

/// Wraps another guide and records which of its matches were taken, in the order in which they were added.
class RecordingGuide final : public Guide {
 public:
  explicit RecordingGuide(Guide& guide) : guide_(guide) {}
  void begin(const GuidedGraph& graph) override;
  void add(std::span<const Candidate> matches) override;
  std::optional<Candidate> take() override;
  void follow() override { guide_.follow(); }
  void end(const Term& found) override { guide_.end(found); }
  /// Returns, per graph, the numbers of the taken matches in their order; kNone where the guide wanted none.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& taken() const { return taken_; }

 private:
  Guide& guide_;
  std::vector<Candidate> added_;
  std::vector<std::uint32_t> open_;  ///< numbers of those that wait
  std::vector<std::vector<std::uint32_t>> taken_;
};

/// Replays the matches of a RecordingGuide: the same search again, without the guide that made it.
class RecordedGuide final : public Guide {
 public:
  explicit RecordedGuide(std::vector<std::vector<std::uint32_t>> taken) : taken_(std::move(taken)) {}
  void begin(const GuidedGraph&) override { added_.clear(), next_ = 0, ++graph_; }
  void add(std::span<const Candidate> matches) override { added_.insert(added_.end(), matches.begin(), matches.end()); }
  std::optional<Candidate> take() override;
  void follow() override {}

 private:
  std::vector<std::vector<std::uint32_t>> taken_;
  std::vector<Candidate> added_;
  std::size_t graph_ = 0, next_ = 0;  ///< graph: how many have begun
};

}  // namespace trident::egraph
