#include "clients/emu/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace trident::emu {
namespace {

constexpr std::uint64_t kHeadersMax = 64;
constexpr std::uint64_t kProgramBytesMax = std::uint64_t{1} << 31;

/// True when [begin, begin + size) lies in [0, end), whatever the numbers.
bool inside(std::uint64_t begin, std::uint64_t size, std::uint64_t end) {
  return begin <= end && size <= end - begin;
}

Error broken(const std::string& name, const std::string& what) {
  return {ErrorCode::kSyntaxError, name + ": " + what};
}
Error unsupported(const std::string& name, const std::string& what) {
  return {ErrorCode::kUnsupported, name + ": " + what};
}

/// Checks that the file is one of ours, as far as its first 16 bytes tell.
Result<void> check_identity(const unsigned char* ident, const std::string& name) {
  if (std::memcmp(ident, ELFMAG, SELFMAG) != 0) return broken(name, "this is no ELF file");
  if (ident[EI_CLASS] != ELFCLASS64) return unsupported(name, "a program of 32 bits; AArch64 programs have 64");
  if (ident[EI_DATA] != ELFDATA2LSB) return unsupported(name, "a big-endian program");
  if (ident[EI_VERSION] != EV_CURRENT) return broken(name, "an unknown version of ELF");
  return {};
}

Result<void> check_header(const Elf64_Ehdr& header, const std::string& name) {
  TRY_VOID(check_identity(header.e_ident, name));
  if (header.e_machine != EM_AARCH64)
    return unsupported(name, "a program for machine " + std::to_string(header.e_machine) +
                                 " of ELF's list; only AArch64 (183) is emulated");
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    return unsupported(name, "no program: ELF type " + std::to_string(header.e_type));
  if (header.e_version != EV_CURRENT || header.e_ehsize != sizeof(Elf64_Ehdr))
    return broken(name, "the ELF header has a size or version of its own");
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return broken(name, "program headers have a size of their own");
  if (header.e_phnum == 0 || header.e_phnum > kHeadersMax)
    return broken(name, std::to_string(header.e_phnum) + " program headers; 1 to 64 are taken");
  return {};
}

std::uint32_t permissions_of(std::uint32_t flags) {
  return ((flags & PF_R) != 0 ? kRead : 0U) | ((flags & PF_W) != 0 ? kWrite : 0U) |
         ((flags & PF_X) != 0 ? kExecute : 0U);
}

/// Checks the numbers of a PT_LOAD header against the file and the address space.
Result<Segment> segment_of(const Elf64_Phdr& h, std::uint64_t file_bytes, const std::string& name) {
  if (h.p_filesz > h.p_memsz) return broken(name, "a segment has more bytes in the file than in memory");
  if (!inside(h.p_offset, h.p_filesz, file_bytes))
    return broken(name, "a segment ends behind the file: is it cut off?");
  if (h.p_memsz > kProgramBytesMax || !inside(h.p_vaddr, h.p_memsz, kAddressEnd - kPageBytes))
    return broken(name, "a segment lies outside of the address space");
  if (h.p_align > 1 && (h.p_align & (h.p_align - 1)) != 0)
    return broken(name, "a segment's alignment is no power of 2");
  if ((h.p_offset - h.p_vaddr) % kPageBytes != 0)
    return broken(name, "a segment's place in the file does not fit its pages");
  return Segment{h.p_vaddr, h.p_memsz, h.p_offset, h.p_filesz, permissions_of(h.p_flags)};
}

bool pages_shared(const std::vector<Segment>& segments) {
  for (std::size_t i = 1; i < segments.size(); ++i)
    if (page_up(segments[i - 1].address + segments[i - 1].bytes) > page_down(segments[i].address)) return true;
  return false;
}

bool holds(const Segment& segment, std::uint64_t address) {
  return address - segment.address < segment.bytes;
}

Result<void> check_program(const ElfProgram& program, const std::string& name) {
  if (program.segments.empty()) return broken(name, "no segment is loaded");
  if (pages_shared(program.segments)) return broken(name, "segments overlap, or share a page");
  if (program.end() - program.begin() > kProgramBytesMax) return broken(name, "segments lie 2 GiB apart");
  if (!program.movable && program.begin() == 0) return unsupported(name, "it is linked to address 0");
  const auto start = std::find_if(program.segments.begin(), program.segments.end(),
                                  [&](const Segment& s) { return holds(s, program.entry); });
  if (start == program.segments.end() || (start->permissions & kExecute) == 0 || program.entry % 4 != 0)
    return broken(name, "its entry is no instruction of it");
  return {};
}

/// Returns where the program headers are in memory; 0 when no segment has them.
std::uint64_t headers_address(const ElfProgram& program, const Elf64_Ehdr& header) {
  const std::uint64_t bytes = std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  for (const Segment& s : program.segments)
    if (header.e_phoff >= s.file_offset && inside(header.e_phoff - s.file_offset, bytes, s.file_bytes))
      return s.address + (header.e_phoff - s.file_offset);
  return 0;
}

/// Takes what one program header says into `program`.
Result<void> take_header(ElfProgram& program, const Elf64_Phdr& h, std::uint64_t file_bytes, const std::string& name) {
  if (h.p_type == PT_INTERP)
    return unsupported(name, "a dynamic program; only static ones are run (link with -static)");
  if (h.p_type != PT_LOAD || h.p_memsz == 0) return {};
  TRY(const Segment segment, segment_of(h, file_bytes, name));
  program.segments.push_back(segment);
  return {};
}

}  // namespace

Result<ElfProgram> read_elf(std::span<const std::byte> file, const std::string& name) {
  Elf64_Ehdr header;
  if (file.size() < sizeof header) return broken(name, "too short for an ELF file");
  std::memcpy(&header, file.data(), sizeof header);
  TRY_VOID(check_header(header, name));
  if (!inside(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), file.size()))
    return broken(name, "the program headers end behind the file: is it cut off?");
  ElfProgram program{header.e_type == ET_DYN, header.e_entry, 0, header.e_phnum, {}};
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr h;
    std::memcpy(&h, file.data() + header.e_phoff + i * sizeof h, sizeof h);
    TRY_VOID(take_header(program, h, file.size(), name));
  }
  std::sort(program.segments.begin(), program.segments.end(),
            [](const Segment& a, const Segment& b) { return a.address < b.address; });
  TRY_VOID(check_program(program, name));
  program.headers = headers_address(program, header);
  return program;
}

}  // namespace trident::emu
