// Integer ops that AVX2 lacks, and shifts by constants.
#include <asmjit/x86.h>

#include "jit/codegen/x86_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using kir::Op;

VReg X86Selector::neg_int(VReg a) {
  const VReg zero = constant(0);
  return emit(pick(Inst::kIdVpsubd, Inst::kIdVpsubq), {zero, a}, 1, 2);
}

VReg X86Selector::sign_i64(VReg a) {
  const VReg zero = constant(0);
  return emit(Inst::kIdVpcmpgtq, {zero, a}, 3, 2);
}

/// Low 64 bits of the product from 32-bit halves: lo * lo + ((lo * hi + hi * lo) << 32).
VReg X86Selector::mul_i64(VReg a, VReg b) {
  const VReg swapped = emit_imm(Inst::kIdVpshufd, {b}, 0xB1);
  const VReg cross = emit(Inst::kIdVpmulld, {a, swapped}, 10);  // hi a * lo b, lo a * hi b
  const VReg cross_swapped = emit_imm(Inst::kIdVpsrlq, {cross}, 32);
  const VReg sum = emit(Inst::kIdVpaddd, {cross, cross_swapped});  // of both, in the low half
  const VReg high = emit_imm(Inst::kIdVpsllq, {sum}, 32);
  const VReg low = emit(Inst::kIdVpmuludq, {a, b}, 5);
  return emit(Inst::kIdVpaddq, {low, high});
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
  // Only sar i64 with AVX2 comes here: shift the value with its sign bits flipped away, then flip back. Counts outside
  // [0, 64) leave just the sign.
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
      const VReg a = reg(inst.a);
      return mul_i64(a, reg(inst.b));
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
    case Op::Index:
    case Op::Gather:
    case Op::Strided: break;
  }
  CHECK(false);
}

}  // namespace trident::codegen
