#include "jit/equiv/big.h"

namespace trident::equiv {
namespace {

using expr::Op;

// 1 / sqrt(x) as IEEE division says it at zeros: mpfr_rec_sqrt gives +inf for -0 too.
void reciprocal_sqrt(mpfr_ptr r, mpfr_srcptr a) {
  if (mpfr_zero_p(a)) {
    mpfr_set_inf(r, mpfr_signbit(a) ? -1 : 1);
  } else {
    mpfr_rec_sqrt(r, a, MPFR_RNDN);
  }
}

void sign_of(mpfr_ptr r, mpfr_srcptr a) {
  if (mpfr_nan_p(a) || mpfr_zero_p(a)) {
    mpfr_set(r, a, MPFR_RNDN);
  } else {
    mpfr_set_si(r, mpfr_sgn(a), MPFR_RNDN);
  }
}

}  // namespace

void apply(Op op, std::int64_t exponent, const Big& a, const Big& b, const Big& c, Big& result) {
  mpfr_ptr r = result.raw();
  mpfr_srcptr x = a.raw();
  mpfr_srcptr y = b.raw();
  switch (op) {
    case Op::Add: mpfr_add(r, x, y, MPFR_RNDN); return;
    case Op::Sub: mpfr_sub(r, x, y, MPFR_RNDN); return;
    case Op::Mul: mpfr_mul(r, x, y, MPFR_RNDN); return;
    case Op::Div: mpfr_div(r, x, y, MPFR_RNDN); return;
    case Op::Neg: mpfr_neg(r, x, MPFR_RNDN); return;
    case Op::Abs: mpfr_abs(r, x, MPFR_RNDN); return;
    case Op::Min: mpfr_min(r, x, y, MPFR_RNDN); return;
    case Op::Max: mpfr_max(r, x, y, MPFR_RNDN); return;
    case Op::Fma: mpfr_fma(r, x, y, c.raw(), MPFR_RNDN); return;
    case Op::Recip: mpfr_ui_div(r, 1, x, MPFR_RNDN); return;
    case Op::Sqrt: mpfr_sqrt(r, x, MPFR_RNDN); return;
    case Op::Rsqrt: reciprocal_sqrt(r, x); return;
    case Op::Cbrt: mpfr_cbrt(r, x, MPFR_RNDN); return;
    case Op::Hypot: mpfr_hypot(r, x, y, MPFR_RNDN); return;
    case Op::Exp: mpfr_exp(r, x, MPFR_RNDN); return;
    case Op::Exp2: mpfr_exp2(r, x, MPFR_RNDN); return;
    case Op::Expm1: mpfr_expm1(r, x, MPFR_RNDN); return;
    case Op::Log: mpfr_log(r, x, MPFR_RNDN); return;
    case Op::Log2: mpfr_log2(r, x, MPFR_RNDN); return;
    case Op::Log10: mpfr_log10(r, x, MPFR_RNDN); return;
    case Op::Log1p: mpfr_log1p(r, x, MPFR_RNDN); return;
    case Op::Pow: mpfr_pow(r, x, y, MPFR_RNDN); return;
    case Op::Powi: mpfr_pow_si(r, x, static_cast<long>(exponent), MPFR_RNDN); return;
    case Op::Sin: mpfr_sin(r, x, MPFR_RNDN); return;
    case Op::Cos: mpfr_cos(r, x, MPFR_RNDN); return;
    case Op::Tan: mpfr_tan(r, x, MPFR_RNDN); return;
    case Op::Asin: mpfr_asin(r, x, MPFR_RNDN); return;
    case Op::Acos: mpfr_acos(r, x, MPFR_RNDN); return;
    case Op::Atan: mpfr_atan(r, x, MPFR_RNDN); return;
    case Op::Atan2: mpfr_atan2(r, x, y, MPFR_RNDN); return;
    case Op::Sinh: mpfr_sinh(r, x, MPFR_RNDN); return;
    case Op::Cosh: mpfr_cosh(r, x, MPFR_RNDN); return;
    case Op::Tanh: mpfr_tanh(r, x, MPFR_RNDN); return;
    case Op::Asinh: mpfr_asinh(r, x, MPFR_RNDN); return;
    case Op::Acosh: mpfr_acosh(r, x, MPFR_RNDN); return;
    case Op::Atanh: mpfr_atanh(r, x, MPFR_RNDN); return;
    case Op::Erf: mpfr_erf(r, x, MPFR_RNDN); return;
    case Op::Erfc: mpfr_erfc(r, x, MPFR_RNDN); return;
    case Op::Floor: mpfr_floor(r, x); return;
    case Op::Ceil: mpfr_ceil(r, x); return;
    case Op::Round: mpfr_round(r, x); return;
    case Op::Rint: mpfr_rint(r, x, MPFR_RNDN); return;
    case Op::Trunc: mpfr_trunc(r, x); return;
    case Op::Fmod: mpfr_fmod(r, x, y, MPFR_RNDN); return;
    case Op::Copysign: mpfr_copysign(r, x, y, MPFR_RNDN); return;
    case Op::Sign: sign_of(r, x); return;
    case Op::Cast: mpfr_set(r, x, MPFR_RNDN); return;  // a change of precision is a rounding, which reals do not have
    case Op::Constant:
    case Op::Variable:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Eq:
    case Op::Ne:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Not:
    case Op::Shl:
    case Op::Shr:
    case Op::Sar:
    case Op::Select:
    case Op::Sum:
    case Op::MinOf:
    case Op::MaxOf:
    case Op::Mean:
    case Op::Dot:
    case Op::Diff: break;
  }
  CHECK(false);
}

}  // namespace trident::equiv
