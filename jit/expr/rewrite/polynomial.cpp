#include "jit/expr/rewrite/polynomial.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "jit/expr/rewrite/fold.h"

namespace trident::expr::rewrite {
namespace {

// Bound for the rest of p - q^n where the coefficients of q are rounded.
constexpr double kCancelled = 1e-13;
// Steps of a watch: a term copied, mostly its allocation; and how often a sum or a product goes through its terms,
// which it copies, sorts, and gives back.
constexpr std::uint64_t kTermSteps = 4, kPasses = 3;

std::int32_t degree_of(const Monomial& m) {
  std::int32_t sum = 0;
  for (const Power& p : m) sum += std::abs(p.exponent);
  return sum;
}

// Lexicographic order, a monomial order: products keep it, so that leading terms multiply to leading terms.
bool less(const Monomial& a, const Monomial& b) {
  for (std::size_t i = 0;; ++i) {
    if (i == a.size() || i == b.size()) {
      if (i < a.size()) return a[i].exponent < 0;
      return i < b.size() && b[i].exponent > 0;
    }
    if (a[i].atom != b[i].atom) return a[i].atom < b[i].atom ? a[i].exponent < 0 : b[i].exponent > 0;
    if (a[i].exponent != b[i].exponent) return a[i].exponent < b[i].exponent;
  }
}

}  // namespace

Polynomial Polynomial::constant(double value) {
  Polynomial p;
  if (value != 0) p.terms_.push_back({{}, value});
  return p;
}

Polynomial Polynomial::atom(std::uint32_t atom, std::int32_t exponent) {
  Polynomial p;
  p.terms_.push_back({{{atom, exponent}}, 1});
  return p;
}

Polynomial Polynomial::from(std::vector<PolynomialTerm> terms, double cancelled) {
  std::sort(terms.begin(), terms.end(),
            [](const PolynomialTerm& a, const PolynomialTerm& b) { return less(a.monomial, b.monomial); });
  Polynomial p;
  for (std::size_t i = 0; i < terms.size();) {
    double value = 0, magnitude = 0;
    bool lossy = false;
    std::size_t j = i;
    for (; j < terms.size() && terms[j].monomial == terms[i].monomial; ++j) {
      const double c = terms[j].coefficient;
      lossy = lossy || loses_digits(value, c, value + c);
      value += c;
      magnitude = std::max(magnitude, std::fabs(c));
    }
    // Coefficients that overflowed, underflowed or lost digits stay visible, whatever is added: see representable().
    if (lossy && cancelled == 0) value = std::nan("");
    if (!std::isnormal(magnitude) || !(std::fabs(value) <= cancelled * magnitude))
      p.terms_.push_back({std::move(terms[i].monomial), value});
    i = j;
  }
  return p;
}

bool Polynomial::is_atom() const {
  return terms_.size() == 1 && terms_[0].coefficient == 1 && terms_[0].monomial.size() == 1 &&
         terms_[0].monomial[0].exponent == 1;
}

bool Polynomial::representable() const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [](const PolynomialTerm& t) { return std::isnormal(t.coefficient); });
}

std::int32_t Polynomial::degree() const {
  std::int32_t most = 0;
  for (const PolynomialTerm& t : terms_) most = std::max(most, degree_of(t.monomial));
  return most;
}

Polynomial Polynomial::scaled(double factor) const {
  if (factor == 0) return {};
  Polynomial p = *this;
  for (PolynomialTerm& t : p.terms_) t.coefficient *= factor;
  return p;
}

bool operator==(const Polynomial& a, const Polynomial& b) {
  return std::equal(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), b.terms_.end(),
                    [](const PolynomialTerm& x, const PolynomialTerm& y) {
                      return x.coefficient == y.coefficient && x.monomial == y.monomial;
                    });
}

bool operator<(const Polynomial& a, const Polynomial& b) {
  return std::lexicographical_compare(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), b.terms_.end(),
                                      [](const PolynomialTerm& x, const PolynomialTerm& y) {
                                        return x.monomial != y.monomial ? x.monomial < y.monomial
                                                                        : x.coefficient < y.coefficient;
                                      });
}

std::uint64_t Polynomial::steps() const {
  std::uint64_t factors = 0;
  for (const PolynomialTerm& t : terms_) factors += t.monomial.size();
  return 1 + kTermSteps * terms_.size() + factors / 2;
}

std::size_t Polynomial::bytes() const {
  constexpr std::size_t kBlock = 16;  // overhead of an allocation
  std::size_t sum = 0;
  for (const PolynomialTerm& t : terms_) sum += sizeof t + kBlock + t.monomial.capacity() * sizeof(Power);
  return sum;
}

std::optional<Polynomial> sum(const Polynomial& a, const Polynomial& b, egraph::Watch& watch, double factor_of_b,
                              double cancelled) {
  if (watch.spend(kPasses * (a.steps() + b.steps()))) return std::nullopt;
  std::vector<PolynomialTerm> terms = a.terms();
  for (const PolynomialTerm& t : b.terms()) terms.push_back({t.monomial, t.coefficient * factor_of_b});
  Polynomial p = Polynomial::from(std::move(terms), cancelled);
  if (p.terms().size() > kPolynomialTermsMax) return std::nullopt;
  return p;
}

Monomial product(const Monomial& a, const Monomial& b) {
  Monomial m;
  m.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i].atom < b[j].atom)) {
      m.push_back(a[i++]);
    } else if (i == a.size() || b[j].atom < a[i].atom) {
      m.push_back(b[j++]);
    } else {
      const std::int32_t exponent = a[i].exponent + b[j].exponent;
      if (exponent != 0) m.push_back({a[i].atom, exponent});
      ++i, ++j;
    }
  }
  return m;
}

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b, egraph::Watch& watch) {
  // Before like terms meet there are this many; far more than the limit is not worth a try.
  if (a.terms().size() * b.terms().size() > 16 * kPolynomialTermsMax) return std::nullopt;
  std::vector<PolynomialTerm> terms;
  terms.reserve(a.terms().size() * b.terms().size());
  const std::uint64_t steps_per_row = kPasses * (b.steps() + b.terms().size());
  for (const PolynomialTerm& x : a.terms()) {
    if (watch.spend(steps_per_row + b.terms().size() * x.monomial.size())) return std::nullopt;
    for (const PolynomialTerm& y : b.terms()) {
      terms.push_back({product(x.monomial, y.monomial), x.coefficient * y.coefficient});
      if (degree_of(terms.back().monomial) > kPolynomialDegreeMax) return std::nullopt;
    }
  }
  Polynomial p = Polynomial::from(std::move(terms));
  if (p.terms().size() > kPolynomialTermsMax) return std::nullopt;
  return p;
}

std::optional<Polynomial> power(const Polynomial& a, std::int32_t exponent, egraph::Watch& watch) {
  if (exponent < 0) {
    if (a.terms().size() != 1) return std::nullopt;
    PolynomialTerm t = a.terms()[0];
    for (Power& p : t.monomial) p.exponent = -p.exponent;
    t.coefficient = 1 / t.coefficient;
    return power(Polynomial::from({std::move(t)}), -exponent, watch);
  }
  std::optional<Polynomial> result = Polynomial::constant(1);
  for (std::int32_t i = 0; i < exponent && result; ++i) result = product(*result, a, watch);
  return result;
}

// Takes leading terms first: q's is the root of p's. Each further term cancels the leading term of the rest of p - q^n:
// rest / (n * lead^(n-1)).
std::optional<Polynomial> root(const Polynomial& p, std::int32_t n, egraph::Watch& watch) {
  if (p.terms().size() < 2) return std::nullopt;
  const auto lead = [](const Polynomial& of) { return of.terms().back(); };
  const PolynomialTerm top = lead(p);
  PolynomialTerm first;
  for (const Power& x : top.monomial) {
    if (x.exponent % n != 0) return std::nullopt;
    first.monomial.push_back({x.atom, x.exponent / n});
  }
  if (top.coefficient < 0 && n % 2 == 0) return std::nullopt;
  first.coefficient =
      std::copysign(std::round(std::pow(std::fabs(top.coefficient), 1.0 / n) * 1e9) / 1e9, top.coefficient);
  if (std::fabs(std::pow(first.coefficient, n) - top.coefficient) > 1e-9 * std::fabs(top.coefficient))
    return std::nullopt;
  Polynomial q = Polynomial::from({first});
  const std::optional<Polynomial> slope = power(q, n - 1, watch);
  if (!slope) return std::nullopt;
  for (int round = 0; round < 8; ++round) {
    const std::optional<Polynomial> whole = power(q, n, watch);
    if (!whole) return std::nullopt;
    const std::optional<Polynomial> rest = sum(p, *whole, watch, -1, kCancelled);
    if (!rest) return std::nullopt;
    if (rest->zero()) return q;
    const PolynomialTerm next = lead(*rest);
    // Division of monomials, where exponents of slope must not exceed those of next.
    Monomial m = next.monomial;
    for (const Power& s : slope->terms()[0].monomial) {
      const auto at = std::find_if(m.begin(), m.end(), [&](const Power& x) { return x.atom == s.atom; });
      if (at == m.end() || at->exponent < s.exponent) return std::nullopt;
      at->exponent -= s.exponent;
      if (at->exponent == 0) m.erase(at);
    }
    const std::optional<Polynomial> more =
        sum(q, Polynomial::from({{m, next.coefficient / (n * slope->terms()[0].coefficient)}}), watch);
    if (!more || more->terms().size() <= q.terms().size()) return std::nullopt;
    q = *more;
  }
  return std::nullopt;
}

}  // namespace trident::expr::rewrite
