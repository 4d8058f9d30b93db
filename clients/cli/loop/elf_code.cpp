// ELF files, as strangers make them: every offset and size is compared with the file before it is used.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "clients/cli/loop/guest_code.h"

namespace trident::cli {
namespace {

Error fault(const std::string& what) {
  return {ErrorCode::kInvalidArgument, what};
}

/// One ELF file of AArch64.
class Elf {
 public:
  explicit Elf(std::span<const std::byte> file) : file_(file) {}

  Result<std::vector<CodeRange>> code(std::uint64_t bias) {
    TRY_VOID(check_header());
    TRY(std::vector<CodeRange> ranges, header_.e_shoff != 0 && header_.e_shnum != 0 ? sections() : segments());
    if (bias % kInstructionBytes != 0) return fault("--base: instructions stand at multiples of 4");
    for (CodeRange& range : ranges) range.address += bias;
    const auto wraps = [](const CodeRange& r) { return r.address + r.bytes.size() < r.address; };
    if (ranges.back().address < bias || std::any_of(ranges.begin(), ranges.end(), wraps))
      return fault("--base moves code beyond the last address");
    return ranges;
  }

 private:
  /// Copies a struct out of the file, where it lies inside.
  template <class T>
  [[nodiscard]] bool read(std::uint64_t offset, T& into) const {
    if (offset > file_.size() || file_.size() - offset < sizeof into) return false;
    std::memcpy(&into, file_.data() + offset, sizeof into);
    return true;
  }

  Result<void> check_header() {
    if (!read(0, header_)) return fault("the file is shorter than an ELF header");
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0)
      return fault("is no ELF file: it does not begin with \\x7fELF");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64) return fault("is no ELF file of 64 bits");
    if (header_.e_ident[EI_DATA] != ELFDATA2LSB) return fault("is a big-endian ELF file; expected a little-endian one");
    if (header_.e_machine != EM_AARCH64)
      return fault("is for machine " + std::to_string(header_.e_machine) + "; expected AArch64 (" +
                   std::to_string(EM_AARCH64) + ")");
    return {};
  }

  /// The table's entries. `name`: of the table, in errors.
  template <class Entry>
  Result<std::vector<Entry>> table(const char* name, std::uint64_t offset, std::uint64_t count,
                                   std::uint64_t entry_bytes) const {
    if (entry_bytes != sizeof(Entry))
      return fault(std::string(name) + " have " + std::to_string(entry_bytes) + " bytes each; expected " +
                   std::to_string(sizeof(Entry)));
    std::vector<Entry> entries(count);
    for (std::uint64_t i = 0; i < count; ++i)
      if (offset > file_.size() || !read(offset + i * sizeof(Entry), entries[i]))
        return fault(std::string(name) + " lie outside of the file");
    return entries;
  }

  Result<std::vector<CodeRange>> sections() {
    TRY(const auto headers,
        table<Elf64_Shdr>("section headers", header_.e_shoff, header_.e_shnum, header_.e_shentsize));
    return ranges_of("section ", headers, [](const Elf64_Shdr& s) {
      const bool is_code = s.sh_type == SHT_PROGBITS && (s.sh_flags & SHF_EXECINSTR) != 0;
      return is_code ? std::optional(Place{s.sh_addr, s.sh_offset, s.sh_size}) : std::nullopt;
    });
  }

  Result<std::vector<CodeRange>> segments() {
    TRY(const auto headers,
        table<Elf64_Phdr>("program headers", header_.e_phoff, header_.e_phnum, header_.e_phentsize));
    return ranges_of("segment ", headers, [](const Elf64_Phdr& s) {
      const bool is_code = s.p_type == PT_LOAD && (s.p_flags & PF_X) != 0;
      return is_code ? std::optional(Place{s.p_vaddr, s.p_offset, s.p_filesz}) : std::nullopt;
    });
  }

  struct Place {
    std::uint64_t address, offset, size;
  };
  /// The ranges of the headers for which `code_of` returns a place. `kind`: of the headers, in errors.
  template <class Header, class CodeOf>
  Result<std::vector<CodeRange>> ranges_of(const char* kind, const std::vector<Header>& headers, CodeOf code_of) {
    std::vector<CodeRange> ranges;
    for (std::size_t i = 0; i < headers.size(); ++i)
      if (const auto place = code_of(headers[i]))
        TRY_VOID(add(kind + std::to_string(i), place->address, place->offset, place->size, ranges));
    return sorted(std::move(ranges));
  }

  Result<void> add(const std::string& name, std::uint64_t address, std::uint64_t offset, std::uint64_t size,
                   std::vector<CodeRange>& ranges) const {
    if (offset > file_.size() || file_.size() - offset < size) return fault(name + " lies outside of the file");
    if (address + size < address) return fault(name + " goes beyond the last address");
    if (address % kInstructionBytes != 0) return fault(name + " has code at an address that is no multiple of 4");
    size -= size % kInstructionBytes;
    if (size != 0) ranges.push_back({address, file_.subspan(offset, size)});
    return {};
  }

  static Result<std::vector<CodeRange>> sorted(std::vector<CodeRange> ranges) {
    if (ranges.empty()) return fault("has no executable code");
    const auto by_address = [](const CodeRange& a, const CodeRange& b) { return a.address < b.address; };
    std::sort(ranges.begin(), ranges.end(), by_address);
    for (std::size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i - 1].contains(ranges[i].address))
        return fault("two executable sections have the same addresses; link the object file first");
    return ranges;
  }

  std::span<const std::byte> file_;
  Elf64_Ehdr header_{};
};

}  // namespace

Result<std::vector<CodeRange>> elf_code(std::span<const std::byte> file, std::uint64_t bias) {
  return Elf(file).code(bias);
}

}  // namespace trident::cli
