// One call of a function: checks the arguments, sets up frame and windows on the stack, runs code, reads the outcome.
//
//   trident_argument[] ──check──> windows: the caller's own arrays, then memory lent to local arrays
//                                 frame:   budget, values, numbers of elements, later failure and result
//
// Arrays are not copied: windows lead to the caller's memory. The code reads and writes nothing outside of them.
#pragma once

#include <cstdint>
#include <span>

#include "clients/c/trident_function.h"
#include "jit/function/lower.h"
#include "jit/region/region.h"

namespace trident::client {

/// Machine code of a region.
using RegionEntry = void(void* frame, const region::Window* windows);

/// Runs a call: the interpreter of `lowered`, or an image's code with the layout of its description.
struct Runner {
  const function::Layout& layout;
  const region::Region* region = nullptr;  ///< interpreted
  RegionEntry* entry = nullptr;            ///< else
  std::uint32_t tier = 0;
};

/// Calls `function`. Errors: InvalidArgument for arguments that it does not take. A failure of the call is part of
/// `returned`; its texts belong to `function` and to the runner's layout.
Result<void> call_function(const function::Function& function, const Runner& runner,
                           std::span<const trident_argument> arguments, std::uint64_t budget,
                           trident_returned& returned);

/// trident_call() of a function that takes values alone.
void call_elements(const function::Function& function, const Runner& runner, std::uint64_t n, const void* const* in,
                   void* const* out);

/// enum trident_type of values and elements; -1 for none.
int type_of(function::Type type);

}  // namespace trident::client
