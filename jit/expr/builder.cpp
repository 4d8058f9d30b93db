#include "jit/expr/builder.h"

#include <bit>
#include <cmath>
#include <limits>

namespace trident::expr {
namespace {

inline std::uint64_t hash_of(const Node& n) {
  std::uint64_t h = static_cast<std::uint64_t>(n.op) | static_cast<std::uint64_t>(n.type) << 8 |
                    static_cast<std::uint64_t>(n.a.index) << 16;
  h *= 0x9E37'79B9'7F4A'7C15u;
  h ^= static_cast<std::uint64_t>(n.b.index) | static_cast<std::uint64_t>(n.c.index) << 32;
  h = std::rotl(h, 29) * 0xBF58'476D'1CE4'E5B9u;
  // Doubles of few digits differ in high bits only, and a product's low bits come from low ones.
  h = (h ^ n.imm ^ (n.imm >> 32) ^ (h >> 31)) * 0x94D0'49BB'1331'11EBu;
  return h ^ (h >> 29);
}

bool same(const Node& x, const Node& y) {
  return x.op == y.op && x.type == y.type && x.a == y.a && x.b == y.b && x.c == y.c && x.imm == y.imm;
}

constexpr std::size_t kFirstSlots = 256;

}  // namespace

std::uint64_t bits_of(Type type, double value) {
  switch (type) {
    case Type::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Type::f64: return std::bit_cast<std::uint64_t>(value);
    case Type::i32:
    case Type::i64: return bits_of_int(type, static_cast<std::int64_t>(value));
    case Type::b32:
    case Type::b64: break;
  }
  CHECK(false);
}

double value_of(Type type, std::uint64_t bits) {
  switch (type) {
    case Type::f32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Type::f64: return std::bit_cast<double>(bits);
    case Type::i32:
    case Type::i64: return static_cast<double>(int_of_bits(type, bits));
    case Type::b32:
    case Type::b64: break;
  }
  CHECK(false);
}

std::uint64_t bits_of_int(Type type, std::int64_t value) {
  return type == Type::i32 ? static_cast<std::uint32_t>(value) : static_cast<std::uint64_t>(value);
}

std::int64_t int_of_bits(Type type, std::uint64_t bits) {
  return type == Type::i32 ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits);
}

Builder::Builder(Expr& expr) : expr_(expr) {
  std::size_t slots = kFirstSlots;
  while (slots < 4 * expr.nodes.size()) slots *= 2;
  rehash(slots);
}

NodeId Builder::variable(std::uint32_t index) {
  return add({Op::Variable, expr_.variables[index].type, {}, {}, {}, index});
}

NodeId Builder::op(Op op, NodeId a, NodeId b, NodeId c) {
  const Signature signature = info(op).signature;
  Type type = type_of(a);
  if (signature == Signature::Compare) type = Type::b32;
  if (signature == Signature::Select) type = type_of(b);
  if (signature == Signature::Locate) type = Type::i64;
  return add({op, type, a, b, c, 0});
}

NodeId Builder::powi(NodeId a, std::int64_t exponent) {
  if (exponent > kPowiMax || exponent < -kPowiMax) {
    const NodeId half = powi(a, exponent / 2);
    return op(Op::Mul, half, powi(a, exponent - exponent / 2));
  }
  return add({Op::Powi, type_of(a), a, {}, {}, static_cast<std::uint64_t>(exponent)});
}

NodeId Builder::cast(Type type, NodeId a) {
  return type_of(a) == type ? a : add({Op::Cast, type, a, {}, {}, 0});
}

NodeId Builder::constant_bits(Type type, std::uint64_t bits) {
  if (ir::is_float(type) && std::isnan(value_of(type, bits))) {  // one NaN: payloads mean nothing here
    bits = bits_of(type, std::numeric_limits<double>::quiet_NaN());
  }
  return add({Op::Constant, type, {}, {}, {}, bits});
}

NodeId Builder::add(const Node& given) {
  // Fields in registers: a copy of the whole would wait for the caller's stores of its parts.
  const Node node{given.op, given.type, given.a, given.b, given.c, given.imm};
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(node) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if (same(expr_.nodes[slots_[slot] - 1], node)) return NodeId(slots_[slot] - 1);
  }
  const NodeId id(size());
  expr_.nodes.push_back({node.op, node.type, node.a, node.b, node.c, node.imm});
  slots_[slot] = id.index + 1;
  if (2 * expr_.nodes.size() > slots_.size()) rehash(2 * slots_.size());
  return id;
}

void Builder::rehash(std::size_t slots) {
  slots_.assign(slots, 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t i = 0; i < size(); ++i) {
    std::size_t slot = hash_of(expr_.nodes[i]) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = i + 1;
  }
}

}  // namespace trident::expr
