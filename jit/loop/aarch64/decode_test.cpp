// Oracle: Capstone, for the corners of every row's fields and for random words.
#include <capstone/capstone.h>
#include <gtest/gtest.h>

#include <string>

#include "jit/loop/aarch64/instruction.h"
#include "tests/support/random.h"

namespace trident::loop::aarch64 {
namespace {

constexpr std::uint64_t kAddress = 0x10'0000;

class Decode : public ::testing::Test {
 protected:
  Decode() { EXPECT_EQ(cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &capstone_), CS_ERR_OK); }
  ~Decode() override { cs_close(&capstone_); }

  std::string theirs(std::uint32_t word) {
    cs_insn* found = nullptr;
    const std::size_t count =
        cs_disasm(capstone_, reinterpret_cast<const std::uint8_t*>(&word), sizeof word, kAddress, 1, &found);
    if (count == 0) return {};
    std::string text = found->mnemonic;
    if (found->op_str[0] != 0) text.append(" ").append(found->op_str);
    cs_free(found, count);
    return text;
  }
  /// Empty when the word is not decoded.
  static std::string ours(std::uint32_t word) {
    const auto instruction = decode(word);
    return instruction ? print(*instruction, kAddress) : std::string();
  }

  csh capstone_ = 0;
};

/// A word of `row` whose fields are drawn from their corners.
std::uint32_t corner_word(const Row& row, testing::Random& random) {
  std::uint32_t word = 0;
  for (std::size_t first = 0, last = 0; first < 32; first = last) {
    while (last < 32 && row.pattern[last] == row.pattern[first]) ++last;
    const std::size_t width = last - first;
    const auto ones = static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1);
    const std::uint32_t corners[] = {0, ones, 1, ones >> 1, ones - 1, static_cast<std::uint32_t>(random.next())};
    word = static_cast<std::uint32_t>(std::uint64_t{word} << width) | (corners[random.below(6)] & ones);
  }
  return (word & ~row.mask) | row.fixed;
}

/// Loads and stores that write a register twice, or the base and what is moved. The manual does not say what they do;
/// Capstone refuses some of them, and we refuse all.
bool is_unpredictable(const std::string& text) {
  return text.find("]!") != std::string::npos || text.find("],") != std::string::npos;
}

TEST_F(Decode, EqualsCapstoneInTheCornersOfEveryRow) {
  testing::Random random(1);
  for (const Row& row : kRows)
    for (int i = 0; i < 2000; ++i) {
      const std::uint32_t word = corner_word(row, random);
      const std::string expected = theirs(word), text = ours(word);
      if (text.empty() && is_unpredictable(expected)) continue;
      ASSERT_EQ(text, expected) << std::hex << word << " " << row.pattern;
    }
}

TEST_F(Decode, EqualsCapstoneOnRandomWords) {
  testing::Random random(2);
  std::size_t decoded = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const auto word = static_cast<std::uint32_t>(random.next());
    const std::string text = ours(word);
    if (text.empty()) continue;
    ++decoded;
    ASSERT_EQ(text, theirs(word)) << std::hex << word;
  }
  EXPECT_GT(decoded, 200'000u);
}

TEST_F(Decode, RowsAreDistinct) {
  for (std::uint32_t a = 0; a < kRowCount; ++a)
    for (std::uint32_t b = 0; b < a; ++b) {
      const std::uint32_t common = kRows[a].mask & kRows[b].mask;
      EXPECT_NE(kRows[a].fixed & common, kRows[b].fixed & common) << kRows[a].pattern << " " << kRows[b].pattern;
    }
}

// Register 31 and X0 are often mistaken: X0 is a register like any other, 31 the stack pointer by its place.
TEST_F(Decode, ReadsTheEncodingsThatRawFieldsGetWrong) {
  EXPECT_EQ(ours(0xF100'FC1F), "cmp x0, #0x3f");  // its immediate covers the bits of Rm
  EXPECT_EQ(ours(0xD280'0020), "movz x0, #0x1");
  EXPECT_EQ(ours(0x9280'0000), "movn x0, #0");
  EXPECT_EQ(ours(0xF2A0'0020), "movk x0, #0x1, lsl #16");
  EXPECT_EQ(ours(0x9100'43FF), "add sp, sp, #0x10");
  EXPECT_EQ(ours(0x8B1F'03FF), "add xzr, xzr, xzr");
}

TEST(Bitmask, IsAMaskForEveryEncodingOrReserved) {
  // The manual: a power of two as wide as the element, a run of ones in it, rotated; 5,334 masks of 64 bits.
  std::size_t masks = 0;
  for (unsigned immr = 0; immr < 64; ++immr)
    for (unsigned imms = 0; imms < 64; ++imms)
      for (const bool n : {false, true}) {
        const auto mask = bitmask(n, immr, imms, 64);
        const bool rotates_beyond = !n && mask.has_value() &&
                                    immr >= (imms < 32   ? 32u
                                             : imms < 48 ? 16u
                                             : imms < 56 ? 8u
                                             : imms < 60 ? 4u
                                                         : 2u);
        if (mask && !rotates_beyond) ++masks;
        if (mask) {
          EXPECT_NE(*mask, 0u);
          EXPECT_NE(*mask, ~0ull);
        }
      }
  EXPECT_EQ(masks, 5334u);
}

}  // namespace
}  // namespace trident::loop::aarch64
