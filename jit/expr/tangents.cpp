#include "jit/expr/tangents.h"

#include <cstdint>
#include <numbers>

namespace trident::expr {
namespace {

Partial one() {
  return {Partial::Kind::one, false, {}};
}
Partial minus_one() {
  return {Partial::Kind::one, true, {}};
}
Partial times(NodeId f) {
  return {Partial::Kind::times, false, f};
}
Partial minus_times(NodeId f) {
  return {Partial::Kind::times, true, f};
}
Partial over(NodeId f) {
  return {Partial::Kind::over, false, f};
}
Partial minus_over(NodeId f) {
  return {Partial::Kind::over, true, f};
}

}  // namespace

Partials Tangents::partials_of(NodeId y, Node n) {
  const Type t = n.type;
  const NodeId a = n.a;
  const NodeId b = n.b;
  const auto c = [&](double v) { return constant(t, v); };
  const auto op = [&](Op o, NodeId p, NodeId q = {}) { return b_.op(o, p, q); };
  const auto square = [&](NodeId p) { return op(Op::Mul, p, p); };
  // (1 - a)(1 + a) keeps the digits that 1 - a^2 loses near 1.
  const auto one_minus_square = [&] { return op(Op::Mul, op(Op::Sub, c(1), a), op(Op::Add, c(1), a)); };
  switch (real_op(n.op)) {
    case RealOp::Add: return {one(), one(), {}};
    case RealOp::Sub: return {one(), minus_one(), {}};
    case RealOp::Mul: return {times(b), times(a), {}};
    case RealOp::Div: return {over(b), {}, {}};  // of a divisor that depends: quotient() and quotient_shares()
    case RealOp::Neg: return {minus_one(), {}, {}};
    case RealOp::Abs: return {times(op(Op::Sign, a)), {}, {}};
    case RealOp::Fma: return {times(b), times(a), one()};
    case RealOp::Recip: return {minus_times(square(y)), {}, {}};
    case RealOp::Sqrt: return {over(op(Op::Mul, c(2), y)), {}, {}};
    case RealOp::Rsqrt: return {times(op(Op::Mul, c(-0.5), op(Op::Mul, y, square(y)))), {}, {}};
    case RealOp::Cbrt: return {over(op(Op::Mul, c(3), square(y))), {}, {}};
    case RealOp::Hypot: return {times(op(Op::Div, a, y)), times(op(Op::Div, b, y)), {}};
    case RealOp::Exp: return {times(y), {}, {}};
    case RealOp::Exp2: return {times(op(Op::Mul, c(std::numbers::ln2), y)), {}, {}};
    case RealOp::Expm1: return {times(op(Op::Exp, a)), {}, {}};
    case RealOp::Log: return {over(a), {}, {}};
    case RealOp::Log2: return {over(op(Op::Mul, c(std::numbers::ln2), a)), {}, {}};
    case RealOp::Log10: return {over(op(Op::Mul, c(std::numbers::ln10), a)), {}, {}};
    case RealOp::Log1p: return {over(op(Op::Add, c(1), a)), {}, {}};
    case RealOp::Pow: return power(y, n);
    case RealOp::Powi: return integer_power(n);
    case RealOp::Sin: return {times(op(Op::Cos, a)), {}, {}};
    case RealOp::Cos: return {minus_times(op(Op::Sin, a)), {}, {}};
    case RealOp::Tan: return {times(op(Op::Add, c(1), square(y))), {}, {}};
    case RealOp::Asin: return {over(op(Op::Sqrt, one_minus_square())), {}, {}};
    case RealOp::Acos: return {minus_over(op(Op::Sqrt, one_minus_square())), {}, {}};
    case RealOp::Atan: return {over(op(Op::Add, c(1), square(a))), {}, {}};
    case RealOp::Atan2: {
      // b / (a^2 + b^2), whose squares would leave the type's range long before the quotient does.
      const NodeId radius = op(Op::Hypot, a, b);
      return {times(op(Op::Div, op(Op::Div, b, radius), radius)),
              minus_times(op(Op::Div, op(Op::Div, a, radius), radius)),
              {}};
    }
    case RealOp::Sinh: return {times(op(Op::Cosh, a)), {}, {}};
    case RealOp::Cosh: return {times(op(Op::Sinh, a)), {}, {}};
    case RealOp::Tanh: return {times(op(Op::Sub, c(1), square(y))), {}, {}};
    case RealOp::Asinh: return {over(op(Op::Hypot, a, c(1))), {}, {}};
    case RealOp::Acosh: {
      const NodeId below = op(Op::Sqrt, op(Op::Sub, a, c(1)));
      return {over(op(Op::Mul, below, op(Op::Sqrt, op(Op::Add, a, c(1))))), {}, {}};
    }
    case RealOp::Atanh: return {over(one_minus_square()), {}, {}};
    case RealOp::Erf:
      return {times(op(Op::Mul, c(2 * std::numbers::inv_sqrtpi), op(Op::Exp, op(Op::Neg, square(a))))), {}, {}};
    case RealOp::Erfc:
      return {times(op(Op::Mul, c(-2 * std::numbers::inv_sqrtpi), op(Op::Exp, op(Op::Neg, square(a))))), {}, {}};
    // The quotient's integer part from the exact remainder: a / b may be rounded up to the next integer.
    case RealOp::Fmod: return {one(), minus_times(op(Op::Rint, op(Op::Div, op(Op::Sub, a, y), b))), {}};
    case RealOp::Copysign: return {times(op(Op::Mul, op(Op::Sign, a), op(Op::Copysign, c(1), b))), {}, {}};
    case RealOp::Floor:
    case RealOp::Ceil:
    case RealOp::Round:
    case RealOp::Rint:
    case RealOp::Trunc:
    case RealOp::Sign: return {};
    case RealOp::Min:
    case RealOp::Max: break;  // dealt with by push() and pull()
  }
  CHECK(false);
}

Partials Tangents::power(NodeId y, Node n) {
  const Node exponent = b_.at(n.b);
  const bool constant_exponent = exponent.op == Op::Constant;
  const double e = constant_exponent ? value_of(n.type, exponent.imm) : 0;
  const NodeId less = constant_exponent ? constant(n.type, e - 1) : b_.op(Op::Sub, n.b, constant(n.type, 1));
  const Partial base = times(b_.op(Op::Mul, n.b, b_.op(Op::Pow, n.a, less)));
  if (constant_exponent) return {base, {}, {}};
  return {base, times(b_.op(Op::Mul, y, b_.op(Op::Log, n.a))), {}};
}

Partials Tangents::integer_power(Node n) {
  const auto e = static_cast<std::int64_t>(n.imm);
  if (e == 0) return {};
  if (e == 1) return {one(), {}, {}};
  const NodeId rest = e == 2 ? n.a : b_.powi(n.a, e - 1);
  return {times(b_.op(Op::Mul, constant(n.type, static_cast<double>(e)), rest)), {}, {}};
}

}  // namespace trident::expr
