// Explanations: the instances of rules that make two terms equal, and their replay, which trusts nothing of the graph
// that found them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/egraph/pattern.h"
#include "jit/egraph/term.h"

namespace trident::egraph {

/// One equality: an instance of a rule, or one that a tactic stated.
struct Step {
  std::optional<std::uint16_t> rule;     ///< nothing: a tactic
  std::vector<std::uint32_t> variables;  ///< of a rule: the terms that stand for its variables, as nodes of the pool
  std::uint32_t left = 0, right = 0;     ///< both sides, as nodes of the pool
};

/// `from` and `to` are equal because of `steps`; each may use earlier ones. Equal subterms and folded constants need no
/// step.
struct Explanation {
  Term from, to;
  std::vector<ENode> pool;  ///< terms as a DAG: children precede their users
  std::vector<Step> steps;
};

/// Explains why `to`, extracted from a graph that keeps a log (Limits::explain), equals `from`, whose nodes are the
/// graph's `classes`. Nothing when the log has no such reason, which is a bug. `semantics` are the graph's: the steps
/// are replayed by them. Where a rule's condition does not hold then, its source is explained too.
std::optional<Explanation> explain(const EGraph& graph, const Semantics& semantics, std::span<const Rule> rules,
                                   const Term& from, std::span<const ClassId> classes, const Term& to);

/// Returns, per edge of the log, whether the explanation of `to` needs it; nothing where explain() fails.
std::optional<std::vector<bool>> needed_merges(const EGraph& graph, std::span<const Rule> rules, const Term& from,
                                               std::span<const ClassId> classes, const Term& to);

/// Replays the steps in a graph of its own. Every rule's conditions must hold when its turn comes, both sides must be
/// instances of the rule's, and in the end both terms must be equal. For a tactic's step it asks `believe(pool, left,
/// right)`. Returns the fault, or nothing.
using Believe = std::function<bool(std::span<const ENode> pool, std::uint32_t left, std::uint32_t right)>;
std::optional<std::string> replay(std::span<const OpRow> ops, const Semantics& semantics, std::span<const Rule> rules,
                                  const Explanation& explanation, const Believe& believe);

}  // namespace trident::egraph
