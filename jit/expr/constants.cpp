#include "jit/expr/constants.h"

#include <cmath>
#include <numbers>

#include "jit/expr/builder.h"

namespace trident::expr {
namespace {

// Evaluates the op in long double; returns nothing for ops without a plain real value.
std::optional<long double> evaluate(const Node& n, long double a, long double b, long double c) {
  switch (n.op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return a / b;
    case Op::Neg: return -a;
    case Op::Abs: return std::fabs(a);
    case Op::Min: return std::fmin(a, b);
    case Op::Max: return std::fmax(a, b);
    case Op::Fma: return std::fma(a, b, c);
    case Op::Recip: return 1 / a;
    case Op::Sqrt: return std::sqrt(a);
    case Op::Rsqrt: return 1 / std::sqrt(a);
    case Op::Cbrt: return std::cbrt(a);
    case Op::Hypot: return std::hypot(a, b);
    case Op::Exp: return std::exp(a);
    case Op::Exp2: return std::exp2(a);
    case Op::Expm1: return std::expm1(a);
    case Op::Log: return std::log(a);
    case Op::Log2: return std::log2(a);
    case Op::Log10: return std::log10(a);
    case Op::Log1p: return std::log1p(a);
    case Op::Pow: return std::pow(a, b);
    case Op::Powi: return std::pow(a, static_cast<long double>(static_cast<std::int64_t>(n.imm)));
    case Op::Sin: return std::sin(a);
    case Op::Cos: return std::cos(a);
    case Op::Tan: return std::tan(a);
    case Op::Asin: return std::asin(a);
    case Op::Acos: return std::acos(a);
    case Op::Atan: return std::atan(a);
    case Op::Atan2: return std::atan2(a, b);
    case Op::Sinh: return std::sinh(a);
    case Op::Cosh: return std::cosh(a);
    case Op::Tanh: return std::tanh(a);
    case Op::Asinh: return std::asinh(a);
    case Op::Acosh: return std::acosh(a);
    case Op::Atanh: return std::atanh(a);
    case Op::Erf: return std::erf(a);
    case Op::Erfc: return std::erfc(a);
    case Op::Floor: return std::floor(a);
    case Op::Ceil: return std::ceil(a);
    case Op::Round: return std::round(a);
    case Op::Rint: return std::nearbyint(a);
    case Op::Trunc: return std::trunc(a);
    case Op::Fmod: return std::fmod(a, b);
    case Op::Copysign: return std::copysign(a, b);
    case Op::Sign: return a > 0 ? 1.0L : a < 0 ? -1.0L : a;
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
    case Op::Cast:
    case Op::Sum:
    case Op::MinOf:
    case Op::MaxOf:
    case Op::Mean:
    case Op::Dot:
    case Op::Index:
    case Op::Gather:
    case Op::Strided:
    case Op::Diff: return std::nullopt;
  }
  CHECK(false);
}

// Steps of these functions amplify an error in their argument without bound: 10^17 rounded to the type and rounded once
// more from a long double are different points of sine and of floor. Their arguments count as rounded.
bool rounds_argument(Op op) {
  return op == Op::Floor || op == Op::Ceil || op == Op::Round || op == Op::Rint || op == Op::Trunc || op == Op::Fmod ||
         op == Op::Sign || op == Op::Copysign;
}

}  // namespace

double round_to(Type type, long double value) {
  return type == Type::f32 ? static_cast<double>(static_cast<float>(value)) : static_cast<double>(value);
}

std::vector<std::optional<long double>> literal_values(const Expr& expr) {
  std::vector<std::optional<long double>> values(expr.nodes.size());
  for (std::size_t i = 0; i < expr.nodes.size(); ++i) {
    const Node& n = expr.nodes[i];
    if (!ir::is_float(n.type)) continue;
    std::optional<long double>& value = values[i];
    if (n.op == Op::Constant) {
      value = static_cast<long double>(value_of(n.type, n.imm));
    } else {
      bool known = n.a.valid();
      long double operand[3] = {};
      int count = 0;
      for (const NodeId id : {n.a, n.b, n.c}) {
        if (!id.valid()) continue;
        known = known && values[id.index].has_value();
        if (known) operand[count] = *values[id.index];
        if (known && rounds_argument(n.op)) operand[count] = round_to(n.type, operand[count]);
        ++count;
      }
      if (known) value = evaluate(n, operand[0], operand[1], operand[2]);
    }
    // Infinities and NaN follow the rules of the type, as do values that round to zero or infinity in it.
    const bool fits = value && std::isfinite(*value) && std::isfinite(round_to(n.type, *value)) &&
                      (*value == 0 || round_to(n.type, *value) != 0);
    if (!fits) value.reset();
  }
  return values;
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return x != 0 && std::isfinite(x) && std::fabs(std::frexp(x, &exponent)) == 0.5;
}

}  // namespace trident::expr
