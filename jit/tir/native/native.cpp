#include "jit/tir/native/native.h"

#include <array>

#include "runtime/base/limits.h"
#include "runtime/os/cpu.h"

namespace trident::tir::native {

Result<codegen::Isa> best_isa() {
  if (os::cpu_features().avx512) return codegen::Isa::avx512;
  if (os::cpu_features().avx2_fma) return codegen::Isa::avx2;
  return make_error(ErrorCode::kUnsupported, "this processor has no instruction set that blocks are compiled for");
}

Result<NativeBlock> NativeBlock::compile(std::span<const tasm::Instruction> block, codegen::Isa isa,
                                         const codegen::Variant& variant) {
  TRY(Translation translation, translate(block));
  TRY(const codegen::MachineCode code, codegen::emit(translation.kernel, isa, variant));
  const image::ImageBytes bytes = image::build(code, translation.kernel, isa, TRIDENT_TIER_BASELINE, {});
  TRY(const os::Fd file, image::seal(bytes));
  TRY(image::Mapped mapped, image::Mapped::map(file));
  return NativeBlock(std::move(translation), std::move(mapped));
}

void NativeBlock::run(std::uint64_t stacks, std::uint64_t* const* columns, std::uint64_t* failed) const {
  std::array<const void*, limits::kInputsMax> in;
  std::array<void*, limits::kOutputsMax> out;
  for (std::size_t i = 0; i < translation_.reads.size(); ++i) in[i] = columns[translation_.reads[i]];
  for (std::size_t o = 0; o < translation_.writes.size(); ++o) out[o] = columns[translation_.writes[o]];
  out[translation_.writes.size()] = failed;
  mapped_.entry()(nullptr, stacks, in.data(), out.data(), nullptr);
}

}  // namespace trident::tir::native
