// Oracles: MPFR for values, the interpreter for those that depend on reductions; costs of terms worked out by hand.
#include "jit/expr/rewrite/regions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "jit/expr/rewrite/rewrite.h"
#include "jit/kir/interpreter.h"
#include "tests/support/mpfr_evaluator.h"

namespace trident::expr::rewrite {
namespace {

std::string texts_of(int count, const char* between, const std::function<std::string(int)>& part) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : between) + part(i);
  return text;
}
std::string numbered(const char* stem, int i) {
  return stem + std::to_string(i);
}

/// u*x + u*y for many u: each is one product and one sum when x + y is shared.
std::string factors() {
  return texts_of(60, " + ", [](int i) { return numbered("u", i) + "*x + " + numbered("u", i) + "*y"; });
}

std::vector<std::string> large_texts() {
  return {
      factors(),
      // Values pass through all regions.
      "t0 = x; " + texts_of(40, "; ",
                            [](int i) {
                              return numbered("t", i + 1) + " = 0.5*(x*" + numbered("t", i) + " + y*" +
                                     numbered("t", i) + ")/(2 + x*x + y*y)";
                            }),
      // Many values cross every border, and there are many outputs.
      texts_of(12, "; ", [](int i) { return numbered("a", i) + " = (x + " + std::to_string(i) + ")*(x - y)"; }) +
          "; a0 + a1, " +
          texts_of(60, ", ",
                   [](int i) {
                     const std::string common = std::to_string(i + 2) + "*" + numbered("a", i % 12) + "*";
                     return numbered("o", i) + " = " + common + numbered("a", (i * 5) % 12) + " + " + common +
                            numbered("a", (i * 7 + 1) % 12);
                   }),
      // Borders stand between values known before the loop, too.
      "param p, param q; " + texts_of(40, " + ",
                                      [](int i) {
                                        return "(p*" + std::to_string(i + 2) + " + q*" + std::to_string(i + 2) +
                                               ")*(x*y + x*" + std::to_string(i) + ")";
                                      }),
      // A mask decides between two large parts.
      "x < y ? " + texts_of(30, " + ", [](int i) { return "x*y*" + std::to_string(i + 1) + " - x*y*x"; }) + " : " +
          texts_of(30, " + ", [](int i) { return "(y + " + std::to_string(i) + ")*(y + x)"; }),
  };
}

void expect_same_value(const Expr& source, const Expr& form) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20; ++i) {
    std::vector<double> at;
    for (std::size_t v = 0; v < source.variables.size(); ++v)
      at.push_back(static_cast<double>(random() % 4001) / 1000 - 2);
    const auto expected = testing::evaluate_real(source, at, 300), actual = testing::evaluate_real(form, at, 300);
    ASSERT_EQ(expected.size(), actual.size());
    for (std::size_t o = 0; o < expected.size(); ++o)
      ASSERT_LE(std::fabs(expected[o] - actual[o]), 1e-9L * (1 + std::fabs(expected[o]))) << "output " << o;
  }
}

RewriteOptions options_for(PolicyKind kind) {
  RewriteOptions options;
  options.policy.kind = kind;
  options.budget.graph_nodes = 30'000;
  return options;
}

TEST(Regions, FormsMeanTheSameOverTheReals) {
  std::size_t forms = 0;
  for (const std::string& text : large_texts())
    for (const PolicyKind kind : {PolicyKind::bounded, PolicyKind::fast}) {
      const auto source = parse_infix(text);
      ASSERT_TRUE(source.ok()) << source.error().message;
      ASSERT_GT(inner_nodes(*source), kWholeNodesMax);
      const auto found = rewrite(*source, options_for(kind));
      ASSERT_TRUE(found.ok());
      EXPECT_FALSE(found->forms.empty()) << text;
      for (const Expr& form : found->forms) {
        ASSERT_TRUE(check(form).ok());
        ASSERT_NO_FATAL_FAILURE(expect_same_value(*source, form)) << text;
        ++forms;
      }
    }
  EXPECT_GE(forms, 10u);
}

// 120 products and 119 sums become 60 products and 60 sums. The whole is too large for one graph of this budget.
TEST(Regions, WhatOneGraphHasNoRoomForIsFound) {
  const auto source = parse_infix(factors());
  ASSERT_TRUE(source.ok());
  const egraph::CostModel costs = default_costs();
  const auto found = rewrite(*source, options_for(PolicyKind::bounded));
  ASSERT_TRUE(found.ok());
  ASSERT_FALSE(found->forms.empty());
  EXPECT_LT(cost_of(found->forms[0], costs)->dag, 0.6 * cost_of(*source, costs)->dag);
}

// No piece: the source. All pieces: cheaper. Any of them: the same value.
TEST(Regions, AnyPiecesFitTogether) {
  const egraph::CostModel costs = default_costs();
  std::mt19937_64 random(3);
  for (const std::string& text : large_texts()) {
    const auto source = parse_infix(text);
    ASSERT_TRUE(source.ok());
    const auto found = rewrite(*source, options_for(PolicyKind::bounded));
    ASSERT_TRUE(found.ok());
    const Pieces& pieces = found->pieces;
    ASSERT_GE(pieces.count, 1u) << text;
    std::vector<bool> renewed(pieces.count, false);
    const auto none = pieces.form(renewed);
    ASSERT_TRUE(none);
    EXPECT_NEAR(cost_of(*none, costs)->dag, cost_of(*source, costs)->dag, 1e-6);
    for (int i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < renewed.size(); ++k) renewed[k] = random() % 2 == 0;
      const auto some = pieces.form(renewed);
      ASSERT_TRUE(some);
      ASSERT_NO_FATAL_FAILURE(expect_same_value(*source, *some)) << text;
    }
    const auto all = pieces.form(std::vector<bool>(pieces.count, true));
    ASSERT_TRUE(all);
    EXPECT_LT(cost_of(*all, costs)->dag, cost_of(*source, costs)->dag);
  }
}

TEST(Regions, BudgetsHoldForAllRegionsTogether) {
  for (const std::string& text : large_texts()) {
    const auto source = parse_infix(text);
    ASSERT_TRUE(source.ok());
    RewriteOptions options = options_for(PolicyKind::bounded);
    options.budget.applications = 3'000, options.budget.graph_nodes = 4'000;
    const auto found = rewrite(*source, options);
    ASSERT_TRUE(found.ok());
    EXPECT_LE(found->stats.applications, 3'000u);
    EXPECT_LE(found->stats.nodes, 4'000u);
  }
}

TEST(Regions, TheSameEveryTime) {
  const auto source = parse_infix(large_texts()[2]);
  ASSERT_TRUE(source.ok());
  const auto first = rewrite(*source, options_for(PolicyKind::bounded));
  const auto second = rewrite(*source, options_for(PolicyKind::bounded));
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_EQ(first->forms.size(), second->forms.size());
  for (std::size_t i = 0; i < first->forms.size(); ++i)
    EXPECT_EQ(canonical_bytes(first->forms[i]), canonical_bytes(second->forms[i]));
}

// Regions above and below a reduction, and beside it.
TEST(Regions, ValuesBehindTheLoopStayThere) {
  const std::string terms = texts_of(
      40, " + ", [](int i) { return "(x*" + std::to_string(i + 1) + " + y*" + std::to_string(i + 1) + ")*x"; });
  const auto source = parse_infix("s = sum(" + terms + "); s*2 + s*s, e = " + terms);
  ASSERT_TRUE(source.ok()) << source.error().message;
  const auto found = rewrite(*source, options_for(PolicyKind::bounded));
  ASSERT_TRUE(found.ok());
  ASSERT_FALSE(found->forms.empty());
  constexpr std::size_t kN = 50;
  std::vector<double> x(kN), y(kN);
  for (std::size_t i = 0; i < kN; ++i)
    x[i] = 0.1 + 0.01 * static_cast<double>(i), y[i] = 1 - 0.02 * static_cast<double>(i);
  const auto values = [&](const Expr& e) {
    const auto kernel = lower(e, {.policy = {}, .simplify = false});
    EXPECT_TRUE(kernel.ok());
    std::vector<double> results(1 + kN);
    const void* in[] = {x.data(), y.data()};
    void* out[] = {results.data(), results.data() + 1};
    kir::interpret(*kernel, kN, in, out, nullptr);
    return results;
  };
  const std::vector<double> expected = values(*source);
  for (const Expr& form : found->forms) {
    const std::vector<double> actual = values(form);
    for (std::size_t i = 0; i <= kN; ++i) EXPECT_NEAR(actual[i], expected[i], 1e-9 * std::fabs(expected[i]));
  }
}

}  // namespace
}  // namespace trident::expr::rewrite
