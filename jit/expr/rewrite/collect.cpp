#include "jit/expr/rewrite/collect.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "jit/expr/expr.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/polynomial.h"

namespace trident::expr::rewrite {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENode;
using egraph::Facts;
using egraph::kNone;
using egraph::NodeIndex;
using egraph::Watch;

constexpr std::int32_t kPowerMax = 16;  // exponents that are multiplied out
constexpr std::size_t kFormsPerRegion = 8;
// Steps of a watch: a node looked up or made, with its facts; how often writing goes through a polynomial.
constexpr std::uint64_t kNodeSteps = 10, kPasses = 6;

std::uint8_t code(Op op) {
  return static_cast<std::uint8_t>(op);
}

// Writes polynomials into the graph. The styles differ in the factor that is taken out first.
class Writer {
 public:
  enum class Style : std::uint8_t { frequent, rare, expanded, ratio };
  Writer(EGraph& graph, std::uint8_t sort, Style style, Watch& watch)
      : graph_(graph), sort_(sort), style_(style), watch_(watch) {}

  /// Returns kNone when the graph is full or the time is up.
  ClassId write(const Polynomial& p) {
    if (watch_.spend(kPasses * p.steps())) return kNone;
    if (p.zero()) return number(0);
    if (p.is_constant()) return number(p.constant_value());
    if (const auto known = written_.find(p); known != written_.end()) return known->second;
    const ClassId made = make(p);
    written_.emplace(p, made);
    return made;
  }

 private:
  ClassId number(double value) { return graph_.add_constant(sort_, value); }
  ClassId node(Op op, ClassId a, ClassId b = 0, ClassId c = 0) {
    if (a == kNone || b == kNone || c == kNone || watch_.spend(kNodeSteps)) return kNone;
    ENode n;
    n.op = code(op);
    n.sort = sort_;
    const std::uint8_t arity = graph_.row(n.op).children;
    n.child = {a, arity > 1 ? b : 0, arity > 2 ? c : 0};
    return graph_.add(n);
  }

  ClassId powered(ClassId base, std::int32_t exponent) {
    if (exponent == 1) return base;
    const ClassId half = powered(base, exponent / 2);
    const ClassId square = node(Op::Mul, half, half);
    return exponent % 2 == 0 ? square : node(Op::Mul, square, base);
  }

  // The product of the atoms with positive exponents, or with negative ones inverted; kNone - 1 when there are none.
  static constexpr ClassId kEmpty = kNone - 1;
  ClassId product(const Monomial& m, bool positive) {
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

  // numerator / denominator monomial times coefficient.
  ClassId single(const PolynomialTerm& t) {
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

  // Returns the factor that all terms share, with the least exponent (negative ones too), and the rest.
  static Monomial common(const Polynomial& p) {
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

  static Polynomial divided(const Polynomial& p, const Monomial& by, double factor) {
    Monomial inverse = by;
    for (Power& x : inverse) x.exponent = -x.exponent;
    std::vector<PolynomialTerm> terms;
    for (const PolynomialTerm& t : p.terms())
      terms.push_back({rewrite::product(t.monomial, inverse), t.coefficient / factor});
    return Polynomial::from(std::move(terms));
  }

  // Returns a number that all coefficients are small multiples of, if taking it out pays.
  static double content(const Polynomial& p) {
    double least = std::fabs(p.terms()[0].coefficient);
    for (const PolynomialTerm& t : p.terms()) least = std::min(least, std::fabs(t.coefficient));
    bool negative = true;
    for (const PolynomialTerm& t : p.terms()) {
      const double ratio = std::fabs(t.coefficient) / least;
      if (ratio != std::round(ratio) || ratio > 1e6)
        return p.terms().back().coefficient < 0 && all_negative(p) ? -1 : 1;
      negative = negative && t.coefficient < 0;
    }
    return negative ? -least : least;
  }
  static bool all_negative(const Polynomial& p) {
    return std::all_of(p.terms().begin(), p.terms().end(), [](const PolynomialTerm& t) { return t.coefficient < 0; });
  }

  ClassId make(const Polynomial& p) {
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

  // Returns the polynomial of one quotient, such as s^12 / r^6 - s^6 / r^3 as a polynomial of (s^2 / r)^3, with that
  // quotient as an atom. The common factor of all terms stands beside it.
  std::optional<Polynomial> in_ratio(const Polynomial& p) {
    Monomial alike = p.terms()[0].monomial;
    for (const PolynomialTerm& t : p.terms())
      std::erase_if(alike, [&](const Power& x) {
        return std::find(t.monomial.begin(), t.monomial.end(), x) == t.monomial.end();
      });
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

  static bool has_negative(const Monomial& m) {
    return std::any_of(m.begin(), m.end(), [](const Power& x) { return x.exponent < 0; });
  }

  ClassId times(const PolynomialTerm& t, ClassId rest) {
    if (rest == kNone) return kNone;
    const ClassId over = product(t.monomial, true), under = product(t.monomial, false);
    if (over == kNone || under == kNone) return kNone;
    ClassId made = over == kEmpty ? rest : node(Op::Mul, over, rest);
    const double magnitude = std::fabs(t.coefficient);
    if (magnitude != 1) made = node(Op::Mul, number(magnitude), made);
    if (under != kEmpty) made = node(Op::Div, made, under);
    return t.coefficient < 0 ? node(Op::Neg, made) : made;
  }

  // x^k q + r for the atom that most terms share. Cofactors that several atoms have in common are joined first:
  // x q + y q + r = (x + y) q + r.
  ClassId collected(const Polynomial& p) {
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

  // a / b with no negative exponents in the result.
  static std::optional<Monomial> exact_quotient(const Monomial& a, const Monomial& b) {
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

  // factor * q + r.
  ClassId fused(ClassId factor, const Polynomial& q, const Polynomial& r) {
    if (factor == kNone) return kNone;
    if (q.is_constant() && std::fabs(q.constant_value()) == 1) {
      if (r.zero()) return q.constant_value() > 0 ? factor : node(Op::Neg, factor);
      return q.constant_value() > 0 ? plus(factor, r) : node(Op::Sub, write(r), factor);
    }
    const ClassId inner = write(q);
    if (r.zero()) return node(Op::Mul, factor, inner);
    return node(Op::Fma, factor, inner, write(r));
  }

  ClassId plus(ClassId a, const Polynomial& r) {
    if (all_negative(r)) return node(Op::Sub, a, write(r.scaled(-1)));
    return node(Op::Add, a, write(r));
  }

  // Term by term, products fused into the sum.
  ClassId expanded(const Polynomial& p) {
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

  EGraph& graph_;
  std::uint8_t sort_;
  Style style_;
  Watch& watch_;
  std::map<Polynomial, ClassId> written_;
};

// One run over the incumbent term.
class Collect {
 public:
  Collect(EGraph& graph, const egraph::Term& term, std::span<const ClassId> classes, Watch& watch)
      : graph_(graph), term_(term), classes_(classes), watch_(watch), polynomials_(term.nodes.size()) {}
  Collect(const Collect&) = delete;
  Collect& operator=(const Collect&) = delete;
  ~Collect() { watch_.release(held_); }

  void run() {
    std::vector<int> users(term_.nodes.size(), 0), inner_users(term_.nodes.size(), 0);
    for (std::size_t i = 0; i < term_.nodes.size(); ++i) {
      if (watch_.spend(kNodeSteps)) return;
      polynomials_[i] = of_node(term_.nodes[i], i);
      const std::size_t bytes = polynomials_[i].bytes();
      if (!watch_.hold(bytes))
        polynomials_[i] = atom(i);
      else
        held_ += bytes;
      for (std::uint8_t c = 0; c < graph_.row(term_.nodes[i].op).children; ++c) {
        ++users[term_.nodes[i].child[c]];
        // Users that absorbed it into their own polynomial need no form of it.
        if (!polynomials_[i].is_atom() || polynomials_[i].terms()[0].monomial[0].atom != self(i))
          ++inner_users[term_.nodes[i].child[c]];
      }
    }
    for (const std::uint32_t root : term_.roots) ++users[root];
    for (std::size_t i = 0; i < term_.nodes.size(); ++i) {
      if (graph_.full() || watch_.late()) return;
      const Polynomial& p = polynomials_[i];
      const bool atom = p.is_atom() && p.terms()[0].monomial[0].atom == self(i);
      if (atom || !ir::is_float(static_cast<Type>(term_.nodes[i].sort))) continue;
      if (users[i] > inner_users[i] || users[i] > 1) forms(i);
    }
  }

 private:
  ClassId self(std::size_t i) const { return graph_.find(classes_[i]); }
  const Facts& facts(ClassId id) const { return graph_.facts(graph_.find(id)); }

  Polynomial atom(std::size_t i) const { return Polynomial::atom(self(i)); }

  Polynomial of_node(const ENode& node, std::size_t i) const {
    if (!ir::is_float(static_cast<Type>(node.sort))) return atom(i);
    if (const Facts& known = facts(classes_[i]); known.constant) return Polynomial::constant(known.lo);
    const auto operand = [&](int c) -> const Polynomial& { return polynomials_[node.child[c]]; };
    const Node n = node_of(node);
    std::optional<Polynomial> p;
    // An if chain: most ops are atoms.
    if (n.op == Op::Add)
      p = sum(operand(0), operand(1), watch_);
    else if (n.op == Op::Sub)
      p = sum(operand(0), operand(1), watch_, -1);
    else if (n.op == Op::Neg)
      p = operand(0).scaled(-1);
    else if (n.op == Op::Mul)
      p = multiplied(operand(0), operand(1));
    else if (n.op == Op::Fma) {
      p = multiplied(operand(0), operand(1));
      if (p) p = sum(*p, operand(2), watch_);
    } else if (n.op == Op::Div)
      p = divided(operand(0), operand(1), node.child[1]);
    else if (n.op == Op::Recip)
      p = divided(Polynomial::constant(1), operand(0), node.child[0]);
    else if (n.op == Op::Powi)
      p = powered(operand(0), static_cast<std::int64_t>(n.imm), node.child[0]);
    else if (n.op == Op::Pow && operand(1).is_constant()) {
      const double e = operand(1).constant_value();
      if (e == std::round(e) && std::fabs(e) <= kPowerMax)
        p = powered(operand(0), static_cast<std::int64_t>(e), node.child[0]);
    }
    return p && p->representable() ? std::move(*p) : atom(i);
  }

  // Cancelling x against 1/x needs x to be nonzero.
  bool may_cancel(const Polynomial& a, const Polynomial& b) const {
    for (const PolynomialTerm& s : a.terms()) {
      for (const PolynomialTerm& t : b.terms()) {
        for (const Power& x : s.monomial) {
          for (const Power& y : t.monomial) {
            if (x.atom == y.atom && (x.exponent > 0) != (y.exponent > 0) && !facts(x.atom).is_nonzero()) return false;
          }
        }
      }
    }
    return true;
  }
  std::optional<Polynomial> multiplied(const Polynomial& a, const Polynomial& b) const {
    if (!may_cancel(a, b)) return std::nullopt;
    return product(a, b, watch_);
  }
  std::optional<Polynomial> divided(const Polynomial& a, const Polynomial& b, std::uint32_t divisor) const {
    if (b.zero()) return std::nullopt;
    const std::optional<Polynomial> inverse =
        b.terms().size() == 1 ? power(b, -1, watch_) : Polynomial::atom(self(divisor), -1);
    if (!inverse) return std::nullopt;
    return multiplied(a, *inverse);
  }
  std::optional<Polynomial> powered(const Polynomial& a, std::int64_t exponent, std::uint32_t base) const {
    if (exponent == 0 || std::abs(exponent) > kPowerMax || a.zero()) return std::nullopt;
    if (exponent < 0 && a.terms().size() > 1) return Polynomial::atom(self(base), static_cast<std::int32_t>(exponent));
    return power(a, static_cast<std::int32_t>(exponent), watch_);
  }

  // x^2 = other for the atoms that have such a relation: sin, cosh, roots, absolute values.
  struct Relation {
    std::uint32_t atom;
    Polynomial square;
  };
  std::vector<Relation> relations(const Polynomial& p, bool of_cosine) const {
    std::vector<Relation> found;
    std::vector<std::uint32_t> atoms;
    for (const PolynomialTerm& t : p.terms()) {
      for (const Power& x : t.monomial) atoms.push_back(x.atom);
    }
    std::sort(atoms.begin(), atoms.end());
    atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
    for (const std::uint32_t atom : atoms) {
      if (graph_.find(atom) != atom) continue;
      std::optional<Polynomial> square;
      graph_.each_node(atom, [&](NodeIndex n) {
        const ENode& node = graph_.node(n);
        const Op op = static_cast<Op>(node.op);
        const auto partner = [&](Op other) {
          ENode twin = node;
          twin.op = code(other);
          const ClassId id = graph_.lookup(twin);
          return id != kNone && std::binary_search(atoms.begin(), atoms.end(), id) ? id : kNone;
        };
        if (op == (of_cosine ? Op::Cos : Op::Sin)) {
          if (const ClassId other = partner(of_cosine ? Op::Sin : Op::Cos); other != kNone)
            square = sum(Polynomial::constant(1), Polynomial::atom(other, 2), watch_, -1);
        } else if (op == Op::Cosh) {
          if (const ClassId other = partner(Op::Sinh); other != kNone)
            square = sum(Polynomial::constant(1), Polynomial::atom(other, 2), watch_);
        } else if (op == Op::Sqrt && facts(node.child[0]).lo >= 0) {
          square = inside(node.child[0]);
        } else if (op == Op::Abs) {
          const Polynomial x = inside(node.child[0]);
          square = product(x, x, watch_);
        }
      });
      if (square) found.push_back({atom, *square});
    }
    return found;
  }
  // Returns the polynomial of a class if the term has it, else the class as an atom.
  Polynomial inside(ClassId id) const {
    watch_.spend(classes_.size());
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      if (self(i) == graph_.find(id)) return polynomials_[i];
    }
    return Polynomial::atom(graph_.find(id));
  }

  std::optional<Polynomial> reduced(Polynomial p, const std::vector<Relation>& relations) const {
    for (const Relation& relation : relations) {
      for (int round = 0; round < kPowerMax; ++round) {
        std::optional<Polynomial> next = Polynomial();
        bool changed = false;
        for (const PolynomialTerm& t : p.terms()) {
          const auto at = std::find_if(t.monomial.begin(), t.monomial.end(),
                                       [&](const Power& x) { return x.atom == relation.atom && x.exponent >= 2; });
          std::optional<Polynomial> part = Polynomial::from({t});
          if (at != t.monomial.end()) {
            changed = true;
            part = product(Polynomial::from({{rewrite::product(t.monomial, {{relation.atom, -2}}), t.coefficient}}),
                           relation.square, watch_);
          }
          if (part) next = sum(*next, *part, watch_);
          if (!part || !next) return std::nullopt;
        }
        p = std::move(*next);
        if (!changed) break;
      }
    }
    return p;
  }

  static bool divides(const Polynomial& p) {
    return p.terms().size() > 1 && std::any_of(p.terms().begin(), p.terms().end(), [](const PolynomialTerm& t) {
             return std::any_of(t.monomial.begin(), t.monomial.end(), [](const Power& x) { return x.exponent < 0; });
           });
  }

  void forms(std::size_t i) {
    std::vector<Polynomial> ways{polynomials_[i]};
    for (const bool of_cosine : {false, true}) {
      const std::vector<Relation> found = relations(polynomials_[i], of_cosine);
      if (found.empty()) continue;
      if (std::optional<Polynomial> other = reduced(polynomials_[i], found);
          other && other->representable() && other->terms().size() <= polynomials_[i].terms().size())
        ways.push_back(std::move(*other));
    }
    std::size_t written = 0;
    for (std::size_t w = 0; w < ways.size(); ++w) {
      if (std::find(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(w), ways[w]) !=
          ways.begin() + static_cast<std::ptrdiff_t>(w))
        continue;
      using enum Writer::Style;
      for (const Writer::Style style : {frequent, rare, expanded, ratio}) {
        if (style == ratio && !divides(ways[w])) continue;
        if (style == expanded && ways[w].terms().size() > 16) continue;
        if (++written > kFormsPerRegion || graph_.full() || watch_.late()) return;
        const ClassId made = Writer(graph_, term_.nodes[i].sort, style, watch_).write(ways[w]);
        if (made == kNone) return;
        graph_.merge(classes_[i], made);
      }
    }
  }

  EGraph& graph_;
  const egraph::Term& term_;
  std::span<const ClassId> classes_;
  Watch& watch_;
  std::vector<Polynomial> polynomials_;
  std::size_t held_ = 0;  ///< bytes of them
};

}  // namespace

egraph::Tactic collect_tactic() {
  return [](EGraph& graph, const egraph::Term& term, std::span<const ClassId> classes, Watch& watch) {
    Collect(graph, term, classes, watch).run();
  };
}

}  // namespace trident::expr::rewrite
