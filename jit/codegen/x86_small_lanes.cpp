#include "jit/codegen/x86_small_lanes.h"

#include <asmjit/x86.h>

#include <algorithm>
#include <array>

#include "jit/codegen/x86_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using kir::Op;
using kir::Value;

namespace {

/// Ids by lane width and sign.
struct LaneIds {
  std::uint32_t bytes, words, signed_bytes, signed_words;
  [[nodiscard]] std::uint32_t of(bool is_bytes, bool is_signed) const {
    return is_bytes ? (is_signed ? signed_bytes : bytes) : (is_signed ? signed_words : words);
  }
};
constexpr LaneIds kMinIds{Inst::kIdVpminub, Inst::kIdVpminuw, Inst::kIdVpminsb, Inst::kIdVpminsw};
constexpr LaneIds kMaxIds{Inst::kIdVpmaxub, Inst::kIdVpmaxuw, Inst::kIdVpmaxsb, Inst::kIdVpmaxsw};
constexpr LaneIds kAddIds{Inst::kIdVpaddusb, Inst::kIdVpaddusw, Inst::kIdVpaddsb, Inst::kIdVpaddsw};
constexpr LaneIds kSubIds{Inst::kIdVpsubusb, Inst::kIdVpsubusw, Inst::kIdVpsubsb, Inst::kIdVpsubsw};
constexpr LaneIds kCompareIds{Inst::kIdVpcmpub, Inst::kIdVpcmpuw, Inst::kIdVpcmpb, Inst::kIdVpcmpw};

/// Predicate of vpcmpub and the like.
std::uint8_t predicate_of(Op op) {
  if (op == Op::Lt) return 1;
  if (op == Op::Le) return 2;
  return op == Op::Eq ? 0 : 4;
}

}  // namespace

std::uint32_t X86SmallLanes::lanes() const {
  return s_.target_.vector_bytes / plan_->bytes;
}

void X86SmallLanes::set_lanes() {
  s_.lane_ = static_cast<std::uint8_t>(plan_->bytes);
  s_.width_ = static_cast<std::uint8_t>(s_.target_.vector_bytes);
}

Block X86SmallLanes::select_body(std::uint32_t copies, bool masked) {
  Block block(s_.f_.arena);
  masked_ = masked;
  tail_mask_ = {};
  s_.block_ = &block;
  for (s_.copy_ = 0; s_.copy_ < copies; ++s_.copy_) {
    values_.assign(plan_->values.size(), VReg{});
    for (std::uint32_t i = 0; i < plan_->values.size(); ++i)
      if (plan_->values[i].needed) select(Value(i));
    for (std::uint32_t output = 0; output < s_.kernel_.outputs.size(); ++output) store(output);
  }
  s_.copy_ = 0;
  return block;
}

void X86SmallLanes::select(Value v) {
  const LaneValue& value = plan_->values[v.index];
  set_lanes();
  if (value.form == LaneForm::leaf)
    values_[v.index] = leaf(v);
  else
    values_[v.index] = value.form == LaneForm::copy ? reg(value.a) : computed(s_.kernel_.at(v).op, value);
}

VReg X86SmallLanes::reg(Value v) {
  CHECK(values_[v.index].valid());
  return values_[v.index];
}

// --- leaves ----------------------------------------------------------------------------------------------------------

VReg X86SmallLanes::leaf(Value v) {
  const kir::Inst& inst = s_.kernel_.at(v);
  if (inst.op == Op::Constant) return constant(inst.imm);
  return inst.op == Op::Param ? param(inst.imm) : load(inst);
}

/// Returns the low bits in all lanes. No operand of small lanes can be one number in memory.
VReg X86SmallLanes::constant(std::uint64_t bits) {
  bits &= ones();
  for (const Global& known : constants_)
    if (known.key == bits) return known.vreg;
  VRegInfo info{.global = true, .zero = bits == 0, .foldable = !s_.target_.avx512, .width = s_.width_};
  const std::uint64_t word = bytes() ? bits * 0x0101'0101u : bits * 0x0001'0001u;
  if (!info.zero)
    info.home = {.place = Place::pool,
                 .broadcast = s_.target_.avx512,
                 .disp = s_.pool_.add_repeated(word, 4, s_.target_.avx512 ? 1 : s_.width_ / 4)};
  const VReg made = s_.f_.add(info);
  constants_.push_back({bits, made});
  return made;
}

VReg X86SmallLanes::param(std::uint64_t number) {
  for (const Global& known : params_)
    if (known.key == number) return known.vreg;
  const MemRef home{
      .place = Place::param, .lane_bytes = s_.lane_, .broadcast = true, .index = static_cast<std::uint16_t>(number)};
  const VReg made =
      s_.f_.add({.global = true, .foldable = false, .width = s_.width_, .lane_bytes = s_.lane_, .home = home});
  params_.push_back({number, made});
  return made;
}

bool X86SmallLanes::is_constant(Value v, std::uint64_t bits) const {
  const kir::Inst& inst = s_.kernel_.at(v);
  return inst.op == Op::Constant && (inst.imm & ones()) == bits;
}

VReg X86SmallLanes::load(const kir::Inst& input) {
  const ir::StorageFacts& row = ir::facts_of(s_.kernel_.inputs[input.imm].storage);
  const bool widens = row.bytes != plan_->bytes;
  const std::uint32_t plain = masked_ ? by_width(Inst::kIdVmovdqu8, Inst::kIdVmovdqu16) : Inst::kIdVmovups;
  const std::uint32_t id = !widens ? plain : row.lo < 0 ? Inst::kIdVpmovsxbw : Inst::kIdVpmovzxbw;
  const VReg mask = masked_ ? tail_mask() : VReg{};
  MInst& load = masked_ ? s_.push(id, {mask}) : s_.push(id, {});
  load.form = masked_ ? x86_form::kMemory | x86_form::kMasked | x86_form::kZeroing : x86_form::kMemory;
  load.mem = {.place = Place::input,
              .lane_bytes = static_cast<std::uint8_t>(row.bytes),
              .index = static_cast<std::uint16_t>(input.imm),
              .disp = static_cast<std::int32_t>(s_.copy_ * lanes() * row.bytes)};
  load.latency = widens ? 8 : 7;
  load.unit = Unit::load;
  return load.def;
}

// --- operations ------------------------------------------------------------------------------------------------------

VReg X86SmallLanes::computed(Op op, const LaneValue& value) {
  switch (value.form) {
    case LaneForm::sign_extended:
      return s_.emit_imm(Inst::kIdVpsraw, {s_.emit_imm(Inst::kIdVpsllw, {reg(value.a)}, value.count)}, value.count);
    case LaneForm::add_saturated:
    case LaneForm::sub_saturated: return saturated(value);
    case LaneForm::difference: {
      const VReg a = reg(value.a), b = reg(value.b);
      const VReg greater = s_.emit(kMaxIds.of(bytes(), value.is_signed), {a, b});
      const VReg less = s_.emit(kMinIds.of(bytes(), value.is_signed), {a, b});
      return s_.emit(by_width(Inst::kIdVpsubb, Inst::kIdVpsubw), {greater, less});
    }
    case LaneForm::average: return s_.emit(by_width(Inst::kIdVpavgb, Inst::kIdVpavgw), {reg(value.a), reg(value.b)});
    case LaneForm::average_down: return average_down(reg(value.a), reg(value.b));
    case LaneForm::product_high:
      return s_.emit(value.is_signed ? Inst::kIdVpmulhw : Inst::kIdVpmulhuw, {reg(value.a), reg(value.b)}, 5);
    case LaneForm::op: return arithmetic(op, value);
    case LaneForm::none:
    case LaneForm::leaf:
    case LaneForm::copy: break;
  }
  CHECK(false);
}

VReg X86SmallLanes::arithmetic(Op op, const LaneValue& value) {
  if (kir::info(op).signature == kir::Signature::Compare) return compared(op, value);
  const VReg a = reg(value.a);
  if (op == Op::Select) return selected(value);
  if (s_.f_[a].reg_class == RegClass::mask) return mask_logic(op, value);
  if (op == Op::Shl || op == Op::Shr || op == Op::Sar) return shifted(op, value);
  if (op == Op::Abs) return s_.emit(by_width(Inst::kIdVpabsb, Inst::kIdVpabsw), {a});
  if (op == Op::Not) return s_.logic(Op::Xor, a, constant(ones()));
  if (op == Op::Neg) return s_.emit(by_width(Inst::kIdVpsubb, Inst::kIdVpsubw), {constant(0), a});
  const VReg b = reg(value.b);
  if (op == Op::Min) return s_.emit(kMinIds.of(bytes(), value.is_signed), {a, b}, 1, 2);
  if (op == Op::Max) return s_.emit(kMaxIds.of(bytes(), value.is_signed), {a, b}, 1, 2);
  if (op == Op::Add) return s_.emit(by_width(Inst::kIdVpaddb, Inst::kIdVpaddw), {a, b}, 1, 2);
  if (op == Op::Sub) return s_.emit(by_width(Inst::kIdVpsubb, Inst::kIdVpsubw), {a, b}, 1, 2);
  if (op == Op::Mul) return s_.emit(Inst::kIdVpmullw, {a, b}, 5, 2);
  return s_.logic(op, a, b);
}

VReg X86SmallLanes::saturated(const LaneValue& value) {
  const bool adds = value.form == LaneForm::add_saturated;
  const VReg made = s_.emit((adds ? kAddIds : kSubIds).of(bytes(), value.is_signed), {reg(value.a), reg(value.b)});
  if (!value.c.valid()) return made;
  return s_.emit((adds ? kMinIds : kMaxIds).of(bytes(), false), {made, reg(value.c)});
}

/// Takes back what the average of an odd sum is rounded up by.
VReg X86SmallLanes::average_down(VReg a, VReg b) {
  const VReg rounded_up = s_.emit(by_width(Inst::kIdVpavgb, Inst::kIdVpavgw), {a, b});
  const VReg odd = s_.logic(Op::And, s_.logic(Op::Xor, a, b), constant(1));
  return s_.emit(by_width(Inst::kIdVpsubb, Inst::kIdVpsubw), {rounded_up, odd});
}

/// Shifts words. Bytes lose the bits that come from their neighbours.
VReg X86SmallLanes::shifted(Op op, const LaneValue& value) {
  const bool left = op == Op::Shl;
  const std::uint32_t id = left ? Inst::kIdVpsllw : value.is_signed ? Inst::kIdVpsraw : Inst::kIdVpsrlw;
  const VReg made = s_.emit_imm(id, {reg(value.a)}, value.count);
  if (!bytes()) return made;
  return s_.logic(Op::And, made, constant(left ? ones() << value.count : ones() >> value.count));
}

// --- masks -----------------------------------------------------------------------------------------------------------

VReg X86SmallLanes::compared(Op op, const LaneValue& value) {
  const VReg a = reg(value.a), b = reg(value.b);
  if (!s_.target_.avx512) return compared_vectors(op, value.is_signed, a, b);
  MInst& made = s_.push_mask(kCompareIds.of(bytes(), value.is_signed), {a, b});
  made.form = x86_form::kImmediate;
  made.imm = predicate_of(op);
  made.latency = 3;
  return made.def;
}

/// Makes comparisons of AVX2 from "equal" and, with a sign, "greater". Without one, a <= b where min(a, b) is a.
VReg X86SmallLanes::compared_vectors(Op op, bool is_signed, VReg a, VReg b) {
  const std::uint32_t equal = by_width(Inst::kIdVpcmpeqb, Inst::kIdVpcmpeqw);
  const std::uint32_t greater = by_width(Inst::kIdVpcmpgtb, Inst::kIdVpcmpgtw);
  const auto inverted = [&](VReg mask) { return s_.logic(Op::Xor, mask, constant(ones())); };
  if (op == Op::Eq) return s_.emit(equal, {a, b});
  if (op == Op::Ne) return inverted(s_.emit(equal, {a, b}));
  if (is_signed) return op == Op::Lt ? s_.emit(greater, {b, a}) : inverted(s_.emit(greater, {a, b}));
  const VReg least = s_.emit(kMinIds.of(bytes(), false), {a, b});
  return op == Op::Le ? s_.emit(equal, {least, a}) : inverted(s_.emit(equal, {least, b}));
}

VReg X86SmallLanes::mask_logic(Op op, const LaneValue& value) {
  if (op == Op::Not) return s_.push_mask(Inst::kIdKnotq, {reg(value.a)}).def;
  const std::uint32_t id = op == Op::And   ? Inst::kIdKandq
                           : op == Op::Or  ? Inst::kIdKorq
                           : op == Op::Xor ? Inst::kIdKxorq
                                           : Inst::kIdKandnq;
  return s_.push_mask(id, {reg(value.a), reg(value.b)}).def;
}

VReg X86SmallLanes::selected(const LaneValue& value) {
  const VReg mask = reg(value.a);
  if (is_constant(value.c, 0) && is_constant(value.b, ones()))
    return s_.target_.avx512 ? s_.emit(by_width(Inst::kIdVpmovm2b, Inst::kIdVpmovm2w), {mask}, 3) : mask;
  if (s_.target_.avx512) {
    const bool zeroes = is_constant(value.c, 0);
    MInst& made = zeroes
                      ? s_.push(by_width(Inst::kIdVmovdqu8, Inst::kIdVmovdqu16), {reg(value.b), mask})
                      : s_.push(by_width(Inst::kIdVpblendmb, Inst::kIdVpblendmw), {reg(value.c), reg(value.b), mask});
    made.form = zeroes ? x86_form::kMasked | x86_form::kZeroing : x86_form::kMasked;
    return made.def;
  }
  if (is_constant(value.c, 0)) return s_.logic(Op::And, mask, reg(value.b));
  if (is_constant(value.b, 0)) return s_.logic(Op::AndNot, mask, reg(value.c));
  return s_.emit(Inst::kIdVpblendvb, {reg(value.c), reg(value.b), mask}, 3);
}

VReg X86SmallLanes::tail_mask() {
  if (tail_mask_.valid()) return tail_mask_;
  MInst& made = s_.push_mask(static_cast<std::uint32_t>(X86Pseudo::tail_mask), {});
  made.form = x86_form::kPseudo;
  made.imm = plan_->bytes;
  return tail_mask_ = made.def;
}

// --- stores ----------------------------------------------------------------------------------------------------------

/// Packs the low bytes of words into the lower half of a vector (AVX2).
VReg X86SmallLanes::packed(VReg words) {
  const VReg low = s_.logic(Op::And, words, constant(0xFF));
  const VReg halves = s_.emit(Inst::kIdVpackuswb, {low, low});
  return s_.emit_imm(Inst::kIdVpermq, {halves}, 0x08, 3);
}

void X86SmallLanes::store(std::uint32_t output) {
  const kir::Output& to = s_.kernel_.outputs[output];
  const std::uint32_t element = ir::facts_of(to.storage).bytes;
  const bool narrows = element != plan_->bytes;
  set_lanes();
  VReg value = reg(to.value);
  if (narrows && !s_.target_.avx512) value = packed(value), s_.width_ = 16;
  const std::uint32_t plain = masked_ ? by_width(Inst::kIdVmovdqu8, Inst::kIdVmovdqu16) : Inst::kIdVmovups;
  const std::uint32_t id = narrows && s_.target_.avx512 ? Inst::kIdVpmovwb : plain;
  const VReg mask = masked_ ? tail_mask() : VReg{};
  MInst inst = masked_ ? s_.push(id, {value, mask}) : s_.push(id, {value});
  inst.form = masked_ ? x86_form::kMemory | x86_form::kMasked : x86_form::kMemory;
  inst.def = {};
  inst.unit = Unit::store;
  inst.mem = {.place = Place::output,
              .lane_bytes = static_cast<std::uint8_t>(element),
              .index = static_cast<std::uint16_t>(output),
              .disp = static_cast<std::int32_t>(s_.copy_ * lanes() * element)};
  s_.f_.vregs.pop_back();  // the result that push made room for
  s_.block_->insts.back() = inst;
}

}  // namespace trident::codegen
