#include "tests/rules/prover.h"

#include <cmath>
#include <map>

#include "tests/rules/elements.h"
#include "tests/rules/meaning.h"

namespace trident::testing {
namespace {

using egraph::Condition;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Op;
using expr::rewrite::Real;

constexpr std::size_t kElementsProved = 3;

enum class Answer { always, counterexample, unknown };

class Question {
 public:
  Question(z3::context& c, const Meaning& sides) : c_(c), sides_(sides) {}

  /// Decides whether `claim` follows from `given`, by the procedure for real polynomials. Many linear cases need the
  /// procedure for integers instead.
  Answer follows(const z3::expr& given, const z3::expr& claim) {
    const Answer answer = sides_.integers ? Answer::unknown : follows(given, claim, false);
    return answer == Answer::unknown ? follows(given, claim, true) : answer;
  }

  std::string counterexample;

 private:
  Answer follows(const z3::expr& given, const z3::expr& claim, bool cases) {
    z3::solver solver = cases ? z3::solver(c_, z3::solver::simple()) : z3::tactic(c_, "qfnra-nlsat").mk_solver();
    z3::params limit(c_);
    limit.set("rlimit", kProofSteps);
    if (sides_.integers) limit.set("arith.solver", 2u);  // the later ones do not end on two nested floors
    solver.set(limit);
    for (const z3::expr& e : sides_.constraints) solver.add(e);
    solver.add(given);
    solver.add(!claim);
    const z3::check_result result = solver.check();
    if (result == z3::unsat) return Answer::always;
    if (result == z3::unknown) return Answer::unknown;
    counterexample = describe(solver.get_model());
    return Answer::counterexample;
  }

  std::string describe(const z3::model& model) const {
    std::string made;
    for (unsigned i = 0; i < model.num_consts(); ++i) {
      const z3::func_decl d = model.get_const_decl(i);
      const std::string name = d.name().str();
      if (name.find('?') == std::string::npos) continue;
      made += (made.empty() ? "" : ", ") + name + " = " + model.get_const_interp(d).to_string();
    }
    return made;
  }

  z3::context& c_;
  const Meaning& sides_;
};

bool has_op(const Pattern& pattern, Op op) {
  for (const PatternTerm& t : pattern.terms)
    if (t.kind == PatternTerm::Kind::node && t.op == static_cast<std::uint8_t>(op)) return true;
  return false;
}

}  // namespace

bool is_truth(const Pattern& pattern) {
  const PatternTerm& t = pattern.root();
  if (t.kind != PatternTerm::Kind::node) return false;
  const Op op = static_cast<Op>(t.op);
  return expr::info(op).signature == expr::Signature::Compare || op == Op::And || op == Op::Or || op == Op::Xor ||
         op == Op::Not;
}

namespace {

/// Both sides of a rule, with the definitions of their numbers; conditions are left to the caller.
struct Sides {
  Sides(z3::context& c, const Rule& rule, std::map<std::string, int>& parts)
      : slopes(has_op(rule.left, Op::Diff)),
        meaning(c, rule, slopes, parts),
        left_is(c.bool_val(true)),
        right_is(c.bool_val(true)),
        equal(c.bool_val(true)) {
    if (slopes && static_cast<Op>(rule.left.root().op) != Op::Diff) throw Beyond{"a derivative inside"};
    if (slopes) meaning.moves(rule.left.terms[rule.left.root().child[1]].variable);
    const std::size_t left_root = rule.left.terms.size() - 1, right_root = rule.right.terms.size() - 1;
    if (is_truth(rule.left)) {
      equal = meaning.truth(rule.left, left_root).value == meaning.truth(rule.right, right_root).value;
    } else {
      const Number left = meaning.number(rule.left, left_root), right = meaning.number(rule.right, right_root);
      left_is = left.defined, right_is = right.defined, equal = left.value == right.value;
    }
  }

  bool slopes;
  Meaning meaning;
  z3::expr left_is, right_is;  ///< numbers
  z3::expr equal;
};

// Decides whether all operands lie in their ops' domains.
Answer met(const Sides& sides, Question& question, const z3::expr& given) {
  for (const z3::expr& e : sides.meaning.obligations)
    if (const Answer a = question.follows(given, e); a != Answer::always) return a;
  return Answer::always;
}

// exp and exp2 are one to one: sides are equal where these are.
bool equal_exponentials(const Rule& rule, Sides& sides, Question& question) {
  if (sides.slopes || sides.meaning.theorems.empty() || is_truth(rule.left)) return false;
  for (const char* family : {"exp", "exp2"}) {
    const z3::expr left = sides.meaning.exponential_of(family, rule.left);
    const z3::expr right = sides.meaning.exponential_of(family, rule.right);
    const z3::expr numbers = sides.left_is && sides.right_is;
    if (met(sides, question, numbers) != Answer::always) return false;
    if (question.follows(numbers, left == right) == Answer::always) return true;
  }
  return false;
}

ProofVerdict prove_with(const Rule& rule, Real tag, std::map<std::string, int>& parts) {
  z3::context c;
  Sides sides(c, rule, parts);
  for (const Condition& condition : rule.conditions) sides.meaning.assume(condition);
  Question question(c, sides.meaning);
  const auto failed = [&](Answer answer, const std::string& what) -> ProofVerdict {
    if (!sides.meaning.theorems.empty()) return {Proof::not_algebraic, "by what is known of its functions " + what};
    return answer == Answer::counterexample ? ProofVerdict{Proof::refuted, what + ": " + question.counterexample}
                                            : ProofVerdict{Proof::undecided, what};
  };
  // Nothing follows from a contradiction.
  const Answer absurd = question.follows(sides.left_is, c.bool_val(false));
  if (absurd != Answer::counterexample)
    return failed(Answer::unknown, absurd == Answer::always ? "nothing meets the conditions" : "no example found");
  if (const Answer a = met(sides, question, c.bool_val(true)); a != Answer::always)
    return failed(a, "an operand may be no number, or not above zero");
  if (tag != Real::partial) {
    if (const Answer a = question.follows(sides.left_is, sides.right_is); a != Answer::always)
      return failed(a, "the right side may be no number where the left side is one");
    const Answer back = sides.slopes ? Answer::always : question.follows(sides.right_is, sides.left_is);
    if (back != Answer::always) return failed(back, "the left side may be no number where the right side is one");
  }
  std::string by = sides.slopes ? "dual numbers" : "algebra";
  if (const Answer a = question.follows(sides.left_is && sides.right_is, sides.equal); a != Answer::always) {
    if (!equal_exponentials(rule, sides, question)) return failed(a, "the sides may differ");
    by += ", exp of both sides";
  }
  for (const std::string& theorem : sides.meaning.theorems) by += ", " + theorem;
  return {Proof::proved, by};
}

std::string contradiction_with(const Rule& rule, unsigned seed, bool exponentials, std::map<std::string, int>& parts) {
  static constexpr const char* kValues[] = {"0", "1", "-1", "2", "1/2", "-1/2", "-3", "5/4", "-2/3", "7"};
  z3::context c;
  Sides sides(c, rule, parts);
  z3::expr point = c.bool_val(true);
  std::string text;
  for (std::uint8_t v = 0; v < rule.variables.size(); ++v) {
    const char* value = kValues[(seed * (2 * v + 1) + v) % std::size(kValues)];
    const Number number = sides.meaning.variable(v);
    point = point && number.value == c.real_val(value);
    text += " ?" + rule.variables[v] + " = " + value;
  }
  if (exponentials && !sides.slopes && !is_truth(rule.left))
    for (const char* family : {"exp", "exp2"})
      for (const Pattern* side : {&rule.left, &rule.right}) sides.meaning.exponential_of(family, *side);
  Question question(c, sides.meaning);
  return question.follows(point, c.bool_val(false)) == Answer::always ? text : "";
}

}  // namespace

ProofVerdict prove(const Rule& rule, Real tag) {
  if (rule.mixed) return prove_memory(rule);
  if (reduces(rule)) {
    ProofVerdict verdict;
    for (std::size_t elements = 1; elements <= kElementsProved; ++elements) {
      verdict = prove(of_elements(rule, elements), tag);
      if (verdict.proof != Proof::proved) return verdict;
    }
    verdict.why = "one, two and three elements: " + verdict.why;
    return verdict;
  }
  std::map<std::string, int> parts;
  for (;;) {
    try {
      return prove_with(rule, tag, parts);
    } catch (const Finer&) {
    } catch (const Beyond& beyond) {
      return {Proof::not_algebraic, beyond.why + " is beyond the prover"};
    }
  }
}

std::string contradiction(const Rule& rule, unsigned seed) {
  if (rule.mixed) return "";  // its integers and functions are any: nothing is defined
  Rule free = reduces(rule) ? of_elements(rule, kElementsProved) : rule;
  free.conditions.clear();
  std::map<std::string, int> parts;
  bool exponentials = true;
  for (;;) {
    try {
      return contradiction_with(free, seed, exponentials, parts);
    } catch (const Finer&) {
    } catch (const Beyond&) {
      if (!exponentials) return "";
      exponentials = false;
    }
  }
}

}  // namespace trident::testing
