// Oracle: the quotient in long double, and the quotient of the type for operands that are zero, infinite, NaN or tiny.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/expr/builder.h"
#include "jit/expr/simplify.h"
#include "jit/kir/interpreter.h"
#include "tests/support/random.h"

namespace trident::expr {
namespace {

template <class T>
class Quotients {
 public:
  explicit Quotients(T divisor) : divisor_(divisor) {
    Expr e;
    e.variables = {{.name = "x", .type = kType}};
    Builder b(e);
    e.outputs.push_back({"y", b.op(Op::Div, b.variable(0), b.constant(kType, static_cast<double>(divisor)))});
    const auto kernel = lower(multiply_constant_quotients(e), {.policy = {PolicyKind::bounded, 2}, .simplify = false});
    EXPECT_TRUE(kernel.ok());
    kernel_ = *kernel;
  }

  [[nodiscard]] T of(T x) const {
    const void* in[] = {&x};
    T y = 0;
    void* out[] = {&y};
    kir::interpret(kernel_, 1, in, out, nullptr);
    return y;
  }
  [[nodiscard]] bool divides() const {
    return std::ranges::find(kernel_.insts, kir::Op::Div, &kir::Inst::op) != kernel_.insts.end();
  }

 private:
  static constexpr Type kType = sizeof(T) == 4 ? Type::f32 : Type::f64;
  T divisor_;
  kir::Kernel kernel_;
};

/// Expects the quotient but for its last bit: within 0.501 ulp, and half the least number where x l may be subnormal.
template <class T>
void expect_quotient(T y, T x, T c) {
  const T wanted = x / c;
  if (!(std::fabs(wanted) <= std::numeric_limits<T>::max()) || x == 0) {
    EXPECT_TRUE(std::isnan(wanted) ? std::isnan(y) : y == wanted) << y << " for " << x << " / " << c;
  } else {
    const long double correct = static_cast<long double>(x) / static_cast<long double>(c);
    const long double least = std::numeric_limits<T>::denorm_min();
    const long double ulp = std::max(std::ldexp(1.0L, std::ilogb(correct) + 1 - std::numeric_limits<T>::digits), least);
    EXPECT_LE(std::fabs(static_cast<long double>(y) - correct), 0.501L * ulp + least / 2)
        << y << " for " << x << " / " << c;
  }
  EXPECT_TRUE(std::isnan(wanted) || std::signbit(y) == std::signbit(wanted)) << y << " for " << x << " / " << c;
}

template <class T>
class ConstantQuotients : public ::testing::Test {
 protected:
  using Limits = std::numeric_limits<T>;
  static constexpr T kInf = Limits::infinity(), kTiny = Limits::denorm_min(), kLeast = Limits::min();
  static constexpr T kMost = Limits::max();
  static constexpr T kDivisors[] = {T(1.1), T(0.6),   T(-0.8),   T(3),   T(10),
                                    T(7e8), T(-1e-9), T(1.9999), T(255), 1 - Limits::epsilon() / 2};
  /// Compares x near `size` quotients, both signs: 1000 drawn multiples of it in [1/2, 2).
  static void expect_near(T size, std::uint64_t seed) {
    testing::Random random(seed);
    for (const T c : kDivisors) {
      const Quotients<T> q(c);
      for (int i = 0; i < 1000; ++i) {
        const long double x = static_cast<long double>(size) * c * (0.5 + 1.5 * random.unit()) * (i % 2 == 0 ? 1 : -1);
        expect_quotient(q.of(static_cast<T>(x)), static_cast<T>(x), c);
      }
    }
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ConstantQuotients, Types);

TYPED_TEST(ConstantQuotients, AreAllButCorrectlyRounded) {
  for (const TypeParam size : {1.0F, 1e-6F, 3e8F}) this->expect_near(size, 1);
}

TYPED_TEST(ConstantQuotients, OverflowWhereQuotientsDo) {
  this->expect_near(this->kMost, 2);
}

// x l is subnormal, then the quotient.
TYPED_TEST(ConstantQuotients, UnderflowByHalfTheLeastNumberMore) {
  for (const TypeParam scale : {1e6F, 100.0F, 1.0F, 1e-3F}) this->expect_near(this->kLeast * scale, 3);
  this->expect_near(3 * this->kTiny, 4);
}

TYPED_TEST(ConstantQuotients, KeepInfinitiesNaNAndSignsOfZeros) {
  using T = TypeParam;
  for (const T c : this->kDivisors) {
    const Quotients<T> q(c);
    EXPECT_FALSE(q.divides()) << c;
    for (const T x : {T(0), this->kInf, this->kMost, this->kLeast, this->kTiny, T(NAN)})
      for (const T signed_x : {x, -x}) expect_quotient(q.of(signed_x), signed_x, c);
  }
}

TYPED_TEST(ConstantQuotients, StayWhereTheInverseIsOneNumberOrMayUnderflow) {
  using T = TypeParam;
  for (const T c : {T(0), T(4), T(-0.25), this->kInf, this->kTiny, this->kMost, T(NAN)})
    EXPECT_TRUE(Quotients<T>(c).divides()) << c;
}

}  // namespace
}  // namespace trident::expr
