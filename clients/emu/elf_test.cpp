// Oracle: the format's own rules, one broken at a time in a file that is right, and files of random bytes.
#include "clients/emu/elf.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "clients/emu/guests/loop_program.h"
#include "tests/support/random.h"

namespace trident::emu {
namespace {

struct Parts {
  Elf64_Ehdr header;
  Elf64_Phdr code, buffer;
};
static_assert(sizeof(Parts) == sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr));

/// Returns what the reader says of the loop program after `change`; "" when it takes it.
std::string said(const std::function<void(Parts&)>& change) {
  std::vector<std::byte> file = loop_program();
  Parts parts;
  std::memcpy(&parts, file.data(), sizeof parts);
  change(parts);
  std::memcpy(file.data(), &parts, sizeof parts);
  const auto read = read_elf(file, "a.out");
  return read.ok() ? "" : read.error().message;
}

TEST(Elf, TakesTheLoopProgram) {
  const auto program = read_elf(loop_program(), "a.out");
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->entry, kLoopProgramCode);
  EXPECT_EQ(program->headers, kLoopProgramBase + sizeof(Elf64_Ehdr));
  EXPECT_FALSE(program->movable);
  ASSERT_EQ(program->segments.size(), 2u);
  EXPECT_EQ(program->begin(), 0x40'0000u);
  EXPECT_EQ(program->end(), 0x42'0000u);
  EXPECT_EQ(said([](Parts& p) { p.header.e_type = ET_DYN; }), "");
}

TEST(Elf, RefusesEachBrokenField) {
  const std::pair<const char*, std::function<void(Parts&)>> broken[] = {
      {"no ELF", [](Parts& p) { p.header.e_ident[0] = 'X'; }},
      {"32 bits", [](Parts& p) { p.header.e_ident[EI_CLASS] = ELFCLASS32; }},
      {"big-endian", [](Parts& p) { p.header.e_ident[EI_DATA] = ELFDATA2MSB; }},
      {"version", [](Parts& p) { p.header.e_ident[EI_VERSION] = 9; }},
      {"machine 62", [](Parts& p) { p.header.e_machine = EM_X86_64; }},
      {"type 1", [](Parts& p) { p.header.e_type = ET_REL; }},
      {"size or version", [](Parts& p) { p.header.e_ehsize = 0; }},
      {"size of their own", [](Parts& p) { p.header.e_phentsize = 57; }},
      {"0 program headers", [](Parts& p) { p.header.e_phnum = 0; }},
      {"65535 program headers", [](Parts& p) { p.header.e_phnum = 0xffff; }},
      {"cut off", [](Parts& p) { p.header.e_phoff = ~std::uint64_t{0}; }},
      {"cut off", [](Parts& p) { p.header.e_phoff = 1 << 20; }},
      {"dynamic", [](Parts& p) { p.code.p_type = PT_INTERP; }},
      {"more bytes in the file", [](Parts& p) { p.buffer.p_filesz = p.buffer.p_memsz + 1; }},
      {"cut off", [](Parts& p) { p.code.p_offset = ~std::uint64_t{0} << 12; }},
      {"cut off", [](Parts& p) { p.code.p_filesz = p.code.p_memsz = 1 << 20; }},
      {"address space", [](Parts& p) { p.buffer.p_vaddr = ~std::uint64_t{0} << 16; }},
      {"address space", [](Parts& p) { p.buffer.p_memsz = ~std::uint64_t{0}; }},
      {"power of 2", [](Parts& p) { p.code.p_align = 12; }},
      {"fit its pages", [](Parts& p) { p.buffer.p_vaddr += 8; }},
      {"overlap", [](Parts& p) { p.buffer.p_vaddr = p.code.p_vaddr; }},
      {"2 GiB apart", [](Parts& p) { p.buffer.p_vaddr = std::uint64_t{1} << 37; }},
      {"no segment", [](Parts& p) { p.code.p_type = p.buffer.p_type = PT_NULL; }},
      {"address 0", [](Parts& p) { p.code.p_vaddr = 0, p.header.e_entry = 0xb0; }},
      {"entry", [](Parts& p) { p.header.e_entry += 2; }},
      {"entry", [](Parts& p) { p.header.e_entry = 0x41'0000; }},
      {"entry", [](Parts& p) { p.header.e_entry = ~std::uint64_t{3}; }},
  };
  for (const auto& [words, change] : broken) {
    EXPECT_NE(said(change).find(words), std::string::npos) << words << ": " << said(change);
    EXPECT_TRUE(said(change).starts_with("a.out: "));
  }
}

TEST(Elf, RefusesEveryTruncation) {
  const std::vector<std::byte> file = loop_program();
  for (std::size_t bytes = 0; bytes < file.size(); ++bytes)
    EXPECT_FALSE(read_elf(std::span(file).first(bytes), "a.out").ok()) << bytes;
}

/// Checks all promises of read_elf() that a loader relies on.
void expect_sound(const ElfProgram& program, std::size_t file_bytes) {
  std::uint64_t end = 0;
  for (const Segment& s : program.segments) {
    EXPECT_GE(page_down(s.address), end);
    end = page_up(s.address + s.bytes);
    EXPECT_LE(s.file_bytes, s.bytes);
    EXPECT_LE(s.file_offset, file_bytes);
    EXPECT_LE(s.file_bytes, file_bytes - s.file_offset);
  }
  EXPECT_LT(end, kAddressEnd);
}

TEST(Elf, RandomBytesGiveNothingUnsound) {
  testing::Random random(1);
  const std::vector<std::byte> right = loop_program();
  std::size_t taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::byte> file = right;
    for (std::uint64_t changes = random.next() % 4 + 1; changes > 0; --changes)
      file[random.next() % (i % 2 == 0 ? sizeof(Parts) : file.size())] = static_cast<std::byte>(random.next());
    if (const auto read = read_elf(file, "a.out"); read.ok()) expect_sound(*read, file.size()), ++taken;
  }
  EXPECT_GT(taken, 100u);
}

}  // namespace
}  // namespace trident::emu
