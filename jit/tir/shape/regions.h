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
  std::vector<tasm::Mark> marks{};   ///< before it, but for what names the region
  std::string error_id{};            ///< of an assertion, may be empty

  /// Whether both do the same; an assertion does whatever its number is.
  bool operator==(const Line& other) const {
    return instruction.op == other.instruction.op && callee == other.callee &&
           (callee != kNoRegion || instruction.argument == other.instruction.argument);
  }
};

/// Whether what stands behind it runs only if it is skipped.
bool leaves(tasm::Op op);

/// What stands from one place that is called to the next; the first is where the program begins. It need not be a
/// subroutine: its first line can be the one that a `skiz` before it skips, its last can lead into the next region.
struct Region {
  std::vector<std::string> labels;
  std::vector<Line> lines;
  bool removed = false;
};

struct Regions {
  std::vector<Region> all;
  std::vector<tasm::Mark> marks_behind;  ///< behind the last line
  bool has_offsets = false;

  /// Whether a `skiz` may skip the line: the one before it, be it the last of a region before.
  [[nodiscard]] bool behind_skiz(std::size_t region, std::size_t line) const;
  /// Whether the end of its text is never run past.
  [[nodiscard]] bool ends(std::size_t region) const;
  /// Only reached by calls, and ends: nothing depends on where it stands.
  [[nodiscard]] bool closed(std::size_t region) const;
  [[nodiscard]] std::size_t calls_of(std::size_t region) const;
  /// A label that is not there yet: `stem` and a number.
  [[nodiscard]] std::string free_label(const std::string& stem) const;
};

Regions regions_of(const tasm::Program& program);
/// Without those that are removed, which nobody may call.
tasm::Program program_of(const Regions& regions);

}  // namespace trident::tir::shape
