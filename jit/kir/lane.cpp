// One lane of one op, on bits: the meaning of every op, written for clarity. The block-wise interpreter and the hosts
// are tested against it; constants are folded by it.
#include <bit>
#include <cmath>
#include <limits>

#include "jit/kir/estimates.h"
#include "jit/kir/interpreter.h"

namespace trident::kir {

namespace {

template <class F>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Int = std::int32_t;
  static constexpr int kBias = 127, kMantissa = 23;
};
template <>
struct FloatBits<double> {
  using Int = std::int64_t;
  static constexpr int kBias = 1023, kMantissa = 52;
};

template <class T>
T of_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  else
    return std::bit_cast<T>(bits);
}

template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<std::uint32_t>(value);
  else
    return std::bit_cast<std::uint64_t>(value);
}

template <class T>
std::uint64_t mask_bits(bool b) {
  return b ? bits_of<std::make_unsigned_t<T>>(static_cast<std::make_unsigned_t<T>>(~std::make_unsigned_t<T>{0})) : 0;
}

/// a * 2^b in two exact-power steps. The first keeps |a| < 2^4 in the normal range, so only the second may round.
template <class F>
F scalef(F a, F b) {
  using Int = typename FloatBits<F>::Int;
  constexpr int kBias = FloatBits<F>::kBias;
  constexpr F kLow = F(5 - kBias), kHigh = F(kBias - 4);                   // of the first step
  constexpr F kLeast = kLow - F(kBias - 1), kGreatest = kHigh + F(kBias);  // beyond: 0 or infinity all the same
  if (std::isnan(b)) return b;
  const auto power_of_two = [](F k) {
    return std::bit_cast<F>((static_cast<Int>(k) + kBias) << FloatBits<F>::kMantissa);
  };
  const F whole = b < kLeast ? kLeast : b > kGreatest ? kGreatest : b;
  const F first = whole < kLow ? kLow : whole > kHigh ? kHigh : whole;
  return a * power_of_two(first) * power_of_two(whole - first);
}

template <class F>
F float_op(Op op, F a, F b, F c) {
  switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return a / b;
    case Op::Neg:
      return std::bit_cast<F>(std::bit_cast<typename FloatBits<F>::Int>(a) ^
                              std::numeric_limits<typename FloatBits<F>::Int>::min());
    case Op::Abs:
      return std::bit_cast<F>(std::bit_cast<typename FloatBits<F>::Int>(a) &
                              std::numeric_limits<typename FloatBits<F>::Int>::max());
    case Op::Min: return a < b ? a : b;
    case Op::Max: return a > b ? a : b;
    case Op::Sqrt: return std::sqrt(a);
    case Op::Fma: return std::fma(a, b, c);
    case Op::Fms: return std::fma(a, b, -c);
    case Op::Fnma: return std::fma(-a, b, c);
    case Op::Fnms: return std::fma(-a, b, -c);
    case Op::Rint: return std::nearbyint(a);
    case Op::Floor: return std::floor(a);
    case Op::Ceil: return std::ceil(a);
    case Op::Trunc: return std::trunc(a);
    case Op::Scalef: return scalef(a, b);
    case Op::Constant:
    case Op::Input:
    case Op::Param:
    case Op::Count:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Not:
    case Op::AndNot:
    case Op::Shl:
    case Op::Shr:
    case Op::Sar:
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne:
    case Op::Select:
    case Op::Bitcast:
    case Op::Convert:
    case Op::ToIntRint:
    case Op::Lookup:
    case Op::Sum:
    case Op::MinOf:
    case Op::MaxOf:
    case Op::Prod:
    case Op::Dot:
    case Op::Index:
    case Op::Gather:
    case Op::Strided:
    case Op::Sqrt14:
    case Op::Rsqrt14:
    case Op::Div14:
    case Op::Sqrt12:
    case Op::Rsqrt12:
    case Op::Div12: break;
  }
  CHECK(false);
}

/// Integers and masks; `U` is unsigned, so that everything wraps.
template <class U>
U int_op(Op op, U a, U b) {
  using S = std::make_signed_t<U>;
  constexpr U kWidth = sizeof(U) * 8;
  switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Neg: return U{0} - a;
    case Op::Abs: return static_cast<S>(a) < 0 ? U{0} - a : a;
    case Op::Min: return static_cast<S>(a) < static_cast<S>(b) ? a : b;
    case Op::Max: return static_cast<S>(a) > static_cast<S>(b) ? a : b;
    case Op::And: return a & b;
    case Op::Or: return a | b;
    case Op::Xor: return a ^ b;
    case Op::Not: return ~a;
    case Op::AndNot: return ~a & b;
    case Op::Shl: return b < kWidth ? a << b : 0;
    case Op::Shr: return b < kWidth ? a >> b : 0;
    case Op::Sar: return static_cast<U>(static_cast<S>(a) >> (b < kWidth ? b : kWidth - 1));
    case Op::Constant:
    case Op::Input:
    case Op::Param:
    case Op::Count:
    case Op::Div:
    case Op::Sqrt:
    case Op::Fma:
    case Op::Fms:
    case Op::Fnma:
    case Op::Fnms:
    case Op::Rint:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne:
    case Op::Select:
    case Op::Bitcast:
    case Op::Convert:
    case Op::ToIntRint:
    case Op::Scalef:
    case Op::Lookup:
    case Op::Sum:
    case Op::MinOf:
    case Op::MaxOf:
    case Op::Prod:
    case Op::Dot:
    case Op::Index:
    case Op::Gather:
    case Op::Strided:
    case Op::Sqrt14:
    case Op::Rsqrt14:
    case Op::Div14:
    case Op::Sqrt12:
    case Op::Rsqrt12:
    case Op::Div12: break;
  }
  CHECK(false);
}

float estimated(Op op, float a, float b) {
  if (op == Op::Sqrt14) return sqrt14(a);
  if (op == Op::Rsqrt14) return rsqrt14(a);
  if (op == Op::Div14) return div14(a, b);
  if (op == Op::Sqrt12) return sqrt12(a);
  if (op == Op::Rsqrt12) return rsqrt12(a);
  CHECK(op == Op::Div12);
  return div12(a, b);
}

template <class T>
bool compare(Op op, T a, T b) {
  if (op == Op::Lt) return a < b;
  if (op == Op::Le) return a <= b;
  if (op == Op::Eq) return a == b;
  CHECK(op == Op::Ne);
  return a != b;
}

template <class I, class F>
I truncate(F value) {
  // Both ends are powers of two and so exact in F; NaN fails the first comparison.
  constexpr F kEnd = F(std::uint64_t{1} << (sizeof(I) * 8 - 1));
  const F whole = std::trunc(value);
  return whole >= -kEnd && whole < kEnd ? static_cast<I>(whole) : std::numeric_limits<I>::min();
}

template <class From>
std::uint64_t convert_number(From value, Type to) {
  if (to == Type::f32) return bits_of(static_cast<float>(value));
  if (to == Type::f64) return bits_of(static_cast<double>(value));
  CHECK(is_int(to));
  if constexpr (std::is_floating_point_v<From>)
    return to == Type::i32 ? bits_of(truncate<std::int32_t>(value)) : bits_of(truncate<std::int64_t>(value));
  else
    return to == Type::i32 ? bits_of(static_cast<std::int32_t>(value)) : bits_of(static_cast<std::int64_t>(value));
}

std::uint64_t convert(Type from, Type to, std::uint64_t a) {
  switch (from) {
    case Type::f32: return convert_number(of_bits<float>(a), to);
    case Type::f64: return convert_number(of_bits<double>(a), to);
    case Type::i32: return convert_number(of_bits<std::int32_t>(a), to);
    case Type::i64: return convert_number(of_bits<std::int64_t>(a), to);
    case Type::b32:
    case Type::b64:
      CHECK(is_mask(to));
      return to == Type::b32 ? mask_bits<std::int32_t>(a != 0) : mask_bits<std::int64_t>(a != 0);
  }
  CHECK(false);
}

std::uint64_t compare_bits(Op op, Type operand, std::uint64_t a, std::uint64_t b) {
  switch (operand) {
    case Type::f32: return mask_bits<std::int32_t>(compare(op, of_bits<float>(a), of_bits<float>(b)));
    case Type::f64: return mask_bits<std::int64_t>(compare(op, of_bits<double>(a), of_bits<double>(b)));
    case Type::i32: return mask_bits<std::int32_t>(compare(op, of_bits<std::int32_t>(a), of_bits<std::int32_t>(b)));
    case Type::i64: return mask_bits<std::int64_t>(compare(op, of_bits<std::int64_t>(a), of_bits<std::int64_t>(b)));
    case Type::b32:
    case Type::b64: break;
  }
  CHECK(false);
}

}  // namespace

std::uint64_t eval_lane(Op op, Type result, Type operand, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (op == Op::Select) return a != 0 ? b : c;
  if (op == Op::Bitcast) return a;
  if (op == Op::Convert) return convert(operand, result, a);
  if (op == Op::ToIntRint)
    return operand == Type::f32 ? bits_of(truncate<std::int32_t>(std::nearbyint(of_bits<float>(a))))
                                : bits_of(truncate<std::int64_t>(std::nearbyint(of_bits<double>(a))));
  if (info(op).signature == Signature::Compare) return compare_bits(op, operand, a, b);
  CHECK(info(op).signature == Signature::Same);
  if (is_estimate(op)) return bits_of(estimated(op, of_bits<float>(a), of_bits<float>(b)));
  switch (result) {
    case Type::f32: return bits_of(float_op(op, of_bits<float>(a), of_bits<float>(b), of_bits<float>(c)));
    case Type::f64: return bits_of(float_op(op, of_bits<double>(a), of_bits<double>(b), of_bits<double>(c)));
    case Type::i32:
    case Type::b32: return int_op(op, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
    case Type::i64:
    case Type::b64: return int_op(op, a, b);
  }
  CHECK(false);
}

}  // namespace trident::kir
