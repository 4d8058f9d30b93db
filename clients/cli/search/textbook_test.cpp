// Oracle: sums by hand over the reference costs (jit/expr/rewrite/costs.h), and difference quotients.
#include "clients/cli/search/textbook.h"

#include <gtest/gtest.h>

#include <cmath>

#include "jit/expr/rewrite/costs.h"
#include "jit/kir/interpreter.h"

namespace trident::cli {
namespace {

namespace rw = expr::rewrite;

expr::Expr textbook_of(const char* text) {
  const auto source = expr::parse(text);
  EXPECT_TRUE(source.ok()) << text;
  auto made = textbook_derivatives(*source);
  EXPECT_TRUE(made.ok()) << text;
  EXPECT_TRUE(expr::check(*made).ok()) << text;
  return *made;
}

rw::TermCost cost_of(const char* text) {
  return rw::cost_of(textbook_of(text), rw::reference_costs()).value();
}

double value_at(const expr::Expr& e, double x) {
  const auto kernel = expr::lower(e, {});
  EXPECT_TRUE(kernel.ok());
  const std::vector<const void*> in(kernel->inputs.size(), &x);
  double y = 0;
  void* out[] = {&y};
  kir::interpret(*kernel, 1, in.data(), out, nullptr);
  return y;
}

TEST(Textbook, CostsOfPublishedFigures) {
  // 1 sin x + x (cos x 1): sin and cos 40 each, three products and a sum at 4 each; nothing is shared.
  const rw::TermCost product = cost_of("(d x (mul x (sin x)))");
  EXPECT_EQ(96, product.tree);
  EXPECT_EQ(96, product.dag);
  // (cos(x x) (1 x + x 1)) exp(-x) + sin(x x) (exp(-x) (-1)): 60 + 31 + 4 + 44 + 36 + 4 + 4. Shared: x x, the two
  // orders of 1 x, and exp(-x), 39 in all.
  const rw::TermCost chain = cost_of("(d x (mul (sin (mul x x)) (exp (neg x))))");
  EXPECT_EQ(183, chain.tree);
  EXPECT_EQ(144, chain.dag);
}

TEST(Textbook, WhatHasNoDerivativeStaysAsItIs) {
  const rw::TermCost plain = cost_of("(add (mul a b) (mul a c))");
  EXPECT_EQ(12, plain.tree);
  EXPECT_EQ(12, plain.dag);
}

// Tries each rule of the table, and one (erf) that is left to the other way.
TEST(Textbook, DerivativesHaveTheValueOfTheDifferenceQuotient) {
  const char* const bodies[] = {"(add x (mul x x))",
                                "(sub (mul x x) x)",
                                "(mul x (sin x))",
                                "(div (sin x) x)",
                                "(neg (mul x x))",
                                "(sin (mul x x))",
                                "(cos (mul 2 x))",
                                "(exp (mul x x))",
                                "(log (add x 1))",
                                "(sqrt (add x 1))",
                                "(tan (div x 3))",
                                "(tanh (mul x x))",
                                "(sinh (mul 2 x))",
                                "(cosh (mul 2 x))",
                                "(pow (add x 1) 3)",
                                "(erf (mul x x))",
                                "(sin (exp (cos (sqrt x))))",
                                "(mul 3 (pow x -2))"};
  for (const char* body : bodies) {
    const std::string text = "(d x " + std::string(body) + ")";
    const expr::Expr made = textbook_of(text.c_str());
    const auto source = expr::parse(body);
    ASSERT_TRUE(source.ok());
    for (const double x : {0.4, 0.9, 1.7}) {
      const auto central = [&](double h) { return (value_at(*source, x + h) - value_at(*source, x - h)) / (2 * h); };
      const double right = (4 * central(0x1p-9) - central(0x1p-8)) / 3;
      EXPECT_NEAR(right, value_at(made, x), 1e-6 * (1 + std::fabs(right))) << text << " at " << x;
    }
  }
}

}  // namespace
}  // namespace trident::cli
