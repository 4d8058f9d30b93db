// Sums, products, quotients and signs.
#include <cmath>

#include "jit/expr/constants.h"
#include "jit/expr/simplifier.h"

namespace trident::expr {
NodeId Simplifier::ordered(Op op, NodeId a, NodeId b) {
  double v = 0;
  if (constant(a, v) || (b < a && !constant(b, v))) std::swap(a, b);
  return b_.op(op, a, b);
}

Simplifier::Scaled Simplifier::scaled(NodeId id) const {
  Scaled out{id, 1};
  if (at(out.core).op == Op::Neg) out = {at(out.core).a, -1};
  double c = 0;
  if (at(out.core).op == Op::Mul && constant(at(out.core).b, c)) out = {at(out.core).a, out.factor * c};
  return out;
}

// Factors that stay far from overflow and underflow when a few of them meet.
bool Simplifier::usable_factor(Type t, double factor) const {
  const double size = std::fabs(factor);
  return t == Type::f32 ? size >= 0x1p-40 && size <= 0x1p40 : size >= 0x1p-300 && size <= 0x1p300;
}

NodeId Simplifier::scale(NodeId a, double c) {
  const Type t = type(a);
  double v = 0;
  if (constant(a, v) && real_) return number(t, static_cast<long double>(v) * c);
  if (c == 1) return a;
  if (c == -1) return neg(a);
  if (c == 0 && unsigned_zeros_ && fact(a).finite()) return number(t, 0);
  const Node n = at(a);
  if (n.op == Op::Neg) return scale(n.a, -c);
  const auto exact = [&](double x, double y) {
    return unsigned_zeros_ && (is_power_of_two(x) || is_power_of_two(y)) && tame(a);
  };
  if (n.op == Op::Mul && constant(n.b, v) && (real_ || exact(v, c))) {
    const double both = round_to(t, static_cast<long double>(v) * c);
    if (usable_factor(t, both)) return scale(n.a, both);
  }
  if (roomy_ && n.op == Op::Div && constant(n.a, v)) {
    const double both = round_to(t, static_cast<long double>(v) * c);
    if (usable_factor(t, both)) return b_.op(Op::Div, number(t, both), n.b);
  }
  if (const NodeId s = through_select(Op::Mul, a, b_.constant(t, c)); s.valid()) return s;
  return b_.op(Op::Mul, a, b_.constant(t, c));
}

NodeId Simplifier::neg(NodeId a) {
  if (!ir::is_float(type(a))) return integer({Op::Neg, type(a), a, {}, {}, 0});
  const Node n = at(a);
  double v = 0;
  if (constant(a, v)) return number(type(a), -v);
  if (n.op == Op::Neg) return n.a;
  if (n.op == Op::Mul && constant(n.b, v)) return scale(n.a, -v);
  if (n.op == Op::Div && constant(n.a, v)) return b_.op(Op::Div, number(type(a), -v), n.b);
  if (n.op == Op::Sub && unsigned_zeros_) return sub(n.b, n.a);
  if (n.op == Op::Select && constant(n.b, v) && constant(n.c, v)) return select(n.a, neg(n.b), neg(n.c));
  return b_.op(Op::Neg, a);
}

// c * x + c * y = c * (x + y), and with opposite signs; nothing when the factors differ.
NodeId Simplifier::sum_of_scaled(NodeId a, NodeId b, bool subtract) {
  const Scaled x = scaled(a);
  const Scaled y = scaled(b);
  if (!real_ || std::fabs(x.factor) != std::fabs(y.factor) || std::fabs(x.factor) == 1) return {};
  if (!usable_factor(type(a), x.factor)) return {};
  const bool minus = subtract != (x.factor != y.factor);
  const NodeId core = minus ? sub(x.core, y.core) : add(x.core, y.core);
  return tame(core) ? scale(core, x.factor) : NodeId();
}

NodeId Simplifier::add(NodeId a, NodeId b) {
  const Type t = type(a);
  if (!ir::is_float(t)) return integer({Op::Add, t, a, b, {}, 0});
  double va = 0;
  double vb = 0;
  if (constant(a, va)) std::swap(a, b);
  if (constant(b, vb)) {
    if (constant(a, va) && real_) return number(t, static_cast<long double>(va) + vb);
    const bool nothing = vb == 0 && (unsigned_zeros_ || std::signbit(vb) || fact(a).nonzero());
    if (nothing) return a;
    const Node n = at(a);
    // (x + c) + d rounds once when c + d is exact; an inexact one could show where x cancels it.
    if (real_ && n.op == Op::Add && constant(n.b, va)) {
      const double both = round_to(t, static_cast<long double>(va) + vb);
      if (static_cast<long double>(both) == static_cast<long double>(va) + vb && std::isfinite(both)) {
        return add(n.a, b_.constant(t, both));
      }
    }
    if (const NodeId s = through_select(Op::Add, a, b); s.valid()) return s;
    return b_.op(Op::Add, a, b);
  }
  if (at(b).op == Op::Neg) return sub(a, at(b).a);
  if (at(a).op == Op::Neg) return sub(b, at(a).a);
  if (a == b && unsigned_zeros_) return scale(a, 2);
  if (const NodeId s = sum_of_scaled(a, b, false); s.valid()) return s;
  if (const NodeId s = through_select(Op::Add, a, b); s.valid()) return s;
  return ordered(Op::Add, a, b);
}

NodeId Simplifier::sub(NodeId a, NodeId b) {
  const Type t = type(a);
  if (!ir::is_float(t)) return integer({Op::Sub, t, a, b, {}, 0});
  double v = 0;
  if (constant(b, v)) return v == 0 && !std::signbit(v) ? a : add(a, b_.constant(t, -v));
  if (a == b && fact(a).finite()) return b_.constant(t, 0);
  if (at(b).op == Op::Neg) return add(a, at(b).a);
  if (constant(a, v) && v == 0 && (unsigned_zeros_ || fact(b).nonzero())) return neg(b);
  if (at(a).op == Op::Neg && unsigned_zeros_) return neg(add(at(a).a, b));
  if (at(b).op == Op::Mul && constant(at(b).b, v) && v < 0) return add(a, scale(at(b).a, -v));
  if (const NodeId s = sum_of_scaled(a, b, true); s.valid()) return s;
  if (const NodeId s = through_select(Op::Sub, a, b); s.valid()) return s;
  return b_.op(Op::Sub, a, b);
}

// Products of powers of one base, when one of them is written as a power.
NodeId Simplifier::mul_powers(NodeId a, NodeId b) {
  const auto base = [&](NodeId id) { return at(id).op == Op::Powi ? at(id).a : id; };
  const auto exponent = [&](NodeId id) { return at(id).op == Op::Powi ? static_cast<std::int64_t>(at(id).imm) : 1; };
  if (!real_ || base(a) != base(b) || (at(a).op != Op::Powi && at(b).op != Op::Powi)) return {};
  const std::int64_t n = exponent(a) + exponent(b);
  const bool same_sign = (exponent(a) > 0) == (exponent(b) > 0);
  // Powers that meet their inverses: 0, infinity and NaN have none.
  if (!same_sign && !(fact(base(a)).nonzero() && fact(base(a)).finite())) return {};
  return powi(base(a), n);
}

// (c x) (d y) = (c d) (x y). Powers of two take no part in any rounding.
NodeId Simplifier::scaled_product(NodeId a, NodeId b) {
  if (!unsigned_zeros_) return {};
  const Type t = type(a);
  const auto factor_of = [&](NodeId id) {
    const Scaled s = scaled(id);
    return real_ || is_power_of_two(s.factor) ? s : Scaled{id, 1};
  };
  const Scaled x = factor_of(a);
  const Scaled y = factor_of(b);
  const double factor = round_to(t, static_cast<long double>(x.factor) * y.factor);
  if (x.factor == 1 && y.factor == 1) return {};
  if (!usable_factor(t, factor) || !usable_factor(t, x.factor) || !usable_factor(t, y.factor)) return {};
  const NodeId core = mul(x.core, y.core);
  return tame(core) ? scale(core, factor) : NodeId();
}

NodeId Simplifier::mul(NodeId a, NodeId b) {
  const Type t = type(a);
  if (!ir::is_float(t)) return integer({Op::Mul, t, a, b, {}, 0});
  double v = 0;
  if (constant(a, v)) std::swap(a, b);
  if (constant(b, v)) return scale(a, v);
  if (at(a).op == Op::Neg && at(b).op == Op::Neg) return mul(at(a).a, at(b).a);
  if (at(a).op == Op::Neg) return neg(mul(at(a).a, b));
  if (at(b).op == Op::Neg) return neg(mul(a, at(b).a));
  if (a == b && at(a).op == Op::Sqrt && real_ && fact(at(a).a).nonnegative()) return at(a).a;
  if (a == b && at(a).op == Op::Abs) return mul(at(a).a, at(a).a);
  if (const NodeId p = scaled_product(a, b); p.valid()) return p;
  if (const NodeId p = mul_powers(a, b); p.valid()) return p;
  // (x * u) * w with parameters u and w: u * w is computed once per call.
  if (shape(a) == Shape::uniform) std::swap(a, b);
  if (real_ && shape(b) == Shape::uniform && shape(a) != Shape::uniform && at(a).op == Op::Mul &&
      shape(at(a).b) == Shape::uniform) {
    const NodeId factors = mul(at(a).b, b);
    if (tame(factors) && tame(a)) return mul(at(a).a, factors);
  }
  if (const NodeId s = through_select(Op::Mul, a, b); s.valid()) return s;
  return shape(b) == Shape::uniform ? b_.op(Op::Mul, a, b) : ordered(Op::Mul, a, b);
}

NodeId Simplifier::divide_by_constant(NodeId a, double c) {
  const Type t = type(a);
  if (c == 1) return a;
  if (c == -1) return neg(a);
  const double inverse = round_to(t, 1.0L / c);
  const double least = t == Type::f32 ? 0x1p-126 : 0x1p-1022;
  const bool normal =
      std::isfinite(inverse) && std::fabs(inverse) >= least && std::fabs(c) >= least && std::isfinite(c);
  if (normal && (is_power_of_two(c) || roomy_)) return scale(a, inverse);
  return b_.op(Op::Div, a, b_.constant(t, c));
}

NodeId Simplifier::div(NodeId a, NodeId b) {
  const Type t = type(a);
  double va = 0;
  double vb = 0;
  const bool constant_a = constant(a, va);
  if (constant(b, vb)) {
    if (constant_a && real_ && vb != 0) return number(t, static_cast<long double>(va) / vb);
    return divide_by_constant(a, vb);
  }
  const Fact fb = fact(b);
  const bool safe = fb.nonzero() && fb.finite();
  if (a == b && safe && unsigned_zeros_) return number(t, 1);
  if (constant_a && va == 0 && unsigned_zeros_ && fb.nonzero() && !fb.may_be_nan) return number(t, 0);
  if (const NodeId q = div_signs_and_factors(a, b); q.valid()) return q;
  if (real_) {
    if (const NodeId q = div_quotients(a, b); q.valid()) return q;
  }
  // Dividing by a parameter: its reciprocal is computed once per call.
  if (roomy_ && shape(b) == Shape::uniform && shape(a) == Shape::element && central(b)) {
    return mul(a, b_.op(Op::Div, b_.constant(t, 1), b));
  }
  return b_.op(Op::Div, a, b);
}

// Signs and constant factors go outside: (c x) / (d y) = (c / d) (x / y).
NodeId Simplifier::div_signs_and_factors(NodeId a, NodeId b) {
  const Type t = type(a);
  double va = 0;
  if (at(b).op == Op::Neg) return neg(div(a, at(b).a));
  if (at(a).op == Op::Neg) return neg(div(at(a).a, b));
  // Powers of two take no part in any rounding; other factors cost one.
  const auto factor_of = [&](NodeId id) {
    const Scaled s = scaled(id);
    return roomy_ || (unsigned_zeros_ && is_power_of_two(s.factor)) ? s : Scaled{id, 1};
  };
  const Scaled y = factor_of(b);
  if (constant(a, va)) {
    const double factor = round_to(t, static_cast<long double>(va) / y.factor);
    if (y.factor == 1 || !usable_factor(t, y.factor) || !usable_factor(t, factor) || !central(y.core)) return {};
    return div(b_.constant(t, factor), y.core);
  }
  const Scaled x = factor_of(a);
  if (x.factor == 1 && y.factor == 1) return {};
  const double factor = round_to(t, static_cast<long double>(x.factor) / y.factor);
  if (!usable_factor(t, x.factor) || !usable_factor(t, y.factor) || !usable_factor(t, factor)) return {};
  if (!fact(y.core).nonzero()) return {};
  const NodeId core = div(x.core, y.core);
  return tame(core) ? scale(core, factor) : NodeId();
}

NodeId Simplifier::div_quotients(NodeId a, NodeId b) {
  const Node na = at(a);
  const Node nb = at(b);
  double v = 0;
  if (nb.op == Op::Div && fact(nb.b).nonzero()) {  // x / (y / z) = (x z) / y
    const NodeId above = mul(a, nb.b);
    if (tame(above)) return div(above, nb.a);
  }
  if (na.op == Op::Div && !constant(na.b, v)) {  // (x / y) / z = x / (y z)
    const NodeId below = mul(na.b, b);
    if (central(below)) return div(na.a, below);
  }
  if (nb.op == Op::Sqrt && nb.a == a && fact(a).positive() && fact(a).finite()) return b;  // x / sqrt(x)
  return {};
}

}  // namespace trident::expr
