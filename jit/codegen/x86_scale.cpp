// Scalef: a * 2^b, rounded once, with overflow, gradual underflow and NaN.
//
// AVX-512 has an instruction for it. On Intel's cores it takes an assist of 160 cycles where a lane's result lies below
// the normal numbers: for zeros, too, unless their exponent is below -511 (f64: -4095). Products take no assist for
// zeros, and one of 110 cycles for subnormal results; sums take none. So there is a second form (scale_apart), for a
// loop whose results often underflow: vectors in which they may are computed behind the loop, subnormal ones by a sum
// and as integers. Other vectors pay a comparison and a branch. AMD's cores take no assist.
//
// AVX2 and NEON (a64_convert.cpp) multiply by powers of two. All forms give the same bits.
#include <asmjit/x86.h>

#include <array>
#include <bit>

#include "jit/codegen/x86_emit.h"
#include "jit/codegen/x86_select.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
namespace x86 = asmjit::x86;
using ir::Type;
using kir::Op;

namespace {

constexpr std::uint8_t kBelow = 0x11;  ///< predicate of vcmpps: a < b, quiet
/// Constants of the code behind the loop, one lane each, in this order.
enum class Apart : std::uint8_t { raise, sign, unit, normal };
}  // namespace

/// Computes a * 2^b with AVX2 where the instruction's flag bounds b: by one multiplication, by one and a fixed one, or
/// by two halves. All but the last multiplication are exact, unless the result is 0. NaN in a stays.
VReg X86Selector::scale_within(const kir::Inst& inst) {
  const VReg a = reg(inst.a);
  set_type(inst.type);
  const bool f32 = inst.type == Type::f32;
  const int mantissa = f32 ? 23 : 52;
  const std::uint64_t bias = f32 ? 127 : 1023;
  const auto power = [&](VReg n, std::uint64_t more) {
    const VReg in_place = emit_imm(pick(Inst::kIdVpslld, Inst::kIdVpsllq), {n}, static_cast<std::uint8_t>(mantissa));
    return emit(pick(Inst::kIdVpaddd, Inst::kIdVpaddq), {in_place, constant((bias + more) << mantissa)}, 1, 2);
  };
  const std::uint32_t multiply = pick(Inst::kIdVmulps, Inst::kIdVmulpd);
  // n's low bits are those of b; where b is a difference with the magic constant, those of its other operand are.
  const std::uint64_t magic = f32 ? bits_of(0x1.8p23f) : bits_of(1.5 * kTwo52);
  const kir::Inst& b = kernel_.at(inst.b);
  const kir::Inst& taken = kernel_.at(b.op == Op::Sub ? b.b : inst.b);
  const bool known = b.op == Op::Sub && taken.op == Op::Constant && taken.imm == magic;
  const VReg n = known ? reg(b.a) : emit(pick(Inst::kIdVaddps, Inst::kIdVaddpd), {reg(inst.b), constant(magic)}, 4, 2);
  if (inst.flags == kir::kNormal) return emit(multiply, {a, power(n, 0)}, 4);
  if (inst.flags == kir::kFalling) {
    const VReg raised = emit(multiply, {a, power(n, 64)}, 4);
    return emit(multiply, {raised, constant((bias - 64) << mantissa)}, 4, 2);
  }
  const VReg half = emit_imm(Inst::kIdVpsrad, {n}, 1);
  const VReg first = emit(multiply, {a, power(half, 0)}, 4);
  return emit(multiply, {first, power(emit(Inst::kIdVpsubd, {n, half}), 0)}, 4);
}

/// Computes a * 2^b with AVX2. b is clamped to the range where results change, halved, and applied in two
/// multiplications by powers of two. |a| < 2^4 and >= 2^-4, so the first is exact and only the second rounds. NaN in b
/// goes through min and max (their second operand wins) and is put back by an or with all ones.
VReg X86Selector::select_scalef(const kir::Inst& inst) {
  if (inst.flags != 0) return scale_within(inst);
  const VReg a = reg(inst.a);
  const VReg b = reg(inst.b);
  set_type(inst.type);
  const bool f32 = inst.type == Type::f32;
  const VReg low = constant(f32 ? bits_of(-155.0f) : bits_of(-1081.0));
  const VReg high = constant(f32 ? bits_of(133.0f) : bits_of(1030.0));
  const VReg above = emit(pick(Inst::kIdVmaxps, Inst::kIdVmaxpd), {low, b}, 4);
  const VReg inside = emit(pick(Inst::kIdVminps, Inst::kIdVminpd), {high, above}, 4);
  const VReg n = f32 ? emit(Inst::kIdVcvtps2dq, {inside}, 4)
                     : emit(Inst::kIdVaddpd, {inside, constant(bits_of(1.5 * kTwo52))}, 4, 2);  // n in the low dword
  const VReg half = emit_imm(Inst::kIdVpsrad, {n}, 1);
  const VReg rest = emit(Inst::kIdVpsubd, {n, half});
  const VReg bias = constant(f32 ? 127 : 1023);
  const auto power = [&](VReg exponent) {
    const VReg biased = emit(Inst::kIdVpaddd, {exponent, bias}, 1, 2);
    return emit_imm(pick(Inst::kIdVpslld, Inst::kIdVpsllq), {biased}, f32 ? 23 : 52);
  };
  const std::uint32_t multiply = pick(Inst::kIdVmulps, Inst::kIdVmulpd);
  const VReg first = emit(multiply, {a, power(half)}, 4);
  const VReg second = emit(multiply, {first, power(rest)}, 4);
  const VReg is_nan = emit_imm(pick(Inst::kIdVcmpps, Inst::kIdVcmppd), {b, b}, 3, 4);
  return logic(Op::Or, second, is_nan);
}

// --- apart from the loop ---------------------------------------------------------------------------------------------

/// Computes a * 2^b with AVX-512. No result is below the normal numbers where b is at least the bound, for |a| >= 1/16.
VReg X86Selector::scale_apart(const kir::Inst& inst) {
  const VReg a = reg(inst.a), b = reg(inst.b);
  set_type(inst.type);
  const bool f32 = inst.type == Type::f32;
  MInst& low =
      push_mask(pick(Inst::kIdVcmpps, Inst::kIdVcmppd), {b, constant(f32 ? bits_of(-122.0f) : bits_of(-1018.0))});
  low.form = x86_form::kImmediate;
  low.imm = kBelow;
  low.folds = 2;
  low.latency = 3;
  const VReg mask = low.def;
  // Numbers from `unit` to 2 `unit`, those raised by 2^64 that would be subnormal, have the least subnormal number,
  // raised likewise, as the unit of their last place.
  const std::array<std::uint32_t, 4> singles = {std::bit_cast<std::uint32_t>(64.0f), 0x8000'0000u,
                                                std::bit_cast<std::uint32_t>(0x1p-62f),
                                                std::bit_cast<std::uint32_t>(0x1p-61f)};
  const std::array<std::uint64_t, 4> doubles = {bits_of(64.0), 0x8000'0000'0000'0000u, bits_of(0x1p-958),
                                                bits_of(0x1p-957)};
  const void* constants = f32 ? static_cast<const void*>(singles.data()) : doubles.data();
  const std::uint32_t bytes = 4u * lane_;
  const std::int32_t disp = pool_.add_bytes(static_cast<const std::uint8_t*>(constants), bytes, bytes);
  MInst& made = push(static_cast<std::uint32_t>(X86Pseudo::scale_apart), {a, b, mask});
  made.form = x86_form::kPseudo;
  made.imm = static_cast<std::uint32_t>(disp);
  made.early_def = true;
  made.latency = 5;
  return made.def;
}

void X86Emitter::scale_apart(const MInst& m, const Placed& p) {
  const bool narrow = f_[m.def].lane_bytes == 4;
  const auto vector = [&](std::uint8_t reg) { return register_operand(RegClass::vector, m.def_width, reg); };
  ScaledApart& rare = scaled_apart_.emplace_back();
  rare = {assembler_.newLabel(), assembler_.newLabel(), m, p};
  const x86::KReg mask(p.use[2]);
  assembler_.kortestw(mask, mask);
  assembler_.jnz(rare.entry);
  emit(narrow ? Inst::kIdVscalefps : Inst::kIdVscalefpd, {vector(p.def), vector(p.use[0]), vector(p.use[1])});
  assembler_.bind(rare.back);
}

/// Emits what the loop branches to. a 2^b is raised by 2^64, to where it is exact or far below the least subnormal
/// number. Its size and `unit` are added, which rounds it once, as gradual underflow does: the sum less `unit`, of
/// integers, is the result, if the sum is below `normal`. The other lanes are the instruction's, NaN among them. The
/// mask, which nothing reads after, becomes that of these lanes.
void X86Emitter::scaled_apart(const ScaledApart& rare) {
  const MInst& m = rare.inst;
  const std::uint8_t lane = f_[m.def].lane_bytes;
  const bool narrow = lane == 4;
  const auto pick = [&](std::uint32_t id32, std::uint32_t id64) { return narrow ? id32 : id64; };
  const auto vector = [&](std::uint8_t reg) { return register_operand(RegClass::vector, m.def_width, reg); };
  const auto constant = [&](Apart which) {
    const auto disp = static_cast<std::int32_t>(m.imm) + lane * static_cast<std::int32_t>(which);
    x86::Mem one = memory({.place = Place::pool, .lane_bytes = lane, .broadcast = true, .disp = disp}, m.def_width);
    one.setBroadcast(static_cast<x86::Mem::Broadcast>(std::countr_zero(std::uint32_t{m.def_width} / lane)));
    return one;
  };
  const auto with_immediate = [&](std::uint32_t id, asmjit::Operand first, asmjit::Operand second,
                                  const x86::Mem& third, std::uint8_t immediate) {
    std::array<asmjit::Operand_, 6> operands = {first, second, third, asmjit::Imm(immediate)};
    emit(id, operands.data(), 4, 1);
  };
  constexpr std::uint8_t kWithout = 0x50, kWithBits = 0xF8;  // x & ~z; x | (y & z)
  const asmjit::Operand def = vector(rare.placed.def), a = vector(rare.placed.use[0]), b = vector(rare.placed.use[1]);
  const x86::KReg mask(rare.placed.use[2]);
  const std::uint32_t scale = pick(Inst::kIdVscalefps, Inst::kIdVscalefpd);
  const std::uint32_t bitwise = pick(Inst::kIdVpternlogd, Inst::kIdVpternlogq);
  assembler_.bind(rare.entry);
  emit(pick(Inst::kIdVaddps, Inst::kIdVaddpd), {def, b, constant(Apart::raise)});
  emit(scale, {def, a, def});
  with_immediate(bitwise, def, def, constant(Apart::sign), kWithout);
  emit(pick(Inst::kIdVaddps, Inst::kIdVaddpd), {def, def, constant(Apart::unit)});
  assembler_.k(mask);
  with_immediate(pick(Inst::kIdVcmpps, Inst::kIdVcmppd), mask, def, constant(Apart::normal), kBelow);
  emit(pick(Inst::kIdVpsubd, Inst::kIdVpsubq), {def, def, constant(Apart::unit)});
  with_immediate(bitwise, def, a, constant(Apart::sign), kWithBits);
  assembler_.knotw(mask, mask);
  assembler_.k(mask);
  emit(scale, {def, a, b});
  assembler_.jmp(rare.back);
}

}  // namespace trident::codegen
