// Images are built from hand-assembled code, so that these tests do not depend on the code generator. Oracle: an image
// with any bit flipped must be refused. runtime/os tests that a sealed file and its mapping cannot be changed.
#include "jit/image/image.h"

#define XXH_INLINE_ALL
#include <gtest/gtest.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdio>
#include <cstring>
#include <random>

#include "schemas/function_image.h"
#include "schemas/loop_image.h"

namespace trident::image {
namespace {

// endbr64; mov rax, [rdx]... : out[0][0] = 42 as int64, n ignored. rcx = out (System V: rdi self, rsi n, rdx in, rcx
// out).
codegen::MachineCode writes_42() {
  const std::uint8_t code[] = {0xF3, 0x0F, 0x1E, 0xFA,                    // endbr64
                               0x48, 0x8B, 0x01,                          // mov rax, [rcx]
                               0x48, 0xC7, 0x00, 0x2A, 0x00, 0x00, 0x00,  // mov qword [rax], 42
                               0xC3};                                     // ret
  codegen::MachineCode mc;
  mc.code_size = sizeof code;
  mc.pool_offset = 64;
  mc.bytes.assign(64 + 32, std::byte{0xCC});
  std::memcpy(mc.bytes.data(), code, sizeof code);
  for (std::size_t i = 64; i < mc.bytes.size(); ++i) mc.bytes[i] = static_cast<std::byte>(i);
  mc.eh_frame.assign(24, std::byte{0});
  mc.eh_frame_distance = 96;
  return mc;
}

constexpr Counts kOneOutput{.outputs = 1};

Key some_key() {
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i * 7 + 1);
  return key;
}

ImageBytes good_image() {
  return build(writes_42(), kOneOutput, codegen::Isa::avx2, TRIDENT_TIER_BASELINE, some_key());
}

TEST(Image, BuiltImageIsValidAndHoldsItsParts) {
  const ImageBytes image = good_image();
  EXPECT_TRUE(validate(image.bytes).ok());
  const auto& h = image.header();
  EXPECT_EQ(h.outputs, 1u);
  EXPECT_EQ(h.pool_size, 32u);
  const auto mc = writes_42();
  EXPECT_EQ(std::memcmp(image.bytes.data() + h.code_offset, mc.bytes.data(), mc.code_size), 0);
  EXPECT_EQ(h.unwind_offset, h.code_offset + mc.eh_frame_distance);
  EXPECT_EQ(std::memcmp(h.key, some_key().data(), 32), 0);
}

TEST(Image, ASpeculativeImageHasItsOwnVersion) {
  const ImageBytes image = build_speculative(writes_42(), kOneOutput, codegen::Isa::avx2, some_key());
  EXPECT_TRUE(validate(image.bytes).ok());
  EXPECT_EQ(image.header().version, TRIDENT_SPECULATIVE_IMAGE_VERSION);
  EXPECT_EQ(image.header().tier, TRIDENT_TIER_OPTIMISED);
  EXPECT_EQ(image.header().outputs, 1u);
}

TEST(Image, EveryFlippedBitIsRefused) {
  const ImageBytes image = good_image();
  for (std::size_t i = 0; i < image.bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto bytes = image.bytes;
      bytes[i] ^= static_cast<std::byte>(1 << bit);
      const auto verdict = validate(bytes);
      ASSERT_FALSE(verdict.ok()) << "byte " << i << " bit " << bit;
      ASSERT_EQ(verdict.error().code, ErrorCode::kRejectedImage);
    }
  }
}

/// Returns `image` after `change` of its header, with a correct digest.
template <class Change>
std::vector<std::byte> changed(const ImageBytes& image, Change change) {
  std::vector<std::byte> bytes = image.bytes;
  trident_image_header h;
  std::memcpy(&h, bytes.data(), sizeof h);
  change(h);
  std::memcpy(bytes.data(), &h, sizeof h);
  const XXH64_hash_t seed = XXH3_64bits(bytes.data(), TRIDENT_IMAGE_DIGEST_OFFSET);
  const XXH128_hash_t digest = XXH3_128bits_withSeed(bytes.data() + sizeof h, bytes.size() - sizeof h, seed);
  std::memcpy(bytes.data() + TRIDENT_IMAGE_DIGEST_OFFSET, &digest.low64, 8);
  std::memcpy(bytes.data() + TRIDENT_IMAGE_DIGEST_OFFSET + 8, &digest.high64, 8);
  return bytes;
}

// The digest is right, so that only the check of the field itself can find the fault.
TEST(Image, EveryFieldIsChecked) {
  using Header = trident_image_header;
  const ImageBytes image = good_image();
  ASSERT_TRUE(validate(changed(image, [](Header&) {})).ok());
  const auto refused_for = [&](const char* what, auto change) {
    const auto verdict = validate(changed(image, change));
    EXPECT_TRUE(!verdict.ok() && verdict.error().message.find(what) != std::string::npos)
        << what << ": " << (verdict.ok() ? "accepted" : verdict.error().message);
  };
  refused_for("magic", [](Header& h) { ++h.magic; });
  refused_for("version", [](Header& h) { h.version = 0; });
  refused_for("version", [](Header& h) { h.version = 5; });
  refused_for("description", [](Header& h) { h.version = TRIDENT_LOOP_IMAGE_VERSION; });
  refused_for("description", [](Header& h) { h.version = TRIDENT_FUNCTION_IMAGE_VERSION; });
  refused_for("instruction set", [](Header& h) { h.isa = 0; });
  refused_for("instruction set", [](Header& h) { h.isa = 4; });
  refused_for("tier", [](Header& h) { h.tier = TRIDENT_TIER_INTERPRETER; });
  refused_for("tier", [](Header& h) { h.tier = 3; });
  refused_for("total size", [](Header& h) { --h.total_size; });
  refused_for("total size", [](Header& h) { ++h.total_size; });
  refused_for("code offset", [](Header& h) { h.code_offset += 4; });
  refused_for("code offset", [](Header& h) { h.code_offset = 64; });
  refused_for("code size", [](Header& h) { h.code_size = 0; });
  refused_for("code size", [](Header& h) { h.code_size = h.total_size; });
  refused_for("entry", [](Header& h) { h.entry_offset = h.code_offset - 1; });
  refused_for("entry", [](Header& h) { h.entry_offset = h.code_offset + h.code_size; });
  refused_for("pool offset", [](Header& h) { h.pool_offset += 8; });
  refused_for("pool offset", [](Header& h) { h.pool_offset = h.code_offset; });
  refused_for("unwind place", [](Header& h) { h.pool_size = h.unwind_offset - h.pool_offset + 1; });
  refused_for("unwind place", [](Header& h) { --h.unwind_size; });
  refused_for("unwind place", [](Header& h) { ++h.unwind_size; });
  refused_for("landing pad", [](Header& h) { h.entry_offset += 4; });
  refused_for("landing pad", [](Header& h) { h.isa = TRIDENT_ISA_NEON; });
  refused_for("reserved", [](Header& h) { h.reserved0 = 1; });
  refused_for("reserved", [](Header& h) { h.reserved1[0] = 1; });
  refused_for("description", [](Header& h) { h.description_offset = 8; });
  refused_for("description", [](Header& h) { h.description_size = 8; });
  refused_for("inputs", [](Header& h) { h.inputs = 65; });
  refused_for("inputs", [](Header& h) { h.params = 65; });
  refused_for("inputs", [](Header& h) { h.inputs = 40, h.params = 25; });
  refused_for("inputs", [](Header& h) { h.inputs = h.params = 0x80000000u; });
  refused_for("outputs", [](Header& h) { h.outputs = 0; });
  refused_for("outputs", [](Header& h) { h.outputs = 65; });
  EXPECT_TRUE(validate(changed(image, [](Header& h) { h.inputs = 40, h.params = 24, h.outputs = 64; })).ok());
}

TEST(Image, EveryTruncationAndExtensionIsRefused) {
  const ImageBytes image = good_image();
  for (std::size_t n = 0; n < image.bytes.size(); ++n)
    EXPECT_FALSE(validate(std::span(image.bytes).first(n)).ok()) << n;
  auto longer = image.bytes;
  longer.push_back(std::byte{0xCC});
  EXPECT_FALSE(validate(longer).ok());
}

// Random fields under a right magic and size reach every check; sanitizers see any read outside.
TEST(Image, RandomHeadersNeverCrashAndAreRefused) {
  std::mt19937_64 random(7);
  const ImageBytes image = good_image();
  for (int round = 0; round < 200'000; ++round) {
    auto bytes = image.bytes;
    const int changes = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < changes; ++i) {
      const std::size_t at = 8 + 4 * (random() % 12);
      const auto value = static_cast<std::uint32_t>(random() >> (random() % 40));
      std::memcpy(bytes.data() + at, &value, 4);
    }
    if (bytes == image.bytes) continue;
    ASSERT_FALSE(validate(bytes).ok());
  }
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(random() % 400);
    for (auto& b : bytes) b = static_cast<std::byte>(random());
    ASSERT_FALSE(validate(bytes).ok());
  }
}

TEST(Image, SealedImageRuns) {
  auto fd = seal(good_image());
  ASSERT_TRUE(fd.ok());
  auto mapped = Mapped::map(*fd);
  ASSERT_TRUE(mapped.ok()) << mapped.error().message;
#if defined(__x86_64__)
  std::int64_t result = 0;
  void* out[] = {&result};
  mapped->entry()(nullptr, 1, nullptr, out, nullptr);
  EXPECT_EQ(result, 42);
#endif
}

TEST(Image, MappingRefusesUnsealedTruncatedAndCorruptFiles) {
  const ImageBytes image = good_image();
  std::FILE* plain = std::tmpfile();
  ASSERT_NE(plain, nullptr);
  ASSERT_EQ(std::fwrite(image.bytes.data(), 1, image.bytes.size(), plain), image.bytes.size());
  ASSERT_EQ(std::fflush(plain), 0);
  EXPECT_EQ(Mapped::map(os::Fd(::dup(::fileno(plain)))).error().code, ErrorCode::kRejectedImage);
  std::fclose(plain);

  auto corrupt = image.bytes;
  corrupt.back() ^= std::byte{1};
  auto fd = os::make_sealed_memfd("corrupt", corrupt, std::byte{0xCC});
  ASSERT_TRUE(fd.ok());
  EXPECT_EQ(Mapped::map(*fd).error().code, ErrorCode::kRejectedImage);

  auto announces_more = image.bytes;
  announces_more[9] = std::byte{0x40};
  auto fd2 = os::make_sealed_memfd("announces-more", announces_more, std::byte{0xCC});
  ASSERT_TRUE(fd2.ok());
  EXPECT_EQ(Mapped::map(*fd2).error().code, ErrorCode::kRejectedImage);

  ImageBytes unsound{corrupt};
  EXPECT_FALSE(seal(unsound).ok());
}

TEST(Image, WithoutPoolOrUnwindIsValidToo) {
  auto mc = writes_42();
  mc.bytes.resize(mc.code_size);
  mc.eh_frame.clear();
  const auto image = build(mc, kOneOutput, codegen::Isa::avx512, TRIDENT_TIER_OPTIMISED, some_key());
  EXPECT_TRUE(validate(image.bytes).ok());
}

TEST(Image, InstructionSetsHaveTheNumbersOfTheSchemaAndNoOthers) {
  EXPECT_EQ(isa_number(codegen::Isa::avx2), TRIDENT_ISA_AVX2);
  EXPECT_EQ(isa_number(codegen::Isa::avx512), TRIDENT_ISA_AVX512);
  EXPECT_EQ(isa_number(codegen::Isa::neon), TRIDENT_ISA_NEON);
  for (unsigned number = 0; number < 256; ++number) {
    const auto isa = isa_of(static_cast<std::uint8_t>(number));
    if (number >= TRIDENT_ISA_AVX2 && number <= TRIDENT_ISA_NEON) {
      ASSERT_TRUE(isa.ok()) << number;
      EXPECT_EQ(isa_number(*isa), number);
    } else {
      ASSERT_FALSE(isa.ok()) << number;
      EXPECT_EQ(isa.error().code, ErrorCode::kUnsupported);
    }
  }
}

}  // namespace
}  // namespace trident::image
