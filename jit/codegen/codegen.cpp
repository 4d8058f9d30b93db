#include "jit/codegen/codegen.h"

#include "jit/codegen/a64_loop.h"
#include "jit/codegen/passes.h"
#include "jit/codegen/x86_loop.h"
#include "runtime/base/check.h"

namespace trident::codegen {

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::neon: return "neon";
  }
  CHECK(false);
}

std::uint32_t estimate_bits(Isa isa) {
  return isa == Isa::avx512 ? 14 : isa == Isa::avx2 ? 12 : 0;
}

namespace {

Result<MachineCode> emit_pass(const kir::Kernel& kernel, Isa isa, const Variant& variant) {
  switch (isa) {
    case Isa::avx2:
    case Isa::avx512: return emit_x86(kernel, isa, variant);
    case Isa::neon: return emit_a64(kernel, variant);
  }
  CHECK(false);
}

}  // namespace

Result<MachineCode> emit(const kir::Kernel& kernel, Isa isa, const Variant& variant) {
  if (!kir::has_estimates_only_of(estimate_bits(isa), kernel))
    return make_error(ErrorCode::kUnsupported, "%s code lacks one of the kernel's estimates", name_of(isa).data());
  TRY(MachineCode code, emit_pass(kernel, isa, variant));
  if (kernel.before.empty()) return code;
  TRY(const MachineCode before, emit(kernel.before.front(), isa, variant));
  return join_passes(before, code, kernel, isa);
}

}  // namespace trident::codegen
