#include "clients/emu/guests/loop_program.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace trident::emu {
namespace {

constexpr std::uint64_t kBlockBytes = 0x1'0000;
constexpr std::uint64_t kBuffer = 0x41'0000;
constexpr unsigned kTurn = 5;

// x19: buffer, x20: sum. The loop at 0x4000d8 changes each byte of a block in its place, and adds it to the sum.
constexpr ProgramWord kWords[] = {
    {0xD2A00833, "movz x19, #0x41, lsl #16"},
    {0xD2800014, "movz x20, #0"},
    {0xD2800000, "movz x0, #0"},
    {0xAA1303E1, "mov x1, x19"},
    {0xD2A00022, "movz x2, #0x1, lsl #16"},
    {0xD28007E8, "movz x8, #0x3f"},
    {0xD4000001, "svc #0"},
    {0xF100041F, "cmp x0, #1"},
    {0x5400014B, "b.lt #0x4000f8"},
    {0xAA1303E1, "mov x1, x19"},
    {0x39400023, "ldrb w3, [x1]"},
    {0x4A000063, "eor w3, w3, w0"},
    {0x38001423, "strb w3, [x1], #1"},
    {0x8B030294, "add x20, x20, x3"},
    {0x93D4EE94, "ror x20, x20, #0x3b"},
    {0xF1000400, "subs x0, x0, #1"},
    {0x54FFFF41, "b.ne #0x4000d8"},
    {0x17FFFFF1, "b #0x4000b8"},
    {0x91004264, "add x4, x19, #0x10"},
    {0x52800145, "movz w5, #0xa"},
    {0x39000085, "strb w5, [x4]"},
    {0x92400E86, "and x6, x20, #0xf"},
    {0x91015CC7, "add x7, x6, #0x57"},
    {0x9100C0C9, "add x9, x6, #0x30"},
    {0xF10028DF, "cmp x6, #0xa"},
    {0x9A87B127, "csel x7, x9, x7, lt"},
    {0x381FFC87, "strb w7, [x4, #-1]!"},
    {0xD344FE94, "lsr x20, x20, #4"},
    {0xEB13009F, "cmp x4, x19"},
    {0x54FFFF01, "b.ne #0x400104"},
    {0xD2800020, "movz x0, #0x1"},
    {0xAA1303E1, "mov x1, x19"},
    {0xD2800222, "movz x2, #0x11"},
    {0xD2800808, "movz x8, #0x40"},
    {0xD4000001, "svc #0"},
    {0xD2800000, "movz x0, #0"},
    {0xD2800BC8, "movz x8, #0x5e"},
    {0xD4000001, "svc #0"},
};
static_assert(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) == kLoopProgramCode - kLoopProgramBase);

Elf64_Ehdr file_header() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT, header.e_version = EV_CURRENT;
  header.e_type = ET_EXEC, header.e_machine = EM_AARCH64;
  header.e_entry = kLoopProgramCode;
  header.e_ehsize = sizeof(Elf64_Ehdr), header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr), header.e_phnum = 2;
  return header;
}

/// A segment that lies in memory as in the file, and is zero behind that.
Elf64_Phdr segment(std::uint32_t flags, std::uint64_t address, std::uint64_t in_file, std::uint64_t in_memory) {
  Elf64_Phdr header{};
  header.p_type = PT_LOAD, header.p_flags = flags, header.p_align = 0x1000;
  header.p_vaddr = header.p_paddr = address;
  header.p_filesz = in_file, header.p_memsz = in_memory;
  return header;
}

void append(std::vector<std::byte>& file, const void* bytes, std::size_t size) {
  const auto* const from = static_cast<const std::byte*>(bytes);
  file.insert(file.end(), from, from + size);
}

}  // namespace

std::span<const ProgramWord> loop_program_words() {
  return kWords;
}

std::vector<std::byte> loop_program() {
  const std::uint64_t bytes = kLoopProgramCode - kLoopProgramBase + 4 * std::size(kWords);
  const Elf64_Ehdr header = file_header();
  const Elf64_Phdr code = segment(PF_R | PF_X, kLoopProgramBase, bytes, bytes);
  const Elf64_Phdr buffer = segment(PF_R | PF_W, kBuffer, 0, kBlockBytes);
  std::vector<std::byte> file;
  append(file, &header, sizeof header);
  append(file, &code, sizeof code);
  append(file, &buffer, sizeof buffer);
  for (const ProgramWord& word : kWords) append(file, &word.word, sizeof word.word);
  return file;
}

std::string loop_program_sum(std::span<const std::byte> input) {
  std::uint64_t sum = 0;
  while (!input.empty()) {
    const std::size_t block = std::min<std::size_t>(input.size(), kBlockBytes);
    for (std::size_t i = 0; i < block; ++i) {
      const auto left = static_cast<std::uint32_t>(block - i);
      const std::uint8_t byte = static_cast<std::uint8_t>(input[i]);
      sum = std::rotl(sum + (byte ^ left), kTurn);
    }
    input = input.subspan(block);
  }
  char text[24];
  std::snprintf(text, sizeof text, "%016llx\n", static_cast<unsigned long long>(sum));
  return text;
}

}  // namespace trident::emu
