#include "jit/expr/simplifier.h"

#include <cmath>

#include "jit/expr/constants.h"

namespace trident::expr {

Simplifier::Simplifier(Expr& out, const LowerOptions& options, bool keep_roundings)
    : b_(out),
      ranges_(out, options),
      unsigned_zeros_(options.policy.kind != PolicyKind::exact),
      real_(unsigned_zeros_ && !keep_roundings),
      roomy_(real_ && (options.policy.kind == PolicyKind::fast || options.policy.k >= 2)),
      allowed_unsigned_zeros_(unsigned_zeros_),
      allowed_real_(real_),
      allowed_roomy_(roomy_) {}

Shape Simplifier::shape(NodeId id) {
  while (places_.size() <= id.index) {
    const std::optional<Place> place =
        place_of(b_.at(NodeId(static_cast<std::uint32_t>(places_.size()))), places_, b_.expr().variables);
    CHECK(place.has_value());
    places_.push_back(*place);
  }
  return places_[id.index].shape;
}

bool Simplifier::tame(NodeId id) {
  const Fact f = fact(id);
  const double limit = type(id) == Type::f32 ? 0x1p80 : 0x1p700;
  return f.finite() && f.lo >= -limit && f.hi <= limit;
}

bool Simplifier::central(NodeId id) {
  const Fact f = fact(id);
  const double least = type(id) == Type::f32 ? 0x1p-80 : 0x1p-700;
  return tame(id) && (f.lo >= least || f.hi <= -least);
}

bool Simplifier::constant(NodeId id, double& value) const {
  const Node& n = b_.at(id);
  if (n.op != Op::Constant || !ir::is_float(n.type)) return false;
  value = value_of(n.type, n.imm);
  return !std::isnan(value);
}

NodeId Simplifier::number(Type t, long double value) {
  const double v = round_to(t, value);
  return b_.constant(t, unsigned_zeros_ && v == 0 ? 0.0 : v);
}

// Wrapping integer arithmetic: identities without conditions.
NodeId Simplifier::integer(const Node& n) {
  const auto known = [&](NodeId id, std::int64_t& v) {
    if (!id.valid() || at(id).op != Op::Constant) return false;
    v = int_of_bits(n.type, at(id).imm);
    return true;
  };
  std::int64_t a = 0;
  std::int64_t b = 0;
  const bool constant_a = known(n.a, a);
  const bool constant_b = known(n.b, b);
  const auto wrapped = [&](std::uint64_t v) { return b_.constant_int(n.type, static_cast<std::int64_t>(v)); };
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  if (n.op == Op::Neg) return constant_a ? wrapped(0 - ua) : at(n.a).op == Op::Neg ? at(n.a).a : b_.add(n);
  if (n.op == Op::Add) {
    if (constant_a && constant_b) return wrapped(ua + ub);
    if (constant_b && b == 0) return n.a;
    if (constant_a && a == 0) return n.b;
    return ordered(Op::Add, n.a, n.b);
  }
  if (n.op == Op::Sub) {
    if (constant_a && constant_b) return wrapped(ua - ub);
    if (constant_b && b == 0) return n.a;
    return n.a == n.b ? wrapped(0) : b_.add(n);
  }
  CHECK(n.op == Op::Mul);
  if (constant_a && constant_b) return wrapped(ua * ub);
  if ((constant_b && b == 1) || (constant_a && a == 0)) return n.a;
  if ((constant_a && a == 1) || (constant_b && b == 0)) return n.b;
  return ordered(Op::Mul, n.a, n.b);
}

NodeId Simplifier::make(const Node& n, bool keep_zero) {
  unsigned_zeros_ = allowed_unsigned_zeros_ && !keep_zero;
  real_ = allowed_real_ && !keep_zero;
  roomy_ = allowed_roomy_ && !keep_zero;
  const NodeId made = build(n);
  unsigned_zeros_ = allowed_unsigned_zeros_;
  real_ = allowed_real_;
  roomy_ = allowed_roomy_;
  return made;
}

NodeId Simplifier::build(const Node& n) {
  switch (info(n.op).identities) {
    case Identities::unchanged: return b_.add(n);
    case Identities::constant: return b_.constant_bits(n.type, n.imm);
    case Identities::add: return add(n.a, n.b);
    case Identities::sub: return sub(n.a, n.b);
    case Identities::mul: return mul(n.a, n.b);
    case Identities::div: return div(n.a, n.b);
    case Identities::recip: return div(b_.constant(n.type, 1), n.a);
    case Identities::neg: return neg(n.a);
    case Identities::abs: return abs(n.a);
    case Identities::extremum: return extremum(n.op, n.a, n.b);
    case Identities::sqrt: return sqrt(n.a);
    case Identities::hypot: return hypot(n.a, n.b);
    case Identities::pow: return pow(n.a, n.b);
    case Identities::powi: return powi(n.a, static_cast<std::int64_t>(n.imm));
    case Identities::integral: return integral(n.op, n.a);
    case Identities::copysign: return copysign(n.a, n.b);
    case Identities::select: return select(n.a, n.b, n.c);
    case Identities::logic: return logic(n.op, n.a, n.b);
  }
  CHECK(false);
}

}  // namespace trident::expr
