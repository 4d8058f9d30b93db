// Evaluates a side of a rule over the reals at one point, with a bound of its error: N is a WideBig of jit/equiv.
// Unlike in jit/equiv, no rounded arithmetic has to be matched: a step whose operand surely lies on one side is sure,
// and any other step calls for more bits.
//
// At a point that is no floating-point number (ties.h) the variables are numbers of N with bounds of their own. Terms
// that differ by less than these bounds count as equal there, and a term that near to zero counts as zero: for numbers
// known to a hundred digits that is no coincidence.
//
// A derivative (diff e ?x) is the central difference quotient of e, where the quotients to the left and to the right
// agree. Elsewhere e has a kink, and nothing is said. With a step of 2^-200 its error is some 2^-400, so N needs 800
// bits for it.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "jit/equiv/numbers.h"
#include "jit/rulecheck/points.h"

namespace trident::rulecheck {

/// Distance from x at which a difference quotient samples.
inline constexpr double kSlopeStep = 0x1p-200;
/// Shares of itself by which a constant that stands for a real, such as pi, is moved to see the effect of its rounding;
/// and a smaller one, to see whether the effect is smooth.
inline constexpr double kNudge = 0x1p-52, kFineNudge = 0x1p-72;

template <class N>
class RealEvaluator {
 public:
  struct Value {
    N number;
    bool truth = false;
    bool sure = true;
  };

  /// Both arguments must outlive the evaluator.
  RealEvaluator(const Point& point, const Sorts& sorts) : point_(point), sorts_(sorts) {}
  /// Evaluates at `near`, by variable, close to the point's values; truth values are the point's. No derivatives.
  RealEvaluator(const Point& point, const Sorts& sorts, const std::vector<N>& near)
      : point_(point), sorts_(sorts), near_(&near) {}

  /// `nudged`: the constant term that is moved by `share` of itself; none when negative.
  Value evaluate(const egraph::Pattern& side, int nudged = -1, double share = 0) {
    side_ = &side;
    nudged_ = nudged;
    share_ = share;
    N x;
    set_exact(x, point_.x);
    return term(side.terms.size() - 1, x);
  }

 private:
  using Op = expr::Op;
  using Term = egraph::PatternTerm;

  Value term(std::size_t index, const N& x) {
    const Term& t = side_->terms[index];
    Value r;
    if (t.kind == Term::Kind::variable) return variable(t.variable, x);
    if (t.kind == Term::Kind::number) {
      if (const auto fraction = sorts_.meant.find(t.number); fraction != sorts_.meant.end()) {
        mpfr_set_q(r.number.raw(), fraction->second.get_mpq_t(), MPFR_RNDN);
        r.number.error_log2 = mpfr_get_exp(r.number.raw()) - mpfr_get_prec(r.number.raw());
        return r;
      }
      set_exact(r.number, t.number);
      if (static_cast<int>(index) != nudged_) return r;
      N share, moved;
      set_exact(share, share_);
      apply_to(Op::Mul, 0, r.number, share, share, moved);
      return apply_op(Op::Add, 0, r.number, moved, moved);
    }
    const Op op = static_cast<Op>(t.op);
    if (op == Op::Diff) return slope(t.child[0], x);
    const Value a = term(t.child[0], x);
    if (op == Op::Select) return select(t, a, x);
    if (op == Op::Cast) {
      const bool rounds = sorts_.casts_round && static_cast<expr::Type>(t.sort) == expr::Type::f32;
      const Value exact = cast(static_cast<expr::Type>(t.sort), a, side_->terms[t.child[0]]);
      return rounds ? rounded_to_f32(exact) : exact;
    }
    const Value b = expr::info(op).arity > 1 ? term(t.child[1], x) : a;
    const Value c = expr::info(op).arity > 2 ? term(t.child[2], x) : a;
    if (expr::is_logic(op)) {
      r.truth = op == Op::And   ? a.truth && b.truth
                : op == Op::Or  ? a.truth || b.truth
                : op == Op::Xor ? a.truth != b.truth
                                : !a.truth;
    } else if (expr::info(op).signature == expr::Signature::Compare) {
      r = compare(op, a.number, b.number);
      if (near_ != nullptr && !r.sure && tied(a.number, b.number)) {
        r.truth = expr::holds(op, expr::kEqual);
        r.sure = true;
      }
    } else {
      const std::int64_t exponent = static_cast<std::int64_t>(t.has_payload ? t.number : 0);
      r = near_ != nullptr ? apply_near(op, exponent, a.number, b.number, c.number)
                           : apply_op(op, exponent, a.number, b.number, c.number);
    }
    r.sure = r.sure && a.sure && b.sure && c.sure;
    return r;
  }

  Value variable(std::uint8_t v, const N& x) {
    Value r;
    if (sorts_.truth[v]) {
      r.truth = point_.values[v] != 0;
      return r;
    }
    if (near_ != nullptr) {
      r.number = (*near_)[v];
      return r;
    }
    if (point_.functions.empty()) {
      set_exact(r.number, point_.values[v]);
      return r;
    }
    r.number = x;
    for (const Function::Step& s : point_.functions[v].steps) {
      N operand;
      set_exact(operand, s.operand);
      r = apply_op(s.op, s.exponent, r.number, operand, operand);
    }
    return r;
  }

  // A real has no precision. A cast to an integer truncates; as in floating point (strict_value.cpp), a value that the
  // type does not hold becomes its least, but an i64 keeps its low bits.
  Value cast(expr::Type to, const Value& a, const Term& of) {
    const bool truth = of.kind == Term::Kind::variable
                           ? sorts_.truth[of.variable]
                           : expr::info(static_cast<Op>(of.op)).signature == expr::Signature::Compare;
    Value r = a;
    if (truth) set_exact(r.number, a.truth ? 1 : 0);
    if (truth || !ir::is_int(to)) return r;
    r = apply_op(Op::Trunc, 0, a.number, a.number, a.number);
    r.sure = r.sure && a.sure;
    const double limit = to == expr::Type::i32 ? 0x1p31 : 0x1p63;
    N above, below;
    set_exact(above, limit);
    set_exact(below, -limit);
    const bool held = !less(r.number, below) && less(r.number, above);
    if (held || !std::isfinite(approximate(r.number))) return r;
    const bool from_wide = of.kind == Term::Kind::node && static_cast<Op>(of.op) == Op::Cast &&
                           static_cast<expr::Type>(of.sort) == expr::Type::i64;
    set_exact(r.number, -limit);
    if (to == expr::Type::i32 && from_wide)
      set_int(r.number,
              static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(approximate(a.number)))));
    return r;
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

  Value select(const Term& t, const Value& condition, const N& x) {
    Value r = term(t.child[condition.truth ? 1 : 2], x);
    r.sure = r.sure && condition.sure;
    return r;
  }

  Value slope(std::size_t child, const N& x) {
    N step, above, below;
    set_exact(step, kSlopeStep);
    apply_to(Op::Add, 0, x, step, step, above);
    apply_to(Op::Sub, 0, x, step, step, below);
    const Value at = term(child, x), right = term(child, above), left = term(child, below);
    N twice;
    set_exact(twice, 2 * kSlopeStep);
    Value r = quotient(right.number, left.number, twice);
    if (!std::isfinite(approximate(r.number))) return r;
    const long double kink = std::fabs(approximate(quotient(right.number, at.number, step).number) -
                                       approximate(quotient(at.number, left.number, step).number));
    const bool smooth = kink <= 1e-15L * std::max(1.0L, std::fabs(approximate(r.number)));
    r.sure = at.sure && right.sure && left.sure && smooth;
    return r;
  }
  static Value quotient(const N& above, const N& below, const N& step) {
    N difference;
    apply_to(Op::Sub, 0, above, below, below, difference);
    return apply_op(Op::Div, 0, difference, step, step);
  }

  // --- ops, and whether their results are sure ---

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

  // --- near points that are known to a bound ---

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

  static bool is_zero(const N& x) { return mpfr_zero_p(x.raw()) != 0; }

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

  // Returns whether an op would reduce a number with millions of digits by a period, for which MPFR needs as many.
  static bool unending(Op op, const N& a) {
    constexpr long double kGreatest = 1e320L;
    const bool periodic = expr::has(op, expr::kPeriodic) || op == Op::Fmod;
    return periodic && std::fabs(approximate(a)) > kGreatest;
  }

  static bool exact(const N& x) { return x.error_log2 == equiv::Big::kExact; }

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

  const Point& point_;
  const Sorts& sorts_;
  const std::vector<N>* near_ = nullptr;
  const egraph::Pattern* side_ = nullptr;
  int nudged_ = -1;
  double share_ = 0;
};

}  // namespace trident::rulecheck
