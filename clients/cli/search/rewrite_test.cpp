// Oracles: pairs of expressions of which it is known whether they have one value; costs by hand.
#include "clients/cli/search/rewrite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "jit/kir/interpreter.h"

namespace trident::cli {
namespace {

constexpr std::uint64_t kPoints = 2000;

RewriteCase compared(const char* source, const char* result, std::vector<expr::Variable> variables = {}) {
  const expr::ParseOptions options{.variables = std::move(variables)};
  const auto a = expr::parse_infix(source, options), b = expr::parse_infix(result, {.variables = a->variables});
  EXPECT_TRUE(a.ok() && b.ok()) << source << " " << result;
  RewriteCase c;
  const auto done = compare_with_source(*a, *b, {}, kPoints, c);
  EXPECT_TRUE(done.ok());
  return c;
}

TEST(RewriteComparison, EqualFormsAreRight) {
  const RewriteCase doubled = compared("x + x", "2*x");
  EXPECT_EQ("", doubled.wrong);
  EXPECT_EQ(kPoints, doubled.compared);
  EXPECT_LE(doubled.error.ulp, 0.5);
  const RewriteCase square = compared("(x + y)*(x - y)", "x*x - y*y");
  EXPECT_EQ("", square.wrong);
  EXPECT_GT(square.error.ulp, 0.5);  // it cancels
  EXPECT_EQ("", compared("(x + y, x - y)", "(y + x, -(y - x))").wrong);
}

TEST(RewriteComparison, AWrongFormIsReportedWithThePoint) {
  const RewriteCase off = compared("x + x", "2.001*x");
  EXPECT_NE(std::string::npos, off.wrong.find(" instead of ")) << off.wrong;
  double got = 0, wanted = 0, x = 0;
  ASSERT_EQ(3, std::sscanf(off.wrong.c_str(), "%lf instead of %lf at x = %lf", &got, &wanted, &x)) << off.wrong;
  EXPECT_EQ(2 * x, wanted);
  EXPECT_EQ(2.001 * x, got);
  for (const auto& [source, result] : {std::pair{"x - y", "y - x"},
                                       {"sin(x)", "x"},
                                       {"abs(x)", "x"},
                                       {"x", "0*x"},
                                       {"exp(x)*exp(y)", "exp(x*y)"},
                                       {"sqrt(x*x)", "x"},
                                       {"(x, y)", "(x, x)"}})
    EXPECT_NE("", compared(source, result).wrong) << source << " -> " << result;
}

TEST(RewriteComparison, SmallDifferencesAreErrorsInUlpsAndNotWrong) {
  const RewriteCase near = compared("x", "x*1.0000001");
  EXPECT_EQ("", near.wrong);
  // An ulp is 2^-53 to 2^-52 of a value, by where in its binade that lies.
  EXPECT_GT(near.error.ulp, 1e-7 * 0x1p52);
  EXPECT_LT(near.error.ulp, 1.001e-7 * 0x1p53);
  EXPECT_NE("", compared("x", "x*1.00001").wrong);
  EXPECT_NE("", compared("x + 1000", "x + 1000.01").wrong);
}

// When the source cancels in f64, a form nearer to its exact value is not wrong; a form farther off is.
TEST(RewriteComparison, ASourceThatCancelsIsNoJudge) {
  EXPECT_EQ("", compared("(x + 1e10) - 1e10", "x").wrong);
  EXPECT_NE("", compared("x", "(x + 1e10) - 1e10").wrong);
  EXPECT_NE("", compared("(x + 1e10) - 1e10", "x*1.00001").wrong);
}

// An ulp of f32 is 2^29 of f64, and its values lie packed.
TEST(RewriteComparison, OutputsInF32AreTheValuesThatTheyAre) {
  for (const char* text : {"f32(x)", "f32(tanh(x))", "(f32(x), x*y, f32(y)*f32(y))"}) {
    const RewriteCase same = compared(text, text);
    EXPECT_EQ("", same.wrong) << text;
    EXPECT_LE(same.error.ulp, 2.0) << text;
  }
  const RewriteCase near = compared("f32(x)", "f32(x*1.0000001)");
  EXPECT_EQ("", near.wrong);
  EXPECT_GE(near.error.ulp, 0.5);
  EXPECT_LE(near.error.ulp, 3.0);
  EXPECT_NE("", compared("f32(x)", "f32(x*1.001)").wrong);
}

TEST(Rewriting, ShowsTheSourceWhereNoFormIsRight) {
  for (const char* text : {"(mul (tanh (mul x 1e-12)) 1e12)", "(hypot (pow 1e16 x) 1)", "(pow (log1p 1e-310) x)",
                           "(div (log1p 1e-310) x)", "(log1p (mul x 1e-20))"}) {
    const auto kernels = corpus::parse_corpus(std::string("c | s | g | x>0 | ") + text + "\n", "t");
    ASSERT_TRUE(kernels.ok()) << text;
    RewriteSettings settings;
    settings.search.policy.kind = expr::PolicyKind::bounded;
    const RewriteReport report = rewrite_cases(*kernels, settings);
    ASSERT_EQ(1u, report.cases.size());
    EXPECT_EQ("", report.cases[0].failure) << text;
    EXPECT_EQ("", report.cases[0].wrong) << text << " -> " << report.cases[0].result;
    EXPECT_LE(report.cases[0].error.ulp, 1e3 * (1 + report.cases[0].error_before.ulp)) << report.cases[0].result;
  }
}

TEST(RewriteComparison, NotANumberInPlaceOfANumberIsWrong) {
  EXPECT_NE("", compared("log(x*x)", "log(-x*x)").wrong);
  EXPECT_NE("", compared("x", "x/0").wrong);
  // The other way round says nothing: where the source has no value any form will do.
  const RewriteCase wider = compared("sqrt(x)*sqrt(x)", "x");
  EXPECT_EQ("", wider.wrong);
  EXPECT_GT(wider.compared, kPoints / 4);
  EXPECT_LT(wider.compared, 3 * kPoints / 4);
}

// Horner's form of (x + 1)^2 is (x + 2) x + 1: near -1 it cancels to nothing, the square does not. The exact values
// are integers over a power of two, which a wide integer holds.
TEST(RewriteComparison, ErrorsAreOfTheExactValueAndThoseOfTheSourceStandBeside) {
  expr::Variable near{.name = "x", .lo = -1.0000001, .hi = -0.9999999};
  const RewriteCase c = compared("x*x + 2*x + 1", "(x + 1)*(x + 1)", {near});
  EXPECT_LE(c.error.ulp, 1.0);  // x + 1 is exact here, its square rounded once
  EXPECT_GT(c.error_before.ulp, 1e6);
  // The source errs by a unit an operation at most, and bounded(2) allows two; the square is far better than that.
  EXPECT_LE(c.error_before.bound_share, 0.5);
  EXPECT_GT(c.error_before.bound_share, 1000 * c.error.bound_share);
  // A form that is exact however it is computed has neither error.
  const RewriteCase same = compared("x + x", "2*x");
  EXPECT_EQ(0, same.error.ulp + same.error.bound_share + same.error_before.ulp + same.error_before.bound_share);
  // The other way round the square allows nothing of the kind.
  EXPECT_GT(compared("(x + 1)*(x + 1)", "x*x + 2*x + 1", {near}).error.bound_share, 1);
}

TEST(RewriteComparison, PointsFillTheDeclaredRange) {
  // x - 800 is -100 to what three decades more come to; at one point alone these would be equal.
  expr::Variable above{.name = "x", .lo = 700}, between{.name = "x", .lo = 1e6, .hi = 1e9};
  EXPECT_NE("", compared("x - 800", "-100", {above}).wrong);
  EXPECT_NE("", compared("x", "1e6", {between}).wrong);
  // Everywhere in the range, and nowhere else: the steps say which thirds are met.
  const char* const whole = "select(x < 1e7, 1, select(x < 1e8, 2, 3))";
  for (const char* part : {"select(x < 1e8, select(x < 1e7, 1, 2), 4)", "select(x < 1e7, 4, select(x < 1e8, 2, 3))"})
    EXPECT_NE("", compared(whole, part, {between}).wrong) << part;
  EXPECT_EQ("", compared("min(max(x, 1e6), 1e9)", "x", {between}).wrong);
  EXPECT_EQ("", compared("max(x, 700)", "x", {above}).wrong);
  // Undeclared: 0.01 to 10 of either sign.
  EXPECT_EQ("", compared("min(abs(x), 10)", "max(abs(x), 0.01)").wrong);
  EXPECT_NE("", compared("abs(x)", "x").wrong);
  EXPECT_NE("", compared("abs(x)", "-x").wrong);
}

TEST(RewriteComparison, PointsKeepTheAssumptions) {
  expr::Variable positive{.name = "x", .lo = 0x1p-126}, negative{.name = "x", .hi = -1};
  EXPECT_EQ("", compared("abs(x)", "x", {positive}).wrong);
  EXPECT_EQ("", compared("abs(x)", "-x", {negative}).wrong);
  EXPECT_EQ("", compared("max(x, -1)", "-1 + 0*x", {negative}).wrong);
  EXPECT_NE("", compared("abs(x)", "-x", {positive}).wrong);
}

TEST(RewriteRatio, HasAnOffsetAndIsOneWhereADerivativeIsLeft) {
  RewriteCase c;
  c.before = {.tree = 96, .dag = 46};
  c.after = {.tree = 46, .dag = 0};
  EXPECT_DOUBLE_EQ(0.5, cost_ratio(c, &expr::rewrite::TermCost::tree));
  EXPECT_DOUBLE_EQ(0.08, cost_ratio(c, &expr::rewrite::TermCost::dag));
  c.derivative_left = true;
  EXPECT_DOUBLE_EQ(1, cost_ratio(c, &expr::rewrite::TermCost::dag));
}

TEST(RewriteReports, SayWhatIsWrongAndWhatFailed) {
  RewriteReport report;
  report.cases.resize(3);
  report.cases[0].name = "good";
  report.cases[0].result = "x";
  EXPECT_FALSE(report.failed());
  report.cases[1].name = "bad";
  report.cases[1].wrong = "1 instead of 2 at x = 3";
  EXPECT_TRUE(report.failed());
  EXPECT_NE(std::string::npos, rewrite_text(report).find("WRONG: 1 instead of 2 at x = 3"));
  report.cases[1].wrong.clear();
  report.cases[2].name = "broken";
  report.cases[2].failure = "no such function";
  EXPECT_TRUE(report.failed());
  EXPECT_NE(std::string::npos, rewrite_text(report).find("FAILED: no such function"));
  report.cases[1].wrong = "1 instead of 2";
  report.cases[1].error.ulp = HUGE_VAL;
  const auto json = nlohmann::json::parse(rewrite_json(report));
  EXPECT_TRUE(json["cases"][0]["wrong"].is_null());
  EXPECT_EQ("1 instead of 2", json["cases"][1]["wrong"]);
  EXPECT_TRUE(json["cases"][1]["max_error_ulp"].is_null());
  EXPECT_EQ("no such function", json["cases"][2]["failure"]);
  EXPECT_FALSE(json["cases"][2].contains("tree_after"));
  EXPECT_EQ(3, json["summary"]["cases"]);
}

TEST(Rewriting, OfTheCorpusIsNeverWrongAndNeverDearer) {
  const auto cases = corpus::read_corpus("bench/corpus/rewrite.txt");
  ASSERT_TRUE(cases.ok());
  RewriteSettings settings;
  settings.search.costs = expr::rewrite::reference_costs();
  settings.search.policy.kind = expr::PolicyKind::fast;
  settings.search.budget.nodes = 1000;
  settings.points = 500;
  for (const egraph::Strategy strategy : {egraph::Strategy::best_first, egraph::Strategy::hostile}) {
    settings.search.strategy = strategy;
    const RewriteReport report = rewrite_cases(*cases, settings);
    EXPECT_FALSE(report.failed()) << rewrite_text(report);
    double tree = 0, dag = 0;
    for (std::size_t i = 0; i < report.cases.size(); ++i) {
      const RewriteCase& c = report.cases[i];
      if (c.derivative_left) continue;
      EXPECT_LE(c.after.dag, c.before.dag) << c.name;
      EXPECT_GT(c.compared, 0u) << c.name;
      // The printed form is the one that was compared and has the cost that is claimed.
      const auto printed =
          expr::parse_infix(c.result, {.variables = corpus::to_expr((*cases)[i], ir::Type::f64)->variables});
      ASSERT_TRUE(printed.ok()) << c.result;
      EXPECT_EQ(c.after.dag, expr::rewrite::cost_of(*printed, settings.search.costs)->dag) << c.name << c.result;
    }
    for (const RewriteCase& c : report.cases) {
      tree += std::log(cost_ratio(c, &expr::rewrite::TermCost::tree));
      dag += std::log(cost_ratio(c, &expr::rewrite::TermCost::dag));
    }
    const auto count = static_cast<double>(report.cases.size());
    EXPECT_NEAR(std::exp(tree / count), report.tree_geomean, 1e-12);
    EXPECT_NEAR(std::exp(dag / count), report.dag_geomean, 1e-12);
  }
}

// No ranges, in a budget of time that long products and third derivatives would use up if they had to share it.
TEST(Rewriting, LeavesNoDerivativeAndIsNotDearerThanATextbook) {
  std::string product = "(sin x)";
  const char* const kFactors[] = {"(cos x)",         "(exp x)",         "(add x 1)", "(mul x y)",         "(tanh x)",
                                  "(sub 2 x)",       "(cosh x)",        "(log x)",   "(sqrt x)",          "x",
                                  "(add x (sin y))", "(div x (exp y))", "(neg x)",   "(add 3 (mul x x))", "(sinh x)",
                                  "(sub (exp x) y)", "(mul y (cos x))", "(tan x)",   "(add y (mul 2 x))"};
  for (const char* factor : kFactors) product = "(mul " + product + " " + factor + ")";
  std::string text = "product | s | d | | (d x " + product + ")\n";
  std::size_t count = 1;
  for (const char* e : {"(d x (sqrt x))",
                        "(d x (log x))",
                        "(d x (abs x))",
                        "(d x (pow x 2.5))",
                        "(d x (pow x x))",
                        "(d x (powi x 20))",
                        "(d x (powi (sin x) -7))",
                        "(d x (round (mul x y)))",
                        "(d x (mul x (rint x)))",
                        "(d x (mul x (trunc x)))",
                        "(d x (fmod (mul x x) y))",
                        "(d x (copysign (mul x y) (sin x)))",
                        "(d x (max (log x) y))",
                        "(d x (min x (max y 0)))",
                        "(d x (acosh (add 2 (mul x x))))",
                        "(d x (div (sin x) y))",
                        "(d x (d x (tan (mul x x))))",
                        "(d x (d x (d x (div (sin x) (add 1 (mul x x))))))",
                        "(d x (d x (d x (exp (mul (cos x) (log x))))))",
                        "(add (mul x (d x (mul x (sin y)))) (d y (d x (exp (mul x y)))))",
                        "(d x (d x (ceil x)))",
                        "(d x (div y x))",
                        "(d x (div 1 x))",
                        "(d x (div (mul x y) (add x y)))",
                        "(d x (exp (div y x)))",
                        "(d x (mul (div y x) (sin x)))",
                        "(add (div x (add x y)) (d x (div x (add x y))))",
                        "(d x (d x (div y x)))",
                        "(add (d x (div (sin x) (cosh y))) (d y (div (sin x) (cosh y))))",
                        "(d x (mul y (mul z x)))"})
    text += "case" + std::to_string(count++) + " | s | d | | " + e + "\n";
  const auto cases = corpus::parse_corpus(text, "d.txt");
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  RewriteSettings settings;
  settings.search.costs = expr::rewrite::reference_costs();
  settings.search.policy.kind = expr::PolicyKind::fast;
  settings.search.budget = {.nodes = 1'500, .nanoseconds = 0, .applications = 10'000, .graph_nodes = 4'000};
  settings.points = 500;
  for (const egraph::Objective objective : {egraph::Objective::dag, egraph::Objective::tree}) {
    settings.search.objective = objective;
    for (const expr::PolicyKind policy : {expr::PolicyKind::fast, expr::PolicyKind::exact}) {
      settings.search.policy.kind = policy;
      const RewriteReport report = rewrite_cases(*cases, settings);
      EXPECT_FALSE(report.failed()) << rewrite_text(report);
      ASSERT_EQ(count, report.cases.size());
      for (const RewriteCase& c : report.cases) {
        EXPECT_FALSE(c.derivative_left) << c.name << ": " << c.result;
        EXPECT_GT(c.compared, 50u) << c.name;
        // The bits must be those of the plain pass, which shares what it can.
        if (policy == expr::PolicyKind::exact && objective == egraph::Objective::tree) continue;
        const auto cost =
            objective == egraph::Objective::dag ? &expr::rewrite::TermCost::dag : &expr::rewrite::TermCost::tree;
        EXPECT_LE(c.after.*cost, c.before.*cost) << c.name << ": " << c.result;
      }
    }
  }
}

// When the rules' graph has no room, the plain pass differentiates, and the report says so.
// 1/cos(x)^2 is dearer than 1/(1 + cos(2x)) as a tree, which loses all digits near its poles.
TEST(Rewriting, AFormThatLosesItsDigitsGivesWay) {
  const auto cases = corpus::parse_corpus("tan | s | d | | (d x (tan x))\n", "d.txt");
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  RewriteSettings settings;
  settings.search.costs = expr::rewrite::reference_costs();
  settings.search.policy.kind = expr::PolicyKind::fast;
  settings.search.objective = egraph::Objective::tree;
  settings.search.budget = {.nodes = 5'000, .nanoseconds = 0, .applications = 30'000};
  settings.points = 10'000;
  const RewriteReport report = rewrite_cases(*cases, settings);
  ASSERT_EQ(report.cases.size(), 1u);
  const RewriteCase& c = report.cases[0];
  EXPECT_FALSE(report.failed()) << rewrite_text(report);
  EXPECT_LT(c.error.ulp, 100) << c.result;
  EXPECT_LT(c.after.tree, c.before.tree) << c.result;
}

TEST(Rewriting, ThePlainPassFinishesWhatTheRulesDoNot) {
  const auto cases = corpus::parse_corpus("two | s | d | | (d x (d x (mul (tan x) (exp (mul x (sin x))))))\n", "d.txt");
  ASSERT_TRUE(cases.ok());
  RewriteSettings settings;
  settings.search.policy.kind = expr::PolicyKind::fast;
  settings.points = 200;
  settings.search.budget = {.nodes = 12, .nanoseconds = 0};
  const RewriteReport small = rewrite_cases(*cases, settings);
  EXPECT_FALSE(small.failed()) << rewrite_text(small);
  EXPECT_FALSE(small.cases[0].derivative_left);
  EXPECT_NE(std::string::npos, rewrite_text(small).find("differentiated by")) << rewrite_text(small);
  EXPECT_NE(std::string::npos, rewrite_text(small).find("plain pass")) << rewrite_text(small);
  settings.search.budget.nodes = 5'000;
  settings.search.explain = true;
  const RewriteReport large = rewrite_cases(*cases, settings);
  EXPECT_FALSE(large.failed()) << rewrite_text(large);
  EXPECT_EQ("rules", nlohmann::json::parse(rewrite_json(large))["cases"][0]["differentiated_by"]);
  bool product_rule = false;
  for (const DerivationLine& step : large.cases[0].derivation) product_rule |= step.rule == "d-mul";
  EXPECT_TRUE(product_rule) << rewrite_text(large);
}

TEST(Rewriting, SaysUnderExactThatBitsAndNotCostsDecide) {
  const auto cases = corpus::parse_corpus("d | s | d | | (d x (div y x))\n", "d.txt");
  ASSERT_TRUE(cases.ok());
  RewriteSettings settings;
  settings.points = 100;
  settings.search.policy.kind = expr::PolicyKind::exact;
  const std::string text = rewrite_text(rewrite_cases(*cases, settings));
  EXPECT_NE(std::string::npos, text.find("differentiated by the plain pass, whose bits the policy exact keeps"))
      << text;
}

// Floats and reals part where a zero's sign or NaN is looked at. Nothing of that is a rule's fault, and the rest of an
// expression is rewritten all the same.
TEST(Rewriting, SignsOfZerosAndNanThatDecideAreKept) {
  struct Case {
    const char* text;
    bool cheaper = false;  ///< there is something else to be gained
  };
  const Case kCases[] = {{"copysign(x, -0.0*z*z)"},
                         {"copysign(x*y + x*z, -0.0)", true},
                         {"copysign(x, -(z - z))"},
                         {"copysign(y, max(-x, 0))"},
                         {"copysign(y, ceil(x/20) + 0)"},
                         {"copysign(y, -0.0*trunc(x/20))"},
                         {"copysign(1, sqrt(-0.0*x*x))"},
                         {"copysign(1, min(0*x, -0.0*y))"},
                         {"copysign(1, max(0*x, -0.0*y))"},
                         {"copysign(1, fmod(x, abs(x)))"},
                         {"copysign(x, cbrt(-(z - z)))"},
                         {"copysign(1, 0/(-exp(x)))"},
                         {"copysign(x, 0*log(y))"},
                         {"atan2(-0.0*x*x, -1)"},
                         {"atan2(-(x - x), -2)"},
                         {"atan2(0*x, 0*y)"},
                         {"atan2(x*0, -0.0*y)"},
                         {"atan2(x, 1/(1/(x - x)))"},
                         {"0.5/(-0.0*x*x)"},
                         {"atan(0.5/(-0.0*x*x))"},
                         {"tanh(recip(-0.0*abs(z)))"},
                         {"atan(rsqrt(-0.0*z*z))"},
                         {"atan(pow(-0.0*z*z, -3))"},
                         {"atan((-0.0*z*z)^(-3))"},
                         {"select(1/(0.5*(abs(x) - x)*(-1)) > 0, 1, 2)"},
                         {"select(1/(0 - floor(abs(x)/20)) > 0, x*y + x*z, y)", true},
                         {"select(0*log(x) < 1, 1, 2)"},
                         {"select(log(x) - log(x) == 0, x, y)"},
                         {"select(not(0*sqrt(x) < 1), x*y + x*z, y)", true},
                         {"select(sqrt(x)*0 >= 0, 1, 2)"},
                         {"select(max(log(x), 0*log(x)) < 1, 1, 2)"},
                         {"max(x, 0*log(y))"},
                         {"min(x*x + x*y, 0*log(y) + x)", true},
                         {"max(sqrt(x), min(sqrt(x), y))"},
                         {"max(0*asin(3*x), y)"},
                         {"min(max(x, sqrt(y)), sqrt(y))"},
                         {"diff(x*x*copysign(y, -0.0*y*y), x)"},
                         {"diff(y*x + x*select(0*log(y) < 1, y, z), x)"},
                         {"max(x, 0/0)"},
                         {"rint(-0/-0)"},
                         {"(x*y + x*z)*log(-1)", true},
                         {"(x*y + x*z) + max(x, 0/0)", true},
                         {"select(x < 0/0, x*y + x*z, x*x + 2*x*y + y*y)", true},
                         {"x*y + x*z + (1/0 - 1/0)", true},
                         {"x*y + x*z + (x - x)/(x - x)", true},
                         {"hypot(0/0, 1/0)*x + x*y", true},
                         {"min(x*y + x*z, 1/0 - 1/0)", true},
                         {"x*fma(1e-200, 1e-200, 0)*1e300 + x*y", true}};
  std::vector<corpus::CorpusKernel> kernels;
  for (const Case& c : kCases) {
    corpus::CorpusKernel& kernel = kernels.emplace_back();
    kernel.name = kernel.definition = c.text;
    kernel.syntax = "infix";
  }
  RewriteSettings settings;
  settings.points = 1'000;
  settings.search.budget = {.nodes = 1'500, .nanoseconds = 0, .applications = 10'000, .graph_nodes = 4'000};
  settings.search.explain = true;
  for (const auto policy : {expr::PolicyKind::fast, expr::PolicyKind::bounded, expr::PolicyKind::exact}) {
    settings.search.policy.kind = policy;
    const RewriteReport report = rewrite_cases(kernels, settings);
    EXPECT_FALSE(report.failed()) << rewrite_text(report);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const RewriteCase& c = report.cases[i];
      EXPECT_NE(egraph::Stop::contradiction, c.stats.stop) << c.name;
      EXPECT_EQ(0u, c.passed_over) << c.name << ": the search itself knows";
      if (kCases[i].cheaper && policy != expr::PolicyKind::exact) {
        EXPECT_LT(c.after.dag, c.before.dag) << c.name << ": " << c.result;
      }
    }
  }
}

TEST(RewriteComparison, SignsOfZerosAndNanAreToldFromWrongValues) {
  const RewriteCase unlike = compared("copysign(y, -0.0*x*x)", "copysign(y, 0*x*x)");
  EXPECT_EQ("", unlike.wrong);
  EXPECT_NE("", unlike.unlike);
  EXPECT_NE("", compared("select(0*log(x) < 1, x, y)", "y").wrong) << "also wrong where there is no NaN";
}

RewriteReport rewritten(const char* text, RewriteSettings settings = {},
                        expr::PolicyKind policy = expr::PolicyKind::fast) {
  const auto cases = corpus::parse_corpus(text, "r.txt");
  EXPECT_TRUE(cases.ok()) << cases.error().message;
  settings.search.policy.kind = policy;
  settings.points = 100;
  return rewrite_cases(*cases, settings);
}

TEST(Rewriting, AssumptionsOpenRulesAndBrokenCasesFailAlone) {
  const RewriteReport report = rewritten(
      "free | s | f |  | (div x x)\nassumed | s | f | x!=0 | (div x x)\nbad | s | f | | (sine x)\n"
      "root | s | f | x>0 | (sqrt (mul x x))\n");
  ASSERT_EQ(4u, report.cases.size());
  // The costs of a number and of a variable are nothing.
  EXPECT_EQ("", report.cases[1].failure);
  EXPECT_EQ(0, report.cases[1].after.dag) << report.cases[1].result;
  EXPECT_NE(std::string::npos, report.cases[2].failure.find("sine")) << report.cases[2].failure;
  EXPECT_EQ(0, report.cases[3].after.dag) << report.cases[3].result;
  EXPECT_EQ("", report.cases[1].wrong + report.cases[3].wrong);
  EXPECT_TRUE(report.failed());
}

TEST(Rewriting, WhatIsAssumedOfNoVariableChangesNothing) {
  const RewriteReport report = rewritten(
      "all | s | f | x>=0,y<0,z!=0 | (sqrt (mul x x))\nits | s | f | x>=0 | (sqrt (mul x x))\n"
      "none | s | f | y<0 | (add 1 2)\n");
  EXPECT_FALSE(report.failed()) << rewrite_text(report);
  EXPECT_EQ(report.cases[0].result, report.cases[1].result);
  EXPECT_EQ(0, report.cases[0].after.dag) << report.cases[0].result;
}

/// Runs the interpreter on `e`, with x = `x` and fixed values for all other variables. Returns the bits.
std::vector<std::uint64_t> bits_at(const expr::Expr& e, double x) {
  expr::LowerOptions options;
  options.simplify = false;
  const auto kernel = expr::lower(e, options);
  EXPECT_TRUE(kernel.ok());
  std::vector<double> values;
  for (const expr::Variable& v : e.variables)
    values.push_back(v.name == "x" ? x : v.name == "y" ? 0x1p-600 : -v.name[0]);
  std::vector<const void*> in;
  for (const double& value : values) in.push_back(&value);
  std::vector<std::uint64_t> bits(e.outputs.size());
  std::vector<void*> out;
  for (std::uint64_t& b : bits) out.push_back(&b);
  kir::interpret(*kernel, 1, in.data(), out.data(), nullptr);
  return bits;
}

// A value above zero over the reals may be zero in f64. Oracle: the interpreter, at points that the assumptions admit.
TEST(Rewriting, ToTheBitProductsAndQuotientsOfWhatIsAboveZeroMayBeZero) {
  const char* const text =
      "mul | s | f | x>0 | (select (gt (mul x x) 0) a z)\n"
      "ne | s | f | x>0 | (select (ne 0 (mul x x)) a z)\n"
      "powi | s | f | x>0 | (select (gt (powi x 4) 0) a z)\n"
      "div | s | f | x>0 | (select (gt (div x 10) 0) a z)\n"
      "sqrt | s | f | x>0 | (select (gt (sqrt (mul x x)) 0) a z)\n"
      "fma | s | f | x>0 | (select (gt (fma x x 0) 0) a z)\n"
      "recip | s | f | x>0,y>0 | (select (gt (mul x y) 0) (div 1 (mul x y)) 0)\n"
      "small | s | f | x>0 | (select (gt x 1e-300) a z)\n"
      "below | s | f | b<0,x>0 | (select (gt (mul (neg x) x) 0) a (select (lt (mul (neg x) x) 0) b z))\n";
  const auto cases = corpus::parse_corpus(text, "r.txt");
  ASSERT_TRUE(cases.ok());
  for (const corpus::CorpusKernel& kernel : *cases) {
    const auto source = corpus::parse_definition_in_bits(kernel, ir::Type::f64);
    ASSERT_TRUE(source.ok()) << source.error().message;
    expr::rewrite::RewriteOptions options;
    options.policy.kind = expr::PolicyKind::exact;
    options.keep = 100;
    const auto found = expr::rewrite::rewrite(*source, options);
    ASSERT_TRUE(found.ok());
    for (const expr::Expr& form : found->forms)
      for (const double x : {5e-324, 1e-310, 1e-308, 1e-200, 1e-162, 0x1p-600, 0x1p-300, 1.0})
        EXPECT_EQ(bits_at(*source, x), bits_at(form, x)) << kernel.name << " at " << x;
  }
  const RewriteReport report = rewritten(text, {}, expr::PolicyKind::exact);
  for (const RewriteCase& c : report.cases) {
    EXPECT_NE(std::string::npos, c.result.find("select")) << c.name << ": " << c.result;
  }
  // The variable itself is above zero, and over the reals so is its square.
  const char* const known = "self | s | f | x>0 | (select (gt x 0) a z)\n";
  EXPECT_EQ(0, rewritten(known, {}, expr::PolicyKind::exact).cases[0].after.dag);
  for (const RewriteCase& c : rewritten(text).cases) {
    if (c.name != "below") {
      EXPECT_EQ(std::string::npos, c.result.find("select")) << c.name << ": " << c.result;
    }
  }
}

TEST(Rewriting, AFormThatOverflowsFarOutIsToldAsSuch) {
  const auto far = [](const char* source, const char* result, std::vector<expr::Variable> variables = {}) {
    const auto parse = [&](const char* text) { return expr::parse_infix(text, {.variables = variables}).value(); };
    RewriteCase c;
    EXPECT_TRUE(look_far(parse(source), parse(result), 10'000, c).ok());
    return c;
  };
  // x*x is infinite from 2^512 on: at a quarter of the exponents of f64. It is zero below 2^-538, which is finite.
  const RewriteCase above = far("x", "x*x/x");
  EXPECT_NEAR(above.not_finite_share, 0.25, 0.02);
  // ... between 2^-1022 and 2^-538, where 0/0 is NaN.
  EXPECT_NEAR(far("x", "x*x/(x*x)").not_finite_share, (512.0 + 1022 - 538) / 2046, 0.02);
  EXPECT_EQ(0, far("x", "x*x/x", {{.name = "x", .lo = -1e100, .hi = 1e100}}).not_finite_share);
  EXPECT_NE(above.not_finite_at.find("at x = "), std::string::npos) << above.not_finite_at;
  EXPECT_EQ(0, far("x*x/x", "x").not_finite_share) << "what the source lacks the form may have";
  EXPECT_EQ(0, far("x", "x + 0").not_finite_share);
  // The command says so; with a range that leaves the far points out there is nothing to say.
  const auto share = [](const char* text) {
    const RewriteReport report = rewritten(text);
    EXPECT_EQ(report.cases[0].not_finite_share > 0, rewrite_text(report).find("not finite at") != std::string::npos);
    return report.cases[0].not_finite_share;
  };
  EXPECT_GT(share("a | s | f | x>0,y>0 | (mul (sqrt x) (sqrt y))\n"), 0.1);
  EXPECT_EQ(0, share("a | s | f | x>=0.5,x<=2,y>=0.5,y<=2 | (div (exp x) (exp y))\n"));
}

TEST(Rewriting, AStepThatRoundsConstantsIsNoEquation) {
  RewriteSettings settings;
  settings.search.explain = true;
  const RewriteReport report = rewritten(
      "third | s | f |  | (add (div x 3) (mul x (div 1 3)))\n"
      "told | s | f |  | (add (mul x 0.1) (mul 3 (mul x 0.4)))\n"
      "scaled | s | f |  | (mul 2 (mul x 0.1))\n",
      settings);
  EXPECT_FALSE(report.failed()) << rewrite_text(report);
  // 2/3 is no double; 0.1 * 2 is twice the double that 0.1 is.
  ASSERT_FALSE(report.cases[0].derivation.empty());
  EXPECT_EQ(std::vector<std::string>{"0.6666666666666666"}, report.cases[0].derivation.back().rounded);
  ASSERT_FALSE(report.cases[2].derivation.empty());
  for (const DerivationLine& step : report.cases[2].derivation) EXPECT_EQ("", rounded_text(step)) << step.right;
  // The source's own constants are no roundings.
  std::vector<std::string> named;
  for (const DerivationLine& step : report.cases[1].derivation)
    named.insert(named.end(), step.rounded.begin(), step.rounded.end());
  EXPECT_FALSE(named.empty());
  for (const std::string& constant : named) EXPECT_NEAR(1.3, std::stod(constant), 1e-9) << constant;
  const std::string text = rewrite_text(report);
  EXPECT_NE(std::string::npos, text.find("  ~=  x * 0.6666666666666666  (0.6666666666666666 is rounded)\n")) << text;
  EXPECT_NE(std::string::npos, text.find("  =  x * 0.2\n")) << text;
  EXPECT_EQ(std::string::npos, text.find("=  x * 0.6666666666666666\n")) << text;
  const auto json = nlohmann::json::parse(rewrite_json(report));
  EXPECT_EQ("0.6666666666666666", json["cases"][0]["derivation"].back()["rounded"][0]);
  EXPECT_EQ("1, 2 and 3 are rounded", rounded_text({"", "", "", {"1", "2", "3"}}));
}

TEST(Rewriting, BytesPerNodeDoNotDependOnHowManyNodesThereWere) {
  RewriteSettings settings;
  settings.search.budget.nodes = 2000;
  const RewriteReport report = rewritten(
      "tiny | s | f |  | (mul x x)\n"
      "full | s | f |  | (mul (add a (mul b c)) (add b (mul c (add a d))))\n",
      settings);
  const egraph::SearchStats &tiny = report.cases[0].stats, &full = report.cases[1].stats;
  EXPECT_LT(tiny.nodes, 200u);
  EXPECT_GT(full.nodes, 2000u);
  EXPECT_NEAR(tiny.bytes_per_node, full.bytes_per_node, 0.2 * full.bytes_per_node);
  // Least size of a node, its class, three edges and its facts.
  EXPECT_GT(tiny.bytes_per_node, 16 + 4 * 4 + 3 * 4 + sizeof(egraph::Facts));
}

}  // namespace
}  // namespace trident::cli
