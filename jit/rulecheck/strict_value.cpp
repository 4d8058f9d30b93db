#include "jit/rulecheck/strict_value.h"

#include <cmath>
#include <cstdint>

#include "jit/equiv/rounded.h"
#include "runtime/base/check.h"

namespace trident::rulecheck {
namespace {

using expr::Op;

bool compared(Op op, double a, double b) {
  if (op == Op::Lt) return a < b;
  if (op == Op::Le) return a <= b;
  if (op == Op::Gt) return a > b;
  if (op == Op::Ge) return a >= b;
  return op == Op::Eq ? a == b : a != b;
}

// Of an integer out of its range and of NaN the least is made; i32 keeps the low bits of an i64.
double integer(double x, expr::Type to, expr::Type from) {
  const double limit = to == expr::Type::i32 ? 0x1p31 : 0x1p63;
  const double whole = std::trunc(x);
  if (to == expr::Type::i32 && from == expr::Type::i64)
    return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(whole))));
  return whole >= -limit && whole < limit ? whole + 0.0 : -limit;
}

double applied(const egraph::PatternTerm& t, double a, double b, double c, expr::Type type) {
  const Op op = static_cast<Op>(t.op);
  if (expr::info(op).signature == expr::Signature::Compare) return compared(op, a, b) ? 1 : 0;
  if (op == Op::Select) return a != 0 ? b : c;
  if (op == Op::And) return a != 0 && b != 0 ? 1 : 0;
  if (op == Op::Or) return a != 0 || b != 0 ? 1 : 0;
  if (op == Op::Xor) return a != b ? 1 : 0;
  if (op == Op::Not) return a != 0 ? 0 : 1;
  // Of two zeros the interpreter gives the second (jit/kir/ops.def), where C leaves it open.
  if ((op == Op::Min || op == Op::Max) && a == 0 && b == 0) return b;
  return equiv::apply_rounded(op, type, static_cast<std::int64_t>(t.has_payload ? t.number : 0), a, b, c);
}

}  // namespace

double strict_value(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type,
                    const Sorts& sorts) {
  return strict_values(side, values, type, sorts).back();
}

std::vector<double> strict_values(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type,
                                  const Sorts& sorts) {
  std::vector<expr::Type> types(side.terms.size(), type);
  if (!sorts.types.empty()) {
    auto said = types_of(side, sorts);
    CHECK(said.ok());  // sorts_of() has asked
    types = std::move(said).value();
  }
  std::vector<double> made;
  made.reserve(side.terms.size());
  for (const egraph::PatternTerm& t : side.terms) {
    if (t.kind == egraph::PatternTerm::Kind::variable) {
      made.push_back(values[t.variable]);
    } else if (t.kind == egraph::PatternTerm::Kind::number) {
      made.push_back(type == expr::Type::f32 ? static_cast<double>(static_cast<float>(t.number)) : t.number);
    } else {
      const std::size_t arity = expr::info(static_cast<Op>(t.op)).arity;
      const auto operand = [&](std::size_t i) { return i < arity ? made[t.child[i]] : 0; };
      const expr::Type to = types[made.size()];
      if (static_cast<Op>(t.op) == Op::Cast)
        made.push_back(to == expr::Type::f32   ? static_cast<double>(static_cast<float>(operand(0)))
                       : to == expr::Type::f64 ? operand(0)
                                               : integer(operand(0), to, types[t.child[0]]));
      else
        made.push_back(applied(t, operand(0), operand(1), operand(2), to));
    }
  }
  return made;
}

}  // namespace trident::rulecheck
