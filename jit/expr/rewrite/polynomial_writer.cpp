#include "jit/expr/rewrite/polynomial_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

namespace trident::expr::rewrite {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENode;
using egraph::kNone;
using egraph::Watch;

// Steps of a watch: how often writing goes through a polynomial.
constexpr std::uint64_t kWritingPasses = 6;
// An empty product.
constexpr ClassId kEmpty = kNone - 1;

bool all_negative(const Polynomial& p) {
  return std::all_of(p.terms().begin(), p.terms().end(), [](const PolynomialTerm& t) { return t.coefficient < 0; });
}

bool has_negative(const Monomial& m) {
  return std::any_of(m.begin(), m.end(), [](const Power& x) { return x.exponent < 0; });
}

// Returns the factor that all terms share, with the least exponent (negative ones too), and the rest.
Monomial common(const Polynomial& p) {
  Monomial shared = p.terms()[0].monomial;
  for (const PolynomialTerm& t : p.terms()) {
    Monomial both;
    for (const Power& s : shared) {
      const auto at =
          std::find_if(t.monomial.begin(), t.monomial.end(), [&](const Power& q) { return q.atom == s.atom; });
      const std::int32_t other = at == t.monomial.end() ? 0 : at->exponent;
      // Denominators: the greatest number in any term. Numerators: the number in all terms.
      const std::int32_t least = std::min(s.exponent, other);
      if (least != 0) both.push_back({s.atom, least});
    }
    for (const Power& q : t.monomial) {
      const bool seen = std::any_of(shared.begin(), shared.end(), [&](const Power& s) { return s.atom == q.atom; });
      if (!seen && q.exponent < 0) both.push_back(q);
    }
    std::sort(both.begin(), both.end());
    shared = std::move(both);
  }
  return shared;
}

Polynomial divided(const Polynomial& p, const Monomial& by, double factor) {
  Monomial inverse = by;
  for (Power& x : inverse) x.exponent = -x.exponent;
  std::vector<PolynomialTerm> terms;
  for (const PolynomialTerm& t : p.terms())
    terms.push_back({rewrite::product(t.monomial, inverse), t.coefficient / factor});
  return Polynomial::from(std::move(terms));
}

// Returns a number that all coefficients are small multiples of, if taking it out pays.
double content(const Polynomial& p) {
  double least = std::fabs(p.terms()[0].coefficient);
  for (const PolynomialTerm& t : p.terms()) least = std::min(least, std::fabs(t.coefficient));
  bool negative = true;
  for (const PolynomialTerm& t : p.terms()) {
    const double ratio = std::fabs(t.coefficient) / least;
    if (ratio != std::round(ratio) || ratio > 1e6) return p.terms().back().coefficient < 0 && all_negative(p) ? -1 : 1;
    negative = negative && t.coefficient < 0;
  }
  return negative ? -least : least;
}

// a / b with no negative exponents in the result.
std::optional<Monomial> exact_quotient(const Monomial& a, const Monomial& b) {
  Monomial inverse = b;
  for (Power& x : inverse) x.exponent = -x.exponent;
  Monomial m = rewrite::product(a, inverse);
  for (const Power& x : m) {
    const bool was =
        std::any_of(a.begin(), a.end(), [&](const Power& y) { return y.atom == x.atom && y.exponent < 0; });
    if (x.exponent < 0 && !was) return std::nullopt;
  }
  return m;
}

}  // namespace

PolynomialWriter::PolynomialWriter(EGraph& graph, std::uint8_t sort, Style style, Watch& watch)
    : graph_(graph), sort_(sort), style_(style), watch_(watch) {}

ClassId PolynomialWriter::write(const Polynomial& p) {
  if (watch_.spend(kWritingPasses * p.steps())) return kNone;
  if (p.zero()) return number(0);
  if (p.is_constant()) return number(p.constant_value());
  if (const auto known = written_.find(p); known != written_.end()) return known->second;
  const ClassId made = make(p);
  written_.emplace(p, made);
  return made;
}

ClassId PolynomialWriter::node(Op op, ClassId a, ClassId b, ClassId c) {
  if (a == kNone || b == kNone || c == kNone || watch_.spend(kNodeSteps)) return kNone;
  ENode n;
  n.op = static_cast<std::uint8_t>(op);
  n.sort = sort_;
  const std::uint8_t arity = graph_.row(n.op).children;
  n.child = {a, arity > 1 ? b : 0, arity > 2 ? c : 0};
  return graph_.add(n);
}

ClassId PolynomialWriter::powered(ClassId base, std::int32_t exponent) {
  if (exponent == 1) return base;
  const ClassId half = powered(base, exponent / 2);
  const ClassId square = node(Op::Mul, half, half);
  return exponent % 2 == 0 ? square : node(Op::Mul, square, base);
}

ClassId PolynomialWriter::product(const Monomial& m, bool positive) {
  // Equal exponents are powered together: x^2 y^2 = (x y)^2.
  std::map<std::int32_t, ClassId> by_exponent;
  for (const Power& p : m) {
    if ((p.exponent > 0) != positive) continue;
    const auto [at, first] = by_exponent.try_emplace(std::abs(p.exponent), p.atom);
    if (!first) at->second = node(Op::Mul, at->second, p.atom);
    if (at->second == kNone) return kNone;
  }
  ClassId result = kEmpty;
  for (const auto& [exponent, base] : by_exponent) {
    const ClassId factor = powered(base, exponent);
    result = result == kEmpty ? factor : node(Op::Mul, result, factor);
    if (result == kNone) return kNone;
  }
  return result;
}

ClassId PolynomialWriter::single(const PolynomialTerm& t) {
  const ClassId over = product(t.monomial, true), under = product(t.monomial, false);
  if (over == kNone || under == kNone) return kNone;
  const double magnitude = std::fabs(t.coefficient);
  ClassId made = over;
  if (made == kEmpty)
    made = number(magnitude);
  else if (magnitude != 1)
    made = node(Op::Mul, number(magnitude), made);
  if (under != kEmpty) made = node(Op::Div, made, under);
  return t.coefficient < 0 ? node(Op::Neg, made) : made;
}

ClassId PolynomialWriter::make(const Polynomial& p) {
  if (p.terms().size() == 1) return single(p.terms()[0]);
  if (style_ == Style::ratio) {
    if (const std::optional<Polynomial> q = in_ratio(p)) return write(*q);
  }
  const Monomial shared = common(p);
  const double factor = style_ == Style::expanded ? 1 : content(p);
  if (!shared.empty() && (style_ != Style::expanded || has_negative(shared))) {
    return times(PolynomialTerm{shared, factor}, write(divided(p, shared, factor)));
  }
  if (factor != 1) return times(PolynomialTerm{{}, factor}, write(divided(p, {}, factor)));
  if (style_ == Style::expanded) return expanded(p);
  for (std::int32_t n = p.degree(); n >= 2; --n) {
    if (p.terms().size() < 3 || p.degree() % n != 0) continue;
    if (const std::optional<Polynomial> q = root(p, n, watch_)) {
      const ClassId base = write(*q);
      return base == kNone ? kNone : powered(base, n);
    }
  }
  return collected(p);
}

std::optional<Polynomial> PolynomialWriter::in_ratio(const Polynomial& p) {
  Monomial alike = p.terms()[0].monomial;
  for (const PolynomialTerm& t : p.terms())
    std::erase_if(
        alike, [&](const Power& x) { return std::find(t.monomial.begin(), t.monomial.end(), x) == t.monomial.end(); });
  Monomial inverse = alike;
  for (Power& x : inverse) x.exponent = -x.exponent;
  Monomial direction;
  std::vector<std::int32_t> multiples;
  for (const PolynomialTerm& t : p.terms()) {
    const Monomial rest = rewrite::product(t.monomial, inverse);
    if (direction.empty() && !rest.empty()) {
      std::int32_t divisor = 0;
      for (const Power& x : rest) divisor = std::gcd(divisor, x.exponent);
      direction = rest;
      for (Power& x : direction) x.exponent /= divisor;
    }
    const std::int32_t k = rest.empty() ? 0 : rest[0].exponent / direction[0].exponent;
    Monomial multiple = direction;
    for (Power& x : multiple) x.exponent *= k;
    if (k < 0 || (!rest.empty() && (k == 0 || multiple != rest))) return std::nullopt;
    multiples.push_back(k);
  }
  if (direction.size() < 2 || !has_negative(direction)) return std::nullopt;
  std::int32_t step = 0;
  for (const std::int32_t k : multiples) step = std::gcd(step, k);
  const ClassId ratio = single({direction, 1});
  const ClassId base = ratio == kNone ? kNone : powered(ratio, step);
  if (base == kNone) return std::nullopt;
  std::vector<PolynomialTerm> terms;
  for (std::size_t i = 0; i < multiples.size(); ++i) {
    const Monomial power = multiples[i] == 0 ? Monomial{} : Monomial{{graph_.find(base), multiples[i] / step}};
    terms.push_back({rewrite::product(alike, power), p.terms()[i].coefficient});
  }
  return Polynomial::from(std::move(terms));
}

ClassId PolynomialWriter::times(const PolynomialTerm& t, ClassId rest) {
  if (rest == kNone) return kNone;
  const ClassId over = product(t.monomial, true), under = product(t.monomial, false);
  if (over == kNone || under == kNone) return kNone;
  ClassId made = over == kEmpty ? rest : node(Op::Mul, over, rest);
  const double magnitude = std::fabs(t.coefficient);
  if (magnitude != 1) made = node(Op::Mul, number(magnitude), made);
  if (under != kEmpty) made = node(Op::Div, made, under);
  return t.coefficient < 0 ? node(Op::Neg, made) : made;
}

ClassId PolynomialWriter::collected(const Polynomial& p) {
  std::map<std::uint32_t, std::pair<int, std::int32_t>> uses;  // atom: terms, least exponent
  for (const PolynomialTerm& t : p.terms()) {
    for (const Power& x : t.monomial) {
      if (x.exponent < 0) continue;
      auto& [count, least] = uses[x.atom];
      least = count == 0 ? x.exponent : std::min(least, x.exponent);
      ++count;
    }
  }
  std::uint32_t best = kNone;
  for (const auto& [atom, use] : uses) {
    if (best == kNone) {
      best = atom;
      continue;
    }
    const auto& old = uses[best];
    const bool more = use.first != old.first ? use.first > old.first : use.second > old.second;
    const bool fewer = use.first > 1 && (old.first <= 1 || use.first < old.first);
    if (style_ != Style::rare ? more : fewer) best = atom;
  }
  if (best == kNone || uses[best].first < 2) return expanded(p);
  const std::int32_t exponent = uses[best].second;
  std::vector<PolynomialTerm> inside, outside;
  for (const PolynomialTerm& t : p.terms()) {
    const bool has = std::any_of(t.monomial.begin(), t.monomial.end(),
                                 [&](const Power& x) { return x.atom == best && x.exponent > 0; });
    if (has)
      inside.push_back({rewrite::product(t.monomial, {{best, -exponent}}), t.coefficient});
    else
      outside.push_back(t);
  }
  const Polynomial q = Polynomial::from(std::move(inside));
  Polynomial r = Polynomial::from(std::move(outside));
  // Other monomials m with m q inside r.
  std::vector<PolynomialTerm> literals{{{{best, exponent}}, 1}};
  for (bool again = true; again && q.terms().size() > 1 && !r.zero();) {
    again = false;
    for (const PolynomialTerm& t : r.terms()) {
      const std::optional<Monomial> m = exact_quotient(t.monomial, q.terms().back().monomial);
      if (!m) continue;
      const double c = t.coefficient / q.terms().back().coefficient;
      const std::optional<Polynomial> part = rewrite::product(Polynomial::from({{*m, c}}), q, watch_);
      if (!part) continue;
      const std::optional<Polynomial> rest = sum(r, *part, watch_, -1);
      if (!rest || rest->terms().size() + q.terms().size() != r.terms().size()) continue;
      literals.push_back({*m, c});
      r = *rest;
      again = true;
      break;
    }
  }
  const ClassId factor = write(Polynomial::from(std::move(literals)));
  return fused(factor, q, r);
}

ClassId PolynomialWriter::fused(ClassId factor, const Polynomial& q, const Polynomial& r) {
  if (factor == kNone) return kNone;
  if (q.is_constant() && std::fabs(q.constant_value()) == 1) {
    if (r.zero()) return q.constant_value() > 0 ? factor : node(Op::Neg, factor);
    return q.constant_value() > 0 ? plus(factor, r) : node(Op::Sub, write(r), factor);
  }
  const ClassId inner = write(q);
  if (r.zero()) return node(Op::Mul, factor, inner);
  return node(Op::Fma, factor, inner, write(r));
}

ClassId PolynomialWriter::plus(ClassId a, const Polynomial& r) {
  if (all_negative(r)) return node(Op::Sub, a, write(r.scaled(-1)));
  return node(Op::Add, a, write(r));
}

ClassId PolynomialWriter::expanded(const Polynomial& p) {
  ClassId made = kEmpty;
  std::vector<PolynomialTerm> terms = p.terms();
  // Simple terms first: the others are fused onto them.
  std::stable_sort(terms.begin(), terms.end(), [](const PolynomialTerm& a, const PolynomialTerm& b) {
    return a.monomial.size() < b.monomial.size();
  });
  std::stable_partition(terms.begin(), terms.end(), [](const PolynomialTerm& t) { return t.coefficient > 0; });
  for (const PolynomialTerm& t : terms) {
    if (made == kEmpty) {
      made = single(t);
    } else if (const bool bare = t.monomial.size() == 1 && t.monomial[0].exponent == 1; has_negative(t.monomial)) {
      made = node(t.coefficient < 0 ? Op::Sub : Op::Add, made, single({t.monomial, std::fabs(t.coefficient)}));
    } else if (t.monomial.empty()) {
      made = node(Op::Add, made, number(t.coefficient));
    } else if (bare && std::fabs(t.coefficient) == 1) {
      made = node(t.coefficient < 0 ? Op::Sub : Op::Add, made, t.monomial[0].atom);
    } else {
      // coefficient * x * rest, split in two factors
      Monomial first{t.monomial[0]}, rest(t.monomial.begin() + 1, t.monomial.end());
      ClassId a = kNone, b = kNone;
      const double magnitude = std::fabs(t.coefficient);
      if (magnitude != 1) {
        a = number(magnitude);
        b = product(t.monomial, true);
      } else if (rest.empty()) {
        a = powered(first[0].atom, first[0].exponent / 2);
        b = powered(first[0].atom, first[0].exponent - first[0].exponent / 2);
      } else {
        a = product(first, true);
        b = product(rest, true);
      }
      if (t.coefficient < 0) a = magnitude != 1 ? number(-magnitude) : node(Op::Neg, a);
      made = node(Op::Fma, a, b, made);
    }
    if (made == kNone) return kNone;
  }
  return made;
}

}  // namespace trident::expr::rewrite
