// The running error against what evaluations with perturbed operations give. Oracle: a plain recursion in long double
// in which each operation errs by one whole unit up or down, written here apart from the code. No such evaluation may
// be beyond the bound, and the worst of a few hundred must come near it: a bound that is too wide would let errors
// pass.
#include "jit/equiv/running_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <sstream>

#include "jit/equiv/draw.h"
#include "jit/equiv/integers.h"
#include "jit/equiv/reference.h"
#include "jit/equiv/tracked.h"

namespace trident::equiv {
namespace {

using expr::Op;
using expr::RealOp;
using expr::Type;

// One operation in long double, and its unit as the header of running_error.h says it.
long double unit_of(const expr::Node& node, long double a, long double b, long double result) {
  const long double u = node.type == Type::f32 ? 0x1p-24L : 0x1p-53L;
  if (node.op == Op::Add || node.op == Op::Sub) return u * (std::fabs(a) + std::fabs(b));
  if (node.op == Op::Mul || node.op == Op::Div || node.op == Op::Sqrt || node.op == Op::Fma || node.op == Op::Recip)
    return u * std::fabs(result);
  if (node.op == Op::Powi) return u * static_cast<long double>(node.imm - 1) * std::fabs(result);
  const bool exact = node.op == Op::Neg || node.op == Op::Abs || node.op == Op::Min || node.op == Op::Max;
  return exact ? 0 : 2 * u * std::fabs(result);
}

// Evaluates output 0 at a point; with `random` each operation is off by `k` units, up or down.
long double perturbed(const expr::Expr& e, const std::vector<double>& point, Random* random, double k) {
  std::vector<long double> values;
  for (const expr::Node& node : e.nodes) {
    const auto at = [&](expr::NodeId id) { return id.valid() ? values[id.index] : 0.0L; };
    if (node.op == Op::Constant) {
      values.push_back(load_float(node.type, reinterpret_cast<const std::byte*>(&node.imm)));
    } else if (node.op == Op::Variable) {
      values.push_back(point[node.imm]);
    } else {
      const long double a = at(node.a), b = at(node.b);
      const auto exponent = static_cast<std::int64_t>(node.imm);
      long double value = apply_plain<long double>(expr::real_op(node.op), exponent, a, b, at(node.c));
      if (random != nullptr) {
        const long double off = static_cast<long double>(k) * unit_of(node, a, b, value);
        value += random->next() % 2 == 0 ? off : -off;
      }
      values.push_back(value);
    }
  }
  return values[e.outputs[0].node.index];
}

struct Formula {
  const char* text;
  double slack;  ///< how many times the worst of the tries the bound may be
};

TEST(RunningError, HoldsPerturbedEvaluationsAndComesNearThem) {
  const Formula formulas[] = {
      {"x*y + x", 2},           {"(x + y) - x", 2},       {"x*x - y*y", 2},         {"(x - y)*(x + y)", 2},
      {"sqrt(x*x - y*y)", 3},   {"exp(x*y) / x", 2.5},    {"log(x + y) * y", 2.5},  {"sin(x*y) + cos(x)", 3},
      {"tan(x*y)", 2.5},        {"x^5 - y^5", 2},         {"pow(x, y + 1)", 2.5},   {"atan2(x*y, x + y)", 4},
      {"1 / (x*y - 1)", 3},     {"abs(x - y) * x", 2},    {"max(x*y, x + y)", 3},   {"tanh(x - y*x)", 3},
      {"erf(x*y) - erf(x)", 3}, {"asin(x / (x + y))", 3}, {"hypot(x*y, x - y)", 4}, {"cbrt(x*y - x)", 4},
      {"sinh(x*y)*cosh(x)", 3}, {"log1p(x*y)", 3},        {"expm1(x - y)", 3},      {"fma(x, y, -x)", 2.5},
      {"rsqrt(x*y)", 3},        {"exp2(x*y)", 2.5},       {"recip(x*y)", 2.5},      {"acosh(1 + x*y)", 3},
  };
  Random random(11);
  for (const Type type : {Type::f32, Type::f64}) {
    for (const Formula& formula : formulas) {
      const auto e = expr::parse_infix(formula.text, {.type = type, .variables = {}});
      ASSERT_TRUE(e.ok()) << formula.text;
      const long double carrier = type == Type::f32 ? 0x1p-20L : 0x1p-10L;  // its own roundings
      for (const double k : {1.0, 2.0, 16.0}) {
        Samples s;
        s.n = 8;
        s.calls = {{0, s.n}};
        std::vector<std::vector<double>> points(s.n);
        for (std::size_t v = 0; v < e->variables.size(); ++v) {
          auto& column = s.columns.emplace_back();
          for (auto& point : points) {
            const Bits bits = bits_of(type, 0.5 + 2 * random.unit());
            point.push_back(value_of(type, bits));
            const auto* bytes = reinterpret_cast<const std::byte*>(&bits);
            column.insert(column.end(), bytes, bytes + ir::bytes_of(type));
          }
        }
        const auto reference = Reference::make(*e, s, {}, k);
        ASSERT_TRUE(reference.ok());
        for (std::size_t i = 0; i < s.n; ++i) {
          const long double value = perturbed(*e, points[i], nullptr, k), bound = reference->outputs()[0].bound[i];
          if (!std::isfinite(value)) continue;
          long double worst = 0;
          for (int attempt = 0; attempt < 300; ++attempt) {
            const long double other = perturbed(*e, points[i], &random, k);
            if (std::isfinite(other)) worst = std::max(worst, std::fabs(other - value));
          }
          EXPECT_LE(worst, bound * (1 + carrier)) << formula.text << " k " << k;
          if (!std::isfinite(bound)) continue;
          EXPECT_LE(bound, worst * formula.slack * 1.1) << formula.text << " k " << k << " x " << points[i][0];
        }
      }
    }
  }
}

using Rule = std::function<long double(RealOp op, const Around& a, const Around& b, long double result)>;

long double as_it_is(RealOp op, const Around& a, const Around& b, long double result) {
  return carried(op, 0, a, b, {}, result);
}

struct Row {
  RealOp op;
  double lo, hi;  ///< of the operand
  double slack;   ///< how many times the range the bound may be
  double lo_b = 0, hi_b = 0;
  bool binary = false;
  int wide_max = 0;  ///< intervals, of 500, where it may be more: the range depends on which operand moves
};

constexpr Row kUnary[] = {
    {RealOp::Sqrt, 0, 4, 1.4},       {RealOp::Rsqrt, 0.1, 4, 1.1}, {RealOp::Cbrt, -4, 4, 1.1},
    {RealOp::Exp, -9, 9, 1.7},       {RealOp::Exp2, -9, 9, 1.7},   {RealOp::Expm1, -9, 9, 1.7},
    {RealOp::Log, 0.1, 9, 1.6},      {RealOp::Log2, 0.1, 9, 1.6},  {RealOp::Log10, 0.1, 9, 1.6},
    {RealOp::Log1p, -0.9, 9, 1.6},   {RealOp::Sin, -9, 9, 2},      {RealOp::Cos, -9, 9, 2},
    {RealOp::Tan, -9, 9, 1.6},       {RealOp::Asin, -1, 1, 1.4},   {RealOp::Acos, -1, 1, 1.4},
    {RealOp::Atan, -9, 9, 1.1},      {RealOp::Sinh, -9, 9, 1.6},   {RealOp::Cosh, -9, 9, 1.6},
    {RealOp::Tanh, -9, 9, 1.1},      {RealOp::Asinh, -9, 9, 1.1},  {RealOp::Acosh, 1, 9, 1.4},
    {RealOp::Atanh, -0.9, 0.9, 1.4}, {RealOp::Erf, -5, 5, 1.1},    {RealOp::Erfc, -5, 5, 1.1},
    {RealOp::Recip, -9, 9, 1.1},     {RealOp::Abs, -9, 9, 2},      {RealOp::Floor, -9, 9, 1.1},
    {RealOp::Ceil, -9, 9, 1.1},      {RealOp::Round, -9, 9, 1.1},  {RealOp::Rint, -9, 9, 1.1},
    {RealOp::Trunc, -9, 9, 1.1},     {RealOp::Sign, -2, 2, 1.1},
};
constexpr Row kBinary[] = {
    {RealOp::Add, -9, 9, 1.1, -9, 9, true},          {RealOp::Sub, -9, 9, 1.1, -9, 9, true},
    {RealOp::Mul, -9, 9, 1.1, -9, 9, true},          {RealOp::Div, -9, 9, 1.1, -9, 9, true},
    {RealOp::Min, -9, 9, 2.1, -9, 9, true, 30},      {RealOp::Max, -9, 9, 2.1, -9, 9, true, 30},
    {RealOp::Hypot, -9, 9, 3, -9, 9, true, 150},     {RealOp::Pow, 0.1, 4, 2.5, -3, 3, true, 20},
    {RealOp::Atan2, -9, 9, 3, -9, 9, true, 150},     {RealOp::Fmod, -9, 9, 3, 1, 4, true, 50},
    {RealOp::Copysign, -9, 9, 1.1, -1, 1, true, 50},
};

/// Counts of intervals whose bound is less than the range, and more than a few times as much; the first of each as
/// text.
struct Faults {
  int narrow = 0, wide = 0;
  std::string text;
  void add(int& count, const Row& row, const Around& a, const Around& b, long double bound, long double worst) {
    if (count++ != 0) return;
    std::ostringstream line;
    line << "op " << static_cast<int>(row.op) << " at " << a.v << " +- " << a.d << ", " << b.v << " +- " << b.d
         << ": bound " << bound << ", range " << worst << "; ";
    text += line.str();
  }
};

/// Returns how far the op's values are from `value` at many places of the intervals.
long double range_of(const Row& row, const Around& a, const Around& b, long double value) {
  const int steps = row.binary ? 8 : 64, steps_b = row.binary ? 8 : 0;
  long double worst = 0;
  for (int i = 0; i <= steps; ++i) {
    for (int j = 0; j <= steps_b; ++j) {
      const long double x = a.v + a.d * (2 * i - steps) / steps;
      const long double y = steps_b == 0 ? 0 : b.v + b.d * (2 * j - steps_b) / steps_b;
      const long double other = apply_plain<long double>(row.op, 0, x, y, 0);
      if (!std::isnan(other)) worst = std::max(worst, std::fabs(other - value));
    }
  }
  return worst;
}

/// Operands anywhere in their intervals. Oracle: the function at many places of the interval.
Faults faults_of(const Row& row, const Rule& rule) {
  Random random(5);
  Faults faults;
  const auto around = [&](double lo, double hi) {
    const long double v = lo + (hi - lo) * random.unit();
    return Around{v, std::exp2(static_cast<long double>(-60 * random.unit()))};
  };
  for (int attempt = 0; attempt < 500; ++attempt) {
    const Around a = around(row.lo, row.hi), b = row.binary ? around(row.lo_b, row.hi_b) : Around{};
    const long double value = apply_plain<long double>(row.op, 0, a.v, b.v, 0);
    const long double bound = rule(row.op, a, b, value), worst = range_of(row, a, b, value);
    // The carrier rounds values, and v + d to a share of d.
    const long double share = 0x1p-58L * (1 + std::fabs(a.v) / a.d + (row.binary ? std::fabs(b.v) / b.d : 0));
    const long double own = 0x1p-60L * (std::fabs(value) + 1) + worst * std::min(1.0L, share);
    if (!(worst <= bound + own)) faults.add(faults.narrow, row, a, b, bound, worst);
    if (std::isinf(worst) || std::isinf(bound)) continue;
    const long double d = std::max(a.d, b.d);
    if (!(bound <= row.slack * worst + 0x1p-28L * d + own)) faults.add(faults.wide, row, a, b, bound, worst);
  }
  return faults;
}

void each_row(const std::function<void(const Row&)>& visit) {
  for (const Row& row : kUnary) visit(row);
  for (const Row& row : kBinary) visit(row);
}

TEST(RunningError, CarriesTheRangeOfAnOperation) {
  each_row([](const Row& row) {
    const Faults faults = faults_of(row, as_it_is);
    EXPECT_EQ(0, faults.narrow) << faults.text;
    EXPECT_LE(faults.wide, row.wide_max) << faults.text;
  });
}

// The check above sees rules that are wrong: each rule in turn is given an error.
TEST(RunningError, ErrorsInRulesAreSeen) {
  each_row([](const Row& row) {
    const Rule less = [](RealOp op, const Around& a, const Around& b, long double result) {
      return as_it_is(op, a, b, result) * 0.5L;
    };
    const Rule more = [&](RealOp op, const Around& a, const Around& b, long double result) {
      return as_it_is(op, a, b, result) * static_cast<long double>(2 * row.slack);
    };
    const Rule first_alone = [](RealOp op, const Around& a, const Around& b, long double result) {
      return as_it_is(op, a, {b.v, 0}, result);
    };
    const Rule second_alone = [](RealOp op, const Around& a, const Around& b, long double result) {
      return as_it_is(op, {a.v, 0}, b, result);
    };
    const int op = static_cast<int>(row.op);
    if (row.slack < 1.9) {
      EXPECT_GT(faults_of(row, less).narrow, 0) << op;
    }
    EXPECT_GT(faults_of(row, more).wide, faults_of(row, as_it_is).wide) << op;
    if (!row.binary) return;
    EXPECT_GT(faults_of(row, first_alone).narrow, 0) << op;
    EXPECT_GT(faults_of(row, second_alone).narrow, 0) << op;
  });
  // Derivatives instead of ranges: nothing at the cosine's top, and too little on the way down to a zero.
  const Rule slope = [](RealOp op, const Around& a, const Around&, long double result) {
    return a.d * (op == RealOp::Cos ? std::fabs(std::sin(a.v)) : op == RealOp::Sqrt ? 0.5L / result : 1 / a.v);
  };
  for (const RealOp op : {RealOp::Cos, RealOp::Sqrt, RealOp::Log})
    for (const Row& row : kUnary) EXPECT_TRUE(row.op != op || faults_of(row, slope).narrow > 0) << static_cast<int>(op);
}

// Oracle: the units as the header says them, in figures.
TEST(RunningError, UnitsAreThoseOfTheHeader) {
  const long double u = 0x1p-24L, least = 0x1p-150L;
  EXPECT_EQ(u * 5 + least, unit_error(Op::Add, Type::f32, 0, {3, 0}, {-2, 0}, 1));
  EXPECT_EQ(u * 5 + least, unit_error(Op::Sub, Type::f32, 0, {3, 0}, {2, 0}, 1));
  EXPECT_EQ(u * 6 + least, unit_error(Op::Mul, Type::f32, 0, {3, 0}, {2, 0}, 6));
  EXPECT_EQ(u * 6 + least, unit_error(Op::Fma, Type::f32, 0, {3, 0}, {2, 0}, 6));
  EXPECT_EQ(2 * (u * 6 + least), unit_error(Op::Exp, Type::f32, 0, {1, 0}, {}, 6));
  EXPECT_EQ(4 * (u * 6 + least), unit_error(Op::Powi, Type::f32, 5, {1, 0}, {}, 6));
  EXPECT_EQ(5 * (u * 6 + least), unit_error(Op::Powi, Type::f32, -5, {1, 0}, {}, 6));
  EXPECT_EQ(0, unit_error(Op::Neg, Type::f32, 0, {6, 0}, {}, 6));
  EXPECT_EQ(0x1p-53L * 6 + 0x1p-1075L, unit_error(Op::Mul, Type::f64, 0, {3, 0}, {2, 0}, 6));
  EXPECT_EQ(16 * u * 7 + least, reduction_error(Type::f32, 1024, 7));
}

// Oracle: the exponent of libm.
TEST(RunningError, UlpsAreThoseOfTheExponent) {
  std::uint64_t seed = 1;
  const auto wanted = [](Type type, long double magnitude) {
    const int bits = type == Type::f32 ? 24 : 53, least = type == Type::f32 ? -126 : -1022;
    const bool none = magnitude == 0 || !std::isfinite(magnitude);
    return std::ldexp(1.0L, (none ? least : std::max(std::ilogb(magnitude), least)) - bits + 1);
  };
  const auto expect_for = [&](long double magnitude) {
    for (const Type type : {Type::f32, Type::f64})
      for (const long double signed_one : {magnitude, -magnitude})
        ASSERT_EQ(ulp_at(type, signed_one), wanted(type, signed_one)) << signed_one;
  };
  for (int exponent = -16'440; exponent < 16'384; exponent += exponent < -1'100 || exponent > 1'100 ? 37 : 1) {
    const long double power = std::ldexp(1.0L, exponent);
    for (const long double near : {power, std::nextafter(power, 0.0L), std::nextafter(power, 2 * power)})
      expect_for(near);
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    expect_for(power * (1 + std::ldexp(static_cast<long double>(seed >> 1), -63)));
  }
  for (const long double odd : {0.0L, std::numeric_limits<long double>::infinity(), std::nanl("")}) expect_for(odd);
}

TEST(RunningError, ZerosOfDerivativesAndPolesMoveByTheRange) {
  const auto of = [](RealOp op, long double v, long double d) {
    return carried(op, 0, {v, d}, {}, {}, apply_plain<long double>(op, 0, v, 0, 0));
  };
  EXPECT_NEAR(static_cast<double>(of(RealOp::Cos, 0, 1e-6L) / 5e-13L), 1, 0.01);
  EXPECT_NEAR(static_cast<double>(of(RealOp::Sqrt, 0, 1e-6L) / 1e-3L), 1, 1e-9);
  EXPECT_EQ(of(RealOp::Sin, 2, 1e300L), 2);
  EXPECT_TRUE(std::isinf(of(RealOp::Recip, 1e-6L, 2e-6L)));
  EXPECT_TRUE(std::isinf(of(RealOp::Tan, 1.5707963L, 1e-6L)));
  for (const RealOp op : {RealOp::Sqrt, RealOp::Recip, RealOp::Tan, RealOp::Floor, RealOp::Log})
    EXPECT_EQ(of(op, 0, 0), 0) << "nothing moves by nothing";
}

// Integer intervals hold what the op gives at each pair of values. Oracle: all pairs.
TEST(RunningError, IntegerIntervalsHoldAllValues) {
  for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Neg, Op::Min, Op::Max, Op::Abs, Op::And, Op::Shl, Op::Sign}) {
    expr::Node node;
    node.op = op, node.type = Type::i32;
    for (const std::int64_t start : {-3, 0, 5, 2147483645}) {
      const Whole a{start, start + 2}, b{-2, 1}, result = apply_whole(node, a, b);
      for (std::int64_t x = a.lo; x <= a.hi; ++x)
        for (std::int64_t y = b.lo; y <= b.hi; ++y) {
          const std::int64_t one = apply_integer(node, x, y);
          EXPECT_TRUE(result.lo <= one && one <= result.hi) << static_cast<int>(op) << " " << x << " " << y;
        }
    }
  }
  for (const Op op : {Op::And, Op::Or, Op::Xor, Op::Not}) {
    expr::Node node;
    node.op = op, node.type = Type::b32;
    const Whole values[] = {{-1, -1}, {0, 0}, {-1, 0}};
    for (const Whole& a : values)
      for (const Whole& b : values) {
        const Whole result = apply_whole(node, a, b);
        for (std::int64_t x = a.lo; x <= a.hi; ++x)
          for (std::int64_t y = b.lo; y <= b.hi; ++y) {
            const std::int64_t one = apply_integer(node, x, y);
            EXPECT_TRUE(result.lo <= one && one <= result.hi);
          }
      }
  }
}

// (1 - 2.4e-8)^5e10 is e^-1200, which doubles do not hold; with a base that rounds to 1 it is 1.
TEST(RunningError, PowersThatUnderflowInTheirCarrierMayBeLarge) {
  EXPECT_GE(carried(expr::RealOp::Pow, 0, {1 - 2.4e-8L, 6e-8L}, {5e10L, 0}, {}, 0), 1);
  EXPECT_LT(carried(expr::RealOp::Pow, 0, {1 - 2.4e-8L, 1e-20L}, {5e10L, 0}, {}, 0), 0x1p-149L);
}

}  // namespace
}  // namespace trident::equiv
