// Basic arithmetic is correctly rounded by the processor. A function is computed in a wider type and rounded. When the
// wide result lies so near to the middle between two values that its error could change the rounding, MPFR decides:
// about once in 10^7 for f32, once in 100 for f64.
#include "jit/equiv/rounded.h"

#include <cfloat>
#include <cmath>
#include <type_traits>

#include "jit/equiv/big.h"
#include "jit/equiv/tracked.h"

namespace trident::equiv {
namespace {

using expr::Op;
using expr::Type;

#if LDBL_MANT_DIG > DBL_MANT_DIG
using WideForDouble = long double;
#else
#error "strict f64 evaluation needs a long double wider than double"
#endif

template <class T>
T apply_big(Op op, std::int64_t exponent, double a, double b, double c) {
  Big result;
  apply(op, exponent, Big(a), Big(b), Big(c), result);
  // Rounded at 200 bits first; the second rounding differs from a single one only where the value lies within 2^-200 of
  // a midpoint without being one, and handles denormals.
  if constexpr (std::is_same_v<T, float>) return mpfr_get_flt(result.raw(), MPFR_RNDN);
  return static_cast<T>(mpfr_get_d(result.raw(), MPFR_RNDN));
}

template <class T, class Wide>
T apply_through(Op op, std::int64_t exponent, double a, double b, double c) {
  const Tracked<Wide> wide =
      apply<Wide>(op, exponent, {static_cast<Wide>(a), 0}, {static_cast<Wide>(b), 0}, {static_cast<Wide>(c), 0});
  if (std::isnan(wide.v)) return static_cast<T>(wide.v);
  const auto lo = static_cast<T>(wide.v - wide.e);
  const auto hi = static_cast<T>(wide.v + wide.e);
  if (lo == hi && (lo != 0 || wide.v == 0)) return wide.v == 0 ? static_cast<T>(wide.v) : lo;
  return apply_big<T>(op, exponent, a, b, c);
}

template <class T, class Wide>
T apply_in(Op op, std::int64_t exponent, T a, T b, T c) {
  switch (units_of(op)) {
    case 0:
    case 1: return apply_plain<T>(expr::real_op(op), exponent, a, b, c);
    default: return apply_through<T, Wide>(op, exponent, a, b, c);
  }
}

}  // namespace

double apply_rounded(Op op, Type type, std::int64_t exponent, double a, double b, double c) {
  if (type == Type::f32)
    return apply_in<float, double>(op, exponent, static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
  return apply_in<double, WideForDouble>(op, exponent, a, b, c);
}

}  // namespace trident::equiv
