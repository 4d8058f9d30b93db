// Division and square root without the divider: an estimate, Newton steps, and a correction by the exact remainder that
// gives the same bits as the correctly rounded instruction.
//
//   division     y ~ 1/b, so accurate that it is the rounded reciprocal but for ties; q = a y; r = a - b q (exact in a
//                multiply-add); q' = q + r y
//   square root  g ~ sqrt x, h ~ 1 / (2 sqrt x) by Goldschmidt's steps; d = x - g g; g' = g + d h
//
// Why the bits are right. a/b never lies on a midpoint between two floats; of p-bit significands A, B it is at least
// 1 / (2B) ulp away from one. q' is rounded from a/b + (r/b) eps with eps = y b - 1, and |r/b| is half an ulp where it
// matters. eps is at most b 2^-(p+1) (b in [1, 2)) when y is the rounded reciprocal, and a little more when 1/b is so
// close to a midpoint that the steps round it the other way. Both together can fail only for b just below 2, where y
// has a significand of 1.000...; the guard sends those lanes (and powers of two, which need not suffer) to the divider.
// For f32 all divisors were enumerated with every y that an estimate within its bound allows, for f64 the dangerous
// neighbourhood was; square roots have so few hard cases that all of them were (campaign/division_campaign.cpp). None
// of it depends on the bits of the estimate, which differ between makers, only on its stated bound.
//
// Several quotients by one divisor share its reciprocal; it may then as well come from the divider, rounded.
//
// The remainder must not underflow: the flags of kir.h say what is proven of the operands; the guard tests the rest. A
// vector with any doubtful lane branches to code behind the loop that divides in hardware.
#include <asmjit/x86.h>

#include <bit>

#include "jit/codegen/x86_select.h"
#include "jit/kir/interpreter.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using kir::Op;

namespace {

constexpr std::uint64_t one_bits(std::uint8_t lane) {
  return lane == 4 ? 0x3F80'0000u : 0x3FF0'0000'0000'0000u;
}
constexpr std::uint64_t half_bits(std::uint8_t lane) {
  return lane == 4 ? 0x3F00'0000u : 0x3FE0'0000'0000'0000u;
}
/// Returns the bits of a reciprocal's significand that are all zero where the guard has to act: |1/b| in (1, 1 + 2^-16]
/// 2^k for f32, (1, 1 + 2^-24] 2^k for f64.
constexpr std::uint64_t high_significand(std::uint8_t lane) {
  return lane == 4 ? 0x007F'FF80u : 0x000F'FFFF'F000'0000u;
}
/// Returns the two top bits of the exponent: both zero below 2^-63 (f32), 2^-511 (f64).
constexpr std::uint64_t high_exponent(std::uint8_t lane) {
  return lane == 4 ? 0x6000'0000u : 0x6000'0000'0000'0000u;
}

}  // namespace

/// Returns 2^-k for a divisor 2^k, or invalid: a * 2^-k has the bits of a / 2^k as long as 2^-k is normal.
VReg X86Selector::exact_reciprocal(const kir::Inst& inst) {
  const kir::Inst& divisor = kernel_.at(inst.b);
  if (divisor.op != Op::Constant) return {};
  const int mantissa = lane_ == 4 ? 23 : 52;
  const std::uint64_t exponent_mask = lane_ == 4 ? 0xFF : 0x7FF;
  const std::uint64_t exponent = divisor.imm >> mantissa & exponent_mask;
  const bool power_of_two = (divisor.imm & ((std::uint64_t{1} << mantissa) - 1)) == 0;
  if (!power_of_two || exponent < 2 || exponent > exponent_mask - 3) return {};
  const std::uint64_t sign = divisor.imm >> mantissa & ~exponent_mask;
  return constant((sign | (exponent_mask - 1 - exponent)) << mantissa);
}

/// Returns whether the division or square root being selected avoids the divider: a fixed share of them, spread evenly,
/// so that the divider and the multipliers both have work.
bool X86Selector::takes_newton_form(const kir::Inst& inst) {
  if (context_ != Context::body || masked_) return false;
  const bool division = inst.op == Op::Div;
  if (division && kernel_.at(inst.b).op == Op::Constant) {
    if (options_.newton == 0) return false;
    // The rounded reciprocal is a constant, which makes the form cheap; it must not be one of those that need a guard.
    const std::uint64_t divisor = kernel_.at(inst.b).imm;
    const std::uint64_t rounded = kir::eval_lane(Op::Div, inst.type, inst.type, one_bits(lane_), divisor, 0);
    return inst.flags != 0 && (rounded & high_significand(lane_)) != 0;
  }
  if (division && shares_divisor(inst)) return true;
  return spends_newton_share(inst.type, inst.flags);
}

bool X86Selector::shares_divisor(const kir::Inst& inst) const {
  return options_.share_divisors && inst.flags != 0 && quotients_[inst.b.index] > 1;
}

bool X86Selector::spends_newton_share(ir::Type type, std::uint8_t flags) {
  if (!target_.avx512 && (type == ir::Type::f64 || flags == 0)) return false;  // no gain
  newton_share_ += options_.newton;
  if (newton_share_ < kNewtonAll) return false;
  newton_share_ -= kNewtonAll;
  return true;
}

/// Adds "one of `bits` is set" to the conditions under which a lane's result holds. Conditions are the lanes that pass
/// with AVX-512, where comparisons narrow a mask for nothing, and the lanes that fail with AVX2.
VReg X86Selector::require_bits(VReg so_far, VReg value, std::uint64_t bits) {
  if (target_.avx512) {
    MInst& test = push_mask(pick(Inst::kIdVptestmd, Inst::kIdVptestmq), {value, constant(bits)});
    if (so_far.valid()) {
      test.use[test.uses++] = so_far;
      test.form = x86_form::kMasked;
    }
    test.folds = 2;
    test.latency = 3;
    return test.def;
  }
  const VReg kept = logic(Op::And, constant(bits), value);
  const VReg zero = constant(0);
  const VReg without = emit(pick(Inst::kIdVpcmpeqd, Inst::kIdVpcmpeqq), {zero, kept});
  return so_far.valid() ? logic(Op::Or, so_far, without) : without;
}

/// Adds "low <= value < low + span, as unsigned integers" (AVX-512 only).
VReg X86Selector::require_range(VReg so_far, VReg value, std::uint64_t low, std::uint64_t span) {
  const VReg above = emit(pick(Inst::kIdVpsubd, Inst::kIdVpsubq), {value, constant(low)}, 1, 2);
  MInst& compare = below(above, constant(span));
  if (so_far.valid()) {
    compare.use[compare.uses++] = so_far;
    compare.form = x86_form::kImmediate | x86_form::kMasked;
  }
  return compare.def;
}

/// Adds "the magnitude is in [2^-31, 2^33) (f32) or [2^-255, 2^257) (f64)": quotients of such lanes and their
/// remainders stay normal.
VReg X86Selector::require_middle(VReg so_far, VReg value) {
  const VReg magnitude = emit(pick(Inst::kIdVpaddd, Inst::kIdVpaddq), {value, value});  // doubling drops the sign
  return lane_ == 4 ? require_range(so_far, magnitude, std::uint64_t{96} << 24, std::uint64_t{64} << 24)
                    : require_range(so_far, magnitude, std::uint64_t{768} << 53, std::uint64_t{512} << 53);
}

/// Returns 1/b, rounded but for ties. A constant's is exact, except in cases that the constant itself shows.
X86Selector::Reciprocal X86Selector::reciprocal(const kir::Inst& quotient) {
  const kir::Value b = quotient.b;
  for (const Reciprocal& known : reciprocals_)
    if (known.divisor == b) return known;
  const kir::Inst& inst = kernel_.at(b);
  if (inst.op == Op::Constant) {
    const std::uint64_t rounded = kir::eval_lane(Op::Div, inst.type, inst.type, one_bits(lane_), inst.imm, 0);
    reciprocals_.push_back({b, constant(rounded), {}, true});  // needs no guard, see takes_newton_form
    return reciprocals_.back();
  }
  const VReg divisor = reg(b);
  const VReg one = constant(one_bits(lane_));
  if (quotient.flags != 0 && shares_divisor(quotient) && !spends_newton_share(quotient.type, quotient.flags)) {
    MInst& divide = push(pick(Inst::kIdVdivps, Inst::kIdVdivpd), {one, divisor});
    divide.unit = Unit::divider;
    divide.latency = 17;
    divide.occupancy = static_cast<std::uint8_t>((lane_ == 4 ? 10 : 16) * width_ / 64);
    const VReg y = divide.def;
    const Reciprocal made{b, y, require_bits({}, y, high_significand(lane_)), true};
    reciprocals_.push_back(made);
    return made;
  }
  const std::uint32_t add = pick(Inst::kIdVfmadd132ps, Inst::kIdVfmadd132pd);
  const std::uint32_t subtract = pick(Inst::kIdVfnmadd132ps, Inst::kIdVfnmadd132pd);
  const VReg estimate =
      emit(target_.avx512 ? pick(Inst::kIdVrcp14ps, Inst::kIdVrcp14pd) : Inst::kIdVrcpps, {divisor}, 7);
  block_->insts.back().occupancy = 2;
  // y (1 + e + e^2) leaves an error of e^3; f64 needs another, plain step.
  const VReg e = fused(subtract, divisor, estimate, one);
  const VReg e2 = fused(add, e, e, e);
  VReg y = fused(add, estimate, e2, estimate);
  if (lane_ == 8) y = fused(add, y, fused(subtract, divisor, y, one), y);
  const Reciprocal made{b, y, require_bits({}, y, high_significand(lane_)), false};
  reciprocals_.push_back(made);
  return made;
}

/// Returns `result`, but that of the exact operation `how` (x86_exact) where a lane fails `condition`.
VReg X86Selector::guarded(VReg result, std::initializer_list<VReg> operands, VReg condition, std::uint8_t how) {
  if (!condition.valid()) return result;
  VReg work;
  if ((how & x86_exact::kLanes) != 0 && !target_.avx512) {
    MInst& scratch = push(static_cast<std::uint32_t>(X86Pseudo::scratch), {});
    scratch.form = x86_form::kPseudo;
    scratch.unit = Unit::none;
    work = scratch.def;
  }
  MInst& guard = push(static_cast<std::uint32_t>(X86Pseudo::divide_if), {result});
  for (const VReg operand : operands) guard.use[guard.uses++] = operand;
  guard.use[guard.uses++] = condition;
  if (work.valid()) guard.use[guard.uses++] = work;
  guard.form = x86_form::kPseudo;
  guard.imm = how;
  guard.ties = 1;
  guard.latency = 1;
  return guard.def;
}

VReg X86Selector::newton_divide(const kir::Inst& inst) {
  const VReg a = reg(inst.a);
  set_type(inst.type);
  const Reciprocal y = reciprocal(inst);
  const kir::Inst& dividend = kernel_.at(inst.a);
  if (y.rounded && dividend.op == Op::Constant && dividend.imm == one_bits(lane_)) return y.value;
  const VReg b = reg(inst.b);
  const std::uint32_t add = pick(Inst::kIdVfmadd132ps, Inst::kIdVfmadd132pd);
  const std::uint32_t subtract = pick(Inst::kIdVfnmadd132ps, Inst::kIdVfnmadd132pd);
  MInst& product = push(pick(Inst::kIdVmulps, Inst::kIdVmulpd), {y.value, a});
  product.latency = 4;
  product.folds = 2;
  const VReg q = product.def;
  const VReg rest = fused(subtract, q, b, a);
  const VReg corrected = fused(add, rest, y.value, q);
  VReg condition = y.condition;
  if (inst.flags == kir::kBounded) condition = require_bits(condition, a, high_exponent(lane_));
  if (inst.flags == 0) condition = require_middle(require_middle(condition, a), b);
  return guarded(corrected, {a, b}, condition, x86_exact::kQuotient);
}

VReg X86Selector::newton_sqrt(const kir::Inst& inst) {
  const VReg x = reg(inst.a);
  set_type(inst.type);
  const std::uint32_t add = pick(Inst::kIdVfmadd132ps, Inst::kIdVfmadd132pd);
  const std::uint32_t subtract = pick(Inst::kIdVfnmadd132ps, Inst::kIdVfnmadd132pd);
  const std::uint32_t multiply = pick(Inst::kIdVmulps, Inst::kIdVmulpd);
  const VReg half = constant(half_bits(lane_));
  const VReg estimate =
      emit(target_.avx512 ? pick(Inst::kIdVrsqrt14ps, Inst::kIdVrsqrt14pd) : Inst::kIdVrsqrtps, {x}, 7);
  block_->insts.back().occupancy = 2;
  VReg g = emit(multiply, {x, estimate}, 4);
  VReg h = emit(multiply, {estimate, half}, 4, 2);
  for (int step = 0; step < (lane_ == 4 ? 1 : 2); ++step) {
    VReg r = fused(subtract, g, h, half);
    if (!target_.avx512)  // the estimate has only 12 bits: one term more, r + 3/2 r^2
      r = fused(add, emit(multiply, {r, constant(std::bit_cast<std::uint32_t>(1.5f))}, 4, 2), r, r);
    g = fused(add, g, r, g);
    h = fused(add, h, r, h);
  }
  const VReg rest = fused(subtract, g, g, x);
  const VReg corrected = fused(add, rest, h, g);
  if (inst.flags == kir::kNormal && target_.avx512) return corrected;
  VReg condition;
  if (!target_.avx512) {
    // The 12-bit estimate can fail for one significand: all ones, whose root lies closest of all to a midpoint.
    const VReg not_ones = logic(Op::AndNot, x, constant(0x007F'FFFFu));
    condition = emit(Inst::kIdVpcmpeqd, {constant(0), not_ones});
  }
  if (inst.flags == kir::kBounded)
    condition = require_bits(condition, x, high_exponent(lane_));
  else if (inst.flags == 0)  // in [2^-63, 2^65), so neither negative nor NaN
    condition = lane_ == 4 ? require_range({}, x, 0x2000'0000u, 0x4000'0000u)
                           : require_range({}, x, 0x2000'0000'0000'0000u, 0x4000'0000'0000'0000u);
  return guarded(corrected, {x}, condition, x86_exact::kRoot);
}

}  // namespace trident::codegen
