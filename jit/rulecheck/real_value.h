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
#include <vector>

#include "jit/equiv/numbers.h"
#include "jit/rulecheck/points.h"
#include "jit/rulecheck/real_ops.h"

namespace trident::rulecheck {

/// Distance from x at which a difference quotient samples.
inline constexpr double kSlopeStep = 0x1p-200;
/// Shares of itself by which a constant that stands for a real, such as pi, is moved to see the effect of its rounding;
/// and a smaller one, to see whether the effect is smooth.
inline constexpr double kNudge = 0x1p-52, kFineNudge = 0x1p-72;

template <class N>
class RealEvaluator {
 public:
  using Ops = RealOps<N>;
  using Value = typename Ops::Value;

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
      return Ops::apply_op(Op::Add, 0, r.number, moved, moved);
    }
    const Op op = static_cast<Op>(t.op);
    if (op == Op::Diff) return slope(t.child[0], x);
    const Value a = term(t.child[0], x);
    if (op == Op::Select) return select(t, a, x);
    if (op == Op::Cast) {
      const bool rounds = sorts_.casts_round && static_cast<expr::Type>(t.sort) == expr::Type::f32;
      const Value exact = cast(static_cast<expr::Type>(t.sort), a, side_->terms[t.child[0]]);
      return rounds ? Ops::rounded_to_f32(exact) : exact;
    }
    const Value b = expr::info(op).arity > 1 ? term(t.child[1], x) : a;
    const Value c = expr::info(op).arity > 2 ? term(t.child[2], x) : a;
    if (expr::is_logic(op)) {
      r.truth = op == Op::And   ? a.truth && b.truth
                : op == Op::Or  ? a.truth || b.truth
                : op == Op::Xor ? a.truth != b.truth
                                : !a.truth;
    } else if (expr::info(op).signature == expr::Signature::Compare) {
      r = Ops::compare(op, a.number, b.number);
      if (near_ != nullptr && !r.sure && Ops::tied(a.number, b.number)) {
        r.truth = expr::holds(op, expr::kEqual);
        r.sure = true;
      }
    } else {
      const std::int64_t exponent = static_cast<std::int64_t>(t.has_payload ? t.number : 0);
      r = near_ != nullptr ? Ops::apply_near(op, exponent, a.number, b.number, c.number)
                           : Ops::apply_op(op, exponent, a.number, b.number, c.number);
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
      r = Ops::apply_op(s.op, s.exponent, r.number, operand, operand);
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
    r = Ops::apply_op(Op::Trunc, 0, a.number, a.number, a.number);
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
    Value r = Ops::quotient(right.number, left.number, twice);
    if (!std::isfinite(approximate(r.number))) return r;
    const long double kink = std::fabs(approximate(Ops::quotient(right.number, at.number, step).number) -
                                       approximate(Ops::quotient(at.number, left.number, step).number));
    const bool smooth = kink <= 1e-15L * std::max(1.0L, std::fabs(approximate(r.number)));
    r.sure = at.sure && right.sure && left.sure && smooth;
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
