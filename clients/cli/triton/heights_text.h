// The nine tables of a program of Triton VM before and after it was changed, as text.
#pragma once

#include <cstdint>
#include <string>

#include "jit/tir/vm/heights.h"

namespace trident::cli {

/// A program's run: its tables, and how many words its text has.
struct ProgramSize {
  tir::vm::Heights heights;
  std::uint32_t words = 0;
};

/// "-45.2 %"; empty when nothing changed.
std::string change_text(std::uint64_t before, std::uint64_t after);
/// A heading, a line for each table with its change and which one decides, one for the padded height and one for the
/// words.
std::string heights_text(const ProgramSize& before, const ProgramSize& after);

}  // namespace trident::cli
