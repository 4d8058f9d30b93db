#include "jit/expr/ranges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "jit/expr/builder.h"
#include "jit/expr/op_values.h"
#include "jit/expr/shape.h"

namespace trident::expr {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;

// Returns the next value of `type` at or below (above) x.
double down(double x, Type type) {
  if (type != Type::f32 || !std::isfinite(x)) return x;
  const auto f = static_cast<float>(x);
  return f <= x ? f : std::nextafterf(f, -std::numeric_limits<float>::infinity());
}
double up(double x, Type type) {
  return -down(-x, type);
}

// Rounds x to nearest in `type`, as the hardware does with the exact end of an interval.
double rounded(double x, Type type) {
  return type == Type::f32 ? static_cast<float>(x) : x;
}

Fact any() {
  return {};
}
Fact interval(double lo, double hi, bool nan) {
  return {lo, hi, nan, false};
}

bool has_inf(const Fact& f) {
  return f.lo == -kInf || f.hi == kInf;
}
bool has_zero(const Fact& f) {
  return f.lo <= 0 && f.hi >= 0;
}
double mag(const Fact& f) {
  return std::max(std::fabs(f.lo), std::fabs(f.hi));
}
double mig(const Fact& f) {
  return has_zero(f) ? 0 : std::min(std::fabs(f.lo), std::fabs(f.hi));
}

Fact hull(const Fact& a, const Fact& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), a.may_be_nan || b.may_be_nan, a.integral && b.integral};
}

// The interval over f at every corner of a and b; corners where f is NaN (0 * inf, inf - inf, ...) mean nothing can be
// said about the ends that meet there.
template <class F>
Fact corners(const Fact& a, const Fact& b, F f) {
  Fact out = interval(kInf, -kInf, a.may_be_nan || b.may_be_nan);
  for (const double x : {a.lo, a.hi}) {
    for (const double y : {b.lo, b.hi}) {
      const double v = f(x, y);
      if (std::isnan(v)) return any();
      out.lo = std::min(out.lo, v);
      out.hi = std::max(out.hi, v);
    }
  }
  return out;
}

// --- arithmetic in a float type ------------------------------------------------------------------------------------

template <class T>
Fact float_add(const Fact& a, const Fact& b) {
  const bool opposed = (a.hi == kInf && b.lo == -kInf) || (a.lo == -kInf && b.hi == kInf);
  const T lo = static_cast<T>(a.lo) + static_cast<T>(b.lo);
  const T hi = static_cast<T>(a.hi) + static_cast<T>(b.hi);
  Fact out = interval(std::isnan(lo) ? -kInf : lo, std::isnan(hi) ? kInf : hi, a.may_be_nan || b.may_be_nan || opposed);
  out.integral = a.integral && b.integral;
  return out;
}

template <class T>
T product(double x, double y) {
  return x == 0 || y == 0 ? T{0} : static_cast<T>(x) * static_cast<T>(y);
}

template <class T>
Fact float_mul(const Fact& a, const Fact& b) {
  Fact out = corners(a, b, [](double x, double y) { return static_cast<double>(product<T>(x, y)); });
  out.may_be_nan = a.may_be_nan || b.may_be_nan || (has_zero(a) && has_inf(b)) || (has_inf(a) && has_zero(b));
  out.integral = a.integral && b.integral;
  return out;
}

template <class T>
Fact float_div(const Fact& a, const Fact& b) {
  const bool nan = a.may_be_nan || b.may_be_nan || (has_zero(a) && has_zero(b)) || (has_inf(a) && has_inf(b));
  if (has_zero(b)) return interval(-kInf, kInf, nan);  // either zero: either infinity
  Fact out = corners(a, b, [](double x, double y) {
    if (x == 0) return 0.0;
    if (std::isinf(x) && std::isinf(y)) return static_cast<double>(NAN);
    return static_cast<double>(static_cast<T>(x) / static_cast<T>(y));
  });
  out.may_be_nan = nan;
  return out;
}

template <class T>
Fact square(const Fact& a) {
  const auto low = static_cast<T>(mig(a));
  const auto high = static_cast<T>(mag(a));
  Fact out = interval(low * low, high * high, a.may_be_nan);
  out.integral = a.integral;
  return out;
}

template <class T>
Fact float_fma(const Fact& a, const Fact& b, const Fact& c, bool squares) {
  const Fact p = squares ? square<T>(a) : float_mul<T>(a, b);
  Fact out = interval(kInf, -kInf, p.may_be_nan || c.may_be_nan);
  out.integral = a.integral && b.integral && c.integral;
  // Without a second rounding in between: the ends of the product are not rounded, which fma() itself gets right.
  std::array<std::pair<double, double>, 4> ends = {{{a.lo, b.lo}, {a.lo, b.hi}, {a.hi, b.lo}, {a.hi, b.hi}}};
  if (squares) ends = {{{mig(a), mig(a)}, {mig(a), mig(a)}, {mag(a), mag(a)}, {mag(a), mag(a)}}};
  for (const auto& [x, y] : ends) {
    for (const double z : {c.lo, c.hi}) {
      const bool zero = x == 0 || y == 0;
      const T v = zero ? static_cast<T>(z) : std::fma(static_cast<T>(x), static_cast<T>(y), static_cast<T>(z));
      if (std::isnan(v)) return any();
      out.lo = std::min<double>(out.lo, v);
      out.hi = std::max<double>(out.hi, v);
    }
  }
  if ((p.hi == kInf && c.lo == -kInf) || (p.lo == -kInf && c.hi == kInf)) return any();
  return out;
}

// --- integers ------------------------------------------------------------------------------------------------------

Fact full(Type type) {
  const bool narrow = type == Type::i32;
  return {narrow ? -0x1p31 : -0x1p63, narrow ? 0x1p31 - 1 : 0x1p63, false, true};
}

// [lo, hi] when no value can have wrapped, else anything. Ends above 2^53 may have been rounded: they are given up.
Fact int_interval(Type type, double lo, double hi) {
  const double limit = type == Type::i32 ? 0x1p31 - 1 : 0x1p53;
  if (!(lo >= -limit && hi <= limit)) return full(type);
  return {lo, hi, false, true};
}

bool exact_ints(const Fact& f) {
  return f.lo >= -0x1p53 && f.hi <= 0x1p53;
}

// All ones up to the highest bit of x.
double ones(double x) {
  const auto v = static_cast<std::uint64_t>(x);
  return v == 0 ? 0 : static_cast<double>((std::bit_floor(v) << 1) - 1);
}

// --- functions -----------------------------------------------------------------------------------------------------

// Widens libm's values at the ends by more than the error of libm and of the expansion together.
class Slack {
 public:
  Slack(Type type, kir::math::Accuracy accuracy) : type_(type) {
    relative_ = type == Type::f32 ? 0x1p-19 : 0x1p-48;
    if (accuracy == kir::math::Accuracy::rel3) relative_ = absolute_ = 0x1p-8;
  }
  [[nodiscard]] Fact widen(double lo, double hi, bool nan) const {
    if (std::isnan(lo) || std::isnan(hi)) return any();
    return interval(below(lo), above(hi), nan);
  }

 private:
  [[nodiscard]] double above(double x) const { return -below(-x); }
  [[nodiscard]] double below(double x) const {
    if (x == 0) return absolute_ == 0 ? x : -absolute_;  // zero results are exact
    if (std::isinf(x))
      return x < 0 ? x : type_ == Type::f32 ? std::numeric_limits<float>::max() * (1 - relative_) : 0x1.fp1023;
    const double tiny = type_ == Type::f32 ? 0x1p-145 : 0x1p-1070;
    const double moved = down(x - std::fabs(x) * relative_ - tiny - absolute_, type_);
    return x > 0 && absolute_ == 0 ? std::max(moved, 0.0) : moved;  // no function crosses zero by its error
  }

  Type type_;
  double relative_ = 0;
  double absolute_ = 0;
};

// The values of a function at the ends of its operand, or of the part of it that lies in the function's domain. A pole
// at zero has the sign of the zero.
template <class T>
Fact between_ends(Op op, const Fact& a, const Slack& slack) {
  const OpInfo& row = info(op);
  const auto [least, greatest] = domain_of(op);
  if (a.hi < least || a.lo > greatest || (has_zero(a) && reads_zero_sign_of_first(op))) return any();
  const bool nan = a.may_be_nan || a.lo < least || a.hi > greatest;
  const auto value = [&](double x) {
    if (row.rounding != Rounding::correct) return evaluate<double>(real_op(op), 0, x, 0, 0);
    return static_cast<double>(evaluate<T>(real_op(op), 0, static_cast<T>(x), 0, 0));
  };
  const bool even = row.parity == Parity::even;
  const double one = value(even ? mig(a) : std::max(a.lo, least));
  const double other = value(even ? mag(a) : std::min(a.hi, greatest));
  const auto [lo, hi] = std::minmax(one, other);
  if (row.rounding == Rounding::approximate) return slack.widen(lo, hi, nan);
  return {lo, hi, nan, is_step(op) || (row.rounding == Rounding::exact && a.integral)};
}

// Sine with its argument shifted by `phase` (0: sine, pi/2: cosine).
Fact wave(const Fact& a, double phase, double (*f)(double), const Slack& slack) {
  const bool nan = a.may_be_nan || has_inf(a);
  if (has_inf(a) || mag(a) > 1e6) return slack.widen(-1, 1, nan);
  constexpr double kMargin = 1e-6;  // far above the rounding of the turns counted here
  const auto turns = [&](double x, double at) { return std::floor((x + phase - at) / (2 * kPi)); };
  const bool top = turns(a.lo - kMargin, kPi / 2) != turns(a.hi + kMargin, kPi / 2);
  const bool bottom = turns(a.lo - kMargin, -kPi / 2) != turns(a.hi + kMargin, -kPi / 2);
  const double lo = std::min(f(a.lo), f(a.hi));
  const double hi = std::max(f(a.lo), f(a.hi));
  return slack.widen(bottom ? -1 : lo, top ? 1 : hi, nan);
}

Fact tangent(const Fact& a, const Slack& slack) {
  if (has_inf(a) || mag(a) > 1e6) return interval(-kInf, kInf, a.may_be_nan || has_inf(a));
  constexpr double kMargin = 1e-6;
  const auto branch = [](double x) { return std::floor(x / kPi + 0.5); };
  if (branch(a.lo - kMargin) != branch(a.hi + kMargin)) return interval(-kInf, kInf, a.may_be_nan);
  return slack.widen(std::tan(a.lo), std::tan(a.hi), a.may_be_nan);
}

Fact power(const Fact& a, const Fact& b, const Slack& slack) {
  if (!(a.lo >= 0)) return any();
  Fact out = corners(a, b, [](double x, double y) { return std::pow(x, y); });
  if (has_zero(a) && b.lo < 0) return interval(-kInf, kInf, a.may_be_nan || b.may_be_nan);  // -0 to an odd power
  // pow(NaN, 0) = pow(1, NaN) = 1, which no corner shows when an operand may be NaN.
  const bool nan = a.may_be_nan || b.may_be_nan;
  if (nan) out = hull(out, {1, 1, true, false});
  return slack.widen(out.lo, out.hi, nan);
}

// Repeated products round once per factor: the slack grows with the exponent.
Fact integer_power(const Node& n, const Fact& a) {
  const auto exponent = static_cast<std::int64_t>(n.imm);
  const double e = std::fabs(static_cast<double>(exponent));
  if (exponent == 0) return {1, 1, false, true};
  const bool even = exponent % 2 == 0;
  double lo = std::pow(even ? mig(a) : a.lo, e);
  double hi = std::pow(even ? mag(a) : a.hi, e);
  const double relative = std::min(0.5, (e + 8) * (n.type == Type::f32 ? 0x1p-22 : 0x1p-51));
  const double tiny = e <= 1 ? 0 : n.type == Type::f32 ? 0x1p-140 : 0x1p-1060;
  const bool exact = e <= 1;
  const auto below = [&](double x) { return exact ? x : down(x - std::fabs(x) * relative - tiny, n.type); };
  if (lo != 0 || !even) lo = even ? std::max(0.0, below(lo)) : lo >= 0 ? std::max(0.0, below(lo)) : below(lo);
  hi = hi <= 0 && !even ? std::min(0.0, -below(-hi)) : -below(-hi);
  if (hi > (n.type == Type::f32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023)) hi = kInf;
  if (lo < (n.type == Type::f32 ? -0x1.fffffep127 : -0x1.fffffffffffffp1023)) lo = -kInf;
  Fact out = interval(lo, hi, a.may_be_nan);
  if (exponent > 0) {
    out.integral = a.integral;
    return out;
  }
  const Fact one = interval(1, 1, false);
  Fact inverse = n.type == Type::f32 ? float_div<float>(one, out) : float_div<double>(one, out);
  // A large power goes through pow: keep away from the last bits here too.
  if (!has_zero(out)) {
    inverse.lo = inverse.lo >= 0 ? std::max(0.0, below(inverse.lo)) : below(inverse.lo);
    inverse.hi = inverse.hi <= 0 ? std::min(0.0, -below(-inverse.hi)) : -below(-inverse.hi);
  }
  return inverse;
}

Fact int_power(const Node& n, const Fact& a) {
  if (n.imm == 0) return {1, 1, false, true};
  if (!exact_ints(a)) return full(n.type);
  const auto e = static_cast<double>(n.imm);
  const bool even = n.imm % 2 == 0;
  return int_interval(n.type, std::pow(even ? mig(a) : a.lo, e), std::pow(even ? mag(a) : a.hi, e));
}

Fact arc_tangent(const Fact& a, const Fact& b, const Slack& slack) {
  const bool nan = a.may_be_nan || b.may_be_nan;
  if (!(b.lo > 0)) return slack.widen(a.lo > 0 ? 0 : -kPi, kPi, nan);
  const Fact out = corners(a, b, [](double x, double y) { return std::atan2(x, y); });
  return slack.widen(out.lo, out.hi, nan);
}

Fact remainder(const Fact& a, const Fact& b) {
  const double size = std::min(mag(a), mag(b));
  const bool nan = a.may_be_nan || b.may_be_nan || has_inf(a) || has_zero(b);
  Fact out = interval(a.lo >= 0 ? 0 : -size, a.hi <= 0 ? 0 : size, nan);
  out.integral = a.integral && b.integral;
  return out;
}

/// Returns the interval of x - f(x), exact as well as rounded, where f rounds finite values to integers by `op`: none,
/// half a unit or a unit to either side, as quarters show.
std::optional<Fact> fraction_of(Op op) {
  if (info(op).identities != Identities::integral) return std::nullopt;
  Fact part = interval(0, 0, false);
  for (const double x : {-0.75, -0.25, 0.25, 0.75}) {
    const double rest = x - evaluate<double>(real_op(op), 0, x, 0, 0);
    const double end = std::copysign(std::fabs(rest) > 0.5 ? 1 : 0.5, rest);
    part = interval(std::min(part.lo, end), std::max(part.hi, end), false);
  }
  return part;
}

Fact copysign(const Fact& a, const Fact& b) {
  const double low = mig(a);
  const double high = mag(a);
  Fact out = interval(-high, high, a.may_be_nan);
  if (!b.may_be_nan && b.lo > 0) out.lo = low;
  if (!b.may_be_nan && b.hi < 0) out = interval(-high, -low, a.may_be_nan);
  out.integral = a.integral;
  return out;
}

// C's fmin: a NaN operand leaves the other alone.
Fact least(const Fact& a, const Fact& b) {
  Fact out = interval(std::min(a.lo, b.lo), std::min(a.hi, b.hi), a.may_be_nan && b.may_be_nan);
  if (b.may_be_nan) out.hi = std::max(out.hi, a.hi);
  if (a.may_be_nan) out.hi = std::max(out.hi, b.hi);
  out.integral = a.integral && b.integral;
  return out;
}

Fact negated(const Fact& a) {
  return {-a.hi, -a.lo, a.may_be_nan, a.integral};
}

Fact truth(bool always, bool never) {
  return {always ? 1.0 : 0.0, never ? 0.0 : 1.0, false, true};
}

// Returns the possible outcomes of a comparison, as bits of OpInfo::holds.
std::uint8_t outcomes(const Fact& a, const Fact& b, bool same_node) {
  const std::uint8_t unordered = a.may_be_nan || b.may_be_nan ? kUnordered : 0;
  if (same_node) return unordered | kEqual;
  return unordered | (a.lo < b.hi ? kLess : 0) | (a.hi > b.lo ? kGreater : 0) |
         (a.lo <= b.hi && b.lo <= a.hi ? kEqual : 0);
}

Fact comparison(Op op, const Fact& a, const Fact& b, bool same_node) {
  const std::uint8_t possible = outcomes(a, b, same_node);
  return truth((possible & ~info(op).holds) == 0, !holds(op, possible));
}

Fact logic(Op op, const Fact& a, const Fact& b) {
  if (op == Op::And) return truth(a.always() && b.always(), a.never() || b.never());
  if (op == Op::Or) return truth(a.always() || b.always(), a.never() && b.never());
  if (op == Op::Not) return truth(a.never(), a.always());
  const bool known = (a.always() || a.never()) && (b.always() || b.never());
  return known ? truth(a.always() != b.always(), a.always() == b.always()) : truth(false, false);
}

Fact cast(Type to, Type from, const Fact& a) {
  if (to == Type::b32) return comparison(Op::Ne, a, {0, 0, false, true}, false);
  if (from == Type::b32) return {a.lo, a.hi, false, true};
  if (ir::is_int(to)) {
    const double limit = to == Type::i32 ? 0x1p31 - 1 : 0x1p62;
    if (a.may_be_nan || !(a.lo >= -limit && a.hi <= limit)) return full(to);
    return {std::trunc(a.lo), std::trunc(a.hi), false, true};
  }
  return {rounded(a.lo, to), rounded(a.hi, to), a.may_be_nan, a.integral};
}

Fact reduction(const Node& n, const Fact& a, const Fact& b) {
  if (info(n.op).signature == Signature::Locate) return {-1, 0x1p63, false, true};
  if (n.op == Op::MinOf) return {a.lo, ir::is_int(n.type) ? full(n.type).hi : kInf, false, false};
  if (n.op == Op::MaxOf) return {ir::is_int(n.type) ? full(n.type).lo : -kInf, a.hi, false, false};
  if (ir::is_int(n.type)) return full(n.type);
  // Rounded sums of many terms: only the sign is sure.
  if (n.op == Op::Sum && !a.may_be_nan && a.lo >= 0) return interval(0, kInf, false);
  if (n.op == Op::Sum && !a.may_be_nan && a.hi <= 0) return interval(-kInf, 0, false);
  if (n.op == Op::Dot && n.a == n.b && !a.may_be_nan) return interval(0, kInf, false);
  const bool same_sign = (a.lo >= 0 && b.lo >= 0) || (a.hi <= 0 && b.hi <= 0);
  if (n.op == Op::Dot && same_sign && a.finite() && b.finite()) return interval(0, kInf, false);
  return any();
}

template <class T>
Fact float_op(const Node& n, const Fact& a, const Fact& b, const Fact& c, const Slack& slack) {
  switch (real_op(n.op)) {
    case RealOp::Add: return n.a == n.b ? float_mul<T>(a, {2, 2, false, true}) : float_add<T>(a, b);
    case RealOp::Sub:
      if (n.a == n.b) return {0, 0, a.may_be_nan || has_inf(a), true};
      return float_add<T>(a, negated(b));
    case RealOp::Mul: return n.a == n.b ? square<T>(a) : float_mul<T>(a, b);
    case RealOp::Div:
      if (n.a == n.b) return {1, 1, a.may_be_nan || has_zero(a) || has_inf(a), true};
      return float_div<T>(a, b);
    case RealOp::Recip: return float_div<T>({1, 1, false, true}, a);
    case RealOp::Min: return least(a, b);
    case RealOp::Max: return negated(least(negated(a), negated(b)));
    case RealOp::Fma: return float_fma<T>(a, b, c, n.a == n.b);
    case RealOp::Powi: return integer_power(n, a);
    case RealOp::Pow: return power(a, b, slack);
    case RealOp::Hypot:
      return slack.widen(std::hypot(mig(a), mig(b)), std::hypot(mag(a), mag(b)), a.may_be_nan || b.may_be_nan);
    case RealOp::Atan2: return arc_tangent(a, b, slack);
    case RealOp::Fmod: return remainder(a, b);
    case RealOp::Copysign: return copysign(a, b);
    case RealOp::Sin: return wave(a, 0, std::sin, slack);
    case RealOp::Cos: return wave(a, kPi / 2, std::cos, slack);
    case RealOp::Tan: return tangent(a, slack);
#define COURSE_Ends(Name) case RealOp::Name:
#define COURSE_Corners(Name)
#define COURSE_Other(Name)
#define X(id, Name, text, arity, signature, types, kind, value, course, ...) COURSE_##course(Name)
#include "jit/expr/ops.def"
#undef X
#undef COURSE_Ends
#undef COURSE_Corners
#undef COURSE_Other
      return between_ends<T>(n.op, a, slack);
  }
  CHECK(false);
}

Fact int_logic(const Node& n, const Fact& a, const Fact& b) {
  const bool ranged = exact_ints(a) && exact_ints(b);
  if (n.op == Op::Not && exact_ints(a)) return int_interval(n.type, -a.hi - 1, -a.lo - 1);
  if (n.op == Op::And && ranged && (a.lo >= 0 || b.lo >= 0))
    return int_interval(n.type, 0, a.lo >= 0 && b.lo >= 0 ? std::min(a.hi, b.hi) : a.lo >= 0 ? a.hi : b.hi);
  const bool nonnegative = a.lo >= 0 && b.lo >= 0 && ranged;
  return n.op != Op::And && nonnegative ? int_interval(n.type, 0, ones(std::max(a.hi, b.hi))) : full(n.type);
}

Fact int_shift(const Node& n, const Fact& a, const Fact& b) {
  const bool ranged = exact_ints(a) && exact_ints(b);
  const bool known = b.lo == b.hi && b.lo >= 0 && b.lo < 8.0 * ir::bytes_of(n.type);
  if (n.op == Op::Shl && ranged && known)
    return int_interval(n.type, std::ldexp(a.lo, static_cast<int>(b.lo)), std::ldexp(a.hi, static_cast<int>(b.lo)));
  if (n.op == Op::Shr && ranged && a.lo >= 0 && b.lo >= 0) return int_interval(n.type, 0, a.hi);
  if (n.op == Op::Sar && exact_ints(a)) return int_interval(n.type, std::min(a.lo, 0.0), std::max(a.hi, 0.0));
  return full(n.type);
}

Fact int_op(const Node& n, const Fact& a, const Fact& b) {
  const OpInfo& row = info(n.op);
  if (n.op == Op::Powi) return int_power(n, a);
  if (is_logic(n.op)) return int_logic(n, a, b);
  if (row.kind == NodeKind::Shift) return int_shift(n, a, b);
  // The interval of doubles, where no integer of it wraps.
  const Fact real = float_op<double>(n, a, b, any(), Slack(Type::f64, kir::math::Accuracy::ulp4));
  const bool never_wraps = row.rounding == Rounding::exact && !has(n.op, kSignOnly);  // min, max, sign
  if (never_wraps) return {real.lo, real.hi, false, true};
  const bool ranged = exact_ints(a) && (row.arity == 1 || exact_ints(b));
  return ranged ? int_interval(n.type, real.lo, real.hi) : full(n.type);
}

Fact constant(const Node& n) {
  const double v = value_of(n.type, n.imm);
  if (std::isnan(v)) return any();
  if (n.type == Type::i64 && std::fabs(v) > 0x1p53) {
    return {std::nextafter(v, -kInf), std::nextafter(v, kInf), false, true};
  }
  return {v, v, false, std::trunc(v) == v};
}

Fact variable(const Variable& v, bool finite) {
  if (ir::is_int(v.type)) {
    const Fact f = full(v.type);
    if (!v.has_range()) return f;
    return {std::max(f.lo, std::ceil(v.lo)), std::min(f.hi, std::floor(v.hi)), false, true};
  }
  if (!v.has_range() && !finite) return any();
  Fact f = interval(down(v.lo, v.type), up(v.hi, v.type), v.or_nan && !finite);
  const double greatest = v.type == Type::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  if (finite) f.lo = std::max(f.lo, -greatest), f.hi = std::min(f.hi, greatest);
  return f;
}

// 3/4 of the exponents of the type.
bool central(Type type, double lo, double hi) {
  const double least = type == Type::f32 ? 0x1p-95 : 0x1p-767;
  const double greatest = type == Type::f32 ? 0x1p95 : 0x1p767;
  const double small = std::min(std::fabs(lo), std::fabs(hi));
  const double large = std::max(std::fabs(lo), std::fabs(hi));
  return (lo > 0 || hi < 0) && small >= least && large <= greatest;
}

}  // namespace

Fact fact_of(const Node& n, Type operand, const Fact& a, const Fact& b, const Fact& c, kir::math::Accuracy accuracy) {
  switch (info(n.op).signature) {
    case Signature::Same:
      if (n.type == Type::f64) return float_op<double>(n, a, b, c, Slack(n.type, accuracy));
      if (n.type == Type::f32) return float_op<float>(n, a, b, c, Slack(n.type, accuracy));
      return n.type == Type::b32 ? logic(n.op, a, b) : int_op(n, a, b);
    case Signature::Compare: return comparison(n.op, a, b, n.a == n.b);
    case Signature::Select: return a.always() ? b : a.never() ? c : hull(b, c);
    case Signature::Convert: return cast(n.type, operand, a);
    case Signature::Read: return hull(a, {0, 0, false, true});
    case Signature::Reduce:
    case Signature::Reduce2:
    case Signature::Locate: return reduction(n, a, b);
    case Signature::Leaf:
      if (n.op == Op::Index) return {0, 0x1p53, false, true};
      return n.op == Op::Constant ? constant(n) : any();
    case Signature::Diff: return any();
  }
  CHECK(false);
}

// Handles most values without declared ranges quickly: a sum or product of an unknown value is unknown too, unless both
// operands are that value.
bool Ranges::is_unknown(const Node& n) const {
  if (!is_ring_op(n.op) || !ir::is_float(n.type) || n.a == n.b) return false;
  const auto unknown = [](const Fact& f) { return f.lo == -kInf && f.hi == kInf && f.may_be_nan && !f.integral; };
  return unknown(facts_[n.a.index]) || unknown(facts_[n.b.index]);
}

/// Returns the interval of x - floor(x), floor(x) - x and their like; none for other nodes. No interval of the operands
/// shows it, as that of x is often unknown.
std::optional<Fact> Ranges::fraction(const Node& n) const {
  if (n.op != Op::Sub || !ir::is_float(n.type)) return std::nullopt;
  const auto rounded_part = [&](NodeId x, NodeId step) {
    const Node& f = expr_.nodes[step.index];
    std::optional<Fact> part = f.a == x ? fraction_of(f.op) : std::nullopt;
    if (part) part->may_be_nan = facts_[x.index].may_be_nan || has_inf(facts_[x.index]);
    return part;
  };
  if (const std::optional<Fact> part = rounded_part(n.a, n.b)) return part;
  const std::optional<Fact> part = rounded_part(n.b, n.a);
  return part ? std::optional(negated(*part)) : std::nullopt;
}

Fact Ranges::analyse(const Node& n) const {
  if (n.op == Op::Variable) return variable(expr_.variables[n.imm], finite_inputs_);
  const bool unknown = is_unknown(n);
  if (unknown && n.op != Op::Sub) return any();
  const std::optional<Fact> part = fraction(n);
  if (unknown) return part.value_or(any());
  const auto fact = [&](NodeId id) { return id.valid() ? facts_[id.index] : any(); };
  const Type operand = n.a.valid() ? expr_.nodes[n.a.index].type : n.type;
  Fact known = fact_of(n, operand, fact(n.a), fact(n.b), fact(n.c), accuracy_);
  if (part) known.lo = std::max(known.lo, part->lo), known.hi = std::min(known.hi, part->hi);
  if (part) known.may_be_nan = part->may_be_nan;
  // Quotients and roots, among others; functions are widened by more already.
  const bool may_be_estimated = info(n.op).rounding == Rounding::correct && !is_ring_op(n.op);
  if (!estimates_ || n.type != Type::f32 || !may_be_estimated) return known;
  return Slack(n.type, accuracy_).widen(known.lo, known.hi, known.may_be_nan);
}

bool division_is_normal(Type type, const Fact& a, const Fact& b) {
  if (a.may_be_nan || b.may_be_nan || !central(type, a.lo, a.hi) || !central(type, b.lo, b.hi)) return false;
  const double least = mig(a) / mag(b);
  const double greatest = mag(a) / mig(b);
  return central(type, least, greatest) && central(type, 1 / mag(b), 1 / mig(b));
}

bool sqrt_is_normal(Type type, const Fact& a) {
  return !a.may_be_nan && a.lo > 0 && central(type, a.lo, a.hi);
}

std::uint8_t division_flags(Type type, const Fact& a, const Fact& b) {
  if (division_is_normal(type, a, b)) return kir::kNormal;
  const double half = type == Type::f32 ? 0x1p63 : 0x1p511;
  const double quarter = type == Type::f32 ? 0x1p31 : 0x1p255;
  const bool bounded =
      a.finite() && b.finite() && b.nonzero() && mag(a) <= half && mag(b) <= quarter && mig(b) >= 1 / quarter;
  return bounded ? kir::kBounded : 0;
}

std::uint8_t estimated_division_flags(const Fact& a, const Fact& b) {
  constexpr double kLeast = 0x1p-38, kGreatest = 0x1p86;
  const bool middle = a.finite() && b.finite() && mig(b) >= kLeast && mag(b) <= kGreatest &&
                      mig(a) / mag(b) >= kLeast && mag(a) / mig(b) <= kGreatest;
  return middle ? kir::kNormal : 0;
}

std::uint8_t sqrt_flags(Type type, const Fact& a) {
  if (sqrt_is_normal(type, a)) return kir::kNormal;
  return a.finite() && a.nonnegative() && a.hi <= (type == Type::f32 ? 0x1p63 : 0x1p511) ? kir::kBounded : 0;
}

}  // namespace trident::expr
