// A program as the pieces that are called, so that lines can come and go without counting addresses.
#pragma once

#include <string>
#include <vector>

#include "jit/tir/tasm/program.h"

namespace trident::tir::shape {

using tasm::Instruction;

inline constexpr std::uint32_t kNoRegion = UINT32_MAX;

struct Line {
  Instruction instruction;
  std::uint32_t callee = kNoRegion;  ///< of a call
  std::uint32_t offset = 0;          ///< in the source
  std::vector<tasm::Mark> marks;     ///< before it, but for what names the region

  /// Whether both do the same.
  bool operator==(const Line& other) const {
    return instruction.op == other.instruction.op && callee == other.callee &&
           (callee != kNoRegion || instruction.argument == other.instruction.argument);
  }
};

/// What stands from one place that is called to the next; the first is where the program begins.
struct Region {
  std::vector<std::string> labels;
  std::vector<Line> lines;
  std::vector<tasm::Mark> marks_behind;  ///< behind its last line
  bool removed = false;
};

struct Regions {
  std::vector<Region> all;
  bool has_offsets = false;

  /// Whether the end of its text is never run past.
  [[nodiscard]] bool ends(std::size_t region) const;
  /// Only reached by calls, and ends: nothing depends on where it stands.
  [[nodiscard]] bool closed(std::size_t region) const;
  [[nodiscard]] std::size_t calls_of(std::size_t region) const;
};

Regions regions_of(const tasm::Program& program);
/// Without those that are removed, which nobody may call.
tasm::Program program_of(const Regions& regions);

}  // namespace trident::tir::shape
