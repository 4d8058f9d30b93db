// Oracle: the ranges as a person would write them, and what they must hold.
#include "jit/pipeline/observed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace trident::pipeline {
namespace {

expr::Expr of_type(ir::Type type) {
  expr::Expr e;
  e.variables.resize(1);
  e.variables[0].type = type;
  return e;
}

kir::Assumed of_one(ir::Type type, double lo, double hi) {
  const kir::Assumed seen[] = {{lo, hi}};
  const auto assumed = widened(of_type(type), seen);
  return assumed.empty() ? kir::Assumed{} : assumed[0];
}

void expect_range(const kir::Assumed& have, double lo, double hi) {
  EXPECT_EQ(have.lo, lo);
  EXPECT_EQ(have.hi, hi);
}

TEST(Observed, RangesAreWidenedToPowersOfTwo) {
  expect_range(of_one(ir::Type::f32, 0.0001, 0.999), 0x1p-32, 1);  // a share
  expect_range(of_one(ir::Type::f32, -0.8, 1), -1, 1);             // a cosine
  expect_range(of_one(ir::Type::f32, 0.0001, 1.001), 0x1p-32, 2);
  expect_range(of_one(ir::Type::f32, 0.0001, 0.49), 0x1p-32, 1);
  expect_range(of_one(ir::Type::f32, -3, 2.5), -4, 4);
  expect_range(of_one(ir::Type::f64, 100, 200), 64, 4096);
  expect_range(of_one(ir::Type::f64, -200, -100), -4096, -64);
  expect_range(of_one(ir::Type::i32, 0, 9), 0, 16);
  expect_range(of_one(ir::Type::f32, 0, 0), 0, 0x1p-4);
  expect_range(of_one(ir::Type::f64, 0.3, 20), 0.0625, 32);  // a thousand values spread from zero on would come nearer
  expect_range(of_one(ir::Type::f64, 0.3, 40), 0x1p-32, 64);
}

TEST(Observed, OnlyFloatsFarFromZeroAreAssumedNotToReachIt) {
  expect_range(of_one(ir::Type::f64, 0x1p-20, 1), 0x1p-32, 1);
  expect_range(of_one(ir::Type::f64, -1, -0x1p-20), -1, -0x1p-32);
  expect_range(of_one(ir::Type::f64, 0x1p-21, 1), 0, 1);
  expect_range(of_one(ir::Type::f64, 0, 1), 0, 1);
  expect_range(of_one(ir::Type::i32, 1, 100), 0, 256);
}

TEST(Observed, WhatIsNotFiniteOrTooLargeIsAnything) {
  EXPECT_TRUE(of_one(ir::Type::f32, 0, INFINITY).is_anything());
  EXPECT_TRUE(of_one(ir::Type::f32, NAN, 1).is_anything());
  EXPECT_TRUE(of_one(ir::Type::f32, 2, 1).is_anything());
  EXPECT_TRUE(of_one(ir::Type::f32, 0, 1e38).is_anything());
  EXPECT_TRUE(of_one(ir::Type::i32, 0, 2e9).is_anything());
}

TEST(Observed, NanIsAssumedBesideTheRangeOfFloatsThatItWasSeenIn) {
  const auto of_one_or_nan = [](ir::Type type, double lo, double hi) {
    const kir::Assumed seen[] = {{lo, hi, true}};
    const auto assumed = widened(of_type(type), seen);
    return assumed.empty() ? kir::Assumed{} : assumed[0];
  };
  expect_range(of_one_or_nan(ir::Type::f64, -3, 2.5), -4, 4);
  EXPECT_TRUE(of_one_or_nan(ir::Type::f64, -3, 2.5).or_nan);
  EXPECT_FALSE(of_one(ir::Type::f64, -3, 2.5).or_nan);
  EXPECT_FALSE(of_one_or_nan(ir::Type::i32, 0, 9).or_nan);
  EXPECT_FALSE(of_one_or_nan(ir::Type::f32, 0, INFINITY).or_nan);  // nothing is assumed
}

TEST(Observed, RangesHoldWhatWasSeenWithAMarginAndAreFew) {
  std::set<std::pair<double, double>> all;
  for (double most = 1e-9; most < 1e9; most *= 1.01)
    for (const double lo : {0.0, -most, -most / 3, most / 100, most / 2}) {
      const kir::Assumed range = of_one(ir::Type::f64, lo, most);
      EXPECT_LE(range.lo, lo);
      if (most > 0.75 && most <= 1)
        EXPECT_EQ(range.hi, 1);
      else
        EXPECT_GE(range.hi, 1.3 * most);
      EXPECT_TRUE(lo < 0 || range.lo >= 0);
      EXPECT_TRUE(lo <= 0 || range.lo <= 0 || range.lo <= 0.75 * lo);
      all.insert({range.lo, range.hi});
    }
  EXPECT_LE(all.size(), 115u);
}

TEST(Observed, TablesAndUnknownVariablesAreAnything) {
  expr::Expr e = of_type(ir::Type::f32);
  e.variables[0].kind = expr::VariableKind::table;
  const kir::Assumed seen[] = {{0, 1}};
  EXPECT_TRUE(widened(e, seen).empty());
  EXPECT_TRUE(widened(of_type(ir::Type::f32), {}).empty());
}

/// Only scalars of one small value that are exponents: others gain little, and change more often.
TEST(Observed, ExponentsThatNeverChangeAreAssumedToBeThatNumber) {
  const auto of_second = [](const char* text, expr::VariableKind kind, double lo, double hi) {
    const auto e = expr::parse_infix(text, {.variables = {{.name = "x", .type = ir::Type::f64},
                                                          {.name = "p", .type = ir::Type::f64, .kind = kind}}});
    EXPECT_TRUE(e.ok()) << e.error().message;
    const kir::Assumed seen[] = {{1, 2}, {lo, hi}};
    return widened(*e, seen)[1];
  };
  constexpr auto kScalar = expr::VariableKind::scalar;
  expect_range(of_second("x^p", kScalar, 2, 2), 2, 2);
  expect_range(of_second("1 + x^p", kScalar, -2.5, -2.5), -2.5, -2.5);
  expect_range(of_second("x^p", kScalar, 2, 3), 1, 4);
  expect_range(of_second("x^p", kScalar, 2.25, 2.25), 1, 4);
  expect_range(of_second("x^p", kScalar, 100, 100), 64, 256);
  expect_range(of_second("x^p", kScalar, 0, 0), 0, 0x1p-4);
  expect_range(of_second("x^p", expr::VariableKind::array, 2, 2), 1, 4);
  expect_range(of_second("p^x", kScalar, 2, 2), 1, 4);
  expect_range(of_second("x*p", kScalar, 2, 2), 1, 4);
}

TEST(Observed, ReductionsAndNumbersOfElementsAssumeRangesToo) {
  const kir::Assumed seen[] = {{0, 1}};
  for (const char* text : {"sum(x)", "2 * amax(x)", "x * f64(index)", "sin(x)"})
    EXPECT_FALSE(widened(*expr::parse(text), seen).empty()) << text;
}

}  // namespace
}  // namespace trident::pipeline
