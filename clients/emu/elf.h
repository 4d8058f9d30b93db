// AArch64 Linux programs as files: which bytes of them go where. Every field is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace trident::emu {

inline constexpr std::uint64_t kPageBytes = 4096;
/// First address that no program, heap, mapping or stack may reach.
inline constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 39;

constexpr std::uint64_t page_down(std::uint64_t address) {
  return address & ~(kPageBytes - 1);
}
constexpr std::uint64_t page_up(std::uint64_t address) {
  return page_down(address + kPageBytes - 1);
}

/// Permissions, as Unicorn, Trident and mmap(2) number them.
enum Permission : std::uint32_t { kRead = 1, kWrite = 2, kExecute = 4 };

struct Segment {
  std::uint64_t address, bytes;           ///< in memory
  std::uint64_t file_offset, file_bytes;  ///< the rest of the memory is zero
  std::uint32_t permissions;
};

/// A static program. Segments rise by address, and no two of them share a page.
struct ElfProgram {
  bool movable = false;  ///< static-pie: may be placed at any page
  std::uint64_t entry = 0;
  std::uint64_t headers = 0;  ///< address of the program headers in memory; 0: they are in no segment
  std::uint32_t header_count = 0;
  std::vector<Segment> segments;

  [[nodiscard]] std::uint64_t begin() const { return page_down(segments.front().address); }
  [[nodiscard]] std::uint64_t end() const { return page_up(segments.back().address + segments.back().bytes); }
};

/// Reads the headers of a static AArch64 program. Errors begin with `name`: SyntaxError for what is no sound ELF file,
/// Unsupported for other machines and for dynamic programs.
Result<ElfProgram> read_elf(std::span<const std::byte> file, const std::string& name);

}  // namespace trident::emu
