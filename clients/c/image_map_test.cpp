// Kernel images that a client refuses. The image is written here from schemas/kernel_image.h alone; every lie about
// it gets a digest that fits, so that only the check of the field itself can see it.
#include "clients/c/image_map.h"

#define XXH_INLINE_ALL
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <functional>
#include <vector>

#include "runtime/base/limits.h"
#include "schemas/function_image.h"
#include "schemas/loop_image.h"

namespace trident::client {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kCode = 128, kPool = 192, kUnwind = 256, kTotal = 320;

struct Lie {
  const char* what;
  std::function<void(trident_image_header&)> header;
  std::function<void(Bytes&)> body = {};
};

class ImageMapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (greatest_isa() == 0) GTEST_SKIP() << "no instruction set of an image runs here";
  }

  /// A whole image, with trapping bytes up to the end of the page.
  static Bytes image(const Lie& lie = {}) {
    Bytes bytes(4096, std::byte{0xCC});
#if defined(__aarch64__)
    constexpr unsigned char kCodeBytes[] = {0x5f, 0x24, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6};  // bti c; ret
#else
    constexpr unsigned char kCodeBytes[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xc3};  // endbr64; ret
#endif
    std::memcpy(bytes.data() + kCode, kCodeBytes, sizeof kCodeBytes);
    if (lie.body) lie.body(bytes);
    trident_image_header h{};
    h.magic = TRIDENT_IMAGE_MAGIC;
    h.version = TRIDENT_IMAGE_VERSION;
    h.isa = greatest_isa();
    h.tier = TRIDENT_TIER_BASELINE;
    h.total_size = kTotal;
    h.code_offset = h.entry_offset = kCode;
    h.code_size = 64;
    h.pool_offset = kPool;
    h.pool_size = 64;
    h.unwind_offset = kUnwind;
    h.unwind_size = 64;
    h.inputs = 2, h.outputs = 1, h.params = 3;
    if (lie.header) lie.header(h);
    std::memcpy(bytes.data(), &h, sizeof h);
    const std::size_t end = h.total_size >= kCode && h.total_size <= bytes.size() ? h.total_size : kTotal;
    const XXH64_hash_t seed = XXH3_64bits(bytes.data(), TRIDENT_IMAGE_DIGEST_OFFSET);
    const XXH128_hash_t digest = XXH3_128bits_withSeed(bytes.data() + kCode, end - kCode, seed);
    std::memcpy(bytes.data() + TRIDENT_IMAGE_DIGEST_OFFSET, &digest.low64, 8);
    std::memcpy(bytes.data() + TRIDENT_IMAGE_DIGEST_OFFSET + 8, &digest.high64, 8);
    return bytes;
  }

  static ImageClaim claim_of(const Bytes& bytes) {
    trident_image_header h;
    std::memcpy(&h, bytes.data(), sizeof h);
    return {.size = h.total_size,
            .digest_low = h.digest[0],
            .digest_high = h.digest[1],
            .tier = TRIDENT_TIER_BASELINE,
            .inputs = 2,
            .outputs = 1,
            .params = 3};
  }

  static std::string refusal(std::span<const std::byte> bytes, const ImageClaim& claim) {
    const auto valid = validate_image(bytes, claim);
    EXPECT_TRUE(valid.ok() || valid.error().code == ErrorCode::kRejectedImage);
    return valid.ok() ? "" : valid.error().message;
  }
};

TEST_F(ImageMapTest, AnHonestImageIsMappedAndRuns) {
  const Bytes bytes = image();
  ASSERT_EQ("", refusal(bytes, claim_of(bytes)));
  const auto map = map_image_bytes(bytes, claim_of(bytes));
  ASSERT_TRUE(map.ok()) << map.error().message;
  map->entry()(nullptr, 0, nullptr, nullptr, nullptr);
}

TEST_F(ImageMapTest, EveryFieldIsChecked) {
  using Header = trident_image_header;
  const Lie lies[] = {
      {"magic number", [](Header& h) { h.magic ^= 1; }},
      {"version", [](Header& h) { h.version = 5; }},
      {"another kind", [](Header& h) { h.version = TRIDENT_SPECULATIVE_IMAGE_VERSION; }},
      {"instruction set", [](Header& h) { h.isa = 0; }},
      {"instruction set", [](Header& h) { h.isa = 7; }},
      {"tier", [](Header& h) { h.tier = TRIDENT_TIER_OPTIMISED; }},
      {"total size", [](Header& h) { h.total_size = 64; }},
      {"code offset", [](Header& h) { h.code_offset = 64, h.code_size = 128; }},
      {"code offset", [](Header& h) { h.code_offset = 132, h.entry_offset = 132; }},
      {"code size", [](Header& h) { h.code_size = 0; }},
      {"code size", [](Header& h) { h.code_size = kTotal; }},
      {"code size", [](Header& h) { h.code_size = 0xFFFFFFC0u; }},
      {"entry", [](Header& h) { h.entry_offset = kCode - 4; }},
      {"entry", [](Header& h) { h.entry_offset = kCode + 64; }},
      {"pool offset", [](Header& h) { h.pool_offset = kCode; }},
      {"pool offset", [](Header& h) { h.pool_offset = kPool + 8; }},
      {"unwind place", [](Header& h) { h.pool_size = 65; }},
      {"unwind place", [](Header& h) { h.pool_size = 0xFFFFFFFFu; }},
      {"unwind place", [](Header& h) { h.unwind_size = 65; }},
      {"unwind place", [](Header& h) { h.unwind_size = 0xFFFFFFFFu; }},
      {"reserved", [](Header& h) { h.reserved0 = 1; }},
      {"reserved", [](Header& h) { h.reserved1[15] = 1; }},
      {"description", [](Header& h) { h.description_offset = kTotal; }},
      {"description", [](Header& h) { h.description_size = 8; }},
      {"description", [](Header& h) { h.version = TRIDENT_LOOP_IMAGE_VERSION; }},
      {"description", [](Header& h) { h.version = TRIDENT_FUNCTION_IMAGE_VERSION; }},
      {"another kernel", [](Header& h) { h.inputs = 3; }},
      {"another kernel", [](Header& h) { h.outputs = 2; }},
      {"another kernel", [](Header& h) { h.params = 2; }},
      {"landing pad", [](Header& h) { h.entry_offset = kCode + 1; }},
      {"landing pad", [](Header& h) { h.entry_offset = kCode + 62; }},
      {"landing pad", {}, [](Bytes& bytes) { bytes[kCode + 3] ^= std::byte{1}; }},
  };
  for (const Lie& lie : lies) {
    const Bytes bytes = image(lie);
    const std::string refused = refusal(bytes, claim_of(bytes));
    EXPECT_NE(std::string::npos, refused.find(lie.what)) << lie.what << ": '" << refused << "'";
    EXPECT_FALSE(map_image_bytes(bytes, claim_of(bytes)).ok()) << lie.what;
  }
}

// The bytes behind the span are the rest of a sound image: only the comparison of lengths can tell.
TEST_F(ImageMapTest, ATotalBeyondTheBytesIsRefused) {
  const Bytes bytes = image();
  const ImageClaim claim = claim_of(bytes);
  EXPECT_EQ("", refusal(std::span(bytes).first(kTotal), claim));
  for (const std::size_t size : {kTotal - 1, kUnwind, kPool, kCode}) {
    const std::string refused = refusal(std::span(bytes).first(size), claim);
    EXPECT_NE(std::string::npos, refused.find("total size")) << size << ": '" << refused << "'";
  }
  EXPECT_NE(std::string::npos, refusal(std::span(bytes).first(kCode - 1), claim).find("shorter than a header"));
}

TEST_F(ImageMapTest, TheClaimMustFit) {
  const Bytes bytes = image();
  const ImageClaim honest = claim_of(bytes);
  const auto with = [&](auto change) {
    ImageClaim claim = honest;
    change(claim);
    return refusal(bytes, claim);
  };
  EXPECT_NE("", with([](ImageClaim& c) { ++c.size; }));
  EXPECT_NE("", with([](ImageClaim& c) { --c.size; }));
  EXPECT_NE("", with([](ImageClaim& c) { c.digest_low ^= 1; }));
  EXPECT_NE("", with([](ImageClaim& c) { c.digest_high ^= 1; }));
  EXPECT_NE("", with([](ImageClaim& c) { c.tier = TRIDENT_TIER_OPTIMISED; }));
  EXPECT_NE("", with([](ImageClaim& c) { ++c.inputs; }));
  EXPECT_NE("", with([](ImageClaim& c) { ++c.outputs; }));
  EXPECT_NE("", with([](ImageClaim& c) { ++c.params; }));
  EXPECT_NE("", with([](ImageClaim& c) { c.version = TRIDENT_LOOP_IMAGE_VERSION; }));
  // The interpreter's tier is no image's, even where both say so.
  const Bytes interpreted = image({"", [](trident_image_header& h) { h.tier = TRIDENT_TIER_INTERPRETER; }});
  ImageClaim claim = claim_of(interpreted);
  claim.tier = TRIDENT_TIER_INTERPRETER;
  EXPECT_NE("", refusal(interpreted, claim));
}

TEST_F(ImageMapTest, OnlyAKernelThatToldOfItsDataTakesASpeculativeImage) {
  const Bytes bytes = image({"", [](trident_image_header& h) { h.version = TRIDENT_SPECULATIVE_IMAGE_VERSION; }});
  ImageClaim claim = claim_of(bytes);
  EXPECT_NE("", refusal(bytes, claim));
  claim.may_speculate = true;
  EXPECT_EQ("", refusal(bytes, claim));
  const Bytes plain = image();
  claim = claim_of(plain);
  claim.may_speculate = true;
  EXPECT_EQ("", refusal(plain, claim));
}

TEST_F(ImageMapTest, EveryByteIsCoveredByTheDigest) {
  const Bytes bytes = image();
  for (std::uint32_t at = 0; at < kTotal; ++at) {
    Bytes damaged = bytes;
    damaged[at] ^= std::byte{0x10};
    EXPECT_NE("", refusal(damaged, claim_of(bytes))) << at;
  }
}

}  // namespace
}  // namespace trident::client
