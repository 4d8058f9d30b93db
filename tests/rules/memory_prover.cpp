// Proofs of the rules about tables. A table is any function of an integer: of its length nothing is asked, since what
// lies outside is 0 however its number came about. Integers are those of the integers, not of a machine: sums, products
// and shifts by constants wrap alike on both sides, so what is equal before wrapping is equal after it.
#include <z3++.h>

#include "jit/expr/expr.h"
#include "tests/rules/prover.h"

namespace trident::testing {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Op;

class Memory {
 public:
  Memory(z3::context& c, const Rule& rule) : c_(c), rule_(rule) {}

  z3::expr number(const Pattern& side, std::size_t index) {
    const PatternTerm& t = side.terms[index];
    if (t.kind == PatternTerm::Kind::variable) return c_.real_const(name(t).c_str());
    if (t.kind == PatternTerm::Kind::number) return c_.real_val(static_cast<int>(t.number));
    const Op op = static_cast<Op>(t.op);
    if (op == Op::Select) return z3::ite(truth(side, t.child[0]), number(side, t.child[1]), number(side, t.child[2]));
    if (op == Op::Neg) return -number(side, t.child[0]);
    if (op == Op::Diff) return c_.real_val(0);  // the slope of a function that has steps only
    if (op == Op::Strided)
      return element(side, t, integer(side, t.child[1]) * element_number() + integer(side, t.child[2]));
    return element(side, t, integer(side, t.child[1]));
  }

 private:
  [[nodiscard]] std::string name(const PatternTerm& t) const { return "?" + rule_.variables[t.variable]; }
  z3::expr element_number() { return c_.int_const("index"); }
  z3::expr truth(const Pattern& side, std::size_t index) { return c_.bool_const(name(side.terms[index]).c_str()); }

  z3::expr element(const Pattern& side, const PatternTerm& read, const z3::expr& at) {
    z3::params sums(c_);
    sums.set("som", true);
    return c_.function(name(side.terms[read.child[0]]).c_str(), c_.int_sort(), c_.real_sort())(at.simplify(sums));
  }

  z3::expr integer(const Pattern& side, std::size_t index) {
    const PatternTerm& t = side.terms[index];
    if (t.kind == PatternTerm::Kind::variable) return c_.int_const(name(t).c_str());
    if (t.kind == PatternTerm::Kind::number) return c_.int_val(static_cast<int>(t.number));
    const Op op = static_cast<Op>(t.op);
    if (op == Op::Index) return element_number();
    if (op == Op::Select) return z3::ite(truth(side, t.child[0]), integer(side, t.child[1]), integer(side, t.child[2]));
    const z3::expr a = integer(side, t.child[0]);
    if (op == Op::Neg) return -a;
    if (op == Op::Shl) return a * c_.int_val(1 << static_cast<int>(side.terms[t.child[1]].number));
    const z3::expr b = integer(side, t.child[1]);
    return op == Op::Add ? a + b : op == Op::Sub ? a - b : a * b;
  }

  z3::context& c_;
  const Rule& rule_;
};

}  // namespace

ProofVerdict prove_memory(const Rule& rule) {
  z3::context c;
  Memory memory(c, rule);
  z3::solver solver(c);
  z3::params limit(c);
  limit.set("rlimit", kProofSteps);
  solver.set(limit);
  solver.add(memory.number(rule.left, rule.left.terms.size() - 1) !=
             memory.number(rule.right, rule.right.terms.size() - 1));
  switch (solver.check()) {
    case z3::unsat: return {Proof::proved, "any function of the integers"};
    case z3::sat: return {Proof::refuted, "some function of the integers tells the sides apart"};
    case z3::unknown: break;
  }
  return {Proof::undecided, "too hard"};
}

}  // namespace trident::testing
