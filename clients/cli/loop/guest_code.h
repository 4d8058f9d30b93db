// The machine code that a user names: executable sections of an ELF file of AArch64, or words in hexadecimal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/os/memfd.h"

namespace trident::cli {

/// Bytes of an instruction.
inline constexpr std::uint64_t kInstructionBytes = 4;

/// Consecutive instructions. The address is a multiple of 4, and so is the size.
struct CodeRange {
  std::uint64_t address = 0;
  std::span<const std::byte> bytes;

  /// Returns whether `where` lies in it.
  [[nodiscard]] bool contains(std::uint64_t where) const { return where - address < bytes.size(); }
};

/// Owns the bytes that its ranges point to.
struct GuestCode {
  std::string name;               ///< for reports
  std::vector<CodeRange> ranges;  ///< by rising address; none overlaps another
  os::Mapping file;
  std::vector<std::byte> read;

  [[nodiscard]] const CodeRange* range_of(std::uint64_t address) const;
};

/// Finds the executable sections, or the executable segments of a file without sections, in a whole ELF file of AArch64
/// whose addresses are moved by `bias`. No field is trusted. InvalidArgument with the field that is wrong.
Result<std::vector<CodeRange>> elf_code(std::span<const std::byte> file, std::uint64_t bias);

/// Reads instructions: words of 8 digits with blanks or commas between, as disassemblers print them; or bytes in memory
/// order, in pairs of digits or all in one. SyntaxError with the word that is none.
Result<std::vector<std::byte>> hex_code(std::string_view text);

/// Names code: a file or a text, one of the two. A file "-" is standard input, an ELF file or a text in hexadecimal.
struct CodeOptions {
  std::string file, hex;
  std::uint64_t base = 0;  ///< address of the first word; of an ELF file, added to all its addresses
};
/// Errors begin with the file's name, or with --hex.
Result<GuestCode> read_code(const CodeOptions& options);

}  // namespace trident::cli
