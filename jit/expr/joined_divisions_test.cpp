// One division for two. Oracle: long double. Which divisions join is told by hand.
#include "jit/expr/joined_divisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "jit/expr/simplify.h"
#include "jit/kir/interpreter.h"

namespace trident::expr {
namespace {

struct Case {
  const char* text;
  long double (*value)(long double x, long double y, long double z);
  int apart, joined;  ///< divisions of elements before and after
  double units;       ///< the greatest error, in halves of an ulp of 1
};

constexpr const char* kRanges = "x in [0.5, 9]; y in [-8, -0.25]; z in [0.125, 30]; ";

int divisions_of(const kir::Kernel& kernel) {
  return static_cast<int>(std::count_if(kernel.insts.begin(), kernel.insts.end(), [](const kir::Inst& inst) {
    return inst.op == kir::Op::Div && inst.section == kir::Section::body;
  }));
}

kir::Kernel lowered(const std::string& text, bool join) {
  const auto e = parse_infix(text);
  EXPECT_TRUE(e.ok()) << text;
  LowerOptions how;
  how.join_divisions = join;
  const Expr simple = simplify(*e, how);
  how.simplify = false;
  return *lower(simple, how);
}

void expect_values(const Case& c, const kir::Kernel& kernel) {
  std::mt19937_64 random(1);
  const auto draw = [&](double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(random); };
  for (int i = 0; i < 2000; ++i) {
    const double x = draw(0.5, 9), y = draw(-8, -0.25), z = draw(0.125, 30);
    std::vector<const void*> in;
    for (const auto& input : kernel.inputs) in.push_back(input.name == "x" ? &x : input.name == "y" ? &y : &z);
    double out = 0;
    void* outs[] = {&out};
    kir::interpret(kernel, 1, in.data(), outs, nullptr);
    const long double want = c.value(x, y, z);
    ASSERT_LE(std::fabs(static_cast<double>((out - want) / want)), c.units * 0x1p-53) << c.text << kir::print(kernel);
  }
}

TEST(JoinDivisions, OneDivisionForTwoWithinTheUnitsOfItsRoundings) {
  const Case cases[] = {
      {"1/x + 2/z", [](auto x, auto, auto z) { return 1 / x + 2 / z; }, 2, 1, 6},
      {"sqrt(x/z) + 2/sqrt(z)", [](auto x, auto, auto z) { return std::sqrt(x / z) + 2 / std::sqrt(z); }, 2, 1, 8},
      {"x/(x + z) + z/(1 + z)", [](auto x, auto, auto z) { return x / (x + z) + z / (1 + z); }, 2, 1, 8},
      // Roundings that a difference may amplify are corrected.
      {"exp(x/z - z/(1 + x))", [](auto x, auto, auto z) { return std::exp(x / z - z / (1 + x)); }, 2, 1, 600},
      // A divisor that needs the other quotient, one of no element, and the third of three stay.
      {"x/(1 + z/x)", [](auto x, auto, auto z) { return x / (1 + z / x); }, 2, 2, 6},
      {"x/(1 + x) + x/(2 + z) + z/(3 + z)",
       [](auto x, auto, auto z) { return x / (1 + x) + x / (2 + z) + z / (3 + z); }, 3, 2, 10},
  };
  for (const Case& c : cases) {
    const kir::Kernel apart = lowered(std::string(kRanges) + c.text, false);
    const kir::Kernel joined = lowered(std::string(kRanges) + c.text, true);
    EXPECT_EQ(divisions_of(apart), c.apart) << c.text << kir::print(apart);
    EXPECT_EQ(divisions_of(joined), c.joined) << c.text << kir::print(joined);
    expect_values(c, joined);
  }
}

TEST(JoinDivisions, NothingJoinsWhereRangesDoNotTellThatTheProductIsNormal) {
  for (const char* text : {"x/(1 + y*y) + y/(2 + x*x)", "x in [0, 1]; y in [1, 2]; 1/x + 1/y",
                           "x in [1, 1e300]; y in [1, 1e300]; 1/x + 1/y"})
    EXPECT_EQ(divisions_of(lowered(text, true)), divisions_of(lowered(text, false))) << text;
}

}  // namespace
}  // namespace trident::expr
