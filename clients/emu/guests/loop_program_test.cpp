// Oracle: Capstone, which reads the words on its own.
#include "clients/emu/guests/loop_program.h"

#include <capstone/capstone.h>
#include <gtest/gtest.h>

#include <string>

namespace trident::emu {
namespace {

std::string text_of(csh capstone, std::uint32_t word, std::uint64_t address) {
  cs_insn* found = nullptr;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&word);
  if (cs_disasm(capstone, bytes, sizeof word, address, 1, &found) != 1) return "no instruction";
  std::string text = std::string(found->mnemonic) + " " + found->op_str;
  cs_free(found, 1);
  return text;
}

TEST(LoopProgram, WordsAreWhatTheirTextsSay) {
  csh capstone = 0;
  ASSERT_EQ(cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &capstone), CS_ERR_OK);
  std::uint64_t address = kLoopProgramCode;
  for (const ProgramWord& word : loop_program_words()) {
    EXPECT_EQ(text_of(capstone, word.word, address), word.text) << std::hex << address;
    address += sizeof word.word;
  }
  cs_close(&capstone);
}

// By hand: one byte 'a' (0x61) with one byte left is 0x61 ^ 1 = 0x60, turned by five 0xc00.
TEST(LoopProgram, SumsByHand) {
  EXPECT_EQ(loop_program_sum({}), "0000000000000000\n");
  const std::byte a{'a'};
  EXPECT_EQ(loop_program_sum({&a, 1}), "0000000000000c00\n");
}

}  // namespace
}  // namespace trident::emu
