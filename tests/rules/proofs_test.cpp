// Checks the proofs of the rules (tests/rules/proofs.txt), and that the prover can fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/rules.h"
#include "tests/rules/prover.h"

namespace trident::testing {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Op;
using expr::rewrite::builtin_rules;
using expr::rewrite::Real;

constexpr const char* kTable = "tests/rules/proofs.txt";

// A rule of these alone must be proved: the real numbers with order are decidable, and so far Z3 has decided each.
constexpr Op kAlgebraic[] = {Op::Add,   Op::Sub,  Op::Mul,   Op::Div,  Op::Neg,   Op::Recip,    Op::Fma,   Op::Min,
                             Op::Max,   Op::Abs,  Op::Powi,  Op::Sqrt, Op::Rsqrt, Op::Cbrt,     Op::Hypot, Op::Sign,
                             Op::Floor, Op::Ceil, Op::Trunc, Op::Rint, Op::Round, Op::Cast,     Op::Lt,    Op::Le,
                             Op::Gt,    Op::Ge,   Op::Eq,    Op::Ne,   Op::And,   Op::Copysign, Op::Or,    Op::Select,
                             Op::Xor,   Op::Not,  Op::Diff,  Op::Sum,  Op::Mean,  Op::Dot,      Op::MinOf, Op::MaxOf};

bool is_algebraic(const Rule& rule) {
  for (const Pattern* side : {&rule.left, &rule.right})
    for (const PatternTerm& t : side->terms)
      if (t.kind == PatternTerm::Kind::node &&
          std::find(std::begin(kAlgebraic), std::end(kAlgebraic), static_cast<Op>(t.op)) == std::end(kAlgebraic))
        return false;
  return true;
}

const std::vector<ProofVerdict>& verdicts() {
  static const std::vector<ProofVerdict> all = [] {
    std::vector<ProofVerdict> made;
    for (std::size_t i = 0; i < builtin_rules().rules.size(); ++i)
      made.push_back(prove(builtin_rules().rules[i], builtin_rules().tags[i].real));
    return made;
  }();
  return all;
}

Rule parsed(const std::string& text) {
  const auto rule = egraph::parse_rule(text, expr::rewrite::op_rows());
  EXPECT_TRUE(rule.ok()) << rule.error().message;
  return *rule;
}

std::string printed(const Rule& rule) {
  std::string text = rule.name + ": " + print(rule.left, expr::rewrite::op_rows(), rule.variables) + " => " +
                     print(rule.right, expr::rewrite::op_rows(), rule.variables);
  for (std::size_t i = 0; i < rule.conditions.size(); ++i)
    text += (i == 0 ? " if " : ", ") + print(rule.conditions[i], rule.variables);
  return text;
}

TEST(Proofs, EveryAlgebraicRuleIsProvedAndNoRuleRefuted) {
  for (std::size_t i = 0; i < verdicts().size(); ++i) {
    const Rule& rule = builtin_rules().rules[i];
    const ProofVerdict& verdict = verdicts()[i];
    if (is_algebraic(rule))
      EXPECT_EQ(verdict.proof, Proof::proved) << printed(rule) << "\n  " << verdict.why;
    else
      EXPECT_TRUE(verdict.proof == Proof::proved || verdict.proof == Proof::not_algebraic)
          << printed(rule) << "\n  " << verdict.why;
  }
}

std::string table() {
  std::string text =
      "# What is proved of each rule, and by what (tests/rules/prover.h); the others, and why not. TRIDENT_BLESS=1\n"
      "# build/tests/proofs_test writes this file.\n";
  for (std::size_t i = 0; i < verdicts().size(); ++i) {
    const auto& tags = builtin_rules().tags[i];
    if (i == 0 || tags.theme != builtin_rules().tags[i - 1].theme) text += "\n" + tags.theme + "\n";
    text += "  " + builtin_rules().rules[i].name + ": " +
            (verdicts()[i].proof == Proof::proved ? "proved by " : "not proved: ") + verdicts()[i].why + "\n";
  }
  return text;
}

TEST(Proofs, AreAsReviewed) {
  if (std::getenv("TRIDENT_BLESS") != nullptr) {
    std::ofstream(kTable) << table();
    return;
  }
  std::ifstream reviewed(kTable);
  std::istringstream actual(table());
  for (std::string was, is; std::getline(actual, is);) {
    ASSERT_TRUE(std::getline(reviewed, was)) << kTable << " ends before: " << is;
    ASSERT_EQ(was, is) << "read what changed, then write it by TRIDENT_BLESS=1 build/tests/proofs_test";
  }
  EXPECT_EQ(reviewed.peek(), std::ifstream::traits_type::eof()) << kTable << " has more lines than there are rules";
}

TEST(Prover, DefinitionsContradictEachOtherNowhere) {
  constexpr unsigned kPoints = 6;
  for (const Rule& rule : builtin_rules().rules)
    for (unsigned seed = 0; seed < kPoints; ++seed) EXPECT_EQ(contradiction(rule, seed), "") << printed(rule);
}

// Every rule with the other sign on its right side.
TEST(Prover, RefutesTheOppositeOfEveryRule) {
  for (std::size_t i = 0; i < verdicts().size(); ++i) {
    Rule rule = builtin_rules().rules[i];
    const PatternTerm& root = rule.right.root();
    if (verdicts()[i].proof != Proof::proved) continue;
    if (root.kind == PatternTerm::Kind::number && root.number == 0) continue;
    const bool truth = is_truth(rule.left);
    PatternTerm opposite{.kind = PatternTerm::Kind::node, .op = static_cast<std::uint8_t>(truth ? Op::Not : Op::Neg)};
    opposite.child[0] = static_cast<std::uint8_t>(rule.right.terms.size() - 1);
    rule.right.terms.push_back(opposite);
    const ProofVerdict verdict = prove(rule, builtin_rules().tags[i].real);
    const Proof expected =
        is_algebraic(rule) || verdicts()[i].why.find(',') == std::string::npos ? Proof::refuted : Proof::not_algebraic;
    EXPECT_EQ(verdict.proof, expected) << printed(rule) << "\n  " << verdict.why;
  }
}

struct WrongRule {
  const char* text;
  Real tag = Real::ok;
};

// Conditions dropped, signs turned, operands swapped, factors forgotten.
constexpr WrongRule kWrong[] = {
    {"r: (div ?a ?a) => 1"},
    {"r: (mul ?a (recip ?a)) => 1"},
    {"r: (recip (recip ?a)) => ?a"},
    {"r: (div ?a (div ?b ?c)) => (div (mul ?a ?c) ?b)"},
    {"r: (div (mul ?a ?c) (mul ?b ?c)) => (div ?a ?b)"},
    {"r: (sub ?a ?b) => (sub ?b ?a)"},
    {"r: (sub ?a (add ?b ?c)) => (add (sub ?a ?b) ?c)"},
    {"r: (mul (add ?a ?b) (add ?a ?b)) => (add (mul ?a ?a) (sub (mul ?b ?b) (mul 2 (mul ?a ?b))))"},
    {"r: (fma ?a ?b (neg ?c)) => (add (mul ?a ?b) ?c)"},
    {"r: (sqrt (mul ?a ?a)) => ?a"},
    {"r: (mul (sqrt ?a) (sqrt ?a)) => ?a"},
    {"r: (sqrt (mul ?a ?b)) => (mul (sqrt ?a) (sqrt ?b))"},
    {"r: (sqrt (div ?a ?b)) => (div (sqrt ?a) (sqrt ?b))"},
    {"r: (mul ?a (rsqrt ?a)) => (sqrt ?a) if nonneg(?a)"},
    {"r: (sqrt (recip (mul ?a ?a))) => (recip ?a)"},
    {"r: (hypot ?a ?b) => (sqrt (sub (mul ?a ?a) (mul ?b ?b)))"},
    {"r: (cbrt (mul ?a ?a)) => ?a"},
    {"r: (cbrt (neg ?a)) => (cbrt ?a)"},
    {"r: (pow ?a 0.5) => (sqrt (abs ?a))"},
    {"r: (pow ?a 3) => (mul ?a ?a)"},
    {"r: (pow ?a 0.3333333333333333) => (cbrt ?a)"},
    {"r: (powi ?a 5) => (mul (mul ?a ?a) (mul ?a ?a))"},
    {"r: (powi ?a -2) => (recip ?a)"},
    {"r: (abs ?a) => ?a"},
    {"r: (abs (mul ?a ?b)) => (mul ?a (abs ?b))"},
    {"r: (max (neg ?a) (neg ?b)) => (neg (max ?a ?b))"},
    {"r: (max (mul ?a ?c) (mul ?b ?c)) => (mul (max ?a ?b) ?c)"},
    {"r: (max ?a ?b) => ?a if le(?a, ?b)", Real::guard},
    {"r: (min (max ?a ?l) ?h) => (max (min ?a ?h) ?l)"},
    {"r: (max (sqrt ?a) (sqrt ?b)) => (sqrt (max ?a ?b)) if nonneg(?a)"},
    {"r: (select (lt ?a ?b) ?a ?b) => (max ?a ?b)"},
    {"r: (select (not ?c) ?a ?b) => (select ?c ?a ?b)"},
    {"r: (select ?c (neg ?a) (neg ?b)) => (select ?c ?a ?b)"},
    {"r: (lt (neg ?a) (neg ?b)) => (lt ?a ?b)"},
    {"r: (ge ?a ?b) => (lt ?b ?a)"},
    {"r: (lt (mul ?a ?c) (mul ?b ?c)) => (lt ?a ?b) if nonzero(?c)"},
    {"r: (lt (sqrt ?a) (sqrt ?b)) => (lt ?a ?b)"},
    {"r: (copysign (abs ?a) ?b) => (copysign ?a (abs ?b))"},
    {"r: (mul (sign ?a) (abs ?a)) => (abs ?a)"},
    {"r: (floor (neg ?a)) => (neg (floor ?a))"},
    {"r: (floor ?a) => ?a"},
    {"r: (floor (add ?a ?n)) => (add (floor ?a) ?n)"},
    {"r: (trunc ?a) => (floor ?a)"},
    {"r: (round ?a) => (floor (add ?a 0.5))"},
    {"r: (rint ?a) => (round ?a)"},
    {"r: (rint (add ?a 1)) => (add (rint ?a) 1)"},
    {"r: (trunc (add ?a 1)) => (add (trunc ?a) 1)"},
    {"r: (i32 ?a) => (i32 (floor ?a)) if f64(?a)"},
    {"r: (f64 (i32 ?a)) => (trunc ?a) if f64(?a)"},
    {"r: (f64 (i64 ?a)) => (f64 (i32 ?a)) if f64(?a)"},
    {"r: (diff (sub ?a ?b) ?x) => (sub (diff ?b ?x) (diff ?a ?x))"},
    {"r: (diff (mul ?a ?b) ?x) => (mul (diff ?a ?x) (diff ?b ?x))"},
    {"r: (diff (div ?a ?b) ?x) => (div (sub (mul ?a (diff ?b ?x)) (mul (diff ?a ?x) ?b)) (mul ?b ?b))"},
    {"r: (diff (recip ?a) ?x) => (div (diff ?a ?x) (mul ?a ?a))"},
    {"r: (diff (sqrt ?a) ?x) => (div (diff ?a ?x) (sqrt ?a))"},
    {"r: (diff (abs ?a) ?x) => (diff ?a ?x)"},
    {"r: (diff (max ?a ?b) ?x) => (select (le ?a ?b) (diff ?a ?x) (diff ?b ?x))"},
    {"r: (diff (hypot ?a ?b) ?x) => (div (add (mul ?a (diff ?b ?x)) (mul ?b (diff ?a ?x))) (hypot ?a ?b))"},
    {"r: (diff (powi ?a 2) ?x) => (mul 2 ?a)"},
    {"r: (diff (powi ?a 3) ?x) => (mul 2 (mul (mul ?a ?a) (diff ?a ?x)))"},
    {"r: (diff ?c ?x) => 0"},
    {"r: (sum (add ?a ?c)) => (add (sum ?a) ?c) if uniform(?c)"},
    {"r: (sum (div ?a ?c)) => (mul ?c (sum ?a)) if uniform(?c)"},
    {"r: (sum ?a) => (mul 2 (mean ?a))"},
    {"r: (sum (mul ?a ?b)) => (mul (sum ?a) (sum ?b))"},
    {"r: (dot ?a ?b) => (dot ?a ?a)"},
    {"r: (maxof (mul ?c ?a)) => (mul ?c (maxof ?a)) if uniform(?c)"},
    {"r: (maxof (neg ?a)) => (neg (maxof ?a))"},
    {"r: (minof (max ?a ?b)) => (max (minof ?a) (minof ?b))"},
    {"r: (maxof (sqrt ?a)) => (sqrt (minof ?a)) if nonneg(?a)"},
};

TEST(Prover, RefutesWrongRulesByACounterexample) {
  for (const WrongRule& wrong : kWrong) {
    const ProofVerdict verdict = prove(parsed(wrong.text), wrong.tag);
    EXPECT_EQ(verdict.proof, Proof::refuted) << wrong.text << "\n  " << verdict.why;
    EXPECT_NE(verdict.why.find(" = "), std::string::npos) << wrong.text << "\n  " << verdict.why;
  }
}

// Functions have no counterexamples here, but wrong rules about them have no proofs either.
constexpr const char* kWrongFunctions[] = {
    "r: (sin (add ?a ?b)) => (sub (mul (sin ?a) (cos ?b)) (mul (cos ?a) (sin ?b)))",
    "r: (cos (add ?a ?b)) => (add (mul (cos ?a) (cos ?b)) (mul (sin ?a) (sin ?b)))",
    "r: (sin (mul 2 ?a)) => (mul (sin ?a) (cos ?a))",
    "r: (cos (sub 1.5707963267948966 ?a)) => (cos ?a)",
    "r: (sin (add ?a 3.141592653589793)) => (sin ?a)",
    "r: (cos (asin ?a)) => (sqrt (abs (sub 1 (mul ?a ?a))))",
    "r: (sin (acos ?a)) => (neg (sqrt (sub 1 (mul ?a ?a)))) if within1(?a)",
    "r: (exp (add ?a ?b)) => (add (exp ?a) (exp ?b))",
    "r: (exp (neg ?a)) => (neg (exp ?a))",
    "r: (exp (log ?a)) => ?a",
    "r: (exp2 (add ?a ?b)) => (mul (exp2 ?a) (exp ?b))",
    "r: (sinh (mul 2 ?a)) => (mul (sinh ?a) (cosh ?a))",
    "r: (cosh (acosh ?a)) => ?a",
    "r: (log (mul ?a ?b)) => (add (log ?a) (log ?b))",
    "r: (log (sqrt ?a)) => (mul 2 (log ?a)) if pos(?a)",
    "r: (log (exp ?a)) => (neg ?a)",
    "r: (log (add (exp ?a) (exp ?b))) => (add (max ?a ?b) (log1p (exp (abs (sub ?a ?b)))))",
    "r: (log2 (exp ?a)) => ?a",
    "r: (asinh (sinh ?a)) => (abs ?a)",
    "r: (max (exp ?a) (exp ?b)) => (exp (min ?a ?b))",
    "r: (lt (exp ?a) (exp ?b)) => (lt ?b ?a)",
    "r: (pow ?a ?b) => (exp (mul ?b (log ?a)))",
    "r: (pow (mul ?a ?b) ?c) => (mul (pow ?a ?c) (pow ?b ?c))",
    "r: (pow (pow ?a ?b) ?c) => (pow ?a (add ?b ?c)) if pos(?a)",
    "r: (mul (pow ?a ?b) (pow ?a ?c)) => (pow ?a (mul ?b ?c)) if pos(?a)",
    "r: (diff (pow ?a ?b) ?x) => (mul (mul ?b (pow ?a (sub ?b 1))) (diff ?a ?x)) if pos(?a)",
    "r: (diff (cos ?a) ?x) => (mul (sin ?a) (diff ?a ?x))",
    "r: (diff (tan ?a) ?x) => (div (diff ?a ?x) (cos ?a))",
    "r: (diff (tanh ?a) ?x) => (mul (add 1 (mul (tanh ?a) (tanh ?a))) (diff ?a ?x))",
    "r: (diff (acos ?a) ?x) => (div (diff ?a ?x) (sqrt (sub 1 (mul ?a ?a))))",
    "r: (diff (atan2 ?a ?b) ?x) => (div (sub (mul ?a (diff ?b ?x)) (mul ?b (diff ?a ?x))) (add (mul ?a ?a) (mul ?b "
    "?b)))",
    "r: (diff (log10 ?a) ?x) => (div (diff ?a ?x) (mul 0.6931471805599453 ?a))",
};

TEST(Prover, ProvesNoWrongRuleOfFunctions) {
  for (const char* wrong : kWrongFunctions) {
    const ProofVerdict verdict = prove(parsed(wrong), Real::ok);
    EXPECT_EQ(verdict.proof, Proof::not_algebraic) << wrong << "\n  " << verdict.why;
  }
}

TEST(Prover, SeesConditionsThatNothingMeets) {
  const ProofVerdict verdict = prove(parsed("r: (abs ?a) => 7 if pos(?a), negative(?a)"), Real::guard);
  EXPECT_EQ(verdict.proof, Proof::undecided) << verdict.why;
}

TEST(Prover, KnowsWhatIsPartial) {
  EXPECT_EQ(prove(parsed("r: (div ?a ?a) => 1"), Real::partial).proof, Proof::proved);
  EXPECT_EQ(prove(parsed("r: (sqrt ?a) => (sqrt (abs ?a))"), Real::partial).proof, Proof::proved);
  EXPECT_EQ(prove(parsed("r: (sqrt ?a) => (sqrt (abs ?a))"), Real::ok).proof, Proof::refuted);
  EXPECT_EQ(prove(parsed("r: (sqrt (abs ?a)) => (sqrt ?a)"), Real::ok).proof, Proof::refuted);
}

}  // namespace
}  // namespace trident::testing
