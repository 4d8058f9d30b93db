// Powers, roots, absolute values, extrema, selects and comparisons.
#include <cmath>
#include <numbers>

#include "jit/expr/constants.h"
#include "jit/expr/simplifier.h"

namespace trident::expr {

NodeId Simplifier::powi(NodeId a, std::int64_t n) {
  const Type t = type(a);
  double v = 0;
  if (n == 0) return ir::is_float(t) ? b_.constant(t, 1) : b_.constant_int(t, 1);
  if (n == 1) return a;
  if (!ir::is_float(t)) return b_.powi(a, n);
  if (constant(a, v) && real_) return number(t, std::pow(static_cast<long double>(v), static_cast<long double>(n)));
  if (at(a).op == Op::Neg) return n % 2 == 0 ? powi(at(a).a, n) : neg(powi(at(a).a, n));
  if (at(a).op == Op::Abs && n % 2 == 0) return powi(at(a).a, n);
  if (real_ && at(a).op == Op::Powi) {
    const std::int64_t inner = static_cast<std::int64_t>(at(a).imm);
    if (std::abs(inner) < 1024 && std::abs(n) < 1024) return powi(at(a).a, inner * n);
  }
  // sqrt(x)^-2 is +inf at both zeros, 1 / x is not.
  if (real_ && at(a).op == Op::Sqrt && n % 2 == 0 && (n > 0 ? fact(at(a).a).nonnegative() : fact(at(a).a).positive()))
    return powi(at(a).a, n / 2);
  if (n == -1) return div(b_.constant(t, 1), a);
  if (n == 2) return mul(a, a);
  return b_.powi(a, n);
}

NodeId Simplifier::abs(NodeId a) {
  if (!ir::is_float(type(a))) return b_.op(Op::Abs, a);
  double v = 0;
  if (constant(a, v)) return number(type(a), std::fabs(v));
  if (at(a).op == Op::Abs) return a;
  if (at(a).op == Op::Neg) return abs(at(a).a);
  const Fact f = fact(a);
  if (!f.may_be_nan && (f.lo > 0 || (real_ && f.lo >= 0))) return a;
  if (!f.may_be_nan && (f.hi < 0 || (real_ && f.hi <= 0))) return neg(a);
  return b_.op(Op::Abs, a);
}

NodeId Simplifier::extremum(Op op, NodeId a, NodeId b) {
  if (a == b) return a;
  const Fact x = fact(a);
  const Fact y = fact(b);
  if (!x.may_be_nan && !y.may_be_nan) {
    // Strictly apart, or equal at most in one value whose zeros may have different signs.
    const bool below = real_ ? x.hi <= y.lo : x.hi < y.lo;
    const bool above = real_ ? x.lo >= y.hi : x.lo > y.hi;
    if (below) return op == Op::Min ? a : b;
    if (above) return op == Op::Min ? b : a;
  }
  return b_.op(op, a, b);
}

NodeId Simplifier::sqrt(NodeId a) {
  const Node n = at(a);
  if (real_ && n.op == Op::Mul && n.a == n.b) return abs(n.a);
  return b_.op(Op::Sqrt, a);
}

NodeId Simplifier::hypot(NodeId a, NodeId b) {
  if (!real_) return b_.op(Op::Hypot, a, b);
  const NodeId squares = add(mul(a, a), mul(b, b));
  return tame(squares) ? sqrt(squares) : b_.op(Op::Hypot, a, b);
}

// x^c for a constant c.
NodeId Simplifier::pow_by_constant(NodeId a, double c) {
  const Type t = type(a);
  if (c == 1) return a;
  if (std::trunc(c) == c && std::fabs(c) <= 32) return powi(a, static_cast<std::int64_t>(c));
  const Fact f = fact(a);
  const bool nonnegative = !f.may_be_nan && f.lo >= 0;
  if (!nonnegative) return {};
  const bool positive = f.lo > 0 && f.finite();
  // At most two roundings, where pow has one.
  if (c == 0.5) return sqrt(a);
  if (c == 0.25) return sqrt(sqrt(a));
  if (c == -0.5 && positive) return div(b_.constant(t, 1), sqrt(a));
  if (c == 1.5) return mul(a, sqrt(a));
  return {};
}

// c^y for a constant c > 0 is exp2(y log2 c). The product y log2 c is rounded, which costs as many ulp as it has units;
// when that is too many its error is computed and put in as a factor: 2^(t + e) = 2^t (1 + e ln 2).
NodeId Simplifier::pow_of_constant(double base, NodeId y) {
  const Type t = type(y);
  const Fact f = fact(y);
  if (!(base > 0) || !std::isfinite(base) || base == 1) return {};
  const long double ln = std::log(static_cast<long double>(base));
  const long double log2 = std::log2(static_cast<long double>(base));
  const double most = std::max(std::fabs(f.lo), std::fabs(f.hi));
  const double unit = t == Type::f32 ? 0x1p-24 : 0x1p-53;  // of one rounding
  // 2.718281828459045 is not e, but near enough (half an ulp of the result or so) where |y| is small; likewise in f32.
  if (roomy_ && most * static_cast<double>(std::fabs(ln - 1)) <= 1.25 * unit) return b_.op(Op::Exp, y);
  const double high = round_to(t, log2);
  if (base == 2) return b_.op(Op::Exp2, y);
  const double units = most * static_cast<double>(std::fabs(log2));  // |y log2 c|
  if (units <= 0.25 && roomy_) return b_.op(Op::Exp2, scale(y, high));
  const NodeId product = b_.op(Op::Mul, y, b_.constant(t, high));
  const double limit = t == Type::f32 ? 120 : 1000;  // the correction must not meet infinities
  if (!(units <= limit) || !std::isfinite(units)) return {};
  const double low = round_to(t, log2 - static_cast<long double>(high));
  const NodeId residue = b_.op(Op::Fma, y, b_.constant(t, high), b_.op(Op::Neg, product));
  const NodeId error = b_.op(Op::Fma, y, b_.constant(t, low), residue);
  const NodeId whole = b_.op(Op::Exp2, product);
  return b_.op(Op::Fma, whole, b_.op(Op::Mul, error, b_.constant(t, std::numbers::ln2)), whole);
}

NodeId Simplifier::pow(NodeId a, NodeId b) {
  const NodeId plain = b_.op(Op::Pow, a, b);
  if (!real_) return plain;
  double v = 0;
  if (constant(b, v)) {
    const NodeId p = pow_by_constant(a, v);
    return p.valid() ? p : plain;
  }
  if (constant(a, v)) {
    const NodeId p = pow_of_constant(v, b);
    return p.valid() ? p : plain;
  }
  return plain;
}

NodeId Simplifier::integral(Op op, NodeId a) {
  return fact(a).integral ? a : b_.op(op, a);
}

NodeId Simplifier::copysign(NodeId a, NodeId b) {
  const Fact sign = fact(b);
  if (!sign.may_be_nan && sign.lo > 0) return abs(a);
  if (!sign.may_be_nan && sign.hi < 0) return neg(abs(a));
  return b_.op(Op::Copysign, a, b);
}

NodeId Simplifier::select(NodeId c, NodeId a, NodeId b) {
  if (fact(c).always()) return a;
  if (fact(c).never()) return b;
  if (a == b) return a;
  if (at(c).op == Op::Not) return select(at(c).a, b, a);
  // A select of selects under the same condition.
  if (at(a).op == Op::Select && at(a).a == c) return select(c, at(a).b, b);
  if (at(b).op == Op::Select && at(b).a == c) return select(c, a, at(b).c);
  return b_.op(Op::Select, c, a, b);
}

// Moves op into a select, op(select(c, k1, k2), b), where that saves work: with a constant b, with a product where the
// constants are 0 and 1, with a sum of two selects under one condition that have a zero on each side.
NodeId Simplifier::through_select(Op op, NodeId a, NodeId b) {
  const auto is_select = [&](NodeId id) { return at(id).op == Op::Select; };
  const auto constants = [&](NodeId id) {
    double v = 0;
    return is_select(id) && constant(at(id).b, v) && constant(at(id).c, v);
  };
  const auto apply = [&](NodeId x, NodeId y) {
    return op == Op::Add ? add(x, y) : op == Op::Sub ? sub(x, y) : mul(x, y);
  };
  double v = 0;
  if (!real_ || depth_ > 4) return {};
  ++depth_;
  NodeId out;
  const Node na = at(a);
  const Node nb = at(b);
  if (constants(a) && constant(b, v)) {
    out = select(na.a, apply(na.b, b), apply(na.c, b));
  } else if (constants(b) && constant(a, v)) {
    out = select(nb.a, apply(a, nb.b), apply(a, nb.c));
  } else if (op == Op::Mul) {
    const auto trivial = [&](NodeId id) { return constant(id, v) && (v == 0 || v == 1 || v == -1); };
    const auto masks = [&](NodeId id) { return is_select(id) && trivial(at(id).b) && trivial(at(id).c); };
    if (masks(a) && fact(b).finite())
      out = select(na.a, mul(na.b, b), mul(na.c, b));
    else if (masks(b) && fact(a).finite())
      out = select(nb.a, mul(a, nb.b), mul(a, nb.c));
  } else if (is_select(a) && is_select(b) && na.a == nb.a) {
    const auto zero = [&](NodeId id) { return constant(id, v) && v == 0; };
    if ((zero(na.b) || zero(nb.b)) && (zero(na.c) || zero(nb.c))) {
      out = select(na.a, apply(na.b, nb.b), apply(na.c, nb.c));
    }
  }
  --depth_;
  return out;
}

NodeId Simplifier::logic(Op op, NodeId a, NodeId b) {
  if (op == Op::Not) return at(a).op == Op::Not ? at(a).a : b_.op(op, a);
  if (a == b && op != Op::Xor) return a;
  if (type(a) != Type::b32) return b_.op(op, a, b);
  const Fact fa = fact(a);
  const Fact fb = fact(b);
  if (op == Op::And && (fa.always() || fb.never())) return b;
  if (op == Op::And && (fb.always() || fa.never())) return a;
  if (op == Op::Or && (fa.never() || fb.always())) return b;
  if (op == Op::Or && (fb.never() || fa.always())) return a;
  return b_.op(op, a, b);
}

}  // namespace trident::expr
