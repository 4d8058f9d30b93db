#include "jit/equiv/running_error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "jit/equiv/integers.h"
#include "jit/equiv/tracked.h"
#include "jit/expr/powers.h"
#include "jit/kir/math/math.h"

namespace trident::equiv {
namespace {

using expr::Op;
using expr::RealOp;
using expr::Type;
using running_detail::known;
using running_detail::product;

constexpr long double kUnbounded = std::numeric_limits<long double>::infinity();
/// A result below it may have underflowed in its carrier, which is double for f32.
constexpr long double kLeastOfCarriers = DBL_MIN;
constexpr long double kHalfTurn = std::numbers::pi_v<long double>;

long double magnitude(const Around& a) {
  return std::fabs(a.v);
}

long double wider(long double a, long double b) {
  return known(a) < known(b) ? known(b) : known(a);
}

// Bounds e^t - 1.
long double growth(long double t) {
  return t <= 0x1p-10L ? t * (1 + t) : std::expm1(t);
}

// Bounds -log(1 - x), the relative change of an argument that moves by the share x of itself.
long double shrinking(long double x) {
  return x <= 0x1p-10L ? x * (1 + x) : x < 1 ? -std::log1p(-x) : kUnbounded;
}

// A function that only rises or only falls on its domain.
long double between_ends(RealOp op, const Around& a, long double result) {
  const auto [least, greatest] = expr::domain_of(static_cast<Op>(op));
  const long double lo = apply_plain<long double>(op, 0, std::max<long double>(a.v - a.d, least), 0, 0);
  const long double hi = apply_plain<long double>(op, 0, std::min<long double>(a.v + a.d, greatest), 0, 0);
  if (std::isinf(result) && lo == hi) return 0;
  return wider(std::fabs(hi - result), std::fabs(result - lo));
}

// Exponentials grow by factors. `scale` is the exponent's, `at_infinity` the value that they fall to.
long double of_exponential(RealOp op, const Around& a, long double result, long double scale, long double at_infinity) {
  if (std::isinf(result) || !(a.d <= 1)) return between_ends(op, a, result);
  return (result - at_infinity) * growth(a.d * scale);
}

long double of_quotient(const Around& a, const Around& b, long double result) {
  if (!is_finite(b.d) || !is_finite(a.d) || (!is_finite(result) && b.d != 0)) return kUnbounded;
  if (!is_finite(b.v)) return 0;
  const long double least = magnitude(b) - b.d;
  if (!(least > 0)) return kUnbounded;
  return (a.d + product(std::fabs(result), b.d)) / least;
}

long double of_root(const Around& a, long double result) {
  if (!is_finite(a.d)) return kUnbounded;
  if (!is_finite(a.v)) return 0;
  const long double least = a.v - a.d;
  const long double up = a.d / (result + std::sqrt(a.v + a.d));
  return least > 0 ? a.d / (result + std::sqrt(least)) : std::max(up, result);
}

long double of_inverse_root(const Around& a, long double result) {
  if (!is_finite(a.d)) return kUnbounded;
  const long double least = a.v - a.d;
  return least > 0 ? 1 / std::sqrt(least) - result + 0x1p-62L * result : kUnbounded;
}

// sin(v + t) - sin(v) = 2 sin(t / 2) cos(v + t / 2)
long double of_wave(const Around& a, long double result) {
  constexpr long double kRootOfUnit = 0x1p-31L;  // of 1 - result^2 near its zero
  const long double slope = std::sqrt(std::max(0.0L, (1 - result) * (1 + result))) + kRootOfUnit;
  return std::min(a.d, 2.0L) * std::min(1.0L, slope + a.d / 2);
}

// tan(v + t) - tan(v) = tan(t) (1 + tan(v)^2) / (1 - tan(v) tan(t))
long double of_tangent(const Around& a, long double result) {
  if (!(a.d < kHalfTurn / 2)) return kUnbounded;
  const long double t = std::tan(a.d);
  const long double rest = 1 - std::fabs(result) * t;
  return rest > 0 ? t * (1 + result * result) / rest : kUnbounded;
}

// Sums of sinh and cosh: `other` is the derivative.
long double of_hyperbola(const Around& a, long double result, long double other) {
  const long double rise = a.d <= 0x1p-10L ? a.d * (1 + a.d) : std::sinh(a.d);
  const long double bend = a.d <= 0x1p-10L ? a.d * a.d : std::cosh(a.d) - 1;
  return std::fabs(other) * rise + std::fabs(result) * bend;
}

// Powers grow faster than they shrink, so the end away from zero decides.
long double of_integer_power(const Around& a, std::int64_t exponent, long double result) {
  if (exponent == 0) return 0;
  const auto n = std::fabs(static_cast<long double>(exponent));
  if (exponent < 0) {
    if (!(a.d < magnitude(a))) return kUnbounded;
    return std::max(std::fabs(result), kLeastOfCarriers) * growth(n * shrinking(a.d / magnitude(a)));
  }
  if (a.v == 0) return std::pow(a.d, n);
  const long double share = a.d / magnitude(a);
  if (n * share <= 0x1p-10L) return std::fabs(result) * growth(n * share);
  return std::pow(magnitude(a) + a.d, n) - std::fabs(result);
}

long double of_power(const Around& a, const Around& b, long double result) {
  if (b.d == 0 && b.v == 0) return 0;
  if (!(a.d < magnitude(a))) {  // the base may be zero
    if (a.v < 0 || !(b.v - b.d > 0)) return kUnbounded;
    const long double base = a.v + a.d;
    const long double most = base > 1 ? std::pow(base, b.v + b.d) : std::pow(base, b.v - b.d);
    return wider(result, most - result);
  }
  if (a.v < 0 && b.d > 0) return kUnbounded;
  const long double share = shrinking(a.d / magnitude(a));
  const long double exponents = magnitude(b) + b.d;
  const long double size = std::max(std::fabs(result), kLeastOfCarriers);
  return size * growth(product(exponents, share) + product(std::fabs(std::log(magnitude(a))), b.d));
}

// The angle of a point that may be anywhere in a disc.
long double of_angle(const Around& a, const Around& b) {
  const bool across_the_cut = b.v <= b.d && magnitude(a) <= a.d;
  const long double radius = std::hypot(a.v, b.v), moved = std::hypot(a.d, b.d);
  if (across_the_cut || !(moved < radius)) return 2 * kHalfTurn;
  const long double share = moved / radius;
  return share <= 0x1p-10L ? share * (1 + share) : std::asin(share);
}

long double of_remainder(const Around& a, const Around& b, long double result) {
  const long double moved = a.d + product(std::fabs(std::trunc(a.v / b.v)), b.d);
  const long double rest = std::fabs(result), whole = magnitude(b) - b.d;
  const bool jumps = !(rest - moved > 0) || !(rest + moved < whole);
  return jumps ? whole + 2 * b.d + moved : moved;
}

// Where the intervals do not meet, one operand is the result.
long double of_extreme(const Around& a, const Around& b, long double result) {
  if (std::isnan(a.v)) return b.d;
  if (std::isnan(b.v)) return a.d;
  if (!is_finite(a.d) || !is_finite(b.d)) return kUnbounded;
  const bool numbers = is_finite(a.v) && is_finite(b.v);
  if (numbers ? std::fabs(a.v - b.v) > a.d + b.d : a.v != b.v) return result == a.v ? a.d : b.d;
  return std::max(a.d, b.d);
}

}  // namespace

long double running_detail::carried_by_others(RealOp op, std::int64_t exponent, const Around& a, const Around& b,
                                              const Around& c, long double result) {
  switch (op) {
    case RealOp::Add:
    case RealOp::Sub:
    case RealOp::Mul: break;  // inline
    case RealOp::Fma:
      if (product_is_unbounded(a, b) || !is_finite(c.d)) return kUnbounded;
      return known(carried_by_product(a, b) + c.d);
    case RealOp::Div: return known(of_quotient(a, b, result));
    case RealOp::Recip: return known(of_quotient({1, 0}, a, result));
    case RealOp::Neg:
    case RealOp::Abs: return a.d;
    case RealOp::Hypot: return known(std::hypot(a.d, b.d));
    case RealOp::Min:
    case RealOp::Max: return of_extreme(a, b, result);
    case RealOp::Sqrt: return known(of_root(a, result));
    case RealOp::Rsqrt: return known(of_inverse_root(a, result));
    case RealOp::Exp: return of_exponential(op, a, result, 1, 0);
    case RealOp::Exp2: return of_exponential(op, a, result, std::numbers::ln2_v<long double>, 0);
    case RealOp::Expm1: return of_exponential(op, a, result, 1, -1);
    case RealOp::Log: return shrinking(a.d / a.v);
    case RealOp::Log2: return known(shrinking(a.d / a.v) * std::numbers::log2e_v<long double>);
    case RealOp::Log10: return known(shrinking(a.d / a.v) * std::numbers::log10e_v<long double>);
    case RealOp::Log1p: return shrinking(a.d / (1 + a.v));
    case RealOp::Pow: return known(of_power(a, b, result));
    case RealOp::Powi: return known(of_integer_power(a, exponent, result));
    case RealOp::Sin:
    case RealOp::Cos: return known(of_wave(a, result));
    case RealOp::Tan: return known(of_tangent(a, result));
    case RealOp::Sinh:
      return std::isinf(result) ? between_ends(op, a, result)
                                : known(of_hyperbola(a, result, std::hypot(1.0L, result)));
    case RealOp::Cosh:
      return std::isinf(result) && magnitude(a) > 12'000 + a.d  // beyond the carrier's range
                 ? 0
                 : known(of_hyperbola(a, result, std::sqrt((result - 1) * (result + 1))));
    case RealOp::Asin:
    case RealOp::Acos:
    case RealOp::Atanh:
    case RealOp::Acosh:
    case RealOp::Atan:
    case RealOp::Tanh:
    case RealOp::Asinh:
    case RealOp::Cbrt:
    case RealOp::Erf:
    case RealOp::Erfc:
    case RealOp::Floor:
    case RealOp::Ceil:
    case RealOp::Round:
    case RealOp::Rint:
    case RealOp::Trunc:
    case RealOp::Sign: return between_ends(op, a, result);
    case RealOp::Atan2: return known(of_angle(a, b));
    case RealOp::Fmod: return known(of_remainder(a, b, result));
    case RealOp::Copysign: return b.d > 0 && magnitude(b) <= b.d ? 2 * magnitude(a) + a.d : a.d;
  }
  CHECK(false);
}

namespace {

// Errors of math functions in ulp, by op: 1 for those without a row in errors.def.
struct FunctionErrors {
  std::array<double, expr::kOpCount> f32{}, f64{};
  FunctionErrors() {
    f32.fill(1), f64.fill(1);
#define X(Name, text, arity, special) put(Op::Name, kir::math::Function::Name);
#include "jit/kir/math/functions.def"
#undef X
  }
  void put(Op op, kir::math::Function function) {
    const auto stated = [&](Type type) {
      return std::max(1.0, kir::math::stated_error_ulp(function, type, kir::math::Accuracy::ulp1));
    };
    f32[static_cast<std::size_t>(op)] = stated(Type::f32);
    f64[static_cast<std::size_t>(op)] = stated(Type::f64);
  }
};

// Made when the library is loaded: a child that is forked while a thread makes it would wait for that thread for ever.
const FunctionErrors kErrors;

long double function_ulp(Op op, Type type) {
  const auto row = static_cast<std::size_t>(op);
  return static_cast<long double>(type == Type::f32 ? kErrors.f32[row] : kErrors.f64[row]);
}

}  // namespace

long double running_detail::unit_of_function(Op op, Type type, std::int64_t exponent, long double magnitude_of_result) {
  const long double u = half_ulp_of_one(type), least = half_least(type);
  // An ulp is at most 2 u times the magnitude.
  if (op != Op::Powi) return function_ulp(op, type) * 2 * (u * magnitude_of_result + least);
  const std::int64_t size = std::abs(exponent);
  const auto products = static_cast<long double>(size <= 1 ? 0 : size <= expr::kPowerChainMax ? size - 1 : 4);
  return (products + (exponent < 0 ? 1 : 0)) * (u * magnitude_of_result + least);
}

long double reduction_error(Type type, std::uint64_t n, long double absolute) {
  const long double levels = n > 1 ? std::log2(static_cast<long double>(n)) : 0;
  return (levels + 6) * running_detail::half_ulp_of_one(type) * absolute + running_detail::half_least(type);
}

long double ulp_at(Type type, long double magnitude) {
  const int least = type == Type::f32 ? -126 : -1022;
  const long double unit = type == Type::f32 ? 0x1p-23L : 0x1p-52L;
  const long double size = std::fabs(magnitude);
  if (size == 0 || !std::isfinite(size)) return type == Type::f32 ? 0x1p-149L : 0x1p-1074L;
  const auto near = static_cast<double>(size);
  if (std::isinf(near)) return std::ldexp(unit, std::ilogb(size));
  // The exponent is read from the double below: libm's functions would take a seventh of the time of a check.
  constexpr int kBias = 1023, kFractionBits = 52;
  const std::uint64_t below = std::bit_cast<std::uint64_t>(near) - (static_cast<long double>(near) > size ? 1 : 0);
  const int exponent = std::max(static_cast<int>(below >> kFractionBits) - kBias, least);
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kBias) << kFractionBits) * unit;
}

// --- integers --------------------------------------------------------------------------------------------------------

Whole any_of(Type type) {
  if (ir::is_mask(type)) return {-1, 0};
  return {end_of_range(type, false), end_of_range(type, true)};
}

Whole hull(const Whole& a, const Whole& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

namespace {

// Returns the interval, or all values where it wraps.
Whole unless_it_wraps(Type type, Wide lo, Wide hi) {
  const Whole all = any_of(type);
  if (lo < all.lo || hi > all.hi) return all;
  return {static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi)};
}

// Masks: -1 is true.
Whole of_masks(Op op, const Whole& a, const Whole& b) {
  if (op == Op::And && (a.lo == 0 || b.lo == 0)) return {0, 0};
  if (op == Op::Or && (a.hi == -1 || b.hi == -1)) return {-1, -1};
  return {-1, 0};
}

}  // namespace

Whole apply_whole(const expr::Node& node, const Whole& a, const Whole& b) {
  if (a.sure() && b.sure()) {
    const std::int64_t only = apply_integer(node, a.lo, b.lo);
    return {only, only};
  }
  if (ir::is_mask(node.type)) return of_masks(node.op, a, b);
  if (!expr::is_monotone(node.op)) return any_of(node.type);
  const Wide corners[] = {unwrapped(node, a.lo, b.lo), unwrapped(node, a.lo, b.hi), unwrapped(node, a.hi, b.lo),
                          unwrapped(node, a.hi, b.hi)};
  return unless_it_wraps(node.type, *std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
}

}  // namespace trident::equiv
