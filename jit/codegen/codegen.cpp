#include "jit/codegen/codegen.h"

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

Result<MachineCode> emit(const kir::Kernel& kernel, Isa isa, const Variant& variant) {
  switch (isa) {
    case Isa::avx2:
    case Isa::avx512: return emit_x86(kernel, isa, variant);
    case Isa::neon: return make_error(ErrorCode::kUnsupported, "this build emits no NEON code");
  }
  CHECK(false);
}

std::vector<Variant> variants(const kir::Kernel& kernel, Isa isa) {
  static_cast<void>(kernel);
  static_cast<void>(isa);
  std::vector<Variant> result;
  for (const int vectors : {2, 4, 1, 3}) result.push_back({.vectors = static_cast<std::uint8_t>(vectors)});
  return result;
}

}  // namespace trident::codegen
