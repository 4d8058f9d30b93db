// Contraction with care for poles. Oracle: which sums may cancel below a pole is told by hand, and so is that a
// quotient by a difference of equal products is infinite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "jit/expr/simplify.h"
#include "jit/kir/interpreter.h"

namespace trident::expr {
namespace {

kir::Kernel contracted(const char* text, Expr (*contract)(const Expr&) = contract_carefully) {
  const auto e = parse_infix(text);
  EXPECT_TRUE(e.ok()) << text;
  return *lower(contract(*e), {.policy = {}, .simplify = false});
}

/// Returns the number of sums and differences that are operations of their own.
int sums_of(const kir::Kernel& kernel) {
  return static_cast<int>(std::count_if(kernel.insts.begin(), kernel.insts.end(), [](const kir::Inst& inst) {
    return inst.op == kir::Op::Add || inst.op == kir::Op::Sub;
  }));
}

TEST(CarefulContraction, LeavesSumsThatMayCancelBelowAPole) {
  struct Case {
    const char* text;
    int all, careful;  ///< sums that are left
  };
  for (const Case& c : {Case{"x*y + z*w", 0, 0},
                        {"1/(x*y - z*w)", 0, 1},
                        {"sqrt(x*y - z*w)", 0, 1},
                        {"(x*y - z*w)^-2", 0, 1},
                        {"sqrt(1 + 1/(3*(x*y - z)))", 1, 2},
                        {"x/(1 + y*y)", 0, 0},
                        {"x/sqrt(x*x + y*y)", 0, 0},
                        {"x/(x^2 + y^2)", 1, 0},
                        {"(x*y + z)/(x*y - z*w)", 0, 1},
                        {"x in [1, 2]; y in [1, 2]; 1/(x*y + 3)", 0, 0},
                        {"x in [-1, 2]; y in [1, 2]; 1/(x*y + 3)", 0, 0},
                        {"min(x*y + z, w) + min(x, y*z + 1)", 1, 1}}) {
    EXPECT_EQ(sums_of(contracted(c.text, contract)), c.all) << c.text;
    EXPECT_EQ(sums_of(contracted(c.text)), c.careful) << c.text << kir::print(contracted(c.text));
  }
}

TEST(CarefulContraction, QuotientsByADifferenceOfEqualProductsAreInfinite) {
  const double a = 1.1, b = 1.3;
  double out = 0;
  void* outs[] = {&out};
  const void* in[] = {&a, &b, &b, &a};  // x y - z w, in the order of the text
  kir::interpret(contracted("1/(x*y - z*w)"), 1, in, outs, nullptr);
  EXPECT_TRUE(std::isinf(out)) << out;
  kir::interpret(contracted("1/(x*y - z*w)", contract), 1, in, outs, nullptr);
  EXPECT_FALSE(std::isinf(out)) << "the products have no rounding error: take others";
}

}  // namespace
}  // namespace trident::expr
