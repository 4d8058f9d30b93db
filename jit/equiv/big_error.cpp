// Error bounds of MPFR values through each op: the rules of tracked.h with powers of two as bounds. Integers suffice,
// do not overflow, and hold the exponents that MPFR has and a long double lacks.
#include <algorithm>
#include <cstdlib>

#include "jit/equiv/big.h"

namespace trident::equiv {
namespace {

using expr::Op;

constexpr std::int64_t kExact = Big::kExact;
constexpr std::int64_t kUnknown = Big::kUnknown;
/// Exponents of zero and of infinity: beyond all that MPFR has, and far from overflow in sums.
constexpr std::int64_t kLeast = -(std::int64_t{1} << 60);
constexpr std::int64_t kMost = std::int64_t{1} << 60;

// |x| < 2^exponent_of(x), and at least half of that.
std::int64_t exponent_of(mpfr_srcptr x) {
  if (mpfr_zero_p(x)) return kLeast;
  if (!mpfr_regular_p(x)) return kMost;
  return std::clamp<std::int64_t>(mpfr_get_exp(x), kLeast, kMost);
}

// Multiplies a bound by 2^x.
std::int64_t scaled(std::int64_t bound, std::int64_t x) {
  if (bound == kExact || bound == kUnknown) return bound;
  const std::int64_t product = std::clamp(bound, 2 * kLeast, 2 * kMost) + x;
  return product > kMost ? kUnknown : std::max(product, 2 * kLeast);
}

// Bounds e^r - 1 and the like for a relative change r below 2^bound.
std::int64_t growth(std::int64_t bound) {
  return bound == kExact ? kExact : bound <= -1 ? bound + 1 : kUnknown;
}

// Returns whether a number is known to a quarter, by its exponent and its error's.
bool known(std::int64_t exponent, std::int64_t error) {
  return error == kExact || (error != kUnknown && exponent - 1 >= error + 2);
}

// 2^-bits_below of the distance of |x| to one: log2 of 1 - |x| or x - 1, rounded down.
std::int64_t distance_to_one(mpfr_srcptr x) {
  mpfr_t d;
  mpfr_init2(d, mpfr_get_prec(x));
  mpfr_abs(d, x, MPFR_RNDN);
  mpfr_sub_ui(d, d, 1, MPFR_RNDN);
  const std::int64_t exponent = exponent_of(d) - 1;
  mpfr_clear(d);
  return exponent;
}

std::int64_t one_plus(mpfr_srcptr x) {
  mpfr_t d;
  mpfr_init2(d, mpfr_get_prec(x));
  mpfr_add_ui(d, x, 1, MPFR_RNDN);
  const std::int64_t exponent = exponent_of(d);
  mpfr_clear(d);
  return exponent;
}

// Returns log2 of a bound of |ln |x||.
std::int64_t log_of_log(std::int64_t exponent) {
  std::int64_t bits = 1;
  for (std::int64_t rest = std::abs(exponent); rest > 0; rest /= 2) ++bits;
  return bits;
}

std::int64_t product_error(std::int64_t x, std::int64_t ea, std::int64_t y, std::int64_t eb) {
  std::int64_t both = kExact;
  if (ea != kExact && eb != kExact)
    both = ea == kUnknown || eb == kUnknown ? kUnknown : scaled(ea, std::clamp(eb, kLeast, kMost));
  return sum_of_bounds(sum_of_bounds(scaled(eb, x), scaled(ea, y)), both);
}

std::int64_t power_error(Op op, std::int64_t exponent, const Big& a, const Big& b, std::int64_t v) {
  // 0, 1 or infinity, by the side of one that the base is on.
  if (op == Op::Pow && mpfr_inf_p(b.raw()))
    return known(distance_to_one(a.raw()) + 1, a.error_log2) ? b.error_log2 : kUnknown;
  const std::int64_t x = exponent_of(a.raw());
  const std::int64_t eb = op == Op::Pow ? b.error_log2 : kExact;
  std::int64_t y = 0;
  if (op == Op::Pow) y = exponent_of(b.raw());
  for (auto rest = static_cast<std::uint64_t>(std::llabs(exponent)); op == Op::Powi && rest > 0; rest /= 2) ++y;
  if (a.error_log2 == kExact && eb == kExact) return kExact;
  if (!known(x, a.error_log2) || (mpfr_signbit(a.raw()) && eb != kExact)) return kUnknown;
  const std::int64_t base_change = scaled(a.error_log2, 2 - x);
  return scaled(growth(sum_of_bounds(scaled(base_change, y), scaled(eb, log_of_log(x) + 1))), v);
}

std::int64_t erfc_error(const Big& a, std::int64_t v) {
  const std::int64_t e = a.error_log2;
  if (mpfr_cmp_ui(a.raw(), 1) <= 0) return scaled(e, 1);
  if (e != kExact && e > 0) return kUnknown;
  return scaled(growth(scaled(e, exponent_of(a.raw()) + 3)), v);
}

std::int64_t tan_error(std::int64_t e, std::int64_t v) {
  const std::int64_t slope = 2 * std::max<std::int64_t>(v, 0) + 1;
  const std::int64_t change = scaled(e, slope);
  return change != kExact && change > -2 ? kUnknown : scaled(change, 1);
}

// Error bound of functions that are steep near |x| = 1: by the distance, or its root.
std::int64_t error_near_one(bool by_root, const Big& a) {
  const std::int64_t w = distance_to_one(a.raw());
  if (!known(w + 1, a.error_log2)) return kUnknown;
  return scaled(a.error_log2, 1 - (by_root ? (w < 0 ? w - 1 : w) / 2 : w));
}

std::int64_t angle_error(const Big& a, const Big& b, std::int64_t x, std::int64_t y) {
  const std::int64_t e = sum_of_bounds(a.error_log2, b.error_log2);
  const bool across_the_cut = e != kExact && mpfr_signbit(b.raw()) && !known(x, a.error_log2);
  return known(std::max(x, y), e) && !across_the_cut ? scaled(e, 2 - std::max(x, y)) : kUnknown;
}

}  // namespace

bool sure_of_class(const Big& x) {
  if (mpfr_number_p(x.raw()) == 0) return x.error_log2 != kUnknown;
  return x.error_log2 == kExact || known(exponent_of(x.raw()), x.error_log2);
}

std::int64_t sum_of_bounds(std::int64_t x, std::int64_t y) {
  if (x == kUnknown || y == kUnknown) return kUnknown;
  if (x == kExact) return y;
  if (y == kExact) return x;
  return std::max(x, y) + 1;
}

std::int64_t propagate_error(Op op, std::int64_t exponent, const Big& a, const Big& b, const Big& c,
                             mpfr_srcptr result) {
  using enum expr::Propagation;
  const expr::OpInfo& row = expr::info(op);
  const std::int64_t ea = a.error_log2;
  const std::int64_t eb = b.error_log2;
  const std::int64_t v = exponent_of(result);
  const std::int64_t x = exponent_of(a.raw());
  const std::int64_t y = exponent_of(b.raw());
  // A factor below 2, and |a| of at least 2^(x - 1), cost two bits.
  switch (row.propagation) {
    case flat: return kExact;
    case proportional: return row.factor <= 1 ? ea : scaled(ea, 1);
    case relative: return known(x, ea) ? scaled(ea, v - x + 2) : kUnknown;
    case logarithmic: {
      const std::int64_t distance = row.domain == expr::Domain::from_minus_one ? one_plus(a.raw()) : x;
      return known(distance, ea) ? scaled(ea, 2 - distance) : kUnknown;
    }
    case exponential: return scaled(growth(ea), v);
    case shifted_exponential: return scaled(growth(ea), std::max<std::int64_t>(v, 1) + 1);
    case root_at_one: return error_near_one(true, a);
    case pole_at_one: return error_near_one(false, a);
    case tangent: return tan_error(ea, v);
    case tail: return erfc_error(a, v);
    case additive:
    case extreme: return sum_of_bounds(ea, eb);
    case bilinear: return sum_of_bounds(product_error(x, ea, y, eb), row.arity == 3 ? c.error_log2 : kExact);
    case quotient: return known(y, eb) ? scaled(sum_of_bounds(ea, scaled(eb, v)), 2 - y) : kUnknown;
    case base_and_exponent: return power_error(op, exponent, a, b, v);
    case angle: return angle_error(a, b, x, y);
    case remainder: return sum_of_bounds(ea, scaled(eb, std::max<std::int64_t>(x - y + 1, 0)));
    case unbounded: return kUnknown;
  }
  CHECK(false);
}

}  // namespace trident::equiv
