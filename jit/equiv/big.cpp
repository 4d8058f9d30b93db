#include "jit/equiv/big.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace trident::equiv {
namespace {

using expr::Op;
using expr::RealOp;

// Computes 1 / sqrt(x) with IEEE division's result at zeros: mpfr_rec_sqrt gives +inf for -0 too.
int reciprocal_sqrt(mpfr_ptr r, mpfr_srcptr a) {
  if (!mpfr_zero_p(a)) return mpfr_rec_sqrt(r, a, MPFR_RNDN);
  mpfr_set_inf(r, mpfr_signbit(a) ? -1 : 1);
  return 0;
}

int sign_of(mpfr_ptr r, mpfr_srcptr a) {
  if (mpfr_nan_p(a) || mpfr_zero_p(a)) return mpfr_set(r, a, MPFR_RNDN);
  return mpfr_set_si(r, mpfr_sgn(a), MPFR_RNDN);
}

// The sum of the first terms of MPFR's series for erf, 1 - x^2/3, may be zero where x^2 is 3 to the last bit. MPFR 4.2
// then aborts (an assertion in erf.c). There we use a series whose terms have one sign (DLMF 7.6.2): erf(x) =
// 2x/sqrt(pi) exp(-x^2) sum of (2x^2)^k / (1 * 3 * ... * (2k + 1)).
bool is_near_root_of_3(mpfr_srcptr x) {
  return mpfr_regular_p(x) != 0 && std::fabs(std::fabs(mpfr_get_d(x, MPFR_RNDN)) - 1.7320508075688772) < 1e-9;
}

int error_function(mpfr_ptr r, mpfr_srcptr x, bool complement) {
  if (!is_near_root_of_3(x)) return complement ? mpfr_erfc(r, x, MPFR_RNDN) : mpfr_erf(r, x, MPFR_RNDN);
  constexpr mpfr_prec_t kGuardBits = 64;
  const mpfr_prec_t bits = mpfr_get_prec(r) + kGuardBits;
  mpfr_t square, term, sum;
  mpfr_inits2(bits, square, term, sum, nullptr);
  mpfr_sqr(square, x, MPFR_RNDN);
  mpfr_set_ui(term, 1, MPFR_RNDN);
  mpfr_set_ui(sum, 1, MPFR_RNDN);
  for (unsigned long k = 1; mpfr_get_exp(term) > -bits; ++k) {
    mpfr_mul(term, term, square, MPFR_RNDN);
    mpfr_mul_2ui(term, term, 1, MPFR_RNDN);
    mpfr_div_ui(term, term, 2 * k + 1, MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
  }
  mpfr_neg(square, square, MPFR_RNDN);
  mpfr_exp(term, square, MPFR_RNDN);
  mpfr_mul(sum, sum, term, MPFR_RNDN);
  mpfr_mul(sum, sum, x, MPFR_RNDN);
  mpfr_mul_2ui(sum, sum, 1, MPFR_RNDN);
  mpfr_const_pi(term, MPFR_RNDN);
  mpfr_rec_sqrt(term, term, MPFR_RNDN);
  mpfr_mul(sum, sum, term, MPFR_RNDN);
  if (complement) mpfr_ui_sub(sum, 1, sum, MPFR_RNDN);
  mpfr_set(r, sum, MPFR_RNDN);
  mpfr_clears(square, term, sum, nullptr);
  return 1;  // never exact
}

// Returns MPFR's ternary value: 0 when the result is exact. Steps count as exact, though MPFR says otherwise.
int compute(RealOp op, std::int64_t exponent, mpfr_srcptr x, mpfr_srcptr y, mpfr_srcptr z, mpfr_ptr r) {
  switch (op) {
    case RealOp::Add: return mpfr_add(r, x, y, MPFR_RNDN);
    case RealOp::Sub: return mpfr_sub(r, x, y, MPFR_RNDN);
    case RealOp::Mul: return mpfr_mul(r, x, y, MPFR_RNDN);
    case RealOp::Div: return mpfr_div(r, x, y, MPFR_RNDN);
    case RealOp::Neg: return mpfr_neg(r, x, MPFR_RNDN);
    case RealOp::Abs: return mpfr_abs(r, x, MPFR_RNDN);
    case RealOp::Min: return mpfr_min(r, x, y, MPFR_RNDN);
    case RealOp::Max: return mpfr_max(r, x, y, MPFR_RNDN);
    case RealOp::Fma: return mpfr_fma(r, x, y, z, MPFR_RNDN);
    case RealOp::Recip: return mpfr_ui_div(r, 1, x, MPFR_RNDN);
    case RealOp::Sqrt: return mpfr_sqrt(r, x, MPFR_RNDN);
    case RealOp::Rsqrt: return reciprocal_sqrt(r, x);
    case RealOp::Cbrt: return mpfr_cbrt(r, x, MPFR_RNDN);
    case RealOp::Hypot: return mpfr_hypot(r, x, y, MPFR_RNDN);
    case RealOp::Exp: return mpfr_exp(r, x, MPFR_RNDN);
    case RealOp::Exp2: return mpfr_exp2(r, x, MPFR_RNDN);
    case RealOp::Expm1: return mpfr_expm1(r, x, MPFR_RNDN);
    case RealOp::Log: return mpfr_log(r, x, MPFR_RNDN);
    case RealOp::Log2: return mpfr_log2(r, x, MPFR_RNDN);
    case RealOp::Log10: return mpfr_log10(r, x, MPFR_RNDN);
    case RealOp::Log1p: return mpfr_log1p(r, x, MPFR_RNDN);
    case RealOp::Pow: return mpfr_pow(r, x, y, MPFR_RNDN);
    case RealOp::Powi: return mpfr_pow_si(r, x, static_cast<long>(exponent), MPFR_RNDN);
    case RealOp::Sin: return mpfr_sin(r, x, MPFR_RNDN);
    case RealOp::Cos: return mpfr_cos(r, x, MPFR_RNDN);
    case RealOp::Tan: return mpfr_tan(r, x, MPFR_RNDN);
    case RealOp::Asin: return mpfr_asin(r, x, MPFR_RNDN);
    case RealOp::Acos: return mpfr_acos(r, x, MPFR_RNDN);
    case RealOp::Atan: return mpfr_atan(r, x, MPFR_RNDN);
    case RealOp::Atan2: return mpfr_atan2(r, x, y, MPFR_RNDN);
    case RealOp::Sinh: return mpfr_sinh(r, x, MPFR_RNDN);
    case RealOp::Cosh: return mpfr_cosh(r, x, MPFR_RNDN);
    case RealOp::Tanh: return mpfr_tanh(r, x, MPFR_RNDN);
    case RealOp::Asinh: return mpfr_asinh(r, x, MPFR_RNDN);
    case RealOp::Acosh: return mpfr_acosh(r, x, MPFR_RNDN);
    case RealOp::Atanh: return mpfr_atanh(r, x, MPFR_RNDN);
    case RealOp::Erf: return error_function(r, x, false);
    case RealOp::Erfc: return error_function(r, x, true);
    case RealOp::Floor: return mpfr_floor(r, x) * 0;
    case RealOp::Ceil: return mpfr_ceil(r, x) * 0;
    case RealOp::Round: return mpfr_round(r, x) * 0;
    case RealOp::Rint: return mpfr_rint(r, x, MPFR_RNDN) * 0;
    case RealOp::Trunc: return mpfr_trunc(r, x) * 0;
    case RealOp::Fmod: return mpfr_fmod(r, x, y, MPFR_RNDN);
    case RealOp::Copysign: return mpfr_setsign(r, x, mpfr_signbit(y) != 0 && mpfr_nan_p(y) == 0, MPFR_RNDN);
    case RealOp::Sign: return sign_of(r, x);
  }
  CHECK(false);
}

/// Sine and the like of numbers beyond 2^65536 would take as many digits of pi. Some expressions make numbers (not
/// floats) of billions of bits, of which nothing but their existence is needed.
constexpr mpfr_exp_t kCircularExponentMax = mpfr_exp_t{1} << 16;

bool beyond_reach(Op op, mpfr_srcptr x) {
  return expr::has(op, expr::kPeriodic) && mpfr_regular_p(x) != 0 && mpfr_get_exp(x) > kCircularExponentMax;
}

// Assembles a normal long double of the x87's format: std::ldexp() takes longer than all else in to_long_double().
long double power_of_two(mpfr_exp_t exponent) {
  const std::uint64_t significand = std::uint64_t{1} << 63;
  const auto biased = static_cast<std::uint16_t>(exponent + 16383);
  long double power = 0;
  std::memcpy(&power, &significand, sizeof significand);
  std::memcpy(reinterpret_cast<std::byte*>(&power) + sizeof significand, &biased, sizeof biased);
  return power;
}

}  // namespace

void apply(Op op, std::int64_t exponent, const Big& a, const Big& b, const Big& c, Big& result) {
  if (beyond_reach(op, a.raw())) {
    mpfr_set_zero(result.raw(), 1);
    result.error_log2 = op == Op::Tan ? Big::kUnknown : 1;
    return;
  }
  const bool rounded = compute(expr::real_op(op), exponent, a.raw(), b.raw(), c.raw(), result.raw()) != 0;
  // An infinite or NaN result follows from the classes of the operands, whatever their errors within these. (Next to
  // the edge of a domain the operand itself decides: evaluator.h asks.)
  const bool by_classes = mpfr_number_p(result.raw()) == 0 && (op != Op::Pow || mpfr_inf_p(b.raw()) == 0);
  if (by_classes && sure_of_class(a) && sure_of_class(b) && sure_of_class(c)) {
    result.error_log2 = Big::kExact;
    return;
  }
  result.error_log2 = propagate_error(op, exponent, a, b, c, result.raw());
  // An overflow of MPFR's own range (2^62 bits of exponent) is as good as an infinity, an underflow as a zero.
  if (!rounded || mpfr_regular_p(result.raw()) == 0) return;
  result.error_log2 = sum_of_bounds(
      result.error_log2, mpfr_get_exp(result.raw()) - static_cast<std::int64_t>(mpfr_get_prec(result.raw())));
}

// mpfr_get_ld() makes another number first, which takes twenty times as long. Here the significand is read as MPFR's
// "custom interface" documents it: limbs of 64 bits, the highest last, its first bit set, as a fraction below 1.
long double Big::to_long_double() const {
  static_assert(sizeof(mp_limb_t) == 8);
  constexpr int kBits = 64;
  constexpr bool kHoldsLimb = std::numeric_limits<long double>::digits == kBits;
  constexpr mpfr_exp_t kExponentMax = std::numeric_limits<long double>::max_exponent - 8;  // no denormals
  const bool regular = mpfr_regular_p(x_) != 0;
  if (!kHoldsLimb || !regular || std::abs(mpfr_get_exp(x_)) >= kExponentMax) return mpfr_get_ld(x_, MPFR_RNDN);
  const auto* const limbs = static_cast<const mp_limb_t*>(mpfr_custom_get_significand(x_));
  const std::size_t last = static_cast<std::size_t>((mpfr_get_prec(x_) + kBits - 1) / kBits) - 1;
  const auto size = static_cast<long double>(limbs[last]);
  const std::uint64_t rest = last == 0 ? 0 : limbs[last - 1];
  constexpr std::uint64_t kHalf = std::uint64_t{1} << (kBits - 1);
  const bool beyond = std::any_of(limbs, limbs + (last == 0 ? 0 : last - 1), [](mp_limb_t limb) { return limb != 0; });
  const bool up = rest > kHalf || (rest == kHalf && (beyond || limbs[last] % 2 != 0));
  const long double rounded = up ? size + 1 : size;  // 2^64 where it carries: exact
  const long double sized = rounded * 0x1p-64L * power_of_two(mpfr_get_exp(x_));
  return mpfr_signbit(x_) != 0 ? -sized : sized;
}

}  // namespace trident::equiv
