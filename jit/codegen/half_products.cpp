#include "jit/codegen/half_products.h"

#include <cstdint>

namespace trident::codegen {
namespace {

using ir::Type;
using kir::Op;

constexpr std::uint64_t kLowHalf = 0xFFFF'FFFF, kMostSigned = 0x7FFF'FFFF;

bool is_constant(const kir::Kernel& kernel, kir::Value v, std::uint64_t least, std::uint64_t greatest) {
  const kir::Inst& inst = kernel.at(v);
  return inst.op == Op::Constant && inst.imm >= least && inst.imm <= greatest;
}

/// Returns whether a value of i64 is in [0, most], where `most` is all bits below some place.
bool is_below(const kir::Kernel& kernel, kir::Value v, std::uint64_t most) {
  const kir::Inst& made = kernel.at(v);
  const std::uint64_t zeros = most == kLowHalf ? 32 : 33;
  if (made.op == Op::And) return is_constant(kernel, made.a, 0, most) || is_constant(kernel, made.b, 0, most);
  return is_constant(kernel, v, 0, most) ||
         (made.op == Op::Shr && is_constant(kernel, made.b, zeros, ~std::uint64_t{0}));
}

/// Returns whether `v` is an i32 that was widened.
bool is_widened(const kir::Kernel& kernel, kir::Value v) {
  const kir::Inst& made = kernel.at(v);
  return made.op == Op::Convert && kernel.type_of(made.a) == Type::i32;
}

bool is_signed_half(const kir::Kernel& kernel, kir::Value v) {
  return is_widened(kernel, v) || is_below(kernel, v, kMostSigned) ||
         is_constant(kernel, v, ~kMostSigned, ~std::uint64_t{0});
}

/// Returns the value that `v` is the widened low half of, or `v`.
kir::Value before_widening(const kir::Kernel& kernel, kir::Value v) {
  if (!is_widened(kernel, v)) return v;
  const kir::Inst& narrow = kernel.at(kernel.at(v).a);
  return narrow.op == Op::Convert && kernel.type_of(narrow.a) == Type::i64 ? narrow.a : v;
}

/// Returns the value that `v` is the low half of, or `v`.
kir::Value before_masking(const kir::Kernel& kernel, kir::Value v) {
  const kir::Inst& made = kernel.at(v);
  if (made.op != Op::And) return v;
  if (is_constant(kernel, made.b, kLowHalf, kLowHalf)) return made.a;
  return is_constant(kernel, made.a, kLowHalf, kLowHalf) ? made.b : v;
}

}  // namespace

bool is_unsigned_half(const kir::Kernel& kernel, kir::Value v) {
  return is_below(kernel, v, kLowHalf);
}

HalfProduct half_product(const kir::Kernel& kernel, const kir::Inst& inst) {
  if (inst.op != Op::Mul || inst.type != Type::i64 || inst.section != kir::Section::body) return {};
  if (is_unsigned_half(kernel, inst.a) && is_unsigned_half(kernel, inst.b))
    return {before_masking(kernel, inst.a), before_masking(kernel, inst.b), false};
  if (is_signed_half(kernel, inst.a) && is_signed_half(kernel, inst.b))
    return {before_widening(kernel, inst.a), before_widening(kernel, inst.b), true};
  return {};
}

HalfProduct narrow_product(const kir::Kernel& kernel, const kir::Inst& inst) {
  HalfProduct halves = half_product(kernel, inst);
  if (!halves.valid()) return halves;
  if (is_widened(kernel, inst.a)) halves.a = kernel.at(inst.a).a;
  if (is_widened(kernel, inst.b)) halves.b = kernel.at(inst.b).a;
  return halves;
}

}  // namespace trident::codegen
