// The facts of ops.def, each against what it says: values computed at some hundred points, or a property of the row.
#include "jit/expr/ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "jit/expr/op_values.h"

namespace trident::expr {
namespace {

std::vector<Op> ops_where(bool (*which)(const OpInfo&)) {
  std::vector<Op> ops;
  for (std::uint32_t i = 0; i < kOpCount; ++i)
    if (which(kOpInfos[i])) ops.push_back(static_cast<Op>(i));
  return ops;
}
std::vector<Op> real_ops() {
  return ops_where([](const OpInfo& row) { return row.is_real; });
}
std::vector<Op> real_ops_of_one() {
  return ops_where([](const OpInfo& row) { return row.is_real && row.arity == 1; });
}
std::string name(Op op) {
  return std::string(info(op).text);
}

/// The value; of Powi the cube, and third operands are one.
double value(Op op, double a, double b = 1) {
  return evaluate(real_op(op), 3, a, b, 1.0);
}
bool same(double x, double y) {
  return x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= 1e-14 * std::fabs(y);
}

std::vector<double> points() {
  std::vector<double> list;
  for (int i = 1; i <= 60; ++i) list.push_back(i * 0.0873);
  for (const double x : {1e-6, 1e-3, 0.5, 1.0, 1.5, 2.5, 7.0, 30.25, 100.5}) list.push_back(x);
  const std::size_t count = list.size();
  for (std::size_t i = 0; i < count; ++i) list.push_back(-list[i]);
  return list;
}

TEST(Ops, ParityIsThatOfTheValues) {
  for (const Op op : real_ops()) {
    if (op == Op::Powi) continue;  // by its exponent
    bool odd = true, even = true;
    for (const double x : points())
      for (const double y : {0.75, 3.0}) {
        const double v = value(op, x, y), left = value(op, -x, y), right = value(op, x, -y);
        odd = odd && same(left, -v) && (info(op).arity == 1 || same(right, -v));
        even = even && same(left, v) && (info(op).arity == 1 || same(right, v));
      }
    EXPECT_EQ(info(op).parity, odd ? Parity::odd : even ? Parity::even : Parity::neither) << name(op);
  }
}

TEST(Ops, CommutingIsThatOfTheValues) {
  for (const Op op : real_ops()) {
    if (info(op).arity < 2) continue;
    bool commutes = true;
    for (const double x : points())
      for (const double y : points()) commutes = commutes && same(value(op, x, y), value(op, y, x));
    EXPECT_EQ(commutes, info(op).commutes != Commutes::no) << name(op);
  }
  for (const Op op : {Op::Min, Op::Max, Op::Hypot}) EXPECT_EQ(info(op).commutes, Commutes::over_reals) << name(op);
}

TEST(Ops, DomainIsWhereTheValueIsANumber) {
  for (const Op op : real_ops_of_one()) {
    const Domain domain = info(op).domain;
    for (const double x : points()) {
      const bool inside = domain == Domain::from_zero        ? x >= 0
                          : domain == Domain::from_minus_one ? x >= -1
                          : domain == Domain::within_one     ? std::fabs(x) <= 1
                          : domain == Domain::from_one       ? x >= 1
                                                             : true;
      EXPECT_EQ(!std::isnan(value(op, x)), inside) << name(op) << " at " << x;
    }
  }
}

/// Whether values rise or fall throughout: NaN is left out, and so is what rounding may do.
bool goes_one_way(const std::vector<double>& values) {
  bool rises = true, falls = true;
  for (std::size_t i = 1; i < values.size(); ++i) {
    rises = rises && values[i] >= values[i - 1] - 1e-14 * std::fabs(values[i]);
    falls = falls && values[i] <= values[i - 1] + 1e-14 * std::fabs(values[i]);
  }
  return rises || falls;
}

TEST(Ops, CourseIsThatOfTheValues) {
  std::vector<double> ascending = points();
  std::sort(ascending.begin(), ascending.end());
  for (const Op op : real_ops()) {
    if (op == Op::Powi) continue;  // by its exponent
    bool one_way = true;
    for (const double other : {-3.0, -0.5, 0.75, 2.0}) {
      std::vector<double> first, second;
      for (const double x : ascending) {
        if (info(op).parity == Parity::even && x < 0) continue;
        if (!std::isnan(value(op, x, other))) first.push_back(value(op, x, other));
        if (!std::isnan(value(op, other, x))) second.push_back(value(op, other, x));
      }
      one_way = one_way && goes_one_way(first) && (info(op).arity == 1 || goes_one_way(second));
    }
    const Course course = !one_way ? Course::Other : info(op).arity == 1 ? Course::Ends : Course::Corners;
    EXPECT_EQ(info(op).course, course) << name(op);
  }
}

TEST(Ops, PolesAndSteepPlacesAreAtZero) {
  for (const Op op : real_ops_of_one()) {
    const double at = value(op, 0.0), near = value(op, 1e-12);
    const bool pole = std::isinf(at);
    const bool steep = !pole && std::fabs(near - at) > 1e-12 * 1e3 && !is_step(op);
    const AtZero means = pole ? AtZero::pole : steep ? AtZero::steep : AtZero::regular;
    if (std::isnan(at)) continue;
    EXPECT_EQ(info(op).at_zero, means) << name(op);
  }
}

TEST(Ops, ZerosAreWhereTheRowSays) {
  for (const Op op : real_ops_of_one()) {
    const Zeros zeros = info(op).zeros;
    if (zeros == Zeros::elsewhere) continue;
    for (const double x : points()) {
      const double v = value(op, x);
      EXPECT_EQ(v == 0, zeros == Zeros::at_one && x == 1) << name(op) << " at " << x;
    }
    EXPECT_EQ(value(op, 0.0) == 0, zeros == Zeros::with_operand) << name(op);
  }
}

TEST(Ops, WhatReadsTheSignOfAZeroDiffersByIt) {
  for (const Op op : real_ops()) {
    if (op == Op::Powi) continue;  // by its exponent
    const auto shows = [](double x, double y) {
      return (x != y && !(std::isnan(x) && std::isnan(y))) || (x != 0 && std::signbit(x) != std::signbit(y));
    };
    bool first = false, second = false;
    for (const double y : {-3.0, -1.0, 0.0, 2.0}) {
      first = first || shows(value(op, 0.0, y), value(op, -0.0, y));
      if (info(op).arity > 1) second = second || shows(value(op, y, 0.0), value(op, y, -0.0));
    }
    EXPECT_EQ(reads_zero_sign_of_first(op), first) << name(op);
    EXPECT_EQ(reads_zero_sign_of_second(op), second) << name(op);
  }
}

TEST(Ops, NothingNegativeComesOfWhatIsNeverNegative) {
  for (const Op op : real_ops()) {
    bool negative = false;
    for (const double x : points())
      for (const double y : {-1.5, 1.5}) negative = negative || value(op, x, y) < 0;
    EXPECT_TRUE(!negative || !has(op, kNeverNegative)) << name(op);
  }
}

TEST(Ops, WhatIsLikeItsOperandIsTangentToIt) {
  for (const Op op : real_ops_of_one()) {
    bool tangent = true;
    for (const double x : {1e-7, -1e-7}) tangent = tangent && std::fabs(value(op, x) / x - 1) < 1e-6;
    EXPECT_EQ(has(op, kLikeOperand), tangent) << name(op);
  }
}

TEST(Ops, ConditionNumbersAreSmallAsFarAsTheRowSays) {
  for (const Op op : real_ops_of_one()) {
    const double bound = info(op).well_conditioned_to;
    if (bound == 0 || is_step(op)) continue;
    for (const double x : points()) {
      if (std::fabs(x) > bound || std::fabs(x) < 1e-5 || std::isnan(value(op, x)) || value(op, x) == 0) continue;
      const double h = std::fabs(x) * 1e-6;
      const double slope = (value(op, x + h) - value(op, x - h)) / (2 * h);
      EXPECT_LT(std::fabs(x * slope / value(op, x)), 2.5) << name(op) << " at " << x;
    }
  }
}

TEST(Ops, WhatSaturatesIsFlatFarOut) {
  for (const Op op : real_ops_of_one()) {
    if (is_step(op)) continue;
    bool flat = true;
    for (const double x : {200.0, -200.0}) {
      const auto here = static_cast<float>(value(op, x)), there = static_cast<float>(value(op, 1.01 * x));
      flat = flat && (here == there || std::fabs(here / there - 1) < 1e-4F);
    }
    EXPECT_EQ(has(op, kSaturates), flat) << name(op);
  }
}

TEST(Ops, PeriodsAreTwoPi) {
  const double period = 8 * std::atan(1.0);
  for (const Op op : real_ops_of_one()) {
    bool periodic = !is_step(op);
    for (double x = 0.1; x < 3; x += 0.1) {
      const double v = value(op, x);
      periodic = periodic && std::fabs(value(op, x + period) - v) < 1e-12 * (1 + v * v);
    }
    EXPECT_EQ(has(op, kPeriodic), periodic) << name(op);
  }
}

TEST(Ops, StepsAreWhatJumps) {
  for (const Op op : real_ops_of_one()) {
    double greatest = 0;
    for (double x = -3; x <= 3; x += 0.5) {
      const double jump = std::fabs(value(op, x + 1e-9) - value(op, x - 1e-9));
      if (std::isfinite(jump) && info(op).at_zero != AtZero::pole) greatest = std::max(greatest, jump);
    }
    EXPECT_EQ(is_step(op), greatest > 0.5) << name(op);
  }
}

TEST(Ops, ComparisonsHoldForTheOutcomesThatTheRowNames) {
  const double nan = std::nan("");
  const auto test = [&](Op op, bool (*compare)(double, double)) {
    for (const auto& [x, y] : {std::pair(1.0, 2.0), std::pair(2.0, 2.0), std::pair(3.0, 2.0), std::pair(nan, 2.0)})
      EXPECT_EQ(holds(op, outcome_of(x < y, x == y, !std::isnan(x))), compare(x, y))
          << name(op) << " " << x << " " << y;
  };
  test(Op::Lt, [](double x, double y) { return x < y; });
  test(Op::Le, [](double x, double y) { return x <= y; });
  test(Op::Gt, [](double x, double y) { return x > y; });
  test(Op::Ge, [](double x, double y) { return x >= y; });
  test(Op::Eq, [](double x, double y) { return x == y; });
  test(Op::Ne, [](double x, double y) { return x != y; });
  for (const Op op : ops_where([](const OpInfo& row) { return row.signature != Signature::Compare; }))
    EXPECT_EQ(info(op).holds, 0) << name(op);
}

TEST(Ops, OperatorsHaveASymbolAndALevelOrNeither) {
  std::set<std::pair<std::string_view, Level>> seen;
  for (std::uint32_t i = 0; i < kOpCount; ++i) {
    const OpInfo& row = kOpInfos[i];
    EXPECT_EQ(row.symbol.empty(), row.level == Level::primary) << row.text;
    EXPECT_TRUE(row.symbol.empty() || seen.insert({row.symbol, row.level}).second) << row.text;
  }
}

}  // namespace
}  // namespace trident::expr
