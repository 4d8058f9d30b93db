// Comparisons, masks and selects. AVX-512: opmask registers. AVX2: vectors of all ones and all zeros.
#include <asmjit/x86.h>

#include "jit/codegen/x86_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using kir::Op;

namespace {

// Predicates of vcmpps (quiet: NaN raises nothing and compares false, Ne true) and of vpcmpd.
std::uint8_t float_predicate(Op op, bool swapped) {
  if (op == Op::Lt) return swapped ? 0x1E : 0x11;
  if (op == Op::Le) return swapped ? 0x1D : 0x12;
  return op == Op::Eq ? 0x00 : 0x04;
}

std::uint8_t int_predicate(Op op, bool swapped) {
  if (op == Op::Lt) return swapped ? 6 : 1;
  if (op == Op::Le) return swapped ? 5 : 2;
  return op == Op::Eq ? 0 : 4;
}

}  // namespace

VReg X86Selector::select_compare(const kir::Inst& inst) {
  const ir::Type type = kernel_.type_of(inst.a);
  set_type(type);
  // A constant or an array element on the left can be folded when the comparison's sides are swapped.
  const auto folds = [&](kir::Value v) {
    return kernel_.at(v).op == Op::Constant || kernel_.at(v).op == Op::Param || kernel_.at(v).op == Op::Input;
  };
  const bool int_avx2 = is_int(type) && !target_.avx512;
  const bool swapped = folds(inst.a) && !folds(inst.b) && !int_avx2;
  const VReg a = reg(swapped ? inst.b : inst.a);
  const VReg b = int_avx2 ? reg(inst.b) : foldable(swapped ? inst.a : inst.b);
  if (int_avx2) return compare_vector(inst.op, type, a, b);
  const std::uint8_t predicate = is_int(type) ? int_predicate(inst.op, swapped) : float_predicate(inst.op, swapped);
  const std::uint32_t id =
      is_int(type) ? pick(Inst::kIdVpcmpd, Inst::kIdVpcmpq) : pick(Inst::kIdVcmpps, Inst::kIdVcmppd);
  MInst& made = target_.avx512 ? push_mask(id, {a, b}) : push(id, {a, b});
  made.form = x86_form::kImmediate;
  made.imm = predicate;
  made.folds = 2;
  made.latency = target_.avx512 ? 3 : 4;
  return made.def;
}

/// Makes integer comparisons of AVX2 from "greater" and "equal".
VReg X86Selector::compare_vector(Op op, ir::Type type, VReg a, VReg b) {
  set_type(type);
  const std::uint32_t greater = pick(Inst::kIdVpcmpgtd, Inst::kIdVpcmpgtq);
  const std::uint32_t equal = pick(Inst::kIdVpcmpeqd, Inst::kIdVpcmpeqq);
  const std::uint8_t latency = lane_ == 4 ? 1 : 3;
  if (op == Op::Lt) return emit(greater, {b, a}, latency, 2);
  if (op == Op::Eq) return emit(equal, {a, b}, latency, 2);
  const VReg inverse = op == Op::Le ? emit(greater, {a, b}, latency, 2) : emit(equal, {a, b}, latency, 2);
  return logic(Op::Xor, constant(~std::uint64_t{0}), inverse);
}

VReg X86Selector::mask_constant(bool ones, ir::Type type) {
  set_type(type);
  if (!target_.avx512) return constant(ones ? ~std::uint64_t{0} : 0);
  // Makes kxnor k, k0, k0 and kxor k, k0, k0: k0 is never allocated, and its contents do not matter here.
  MInst& made = push_mask(static_cast<std::uint32_t>(ones ? X86Pseudo::mask_ones : X86Pseudo::zero), {});
  made.form = x86_form::kPseudo;
  return made.def;
}

VReg X86Selector::select_mask_logic(const kir::Inst& inst) {
  const VReg a = reg(inst.a);
  const VReg b = inst.b.valid() ? reg(inst.b) : VReg{};
  set_type(inst.type);
  if (!target_.avx512)
    return inst.op == Op::Not ? logic(Op::Xor, constant(~std::uint64_t{0}), a) : logic(inst.op, a, b);
  const std::uint32_t id = inst.op == Op::And   ? Inst::kIdKandw
                           : inst.op == Op::Or  ? Inst::kIdKorw
                           : inst.op == Op::Xor ? Inst::kIdKxorw
                           : inst.op == Op::Not ? Inst::kIdKnotw
                                                : Inst::kIdKandnw;
  MInst& made = inst.op == Op::Not ? push_mask(id, {a}) : push_mask(id, {a, b});
  return made.def;
}

/// Takes lanes of `if_set` where the mask is set, else of `if_clear`. Widths are those of the current type.
VReg X86Selector::blend(VReg mask, VReg if_set, VReg if_clear) {
  if (target_.avx512) {
    MInst& made = push(pick(Inst::kIdVblendmps, Inst::kIdVblendmpd), {if_clear, if_set, mask});
    made.form = x86_form::kMasked;
    made.folds = 2;
    return made.def;
  }
  MInst& made = push(pick(Inst::kIdVblendvps, Inst::kIdVblendvpd), {if_clear, if_set, mask});
  made.folds = 2;
  made.latency = 3;
  made.occupancy = 3;
  return made.def;
}

VReg X86Selector::select_select(const kir::Inst& inst) {
  const auto is_zero = [&](kir::Value v) { return kernel_.at(v).op == Op::Constant && kernel_.at(v).imm == 0; };
  const VReg mask = reg(inst.a);
  if (target_.avx512 && is_zero(inst.c)) {
    const VReg kept = reg(inst.b);
    set_type(inst.type);
    MInst& made = push(pick(Inst::kIdVmovaps, Inst::kIdVmovapd), {kept, mask});
    made.form = x86_form::kMasked | x86_form::kZeroing;
    return made.def;
  }
  if (!target_.avx512 && (is_zero(inst.b) || is_zero(inst.c))) {
    const VReg kept = reg(is_zero(inst.c) ? inst.b : inst.c);
    set_type(inst.type);
    return logic(is_zero(inst.c) ? Op::And : Op::AndNot, mask, kept);
  }
  const VReg if_clear = reg(inst.c);
  const VReg if_set = reg(inst.b);
  set_type(inst.type);
  return blend(mask, if_set, if_clear);
}

VReg X86Selector::convert_mask(const kir::Inst& inst) {
  const ir::Type from = kernel_.type_of(inst.a);
  const VReg a = reg(inst.a);
  if (target_.avx512 || from == inst.type) return a;  // one bit a lane, whatever its width
  if (inst.type == ir::Type::b32) return narrow_i64(a);
  set_type(inst.type);
  MInst& made = push(Inst::kIdVpmovsxdq, {a});
  made.use_width = width_of(from);
  made.latency = 3;
  return made.def;
}

}  // namespace trident::codegen
