#include "jit/expr/constants.h"

#include <cmath>
#include <numbers>

#include "jit/expr/builder.h"
#include "jit/expr/op_values.h"

namespace trident::expr {
namespace {

// The op over long double; nothing for what has no plain real value.
std::optional<long double> value_of_node(const Node& n, long double a, long double b, long double c) {
  if (!info(n.op).is_real) return std::nullopt;
  return evaluate(real_op(n.op), static_cast<std::int64_t>(n.imm), a, b, c);
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
        // A step amplifies an error of its argument without bound: 10^17 rounded to the type, and rounded once more
        // from a long double, are different points of floor. Its arguments count as rounded.
        if (known && is_step(n.op)) operand[count] = round_to(n.type, operand[count]);
        ++count;
      }
      if (known) value = value_of_node(n, operand[0], operand[1], operand[2]);
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
