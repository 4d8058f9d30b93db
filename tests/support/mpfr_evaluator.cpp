#include "tests/support/mpfr_evaluator.h"

#include <mpfr.h>

#include <cmath>
#include <memory>

#include "jit/expr/builder.h"

namespace trident::testing {
namespace {

using expr::Expr;
using expr::Node;
using expr::Op;

// One MPFR number; moves by pointer.
class Real {
 public:
  explicit Real(int bits) { mpfr_init2(value_, bits); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};
using Values = std::vector<std::unique_ptr<Real>>;

void sign_of(mpfr_ptr r, mpfr_srcptr a) {
  if (mpfr_zero_p(a) || mpfr_nan_p(a))
    mpfr_set(r, a, MPFR_RNDN);
  else
    mpfr_set_si(r, mpfr_sgn(a) > 0 ? 1 : -1, MPFR_RNDN);
}

// erfc(x) = Gamma(1/2, x^2) / sqrt(pi) for positive x. MPFR 4.2's erf and erfc end the process where x is the root of 3
// to more than a thousand bits (a sum of theirs all but vanishes there); its incomplete gamma function does not.
void error_function(mpfr_ptr r, mpfr_srcptr x, bool complement) {
  const bool near_root_of_3 =
      mpfr_regular_p(x) != 0 && std::fabs(std::fabs(mpfr_get_d(x, MPFR_RNDN)) - 1.7320508075688772) < 1e-9;
  if (!near_root_of_3) {
    complement ? mpfr_erfc(r, x, MPFR_RNDN) : mpfr_erf(r, x, MPFR_RNDN);
    return;
  }
  constexpr int kGuardBits = 32;
  const int bits = static_cast<int>(mpfr_get_prec(r)) + kGuardBits;
  Real half(bits), tail(bits), square(bits);
  mpfr_set_d(half.get(), 0.5, MPFR_RNDN);
  mpfr_sqr(square.get(), x, MPFR_RNDN);
  mpfr_gamma_inc(tail.get(), half.get(), square.get(), MPFR_RNDN);
  mpfr_const_pi(square.get(), MPFR_RNDN);
  mpfr_sqrt(square.get(), square.get(), MPFR_RNDN);
  mpfr_div(tail.get(), tail.get(), square.get(), MPFR_RNDN);  // erfc(|x|)
  if (!complement) {
    mpfr_ui_sub(r, 1, tail.get(), MPFR_RNDN);
    mpfr_copysign(r, r, x, MPFR_RNDN);
  } else if (mpfr_signbit(x) != 0) {
    mpfr_ui_sub(r, 2, tail.get(), MPFR_RNDN);
  } else {
    mpfr_set(r, tail.get(), MPFR_RNDN);
  }
}

bool compare(Op op, mpfr_srcptr a, mpfr_srcptr b) {
  switch (op) {
    case Op::Lt: return mpfr_less_p(a, b) != 0;
    case Op::Le: return mpfr_lessequal_p(a, b) != 0;
    case Op::Gt: return mpfr_greater_p(a, b) != 0;
    case Op::Ge: return mpfr_greaterequal_p(a, b) != 0;
    case Op::Eq: return mpfr_equal_p(a, b) != 0;
    case Op::Ne: return mpfr_equal_p(a, b) == 0;
    default: break;
  }
  CHECK(false);
}

void unary(Op op, mpfr_ptr r, mpfr_srcptr a) {
  switch (op) {
    case Op::Neg: mpfr_neg(r, a, MPFR_RNDN); return;
    case Op::Abs: mpfr_abs(r, a, MPFR_RNDN); return;
    case Op::Recip: mpfr_ui_div(r, 1, a, MPFR_RNDN); return;
    case Op::Sqrt: mpfr_sqrt(r, a, MPFR_RNDN); return;
    case Op::Rsqrt:  // 1 / sqrt(a) is -inf at -0, where mpfr_rec_sqrt is +inf
      mpfr_sqrt(r, a, MPFR_RNDN);
      mpfr_ui_div(r, 1, r, MPFR_RNDN);
      return;
    case Op::Cbrt: mpfr_cbrt(r, a, MPFR_RNDN); return;
    case Op::Exp: mpfr_exp(r, a, MPFR_RNDN); return;
    case Op::Exp2: mpfr_exp2(r, a, MPFR_RNDN); return;
    case Op::Expm1: mpfr_expm1(r, a, MPFR_RNDN); return;
    case Op::Log: mpfr_log(r, a, MPFR_RNDN); return;
    case Op::Log2: mpfr_log2(r, a, MPFR_RNDN); return;
    case Op::Log10: mpfr_log10(r, a, MPFR_RNDN); return;
    case Op::Log1p: mpfr_log1p(r, a, MPFR_RNDN); return;
    case Op::Sin: mpfr_sin(r, a, MPFR_RNDN); return;
    case Op::Cos: mpfr_cos(r, a, MPFR_RNDN); return;
    case Op::Tan: mpfr_tan(r, a, MPFR_RNDN); return;
    case Op::Asin: mpfr_asin(r, a, MPFR_RNDN); return;
    case Op::Acos: mpfr_acos(r, a, MPFR_RNDN); return;
    case Op::Atan: mpfr_atan(r, a, MPFR_RNDN); return;
    case Op::Sinh: mpfr_sinh(r, a, MPFR_RNDN); return;
    case Op::Cosh: mpfr_cosh(r, a, MPFR_RNDN); return;
    case Op::Tanh: mpfr_tanh(r, a, MPFR_RNDN); return;
    case Op::Asinh: mpfr_asinh(r, a, MPFR_RNDN); return;
    case Op::Acosh: mpfr_acosh(r, a, MPFR_RNDN); return;
    case Op::Atanh: mpfr_atanh(r, a, MPFR_RNDN); return;
    case Op::Erf: error_function(r, a, false); return;
    case Op::Erfc: error_function(r, a, true); return;
    case Op::Floor: mpfr_rint_floor(r, a, MPFR_RNDN); return;
    case Op::Ceil: mpfr_rint_ceil(r, a, MPFR_RNDN); return;
    case Op::Round: mpfr_rint_round(r, a, MPFR_RNDN); return;
    case Op::Rint: mpfr_rint_roundeven(r, a, MPFR_RNDN); return;
    case Op::Trunc: mpfr_rint_trunc(r, a, MPFR_RNDN); return;
    case Op::Sign: sign_of(r, a); return;
    case Op::Cast: mpfr_set(r, a, MPFR_RNDN); return;
    case Op::Not: mpfr_set_si(r, mpfr_zero_p(a) ? 1 : 0, MPFR_RNDN); return;
    default: break;
  }
  CHECK(false);
}

void binary(Op op, mpfr_ptr r, mpfr_srcptr a, mpfr_srcptr b) {
  switch (op) {
    case Op::Add: mpfr_add(r, a, b, MPFR_RNDN); return;
    case Op::Sub: mpfr_sub(r, a, b, MPFR_RNDN); return;
    case Op::Mul: mpfr_mul(r, a, b, MPFR_RNDN); return;
    case Op::Div: mpfr_div(r, a, b, MPFR_RNDN); return;
    case Op::Min: mpfr_min(r, a, b, MPFR_RNDN); return;
    case Op::Max: mpfr_max(r, a, b, MPFR_RNDN); return;
    case Op::Hypot: mpfr_hypot(r, a, b, MPFR_RNDN); return;
    case Op::Pow: mpfr_pow(r, a, b, MPFR_RNDN); return;
    case Op::Atan2: mpfr_atan2(r, a, b, MPFR_RNDN); return;
    case Op::Fmod: mpfr_fmod(r, a, b, MPFR_RNDN); return;
    case Op::Copysign: mpfr_copysign(r, a, b, MPFR_RNDN); return;
    case Op::And: mpfr_set_si(r, !mpfr_zero_p(a) && !mpfr_zero_p(b) ? 1 : 0, MPFR_RNDN); return;
    case Op::Or: mpfr_set_si(r, !mpfr_zero_p(a) || !mpfr_zero_p(b) ? 1 : 0, MPFR_RNDN); return;
    case Op::Xor: mpfr_set_si(r, mpfr_zero_p(a) != mpfr_zero_p(b) ? 1 : 0, MPFR_RNDN); return;
    default: mpfr_set_si(r, compare(op, a, b) ? 1 : 0, MPFR_RNDN); return;
  }
}

void evaluate(const Expr& expr, Values& inputs, Values& values, int bits, Casts casts) {
  for (const Node& n : expr.nodes) {
    values.push_back(std::make_unique<Real>(bits));
    mpfr_ptr r = values.back()->get();
    const auto at = [&](expr::NodeId id) { return values[id.index]->get(); };
    if (n.op == Op::Constant)
      mpfr_set_d(r, expr::value_of(n.type, n.imm), MPFR_RNDN);
    else if (n.op == Op::Variable)
      mpfr_set(r, inputs[n.imm]->get(), MPFR_RNDN);
    else if (n.op == Op::Cast && ir::is_int(n.type))
      mpfr_rint_trunc(r, at(n.a), MPFR_RNDN);
    else if (n.op == Op::Cast && n.type == ir::Type::f32 && casts == Casts::rounding)
      mpfr_set_flt(r, mpfr_get_flt(at(n.a), MPFR_RNDN), MPFR_RNDN);
    else if (n.op == Op::Powi)
      mpfr_pow_si(r, at(n.a), static_cast<long>(n.imm), MPFR_RNDN);
    else if (n.op == Op::Fma)
      mpfr_fma(r, at(n.a), at(n.b), at(n.c), MPFR_RNDN);
    else if (n.op == Op::Select)
      mpfr_set(r, mpfr_zero_p(at(n.a)) ? at(n.c) : at(n.b), MPFR_RNDN);
    else if (n.b.valid())
      binary(n.op, r, at(n.a), at(n.b));
    else
      unary(n.op, r, at(n.a));
  }
}

Values exact(const std::vector<double>& inputs, int bits) {
  Values out;
  for (const double x : inputs) {
    out.push_back(std::make_unique<Real>(bits));
    mpfr_set_d(out.back()->get(), x, MPFR_RNDN);
  }
  return out;
}

}  // namespace

std::vector<long double> evaluate_real(const Expr& expr, const std::vector<double>& inputs, int precision_bits,
                                       Casts casts) {
  Values at = exact(inputs, precision_bits);
  Values values;
  evaluate(expr, at, values, precision_bits, casts);
  std::vector<long double> out;
  for (const expr::Output& o : expr.outputs) out.push_back(mpfr_get_ld(values[o.node.index]->get(), MPFR_RNDN));
  return out;
}

std::vector<long double> difference_quotient(const Expr& expr, const std::vector<double>& inputs, std::uint32_t wrt,
                                             int precision_bits, int step_bits) {
  Values side[2];
  for (int s = 0; s < 2; ++s) {
    Values at = exact(inputs, precision_bits);
    Real step(precision_bits);
    mpfr_set_si_2exp(step.get(), s == 0 ? 1 : -1, -step_bits, MPFR_RNDN);
    mpfr_add(at[wrt]->get(), at[wrt]->get(), step.get(), MPFR_RNDN);
    evaluate(expr, at, side[s], precision_bits, Casts::exact);
  }
  std::vector<long double> out;
  for (const expr::Output& o : expr.outputs) {
    Real quotient(precision_bits);
    mpfr_sub(quotient.get(), side[0][o.node.index]->get(), side[1][o.node.index]->get(), MPFR_RNDN);
    mpfr_mul_2si(quotient.get(), quotient.get(), step_bits - 1, MPFR_RNDN);
    out.push_back(mpfr_get_ld(quotient.get(), MPFR_RNDN));
  }
  return out;
}

}  // namespace trident::testing
