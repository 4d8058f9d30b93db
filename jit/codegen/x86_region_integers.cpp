// Selection of ops on integers.
#include "jit/codegen/x86_region_select.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using region::Op;
using region::Type;
using region::Value;

/// Returns whether the result of `v` can take the place of an operand.
bool RegionSelector::overwrites_operand(Value v) const {
  for (const Value operand : {at(v).a, at(v).b}) {
    if (is_immediate(operand)) continue;
    const Value made = uses_.root(operand);
    const std::optional<std::uint32_t> variable =
        at(made).op == Op::Get ? static_cast<std::uint32_t>(at(made).imm) : uses_.home(made);
    if (variable ? variable == uses_.home(v) : uses_.last_reader(made) <= v.index) return true;
  }
  return false;
}

/// Where both operands stay, their sum is an address that is not used as one.
void RegionSelector::add(Value v) {
  const region::Inst& inst = at(v);
  if (is_constant(inst.a) || overwrites_operand(v)) return binary(v, Inst::kIdAdd, true);
  const bool immediate = is_immediate(inst.b);
  const VReg a = reg(inst.a), b = immediate ? VReg{} : reg(inst.b);
  MInst& made =
      immediate ? push(Inst::kIdLea, {a}, width_of(inst.type)) : push(Inst::kIdLea, {a, b}, width_of(inst.type));
  made.form = x86_form::kMemory;
  made.mem = {.place = Place::based, .lane_bytes = 0, .scale = static_cast<std::uint8_t>(immediate ? 0 : 1)};
  if (immediate) made.mem.disp = static_cast<std::int32_t>(at(inst.b).imm);
  define(v, made);
}

void RegionSelector::binary(Value v, std::uint32_t op, bool commutes) {
  const region::Inst& inst = at(v);
  const std::uint8_t width = width_of(inst.type);
  Value a = inst.a, b = inst.b;
  if (commutes && is_immediate(a) && !is_constant(b)) std::swap(a, b);
  if (is_immediate(b)) {
    MInst& made = push(op, {reg(a)}, width);
    made.form = x86_form::kTied | x86_form::kImmediate;
    made.ties = 1;
    made.imm = as_immediate(at(b).imm);
    define(v, made);
    return;
  }
  const VReg first = reg(a), second = reg(b);
  MInst& made = push(op, {first, second}, width);
  made.form = x86_form::kTied;
  made.commutes = commutes;
  made.ties = commutes ? 3 : 1;
  fold(made, commutes ? 3 : 2);
  define(v, made);
}

void RegionSelector::unary(Value v, std::uint32_t op, bool tied) {
  const VReg from = reg(at(v).a);
  MInst& inst = push(op, {from}, width_of(at(v).type));
  inst.form = tied ? x86_form::kTied : x86_form::kPlain;
  inst.ties = tied ? 1 : 0;
  if (!tied) fold(inst, 1);
  define(v, inst);
}

void RegionSelector::shift(Value v, std::uint32_t by_immediate, std::uint32_t by_register) {
  const region::Inst& from = at(v);
  const std::uint8_t width = width_of(from.type);
  const VReg value = reg(from.a);
  if (is_constant(from.b)) {
    MInst& inst = push(by_immediate, {value}, width);
    inst.form = x86_form::kTied | x86_form::kImmediate;
    inst.ties = 1;
    inst.imm = at(from.b).imm % (8u * width);
    define(v, inst);
    return;
  }
  const VReg amount = reg(from.b);
  MInst& inst = push(by_register, {value, amount}, width);
  fold(inst, 1);
  define(v, inst);
}

void RegionSelector::rotate(Value v) {
  const region::Inst& from = at(v);
  const std::uint8_t width = width_of(from.type);
  const VReg value = reg(from.a);
  if (is_constant(from.b)) {
    MInst& inst = push(Inst::kIdRorx, {value}, width);
    inst.form = x86_form::kImmediate;
    inst.imm = at(from.b).imm % (8u * width);
    define(v, inst);
    return;
  }
  const VReg amount = reg(from.b);
  MInst& inst = pseudo(X86RegionPseudo::rotr, {value, amount}, width);
  inst.early_def = true;
  define(v, inst);
}

void RegionSelector::extend(Value v, std::uint32_t op, std::uint8_t from) {
  const VReg value = reg(at(v).a);
  MInst& inst = push(op, {value}, op == Inst::kIdMov ? std::uint8_t{4} : width_of(at(v).type));
  inst.use_width = from;
  define(v, inst);
}

void RegionSelector::multiply(Value v) {
  const region::Inst& from = at(v);
  if (is_immediate(from.b) || is_immediate(from.a)) {
    const bool second = is_immediate(from.b);
    const VReg value = reg(second ? from.a : from.b);
    MInst& inst = push(Inst::kIdImul, {value}, width_of(from.type));
    inst.form = x86_form::kImmediate;
    inst.imm = as_immediate(at(second ? from.b : from.a).imm);
    define(v, inst);
    return;
  }
  binary(v, Inst::kIdImul, true);
}

void RegionSelector::wide_op(Value v, X86RegionPseudo op) {
  const VReg a = reg(at(v).a), b = reg(at(v).b);
  define(v, pseudo(op, {a, b}, width_of(at(v).type)));
}

void RegionSelector::divide(Value v, X86RegionPseudo by_register, X86RegionPseudo by_constant) {
  const region::Inst& from = at(v);
  const bool is_unsigned = by_constant == X86RegionPseudo::udiv_by;
  const std::uint64_t by = is_constant(from.b) ? at(from.b).imm : 0;
  if (by <= 1 || (!is_unsigned && by == ~std::uint64_t{0}) || from.type != Type::i64) return wide_op(v, by_register);
  const VReg a = reg(from.a);
  MInst& inst = pseudo(by_constant, {a}, 8);
  inst.imm = by;
  define(v, inst);
}

void RegionSelector::reverse_bits(Value v) {
  const std::uint8_t width = width_of(at(v).type);
  const VReg value = reg(at(v).a);
  const std::uint64_t ones = width == 4 ? 0xFFFF'FFFF : ~std::uint64_t{0};
  const VReg seconds = constant(0x5555'5555'5555'5555 & ones, width),
             fourths = constant(0x3333'3333'3333'3333 & ones, width),
             halves = constant(0x0F0F'0F0F'0F0F'0F0F & ones, width);
  MInst& inst = pseudo(X86RegionPseudo::reverse_bits, {value, seconds, fourths, halves}, width);
  inst.early_def = true;
  define(v, inst);
}

}  // namespace trident::codegen
