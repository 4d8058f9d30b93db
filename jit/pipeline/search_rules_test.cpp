// Rules of a user through the spine, true ones and false ones. Oracles: the true rule's right side, written
// by hand; the interpreter on the kernel of the unrewritten source.
#include "jit/pipeline/search_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "jit/expr/simplify.h"
#include "jit/kir/interpreter.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/key.h"
#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

using expr::Type;

/// Expression that no built-in rule turns into log(x).
constexpr std::string_view kText = "asinh((x*x - 1)/(2*x))";
constexpr std::string_view kRule =
    "asinh-log: (asinh (div (sub (mul ?a ?a) 1) (mul 2 ?a))) => (log ?a) if pos(?a) ;; ieee=round real=guard\n";

expr::Variable variable(const char* name, double lo, double hi) {
  return {name, Type::f64, expr::VariableKind::array, lo, hi};
}

expr::Expr parsed(std::string_view text, std::vector<expr::Variable> variables) {
  auto e = expr::parse_infix(text, {.type = Type::f64, .variables = std::move(variables)});
  if (!e.ok()) ADD_FAILURE() << e.error().message;
  CHECK(e.ok());
  return std::move(e).value();
}

SearchRules rules_of(std::string_view text) {
  auto rules = SearchRules::parse(text, "test.rules");
  if (!rules.ok()) ADD_FAILURE() << rules.error().message;
  CHECK(rules.ok());
  return std::move(rules).value();
}

std::vector<Form> forms_of(const expr::Expr& e, const Options& options) {
  const std::function<void(const Progress&)> nobody;
  auto made = forms(e, e, options, PassScope(options, nobody));
  CHECK(made.ok());
  return std::move(made).value();
}

double value(const kir::Kernel& kernel, double x, double y) {
  double result = 0;
  const void* in[] = {&x, &y};
  void* out[] = {&result};
  kir::interpret(kernel, 1, in, out, nullptr);
  return result;
}

bool near(double a, double b) {
  return std::fabs(a - b) <= 1e-12 * (1 + std::fabs(a)) || (std::isnan(a) && std::isnan(b));
}

TEST(SearchRules, ErrorsNameThePlace) {
  const auto bad = SearchRules::parse("a: (neg ?a) => (sine ?a) ;; ieee=round real=ok\n", "mine.rules");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message.find("mine.rules:1:"), 0u) << bad.error().message;
}

TEST(SearchRules, AreCompiledOnceForEachPolicy) {
  const SearchRules rules = rules_of(kRule);
  const auto matchers = [&](const expr::Policy& policy, std::size_t most) {
    return rules.compiled().matchers(policy, most);
  };
  std::set<std::shared_ptr<const egraph::Matcher>> all;
  for (const auto kind : {expr::PolicyKind::exact, expr::PolicyKind::bounded, expr::PolicyKind::fast}) {
    const auto first = matchers({kind, 2}, SIZE_MAX), again = matchers({kind, 4}, SIZE_MAX);
    EXPECT_EQ(first.all, again.all);
    EXPECT_EQ(first.differentiating, again.differentiating);
    EXPECT_EQ(first.all->rules().data(), rules.compiled().set().rules.data());
    EXPECT_TRUE(all.insert(first.all).second);
    EXPECT_TRUE(all.insert(matchers({kind, 2}, 3).all).second);
  }
}

TEST(Key, RulesCountByTheirText) {
  const auto e = parsed(kText, {variable("x", 2, 8)});
  const SearchRules rules = rules_of(kRule), same = rules_of(kRule);
  const SearchRules other = rules_of("gelu: (neg (neg (neg ?a))) => (neg ?a) ;; ieee=exact real=ok\n");
  const auto key = [&](const SearchRules* by) { return expr_key(e, {}, {.rules = by}); };
  std::set<image::Key> keys;
  for (const SearchRules* by : {static_cast<const SearchRules*>(nullptr), &rules, &other})
    EXPECT_TRUE(keys.insert(key(by)).second);
  EXPECT_EQ(key(&rules), key(&same));
}

/// Makes the kernel of log(x), as the search's forms are made.
kir::Kernel by_hand(const std::vector<expr::Variable>& variables, kir::math::Accuracy accuracy) {
  expr::LowerOptions how{.policy = {}, .simplify = true, .accuracy = accuracy};
  const expr::Expr log = expr::simplify(parsed("log(x)", variables), how);
  how.simplify = false;
  auto kernel = expr::lower(log, how);
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

TEST(SearchRules, MakeFormsThatTheBuiltInOnesDoNot) {
  const std::vector<expr::Variable> variables = {variable("x", 2, 8)};
  const auto e = parsed(kText, variables);
  const SearchRules rules = rules_of(kRule);
  const kir::Kernel wanted = by_hand(variables, kir::math::Accuracy::ulp4);
  const auto has_it = [&](const SearchRules* by) {
    bool has = false;
    for (const Form& form : forms_of(e, {.search = {.rules = by}})) has = has || same_kernel(form.kernel, wanted);
    return has;
  };
  EXPECT_FALSE(has_it(nullptr));
  EXPECT_TRUE(has_it(&rules));
}

TEST(SearchRules, MakeSmallStepsToo) {
  const auto e = parsed(kText, {variable("x", 2, 8)});
  const SearchRules rules = rules_of(kRule);
  std::string refined;
  // Only the source is left to start from.
  Options options{.search = {.disabled = {"identities", "contracted", "simplified", "accuracy4", "searched", "guided"},
                             .rules = &rules},
                  .trace = {.stop_after = "refine"}};
  options.trace.dump = [&](std::string_view pass, std::string_view text) {
    if (pass == "refine") refined = text;
  };
  ASSERT_TRUE(optimise(e, options).ok());
  EXPECT_EQ(refined.find(" sqrt "), std::string::npos) << refined;  // asinh has one, log none
  EXPECT_NE(refined.find("fma"), std::string::npos) << refined;
}

TEST(SearchRules, WhatTrueOnesMakeIsRight) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  const auto e = parsed(kText, {variable("x", 2, 8)});
  const SearchRules rules = rules_of(kRule);
  const auto best = optimise(e, {.search = {.rules = &rules}});
  ASSERT_TRUE(best.ok()) << best.error().message;
  if (best->outcome != Outcome::published) return;  // a busy machine
  for (double x = 2; x <= 8; x += 0x1p-6) EXPECT_TRUE(near(value(best->winner.kernel, x, 0), std::log(x))) << x;
}

struct Lie {
  const char *rule, *text;
  double x_lo, x_hi, y_lo, y_hi;
  double x, y;  ///< point at which the rule is wrong
};

constexpr Lie kLies[] = {
    {"drop: (div ?a (cosh ?b)) => ?a", "x*x/cosh(y)", -3, 3, -3, 3, 1, 1},
    {"series: (exp ?a) => (add 1 (mul ?a (add 1 (mul ?a 0.5))))", "exp(x)*y", -1e-3, 1e-3, 1, 2, 1e-3, 1},
    {"first: (max ?a ?b) => ?a", "max(x, y)*exp(y)", 0, 4, -3, 0.01, 0, 0.01},
    {"never: (select (lt ?a ?b) ?c ?d) => ?d", "select(x < 0.0001, y, exp(x)*y)", 0, 4, 1, 2, 5e-5, 2},
};

// Rules of users were checked before, but a rule that the check lets pass must not do harm either.
TEST(SearchRules, WhatFalseOnesMakeIsNotPublished) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  for (const Lie& lie : kLies) {
    const auto e = parsed(lie.text, {variable("x", lie.x_lo, lie.x_hi), variable("y", lie.y_lo, lie.y_hi)});
    const SearchRules rules = rules_of(std::string(lie.rule) + " ;; ieee=exact real=ok");
    const auto source = expr::lower(e, unrewritten({}));
    ASSERT_TRUE(source.ok());
    for (const expr::PolicyKind kind : {expr::PolicyKind::bounded, expr::PolicyKind::fast}) {
      const Options options{.target = {.policy = {kind, 2}}, .search = {.rules = &rules}};
      bool offered = false;
      for (const Form& form : forms_of(e, options))
        offered = offered || !near(value(*source, lie.x, lie.y), value(form.kernel, lie.x, lie.y));
      EXPECT_TRUE(offered) << lie.rule;
      const auto best = optimise(e, options);
      ASSERT_TRUE(best.ok()) << best.error().message;
      EXPECT_NE(best->outcome, Outcome::not_equivalent) << best->detail;
      if (best->outcome != Outcome::published) continue;
      EXPECT_TRUE(near(value(*source, lie.x, lie.y), value(best->winner.kernel, lie.x, lie.y))) << lie.rule;
      std::mt19937_64 random(7);
      std::uniform_real_distribution<double> xs(lie.x_lo, lie.x_hi), ys(lie.y_lo, lie.y_hi);
      for (int i = 0; i < 1000; ++i) {
        const double x = xs(random), y = ys(random);
        EXPECT_TRUE(near(value(*source, x, y), value(best->winner.kernel, x, y))) << lie.rule << " " << x << " " << y;
      }
    }
  }
}

}  // namespace
}  // namespace trident::pipeline
