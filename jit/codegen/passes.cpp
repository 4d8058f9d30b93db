#include "jit/codegen/passes.h"

#include "jit/codegen/driver.h"

namespace trident::codegen {

Result<MachineCode> join_passes(const MachineCode& before, const MachineCode& pass, const kir::Kernel& kernel,
                                Isa isa) {
  const PassShape shape = {.params = static_cast<std::uint32_t>(kernel.params.size()),
                           .results = static_cast<std::uint32_t>(kernel.before.front().outputs.size()),
                           .always = kernel.has_scalar_output()};
  const bool arm = isa == Isa::neon;
  UnwindWriter unwind(arm ? kUnwindA64 : kUnwindX86);
  Joined joined = arm ? drive_passes_a64(before, pass, shape, unwind) : drive_passes_x86(before, pass, shape, unwind);
  return whole_code(before, pass, pass, std::move(joined), unwind);
}

}  // namespace trident::codegen
