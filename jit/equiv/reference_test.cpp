// Oracles: MPFR rounding directly into the type (not through the wide path under test), and 200-bit arithmetic for the
// error bounds of the quick path.
#include "jit/equiv/reference.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <random>

#include "jit/equiv/big.h"
#include "jit/equiv/rounded.h"
#include "jit/equiv/tracked.h"
#include "tests/support/reduction_order.h"

namespace trident::equiv {
namespace {

using expr::Op;
using expr::Type;

struct Function {
  Op op;
  double lo, hi;  // of the first argument
  double lo2 = 0, hi2 = 0;
};
const std::vector<Function> kFunctions = {
    {Op::Sqrt, 0, 1e30},     {Op::Rsqrt, 0, 1e30},    {Op::Cbrt, -1e30, 1e30},      {Op::Hypot, -9, 9, -9, 9},
    {Op::Exp, -110, 90},     {Op::Exp2, -150, 128},   {Op::Expm1, -20, 80},         {Op::Log, 0, 1e30},
    {Op::Log2, 0, 1e30},     {Op::Log10, 0, 1e30},    {Op::Log1p, -1, 1e10},        {Op::Pow, 0, 100, -12, 12},
    {Op::Sin, -1e5, 1e5},    {Op::Cos, -1e5, 1e5},    {Op::Tan, -1e5, 1e5},         {Op::Asin, -1, 1},
    {Op::Acos, -1, 1},       {Op::Atan, -1e3, 1e3},   {Op::Atan2, -9, 9, -9, 9},    {Op::Sinh, -80, 80},
    {Op::Cosh, -80, 80},     {Op::Tanh, -30, 30},     {Op::Asinh, -1e10, 1e10},     {Op::Acosh, 1, 1e10},
    {Op::Atanh, -1, 1},      {Op::Erf, -6, 6},        {Op::Erfc, -6, 20},           {Op::Powi, -50, 50},
    {Op::Fma, -9, 9, -9, 9}, {Op::Div, -9, 9, -9, 9}, {Op::Recip, -9, 9},           {Op::Add, -9, 9, -9, 9},
    {Op::Mul, -9, 9, -9, 9}, {Op::Sub, -9, 9, -9, 9}, {Op::Fmod, -900, 900, -9, 9}, {Op::Neg, -9, 9},
};

std::vector<double> arguments(double lo, double hi, Type type, std::mt19937_64& random, int count) {
  std::vector<double> v = {lo, hi, 0.0, -0.0, 1, -1, 0.5, 2, 1e-310, 1e-40, -1e-40, 1e-300, INFINITY, -INFINITY, NAN};
  for (int i = 0; i < count; ++i) {
    const double u = std::uniform_real_distribution<double>(0, 1)(random);
    v.push_back(lo + u * (hi - lo));
    v.push_back(std::ldexp(v.back(), -static_cast<int>(random() % 60)));
  }
  if (type == Type::f32)
    for (double& x : v) x = static_cast<double>(static_cast<float>(x));
  return v;
}

// Rounds the op once by MPFR to the precision of `type`; where the result is denormal or overflows, from 200 bits.
double rounded_by_mpfr(Op op, Type type, std::int64_t exponent, double a, double b, double c) {
  Big once;
  mpfr_set_prec(once.raw(), type == Type::f32 ? 24 : 53);
  apply(op, exponent, Big(a), Big(b), Big(c), once);
  const double d = mpfr_get_d(once.raw(), MPFR_RNDN);
  if (std::fabs(d) >= (type == Type::f32 ? FLT_MIN : DBL_MIN)) return type == Type::f32 ? static_cast<float>(d) : d;
  Big wide;
  apply(op, exponent, Big(a), Big(b), Big(c), wide);
  return type == Type::f32 ? mpfr_get_flt(wide.raw(), MPFR_RNDN) : mpfr_get_d(wide.raw(), MPFR_RNDN);
}

bool same(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

TEST(Rounded, EveryOpIsCorrectlyRounded) {
  std::mt19937_64 random(1);
  for (const Type type : {Type::f32, Type::f64}) {
    for (const Function& f : kFunctions) {
      const auto as = arguments(f.lo, f.hi, type, random, 700);
      const auto bs = arguments(f.lo2, f.hi2, type, random, 700);
      for (std::size_t i = 0; i < as.size(); ++i) {
        const double b = bs[(i * 7) % bs.size()];
        const double c = bs[(i * 11) % bs.size()];
        const auto exponent = static_cast<std::int64_t>(i % 23) - 9;
        const double got = apply_rounded(f.op, type, exponent, as[i], b, c);
        const double wanted = rounded_by_mpfr(f.op, type, exponent, as[i], b, c);
        ASSERT_TRUE(same(got, wanted)) << expr::info(f.op).text << "(" << as[i] << ", " << b << ", " << c << ", "
                                       << exponent << ") = " << got << ", MPFR " << wanted;
      }
    }
  }
}

// Where the quick path leaves a choice, 64 bits of MPFR decide nearly always: but not next to the middle itself.
TEST(Rounded, WhatLiesNearTheMiddleBetweenTwoDoublesIsCorrectlyRounded) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> unit(0, 1);
  for (const Op op : {Op::Exp, Op::Log, Op::Pow, Op::Powi, Op::Sin, Op::Atan}) {
    int near = 0;
    for (int i = 0; i < 60'000; ++i) {
      const double a = 20 * unit(random), b = 8 * unit(random) - 4;
      const std::int64_t exponent = 3 + i % 5;
      const long double value = apply<long double>(op, exponent, {a, 0}, {b, 0}, {b, 0}).v;
      std::uint64_t significand = 0;
      std::memcpy(&significand, &value, sizeof significand);
      const auto last_bits = static_cast<int>(significand & 0x7FF);
      if (std::abs(last_bits - 0x400) > kFunctionUnits) continue;
      ++near;
      ASSERT_TRUE(
          same(apply_rounded(op, Type::f64, exponent, a, b, b), rounded_by_mpfr(op, Type::f64, exponent, a, b, b)))
          << expr::info(op).text << "(" << a << ", " << b << ", " << exponent << ")";
    }
    EXPECT_GT(near, 500) << expr::info(op).text;
  }
}

// MPFR takes a hundred times as long as the quick path, which knows that these are zeros, and of which sign.
TEST(Rounded, ResultsBelowTheLeastNumberAreZerosOfTheirSign) {
  for (double x = 11; x < 40; x += 0.37) {
    const double power = -std::floor(4 * x + 100);
    EXPECT_TRUE(same(apply_rounded(Op::Erfc, Type::f32, 0, x, 0, 0), rounded_by_mpfr(Op::Erfc, Type::f32, 0, x, 0, 0)));
    EXPECT_TRUE(
        same(apply_rounded(Op::Exp, Type::f32, 0, -9 * x, 0, 0), rounded_by_mpfr(Op::Exp, Type::f32, 0, -9 * x, 0, 0)));
    EXPECT_TRUE(same(apply_rounded(Op::Pow, Type::f32, 0, -2.25, power, 0),
                     rounded_by_mpfr(Op::Pow, Type::f32, 0, -2.25, power, 0)));
    EXPECT_TRUE(same(apply_rounded(Op::Pow, Type::f64, 0, -1e8, power, 0),
                     rounded_by_mpfr(Op::Pow, Type::f64, 0, -1e8, power, 0)));
  }
}

// Operands off by up to their bound: the result must stay within its own.
template <class T>
void check_bounds(int rounds) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> unit(-1, 1);
  int trusted = 0;
  int all = 0;
  const auto operand = [&](double v, Big& truth) {
    Tracked<T> t{static_cast<T>(v), 0};
    truth = Big(v);
    if (random() % 4 == 0) return t;
    t.e = std::fabs(t.v) * std::ldexp(T(1), -2 - static_cast<int>(random() % 60));
    const Big shift(static_cast<long double>(t.e) * static_cast<long double>(unit(random)));
    mpfr_add(truth.raw(), truth.raw(), shift.raw(), MPFR_RNDN);
    return t;
  };
  for (const Function& f : kFunctions) {
    if (f.op == Op::Fmod) continue;  // a step
    const auto as = arguments(f.lo, f.hi, Type::f64, random, rounds);
    const auto bs = arguments(f.lo2, f.hi2, Type::f64, random, rounds);
    for (std::size_t i = 0; i < as.size(); ++i) {
      Big ta;
      Big tb;
      Big tc;
      Big truth;
      const Tracked<T> a = operand(as[i], ta);
      const Tracked<T> b = operand(bs[(i * 7) % bs.size()], tb);
      const Tracked<T> c = operand(bs[(i * 11) % bs.size()], tc);
      const auto exponent = static_cast<std::int64_t>(i % 9) - 3;
      const Tracked<T> r = apply(f.op, exponent, a, b, c);
      apply(f.op, exponent, ta, tb, tc, truth);
      ++all;
      if (!std::isfinite(r.e) || !std::isfinite(r.v)) continue;
      ++trusted;
      mpfr_sub(truth.raw(), truth.raw(), Big(static_cast<long double>(r.v)).raw(), MPFR_RNDN);
      ASSERT_LE(std::fabs(truth.to_long_double()), static_cast<long double>(r.e))
          << expr::info(f.op).text << " of " << a.v << " +- " << a.e << ", " << b.v << " +- " << b.e << " (" << exponent
          << ") = " << r.v;
    }
  }
  EXPECT_GT(trusted, all / 2);
}

TEST(Tracked, BoundsHoldInDouble) {
  check_bounds<double>(700);
}
TEST(Tracked, BoundsHoldInLongDouble) {
  check_bounds<long double>(700);
}

// Bounds of far-out values would leave all to MPFR if they followed from the greatest slope. Limits are those of
// calculus.
TEST(Tracked, KnowsFunctionsWhereTheyLevelOff) {
  struct Case {
    Op op;
    long double at, off, limit;
  };
  const long double quarter = std::acos(-1.0L) / 2;
  for (const auto& [op, at, off, limit] : {Case{Op::Tanh, 1e20L, 1e6L, 1},
                                           {Op::Tanh, -1e20L, 1e6L, -1},
                                           {Op::Erf, 40, 2, 1},
                                           {Op::Atan, 1e20L, 1e6L, quarter},
                                           {Op::Exp, -300, 7, 0},
                                           {Op::Exp2, -300, 7, 0},
                                           {Op::Expm1, -1e20L, 1e6L, -1}}) {
    const auto in_long_double = apply<long double>(op, 0, {at, off}, {}, {});
    EXPECT_LE(std::fabs(in_long_double.v - limit) + in_long_double.e, 1e-17L) << expr::info(op).text;
    const auto in_double = apply<double>(op, 0, {static_cast<double>(at), static_cast<double>(off)}, {}, {});
    EXPECT_LE(std::fabs(in_double.v - static_cast<double>(limit)) + in_double.e, 1e-13) << expr::info(op).text;
    // An operand of which nothing is known may be NaN.
    EXPECT_FALSE(std::isfinite(apply<double>(op, 0, {static_cast<double>(at), INFINITY}, {}, {}).e));
  }
}

// Operands off by up to their bound, in MPFR with few bits, against many bits.
TEST(Big, BoundsHold) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> unit(-1, 1);
  using Short = WideBig<80>;
  using Long = WideBig<1200>;
  int known = 0;
  int all = 0;
  const auto operand = [&](double v, Long& truth) {
    Short x;
    mpfr_set_d(x.raw(), v, MPFR_RNDN);
    mpfr_set(truth.raw(), x.raw(), MPFR_RNDN);
    if (mpfr_regular_p(x.raw()) == 0 || random() % 4 == 0) return x;
    x.error_log2 = mpfr_get_exp(x.raw()) - 1 - static_cast<std::int64_t>(random() % 70);
    mpfr_t shift;
    mpfr_init2(shift, 1200);
    mpfr_set_d(shift, unit(random), MPFR_RNDN);
    mpfr_mul_2si(shift, shift, static_cast<long>(x.error_log2), MPFR_RNDN);
    mpfr_add(truth.raw(), truth.raw(), shift, MPFR_RNDN);
    mpfr_clear(shift);
    return x;
  };
  for (const Function& f : kFunctions) {
    if (f.op == Op::Fmod) continue;  // a step
    const auto as = arguments(f.lo, f.hi, Type::f64, random, 400);
    const auto bs = arguments(f.lo2, f.hi2, Type::f64, random, 400);
    for (std::size_t i = 0; i < as.size(); ++i) {
      Long ta, tb, tc, truth;
      const Short a = operand(as[i], ta);
      const Short b = operand(bs[(i * 7) % bs.size()], tb);
      const Short c = operand(bs[(i * 11) % bs.size()], tc);
      const auto exponent = static_cast<std::int64_t>(i % 9) - 3;
      Short r;
      apply(f.op, exponent, a, b, c, r);
      apply(f.op, exponent, ta, tb, tc, truth);
      ++all;
      if (r.error_log2 == Big::kUnknown || mpfr_number_p(r.raw()) == 0) continue;
      ++known;
      ASSERT_FALSE(truth.is_nan()) << expr::info(f.op).text << " of " << as[i];
      mpfr_sub(truth.raw(), truth.raw(), r.raw(), MPFR_RNDN);
      if (mpfr_zero_p(truth.raw())) continue;
      ASSERT_NE(r.error_log2, Big::kExact) << expr::info(f.op).text << " of " << as[i];
      ASSERT_LE(mpfr_get_exp(truth.raw()), r.error_log2)
          << expr::info(f.op).text << " of " << as[i] << " 2^" << a.error_log2 << ", " << b.to_long_double() << " 2^"
          << b.error_log2 << " (" << exponent << ")";
    }
  }
  EXPECT_GT(known, all / 2);
}

// --- whole expressions -----------------------------------------------------------------------------------------------

expr::Expr parsed(std::string_view text, Type type, std::vector<expr::Variable> variables = {}) {
  auto e = expr::parse_infix(text, {.type = type, .variables = std::move(variables)});
  CHECK(e.ok());
  return std::move(e).value();
}

template <class T>
std::vector<std::byte> column(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <class T>
Samples samples_of(std::vector<std::vector<T>> columns) {
  Samples s;
  s.n = columns[0].size();
  for (const auto& c : columns) s.columns.push_back(column(c));
  s.calls = {{0, s.n, false}};
  return s;
}

// Points at which MPFR's own erf may abort. Oracle: erfc(x) = gamma(1/2, x^2) / sqrt(pi), in MPFR too but by another
// algorithm.
template <mpfr_prec_t kBits>
void expect_nearest(long double head, int exponent, long double tail, std::int64_t tail_exponent) {
  WideBig<kBits> x, y;
  mpfr_set_ld(x.raw(), head, MPFR_RNDN);
  mpfr_mul_2si(x.raw(), x.raw(), exponent, MPFR_RNDN);
  mpfr_set_ld(y.raw(), tail, MPFR_RNDN);
  mpfr_mul_2si(y.raw(), y.raw(), exponent + tail_exponent, MPFR_RNDN);
  mpfr_add(x.raw(), x.raw(), y.raw(), MPFR_RNDN);
  const long double wanted = mpfr_get_ld(x.raw(), MPFR_RNDN);
  EXPECT_EQ(wanted, x.to_long_double()) << head << " 2^" << exponent << " + " << tail << " 2^" << tail_exponent;
  EXPECT_EQ(std::signbit(wanted), std::signbit(x.to_long_double()));
}

TEST(Big, BecomesTheNearestLongDouble) {
  const long double odd = 1 + std::numeric_limits<long double>::epsilon();
  const long double full = 2 - std::numeric_limits<long double>::epsilon();
  for (const long double head : {1.0L, -1.0L, odd, -odd, full, -full, 0.0L}) {
    for (const int exponent : {0, 1, -70, 900, -1074, 16'382, 16'383, 16'384, -16'380, -16'382, -16'440, 20'000}) {
      for (const long double tail : {0.0L, 1.0L, -1.0L, 1.5L, odd}) {
        for (const std::int64_t below : {-63, -64, -65, -66, -127, -128, -129, -140}) {
          expect_nearest<200>(head, exponent, tail, below);
          expect_nearest<800>(head, exponent, tail, below);
        }
      }
    }
  }
  Big nan, infinity;
  mpfr_set_nan(nan.raw());
  mpfr_set_inf(infinity.raw(), -1);
  EXPECT_TRUE(std::isnan(nan.to_long_double()));
  EXPECT_EQ(-std::numeric_limits<long double>::infinity(), infinity.to_long_double());
}

// Small powers are products: at the ends of the type, too, and far more of them than the test above draws.
template <class T>
void expect_power_within_bound(T x, std::int64_t n) {
  const Tracked<T> got = apply<T>(Op::Powi, n, {x, 0}, {x, 0}, {x, 0});
  mpfr_t wanted, off;
  mpfr_init2(wanted, 400), mpfr_init2(off, 400);
  mpfr_set_ld(wanted, static_cast<long double>(x), MPFR_RNDN);
  mpfr_pow_si(wanted, wanted, static_cast<long>(n), MPFR_RNDN);
  const bool overflows = mpfr_cmpabs_ui(wanted, 0) != 0 && std::isinf(got.v);
  mpfr_set_ld(off, static_cast<long double>(got.v), MPFR_RNDN);
  if (overflows) {  // only where the value is beyond the type
    mpfr_set_ld(off, static_cast<long double>(std::numeric_limits<T>::max()), MPFR_RNDN);
    EXPECT_GE(mpfr_cmpabs(wanted, off), 0) << static_cast<long double>(x) << " ^ " << n;
  } else if (mpfr_number_p(wanted) != 0) {
    mpfr_sub(off, off, wanted, MPFR_RNDN);
    EXPECT_LE(std::fabs(mpfr_get_ld(off, MPFR_RNDA)), static_cast<long double>(got.e))
        << static_cast<long double>(x) << " ^ " << n;
  } else {
    EXPECT_EQ(mpfr_get_ld(wanted, MPFR_RNDN), static_cast<long double>(got.v))
        << static_cast<long double>(x) << " ^ " << n;
  }
  mpfr_clears(wanted, off, nullptr);
}

TEST(Tracked, SmallPowersLieWithinTheirBounds) {
  for (std::int64_t n = -20; n <= 20; ++n) {
    for (int exponent = -1074; exponent <= 1023; exponent += exponent % 20 == 0 ? 1 : 3) {
      for (const double fraction : {1.0, -1.3125, 1.0000000000000002, 1.7, -1.9999999999999998}) {
        expect_power_within_bound<double>(std::ldexp(fraction, exponent), n);
        expect_power_within_bound<long double>(std::ldexp(static_cast<long double>(fraction) / 3, exponent * 15), n);
      }
    }
    for (const double x : {0.0, -0.0, HUGE_VAL, -HUGE_VAL}) expect_power_within_bound<double>(x, n);
  }
}

TEST(Big, ErrorFunctionsAtTheRootOfThree) {
  WideBig<3200> x, erf, erfc;
  WideBig<3400> right, square, root_of_pi;
  for (const int sign : {1, -1}) {
    mpfr_sqrt_ui(x.raw(), 3, MPFR_RNDN);
    mpfr_mul_si(x.raw(), x.raw(), sign, MPFR_RNDN);
    apply(expr::Op::Erf, 0, x, x, x, erf);
    apply(expr::Op::Erfc, 0, x, x, x, erfc);
    mpfr_sqr(square.raw(), x.raw(), MPFR_RNDN);
    mpfr_set_d(right.raw(), 0.5, MPFR_RNDN);
    mpfr_gamma_inc(right.raw(), right.raw(), square.raw(), MPFR_RNDN);
    mpfr_const_pi(root_of_pi.raw(), MPFR_RNDN);
    mpfr_sqrt(root_of_pi.raw(), root_of_pi.raw(), MPFR_RNDN);
    mpfr_div(right.raw(), right.raw(), root_of_pi.raw(), MPFR_RNDN);
    if (sign < 0) mpfr_ui_sub(right.raw(), 2, right.raw(), MPFR_RNDN);
    const auto off_log2 = [&](const Big& value) {
      WideBig<3400> off;
      mpfr_sub(off.raw(), value.raw(), right.raw(), MPFR_RNDN);
      return mpfr_zero_p(off.raw()) != 0 ? -4000 : static_cast<std::int64_t>(mpfr_get_exp(off.raw()));
    };
    EXPECT_LE(off_log2(erfc), erfc.error_log2);
    EXPECT_LE(erfc.error_log2, -3190);
    mpfr_ui_sub(right.raw(), 1, right.raw(), MPFR_RNDN);
    EXPECT_LE(off_log2(erf), erf.error_log2);
    EXPECT_LE(erf.error_log2, -3190);
  }
}

TEST(Reference, AnIntegerOfWhatIsNoNumberAsRoundedIsUndecided) {
  // a * a overflows in f32, erfc(a) is zero: NaN as rounded, and zero over the reals.
  const auto e = parsed("i64(a*a*erfc(a))", Type::f32);
  const auto s = samples_of<float>({{3.4e38F, 2.0F}});
  auto reference = Reference::make(e, s);
  ASSERT_TRUE(reference.ok());
  for (std::size_t i = 0; i < 2; ++i) reference->refine(0, i);
  EXPECT_EQ(reference->outputs()[0].unsure[0], kRoundingDecides);
  EXPECT_EQ(reference->outputs()[0].unsure[1], kDecided);
}

// Oracle: the processor's conversion of the exact value. Includes ties, denormals, overflow and signs of zero.
TEST(Reference, CastsToF32RoundAsTheProcessorDoes) {
  const std::vector<double> x = {1 + 0x1p-24,        1 + 3 * 0x1p-24, 0.1,      -1e300, 0x1.ffffffp127, 0x1.fffffefp127,
                                 0x1p-150,           -0x1p-150,       0x3p-150, 1e-46,  0x1.8p-149,     -0.0,
                                 0x1.fffffffffp-127, 1e308,           INFINITY, NAN,    1 + 0x1p-25,    3e-39};
  const auto s = samples_of<double>({x});
  // The first text rounds nothing before the cast; for the others the quick path does not know that.
  for (const char* text : {"f64(f32(x))", "f64(f32(x*1))", "f64(f32(x*0.5 + x*0.5))"}) {
    const auto e = parsed(text, Type::f64);
    auto reference = Reference::make(e, s);
    ASSERT_TRUE(reference.ok());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto wanted = static_cast<double>(static_cast<float>(x[i]));
      reference->refine(0, i);
      EXPECT_EQ(reference->outputs()[0].unsure[i], kDecided) << text << " of " << x[i];
      EXPECT_TRUE(same(static_cast<double>(reference->outputs()[0].correct[i]), wanted)) << text << " of " << x[i];
    }
  }
  // The middle between two floats, but for the error of 0.1 in the type: rounding decides. An ulp beside it does not.
  const auto near = parsed("f64(f32(sqrt(x)*sqrt(x)))", Type::f64);
  const auto middle = samples_of<double>({{7 + 0x1p-22, 7 + 0x1p-21, 7.1}});
  auto reference = Reference::make(near, middle);
  ASSERT_TRUE(reference.ok());
  for (std::size_t i = 0; i < 3; ++i) reference->refine(0, i);
  EXPECT_EQ(reference->outputs()[0].unsure[0], kRoundingDecides);
  EXPECT_EQ(reference->outputs()[0].unsure[1], kDecided);
  EXPECT_EQ(reference->outputs()[0].correct[2], static_cast<long double>(7.1F));
  // The sign of a value that vanishes in f32 stays as sure as it was: 1 / f32(0 +- something) is not.
  const auto sign = parsed("1/f64(f32(1e-30*(sqrt(x)*sqrt(x) - x)*1e-30))", Type::f64);
  const auto one = samples_of<double>({{7}});
  auto unknown = Reference::make(sign, one);
  ASSERT_TRUE(unknown.ok());
  unknown->refine(0, 0);
  EXPECT_NE(unknown->outputs()[0].unsure[0], kDecided);
}

TEST(Reference, IntegersBecomeFloatsAsTheProcessorMakesThem) {
  const auto e = expr::parse_infix("f64(f32(n)) - f64(n)", {.type = Type::f64, .variables = {{"n", Type::i32}}});
  ASSERT_TRUE(e.ok());
  const auto s = samples_of<std::int32_t>({{(1 << 24) + 1, -(1 << 24) - 3, 5}});
  auto reference = Reference::make(*e, s);
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ(reference->outputs()[0].correct, (std::vector<long double>{-1, -1, 0}));
}

TEST(Reference, CancellationIsRefinedExactly) {
  // (1 + x) - 1 for tiny x: strict gives 0, the truth is x; the quick path cannot know and must say so.
  const auto e = parsed("(1 + x) - 1", Type::f64);
  const auto s = samples_of<double>({{1e-30, 0x1p-60, 0.25}});
  auto reference = Reference::make(e, s);
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ(reference->outputs()[0].strict[0], 0);
  EXPECT_GT(reference->outputs()[0].error[0], 1e-31L);
  reference->refine(0, 0);
  EXPECT_EQ(reference->outputs()[0].correct[0], 1e-30);
  EXPECT_EQ(reference->outputs()[0].correct[2], 0.25L);
}

// Oracle: x is the exact value of (1 + x) - 1 and twice it that of the other; the third needs more bits than are asked.
TEST(Reference, APointThatIsRefinedForOneOutputIsKnownForOthers) {
  const auto e = parsed("(1 + x) - 1, (2 + 2*x) - 2, ((1e200 + x) - 1e200)*1e3", Type::f64);
  const auto s = samples_of<double>({{1e-30, 3e-30}});
  auto reference = Reference::make(e, s);
  ASSERT_TRUE(reference.ok());
  const auto& outputs = reference->outputs();
  const long double before = outputs[2].error[0];
  reference->refine(0, 0);
  EXPECT_EQ(reference->refined(), 1u);
  for (const std::size_t k : {0, 1}) {
    EXPECT_EQ(outputs[k].correct[0], static_cast<long double>(k + 1) * 1e-30) << k;
    EXPECT_EQ(outputs[k].error[0], 0) << k;
    EXPECT_GT(outputs[k].error[1], 0) << k << ": nobody asked about that point";
  }
  EXPECT_EQ(outputs[2].error[0], before);
  // Its bound holds x many times over, so that a hundredth of it is enough where one asks for no more.
  reference->refine(0, 0, outputs[0].bound[0]);
  EXPECT_EQ(outputs[2].error[0], 0);
}

// Oracle: a reference that is made of the new values.
TEST(Reference, RenewedIsAsMadeAnew) {
  const auto e = parsed("exp(x)*y, x < y ? x - y : floor(y)", Type::f64);
  auto s = samples_of<double>({{1, 2, 3}, {4, 0.5, 6}});
  auto renewed = Reference::make(e, s);
  ASSERT_TRUE(renewed.ok());
  for (const auto& columns :
       {std::vector<std::vector<double>>{{0.25, 700, -3}, {9, 1e300, -2.5}}, {{5, 6, 7}, {8, 9, 10}}}) {
    s.columns = samples_of<double>(columns).columns;
    ASSERT_TRUE(renewed->renew().ok());
    auto made = Reference::make(e, s);
    ASSERT_TRUE(made.ok());
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < 3; ++i) renewed->refine(k, i), made->refine(k, i);
      EXPECT_EQ(renewed->outputs()[k].strict, made->outputs()[k].strict);
      EXPECT_EQ(renewed->outputs()[k].correct, made->outputs()[k].correct);
      EXPECT_EQ(renewed->outputs()[k].bound, made->outputs()[k].bound);
      EXPECT_EQ(renewed->outputs()[k].unsure, made->outputs()[k].unsure);
    }
  }
}

TEST(Reference, MoreBitsAreTakenUntilAValueIsKnown) {
  // 1e300 + 1 takes a thousand bits: with 200 the difference is 0.
  const auto e = parsed("(x + y) - x, floor((x + y) - x), (x + y) - x > 0.5 ? 3 : 4", Type::f64);
  const auto s = samples_of<double>({{1e300, 1e300, 1e-300}, {1, 1e-300, 1.5}});
  auto reference = Reference::make(e, s);
  ASSERT_TRUE(reference.ok());
  const double wanted[3][3] = {{1, 1e-300, 1.5}, {1, 0, 1}, {3, 4, 3}};
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < 3; ++i) {
      reference->refine(k, i);
      const OutputValues& out = reference->outputs()[k];
      // Rounding in the type takes the sum across the steps below 1, and across the one at 0.5.
      EXPECT_EQ(out.unsure[i], (k == 1 && i < 2) || (k == 2 && i == 0) ? kRoundingDecides : kDecided) << k << " " << i;
      if (out.unsure[i] == kDecided) {
        EXPECT_EQ(static_cast<double>(out.correct[i]), wanted[k][i]) << k << " " << i;
      }
    }
  }
}

// Infinities and NaN are certain beside inexact values. Oracle: IEEE 754's table of special operands.
TEST(Reference, WhatFollowsFromInfinitiesIsDecided) {
  const double inf = INFINITY;
  const struct {
    const char* text;
    double x, y, wanted;
  } cases[] = {
      {"(1 + (x - x)) * atan(x)", inf, 1, NAN}, {"(sin(x)^2 + cos(x)^2) * atan(y)", inf, 1, NAN},
      {"x * atan(y)", inf, 0.3, inf},           {"x * atan(y)", inf, -0.3, -inf},
      {"atan(y) - x", inf, 0.3, -inf},          {"exp(y) / x", inf, 0.3, 0},
      {"x / exp(y)", -inf, 0.3, -inf},          {"sqrt(-exp(x))", 0.3, 0, NAN},
      {"log(y) * sin(x)", inf, 0.3, NAN},       {"fma(x, exp(y), sin(y))", -inf, 0.3, -inf},
      {"exp(x) * sin(y)", inf, 0.3, inf},       {"pow(exp(y), x - y)", inf, 0.3, inf},
      {"pow(exp(y), sin(y) - x)", inf, 0.3, 0}, {"pow(exp(y), x)", inf, -0.3, 0},
      {"pow(-exp(y), y - x)", inf, 0.3, 0},     {"exp(y) / (x - x)", 0.3, 0.3, inf},
  };
  for (const auto& c : cases) {
    const auto e = parsed(c.text, Type::f64, {{"x", Type::f64}, {"y", Type::f64}});
    const auto s = samples_of<double>({{c.x}, {c.y}});
    auto reference = Reference::make(e, s);
    ASSERT_TRUE(reference.ok());
    reference->refine(0, 0);
    const OutputValues& out = reference->outputs()[0];
    EXPECT_EQ(out.unsure[0], kDecided) << c.text;
    EXPECT_TRUE(same(static_cast<double>(out.correct[0]), c.wanted)) << c.text << " " << out.correct[0];
  }
}

TEST(Reference, WhatNoPrecisionTellsIsGivenUp) {
  // Zero, times e^3000: 3,200 bits cannot tell it from a tiny number.
  const auto e = parsed("(sin(x)*sin(x) + cos(x)*cos(x) - 1) * exp(10000 * x)", Type::f64);
  const auto s = samples_of<double>({{0.3, 1e-3}});
  auto reference = Reference::make(e, s);
  ASSERT_TRUE(reference.ok());
  reference->refine(0, 0);
  EXPECT_EQ(reference->outputs()[0].unsure[0], kBeyondPrecision);
  reference->refine(0, 1);
  EXPECT_EQ(reference->outputs()[0].unsure[1], kDecided);
  EXPECT_LT(std::fabs(reference->outputs()[0].correct[1]), 1e-320L);
}

TEST(Reference, ACancelledOneStops) {
  const auto e = parsed("sin(x) - x", Type::f64);
  const auto s = samples_of<double>({std::vector<double>(1000, 1e-9)});
  int asked = 0;
  EXPECT_EQ(Reference::make(e, s, [&] { return ++asked == 3; }).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(asked, 3);
  asked = 0;
  auto reference = Reference::make(e, s, [&] { return ++asked == 100; });
  ASSERT_TRUE(reference.ok());
  EXPECT_FALSE(reference->stopped());
  for (std::size_t i = 0; i < 1000 && !reference->stopped(); ++i) reference->refine(0, i);
  EXPECT_TRUE(reference->stopped());
  EXPECT_EQ(asked, 100);
}

TEST(Reference, QuickValuesLieWithinTheirBoundsOfTheSlowOnes) {
  const char* const texts[] = {"sin(x) * exp(y) - x / (y + 3)",      "sqrt(x*x + y*y) * atan2(x, y)",
                               "pow(abs(x) + 0.1, y) + tanh(x * y)", "(x - y) * (x + y) - x * x + y * y",
                               "x > y ? log(x - y + 1) : cos(y)",    "floor(x * 4) + fmod(y, x) + round(y * 3)"};
  std::mt19937_64 random(3);
  for (const char* text : texts) {
    for (const Type type : {Type::f32, Type::f64}) {
      const auto e = parsed(text, type);
      std::vector<double> x(300);
      std::vector<double> y(300);
      for (auto* v : {&x, &y})
        for (double& d : *v) d = static_cast<float>(std::uniform_real_distribution<double>(-2, 2)(random));
      const auto s = type == Type::f64 ? samples_of<double>({x, y})
                                       : samples_of<float>({{x.begin(), x.end()}, {y.begin(), y.end()}});
      auto reference = Reference::make(e, s);
      ASSERT_TRUE(reference.ok()) << reference.error().message;
      const OutputValues quick = reference->outputs()[0];
      for (std::size_t i = 0; i < s.n; ++i) {
        reference->refine(0, i);
        const OutputValues& slow = reference->outputs()[0];
        if (quick.unsure[i] || slow.unsure[i] || !std::isfinite(quick.error[i])) continue;
        ASSERT_LE(std::fabs(quick.correct[i] - slow.correct[i]), quick.error[i])
            << text << " at " << x[i] << ", " << y[i];
        ASSERT_LE(std::fabs(slow.correct[i] - slow.strict[i]), 1e-3L * (1 + std::fabs(slow.correct[i]))) << text;
      }
    }
  }
}

TEST(Reference, OnlyStepsOnRoundedOperandsAreUnsure) {
  const auto exact = parsed("x < 1 ? 5 : 7", Type::f64);
  const auto s = samples_of<double>({{1, std::nextafter(1.0, 0.0), 2}});
  auto sure = Reference::make(exact, s);
  ASSERT_TRUE(sure.ok());
  EXPECT_EQ(sure->outputs()[0].unsure, (std::vector<std::uint8_t>{0, 0, 0}));
  EXPECT_EQ(sure->outputs()[0].correct[0], 7);
  EXPECT_EQ(sure->outputs()[0].correct[1], 5);

  // sin(asin-like point): sin(x) == 0.5 only up to rounding at pi / 6.
  const auto rounded = parsed("sin(x) < 0.5 ? 5 : 7", Type::f64);
  const auto s2 = samples_of<double>({{0.52359877559829887, 0.5, 0.6}});
  auto unsure = Reference::make(rounded, s2);
  ASSERT_TRUE(unsure.ok());
  EXPECT_EQ(unsure->outputs()[0].unsure, (std::vector<std::uint8_t>{1, 0, 0}));
}

// x*3 is a product: its running error is half an ulp of 4 here. Only as near to a step does rounding decide, and then
// between its two sides. 4/3 as a float is a little greater than 4/3, and its successors come 0.75 ulp further each.
TEST(Reference, RoundingDecidesNoStepThatTheRunningErrorDoesNotReach) {
  const float third = 4.0F / 3;
  std::vector<double> at = {third};
  for (int i = 0; i < 12; ++i) at.push_back(std::nextafter(static_cast<float>(at.back()), 2.0F));
  const auto s = samples_of<float>({{at.begin(), at.end()}});
  const auto integers = parsed("i64(x*3)", Type::f32);
  auto reference = Reference::make(integers, s);
  ASSERT_TRUE(reference.ok());
  const auto choice = parsed("x*3 < 4 ? 1 : 2", Type::f32);
  auto choosing = Reference::make(choice, s);
  ASSERT_TRUE(choosing.ok());
  for (std::size_t i = 0; i < at.size(); ++i) {
    const bool reaches = at[i] * 3 - 4 <= 0x1p-22;
    ASSERT_EQ(i == 0, reaches) << "the numbers of this test";
    const Whole whole = reference->outputs()[0].whole[i];
    EXPECT_EQ(reaches ? 3 : 4, whole.lo) << i;
    EXPECT_EQ(4, whole.hi) << i;
    EXPECT_EQ(reaches, reference->outputs()[0].unsure[i] != kDecided) << i;
    EXPECT_EQ(reaches, choosing->outputs()[0].bound[i] >= 1) << i;
  }
}

// Every f32 near -9174232.3 is an integer. So rounding decides a cast of it to an integer, though the nearest
// one is what trunc gives over the reals; the trunc itself is decided. With an exact operand the cast is decided
// too.
TEST(Reference, WhatIsAnIntegerByRoundingIsNoExactInteger) {
  constexpr float kBase = -0.168415144F;
  ASSERT_NEAR(std::pow(static_cast<double>(kBase), -9.0), -9174232.3, 0.3);
  for (const char* const rounds : {"trunc", "floor", "ceil", "rint", "round"}) {
    const std::string step = std::string(rounds) + "(x^-9)";
    for (const float x : {kBase, -0.1795F}) {  // and one between 2^22 and 2^23, where halves are floats too
      const auto s = samples_of<float>({{x}});
      for (const std::string& text : {"i64(" + step + ")", "i64(" + step + " + 1)", step + " < x^-9 ? 1 : 2"}) {
        const auto e = parsed(text.c_str(), Type::f32);
        auto reference = Reference::make(e, s);
        ASSERT_TRUE(reference.ok());
        EXPECT_EQ(kRoundingDecides, reference->outputs()[0].unsure[0]) << text;
        reference->refine(0, 0);
        EXPECT_EQ(kRoundingDecides, reference->outputs()[0].unsure[0]) << text;
      }
      const auto e = parsed(step.c_str(), Type::f32);
      auto reference = Reference::make(e, s);
      ASSERT_TRUE(reference.ok());
      reference->refine(0, 0);
      EXPECT_EQ(kDecided, reference->outputs()[0].unsure[0]) << step;
      EXPECT_NEAR(std::pow(static_cast<double>(x), -9.0), static_cast<double>(reference->outputs()[0].correct[0]), 1);
    }
    const auto exact = parsed(("i64(" + std::string(rounds) + "(x))").c_str(), Type::f32);
    const auto s = samples_of<float>({{-9174233.0F, 5000000.5F, 0.25F}});
    auto reference = Reference::make(exact, s);
    ASSERT_TRUE(reference.ok());
    EXPECT_EQ((std::vector<std::uint8_t>{0, 0, 0}), reference->outputs()[0].unsure);
    EXPECT_EQ(-9174233, reference->outputs()[0].integer[0]);
  }
}

TEST(Reference, ReductionsFollowTheDocumentedOrder) {
  const auto e = parsed("(sum(x), dot(x, y), mean(x), minof(x), maxof(y), prod(y))", Type::f32);
  std::mt19937_64 random(5);
  constexpr std::size_t kCount = 2 * 4096 + 1001;  // three chunks
  std::vector<float> x(kCount);
  std::vector<float> y(kCount);
  for (auto* v : {&x, &y})
    for (float& f : *v) f = std::uniform_real_distribution<float>(-1, 1)(random);
  for (float& f : y) f = f / 20 + (f < 0 ? -1.0F : 1.0F);  // so that their product is near 1 in size
  const auto s = samples_of<float>({x, y});
  auto reference = Reference::make(e, s);
  ASSERT_TRUE(reference.ok()) << reference.error().message;
  const auto total = [&](auto element) {
    return testing::reduced_in_order(element, kCount, sizeof(float), 0.0F, [](float a, float b) { return a + b; });
  };
  const float sum = total([&](std::size_t i) { return x[i]; });
  const float dot = total([&](std::size_t i) { return x[i] * y[i]; });
  const float product = testing::reduced_in_order([&](std::size_t i) { return y[i]; }, kCount, sizeof(float), 1.0F,
                                                  [](float a, float b) { return a * b; });
  long double exact_sum = 0;
  long double exact_dot = 0;
  long double exact_product = 1;
  for (std::size_t i = 0; i < kCount; ++i) {
    exact_product *= y[i];
    exact_sum += x[i];
    exact_dot += static_cast<long double>(x[i]) * y[i];
  }
  const auto& out = reference->outputs();
  EXPECT_EQ(out[0].strict[0], sum);
  EXPECT_EQ(out[1].strict[0], dot);
  EXPECT_EQ(out[2].strict[0], sum / static_cast<float>(kCount));
  EXPECT_NEAR(static_cast<double>(out[0].correct[0] - exact_sum), 0, 1e-12);
  EXPECT_NEAR(static_cast<double>(out[1].correct[0] - exact_dot), 0, 1e-12);
  EXPECT_EQ(out[3].strict[0], *std::min_element(x.begin(), x.end()));
  EXPECT_EQ(out[4].correct[0], *std::max_element(y.begin(), y.end()));
  EXPECT_EQ(out[5].strict[0], product);
  EXPECT_NEAR(static_cast<double>(out[5].correct[0] / exact_product), 1, 1e-12);
  // The running error of a sum is that of a tree over the sum of absolute values.
  long double absolute = 0;
  for (const float f : x) absolute += std::fabs(f);
  EXPECT_NEAR(static_cast<double>(out[0].bound[0] / (absolute * 0x1p-24L)),
              std::log2(static_cast<double>(x.size())) + 6, 1e-3);
}

TEST(Reference, IntegersWrapAndShiftAsDocumented) {
  const auto e = parsed("(x * x, x << y, x >> y, min(x, y))", Type::f64,
                        {{"x", Type::i32, expr::VariableKind::array}, {"y", Type::i32, expr::VariableKind::array}});
  const auto s = samples_of<std::int32_t>({{100000, -5, 7}, {3, 33, 31}});
  auto reference = Reference::make(e, s);
  ASSERT_TRUE(reference.ok()) << reference.error().message;
  const auto& out = reference->outputs();
  EXPECT_EQ(out[0].integer[0], static_cast<std::int32_t>(10000000000LL));
  EXPECT_EQ(out[1].integer[1], -10);  // shift counts are taken modulo the width
  EXPECT_EQ(out[2].integer[0], 100000 >> 3);
  EXPECT_EQ(out[3].integer[1], -5);
}

// cosh(17.5)^cosh(17.5) has half a billion bits before the point: its cosine is known to lie in [-1, 1].
TEST(Reference, NumbersOfMillionsOfBitsHaveNoCosine) {
  const auto e = parsed("(cos(pow(cosh(x), cosh(x))), tan(pow(cosh(x), cosh(x))) + 1)", Type::f64,
                        {{"x", Type::f64, expr::VariableKind::array, 0, 100}});
  const auto s = samples_of<double>({{17.5, 0.5}});
  auto reference = Reference::make(e, s);
  ASSERT_TRUE(reference.ok());
  for (const std::size_t output : {0, 1}) {
    reference->refine(output, 0);
    EXPECT_EQ(reference->outputs()[output].unsure[0], kBeyondPrecision);
    reference->refine(output, 1);
    EXPECT_EQ(reference->outputs()[output].unsure[1], kDecided);
  }
  const double power = std::pow(std::cosh(0.5), std::cosh(0.5));
  EXPECT_NEAR(static_cast<double>(reference->outputs()[0].correct[1]), std::cos(power), 1e-15);
}

TEST(Reference, DerivativesAreRefused) {
  const auto s = samples_of<double>({{1, 2}});
  const auto e = parsed("diff(x * x, x)", Type::f64);
  EXPECT_EQ(Reference::make(e, s).error().code, ErrorCode::kUnsupported);
}

// inf - inf is NaN; where the infinity is a quotient by what may be no zero, the difference may be any number.
TEST(Tracked, NanThatMayBeANumberIsUnknown) {
  const auto of = [](Op op, const Tracked<double>& a, const Tracked<double>& b = {}) { return apply(op, 0, a, b, b); };
  const Tracked<double> pole = of(Op::Div, {1, 0}, {0, 1e-9});
  for (const Tracked<double>& nan : {of(Op::Sub, pole, pole), of(Op::Sqrt, {-1e-9, 1e-3})}) {
    EXPECT_TRUE(std::isnan(nan.v));
    EXPECT_EQ(nan.e, INFINITY);
    EXPECT_EQ(of(Op::Max, nan, {2, 0.5}).e, INFINITY);
    EXPECT_EQ(of(Op::Min, {2, 0.5}, nan).e, INFINITY);
  }
  for (const Tracked<double>& nan : {of(Op::Sub, {INFINITY, 0}, {INFINITY, 0}), of(Op::Sqrt, {-1, 0.25}),
                                     of(Op::Acosh, {0, 0.5}), of(Op::Mul, of(Op::Sqrt, {-1, 0}), {2, 0.5})}) {
    EXPECT_TRUE(std::isnan(nan.v));
    EXPECT_EQ(nan.e, 0);
    EXPECT_EQ(of(Op::Max, nan, {2, 0.5}).e, 0.5);
  }
}

}  // namespace
}  // namespace trident::equiv
