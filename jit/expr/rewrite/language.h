// Expressions as a language of the e-graph: its op table, facts of values, and conversions in and out.
//
// Facts here are about values over the reals (as computed in f64, ends rounded to nearest): they decide which
// identities hold. Whether a form keeps the policy's bound in the kernel's own type is jit/equiv's question.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jit/egraph/egraph.h"
#include "jit/egraph/term.h"
#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::expr::rewrite {

/// Equality means numbers over the reals, or (policy exact) the kernel's result to the last bit.
enum class Values : std::uint8_t { reals, bits };
Values values_of(const Policy& policy);

/// One row per expr::Op, in its order.
std::span<const egraph::OpRow> op_rows(Values values = Values::reals);

class Language {
 public:
  /// Copies the facts of the variables. Constants are folded over the reals. For bits nothing is folded, and facts are
  /// those of jit/expr/ranges.h. `finite`: no variable is infinite or NaN.
  explicit Language(std::span<const Variable> variables, bool finite = false, Values values = Values::reals);

  /// Valid while this lives and stays where it is.
  [[nodiscard]] egraph::Semantics semantics() const;
  void promise_nonzero(std::size_t variable) { facts_[variable].nonzero = true; }
  /// Lets the variable be infinite or NaN again, whatever `finite` said.
  void forget(std::size_t variable);
  [[nodiscard]] std::size_t size() const { return facts_.size(); }
  /// Adds a variable of which `facts` are known.
  void add_variable(const egraph::Facts& facts) { facts_.push_back(facts); }

 private:
  static egraph::Facts facts(const void* self, const egraph::ENode& node,
                             const std::array<const egraph::Facts*, 3>& children);
  static egraph::ENode constant(const void* self, std::uint8_t sort, double value);

  Values values_;
  std::vector<egraph::Facts> facts_;  ///< per variable
};

/// Returns egraph::Facts::stage of a node: 0 if known before the loop (from constants and scalar parameters), 1 for
/// every element, 2 after the loop (from reductions).
std::uint8_t stage_of(const egraph::ENode& node, const std::array<std::uint8_t, 3>& children);

/// Returns the outputs of an expression as a term. Unsupported: an integer power beyond 32 bits.
Result<egraph::Term> to_term(const Expr& expr);
/// Returns whether the term's f32 constants, which the graph holds as doubles, survive rounding to their type: 1e-48 is
/// zero there, 1e-40 has few digits, 1e48 is infinite.
bool keeps_constants(const egraph::Term& term);
/// Returns whether an op on constant floats overflows or has no value in double: exp(9007199254740992), log2(0).
bool overflows(const egraph::Term& term);
/// Turns a term back into an expression, with variables and output names of `like`.
Expr to_expr(const egraph::Term& term, const Expr& like);

/// Returns the value of a Constant, as the graph holds it: of f32 with the digits of a double.
double constant_value(const egraph::ENode& leaf);

/// Returns a node of a term as one of an expression; operands keep their numbers.
Node node_of(const egraph::ENode& node);
egraph::ENode enode_of(const Node& node);

}  // namespace trident::expr::rewrite
