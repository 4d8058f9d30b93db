#include "jit/expr/rewrite/kinds.h"

#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include "jit/expr/expr.h"
#include "jit/expr/rewrite/language.h"

namespace trident::expr::rewrite {
namespace {

constexpr std::string_view kKindNames[] = {
#define X(Name, meaning) #Name,
#include "jit/expr/kinds.def"
#undef X
};
static_assert(std::size(kKindNames) == nnue::kKinds);

constexpr auto kKindOf = [] {
  std::array<std::uint8_t, kOpCount> kinds{};
  for (std::size_t i = 0; i < kOpCount; ++i) kinds[i] = static_cast<std::uint8_t>(kOpInfos[i].kind);
  return kinds;
}();

/// Ops that the shipped weights were trained with. Later ones take no part in the hash: with a kind of these ops they
/// change the meaning of no feature. To be raised when those weights are trained again (`make weights`).
constexpr std::size_t kHashedOps = 72;
static_assert(kHashedOps <= kOpCount);

/// FNV-1a (Fowler, Noll, Vo).
constexpr std::uint64_t kHash = [] {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325u;
  const auto add = [&](std::uint8_t byte) { hash = (hash ^ byte) * 0x100'0000'01B3u; };
  const auto add_text = [&](std::string_view text) {
    for (const char c : text) add(static_cast<std::uint8_t>(c));
    add(0);
  };
  for (const std::string_view name : kKindNames) add_text(name);
  for (std::size_t i = 0; i < kHashedOps; ++i) {
    add_text(kOpInfos[i].text);
    add(kKindOf[i]);
  }
  return hash;
}();

NodeKind kind_of_number(double value) {
  if (value == 0) return NodeKind::Zero;
  if (value == 1) return NodeKind::One;
  if (value == -1) return NodeKind::MinusOne;
  if (value == 2) return NodeKind::Two;
  int exponent = 0;
  return std::isfinite(value) && std::fabs(std::frexp(value, &exponent)) == 0.5 ? NodeKind::PowerOfTwo
                                                                                : NodeKind::Number;
}

std::uint8_t kind_of(const egraph::ENode& node) {
  const Op op = static_cast<Op>(node.op);
  if (op == Op::Constant) return static_cast<std::uint8_t>(kind_of_number(constant_value(node)));
  if (op == Op::Variable && stage_of(node, {}) != egraph::kStageOfElements)
    return static_cast<std::uint8_t>(NodeKind::Uniform);
  return kKindOf[node.op];
}

}  // namespace

const nnue::KindTable& node_kinds() {
  static constexpr nnue::KindTable kTable{&kind_of, kHash};
  return kTable;
}

}  // namespace trident::expr::rewrite
