// Eliminates the derivatives of a source before the search begins. Within the search, a derivative competes with all
// other rules for the budget, and the parts below it are rewritten in many ways, each of which is differentiated. So
// the rules for (diff e ?x) run first, in a graph of their own, beside rules that only remove operations (x * 1, x +
// 0). There each derivative of each node is one class, and the graph holds little else. The plain pass
// (eliminate_derivatives()) removes those left over when the budget ends or no rule fits.
//
// The search begins with the cheapest result of the rules, the plain pass, and the plain pass with simplify(), and so
// never ends with a dearer one.
//
// Operands of min and max are not turned round in that graph: at a tie it is the first whose derivative counts.
#pragma once

#include <optional>

#include "jit/egraph/search.h"
#include "jit/expr/expr.h"

namespace trident::expr::rewrite {

/// How the derivatives were eliminated: X(Name, "the words of a report").
#define TRIDENT_DIFFERENTIATED(X)                                    \
  X(none, "no derivatives")                                          \
  X(by_rules, "rules")                                               \
  X(rest_plain, "rules; the rest by the plain pass")                 \
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
  /// Returns whether the rules have no part in `expr`.
  [[nodiscard]] bool by_plain_pass() const { return how >= Differentiated::plain; }

  Expr expr;
  Differentiated how = Differentiated::none;
  egraph::SearchResult found;  ///< in the rules' graph: its cost and, where its form was taken, why it is equal
  Expr by_rules;               ///< its result, if that is not yet `expr`; no nodes otherwise
};

/// Says which of the `enabled` rules differentiate or only remove operations.
std::vector<bool> differentiating(std::span<const egraph::Rule> rules, std::vector<bool> enabled);
/// Returns the op table of the graph that differentiates.
std::span<const egraph::OpRow> differentiating_ops();

/// Differentiates `source`. `space` is that of the search, but with the ops and the matcher of the rules that
/// differentiate. Uses the plain pass alone under the policy exact, whose meaning is the plain pass's derivative bit
/// for bit, and where there are special values (special_values.h), which rules may lose. Errors: those of
/// eliminate_derivatives().
Result<WithoutDerivatives> differentiate(const Expr& source, const egraph::SearchSpace& space,
                                         const DifferentiationOptions& options);

}  // namespace trident::expr::rewrite
