// Polynomials over opaque values ("atoms", numbered by the caller) with double coefficients and integer exponents,
// which may be negative where the caller allows it. Small and bounded: an operation whose result would exceed the
// limits says so instead of growing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/egraph/watch.h"

namespace trident::expr::rewrite {

struct Power {
  std::uint32_t atom = 0;
  std::int32_t exponent = 0;  ///< never 0
  friend auto operator<=>(const Power&, const Power&) = default;
};
/// Sorted by atom.
using Monomial = std::vector<Power>;

struct PolynomialTerm {
  Monomial monomial;
  double coefficient = 0;  ///< never 0
};

inline constexpr std::size_t kPolynomialTermsMax = 72;
inline constexpr std::int32_t kPolynomialDegreeMax = 24;

/// Terms sorted by monomial (lexicographic, the leading term last), each monomial once; no terms: zero.
class Polynomial {
 public:
  Polynomial() = default;
  static Polynomial constant(double value);
  static Polynomial atom(std::uint32_t atom, std::int32_t exponent = 1);
  /// Sums terms of equal monomial and drops those that cancel: the rest is at most `cancelled` of the greatest part.
  static Polynomial from(std::vector<PolynomialTerm> terms, double cancelled = 0);

  [[nodiscard]] const std::vector<PolynomialTerm>& terms() const { return terms_; }
  [[nodiscard]] bool zero() const { return terms_.empty(); }
  [[nodiscard]] bool is_constant() const {
    return terms_.empty() || (terms_.size() == 1 && terms_[0].monomial.empty());
  }
  [[nodiscard]] double constant_value() const { return terms_.empty() ? 0 : terms_[0].coefficient; }
  /// Exactly one atom, to the first power, with coefficient 1.
  [[nodiscard]] bool is_atom() const;
  /// No coefficient has overflowed, nor lost digits or itself below the normal numbers, nor digits in a sum
  /// (loses_digits()).
  [[nodiscard]] bool representable() const;
  [[nodiscard]] std::int32_t degree() const;
  /// Steps of a watch that going through it takes, copying it, say.
  [[nodiscard]] std::uint64_t steps() const;
  /// Memory that it takes.
  [[nodiscard]] std::size_t bytes() const;

  [[nodiscard]] Polynomial scaled(double factor) const;
  friend bool operator==(const Polynomial& a, const Polynomial& b);
  friend bool operator<(const Polynomial& a, const Polynomial& b);

 private:
  std::vector<PolynomialTerm> terms_;
};

/// Returns nothing if the result is too large or the time is up.
std::optional<Polynomial> sum(const Polynomial& a, const Polynomial& b, egraph::Watch& watch, double factor_of_b = 1,
                              double cancelled = 0);
std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b, egraph::Watch& watch);
std::optional<Polynomial> power(const Polynomial& a, std::int32_t exponent, egraph::Watch& watch);

Monomial product(const Monomial& a, const Monomial& b);
/// q with q^n == p, if there is one with few terms; p must have no negative exponents.
std::optional<Polynomial> root(const Polynomial& p, std::int32_t n, egraph::Watch& watch);

}  // namespace trident::expr::rewrite
