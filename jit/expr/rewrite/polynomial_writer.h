// Writes polynomials as terms: factored, by Horner's rule, expanded or over one quotient.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "jit/egraph/egraph.h"
#include "jit/expr/expr.h"
#include "jit/expr/rewrite/polynomial.h"

namespace trident::expr::rewrite {

/// Steps of a watch: a node looked up or made, with its facts.
inline constexpr std::uint64_t kNodeSteps = 10;

/// Writes polynomials into the graph. The styles differ in the factor that is taken out first.
class PolynomialWriter {
 public:
  enum class Style : std::uint8_t { frequent, rare, expanded, ratio };
  PolynomialWriter(egraph::EGraph& graph, std::uint8_t sort, Style style, egraph::Watch& watch);

  /// Returns kNone when the graph is full or the time is up.
  egraph::ClassId write(const Polynomial& p);

 private:
  egraph::ClassId number(double value) { return graph_.add_constant(sort_, value); }
  egraph::ClassId node(Op op, egraph::ClassId a, egraph::ClassId b = 0, egraph::ClassId c = 0);

  egraph::ClassId powered(egraph::ClassId base, std::int32_t exponent);
  // The product of the atoms with positive exponents, or with negative ones inverted; kEmpty when there are none.
  egraph::ClassId product(const Monomial& m, bool positive);

  // numerator / denominator monomial times coefficient.
  egraph::ClassId single(const PolynomialTerm& t);
  egraph::ClassId make(const Polynomial& p);

  // Returns the polynomial of one quotient, such as s^12 / r^6 - s^6 / r^3 as a polynomial of (s^2 / r)^3, with that
  // quotient as an atom. The common factor of all terms stands beside it.
  std::optional<Polynomial> in_ratio(const Polynomial& p);
  egraph::ClassId times(const PolynomialTerm& t, egraph::ClassId rest);

  // x^k q + r for the atom that most terms share. Cofactors that several atoms have in common are joined first:
  // x q + y q + r = (x + y) q + r.
  egraph::ClassId collected(const Polynomial& p);

  // factor * q + r.
  egraph::ClassId fused(egraph::ClassId factor, const Polynomial& q, const Polynomial& r);
  egraph::ClassId plus(egraph::ClassId a, const Polynomial& r);

  // Term by term, products fused into the sum.
  egraph::ClassId expanded(const Polynomial& p);

  egraph::EGraph& graph_;
  std::uint8_t sort_;
  Style style_;
  egraph::Watch& watch_;
  std::map<Polynomial, egraph::ClassId> written_;
};

}  // namespace trident::expr::rewrite
