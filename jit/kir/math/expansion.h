// Tools for expanding one function call: the builder, the type and class of the call, and the few forms that every
// function needs (constants by type, polynomials, scaling by powers of two).
#pragma once

#include <cstdint>
#include <span>

#include "jit/kir/builder.h"
#include "jit/kir/math/math.h"

namespace trident::kir::math {

/// Coefficients of one function for every type and accuracy; rel3 shares one set between the types.
struct CoefficientSets {
  std::span<const double> f32_ulp1, f32_ulp4, f64_ulp1, f64_ulp4, rel3;
};

class Expansion {
 public:
  Expansion(Builder& builder, Type type, Accuracy accuracy) : b(builder), type(type), accuracy(accuracy) {}

  [[nodiscard]] bool single() const { return type == Type::f32; }
  [[nodiscard]] bool rel3() const { return accuracy == Accuracy::rel3; }
  [[nodiscard]] bool ulp1() const { return accuracy == Accuracy::ulp1; }
  /// Returns the one of two values that belongs to the type.
  template <typename T>
  [[nodiscard]] T by_type(T for_f32, T for_f64) const {
    return single() ? for_f32 : for_f64;
  }
  [[nodiscard]] std::span<const double> pick(const CoefficientSets& sets) const {
    if (rel3()) return sets.rel3;
    return single() ? (ulp1() ? sets.f32_ulp1 : sets.f32_ulp4) : (ulp1() ? sets.f64_ulp1 : sets.f64_ulp4);
  }

  /// `value` as a lane of the type of the call.
  Value k(double value) { return b.constant(type, value); }
  /// Returns an integer constant as wide as the type of the call.
  Value ki(std::int64_t value) { return b.constant_int(ir::int_of(type), value); }
  Value infinity() { return k(std::numeric_limits<double>::infinity()); }
  Value nan() { return k(std::numeric_limits<double>::quiet_NaN()); }

  /// c[0] + c[1] x + ... by Horner's rule: the fewest ops; interleaved vectors and iterations hide its latency. Long
  /// ones are summed by even and odd powers apart where a class allows it, which halves the latency for one op.
  Value horner(Value x, std::span<const double> c);
  /// fma(horner(x, c), x, tail).
  Value horner_onto(Value x, std::span<const double> c, Value tail) { return b.fma(horner(x, c), x, tail); }
  /// x + x * (x2 * P(x2)), which keeps the sign of a zero x: the product with x2 starts from +0.
  Value odd(Value x, Value x2, std::span<const double> c);

  [[nodiscard]] int mantissa_bits() const { return by_type(23, 52); }
  [[nodiscard]] double magic() const { return by_type(0x1.8p23, 0x1.8p52); }  ///< adding it rounds to integers
  [[nodiscard]] std::int64_t sign_bit() const { return by_type<std::int64_t>(-0x8000'0000LL, INT64_MIN); }
  [[nodiscard]] double least_normal() const { return by_type(0x1p-126, 0x1p-1022); }

  /// a with its exponent raised by the integer in the low bits of `magic_sum` (= n + magic()); a and the result must be
  /// normal and finite.
  Value raise_exponent(Value a, Value magic_sum);
  /// x with the sign bits of `sign` (an integer) flipped in.
  Value flip_sign(Value x, Value sign) { return b.as_float(b.op(Op::Xor, b.as_int(x), sign)); }
  /// Returns `magnitude`, which is not negative, with the sign of x.
  Value with_sign_of(Value magnitude, Value x) { return b.as_float(b.op(Op::Or, b.as_int(magnitude), sign_of(x))); }
  /// Returns the sign bit of x alone.
  Value sign_of(Value x) { return b.op(Op::And, b.as_int(x), ki(sign_bit())); }
  Value shift_left(Value a, int bits) { return b.op(Op::Shl, a, b.constant_int(b.type_of(a), bits)); }

  Builder& b;
  const Type type;
  const Accuracy accuracy;
};

inline bool bounded(const Range& r) {
  return !r.may_be_nan && r.lo > -std::numeric_limits<double>::infinity() &&
         r.hi < std::numeric_limits<double>::infinity();
}
/// Returns the greatest magnitude in the range.
inline double magnitude(const Range& r) {
  return -r.lo > r.hi ? -r.lo : r.hi;
}

}  // namespace trident::kir::math
