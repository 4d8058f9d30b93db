// Checks of NEON code that need not run it. Its results are compared under qemu (tests/aarch64), its encodings with
// reviewed disassembly (tests/golden/neon).
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "jit/codegen/codegen.h"
#include "tests/support/random_kernel.h"

namespace trident::codegen {
namespace {

/// Checks a listing: another disassembler knows every line as an instruction; branches stay inside; the stack pointer
/// comes back to where it was; only registers that the ABI lets go or that are saved are written.
void check_listing(const kir::Kernel& kernel, const Variant& variant) {
  const auto code = emit(kernel, Isa::neon, variant);
  ASSERT_TRUE(code.ok()) << code.error().message;
  ASSERT_EQ(code->pool_offset % 64, 0u);
  ASSERT_EQ(code->code_size % 4, 0u);
  std::uint32_t first = 0;
  std::memcpy(&first, code->bytes.data(), 4);
  EXPECT_EQ(first, 0xD503'245Fu) << "bti c";
  const auto listing = disassemble(*code, Isa::neon);
  ASSERT_TRUE(listing.ok());
  std::istringstream lines(*listing);
  std::string offset, mnemonic, operands;
  long stack = 0;
  while (lines >> offset >> mnemonic && std::getline(lines, operands)) {
    ASSERT_NE(mnemonic, ".byte") << *listing;
    if (mnemonic.starts_with("b.") || mnemonic == "bl") {  // the one call stays inside
      const unsigned long target = std::stoul(operands.substr(operands.find('#') + 1), nullptr, 16);
      ASSERT_LT(target, code->code_size);
      ASSERT_EQ(target % 4, 0u);
    }
    if (operands.find("sp, sp, #") != std::string::npos) {
      const long amount = std::stol(operands.substr(operands.find('#') + 1), nullptr, 0);
      const bool shifted = operands.find("lsl #12") != std::string::npos;
      stack += (mnemonic == "sub" ? -1 : 1) * amount * (shifted ? 4096 : 1);
      ASSERT_LE(stack, 0);
    }
    for (const char* form : {" x18", "[x18"})
      ASSERT_EQ(operands.find(form), std::string::npos) << "platform's register";
    ASSERT_NE(mnemonic, "blr");
  }
  EXPECT_EQ(mnemonic, "ret");
  EXPECT_EQ(stack, 0);
}

TEST(A64, EveryOpGivesKnownInstructions) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64, ir::Type::i32, ir::Type::i64})
    check_listing(testing::every_op_kernel(type), {.vectors = 2});
}

TEST(A64, RandomKernelsGiveKnownInstructions) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed)
    check_listing(
        testing::random_kernel(
            seed,
            {.ops = seed % 10 == 0 ? 400u : 30u, .inputs_max = 12, .tables = seed % 2 == 0, .exits = seed % 3 == 0}),
        {.vectors = static_cast<std::uint8_t>(1 + seed % 4)});
}

TEST(A64, TheSameKernelGivesTheSameBytes) {
  const kir::Kernel kernel = testing::random_kernel(3, {.ops = 100});
  const auto a = emit(kernel, Isa::neon, {.vectors = 2}), b = emit(kernel, Isa::neon, {.vectors = 2});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->bytes, b->bytes);
  EXPECT_EQ(a->eh_frame, b->eh_frame);
}

TEST(A64, KernelsThatNeedTooMuchStackAreRefused) {
  // Ten thousand values that are all used again at the end.
  std::string text = "input x f64\n%0 = input f64 0\n";
  const int kAlive = 10000;
  const auto value = [](int i) { return "%" + std::to_string(i); };
  for (int i = 1; i < kAlive; ++i) text += value(i) + " = mul f64 " + value(i - 1) + ", %0\n";
  for (int i = 0; i < kAlive; ++i)
    text += value(kAlive + i) + " = sub f64 " + value(i == 0 ? kAlive - 1 : kAlive + i - 1) + ", " +
            value(kAlive - 1 - i) + "\n";
  const auto kernel = kir::parse(text + "output y " + value(2 * kAlive - 1) + "\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  for (const Isa isa : {Isa::neon, Isa::avx2, Isa::avx512}) {
    const auto code = emit(*kernel, isa, {.vectors = 1});
    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.error().code, ErrorCode::kLimitExceeded);
  }
}

}  // namespace
}  // namespace trident::codegen
