// What the main loop of a kernel is made of, read off its disassembly: the figures behind "share of the port roof" and
// behind the reasons for a lost comparison. Works on Capstone's text of our code and on objdump's of a compiler's.
//
// The port roof of a loop on x86-64 with two vector pipes (expr.md): the larger of (vector arithmetic instructions /
// 2), (loads / 2) and (stores / 1) cycles per iteration. Register moves are free (renamed away).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace trident::cli {

struct LoopProfile {
  unsigned instructions = 0;
  unsigned arithmetic = 0;  ///< vector instructions that take a vector pipe, divisions and roots included
  unsigned divisions = 0;   ///< of those, vdiv and vsqrt, which take it many times longer
  unsigned loads = 0, stores = 0;
  unsigned spills = 0;       ///< stores to the stack, counted among the stores too
  unsigned calls = 0;        ///< libmvec or libm
  unsigned vector_bits = 0;  ///< widest register used by an array store (or by any instruction when nothing is stored)
  std::uint64_t stored_bytes = 0;  ///< per iteration, spills left out

  /// Elements per iteration, given how many bytes an element stores over all array outputs (0: no array outputs, the
  /// loaded bytes decide).
  [[nodiscard]] double elements(unsigned bytes_per_element) const;
  /// Least cycles per iteration by the definition above.
  [[nodiscard]] double port_cycles() const;
  std::uint64_t loaded_bytes = 0;
};

/// `text`: one instruction per line, "offset: mnemonic operands" or "offset mnemonic operands", Intel syntax, offsets
/// and jump targets in hexadecimal. NotFound when there is no loop.
Result<LoopProfile> profile_main_loop(std::string_view text);

/// The disassembly of `symbol`'s object file by objdump. NotFound when binutils are not installed.
Result<std::string> disassemble_object(const std::string& path);

}  // namespace trident::cli
