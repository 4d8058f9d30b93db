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
  if (const auto known = rounded_detail::rounded_to<T>(wide)) return static_cast<T>(*known);
  return apply_big<T>(op, exponent, a, b, c);
}

}  // namespace

double rounded_detail::apply_function(Op op, Type type, std::int64_t exponent, double a, double b, double c) {
  if (type == Type::f32) return apply_through<float, double>(op, exponent, a, b, c);
  return apply_through<double, WideForDouble>(op, exponent, a, b, c);
}

}  // namespace trident::equiv
