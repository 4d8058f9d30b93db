// All rules' left sides compiled into one program, a tree of steps in which rules share their common parts (after de
// Moura & Bjørner, "Efficient E-Matching for SMT Solvers", CADE 2007). A step binds the children of a node, compares
// two bound classes, tests for a constant or a fact, or reports a match. Where several steps would bind a node of one
// class, the ops that the class holds choose among them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/egraph/pattern.h"

namespace trident::egraph {

using RuleIndex = std::uint16_t;

/// Matches in sequence: the classes of a rule's variables begin at `variables` in `classes`.
struct Match {
  ClassId root = 0;
  NodeIndex node = 0;  ///< the member of root that matched
  std::uint32_t variables = 0;
  RuleIndex rule = 0;
};
struct Matches {
  std::vector<Match> list;
  std::vector<ClassId> classes;
  void clear() {
    list.clear();
    classes.clear();
  }
  [[nodiscard]] std::size_t bytes() const {
    return list.capacity() * sizeof(Match) + classes.capacity() * sizeof(ClassId);
  }
};

/// One match by itself. Its classes may be named by any member.
struct Candidate {
  RuleIndex rule = 0;
  ClassId root = 0;
  NodeIndex node = 0;
  std::array<ClassId, kRuleVariablesMax> variables{};
};

/// Members of the classes of an unchanging graph, side by side, in the order of each_node(). Matching reads these most,
/// so they are copied when a class is first asked for.
class Members {
 public:
  explicit Members(const EGraph& graph) { reset(graph); }
  Members() = default;
  /// Starts again: the graph has changed, or is another one.
  void reset(const EGraph& graph);

  struct List {
    const std::uint8_t* ops = nullptr;
    const ENode* nodes = nullptr;
    const NodeIndex* numbers = nullptr;
    std::uint32_t count = 0;
  };
  /// Returns the members of a canonical class. Valid until reset().
  List of(ClassId id) {
    Place& place = places_[id];
    if (place.count == 0) copy(id);
    return {ops_.data() + place.first, nodes_.data() + place.first, numbers_.data() + place.first, place.count};
  }
  [[nodiscard]] const EGraph& graph() const { return *graph_; }
  [[nodiscard]] std::size_t bytes() const {
    return places_.capacity() * sizeof(Place) +
           nodes_.capacity() * (sizeof(ENode) + sizeof(NodeIndex) + sizeof(std::uint8_t));
  }

 private:
  struct Place {
    std::uint32_t first = 0, count = 0;
  };
  void copy(ClassId id);

  const EGraph* graph_ = nullptr;
  std::vector<Place> places_;  ///< per class
  std::vector<std::uint8_t> ops_;
  std::vector<ENode> nodes_;
  std::vector<NodeIndex> numbers_;
};

class Matcher {
 public:
  /// `rules` must outlive the matcher. Rules whose `enabled` is false are left out (empty: all are in).
  Matcher(std::span<const Rule> rules, std::span<const OpRow> ops, const std::vector<bool>& enabled = {});

  /// Appends the matches at class `root` (canonical; the graph of `members` rebuilt). Leaves out a match if no class
  /// within `distance` edges below the root could be new: 0 looks for all, 1 only for rules that look below the root's
  /// children, and so on. Every step of the program is taken from `steps`. Returns false when they are used up or the
  /// time is up, with the matches so far.
  bool match(Members& members, ClassId root, std::uint8_t distance, Matches& out, std::uint64_t& steps,
             Watch& watch) const;

  /// Depth of the deepest left side: a class further than this above a touched class cannot match anew.
  [[nodiscard]] std::uint8_t depth_max() const { return depth_max_; }
  [[nodiscard]] std::span<const Rule> rules() const { return rules_; }
  /// Returns the number of steps, and the number that unshared rules would have.
  [[nodiscard]] std::size_t steps() const { return steps_.size(); }
  [[nodiscard]] std::size_t steps_unshared() const { return steps_unshared_; }

 private:
  enum class Code : std::uint8_t { bind, same, number, condition, report };
  struct Step {
    Code code = Code::report;
    bool has_payload = false;
    std::uint8_t a = 0, b = 0;    ///< registers
    std::uint8_t op = 0;          ///< bind: op; condition: kind
    RuleIndex rule = 0;           ///< report
    std::uint8_t sort = kNoSort;  ///< bind: of the node, if it matters
    std::uint8_t depth = 0;       ///< of the deepest rule below this step
    double number = 0;
    std::uint32_t below = kNone, beside = kNone;
    [[nodiscard]] bool same_as(const Step& o) const {
      return code == o.code && has_payload == o.has_payload && a == o.a && b == o.b && op == o.op && rule == o.rule &&
             number == o.number && sort == o.sort;
    }
  };
  /// A class must hold this op if anything below is to match.
  struct Need {
    std::uint8_t a = 0;   ///< register
    std::uint8_t op = 0;  ///< modulo 64
    friend auto operator<=>(const Need&, const Need&) = default;
  };
  // The tree of steps in its final form: blocks, whose tests, switches and binds lie side by side.
  /// A step other than a bind.
  struct Test {
    Code code = Code::report;
    std::uint8_t a = 0, b = 0;  ///< registers
    std::uint8_t depth = 0;
    std::uint16_t what = 0;  ///< number: place in numbers_; condition: kind; report: rule
    std::uint32_t below = kNone;
  };
  struct Bind {
    std::uint8_t op = 0, children = 0;
    std::uint8_t to = 0;  ///< register of the first child
    std::uint8_t sort = kNoSort;
    std::uint8_t depth = 0;
    bool commutes = false, has_payload = false;
    bool last = false;  ///< of those of one op in a switch
    std::int32_t payload = 0;
    std::uint32_t below = kNone;
    /// Most binds are followed only by a test whether one child is a class that was bound before. Then this is that
    /// class's register and `below` the block after a yes; else kNoRegister.
    std::uint8_t joins = kNoRegister;
    std::uint8_t child = 0, child_swapped = 0;  ///< which child; and with the first two swapped
  };
  static constexpr std::uint8_t kNoRegister = 0xFF;
  /// A block: the steps after a step, and the ops that all of them need of the classes bound so far, where not known.
  struct Block {
    std::uint32_t first_need = 0, first_test = 0, first_switch = 0;
    std::uint16_t tests = 0;
    std::uint8_t needs = 0, switches = 0;
    bool compares = false;  ///< all tests compare two classes, and there are no switches: true of most blocks reached
  };
  /// Steps that bind a node of one class, by its op.
  struct Switch {
    std::uint64_t ops = 0;                ///< bit op mod 64
    std::uint32_t first_bind = 0;         ///< of all of them, which lie side by side
    std::uint8_t a = 0;                   ///< register of the class
    std::uint8_t depth = 0;               ///< of the deepest rule below
    std::array<std::uint8_t, 64> list{};  ///< per bit of `ops`: the first bind of that op, counted from first_bind
  };
  struct Run;

  void compile(RuleIndex index, const Rule& rule);
  void insert(std::vector<Step> line, std::uint8_t depth);
  std::uint32_t arrange(std::uint32_t list);
  Test test_of(const Step& step);
  [[nodiscard]] Bind bind_of(const Step& step) const;
  [[nodiscard]] std::vector<Need> needs_of(const Step& step, std::uint32_t below) const;
  void drop_known(std::uint32_t block, std::vector<Need> known);
  void join(Bind& bind) const;

  std::span<const Rule> rules_;
  std::span<const OpRow> ops_;
  std::vector<Step> steps_;
  std::vector<Block> blocks_;
  std::vector<Test> tests_;
  std::vector<Bind> binds_;
  std::vector<double> numbers_;
  std::vector<Switch> switches_;
  std::vector<Need> needs_;
  std::uint32_t root_ = kNone;                                          ///< a step
  std::uint32_t root_block_ = kNone;                                    ///< its block
  std::vector<std::array<std::uint8_t, kRuleVariablesMax>> registers_;  ///< per rule: of its variables
  std::vector<std::uint8_t> variables_;                                 ///< per rule: how many
  std::size_t steps_unshared_ = 0;
  std::uint8_t depth_max_ = 0;
};

/// Returns the sort of a number in a rule whose root is of `root_sort`.
std::uint8_t sort_of(const EGraph& graph, const PatternTerm& number, std::span<const ClassId> variables,
                     std::uint8_t root_sort);
/// Builds the right side of a match, or a pattern, in the graph. Returns its root's node; kNone if it is full.
NodeIndex instantiate(EGraph& graph, const Pattern& pattern, std::span<const ClassId> variables, std::uint8_t sort);

}  // namespace trident::egraph
