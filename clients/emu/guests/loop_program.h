// A static AArch64 Linux program of our own, made from instruction words: for the demo and tests where no other program
// is there. It reads standard input, and prints the sum of its bytes that loop_program_sum() defines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trident::emu {

struct ProgramWord {
  std::uint32_t word;
  const char* text;  ///< the same in Capstone's notation, which the test compares
};
inline constexpr std::uint64_t kLoopProgramBase = 0x40'0000;
inline constexpr std::uint64_t kLoopProgramCode = kLoopProgramBase + 0xb0;  ///< behind the ELF headers

std::span<const ProgramWord> loop_program_words();

/// The program as an ELF file.
std::vector<std::byte> loop_program();

/// The line that the program prints for an input that it reads in blocks of 64 KiB, as files give them.
std::string loop_program_sum(std::span<const std::byte> input);

}  // namespace trident::emu
