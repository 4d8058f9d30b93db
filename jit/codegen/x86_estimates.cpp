// Ops of one operand share all but their last step, quotients what depends on the divisor alone.
//
// Roots of 14 bits tell zeros and infinity by their class beside the steps, and blend at the end: an instruction less
// in the chain than a comparison of the result with itself, and no branch, for zeros are common. The others test for
// doubtful operands, unless the flag says that there are none. A vector with any such lane branches to code behind the
// loop, which does the exact operation in the doubtful lanes; where nothing may branch, it is done beside the steps.
#include "jit/codegen/x86_estimates.h"

#include <asmjit/x86.h>

#include <algorithm>
#include <cmath>

#include "jit/codegen/x86_select.h"
#include "jit/kir/estimates.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using kir::Op;

namespace {

/// Classes of vfpclassps: both zeros, +infinity.
constexpr std::uint8_t kOwnRoot = 0x02 | 0x04 | 0x08;
/// Predicate of vcmpps: not a < b, so true for NaN; quiet.
constexpr std::uint8_t kNotBelow = 0x15;
constexpr std::uint8_t kRootLatency = 5, kReciprocalLatency = 5;

bool is_inverse(Op op) {
  return op == Op::Rsqrt14 || op == Op::Rsqrt12;
}

}  // namespace

X86Estimates::Root& X86Estimates::root(kir::Value of) {
  const auto known = std::ranges::find(roots_, of, &Root::of);
  if (known != roots_.end()) return *known;
  Root made;
  made.of = of;
  made.x = s_.reg(of);
  s_.set_type(ir::Type::f32);
  const bool wide = s_.target_.avx512;
  made.y = s_.emit(wide ? Inst::kIdVrsqrt14ps : Inst::kIdVrsqrtps, {made.x}, kRootLatency);
  made.g = s_.emit(Inst::kIdVmulps, {made.x, made.y}, 4);
  if (wide) {
    const VReg half = s_.constant(bits_of(0.5f));
    made.r = s_.fused(Inst::kIdVfnmadd132ps, made.g, s_.emit(Inst::kIdVmulps, {made.y, half}, 4, 2), half);
    MInst& special = s_.push_mask(Inst::kIdVfpclassps, {made.x});
    special.form = x86_form::kImmediate;
    special.imm = kOwnRoot;
    special.latency = 4;
    made.special = special.def;
  } else {
    made.r = s_.fused(Inst::kIdVfnmadd132ps, made.g, made.y, s_.constant(bits_of(1.0f)));
    made.p = s_.fused(Inst::kIdVfmadd132ps, made.r, s_.constant(bits_of(0.375f)), s_.constant(bits_of(0.5f)));
  }
  roots_.push_back(made);
  return roots_.back();
}

VReg X86Estimates::select_root14(const kir::Inst& inst) {
  const Root& of = root(inst.a);
  const VReg first = is_inverse(inst.op) ? of.y : of.g;
  return s_.blend(of.special, is_inverse(inst.op) ? of.y : of.x, s_.fused(Inst::kIdVfmadd132ps, of.r, first, first));
}

VReg X86Estimates::select_root12(const kir::Inst& inst) {
  Root& of = root(inst.a);
  const VReg first = is_inverse(inst.op) ? of.y : of.g;
  const VReg sum = s_.fused(Inst::kIdVfmadd132ps, s_.emit(Inst::kIdVmulps, {first, of.r}, 4), of.p, first);
  if (inst.flags == kir::kNormal) return sum;
  if (!of.doubtful.valid()) {
    of.doubtful = s_.emit_imm(Inst::kIdVcmpps, {of.g, s_.constant(bits_of(INFINITY))}, kNotBelow, 4);
  }
  if (is_inverse(inst.op))
    return exact_where_doubtful(sum, {of.x, s_.constant(bits_of(1.0f))}, of.doubtful, x86_exact::kInverseRoot);
  return exact_where_doubtful(sum, {of.x}, of.doubtful, x86_exact::kRoot);
}

X86Estimates::Reciprocal& X86Estimates::reciprocal(kir::Value of) {
  const auto known = std::ranges::find(reciprocals_, of, &Reciprocal::of);
  if (known != reciprocals_.end()) return *known;
  Reciprocal made;
  made.of = of;
  made.b = s_.reg(of);
  s_.set_type(ir::Type::f32);
  const bool wide = s_.target_.avx512;
  made.y = s_.emit(wide ? Inst::kIdVrcp14ps : Inst::kIdVrcpps, {made.b}, kReciprocalLatency);
  if (!wide) {
    const VReg r = s_.fused(Inst::kIdVfnmadd132ps, made.b, made.y, s_.constant(bits_of(1.0f)));
    made.series = s_.fused(Inst::kIdVfmadd132ps, r, r, r);
  }
  reciprocals_.push_back(made);
  return reciprocals_.back();
}

/// Adds "is middle" to the lanes that have passed so far: 128 exponents from the least on, which the sum moves up to
/// where their top bit is set.
VReg X86Estimates::middle14(VReg so_far, VReg value) {
  constexpr std::uint32_t kTopBit = 1u << 30;
  const VReg moved =
      s_.emit(Inst::kIdVpaddd, {value, s_.constant(std::uint64_t{128 - kir::kMiddleExponent} << 23)}, 1, 2);
  return s_.require_bits(so_far, moved, kTopBit);
}

VReg X86Estimates::select_quotient14(const kir::Inst& inst) {
  Reciprocal& of = reciprocal(inst.b);
  const VReg a = s_.reg(inst.a);
  s_.set_type(ir::Type::f32);
  // 1 y needs no product.
  const bool inverse = s_.kernel_.at(inst.a).op == Op::Constant && s_.kernel_.at(inst.a).imm == bits_of(1.0f);
  const VReg q = inverse ? of.y : s_.emit(Inst::kIdVmulps, {of.y, a}, 4, 2);
  const VReg sum = s_.fused(Inst::kIdVfmadd132ps, s_.fused(Inst::kIdVfnmadd132ps, of.b, q, a), of.y, q);
  if (inst.flags == kir::kNormal) return sum;
  if (!of.middle.valid()) of.middle = middle14({}, of.b);
  return exact_where_doubtful(sum, {a, of.b}, middle14(of.middle, sum), x86_exact::kQuotient);
}

VReg X86Estimates::select_quotient12(const kir::Inst& inst) {
  const Reciprocal of = reciprocal(inst.b);
  const VReg a = s_.reg(inst.a);
  s_.set_type(ir::Type::f32);
  const bool inverse = s_.kernel_.at(inst.a).op == Op::Constant && s_.kernel_.at(inst.a).imm == bits_of(1.0f);
  const VReg q = inverse ? of.y : s_.emit(Inst::kIdVmulps, {of.y, a}, 4, 2);
  const VReg sum = s_.fused(Inst::kIdVfmadd132ps, q, of.series, q);
  if (inst.flags == kir::kNormal) return sum;
  // The sign of what is left of the exponent says whether it is one of the 128 from the least on.
  const VReg exponent = s_.emit(Inst::kIdVpaddd, {sum, sum});
  const VReg doubtful = s_.emit(Inst::kIdVpaddd, {exponent, s_.constant(0u - (kir::kMiddleExponent << 24))}, 1, 2);
  return exact_where_doubtful(sum, {a, of.b}, doubtful, x86_exact::kQuotient);
}

/// Returns `result`, but the exact operation's in lanes that fail `condition`, as X86Selector::require_bits has it.
VReg X86Estimates::exact_where_doubtful(VReg result, std::initializer_list<VReg> operands, VReg condition,
                                        std::uint8_t how) {
  if (s_.context_ == X86Selector::Context::body && !s_.masked_)
    return s_.guarded(result, operands, condition, how | x86_exact::kLanes);
  const auto divider = [&](std::uint32_t id, std::initializer_list<VReg> uses) {
    MInst& made = s_.push(id, uses);
    made.unit = Unit::divider;
    made.latency = 17;
    return made.def;
  };
  const VReg* const operand = operands.begin();
  VReg exact;
  if (how == x86_exact::kQuotient) {
    exact = divider(Inst::kIdVdivps, {operand[0], operand[1]});
  } else {
    exact = divider(Inst::kIdVsqrtps, {operand[0]});
    if (how == x86_exact::kInverseRoot) exact = divider(Inst::kIdVdivps, {operand[1], exact});
  }
  return s_.target_.avx512 ? s_.blend(condition, result, exact) : s_.blend(condition, exact, result);
}

VReg X86Estimates::select(const kir::Inst& inst) {
  const bool wide = s_.target_.avx512;
  CHECK(kir::estimate_bits(inst.op) == (wide ? 14u : 12u));  // codegen::emit refuses others
  if (kir::info(inst.op).arity == 1) return wide ? select_root14(inst) : select_root12(inst);
  return wide ? select_quotient14(inst) : select_quotient12(inst);
}

}  // namespace trident::codegen
