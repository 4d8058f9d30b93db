// Arithmetic, integer ops, comparisons and selects. From sections C7.2 of the Arm Architecture Reference Manual: FMLA
// and FMLS round once; FMIN and FMAX propagate NaN and so are not kir's min and max; shifts by vectors read only the
// low byte of each count.
#include <asmjit/arm/a64assembler.h>

#include "jit/codegen/a64_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

using asmjit::a64::Inst;
using kir::Op;

VReg A64Selector::select(const kir::Inst& inst) {
  const kir::Signature signature = kir::info(inst.op).signature;
  if (signature == kir::Signature::Compare) return select_compare(inst);
  if (signature == kir::Signature::Convert) return select_convert(inst);
  if (signature == kir::Signature::Select) return blend(reg(inst.a), reg(inst.b), reg(inst.c));
  if (inst.op == Op::Count) {
    const VReg v = emit(static_cast<std::uint32_t>(A64Pseudo::count), {}, 3, a64_form::kPseudo);
    block_->insts.back().imm = static_cast<std::uint8_t>(inst.type);
    return v;
  }
  if (inst.op == Op::Index) return element_number(inst.type);
  if (signature == kir::Signature::Read) return select_read(inst);
  CHECK(signature == kir::Signature::Same);
  if (kir::info(inst.op).types == kir::Types::B) return select_logic(inst);
  return is_float(inst.type) ? select_float(inst) : select_int(inst);
}

VReg A64Selector::select_float(const kir::Inst& inst) {
  const VReg a = reg(inst.a);
  const VReg b = inst.b.valid() ? reg(inst.b) : VReg{};
  const VReg c = inst.c.valid() ? reg(inst.c) : VReg{};
  const auto negated = [&](VReg v) { return emit(Inst::kIdFneg_v, {v}); };
  const Op op = inst.op;
  if (op == Op::Add) return emit(Inst::kIdFadd_v, {a, b}, 3);
  if (op == Op::Sub) return emit(Inst::kIdFsub_v, {a, b}, 3);
  if (op == Op::Mul) return emit(Inst::kIdFmul_v, {a, b}, 3);
  if (op == Op::Div) return emit(Inst::kIdFdiv_v, {a, b}, 12);
  if (op == Op::Sqrt) return emit(Inst::kIdFsqrt_v, {a}, 12);
  if (op == Op::Neg) return negated(a);
  if (op == Op::Abs) return emit(Inst::kIdFabs_v, {a});
  if (op == Op::Min) return least(inst.type, a, b);
  if (op == Op::Max) return greatest(inst.type, a, b);
  if (op == Op::Rint) return emit(Inst::kIdFrintn_v, {a}, 3);
  if (op == Op::Floor) return emit(Inst::kIdFrintm_v, {a}, 3);
  if (op == Op::Ceil) return emit(Inst::kIdFrintp_v, {a}, 3);
  if (op == Op::Trunc) return emit(Inst::kIdFrintz_v, {a}, 3);
  if (op == Op::Fma) return emit_tied(Inst::kIdFmla_v, {c, a, b}, 4);
  if (op == Op::Fnma) return emit_tied(Inst::kIdFmls_v, {c, a, b}, 4);
  // Negating the result instead would give the zero of the other sign where the two terms cancel.
  if (op == Op::Fms) return emit_tied(Inst::kIdFmla_v, {negated(c), a, b}, 4);
  if (op == Op::Fnms) return emit_tied(Inst::kIdFmls_v, {negated(c), a, b}, 4);
  CHECK(op == Op::Scalef);
  return scalef(inst.type, a, b);
}

VReg A64Selector::select_int(const kir::Inst& inst) {
  const Op op = inst.op;
  if (op == Op::Shl || op == Op::Shr || op == Op::Sar) return shift(inst);
  if (const HalfProduct halves = narrow_product(kernel_, inst); halves.valid()) {
    const VReg a = half_factor(halves.a), b = half_factor(halves.b);
    return emit(halves.is_signed ? Inst::kIdSmull_v : Inst::kIdUmull_v, {a, b}, 4);
  }
  const VReg a = reg(inst.a);
  const VReg b = inst.b.valid() ? reg(inst.b) : VReg{};
  if (op == Op::Add) return emit(Inst::kIdAdd_v, {a, b});
  if (op == Op::Sub) return emit(Inst::kIdSub_v, {a, b});
  if (op == Op::Mul) return lane_ == 8 ? mul_i64(a, b) : emit(Inst::kIdMul_v, {a, b}, 4);
  if (op == Op::Neg) return emit(Inst::kIdNeg_v, {a});
  if (op == Op::Abs) return emit(Inst::kIdAbs_v, {a});
  if (op == Op::Min) return least(inst.type, a, b);
  CHECK(op == Op::Max);
  return greatest(inst.type, a, b);
}

VReg A64Selector::select_logic(const kir::Inst& inst) {
  const VReg a = reg(inst.a);
  if (inst.op == Op::Not) return emit(Inst::kIdNot_v, {a}, 2, a64_form::kBytes);
  const VReg b = reg(inst.b);
  if (inst.op == Op::AndNot) return emit(Inst::kIdBic_v, {b, a}, 2, a64_form::kBytes);
  const std::uint32_t id = inst.op == Op::And ? Inst::kIdAnd_v : inst.op == Op::Or ? Inst::kIdOrr_v : Inst::kIdEor_v;
  return emit(id, {a, b}, 2, a64_form::kBytes);
}

VReg A64Selector::select_compare(const kir::Inst& inst) {
  return compare(inst.op, kernel_.type_of(inst.a), reg(inst.a), reg(inst.b));
}

VReg A64Selector::compare(Op op, ir::Type type, VReg a, VReg b) {
  set_type(type);
  const bool floats = is_float(type);
  if (op == Op::Lt) return emit(floats ? Inst::kIdFcmgt_v : Inst::kIdCmgt_v, {b, a});
  if (op == Op::Le) return emit(floats ? Inst::kIdFcmge_v : Inst::kIdCmge_v, {b, a});
  const VReg equal = emit(floats ? Inst::kIdFcmeq_v : Inst::kIdCmeq_v, {a, b});
  return op == Op::Eq ? equal : emit(Inst::kIdNot_v, {equal}, 2, a64_form::kBytes);
}

VReg A64Selector::blend(VReg mask, VReg if_set, VReg if_clear) {
  return emit_tied(Inst::kIdBsl_v, {mask, if_set, if_clear}, 2, a64_form::kBytes);
}

VReg A64Selector::least(ir::Type type, VReg a, VReg b) {
  if (type == ir::Type::i32) return emit(Inst::kIdSmin_v, {a, b});
  return blend(compare(Op::Lt, type, a, b), a, b);
}

VReg A64Selector::greatest(ir::Type type, VReg a, VReg b) {
  if (type == ir::Type::i32) return emit(Inst::kIdSmax_v, {a, b});
  return blend(compare(Op::Lt, type, b, a), a, b);
}

/// Returns the low halves of 64-bit lanes.
VReg A64Selector::low_half(VReg a) {
  const VReg half = emit(Inst::kIdXtn_v, {a});
  f_[half].lane_bytes = 4;
  f_[half].width = block_->insts.back().def_width = 8;
  return half;
}

/// Returns a factor of a product of halves (narrow_product).
VReg A64Selector::half_factor(kir::Value v) {
  const kir::Inst& factor = kernel_.at(v);
  if (factor.type == ir::Type::i32) return reg(v);
  if (factor.op != Op::Constant) return low_half(reg(v));
  set_type(ir::Type::i32);
  const VReg half = constant(factor.imm);
  set_type(ir::Type::i64);
  return half;
}

/// Computes the low 64 bits of a product from 32-bit ones: low * low + ((high * low + low * high) << 32).
VReg A64Selector::mul_i64(VReg a, VReg b) {
  const auto as_words = [&](std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t width) {
    MInst& inst = push(id, uses, a64_form::kUseWords);
    f_[inst.def].lane_bytes = 4;
    f_[inst.def].width = inst.def_width = width;
    return inst.def;
  };
  const VReg exchanged = as_words(Inst::kIdRev64_v, {b}, 16);
  const VReg crossed = as_words(Inst::kIdMul_v, {exchanged, a}, 16);
  const VReg sums = emit(Inst::kIdUaddlp_v, {crossed});
  const VReg high = emit_imm(Inst::kIdShl_v, {sums}, 32);
  const VReg a_low = low_half(a), b_low = low_half(b);
  return emit_tied(Inst::kIdUmlal_v, {high, a_low, b_low}, 4);
}

VReg A64Selector::shift(const kir::Inst& inst) {
  const std::uint32_t bits = 8u * lane_;
  const VReg a = reg(inst.a);
  const kir::Inst& by = kernel_.at(inst.b);
  if (by.op == Op::Constant) {
    const bool inside = by.imm < bits;
    if (inside && by.imm == 0) return a;
    if (inst.op == Op::Sar)
      return emit_imm(Inst::kIdSshr_v, {a}, inside ? static_cast<std::uint32_t>(by.imm) : bits - 1);
    if (!inside) return constant(0);
    return emit_imm(inst.op == Op::Shl ? Inst::kIdShl_v : Inst::kIdUshr_v, {a}, static_cast<std::uint32_t>(by.imm));
  }
  const VReg b = reg(inst.b);
  const VReg inside = emit(Inst::kIdCmhi_v, {constant(bits), b});
  if (inst.op == Op::Sar) {
    const VReg count = blend(inside, b, constant(bits - 1));
    return emit(Inst::kIdSshl_v, {a, emit(Inst::kIdNeg_v, {count})});
  }
  const VReg count = inst.op == Op::Shl ? b : emit(Inst::kIdNeg_v, {b});
  const VReg shifted = emit(Inst::kIdUshl_v, {a, count});
  return emit(Inst::kIdAnd_v, {shifted, inside}, 2, a64_form::kBytes);
}

}  // namespace trident::codegen
