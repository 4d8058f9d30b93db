// Oracle: ranges that are written down.
#include "clients/c/observation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace trident::client {
namespace {

expr::Variable variable(ir::Type type, expr::VariableKind kind = expr::VariableKind::array) {
  expr::Variable v;
  v.type = type;
  v.kind = kind;
  return v;
}

TEST(Observation, EachVariableHasTheRangeOfItsArgument) {
  const float x[] = {1, -2, 0.5F};
  const std::int64_t n[] = {7, 9, 8};
  const double table[] = {1, 2, 3};
  const float nan[] = {1, NAN, 2};
  std::uint64_t scalar = 0;
  const double a = -3.5;
  std::memcpy(&scalar, &a, sizeof a);
  const std::vector<expr::Variable> variables = {
      variable(ir::Type::f32), variable(ir::Type::f64, expr::VariableKind::scalar),
      variable(ir::Type::f64, expr::VariableKind::table), variable(ir::Type::i64), variable(ir::Type::f32)};
  const void* const in[] = {x, table, n, nan};
  const auto ranges = ranges_of(variables, 3, in, &scalar);
  ASSERT_EQ(ranges.size(), 5u);
  EXPECT_EQ(ranges[0].lo, -2);
  EXPECT_EQ(ranges[0].hi, 1);
  EXPECT_EQ(ranges[1].lo, -3.5);
  EXPECT_EQ(ranges[1].hi, -3.5);
  EXPECT_EQ(ranges[2].hi, INFINITY);
  EXPECT_EQ(ranges[3].lo, 7);
  EXPECT_EQ(ranges[3].hi, 9);
  EXPECT_EQ(ranges[4].lo, 1);
  EXPECT_EQ(ranges[4].hi, 2);
  for (std::size_t v = 0; v < ranges.size(); ++v) EXPECT_EQ(ranges[v].or_nan, v == 4) << v;
}

TEST(Observation, NanAloneHasNoRange) {
  const double x[] = {NAN, -NAN};
  const void* const in[] = {x};
  const auto ranges = ranges_of({variable(ir::Type::f64)}, 2, in, nullptr);
  EXPECT_EQ(ranges[0].lo, -INFINITY);
  EXPECT_EQ(ranges[0].hi, INFINITY);
}

TEST(Observation, NanHidesNoNumberBeforeOrBehindIt) {
  for (const std::vector<float>& x : {std::vector<float>{NAN, 1, -2}, {1, NAN, -2}, {-2, 1, NAN}, {NAN, -2, NAN, 1}}) {
    const void* const in[] = {x.data()};
    const auto ranges = ranges_of({variable(ir::Type::f32)}, x.size(), in, nullptr);
    EXPECT_EQ(ranges[0].lo, -2);
    EXPECT_EQ(ranges[0].hi, 1);
    EXPECT_TRUE(ranges[0].or_nan);
  }
}

TEST(Observation, LongArraysAreSampledToTheirEnd) {
  std::vector<double> x(1'000'000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const void* const in[] = {x.data()};
  const auto ranges = ranges_of({variable(ir::Type::f64)}, x.size(), in, nullptr);
  EXPECT_EQ(ranges[0].lo, 0);
  EXPECT_GE(ranges[0].hi, 999'000);
}

TEST(Observation, NoElementsHaveNoRange) {
  const auto ranges = ranges_of({variable(ir::Type::f64)}, 0, nullptr, nullptr);
  EXPECT_EQ(ranges[0].lo, -INFINITY);
}

}  // namespace
}  // namespace trident::client
