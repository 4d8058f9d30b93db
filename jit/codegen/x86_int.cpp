// Integer ops that AVX2 lacks, shifts by constants, and ops that merge with the op that made an operand.
#include <asmjit/x86.h>

#include "jit/codegen/half_products.h"
#include "jit/codegen/x86_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using kir::Op;
using kir::Section;

VReg X86Selector::neg_int(VReg a) {
  const VReg zero = constant(0);
  return emit(pick(Inst::kIdVpsubd, Inst::kIdVpsubq), {zero, a}, 1, 2);
}

VReg X86Selector::sign_i64(VReg a) {
  const VReg zero = constant(0);
  return emit(Inst::kIdVpcmpgtq, {zero, a}, 3, 2);
}

/// Computes the low 64 bits of the product from 32-bit halves: lo * lo + ((lo * hi + hi * lo) << 32).
VReg X86Selector::mul_i64(VReg a, VReg b) {
  const VReg swapped = emit_imm(Inst::kIdVpshufd, {b}, 0xB1);
  const VReg cross = emit(Inst::kIdVpmulld, {a, swapped}, 10);  // hi a * lo b, lo a * hi b
  const VReg cross_swapped = emit_imm(Inst::kIdVpsrlq, {cross}, 32);
  const VReg sum = emit(Inst::kIdVpaddd, {cross, cross_swapped});  // of both, in the low half
  const VReg high = emit_imm(Inst::kIdVpsllq, {sum}, 32);
  const VReg low = emit(Inst::kIdVpmuludq, {a, b}, 5);
  return emit(Inst::kIdVpaddq, {low, high});
}

/// Computes the low 64 bits of the product with a number below 2^32: lo * half + (hi * half << 32).
VReg X86Selector::mul_by_half(VReg a, VReg half) {
  const VReg upper = emit_imm(Inst::kIdVpsrlq, {a}, 32);
  const VReg high = emit_imm(Inst::kIdVpsllq, {emit(Inst::kIdVpmuludq, {upper, half}, 5)}, 32);
  const VReg low = emit(Inst::kIdVpmuludq, {a, half}, 5);
  return emit(Inst::kIdVpaddq, {low, high});
}

X86Selector::Merged X86Selector::merged_product(const kir::Inst& inst) const {
  const HalfProduct halves = half_product(kernel_, inst);
  if (!halves.valid()) return {};
  return {halves.is_signed ? Merged::Form::i32_product : Merged::Form::u32_product, halves.a, halves.b, {}};
}

X86Selector::Merged X86Selector::merged_sum(const kir::Inst& inst) const {
  const auto is_term = [&](kir::Value v) {
    const kir::Inst& made = kernel_.at(v);
    return made.op == Op::Select && made.section == Section::body && kernel_.at(made.c).op == Op::Constant &&
           kernel_.at(made.c).imm == 0;
  };
  if (is_term(inst.b)) return {Merged::Form::masked_sum, inst.a, kernel_.at(inst.b).b, kernel_.at(inst.b).a};
  if (inst.op == Op::Add && is_term(inst.a))
    return {Merged::Form::masked_sum, inst.b, kernel_.at(inst.a).b, kernel_.at(inst.a).a};
  return {};
}

X86Selector::Merged X86Selector::merged_or(const kir::Inst& inst) const {
  const bool second = kernel_.at(inst.b).op == Op::And;
  const kir::Inst& made = kernel_.at(second ? inst.b : inst.a);
  if (made.op != Op::And) return {};
  return {Merged::Form::or_of_and, second ? inst.a : inst.b, made.a, made.b};
}

X86Selector::Merged X86Selector::merged_less(const kir::Inst& inst) const {
  const std::uint64_t sign = kernel_.type_of(inst.a) == ir::Type::i64 ? std::uint64_t{1} << 63 : 0x8000'0000;
  const auto flipped = [&](kir::Value v) {
    const kir::Inst& made = kernel_.at(v);
    if (made.op != Op::Xor) return kir::Value{};
    const auto is_sign = [&](kir::Value u) { return kernel_.at(u).op == Op::Constant && kernel_.at(u).imm == sign; };
    return is_sign(made.b) ? made.a : is_sign(made.a) ? made.b : kir::Value{};
  };
  const kir::Value a = flipped(inst.a), b = flipped(inst.b);
  return a.valid() && b.valid() ? Merged{Merged::Form::unsigned_less, a, b, {}} : Merged{};
}

namespace {

/// Returns the index of a lookup without the mask that keeps it inside the table, or invalid: permutations read the low
/// bits of an index alone.
kir::Value unmasked_index(const kir::Kernel& kernel, const kir::Inst& lookup) {
  const kir::Inst& index = kernel.at(lookup.a);
  if (index.op != Op::And) return {};
  const std::uint64_t greatest = kernel.tables[lookup.imm].entries.size() - 1;
  const auto masks = [&](kir::Value v) { return kernel.at(v).op == Op::Constant && kernel.at(v).imm == greatest; };
  return masks(index.b) ? index.a : masks(index.a) ? index.b : kir::Value{};
}

}  // namespace

X86Selector::Merged X86Selector::merged_integers(const kir::Inst& inst) const {
  if (inst.section != Section::body) return {};
  if (inst.op == Op::Lookup) {
    const kir::Value index = unmasked_index(kernel_, inst);
    return index.valid() ? Merged{Merged::Form::wrapped_lookup, index, {}, {}} : Merged{};
  }
  if (inst.op == Op::Lt && target_.avx512 && is_int(kernel_.type_of(inst.a))) return merged_less(inst);
  if (!is_int(inst.type)) return {};
  if (inst.op == Op::Mul) return merged_product(inst);
  if (!target_.avx512) return {};
  if (inst.op == Op::Add || inst.op == Op::Sub) return merged_sum(inst);
  return inst.op == Op::Or ? merged_or(inst) : Merged{};
}

VReg X86Selector::select_merged(const kir::Inst& inst, const Merged& parts) {
  using Form = Merged::Form;
  if (parts.form == Form::wrapped_lookup) return select_lookup(inst, reg(parts.a));
  const VReg a = reg(parts.a), b = reg(parts.b);
  const VReg c = parts.c.valid() ? reg(parts.c) : VReg{};
  if (parts.form == Form::unsigned_less) {
    set_type(kernel_.type_of(parts.a));
    return below(a, b).def;
  }
  set_type(inst.type);
  if (parts.form == Form::u32_product || parts.form == Form::i32_product) {
    MInst& made = push(parts.form == Form::u32_product ? Inst::kIdVpmuludq : Inst::kIdVpmuldq, {a, b});
    made.latency = 5;
    made.commutes = true;
    made.folds = 3;
    return made.def;
  }
  if (parts.form == Form::masked_sum) {
    const bool adds = inst.op == Op::Add;
    MInst& made =
        push(adds ? pick(Inst::kIdVpaddd, Inst::kIdVpaddq) : pick(Inst::kIdVpsubd, Inst::kIdVpsubq), {a, b, c});
    made.form = x86_form::kMasked;
    made.ties = 1;
    made.folds = 2;
    return made.def;
  }
  CHECK(parts.form == Form::or_of_and);
  MInst& made = push(pick(Inst::kIdVpternlogd, Inst::kIdVpternlogq), {a, b, c});
  made.form = x86_form::kTied | x86_form::kImmediate;
  made.ties = 1;
  made.folds = 4;
  made.imm = 0xF8;
  return made.def;
}

VReg X86Selector::min_max_i64(bool max, VReg a, VReg b) {
  const VReg greater = emit(Inst::kIdVpcmpgtq, {a, b}, 3);
  return max ? blend(greater, a, b) : blend(greater, b, a);
}

VReg X86Selector::shift(const kir::Inst& inst) {
  const VReg a = reg(inst.a);
  const kir::Inst& by = kernel_.at(inst.b);
  const bool arithmetic = inst.op == Op::Sar;
  if (by.op == Op::Constant) {
    const std::uint32_t width = lane_ * 8u;
    std::uint64_t count = by.imm < width ? by.imm : width;  // shifting by the width or more gives 0 (or the sign)
    if (!arithmetic)
      return emit_imm(
          inst.op == Op::Shl ? pick(Inst::kIdVpslld, Inst::kIdVpsllq) : pick(Inst::kIdVpsrld, Inst::kIdVpsrlq), {a},
          static_cast<std::uint8_t>(count));
    if (count == width) count = width - 1;
    if (lane_ == 4) return emit_imm(Inst::kIdVpsrad, {a}, static_cast<std::uint8_t>(count));
    if (target_.avx512) return emit_imm(Inst::kIdVpsraq, {a}, static_cast<std::uint8_t>(count));
    const VReg sign = sign_i64(a);
    const VReg flipped = logic(Op::Xor, a, sign);
    return logic(Op::Xor, emit_imm(Inst::kIdVpsrlq, {flipped}, static_cast<std::uint8_t>(count)), sign);
  }
  // Shifts sar i64 with AVX2: flips the sign bits away, shifts, flips them back. Counts outside [0, 64) leave just the
  // sign.
  CHECK(arithmetic);
  const VReg sign = sign_i64(a);
  const VReg flipped = logic(Op::Xor, a, sign);
  return logic(Op::Xor, emit(Inst::kIdVpsrlvq, {flipped, reg(inst.b)}), sign);
}

VReg X86Selector::select_int(const kir::Inst& inst) {
  switch (inst.op) {
    case Op::Shl:
    case Op::Shr:
    case Op::Sar: return shift(inst);
    case Op::Not: {
      if (target_.avx512) {
        // ~(a & a): one instruction without a constant.
        MInst& ternary = push(pick(Inst::kIdVpternlogd, Inst::kIdVpternlogq), {reg(inst.a)});
        ternary.use[1] = ternary.use[2] = ternary.use[0];
        ternary.uses = 3;
        ternary.form = x86_form::kTied | x86_form::kImmediate;
        ternary.ties = 1;
        ternary.imm = 0x0F;
        return ternary.def;
      }
      return logic(Op::Xor, constant(~std::uint64_t{0}), foldable(inst.a));
    }
    case Op::Mul: {
      const VReg a = reg(inst.a), b = reg(inst.b);
      if (is_unsigned_half(kernel_, inst.b)) return mul_by_half(a, b);
      return is_unsigned_half(kernel_, inst.a) ? mul_by_half(b, a) : mul_i64(a, b);
    }
    case Op::Min:
    case Op::Max: {
      const VReg a = reg(inst.a);
      return min_max_i64(inst.op == Op::Max, a, reg(inst.b));
    }
    case Op::Abs: {
      const VReg a = reg(inst.a);
      const VReg sign = sign_i64(a);
      return emit(Inst::kIdVpsubq, {logic(Op::Xor, a, sign), sign});
    }
    case Op::Constant:
    case Op::Input:
    case Op::Param:
    case Op::Count:
    case Op::Add:
    case Op::Sub:
    case Op::Div:
    case Op::Neg:
    case Op::Sqrt:
    case Op::Sqrt14:
    case Op::Rsqrt14:
    case Op::Div14:
    case Op::Sqrt12:
    case Op::Rsqrt12:
    case Op::Div12:
    case Op::Fma:
    case Op::Fms:
    case Op::Fnma:
    case Op::Fnms:
    case Op::Rint:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::AndNot:
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne:
    case Op::Select:
    case Op::Bitcast:
    case Op::Convert:
    case Op::ToIntRint:
    case Op::Scalef:
    case Op::Lookup:
    case Op::Sum:
    case Op::MinOf:
    case Op::MaxOf:
    case Op::Prod:
    case Op::Dot:
    case Op::Index:
    case Op::Gather:
    case Op::Strided: break;
  }
  CHECK(false);
}

}  // namespace trident::codegen
