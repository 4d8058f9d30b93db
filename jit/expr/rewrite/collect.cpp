#include "jit/expr/rewrite/collect.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "jit/expr/expr.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/op_code.h"
#include "jit/expr/rewrite/polynomial.h"
#include "jit/expr/rewrite/polynomial_writer.h"

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

// Returns the atoms in order, each once.
std::vector<std::uint32_t> atoms_of(const Polynomial& p) {
  std::vector<std::uint32_t> atoms;
  for (const PolynomialTerm& t : p.terms())
    for (const Power& x : t.monomial) atoms.push_back(x.atom);
  std::sort(atoms.begin(), atoms.end());
  atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
  return atoms;
}

bool divides(const Polynomial& p) {
  return p.terms().size() > 1 && std::any_of(p.terms().begin(), p.terms().end(), [](const PolynomialTerm& t) {
           return std::any_of(t.monomial.begin(), t.monomial.end(), [](const Power& x) { return x.exponent < 0; });
         });
}

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

  Polynomial of_node(const ENode& node, std::size_t i) const;

  // Where an atom is NaN or infinite, a polynomial that lacks it is a number and what it was made of is not: what
  // cancels must be finite.
  bool keeps_specials(const ENode& node, const Polynomial& made) const {
    const std::vector<std::uint32_t> kept = atoms_of(made);
    for (std::uint8_t c = 0; c < graph_.row(node.op).children; ++c)
      for (const std::uint32_t atom : atoms_of(polynomials_[node.child[c]]))
        if (!std::binary_search(kept.begin(), kept.end(), atom) && !facts(atom).finite()) return false;
    return true;
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
  std::vector<Relation> relations(const Polynomial& p, bool of_cosine) const;
  // Returns the polynomial of a class if the term has it, else the class as an atom.
  Polynomial inside(ClassId id) const {
    watch_.spend(classes_.size());
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      if (self(i) == graph_.find(id)) return polynomials_[i];
    }
    return Polynomial::atom(graph_.find(id));
  }

  std::optional<Polynomial> reduced(Polynomial p, const std::vector<Relation>& relations) const;
  // As above, of a reduced polynomial: an atom may also go where all that its square is made of stays, as sin(x) does
  // for cos(x).
  bool keeps_specials(const std::vector<Relation>& relations, const Polynomial& before, const Polynomial& made) const;
  void forms(std::size_t i);

  EGraph& graph_;
  const egraph::Term& term_;
  std::span<const ClassId> classes_;
  Watch& watch_;
  std::vector<Polynomial> polynomials_;
  std::size_t held_ = 0;  ///< bytes of them
};

Polynomial Collect::of_node(const ENode& node, std::size_t i) const {
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
  return p && p->representable() && keeps_specials(node, *p) ? std::move(*p) : atom(i);
}

std::vector<Collect::Relation> Collect::relations(const Polynomial& p, bool of_cosine) const {
  std::vector<Relation> found;
  const std::vector<std::uint32_t> atoms = atoms_of(p);
  for (const std::uint32_t atom : atoms) {
    if (graph_.find(atom) != atom) continue;
    std::optional<Polynomial> square;
    graph_.each_node(atom, [&](NodeIndex n) {
      const ENode& node = graph_.node(n);
      const Op op = static_cast<Op>(node.op);
      const auto partner = [&](Op other) {
        ENode twin = node;
        twin.op = op_code(other);
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

std::optional<Polynomial> Collect::reduced(Polynomial p, const std::vector<Relation>& relations) const {
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

bool Collect::keeps_specials(const std::vector<Relation>& relations, const Polynomial& before,
                             const Polynomial& made) const {
  const std::vector<std::uint32_t> kept = atoms_of(made), all = atoms_of(before);
  return std::all_of(all.begin(), all.end(), [&](std::uint32_t atom) {
    if (std::binary_search(kept.begin(), kept.end(), atom) || facts(atom).finite()) return true;
    return std::any_of(relations.begin(), relations.end(), [&](const Relation& relation) {
      const std::vector<std::uint32_t> square = atoms_of(relation.square);
      return relation.atom == atom && !square.empty() &&
             std::includes(kept.begin(), kept.end(), square.begin(), square.end());
    });
  });
}

void Collect::forms(std::size_t i) {
  std::vector<Polynomial> ways{polynomials_[i]};
  for (const bool of_cosine : {false, true}) {
    const std::vector<Relation> found = relations(polynomials_[i], of_cosine);
    if (found.empty()) continue;
    if (std::optional<Polynomial> other = reduced(polynomials_[i], found);
        other && other->representable() && other->terms().size() <= polynomials_[i].terms().size() &&
        keeps_specials(found, polynomials_[i], *other))
      ways.push_back(std::move(*other));
  }
  std::size_t written = 0;
  for (std::size_t w = 0; w < ways.size(); ++w) {
    if (std::find(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(w), ways[w]) !=
        ways.begin() + static_cast<std::ptrdiff_t>(w))
      continue;
    using enum PolynomialWriter::Style;
    for (const PolynomialWriter::Style style : {frequent, rare, expanded, ratio}) {
      if (style == ratio && !divides(ways[w])) continue;
      if (style == expanded && ways[w].terms().size() > 16) continue;
      if (++written > kFormsPerRegion || graph_.full() || watch_.late()) return;
      const ClassId made = PolynomialWriter(graph_, term_.nodes[i].sort, style, watch_).write(ways[w]);
      if (made == kNone) return;
      graph_.merge(classes_[i], made);
    }
  }
}

}  // namespace

egraph::Tactic collect_tactic() {
  return [](EGraph& graph, const egraph::Term& term, std::span<const ClassId> classes, Watch& watch) {
    Collect(graph, term, classes, watch).run();
  };
}

}  // namespace trident::expr::rewrite
