// Kernels of several passes (kir.h): the code of each pass, and a driver that calls one after the other.
//
//   driver (the entry) | code and constants of the pass before | code and constants of the last pass
//
// The driver keeps the results of the pass before in its frame, behind the parameters of the call: together they are
// the parameters of the last pass. A pass before may itself be such code.
#pragma once

#include <cstdint>

#include "jit/codegen/codegen.h"

namespace trident::codegen {

/// The scalars between two passes.
struct PassShape {
  std::uint32_t params = 0;   ///< of the call
  std::uint32_t results = 0;  ///< of the pass before
  bool always = false;        ///< a call of no elements has results, too
};

/// Joins the code of `kernel`'s pass with that of the passes before it.
/// Errors: LimitExceeded (code too large).
Result<MachineCode> join_passes(const MachineCode& before, const MachineCode& pass, const kir::Kernel& kernel, Isa isa);

}  // namespace trident::codegen
