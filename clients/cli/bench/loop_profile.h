// Profile of a kernel's main loop, read off its disassembly: the figures behind "share of the port roof" and
// behind the reasons for a lost comparison. Works on Capstone's text of our code and on objdump's of a compiler's.
//
// The port roof of a loop is, by definition, the largest of its floating-point instructions at two a cycle, its loads
// and its stores. Where a processor passes that (Zen 5 adds beside its two multiplications), it is the largest of
// vector instructions, multiplications and additions among them, loads and stores, each times what one costs when
// nothing else limits (machine_rates.h). Register moves are free (renamed away). Divisions and roots count as one
// vector instruction there; divider_ns() says what they really take.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "clients/cli/bench/machine_rates.h"
#include "runtime/base/result.h"

namespace trident::cli {

struct LoopProfile {
  unsigned instructions = 0;
  unsigned arithmetic = 0;  ///< vector instructions that take a vector pipe, divisions and roots included
  unsigned multiplies = 0;  ///< of those, multiplications and fused multiply-adds
  unsigned additions = 0;   ///< of those, additions and subtractions of floats
  unsigned divisions = 0;   ///< of those, vdiv and vsqrt, which take it many times longer
  unsigned roots = 0;       ///< of the divisions, vsqrt
  unsigned loads = 0, stores = 0;
  unsigned spills = 0;                     ///< stores to the stack, counted among the stores too
  unsigned calls = 0;                      ///< libmvec or libm
  std::map<std::string, unsigned> called;  ///< how often each function, where the disassembly names it
  unsigned vector_bits = 0;  ///< widest register used by an array store (or by any instruction when nothing is stored)
  std::uint64_t stored_bytes = 0;  ///< per iteration, spills left out

  /// Elements per iteration, given how many bytes an element stores over all array outputs (0: no array outputs, the
  /// loaded bytes decide).
  [[nodiscard]] double elements(unsigned bytes_per_element) const;
  /// Nanoseconds per iteration by the definition above; a processor may pass it.
  [[nodiscard]] double defined_port_ns(const MachineRates& rates) const;
  /// Least nanoseconds per iteration.
  [[nodiscard]] double port_ns(const MachineRates& rates) const;
  /// Nanoseconds per iteration that the divider is busy.
  [[nodiscard]] double divider_ns(const MachineRates& rates) const;
  /// The loop works on vectors, and what it computes stands in it rather than in functions it calls: its instructions
  /// can be compared with another such loop's.
  [[nodiscard]] bool comparable() const { return calls == 0 && vector_bits >= 128; }
  std::uint64_t loaded_bytes = 0;
};

/// `text`: one instruction per line, "offset: mnemonic operands" or "offset mnemonic operands", Intel syntax, offsets
/// and jump targets in hexadecimal. NotFound when there is no loop.
Result<LoopProfile> profile_main_loop(std::string_view text);

/// The disassembly of `symbol`'s object file by objdump. NotFound when binutils are not installed.
Result<std::string> disassemble_object(const std::string& path);

}  // namespace trident::cli
