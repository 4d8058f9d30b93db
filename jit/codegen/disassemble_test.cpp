// Listings of machine code. Oracle: encodings by the manual's tables.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "jit/codegen/codegen.h"

namespace trident::codegen {
namespace {

std::string listing_of(const std::vector<std::uint8_t>& bytes) {
  MachineCode code;
  code.bytes.resize(bytes.size());
  std::memcpy(code.bytes.data(), bytes.data(), bytes.size());
  code.code_size = static_cast<std::uint32_t>(bytes.size());
  const auto text = disassemble(code, Isa::avx512);
  return text.ok() ? *text : text.error().message;
}

/// EVEX.LLIG.F2.0F.W1 58 with EVEX.b: bits 6:5 of the fourth byte are the rounding.
TEST(Disassemble, ShowsTheRoundingOfTheInstructionItself) {
  const std::pair<std::uint8_t, const char*> rows[] = {{0x18, "rn"}, {0x38, "rd"}, {0x58, "ru"}, {0x78, "rz"}};
  for (const auto& [prefix, rounding] : rows)
    for (const std::uint8_t next :
         std::vector<std::uint8_t>{0x90, 0xC3, 0xF9}) {  // nop, ret, stc: their low bits differ
      const std::string text = listing_of({0x62, 0x51, 0x87, prefix, 0x58, 0xFF, next, 0xC3});
      EXPECT_NE(text.find("    0  vaddsd xmm15, xmm15, xmm15, {" + std::string(rounding) + "-sae}\n    6  "),
                std::string::npos)
          << text;
      EXPECT_NE(text.find("    7  ret"), std::string::npos) << text;
    }
}

TEST(Disassemble, VectorsWithARoundingHave512Bits) {
  const std::pair<std::uint8_t, const char*> rows[] = {{0x18, "rn"}, {0x38, "rd"}, {0x58, "ru"}, {0x78, "rz"}};
  for (const auto& [prefix, rounding] : rows)
    EXPECT_EQ(listing_of({0x62, 0xF1, 0xF5, prefix, 0x58, 0xC2, 0xC3}),
              "    0  vaddpd zmm0, zmm1, zmm2, {" + std::string(rounding) + "-sae}\n    6  ret \n");
}

TEST(Disassemble, ReadsARoundingInTheLastInstruction) {
  EXPECT_EQ(listing_of({0x62, 0x51, 0x87, 0x18, 0x58, 0xFF}), "    0  vaddsd xmm15, xmm15, xmm15, {rn-sae}\n");
}

/// vmaxsd says only that exceptions are suppressed; vrndscalesd has an immediate.
TEST(Disassemble, LeavesOtherInstructionsAsTheyAre) {
  const std::string text = listing_of({0x62, 0x51, 0x87, 0x18, 0x5F, 0xFF,        // vmaxsd
                                       0x62, 0x53, 0x85, 0x18, 0x0B, 0xFF, 0x08,  // vrndscalesd
                                       0xC4, 0x41, 0x03, 0x58, 0xFF, 0xC3});      // vaddsd, without a rounding
  EXPECT_NE(text.find("    0  vmaxsd"), std::string::npos) << text;
  EXPECT_NE(text.find("    6  vrndscalesd"), std::string::npos) << text;
  EXPECT_NE(text.find("    d  vaddsd xmm15, xmm15, xmm15\n   12  ret"), std::string::npos) << text;
}

}  // namespace
}  // namespace trident::codegen
