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

/// The part that drivers of all hosts share: an assembler, both kernels behind the driver's code, and a frame.
template <class Assembler>
class Driver {
 public:
  /// `padding` lies between the kernels.
  Driver(asmjit::Arch arch, asmjit::AlignMode padding, const ArrayBytes& arrays, const Division& division,
         UnwindWriter& unwind)
      : arrays_(arrays), division_(division), frame_(arrays), unwind_(unwind), padding_(padding) {
    code_.init(asmjit::Environment(arch));
    code_.attach(&a_);
    fast_ = a_.newLabel();
    general_ = a_.newLabel();
    frame_bytes_ = (frame_.bytes + 15) / 16 * 16;
  }

  /// Puts the kernels behind the driver, which is emitted.
  Joined join(const MachineCode& fast, const MachineCode& general) {
    Joined joined{.bytes = {}, .driver_size = offset()};
    joined.fast_offset = embed(fast_, fast);
    joined.general_offset = embed(general_, general);
    const auto* bytes = reinterpret_cast<const std::byte*>(a_.bufferData());
    joined.bytes.assign(bytes, bytes + a_.offset());
    joined.failed = code_.hasUnresolvedLinks() || !code_.relocEntries().empty();
    return joined;
  }

 protected:
  /// Returns whether a call that is long enough may end with a chunk that is not.
  [[nodiscard]] bool ends_shortly() const { return division_.chunk != 0 && division_.shortest != 0; }
  [[nodiscard]] std::uint32_t offset() const { return static_cast<std::uint32_t>(a_.offset()); }

  const ArrayBytes& arrays_;
  Division division_;
  DriverFrame frame_;
  UnwindWriter& unwind_;
  std::uint32_t frame_bytes_ = 0;
  asmjit::CodeHolder code_;
  Assembler a_;
  asmjit::Label fast_, general_;

 private:
  std::uint32_t embed(const asmjit::Label& label, const MachineCode& part) {
    a_.align(padding_, 64);
    a_.bind(label);
    const std::uint32_t at = offset();
    a_.embed(part.bytes.data(), part.bytes.size());
    return at;
  }

  asmjit::AlignMode padding_;
};

/// Calls f(place in the frame, bytes of an element) for each array that is no table.
template <class F>
void for_arrays(const ArrayBytes& arrays, const DriverFrame& frame, F f) {
  for (std::size_t i = 0; i < arrays.inputs.size(); ++i)
    if (arrays.inputs[i] != 0) f(frame.inputs + 8 * static_cast<std::uint32_t>(i), arrays.inputs[i]);
  for (std::size_t o = 0; o < arrays.outputs.size(); ++o)
    f(frame.outputs + 8 * static_cast<std::uint32_t>(o), arrays.outputs[o]);
}

Joined drive_x86(const MachineCode& fast, const MachineCode& general, const ArrayBytes& arrays,
                 const Division& division, UnwindWriter& unwind);
Joined drive_a64(const MachineCode& fast, const MachineCode& general, const ArrayBytes& arrays,
                 const Division& division, UnwindWriter& unwind);

}  // namespace trident::codegen
