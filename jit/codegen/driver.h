// The drivers of speculative kernels (speculative.h), one for each host: x86_driver.cpp, a64_driver.cpp.
#pragma once

#include <asmjit/core.h>

#include <span>

#include "jit/codegen/speculative.h"
#include "jit/codegen/unwind.h"

namespace trident::codegen {

/// A driver with its kernels behind it.
struct Joined {
  std::vector<std::byte> bytes;
  std::uint32_t driver_size = 0;
  std::uint32_t fast_offset = 0, general_offset = 0;  ///< multiples of 64
  bool failed = false;
};

/// Where the pieces stand in the frame of a driver, from the stack pointer on.
struct DriverFrame {
  explicit DriverFrame(const ArrayBytes& arrays)
      : outputs(static_cast<std::uint32_t>(8 * arrays.inputs.size())),
        self(outputs + static_cast<std::uint32_t>(8 * arrays.outputs.size())),
        bytes(self + 8) {}
  std::uint32_t inputs = 0;   ///< pointers to the elements that come next
  std::uint32_t outputs = 0;  ///< likewise
  std::uint32_t self = 0;
  std::uint32_t bytes = 0;
};

/// Calls f(place in the frame, bytes of an element) for each array that is no table.
template <class F>
void for_arrays(const ArrayBytes& arrays, const DriverFrame& frame, F f) {
  for (std::size_t i = 0; i < arrays.inputs.size(); ++i)
    if (arrays.inputs[i] != 0) f(frame.inputs + 8 * static_cast<std::uint32_t>(i), arrays.inputs[i]);
  for (std::size_t o = 0; o < arrays.outputs.size(); ++o)
    f(frame.outputs + 8 * static_cast<std::uint32_t>(o), arrays.outputs[o]);
}

Joined drive_x86(const MachineCode& fast, const MachineCode& general, const ArrayBytes& arrays, std::uint32_t chunk,
                 UnwindWriter& unwind);
Joined drive_a64(const MachineCode& fast, const MachineCode& general, const ArrayBytes& arrays, std::uint32_t chunk,
                 UnwindWriter& unwind);

}  // namespace trident::codegen
