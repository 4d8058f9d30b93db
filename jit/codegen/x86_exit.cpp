// Exits (jit/kir/kir.h). The masks of all vectors of a step become one, which is tested once; the step's stores wait
// behind the test. A mask that is a negation is tested for clear lanes of its operand. One that is set where an integer
// has bits (jit/kir/guard.h) is not made: the bits of all vectors are joined, and compared once. An exit behind chunks
// is one test after each.
#include <asmjit/x86.h>

#include "jit/codegen/x86_emit.h"
#include "jit/codegen/x86_select.h"

namespace trident::codegen {

namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;
using kir::Op;
using kir::Section;

/// Says whether the body asks for any clear lane of the exit's operand, not for any set lane of its negation. In the
/// tail the lanes behind the end are clear, so it takes the mask itself.
bool X86Selector::tests_negation() const {
  const kir::Inst& exit = kernel_.at(kernel_.exit);
  return !masked_ && exit.op == Op::Not && exit.section == Section::body && body_uses_[kernel_.exit.index] == 1;
}

/// Returns the integer that has bits where the exit is set; invalid where that is no such exit, and in the tail.
kir::Value X86Selector::exit_bits() const {
  const kir::Inst& exit = kernel_.at(kernel_.exit);
  const bool joins = !masked_ && exit.op == Op::Ne && exit.section == Section::body &&
                     body_uses_[kernel_.exit.index] == 1 && ir::is_int(kernel_.type_of(exit.a));
  const auto is_zero = [&](kir::Value v) { return kernel_.at(v).op == Op::Constant && kernel_.at(v).imm == 0; };
  if (!joins || is_zero(exit.a) == is_zero(exit.b)) return {};
  return is_zero(exit.a) ? exit.b : exit.a;
}

/// Joins the exit's mask of this copy with that of the copies before.
VReg X86Selector::join_exits(VReg so_far) {
  if (const kir::Value bits = exit_bits(); bits.valid()) {
    const VReg own = reg(bits);
    set_type(kernel_.type_of(bits));
    return so_far.valid() ? logic(Op::Or, so_far, own) : own;
  }
  const bool negated = tests_negation();
  VReg mask = reg(negated ? kernel_.at(kernel_.exit).a : kernel_.exit);
  set_type(kernel_.type_of(kernel_.exit));
  const auto join = [&](VReg a, VReg b, bool both) {
    if (!target_.avx512) return logic(both ? Op::And : Op::Or, a, b);
    return push_mask(both ? Inst::kIdKandw : Inst::kIdKorw, {a, b}).def;
  };
  if (masked_) mask = join(mask, tail_mask(lane_), true);
  return so_far.valid() ? join(so_far, mask, negated) : mask;
}

void X86Selector::leave_if_any_bit(VReg bits) {
  set_type(kernel_.type_of(exit_bits()));
  if (target_.avx512)
    return leave_if(push_mask(pick(Inst::kIdVptestmd, Inst::kIdVptestmq), {bits, bits}).def, X86Leave::any_set);
  leave_if(emit(pick(Inst::kIdVpcmpeqd, Inst::kIdVpcmpeqq), {bits, constant(0)}), X86Leave::any_clear);
}

void X86Selector::leave_if(VReg mask, X86Leave leave) {
  MInst& inst = push(static_cast<std::uint32_t>(X86Pseudo::leave_if), {mask});
  f_.vregs.pop_back();  // it has no result
  inst.def = {};
  inst.form = x86_form::kPseudo;
  inst.imm = static_cast<std::uint8_t>(leave);
  inst.use_width = f_[mask].width;
  inst.exits = true;
  inst.unit = Unit::none;
}

/// Leaves the loop over chunks if the results so far decide those of the kernel.
Block X86Selector::select_decided() {
  Block block(f_.arena);
  block_ = &block;
  context_ = Context::epilogue;
  std::fill(values_.begin(), values_.end(), VReg{});
  estimates_.clear();
  std::pmr::vector<bool> needed(kernel_.insts.size(), false, f_.arena);
  needed[kernel_.exit.index] = true;
  for (std::uint32_t i = kernel_.exit.index + 1; i-- > 0;) {
    const kir::Inst& inst = kernel_.insts[i];
    if (!needed[i] || is_reduction(inst)) continue;
    for (const kir::Value operand : {inst.a, inst.b, inst.c})
      if (operand.valid()) needed[operand.index] = true;
  }
  reducer_.load_results();
  for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) {
    const kir::Inst& inst = kernel_.insts[i];
    if (needed[i] && inst.section == Section::epilogue && !is_reduction(inst)) select(kir::Value(i));
  }
  leave_if(reg(kernel_.exit), X86Leave::first_lane);
  return block;
}

void X86Emitter::leave_if(const MInst& m, const Placed& p) {
  const auto leave = static_cast<X86Leave>(m.imm);
  const bool wants_all = leave == X86Leave::any_clear, asks_first = leave == X86Leave::first_lane;
  if (target_.avx512 && target_.lanes >= 8 && !asks_first) {
    const x86::KReg mask(p.use[0]);
    if (target_.lanes == 16)
      assembler_.kortestw(mask, mask);
    else
      assembler_.kortestb(mask, mask);
    assembler_.j(wants_all ? x86::CondCode::kNC : x86::CondCode::kNZ, exit_);  // carry: all bits are set
    return;
  }
  const std::uint32_t lanes = asks_first ? 1 : target_.avx512 ? target_.lanes : m.use_width / 4u;
  if (target_.avx512)
    assembler_.kmovb(x86::r11d, x86::KReg(p.use[0]));
  else
    emit(Inst::kIdVmovmskps, {x86::r11d, register_operand(RegClass::vector, m.use_width, p.use[0])});
  assembler_.and_(x86::r11d, (1u << lanes) - 1);  // an opmask may have bits beyond the lanes
  if (wants_all) assembler_.cmp(x86::r11d, (1u << lanes) - 1);
  assembler_.jnz(exit_);
}

}  // namespace trident::codegen
