// Factors that sums take up. Oracles: long double, and numbers of operations that are counted by hand.
#include "jit/expr/absorbed_constants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "jit/expr/simplify.h"
#include "jit/kir/interpreter.h"

namespace trident::expr {
namespace {

using Value = long double (*)(long double x, long double y);

struct SumCase {
  const char* text;
  Value value;
  int operations;  ///< of elements
  double size;     ///< of the greatest term that is rounded
};

kir::Kernel simplified(const std::string& text, Policy policy = {}) {
  const auto e = parse_infix(text);
  EXPECT_TRUE(e.ok()) << text;
  LowerOptions how{.policy = policy};
  const Expr simple = simplify(*e, how);
  how.simplify = false;
  return *lower(simple, how);
}

int operations_of(const kir::Kernel& kernel) {
  return static_cast<int>(std::count_if(kernel.insts.begin(), kernel.insts.end(), [](const kir::Inst& inst) {
    return inst.section == kir::Section::body && inst.op != kir::Op::Input && inst.op != kir::Op::Constant;
  }));
}

void expect_sums(const SumCase& c, const kir::Kernel& kernel) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const double x = std::uniform_real_distribution<double>(-2, 3)(random);
    const double y = std::uniform_real_distribution<double>(0.5, 2)(random);
    std::vector<const void*> in;
    for (const auto& input : kernel.inputs) in.push_back(input.name == "x" ? &x : &y);
    double out = 0;
    void* outs[] = {&out};
    kir::interpret(kernel, 1, in.data(), outs, nullptr);
    ASSERT_NEAR(out, static_cast<double>(c.value(x, y)), c.size * 0x1p-52) << c.text << kir::print(kernel);
  }
}

TEST(AbsorbConstants, SumsTakeUpFactorsWithoutAnyRange) {
  const SumCase cases[] = {
      {"(x + 2)*0.3", [](auto x, auto) { return (x + 2) * 0.3L; }, 1, 3},
      {"(x - 7)*-11", [](auto x, auto) { return (x - 7) * -11; }, 1, 200},
      {"(4 + 3*x*x*(x - 2))/6", [](auto x, auto) { return (4 + 3 * x * x * (x - 2)) / 6; }, 3, 8},
      {"((5*x + 3)*x + 2)*0.1", [](auto x, auto) { return ((5 * x + 3) * x + 2) * 0.1L; }, 2, 10},
      {"(3/y + 1)*0.7", [](auto, auto y) { return (3 / y + 1) * 0.7L; }, 2, 8},
      {"y*0.9*(x - 1.5)", [](auto x, auto y) { return y * 0.9L * (x - 1.5L); }, 2, 10},
      {"y*(x - 1.5)*0.9", [](auto x, auto y) { return y * 0.9L * (x - 1.5L); }, 2, 10},
      {"-0.25*(y*(x - 1.5) + 1)", [](auto x, auto y) { return -0.25L * (y * (x - 1.5L) + 1); }, 2, 8},
  };
  for (const SumCase& c : cases) {
    const kir::Kernel kernel = simplified(c.text);
    EXPECT_EQ(operations_of(kernel), c.operations) << c.text << kir::print(kernel);
    expect_sums(c, kernel);
  }
}

/// Texts with one operation more than if a factor were taken up.
TEST(AbsorbConstants, WhatMayGoWrongStays) {
  const std::pair<const char*, int> cases[] = {
      {"sqrt((x + 2)*0.3)", 3},       // it may be zero, and then be less
      {"1/((x + 2)*0.3)", 3},         // likewise
      {"t = x + 2; t*0.3 + t*y", 3},  // others need the sum
      {"(y*x + 2)*7", 2},             // nothing takes up the factor
      {"y*3*(x - 1.5)", 3},           // 3 x may overflow where y is small
      {"(x*5 + y*3)*0.7", 3},         // both products may underflow
      {"(3*x - 1)*0.3*y", 3},         // 3 x may overflow where y is 0
      {"x*(y + 1)*0.3*y", 4},         // likewise
      {"(x + 2)*1e280", 2},           // 2e280 is not far from overflow
  };
  for (const auto& [text, operations] : cases) {
    const kir::Kernel kernel = simplified(text);
    EXPECT_EQ(operations_of(kernel), operations) << text << kir::print(kernel);
  }
  EXPECT_EQ(operations_of(simplified("(x + 2)*0.3", {.kind = PolicyKind::exact})), 2);
}

TEST(AbsorbConstants, RangesAllowMore) {
  const SumCase cases[] = {
      {"y*3*(x - 1.5)", [](auto x, auto y) { return y * 3 * (x - 1.5L); }, 2, 30},
      {"(x*5 + y*3)*0.7", [](auto x, auto y) { return (x * 5 + y * 3) * 0.7L; }, 2, 20},
      {"sqrt((y + 2)*0.3)", [](auto, auto y) { return std::sqrt((y + 2) * 0.3L); }, 2, 2},
  };
  for (const SumCase& c : cases) {
    const kir::Kernel kernel = simplified(std::string("x in [-2, 3]; y in [0.5, 2]; ") + c.text);
    EXPECT_EQ(operations_of(kernel), c.operations) << c.text << kir::print(kernel);
    expect_sums(c, kernel);
  }
}

}  // namespace
}  // namespace trident::expr
