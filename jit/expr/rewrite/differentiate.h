// From a source with derivatives to one without, before the search begins. Left to the search, a derivative competes
// with all other rules for the budget, and what is below it is rewritten in many ways, each of which is differentiated.
// So the rules for (diff e ?x) run first, in a graph of their own, with no other rules beside them than those that only
// take away (x * 1, x + 0); there each derivative of each node is one class, and the graph is full of little else. What
// it does not get rid of (its budget ended, or there is no rule) the plain pass does (eliminate_derivatives()).
//
// The search begins with the cheapest of what the rules, the plain pass, and the plain pass with simplify() give, and
// so never ends with anything dearer.
//
// Operands of min and max are not turned round in that graph: at a tie it is the first whose derivative counts.
#pragma once

#include <optional>

#include "jit/egraph/search.h"
#include "jit/expr/expr.h"

namespace trident::expr::rewrite {

/// Who has differentiated: X(Name, "what a report says").
#define TRIDENT_DIFFERENTIATED(X)                                    \
  X(none, "no derivatives")                                          \
  X(by_rules, "rules")                                               \
  X(rest_plain, "rules, and the plain pass what was left")           \
  X(plain, "the plain pass, whose form is cheaper")                  \
  X(plain_bits, "the plain pass, whose bits the policy exact keeps") \
  X(plain_special, "the plain pass, since signs of zeros or NaN decide about values")
#define X(name, text) name,
enum class Differentiated : std::uint8_t { TRIDENT_DIFFERENTIATED(X) };
#undef X
std::string_view text_of(Differentiated how);

struct DifferentiationOptions {
  Policy policy{};
  egraph::Objective objective = egraph::Objective::dag;
  egraph::SearchBudget budget;  ///< of the rules' graph
  bool explain = false;
};

struct WithoutDerivatives {
  /// Whether the rules have no part in `expr`.
  [[nodiscard]] bool by_plain_pass() const { return how >= Differentiated::plain; }

  Expr expr;
  Differentiated how = Differentiated::none;
  egraph::SearchResult found;  ///< in the rules' graph: what it cost, and, where its form was taken, why it is equal
  Expr by_rules;               ///< what came out of it, if that is not yet `expr`; no nodes otherwise
};

/// Which rules differentiate, or only take away: of `enabled` ones.
std::vector<bool> differentiating(std::span<const egraph::Rule> rules, std::vector<bool> enabled);
/// The op table of the graph that differentiates.
std::span<const egraph::OpRow> differentiating_ops();

/// `space` is that of the search, but for ops and matcher, which are of the rules that differentiate; not asked under
/// the policy exact, to which the plain pass's derivative is the meaning, bit for bit, nor where there are special
/// values (special_values.h), which rules may lose. Errors: those of
/// eliminate_derivatives().
Result<WithoutDerivatives> differentiate(const Expr& source, const egraph::SearchSpace& space,
                                         const DifferentiationOptions& options);

}  // namespace trident::expr::rewrite
