#include "jit/codegen/speculative.h"

#include <algorithm>

#include "jit/codegen/driver.h"

namespace trident::codegen {

ArrayBytes array_bytes(const kir::Kernel& kernel) {
  ArrayBytes bytes;
  for (const kir::Input& input : kernel.inputs)
    bytes.inputs.push_back(input.is_table() ? 0 : kir::element_bytes(input));
  for (const kir::Output& output : kernel.outputs) bytes.outputs.push_back(kir::element_bytes(kernel, output));
  return bytes;
}

bool runs_in_parts(const kir::Kernel& kernel) {
  const auto asks = [](const kir::Inst& inst) {
    return inst.section == kir::Section::epilogue || inst.op == kir::Op::Count || inst.op == kir::Op::Index ||
           inst.op == kir::Op::Strided;
  };
  return kernel.before.empty() && !kernel.has_scalar_output() &&
         std::none_of(kernel.insts.begin(), kernel.insts.end(), asks);
}

Result<MachineCode> join_speculative(const MachineCode& fast, const MachineCode& general, const ArrayBytes& arrays,
                                     const Division& division, Isa isa) {
  const bool arm = isa == Isa::neon;
  UnwindWriter unwind(arm ? kUnwindA64 : kUnwindX86);
  Joined joined =
      arm ? drive_a64(fast, general, arrays, division, unwind) : drive_x86(fast, general, arrays, division, unwind);
  return whole_code(fast, general, fast, std::move(joined), unwind);
}

Result<MachineCode> join_selected(const Selected& kernels, std::uint32_t shortest, Isa isa) {
  const bool arm = isa == Isa::neon;
  UnwindWriter unwind(arm ? kUnwindA64 : kUnwindX86);
  Joined joined = arm ? select_a64(kernels, shortest, unwind) : select_x86(kernels, shortest, unwind);
  return whole_code(kernels.scan, kernels.fast, kernels.fast, std::move(joined), unwind, &kernels.general);
}

}  // namespace trident::codegen
