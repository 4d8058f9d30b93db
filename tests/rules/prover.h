// Proofs of rewrite rules over the reals, by Z3: both sides become real numbers that their definitions bind, and a rule
// is proved when no reals meet its conditions and tell its sides apart. Shares nothing with the evaluators of
// jit/rulecheck and tests/support, which sample points.
//
// The claim to prove, by the tag real= (jit/expr/rules/README.md):
//
//   ok, guard   where the conditions hold, the left side is a number exactly where the right side is one, and they are
//               equal; of a derivative only that the right side is the slope wherever the left side has one
//   partial     the sides are equal where both are numbers
//
// A number is a value with the condition under which it is one: a / b is a fresh unknown y with y * b = a, a number
// where b is not zero; the root of a is a fresh unknown y >= 0 with y * y = a. In rules with (diff e ?x) every number
// is a dual one, value and slope: the slope of a sum, product or fresh unknown follows from its equation,
// differentiated on both sides, and (diff ?a ?x) is the slope of ?a, any real. The rules for sums, products, exp, sin
// and cos state the assumptions of this arithmetic (rules_test has difference quotients for them); the others follow.
//
// A rule with reductions is proved for calls of one, two and three elements. That is less than all calls: the step from
// three to more elements is an induction over a chain of one operation, which this does not prove.
//
// Functions that are not algebraic are known by their addition theorems: sin and cos of ?a are unknowns with
// s*s + c*c = 1, exp of ?a is an unknown above zero that grows with ?a, and arguments are sums of such atoms with
// rational factors. An inverse function is known by its inverse, a power of a number above zero as exp(b * log(a));
// and where exp of both sides is equal, so are they. That proves a rule or says nothing: a counterexample may give
// exp(?a) a value that it does not have at ?a.
#pragma once

#include <string>

#include "jit/egraph/pattern.h"
#include "jit/expr/rewrite/rules.h"

namespace trident::testing {

enum class Proof {
  proved,
  refuted,        ///< there is a counterexample
  undecided,      ///< algebraic, but too hard within kProofSteps, or nothing meets the conditions
  not_algebraic,  ///< of functions that the prover does not know, or knows too little of
};

/// Z3's count of its own steps per question: the same on every machine.
inline constexpr unsigned kProofSteps = 2'000'000;

struct ProofVerdict {
  Proof proof = Proof::undecided;
  std::string why{};  ///< proved: the method; refuted: the variables' values; else the reason
};

ProofVerdict prove(const egraph::Rule& rule, expr::rewrite::Real tag);
/// Returns true when a side is a truth value, by its op.
bool is_truth(const egraph::Pattern& side);
/// Proves a rule about tables (Rule::mixed); prove() calls it.
ProofVerdict prove_memory(const egraph::Rule& rule);

/// Definitions that contradict each other would prove anything. A point, picked by `seed` among small rationals, at
/// which those of a rule do; empty where they do not.
std::string contradiction(const egraph::Rule& rule, unsigned seed);

}  // namespace trident::testing
