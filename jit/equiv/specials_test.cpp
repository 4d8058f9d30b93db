// Infinities and NaN are sorted out before any arithmetic, for that would be slow. The oracle is the arithmetic itself,
// in long double: it must give the very same values, at every combination of such operands with ordinary ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "jit/equiv/intervals.h"
#include "jit/equiv/steps.h"

namespace trident::equiv {
namespace {

using expr::Op;
using expr::RealOp;
using expr::Type;
using Wide = Tracked<long double>;

constexpr long double kEndless = std::numeric_limits<long double>::infinity();
constexpr long double kNoNumber = std::numeric_limits<long double>::quiet_NaN();
constexpr long double kValues[] = {0,         -0.0L,      1,        -1,        2.5L,     -0x1p-1030L,
                                   0x1p1030L, 0x1p16000L, kEndless, -kEndless, kNoNumber};
constexpr long double kSizes[] = {0, 0x1p-60L, 3, 0x1p15000L, kEndless};

bool same(long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

/// Returns values with errors of themselves; a few of them also with one that is NaN, as of infinity times zero.
std::vector<Wide> tracked_values() {
  std::vector<Wide> list;
  for (const long double v : kValues)
    for (const long double e : {0.0L, 0x1p-60L, 3.0L, kEndless, kNoNumber}) list.push_back({v, e});
  return list;
}

TEST(Specials, ValuesAndErrorsAreThoseOfTheArithmetic) {
  const std::vector<Wide> values = tracked_values();
  for (std::size_t i = 0; i < expr::kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    const int arity = expr::info(op).arity;
    if (!expr::info(op).is_real) continue;
    std::size_t draw = 0;
    for (const Wide& a : values) {
      for (const Wide& b : arity < 2 ? std::vector<Wide>{a} : values) {
        const Wide& c = arity < 3 ? a : values[draw++ * 7 % values.size()];
        const Wide ours = apply<long double>(op, 3, a, b, c), direct = apply<long double, true>(op, 3, a, b, c);
        ASSERT_TRUE(same(ours.v, direct.v) && same(ours.e, direct.e))
            << expr::info(op).text << " of " << a.v << " +- " << a.e << ", " << b.v << " +- " << b.e << ", " << c.v
            << " +- " << c.e << ": " << ours.v << " +- " << ours.e << ", not " << direct.v << " +- " << direct.e;
      }
    }
  }
}

long double nothing_or(long double a, long double b) {
  return a == 0 || b == 0 ? 0 : a * b;
}
long double of_product(const Around& a, const Around& b) {
  return nothing_or(std::fabs(a.v), b.d) + nothing_or(std::fabs(b.v), a.d) + nothing_or(a.d, b.d);
}
long double of_quotient(const Around& a, const Around& b, long double result) {
  const long double least = std::fabs(b.v) - b.d;
  return least > 0 ? (a.d + nothing_or(std::fabs(result), b.d)) / least : kEndless;
}

/// Returns the range of an op as running_error.h describes it; NaN and less than nothing are unknown.
long double range_of(RealOp op, const Around& a, const Around& b, const Around& c, long double result) {
  const long double least = a.v - a.d;
  if (op == RealOp::Add || op == RealOp::Sub) return a.d + b.d;
  if (op == RealOp::Mul) return of_product(a, b);
  if (op == RealOp::Fma) return of_product(a, b) + c.d;
  if (op == RealOp::Div) return of_quotient(a, b, result);
  if (op == RealOp::Recip) return of_quotient({1, 0}, a, result);
  if (op == RealOp::Rsqrt) return least > 0 ? 1 / std::sqrt(least) - result + 0x1p-62L * result : kEndless;
  if (op == RealOp::Sqrt) {
    if (least > 0) return a.d / (result + std::sqrt(least));
    return std::max(a.d / (result + std::sqrt(a.v + a.d)), result);
  }
  if (std::isnan(a.v)) return b.d;
  if (std::isnan(b.v)) return a.d;
  const bool apart = std::fabs(a.v - b.v) > a.d + b.d;
  return !apart ? std::max(a.d, b.d) : result == a.v ? a.d : b.d;
}

TEST(Specials, RunningErrorsAreThoseOfTheArithmetic) {
  for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Fma, Op::Div, Op::Recip, Op::Rsqrt, Op::Sqrt, Op::Min, Op::Max}) {
    const RealOp real = expr::real_op(op);
    for (const long double av : kValues)
      for (const long double ad : kSizes)
        for (const long double bv : kValues)
          for (const long double bd : kSizes) {
            const Around a{av, ad}, b{bv, bd}, c{bv, ad};
            const long double result = apply_plain<long double>(real, 0, av, bv, bv);
            if (std::isnan(result) || (ad == 0 && bd == 0)) continue;
            const long double ours = carried(real, 0, a, b, c, result), direct = range_of(real, a, b, c, result);
            ASSERT_TRUE(same(ours, direct >= 0 ? direct : kEndless))
                << expr::info(op).text << " of " << av << " +- " << ad << ", " << bv << " +- " << bd << ": " << ours
                << ", not " << direct;
          }
  }
}

Lanes<Wide> lane_of(double strict, const Wide& correct, long double d) {
  Lanes<Wide> lane;
  lane.resize(Type::f64, 1);
  lane.s[0] = strict, lane.c[0] = correct, lane.d[0] = d;
  return lane;
}

long double direct_tolerance(const Lanes<Wide>& a) {
  const long double unknown = 2 * a.c[0].e, off = std::fabs(static_cast<long double>(a.s[0]) - a.c[0].v);
  return std::min(8 * off + 16 * ulp_at(Type::f64, a.c[0].v) + unknown, a.d[0] + unknown);
}

bool direct_near(const Lanes<Wide>& a, long double step) {
  if (exactly(a, 0) || (std::isnan(a.s[0]) && std::isnan(a.c[0].v))) return false;
  return !(std::fabs(a.c[0].v - step) > direct_tolerance(a));
}

std::vector<Lanes<Wide>> all_lanes() {
  std::vector<Lanes<Wide>> lanes;
  for (const double s : {0.0, 1.0, -0x1p1000, HUGE_VAL, -HUGE_VAL, std::nan("")})
    for (const long double v : kValues)
      for (const long double e : {0.0L, 0x1p-40L, kEndless, kNoNumber})
        for (const long double d : kSizes) lanes.push_back(lane_of(s, {v, e}, d));
  return lanes;
}

TEST(Specials, StepsAreNearWhereTheArithmeticSaysSo) {
  for (const Lanes<Wide>& a : all_lanes()) {
    ASSERT_TRUE(same(step_tolerance(Type::f64, a, 0), direct_tolerance(a)) || exactly(a, 0))
        << a.s[0] << ", " << a.c[0].v << " +- " << a.c[0].e << ", " << a.d[0];
    for (const long double step : {0.0L, 1.0L, -0x1p1030L})
      ASSERT_EQ(near_step(Type::f64, a, 0, step), direct_near(a, step))
          << a.s[0] << ", " << a.c[0].v << " +- " << a.c[0].e << ", " << a.d[0] << ", step " << step;
  }
}

TEST(Specials, IntervalsMeetWhereTheArithmeticSaysSo) {
  for (const long double av : kValues)
    for (const long double bv : kValues)
      for (const long double ad : {0.0L, 0x1p-60L, 3.0L, kEndless, kNoNumber})
        for (const long double bd : {0.0L, 0x1p-60L, 3.0L, kEndless, kNoNumber}) {
          const long double apart = std::fabs(av - bv), reach = ad + bd;
          EXPECT_EQ(meet({av, ad}, {bv, bd}), (reach > 0 && apart <= reach) || std::isnan(reach));
          if (std::isnan(av) || std::isnan(bv)) continue;
          EXPECT_EQ(are_apart(av, bv, ad, bd), apart > reach);
        }
}

}  // namespace
}  // namespace trident::equiv
