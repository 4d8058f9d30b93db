// What lowering may leave out when ranges say that it cannot matter. Oracle: C's fmin and fmax, which give the number
// of a number and a NaN. Everything else that lowers is tested in tests/differential.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"

namespace trident::expr {
namespace {

double value(const std::string& text, double x, double y, const LowerOptions& options) {
  const auto e = parse_infix(text);
  EXPECT_TRUE(e.ok()) << text;
  const auto kernel = lower(*e, options);
  EXPECT_TRUE(kernel.ok()) << text;
  std::vector<const void*> in;
  for (const Variable& v : e->variables) in.push_back(v.name == "x" ? &x : &y);
  double out = 0;
  void* outs[] = {&out};
  kir::interpret(*kernel, 1, in.data(), outs, nullptr);
  return out;
}

TEST(Lower, MinAndMaxOfANumberAndANanAreTheNumberOnEitherSide) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  LowerOptions options[3];
  options[1].policy.kind = PolicyKind::exact;
  options[2].simplify = false;
  for (const LowerOptions& o : options) {
    for (const double x : {nan, -inf, -2.0, 1.0, 3.0, inf}) {
      for (const double y : {1.0, 2.5, nan, inf}) {
        EXPECT_TRUE(std::isnan(x) && std::isnan(y) ? std::isnan(value("min(x, y)", x, y, o))
                                                   : std::fmin(x, y) == value("min(x, y)", x, y, o))
            << x << " " << y;
        EXPECT_TRUE(std::isnan(x) && std::isnan(y) ? std::isnan(value("max(x, y)", x, y, o))
                                                   : std::fmax(x, y) == value("max(x, y)", x, y, o))
            << x << " " << y;
        // One side is known to be a number: a constant, or by its range.
        EXPECT_EQ(std::fmin(x, 2), value("min(x, 2)", x, y, o)) << x;
        EXPECT_EQ(std::fmin(2, x), value("min(2, x)", x, y, o)) << x;
        EXPECT_EQ(std::fmax(x, 2), value("max(x, 2)", x, y, o)) << x;
        EXPECT_EQ(std::fmax(2, x), value("max(2, x)", x, y, o)) << x;
        if (!(y >= 0 && y <= 4)) continue;
        EXPECT_EQ(std::fmin(x, y), value("y in [0, 4]; min(x, y)", x, y, o)) << x << " " << y;
        EXPECT_EQ(std::fmin(y, x), value("y in [0, 4]; min(y, x)", x, y, o)) << x << " " << y;
        EXPECT_EQ(std::fmax(x, y), value("y in [0, 4]; max(x, y)", x, y, o)) << x << " " << y;
        EXPECT_EQ(std::fmax(y, x), value("y in [0, 4]; max(y, x)", x, y, o)) << x << " " << y;
      }
    }
  }
}

}  // namespace
}  // namespace trident::expr
