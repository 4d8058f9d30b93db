#include "jit/codegen/codegen.h"

#include "jit/codegen/a64_loop.h"
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
    case Isa::neon: return emit_a64(kernel, variant);
  }
  CHECK(false);
}

std::vector<Variant> variants(const kir::Kernel& kernel, Isa isa) {
  bool divides = false;
  for (const kir::Inst& inst : kernel.insts)
    divides |= inst.section == kir::Section::body && (inst.op == kir::Op::Div || inst.op == kir::Op::Sqrt);
  std::vector<Variant> result;
  const auto add = [&](int vectors, int newton) {
    result.push_back({.vectors = static_cast<std::uint8_t>(vectors), .newton = static_cast<std::uint8_t>(newton)});
  };
  for (const int vectors : {2, 4, 1, 3, 8}) {
    if (divides && isa != Isa::neon && vectors != 3 && vectors != 8) {
      for (const int newton : {4, 6, 8}) add(vectors, newton);
    }
    add(vectors, 0);
  }
  return result;
}

}  // namespace trident::codegen
