// Splits a program into the regions that are called, so that lines can be added and removed without counting addresses.
#pragma once

#include <string>
#include <vector>

#include "jit/tir/tasm/program.h"

namespace trident::tir::shape {

using tasm::Instruction;

inline constexpr std::uint32_t kNoRegion = UINT32_MAX;

struct Line {
  Instruction instruction;
  std::uint32_t callee = kNoRegion;  ///< region that is called
  std::uint32_t offset = 0;          ///< byte in the source
  std::vector<tasm::Mark> marks{};   ///< marks before it, without those that name the region
  std::string error_id{};            ///< number of an assertion, may be empty

  /// Compares what lines do; the number of an assertion does not matter.
  bool operator==(const Line& other) const {
    return instruction.op == other.instruction.op && callee == other.callee &&
           (callee != kNoRegion || instruction.argument == other.instruction.argument);
  }
};

/// True if the next instruction runs only if this one is skipped.
bool leaves(tasm::Op op);

/// Lines from one called address to the next; the first region is the start of the program. It need not be a
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

  /// True if the line before, also the last one of the region before, is a `skiz` and may skip this line.
  [[nodiscard]] bool behind_skiz(std::size_t region, std::size_t line) const;
  /// True if no run goes past the end of its text.
  [[nodiscard]] bool ends(std::size_t region) const;
  /// True if it is only reached by calls and ends: its place does not matter.
  [[nodiscard]] bool closed(std::size_t region) const;
  [[nodiscard]] std::size_t calls_of(std::size_t region) const;
  /// Returns a label that does not exist yet: `stem` and a number.
  [[nodiscard]] std::string free_label(const std::string& stem) const;
};

Regions regions_of(const tasm::Program& program);
/// Joins the regions without the removed ones, which no line may call.
tasm::Program program_of(const Regions& regions);

}  // namespace trident::tir::shape
