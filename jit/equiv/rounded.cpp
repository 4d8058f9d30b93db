// Basic arithmetic is correctly rounded by the processor. A function is computed in a wider type and rounded. When the
// wide result lies so near to the middle between two values that its error could change the rounding, MPFR decides:
// about once in 10^7 for f32, once in 100 for f64.
#include "jit/equiv/rounded.h"

#include <cfloat>
#include <cmath>
#include <optional>
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

// Returns the double that is nearest to the value, if its first 64 bits tell: nearly always, in half of the time. The
// value is a normal double, or more bits are needed.
std::optional<double> apply_with_64_bits(Op op, std::int64_t exponent, double a, double b, double c) {
  constexpr mpfr_prec_t kBits = 64;
  WideBig<kBits> result;
  apply(op, exponent, Big(a), Big(b), Big(c), result);
  mpfr_srcptr value = result.raw();
  if (mpfr_regular_p(value) == 0) return std::nullopt;
  const mpfr_exp_t exponent_of_value = mpfr_get_exp(value);
  if (exponent_of_value < DBL_MIN_EXP || exponent_of_value >= DBL_MAX_EXP) return std::nullopt;
  // One bit more than a double has: to nearest. The error is twice what correct rounding leaves.
  if (mpfr_can_round(value, kBits, MPFR_RNDN, MPFR_RNDZ, DBL_MANT_DIG + 1) == 0) return std::nullopt;
  return mpfr_get_d(value, MPFR_RNDN);
}

template <class T>
T apply_big(Op op, std::int64_t exponent, double a, double b, double c) {
  if constexpr (std::is_same_v<T, double>)
    if (const auto known = apply_with_64_bits(op, exponent, a, b, c)) return *known;
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
  // The processor rounds a square correctly, as any product.
  if (op == Op::Powi && exponent == 2)
    return type == Type::f32 ? static_cast<double>(static_cast<float>(a) * static_cast<float>(a)) : a * a;
  if (type == Type::f32) return apply_through<float, double>(op, exponent, a, b, c);
  return apply_through<double, WideForDouble>(op, exponent, a, b, c);
}

}  // namespace trident::equiv
