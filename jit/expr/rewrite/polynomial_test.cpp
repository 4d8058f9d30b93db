// Oracles: values of polynomials at points, powers whose root is known, coefficients in GMP's fractions.
#include "jit/expr/rewrite/polynomial.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace trident::expr::rewrite {
namespace {

egraph::Watch watch;  // never late

auto sum(const Polynomial& a, const Polynomial& b, double factor = 1) {
  return rewrite::sum(a, b, watch, factor);
}
auto product(const Polynomial& a, const Polynomial& b) {
  return rewrite::product(a, b, watch);
}
auto power(const Polynomial& a, std::int32_t exponent) {
  return rewrite::power(a, exponent, watch);
}
auto root(const Polynomial& a, std::int32_t n) {
  return rewrite::root(a, n, watch);
}

TEST(Polynomial, RootsOfPowers) {
  const Polynomial x = Polynomial::atom(1), y = Polynomial::atom(2);
  const Polynomial base = *sum(*sum(x, y, 3), Polynomial::constant(2), -1);
  for (int n = 2; n <= 5; ++n) {
    const auto power_n = power(base, n);
    ASSERT_TRUE(power_n.has_value());
    const auto found = root(*power_n, n);
    ASSERT_TRUE(found.has_value()) << n;
    EXPECT_TRUE(*power(*found, n) == *power_n);
    EXPECT_FALSE(root(*sum(*power_n, x), n).has_value());
  }
}

// The rest of like terms that nearly cancel, or of sums that absorb a term, is no coefficient.
TEST(Polynomial, RoundingMakesNoCoefficients) {
  const Polynomial x = Polynomial::atom(1);
  const auto difference = sum(x.scaled(1000), x.scaled(999.5), -1);
  ASSERT_TRUE(difference.has_value());
  EXPECT_TRUE(*difference == x.scaled(0.5));
  EXPECT_TRUE(sum(x.scaled(0.1), x.scaled(0.1), -1)->zero());
  EXPECT_FALSE(sum(x.scaled(1 + 0x1p-40), x, -1)->representable());
  EXPECT_FALSE(sum(*sum(x.scaled(0.1), x.scaled(0.2)), x.scaled(0.3), -1)->representable());
  EXPECT_FALSE(sum(x, x.scaled(1e-24))->representable());
  EXPECT_TRUE(sum(x, x.scaled(0x1p-40))->representable());
}

TEST(Polynomial, NegativePowersAreThoseOfSingleTerms) {
  const Polynomial x = Polynomial::atom(1);
  const auto inverse = power(x.scaled(2), -2);
  ASSERT_TRUE(inverse.has_value());
  EXPECT_TRUE(*inverse == Polynomial::atom(1, -2).scaled(0.25));
  EXPECT_TRUE(*product(*inverse, *power(x.scaled(2), 2)) == Polynomial::constant(1));
  EXPECT_FALSE(power(*sum(x, Polynomial::constant(1)), -1).has_value());
}

TEST(Polynomial, ArithmeticAgreesWithNumbers) {
  std::mt19937 random(5);
  const double values[] = {3, -2, 5};
  const auto value = [&](const Polynomial& p) {
    double total = 0;
    for (const PolynomialTerm& t : p.terms()) {
      double product = t.coefficient;
      for (const Power& f : t.monomial) product *= std::pow(values[f.atom], f.exponent);
      total += product;
    }
    return total;
  };
  for (int i = 0; i < 200; ++i) {
    const auto any = [&] {
      std::vector<PolynomialTerm> terms;
      for (int t = 0; t < 4; ++t) {
        Monomial m;
        for (std::uint32_t atom = 0; atom < 3; ++atom) {
          if (const int e = static_cast<int>(random() % 3); e > 0) m.push_back({atom, e});
        }
        terms.push_back({m, static_cast<double>(random() % 9) - 4});
      }
      std::erase_if(terms, [](const PolynomialTerm& t) { return t.coefficient == 0; });
      return Polynomial::from(terms);
    };
    const Polynomial a = any(), b = any();
    EXPECT_EQ(value(*sum(a, b, -2)), value(a) - 2 * value(b));
    EXPECT_EQ(value(*product(a, b)), value(a) * value(b));
  }
}

// Coefficients by monomial, exactly.
using Exact = std::map<Monomial, mpq_class>;

Exact exact(const std::vector<PolynomialTerm>& terms) {
  Exact made;
  for (const PolynomialTerm& t : terms) made[t.monomial] += mpq_class(t.coefficient);
  return made;
}

// Representable polynomials have the coefficients of exact arithmetic, but for roundings; none is missing.
TEST(Polynomial, CoefficientsOfAnySizesAreExactOrNone) {
  std::mt19937 random(9);
  const double sizes[] = {1,     -1,    2,     3,       0.1,   -0.7,  1e-10,  1e8,
                          6e-17, -1e16, 1e-24, 1013.25, 8.3e6, 1e200, -1e200, 1e-200};
  int kept = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto any = [&] {
      std::vector<PolynomialTerm> terms;
      for (int t = 0; t < 3; ++t) {
        Monomial m;
        if (const int e = static_cast<int>(random() % 2); e > 0)
          m.push_back({static_cast<std::uint32_t>(random() % 2), e});
        terms.push_back({m, sizes[random() % std::size(sizes)]});
      }
      return terms;
    };
    const std::vector<PolynomialTerm> a = any(), b = any(), c = any();
    Exact wanted = exact(c);  // a * b + c
    for (const auto& [m, p] : exact(a))
      for (const auto& [n, q] : exact(b)) wanted[rewrite::product(m, n)] += p * q;
    const auto both = product(Polynomial::from(a), Polynomial::from(b));
    ASSERT_TRUE(both.has_value());
    const auto got = sum(*both, Polynomial::from(c));
    ASSERT_TRUE(got.has_value());
    if (!got->representable()) {
      ++refused;
      continue;
    }
    ++kept;
    for (const PolynomialTerm& t : got->terms()) wanted[t.monomial];
    for (const auto& [m, q] : wanted) {
      double coefficient = 0;
      for (const PolynomialTerm& t : got->terms())
        if (t.monomial == m) coefficient = t.coefficient;
      const mpq_class off = abs(mpq_class(coefficient) - q);
      ASSERT_TRUE(off <= abs(q) * mpq_class(1e-8)) << coefficient << " instead of " << q.get_d();
    }
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(refused, 2'000);
}

}  // namespace
}  // namespace trident::expr::rewrite
