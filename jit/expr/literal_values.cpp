#include "jit/expr/literal_values.h"

#include <algorithm>

namespace trident::expr {
namespace {

using Exact = LiteralValues::Exact;
using Hull = LiteralValues::Hull;

constexpr Exact kMost = Exact{1} << 63;

Exact sign_of(Exact v) {
  return v > 0 ? 1 : v < 0 ? -1 : 0;
}

Exact clamped(Exact v) {
  return std::clamp(v, -kMost - 1, kMost + 1);
}

/// Returns the power, or one of its sign beyond kMost.
Exact power_of(Exact base, std::uint64_t exponent) {
  Exact product = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) product = clamped(product * base);
    base = clamped(base * base);
  }
  return product;
}

Hull powers_of(const Hull& base, std::uint64_t exponent) {
  const auto [least, most] = std::minmax({power_of(base.least, exponent), power_of(base.most, exponent)});
  const bool turns = exponent % 2 == 0 && exponent != 0 && base.least < 0 && base.most > 0;
  return {turns ? 0 : least, most};
}

Hull products_of(const Hull& a, const Hull& b) {
  const auto [least, most] = std::minmax({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
  return {least, most};
}

Hull magnitudes_of(const Hull& a) {
  const auto [least, most] = std::minmax({a.least < 0 ? -a.least : a.least, a.most < 0 ? -a.most : a.most});
  return {a.least < 0 && a.most > 0 ? 0 : least, most};
}

/// Returns the exact values of an operation on values between those of `a` and `b`.
Hull values_of(const Node& node, const Hull& a, const Hull& b) {
  const Op op = node.op;
  if (op == Op::Add) return {a.least + b.least, a.most + b.most};
  if (op == Op::Sub) return {a.least - b.most, a.most - b.least};
  if (op == Op::Mul) return products_of(a, b);
  if (op == Op::Neg) return {-a.most, -a.least};
  if (op == Op::Abs) return magnitudes_of(a);
  if (op == Op::Min) return {std::min(a.least, b.least), std::min(a.most, b.most)};
  if (op == Op::Max) return {std::max(a.least, b.least), std::max(a.most, b.most)};
  if (op == Op::Sign) return {sign_of(a.least), sign_of(a.most)};
  if (op == Op::Powi) return powers_of(a, node.imm);
  if (op == Op::Select) return {std::min(a.least, b.least), std::max(a.most, b.most)};
  return {-kMost - 1, kMost + 1};  // no other operation on literals is open to an integer type
}

bool holds(Type type, Exact v) {
  const Exact end = Exact{1} << (8 * ir::bytes_of(type) - 1);
  return -end <= v && v < end;
}

/// Returns whether an operation reads the value of its operands, not just their low bits.
bool compares(Op op) {
  return op == Op::Abs || op == Op::Min || op == Op::Max || op == Op::Sign;
}

}  // namespace

std::optional<LiteralExcess> LiteralValues::excess_of(NodeId id) {
  excess_.reset();
  const Hull hull = hull_of(id);
  if (!excess_) fits(builder_.type_of(id), hull);
  return excess_;
}

bool LiteralValues::fits(Type type, const Hull& hull) {
  if (holds(type, hull.least) && holds(type, hull.most)) return true;
  excess_ = LiteralExcess{type};
  if (hull.least == hull.most && holds(Type::i64, hull.most)) excess_->value = static_cast<std::int64_t>(hull.most);
  return false;
}

Hull LiteralValues::hull_of(NodeId id) {
  const Node node = builder_.at(id);
  if (node.op == Op::Constant) {
    const std::int64_t value = int_of_bits(node.type, node.imm);
    return {value, value};
  }
  if (const auto found = hulls_.find(id.index); found != hulls_.end()) return found->second;
  const bool selects = node.op == Op::Select;
  const NodeId first = selects ? node.b : node.a, second = selects ? node.c : node.b;
  const Hull a = hull_of(first), b = second.valid() ? hull_of(second) : Hull{};
  if (excess_ || (compares(node.op) && !(fits(node.type, a) && fits(node.type, b)))) return {};
  const Hull hull = values_of(node, a, b);
  if (hull.least < -kMost || hull.most > kMost) {
    excess_ = LiteralExcess{node.type};
    return {};
  }
  return hulls_[id.index] = hull;
}

}  // namespace trident::expr
