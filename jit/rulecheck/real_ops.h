// Ops over the reals, with a bound of the result's error, and whether the result is sure.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "jit/equiv/numbers.h"
#include "jit/expr/expr.h"

namespace trident::rulecheck {

/// N is a WideBig of jit/equiv.
template <class N>
struct RealOps {
  using Op = expr::Op;

  struct Value {
    N number;
    bool truth = false;
    bool sure = true;
  };

  // --- numbers known to a bound ---

  /// Returns whether an error is negligible beside a number of this size.
  static bool is_tiny(long double error, long double size) { return error <= 0x1p-60L * size; }

  static bool tied(const N& a, const N& b) {
    N difference;
    apply_to(Op::Sub, 0, a, b, b, difference);
    const long double error = error_of(a) + error_of(b);
    return std::fabs(approximate(difference)) <= 2 * error &&
           is_tiny(error, std::max(std::fabs(approximate(a)), std::fabs(approximate(b))));
  }

  /// Returns the multiple of 1/parts that equals a number within its bound, or the number.
  static N snapped(const N& x, int parts) {
    if (exact(x) || !std::isfinite(approximate(x)) || std::fabs(approximate(x)) > 0x1p50L) return x;
    N multiple;
    set_exact(multiple, static_cast<double>(std::round(approximate(x) * parts) / parts));
    return tied(x, multiple) ? multiple : x;
  }

  static bool exact(const N& x) { return x.error_log2 == equiv::Big::kExact; }

  static bool is_zero(const N& x) { return mpfr_zero_p(x.raw()) != 0; }

  // --- ops, and whether their results are sure ---

  // Returns whether an op would reduce a number with millions of digits by a period, for which MPFR needs as many.
  static bool unending(Op op, const N& a) {
    constexpr long double kGreatest = 1e320L;
    const bool periodic = expr::has(op, expr::kPeriodic) || op == Op::Fmod;
    return periodic && std::fabs(approximate(a)) > kGreatest;
  }

  // Returns whether a step's operand lies on one side of it with its whole error interval.
  static bool one_step(Op op, const N& a, const N& b) {
    if (op == Op::Fmod) return (exact(a) && exact(b)) || one_quotient(a, b);
    if (op == Op::Copysign) return exact(b) || (equiv::sure_of_class(b) && approximate(b) != 0);
    if (!expr::is_step(op) || exact(a)) return true;
    N error, low, high, at_low, at_high;
    set_exact(error, std::max(static_cast<double>(error_of(a)), std::numeric_limits<double>::denorm_min()));
    apply_to(Op::Sub, 0, a, error, error, low);
    apply_to(Op::Add, 0, a, error, error, high);
    apply_to(op, 0, low, low, low, at_low);
    apply_to(op, 0, high, high, high, at_high);
    return equiv::equal(at_low, at_high);
  }

  // Returns whether fmod subtracts the same multiple of its divisor for all values within the operands' bounds.
  static bool one_quotient(const N& a, const N& b) {
    N quotient;
    apply_to(Op::Div, 0, a, b, b, quotient);
    const long double size = std::fabs(approximate(quotient));
    return size < 0x1p50L && error_of(quotient) < 1 && one_step(Op::Trunc, quotient, quotient);
  }

  // Returns whether operands are away from the ends of a domain where the result is NaN though their class is sure.
  static bool inside(Op op, const N& a, const N& b) {
    const auto away = [](const N& x, long double edge) {
      return exact(x) || std::fabs(approximate(x) - edge) > 2 * error_of(x) + 1e-18L;
    };
    const expr::Domain domain = expr::info(op).domain;
    if (domain == expr::Domain::within_one) return away(a, 1) && away(a, -1);
    if (domain == expr::Domain::from_one) return away(a, 1);
    if (domain == expr::Domain::from_minus_one) return away(a, -1);
    if (op == Op::Pow) return exact(b) || approximate(a) > 0 || (exact(a) && one_step(Op::Floor, b, b));
    return true;
  }

  static Value apply_op(Op op, std::int64_t exponent, const N& a, const N& b, const N& c) {
    Value r;
    if (unending(op, a)) {
      r.sure = false;
      return r;
    }
    // Beyond even MPFR's exponents nothing is known: exp(1e10) is a number.
    mpfr_clear_flags();
    apply_to(op, exponent, a, b, c, r.number);
    if (mpfr_overflow_p() != 0 || mpfr_underflow_p() != 0) {
      r.sure = false;
      return r;
    }
    r.sure = r.number.error_log2 != equiv::Big::kUnknown && inside(op, a, b) && one_step(op, a, b);
    return r;
  }

  static Value quotient(const N& above, const N& below, const N& step) {
    N difference;
    apply_to(Op::Sub, 0, above, below, below, difference);
    return apply_op(Op::Div, 0, difference, step, step);
  }

  // The result is sure unless the operand may lie on either side of the middle between two floats.
  static Value rounded_to_f32(const Value& a) {
    Value r = a;
    if (!std::isfinite(approximate(a.number)) || mpfr_zero_p(a.number.raw()) != 0) return r;
    N error, low, high;
    set_exact(error, exact(a.number) ? 0 : static_cast<double>(error_of(a.number)));
    apply_to(Op::Sub, 0, a.number, error, error, low);
    apply_to(Op::Add, 0, a.number, error, error, high);
    const float down = mpfr_get_flt(low.raw(), MPFR_RNDN), up = mpfr_get_flt(high.raw(), MPFR_RNDN);
    if (down != up) r.sure = false;
    set_exact(r.number, static_cast<double>(up));
    return r;
  }

  static Value compare(Op op, const N& a, const N& b) {
    const bool ordered = !a.is_nan() && !b.is_nan();
    const bool less = ordered && equiv::less(a, b), equal = ordered && equiv::equal(a, b);
    Value r;
    if (op == Op::Lt) r.truth = less;
    if (op == Op::Le) r.truth = less || equal;
    if (op == Op::Gt) r.truth = ordered && !less && !equal;
    if (op == Op::Ge) r.truth = ordered && !less;
    if (op == Op::Eq) r.truth = equal;
    if (op == Op::Ne) r.truth = !equal;
    const long double apart = std::fabs(approximate(a) - approximate(b));
    r.sure = (exact(a) && exact(b)) || apart > 2 * (error_of(a) + error_of(b));
    return r;
  }

  // --- near points that are known to a bound ---

  /// Rounds to zero a result that is within its bound of zero, measured by its operands.
  static Value settled(Value r, std::initializer_list<const N*> operands) {
    const long double size = std::fabs(approximate(r.number)), error = error_of(r.number);
    if (exact(r.number) || !std::isfinite(size) || size > 2 * error) return r;
    long double greatest = 0;
    for (const N* operand : operands) greatest = std::max(greatest, std::fabs(approximate(*operand)));
    if (is_tiny(error, greatest))
      set_exact(r.number, 0);
    else
      r.sure = false;
    return r;
  }

  static Value fmod_near(const N& a, const N& b) {
    Value r = apply_op(Op::Div, 0, a, b, b);
    if (!r.sure || !std::isfinite(approximate(r.number)) || std::fabs(approximate(r.number)) > 0x1p50L)
      return r.sure = false, r;
    const N whole = snapped(r.number, 1);
    const bool multiple = exact(whole) && mpfr_integer_p(whole.raw()) != 0;
    apply_to(Op::Fmod, 0, a, b, b, r.number);
    if (multiple) set_exact(r.number, 0);
    return r;
  }

  static Value apply_near(Op op, std::int64_t exponent, const N& a, const N& b, const N& c) {
    const bool to_half = op == Op::Rint || op == Op::Round;
    const expr::Domain domain = expr::info(op).domain;
    const bool has_end = domain != expr::Domain::all && domain != expr::Domain::from_zero;  // zero needs no snapping
    const bool to_integer = (expr::rounds_to_integer(op) && !to_half) || has_end || op == Op::Pow;
    const N x = to_integer ? snapped(a, 1) : to_half ? snapped(a, 2) : a;
    Value r;
    r.sure = false;
    // Over the reals zero has no sign.
    if (op == Op::Copysign && is_zero(b)) return r;
    if (op == Op::Atan2 && is_zero(a) && !(approximate(b) > 0)) return r;
    const N* divisor = op == Op::Div ? &b : op == Op::Recip || op == Op::Rsqrt ? &a : nullptr;
    if (divisor != nullptr && is_zero(*divisor)) {
      set_exact(r.number, std::nan(""));
      r.sure = true;
      return r;
    }
    if (op == Op::Fmod && !(exact(a) && exact(b))) return fmod_near(a, b);
    r = apply_op(op, exponent, x, b, c);
    return r.sure ? settled(r, {&a, &b, &c}) : r;
  }
};

}  // namespace trident::rulecheck
