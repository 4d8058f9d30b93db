#include "jit/expr/rewrite/fold.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>

#include "jit/expr/builder.h"
#include "jit/expr/op_values.h"

namespace trident::expr::rewrite {
namespace {

// Exact for cubes of floats; std::cbrt is not.
double cube_root(double x) {
  const double root = std::cbrt(x), few_bits = static_cast<float>(root);
  return few_bits * few_bits * few_bits == x ? few_bits : root;
}

// Returns whether a folded value is the real one but for a rounding; false after underflow.
bool is_in_range(const Node& n, double value, double a, double b) {
  if (!std::isfinite(value)) return false;
  if (std::fabs(value) >= DBL_MIN) return true;
  if (n.op == Op::Cast) return value != 0 || a == 0;
  if (has(n.op, kKeepsSmall)) return true;
  // Zero is zero where an operand makes it so, or a product that has not underflowed cancels.
  const bool cancels = n.op == Op::Fma && std::fabs(a * b) >= DBL_MIN;
  const bool has_zero = a == 0 || (info(n.op).arity > 1 && b == 0);
  return value == 0 && (cancels || has_zero || (info(n.op).zeros == Zeros::at_one && a == 1));
}

// Significant bits of the mantissa; 0 of zero.
int bits(double x) {
  const std::uint64_t mantissa =
      (std::bit_cast<std::uint64_t>(x) & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
  return x == 0 ? 0 : 53 - std::countr_zero(mantissa);
}
// A rounded result has so few by chance once in 16 million times.
bool has_few_bits(double x) {
  return bits(x) <= 29;
}

bool is_whole(double x) {
  return std::trunc(x) == x;
}

// Returns whether a power with a value of few bits is exact.
bool power_is_exact(double a, double exponent) {
  if (exponent == 0 || a == 1) return true;
  const double root = std::sqrt(a);
  if (!is_whole(exponent))
    return is_whole(2 * exponent) && root * root == a && bits(root) * std::fabs(2 * exponent) <= 53;
  return exponent < 0 ? bits(a) == 1 : bits(a) * exponent <= 53;
}

// Returns whether an op's value of few bits is the exact result.
bool is_exact(const Node& n, double value, double a, double b, double c) {
  if (has(n.op, kKeepsSmall)) return true;  // of sums loses_digits() tells
  const long double wide = value;
  if (n.op == Op::Mul) return std::fma(a, b, -value) == 0;
  if (n.op == Op::Fma) return std::fma(a, b, -(a * b)) == 0 && lost_by_sum(a * b, c, value) == 0;
  if (n.op == Op::Div) return std::fma(value, b, -a) == 0;
  if (n.op == Op::Recip) return std::fma(value, a, -1.0) == 0;
  if (n.op == Op::Sqrt) return std::fma(value, value, -a) == 0;
  if (n.op == Op::Rsqrt) return wide * wide * a == 1 && has_few_bits(a);
  if (n.op == Op::Cbrt) return wide * wide * wide == a && bits(value) <= 21;
  if (n.op == Op::Hypot)
    return a == 0 || b == 0 ||
           (has_few_bits(a) && has_few_bits(b) &&
            wide * wide == static_cast<long double>(a) * a + static_cast<long double>(b) * b);
  if (n.op == Op::Pow) return power_is_exact(a, b);
  if (n.op == Op::Powi) return power_is_exact(a, static_cast<double>(static_cast<std::int64_t>(n.imm)));
  if (n.op == Op::Exp2) return is_whole(a);
  if (n.op == Op::Log2) return bits(a) == 1;
  if (n.op == Op::Log10) return is_whole(value) && value >= 0 && value <= 22 && std::pow(10.0, value) == a;
  if (n.op == Op::Atan2) return a == 0;
  return a == 0 || (a == 1 && value == 0);  // functions
}

// Returns whether doubles tell the value from its neighbours: another function of the same operand (sinh and cosh both
// equal half an exponential from some 16 on), the operand itself, or a limit. Two real values under one constant would
// prove anything: sinh(25) / cosh(25) is not one.
bool is_told_apart(const Node& n, double value, double a, double b) {
  constexpr double kFar = 1e14;
  const double x = std::fabs(a), y = std::fabs(b);
  if (value == a && a != 0 && has(n.op, kLikeOperand)) return false;
  if (n.op == Op::Sinh || n.op == Op::Cosh) return x < 16;
  if (n.op == Op::Expm1) return x < 32;
  if (n.op == Op::Asinh || n.op == Op::Acosh) return x < 1e6;
  if (n.op == Op::Log1p || n.op == Op::Atan) return x < kFar;
  if (n.op == Op::Acos) return x == 0 || x > 1 / kFar;
  if (n.op == Op::Hypot) return (value != x || y == 0) && (value != y || x == 0);
  if (n.op == Op::Atan2) return x == 0 || y == 0 || (x < kFar * y && (b > 0 || y < kFar * x));
  return true;
}

}  // namespace

double in_doubles(const Node& n, double a, double b, double c) {
  // Integers of 64 bits are not all doubles.
  if (n.op == Op::Cast && std::fabs(a) < 0x1p53) return value_of(n.type, bits_of(n.type, a));
  if (n.op == Op::Cbrt) return cube_root(a);
  if (!info(n.op).is_real || is_step(n.op)) return std::nan("");
  return evaluate(real_op(n.op), static_cast<std::int64_t>(n.imm), a, b, c);
}

double lost_by_sum(double a, double b, double sum) {
  const double of_b = sum - a;
  return (a - (sum - of_b)) + (b - of_b);
}

bool loses_digits(double a, double b, double sum) {
  constexpr double kManyDigits = 0x1p-8;
  // A later subtraction of the greater operand would make the lesser one zero.
  constexpr double kSmallShare = 1e-9;
  if (sum == 0) return false;
  if (std::fabs(lost_by_sum(a, b, sum)) > kSmallShare * std::min(std::fabs(a), std::fabs(b))) return true;
  if (has_few_bits(sum) && lost_by_sum(a, b, sum) != 0) return true;
  const bool rounded = !has_few_bits(a) || !has_few_bits(b);
  return rounded && std::fabs(sum) < kManyDigits * std::max(std::fabs(a), std::fabs(b));
}

std::optional<double> fold(const Node& n, double a, double b, double c) {
  const double value = in_doubles(n, a, b, c);
  if (!is_in_range(n, value, a, b)) return std::nullopt;
  if (value != 0 && has_few_bits(value) && !is_exact(n, value, a, b, c)) return std::nullopt;
  if (!is_told_apart(n, value, a, b)) return std::nullopt;
  if (n.op == Op::Add && loses_digits(a, b, value)) return std::nullopt;
  if (n.op == Op::Sub && loses_digits(a, -b, value)) return std::nullopt;
  if (n.op == Op::Fma && loses_digits(a * b, c, value)) return std::nullopt;
  return value;
}

}  // namespace trident::expr::rewrite
