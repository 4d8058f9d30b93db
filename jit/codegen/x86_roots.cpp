// The ops of one operand share all but their last step.
//
// Zeros and infinity are told by their class beside the steps, and blended at the end: an instruction less in the
// chain than a comparison of the result with itself, and no branch, for zeros are common.
#include "jit/codegen/x86_roots.h"

#include <asmjit/x86.h>

#include <algorithm>

#include "jit/codegen/x86_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;

namespace {

constexpr std::uint64_t kHalf = 0x3F00'0000u;
/// Classes of vfpclassps: both zeros, +infinity.
constexpr std::uint8_t kOwnRoot = 0x02 | 0x04 | 0x08;

}  // namespace

X86Roots::Step X86Roots::step(kir::Value of) {
  const auto known = std::ranges::find(steps_, of, &Step::of);
  if (known != steps_.end()) return *known;
  Step made;
  made.of = of;
  made.x = s_.reg(of);
  s_.set_type(ir::Type::f32);
  made.y = s_.emit(Inst::kIdVrsqrt14ps, {made.x}, 5);
  made.g = s_.emit(Inst::kIdVmulps, {made.x, made.y}, 4);
  const VReg half = s_.constant(kHalf);
  made.r = s_.fused(Inst::kIdVfnmadd132ps, made.g, s_.emit(Inst::kIdVmulps, {made.y, half}, 4, 2), half);
  MInst& special = s_.push_mask(Inst::kIdVfpclassps, {made.x});
  special.form = x86_form::kImmediate;
  special.imm = kOwnRoot;
  special.latency = 4;
  made.special = special.def;
  steps_.push_back(made);
  return made;
}

VReg X86Roots::select(const kir::Inst& inst) {
  CHECK(s_.target_.avx512);  // codegen::emit refuses others
  const Step of = step(inst.a);
  const bool inverse = inst.op == kir::Op::Rsqrt14;
  const VReg first = inverse ? of.y : of.g;
  return s_.blend(of.special, inverse ? of.y : of.x, s_.fused(Inst::kIdVfmadd132ps, of.r, first, first));
}

}  // namespace trident::codegen
