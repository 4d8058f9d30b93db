// All rules' left sides compiled into one program, a tree of steps in which rules share what they have in common (after
// de Moura & Bjørner, "Efficient E-Matching for SMT Solvers", CADE 2007): a step binds the children of a node, compares
// two bound classes, asks for a constant or a fact, or reports a match. Where several steps would bind a node of one
// class, the ops that the class holds choose among them.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/egraph/pattern.h"

namespace trident::egraph {

using RuleIndex = std::uint16_t;

/// Matches, one after the other: the classes of a rule's variables begin at `variables` in `classes`.
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
};

class Matcher {
 public:
  /// `rules` must outlive the matcher. Rules whose `enabled` is false are left out (empty: all are in).
  Matcher(std::span<const Rule> rules, std::span<const OpRow> ops, const std::vector<bool>& enabled = {});

  /// Appends what matches at class `root` (canonical; the graph rebuilt). A match of which no class within `distance`
  /// edges below the root could be new is left out: 0 looks for all, 1 only for rules that look below the root's
  /// children, and so on.
  /// Every step of the program is taken from `steps`; false when they are used up, with what was found until then.
  bool match(const EGraph& graph, ClassId root, std::uint8_t distance, Matches& out, std::uint64_t& steps) const;

  /// Of the deepest left side: what is further than this above a touched class cannot match anew.
  [[nodiscard]] std::uint8_t depth_max() const { return depth_max_; }
  [[nodiscard]] std::span<const Rule> rules() const { return rules_; }
  /// Steps of the program, and what they would be if rules shared none.
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
    std::uint32_t below = kNone, beside = kNone;  ///< while compiling: steps; then: a block, and a step of its list
    [[nodiscard]] bool same_as(const Step& o) const {
      return code == o.code && has_payload == o.has_payload && a == o.a && b == o.b && op == o.op && rule == o.rule &&
             number == o.number && sort == o.sort;
    }
  };
  /// A class that must hold an op if anything below is to match.
  struct Need {
    std::uint8_t a = 0;   ///< register
    std::uint8_t op = 0;  ///< modulo 64
    friend auto operator<=>(const Need&, const Need&) = default;
  };
  /// What follows a step: tests in a list, and switches; and what all of them need of the classes bound so far.
  struct Block {
    std::uint32_t tests = kNone;
    std::uint32_t first_switch = 0, switches = 0;
    std::uint32_t first_need = 0, needs = 0;
  };
  /// The steps that bind a node of one class, by its op.
  struct Switch {
    std::uint64_t ops = 0;                ///< bit op mod 64
    std::uint32_t first_list = 0;         ///< of lists_: bind steps
    std::uint8_t a = 0;                   ///< register of the class
    std::uint8_t depth = 0;               ///< of the deepest rule below
    std::array<std::uint8_t, 64> list{};  ///< per bit of `ops`: which of them
  };
  struct Run;

  void compile(RuleIndex index, const Rule& rule);
  void insert(std::vector<Step> line, std::uint8_t depth);
  std::uint32_t arrange(std::uint32_t list);
  [[nodiscard]] std::vector<Need> needs_of(const Step& step) const;

  std::span<const Rule> rules_;
  std::span<const OpRow> ops_;
  std::vector<Step> steps_;
  std::vector<Block> blocks_;
  std::vector<Switch> switches_;
  std::vector<std::uint32_t> lists_;
  std::vector<Need> needs_;
  std::uint32_t root_ = kNone;                                          ///< while compiling: a step; then: a block
  std::vector<std::array<std::uint8_t, kRuleVariablesMax>> registers_;  ///< per rule: of its variables
  std::vector<std::uint8_t> variables_;                                 ///< per rule: how many
  std::size_t steps_unshared_ = 0;
  std::uint8_t depth_max_ = 0;
};

/// Builds the right side of a match, or a pattern, in the graph: its root's node, or kNone when the graph is full.
NodeIndex instantiate(EGraph& graph, const Pattern& pattern, std::span<const ClassId> variables, std::uint8_t sort);

}  // namespace trident::egraph
