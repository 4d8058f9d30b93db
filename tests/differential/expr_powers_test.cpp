// Integer powers: every kind of exponent (chains of products, the function pow, exponents that an f32 does not hold) at
// bases whose powers overflow, underflow or lie between. Oracle: MPFR's power with a 64-bit exponent.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "tests/support/random.h"

namespace trident {
namespace {

using ir::Type;

// MPFR's result, rounded to the type, and the size of one unit in the last place there.
struct Truth {
  double value = 0;
  long double wide = 0, ulp = 0;
};
Truth power(Type type, double base, std::int64_t exponent) {
  mpfr_t x;
  mpfr_init2(x, 200);
  mpfr_set_d(x, base, MPFR_RNDN);
  mpfr_pow_si(x, x, static_cast<long>(exponent), MPFR_RNDN);
  Truth truth;
  truth.value = type == Type::f32 ? static_cast<double>(mpfr_get_flt(x, MPFR_RNDN)) : mpfr_get_d(x, MPFR_RNDN);
  truth.wide = mpfr_get_ld(x, MPFR_RNDN);
  const int digits = type == Type::f32 ? FLT_MANT_DIG : DBL_MANT_DIG;
  const int least = type == Type::f32 ? FLT_MIN_EXP : DBL_MIN_EXP;
  const int at = mpfr_regular_p(x) ? std::max(static_cast<int>(mpfr_get_exp(x)), least) : least;
  truth.ulp = std::ldexp(1.0L, at - digits);
  mpfr_clear(x);
  return truth;
}

std::vector<double> bases(Type type, std::int64_t exponent, testing::Random& random) {
  std::vector<double> list = {0.0,   -0.0,  1,    -1,    2,        -2,        0.5, -0.5,    3,       -3,   1e10,
                              -1e10, 1e-10, 1e30, -1e30, INFINITY, -INFINITY, NAN, FLT_MAX, FLT_MIN, -1.5, 1e-40};
  if (type == Type::f64) list.insert(list.end(), {1e155, 1e-155, -1e102, 1e300, DBL_MAX, DBL_MIN, 5e-324});
  // Bases whose powers have exponents all over the type's range, and beyond.
  const double most = type == Type::f32 ? 150 : 1080;
  for (int i = 0; i < 400; ++i) {
    const double x = std::exp2((2 * random.unit() - 1) * most / static_cast<double>(exponent == 0 ? 1 : exponent));
    list.push_back(random.chance(0.5) ? x : -x);
  }
  if (type == Type::f32)
    for (double& x : list) x = static_cast<double>(static_cast<float>(x));
  return list;
}

std::vector<double> kernel_values(Type type, std::int64_t exponent, expr::PolicyKind policy,
                                  const std::vector<double>& x) {
  const auto e = expr::parse("x^" + std::to_string(exponent), {.type = type, .variables = {}, .file = ""});
  CHECK(e.ok());
  const auto kernel = expr::lower(*e, {.policy = {policy, 2}, .simplify = false});
  CHECK(kernel.ok());
  std::vector<float> single(x.begin(), x.end()), single_out(x.size());
  std::vector<double> out(x.size());
  const void* const in = type == Type::f32 ? static_cast<const void*>(single.data()) : x.data();
  void* const to = type == Type::f32 ? static_cast<void*>(single_out.data()) : out.data();
  kir::interpret(*kernel, x.size(), &in, &to, nullptr);
  if (type == Type::f32) out.assign(single_out.begin(), single_out.end());
  return out;
}

TEST(ExprPowers, AreRightWhereTheyOverflowAndUnderflow) {
  testing::Random random(11);
  for (const Type type : {Type::f32, Type::f64}) {
    for (const std::int64_t exponent :
         {0,        1,          2,  3,  5,  7,  12, 31,  64,  65,  127, 1000001, 16777216,  16777217,
          33554431, 2147483647, -1, -2, -3, -4, -7, -12, -31, -64, -65, -1001,   -16777217, -2147483647}) {
      const std::vector<double> x = bases(type, exponent, random);
      for (const auto policy : {expr::PolicyKind::exact, expr::PolicyKind::bounded}) {
        const std::vector<double> got = kernel_values(type, exponent, policy, x);
        // A plain chain rounds once a product, and the powers that follow magnify that; bounded(2) has chains that
        // carry their errors along, but where the inverse of a power overflows or underflows. The function pow: 1.6
        // ulp.
        const double size = std::fabs(static_cast<double>(exponent));
        const bool chain = size <= 64;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const Truth want = power(type, x[i], exponent);
          SCOPED_TRACE(::testing::Message() << ir::name_of(type) << " " << x[i] << "^" << exponent << " = " << got[i]
                                            << ", right is " << want.value);
          ASSERT_EQ(std::isnan(got[i]), std::isnan(want.value));
          if (std::isnan(got[i])) continue;
          ASSERT_EQ(std::signbit(got[i]), std::signbit(want.value));
          if (got[i] == want.value) continue;
          const long double greatest = type == Type::f32 ? FLT_MAX : DBL_MAX;
          if (std::isinf(got[i])) {
            ASSERT_GE(std::fabs(want.wide), greatest * (1 - 1e-5L));
          } else if (std::isinf(want.value)) {
            ASSERT_GE(std::fabs(static_cast<long double>(got[i])), greatest * (1 - 1e-5L));
          } else {
            const long double inverse = 1 / std::fabs(want.wide);
            const bool extreme =
                exponent < 0 && !(inverse < greatest && inverse > (type == Type::f32 ? FLT_MIN : DBL_MIN));
            const double allowed = chain && (policy == expr::PolicyKind::exact || extreme) ? 1.5 + size : 3.6;
            ASSERT_LE(std::fabs(static_cast<long double>(got[i]) - want.wide) / want.ulp, allowed);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trident
