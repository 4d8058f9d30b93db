// Drivers: code that calls two kernels or three, which lie behind it. Those of speculative kernels (speculative.h) call
// a fast and a general one, perhaps after a scan, those of passes (passes.h) one pass after another. One of each for
// each host: x86_driver.cpp, a64_driver.cpp.
#pragma once

#include <asmjit/core.h>

#include <span>

#include "jit/codegen/passes.h"
#include "jit/codegen/speculative.h"
#include "jit/codegen/unwind.h"

namespace trident::codegen {

/// A driver with its kernels behind it.
struct Joined {
  std::vector<std::byte> bytes;
  std::uint32_t driver_size = 0;
  std::uint32_t first_offset = 0, second_offset = 0, third_offset = 0;  ///< multiples of 64
  bool failed = false;
};

/// Makes code of a driver and its kernels. The numbers that describe a loop are those of `looked_at`, one of the
/// kernels. Errors: LimitExceeded (code too large).
Result<MachineCode> whole_code(const MachineCode& first, const MachineCode& second, const MachineCode& looked_at,
                               Joined joined, const UnwindWriter& unwind, const MachineCode* third = nullptr);

/// The part that drivers of all hosts share: an assembler, and both kernels behind the driver's code.
template <class Assembler>
class TwoKernels {
 public:
  /// `padding` lies between the kernels.
  TwoKernels(asmjit::Arch arch, asmjit::AlignMode padding, UnwindWriter& unwind) : unwind_(unwind), padding_(padding) {
    code_.init(asmjit::Environment(arch));
    code_.attach(&a_);
    first_ = a_.newLabel();
    second_ = a_.newLabel();
    third_ = a_.newLabel();
  }

  /// Puts the kernels behind the driver, which is emitted.
  Joined join(const MachineCode& first, const MachineCode& second, const MachineCode* third = nullptr) {
    Joined joined{.bytes = {}, .driver_size = offset()};
    joined.first_offset = embed(first_, first);
    joined.second_offset = embed(second_, second);
    if (third != nullptr) joined.third_offset = embed(third_, *third);
    const auto* bytes = reinterpret_cast<const std::byte*>(a_.bufferData());
    joined.bytes.assign(bytes, bytes + a_.offset());
    joined.failed = code_.hasUnresolvedLinks() || !code_.relocEntries().empty();
    return joined;
  }

 protected:
  [[nodiscard]] std::uint32_t offset() const { return static_cast<std::uint32_t>(a_.offset()); }

  UnwindWriter& unwind_;
  asmjit::CodeHolder code_;
  Assembler a_;
  asmjit::Label first_, second_, third_;

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

// --- speculative kernels ---

/// Where the pieces stand in the frame of a driver, from the stack pointer on.
struct DriverFrame {
  explicit DriverFrame(const ArrayBytes& arrays)
      : outputs(static_cast<std::uint32_t>(8 * arrays.inputs.size())),
        self(outputs + static_cast<std::uint32_t>(8 * arrays.outputs.size())),
        elements(self + 8),
        bytes(elements + 8) {}
  std::uint32_t inputs = 0;   ///< pointers to the elements that come next
  std::uint32_t outputs = 0;  ///< likewise
  std::uint32_t self = 0;
  std::uint32_t elements = 0;  ///< of the whole call
  std::uint32_t bytes = 0;
};

/// Calls the fast kernel, which is the first, and the general one.
template <class Assembler>
class Driver : public TwoKernels<Assembler> {
 public:
  Driver(asmjit::Arch arch, asmjit::AlignMode padding, const ArrayBytes& arrays, const Division& division,
         UnwindWriter& unwind)
      : TwoKernels<Assembler>(arch, padding, unwind), arrays_(arrays), division_(division), frame_(arrays) {
    frame_bytes_ = (frame_.bytes + 15) / 16 * 16;
  }

 protected:
  /// Returns whether a call that is long enough may end with a chunk that is not.
  [[nodiscard]] bool ends_shortly() const { return division_.chunk != 0 && division_.shortest != 0; }

  const ArrayBytes& arrays_;
  Division division_;
  DriverFrame frame_;
  std::uint32_t frame_bytes_ = 0;
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

/// Calls the scan, which is the first, then the fast kernel or the general one.
Joined select_x86(const Selected& kernels, std::uint32_t shortest, UnwindWriter& unwind);
Joined select_a64(const Selected& kernels, std::uint32_t shortest, UnwindWriter& unwind);

// --- passes ---

/// Where the pieces stand in the frame of a driver of passes, from the stack pointer on.
struct PassFrame {
  explicit PassFrame(const PassShape& shape)
      : results(8 * shape.params),
        places(results + 8 * shape.results),
        bytes((places + 8 * shape.results + 15) / 16 * 16) {}
  std::uint32_t params = 0;   ///< those of the call, for the second pass
  std::uint32_t results = 0;  ///< of the first pass, behind them
  std::uint32_t places = 0;   ///< pointers to the results: the outputs of the first pass
  std::uint32_t bytes = 0;
};

/// Calls the first pass, which writes its results into the frame, then the second, which reads them behind its own
/// parameters. `Host` derives from this, and has the instructions: enter(), copy_parameter(), put_place(), keep_call(),
/// pass_places(), pass_parameters(), call(), restore_call() and leave().
template <class Host, class Assembler>
class PassDriver : public TwoKernels<Assembler> {
 public:
  PassDriver(asmjit::Arch arch, asmjit::AlignMode padding, const PassShape& shape, UnwindWriter& unwind)
      : TwoKernels<Assembler>(arch, padding, unwind), shape_(shape), frame_(shape) {}

  void emit() {
    auto& host = static_cast<Host&>(*this);
    host.enter();
    for (std::uint32_t i = 0; i < shape_.params; ++i) host.copy_parameter(8 * i, frame_.params + 8 * i);
    for (std::uint32_t i = 0; i < shape_.results; ++i) host.put_place(frame_.results + 8 * i, frame_.places + 8 * i);
    host.keep_call();
    host.pass_places();
    host.pass_parameters();
    host.call(this->first_);
    host.restore_call();
    host.pass_parameters();
    host.call(this->second_);
    host.leave();
  }

 protected:
  PassShape shape_;
  PassFrame frame_;
};

Joined drive_passes_x86(const MachineCode& first, const MachineCode& second, const PassShape& shape,
                        UnwindWriter& unwind);
Joined drive_passes_a64(const MachineCode& first, const MachineCode& second, const PassShape& shape,
                        UnwindWriter& unwind);

}  // namespace trident::codegen
