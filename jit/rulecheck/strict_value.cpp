#include "jit/rulecheck/strict_value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "jit/equiv/rounded.h"
#include "jit/equiv/tracked.h"
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

// Casts to an integer: values out of range and NaN become the least; i32 keeps the low bits of an i64.
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
  // For two zeros the interpreter gives the second (jit/kir/ops.def), where C leaves it open.
  if ((op == Op::Min || op == Op::Max) && a == 0 && b == 0) return b;
  return equiv::apply_rounded(op, type, static_cast<std::int64_t>(t.has_payload ? t.number : 0), a, b, c);
}

// Returns whether an op is odd or even, and so are its kernels.
bool is_symmetric(Op op) {
  return expr::info(op).parity != expr::Parity::neither;
}

// Returns, for about every second operand at random, the value next to `right` towards zero, which keeps the function
// within its range.
double faithfully(const egraph::PatternTerm& t, double a, double b, double right, expr::Type type) {
  const Op op = static_cast<Op>(t.op);
  const bool by_definition = op == Op::Pow && (b == 1 || b == 0);
  if (!is_function(t) || by_definition || !std::isfinite(right) || right == std::rint(right)) return right;
  const auto bits = [&](double x) { return std::bit_cast<std::uint64_t>(is_symmetric(op) ? std::fabs(x) : x); };
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15u;
  std::uint64_t hash = static_cast<std::uint64_t>(t.op) + (type == expr::Type::f32 ? 1000u : 0u);
  for (const std::uint64_t part : {bits(a), expr::info(op).arity > 1 ? bits(b) : 0, bits(t.number)}) {
    hash = (hash ^ part) * kMix;
    hash ^= hash >> 32;
  }
  if ((hash & 1u) == 0) return right;
  return type == expr::Type::f32 ? static_cast<double>(std::nextafter(static_cast<float>(right), 0.0F))
                                 : std::nextafter(right, 0.0);
}

}  // namespace

egraph::Pattern term_alone(const egraph::Pattern& side, std::uint8_t term) {
  std::vector<bool> needed(term + 1u);
  needed[term] = true;
  const auto arity = [](const egraph::PatternTerm& t) -> std::size_t {
    return t.kind == egraph::PatternTerm::Kind::node ? expr::info(static_cast<Op>(t.op)).arity : 0;
  };
  for (std::size_t i = term + 1u; i-- > 0;)
    for (std::size_t k = 0; needed[i] && k < arity(side.terms[i]); ++k) needed[side.terms[i].child[k]] = true;
  egraph::Pattern alone;
  std::vector<std::uint8_t> place(term + 1u);
  for (std::size_t i = 0; i <= term; ++i) {
    if (!needed[i]) continue;
    egraph::PatternTerm copy = side.terms[i];
    for (std::size_t k = 0; k < arity(copy); ++k) copy.child[k] = place[copy.child[k]];
    place[i] = static_cast<std::uint8_t>(alone.terms.size());
    alone.terms.push_back(copy);
  }
  return alone;
}

bool is_function(const egraph::PatternTerm& t) {
  if (t.kind != egraph::PatternTerm::Kind::node) return false;
  const Op op = static_cast<Op>(t.op);
  if (op == Op::Powi) return std::fabs(t.number) > 2;  // powers are products
  return expr::info(op).types == expr::Types::F && equiv::units_of(op) > 1;
}

double strict_value(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type,
                    const Sorts& sorts) {
  return strict_values(side, values, type, sorts).back();
}

std::vector<double> strict_values(const egraph::Pattern& side, const std::vector<double>& values, expr::Type type,
                                  const Sorts& sorts, bool faithful) {
  std::vector<expr::Type> types(side.terms.size(), type);
  if (!sorts.types.empty()) {
    auto said = types_of(side, sorts);
    CHECK(said.ok());  // sorts_of() has checked it
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
      if (faithful) made.back() = faithfully(t, operand(0), operand(1), made.back(), to);
    }
  }
  return made;
}

}  // namespace trident::rulecheck
