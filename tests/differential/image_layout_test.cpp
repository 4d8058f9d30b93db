// The two ends that check an image, on the same headers: the side that seals (jit/image) and the side that maps
// (clients/c). Each header has a digest that fits and a claim that repeats it, so that the layout alone decides.
// Oracle: the parts painted byte by byte.
#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <random>
#include <vector>

#include "clients/c/image_map.h"
#include "jit/image/image.h"
#include "schemas/loop_image.h"

namespace trident {
namespace {

using Header = trident_image_header;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kFileBytes = 4096;
#if defined(__aarch64__)
constexpr unsigned char kPad[] = {0x5f, 0x24, 0x03, 0xd5};
#else
constexpr unsigned char kPad[] = {0xf3, 0x0f, 0x1e, 0xfa};
#endif

/// Checks are shared by both ends, or made against what one end alone knows.
enum class Kind { shared, own };
struct Field {
  const char* name;
  std::size_t offset, bytes;
  Kind kind;
};
#define FIELD(name, kind) \
  { #name, offsetof(Header, name), sizeof(Header::name), Kind::kind }
constexpr Field kFields[] = {FIELD(magic, shared),
                             FIELD(version, shared),
                             FIELD(isa, own),
                             FIELD(tier, shared),
                             FIELD(total_size, shared),
                             FIELD(code_offset, shared),
                             FIELD(code_size, shared),
                             FIELD(entry_offset, shared),
                             FIELD(pool_offset, shared),
                             FIELD(pool_size, shared),
                             FIELD(inputs, own),
                             FIELD(outputs, own),
                             FIELD(unwind_offset, shared),
                             FIELD(unwind_size, shared),
                             FIELD(params, own),
                             FIELD(reserved0, shared),
                             FIELD(key, shared),
                             FIELD(description_offset, shared),
                             FIELD(description_size, shared),
                             FIELD(reserved1, shared)};

constexpr image::Counts kCounts{.inputs = 2, .outputs = 1, .params = 3};

codegen::MachineCode some_code() {
  codegen::MachineCode code;
  code.bytes.assign(192, std::byte{0xCC});
  for (const std::size_t at : {0, 32}) std::memcpy(code.bytes.data() + at, kPad, sizeof kPad);
  code.code_size = 100;
  code.pool_offset = 128;
  code.eh_frame.assign(32, std::byte{1});
  code.eh_frame_distance = 200;
  return code;
}

/// A sound image in a file of kFileBytes. The landing pad stands at two places of the code.
Bytes sound_file() {
  const codegen::MachineCode code = some_code();
  const auto isa = image::isa_of(client::greatest_isa());
  CHECK(isa.ok());
  Bytes bytes = image::build(code, kCounts, *isa, TRIDENT_TIER_BASELINE, {}).bytes;
  bytes.resize(kFileBytes, std::byte{0xCC});
  return bytes;
}

/// A sound image of a loop, with two ranges and one window.
Bytes sound_loop_file() {
  struct {
    trident_loop_description counts{72, TRIDENT_GUEST_AARCH64, 1, 2, 5, 3, 1};
    trident_loop_range ranges[2] = {{-16, 8, 0}, {0, 12, 0}};
    trident_loop_window_use window{4, TRIDENT_LOOP_LOADS, 8, 0};
  } const description;
  static_assert(sizeof description == 72);
  const auto isa = image::isa_of(client::greatest_isa());
  CHECK(isa.ok());
  Bytes bytes =
      image::build_loop(some_code(), std::as_bytes(std::span(&description, 1)), *isa, TRIDENT_TIER_BASELINE, {}).bytes;
  bytes.resize(kFileBytes, std::byte{0xCC});
  return bytes;
}

Header header_of(const Bytes& file) {
  Header h;
  std::memcpy(&h, file.data(), sizeof h);
  return h;
}

/// The bytes of `file` that belong to the image, cut to those that exist.
std::span<const std::byte> image_in(const Bytes& file) {
  return std::span(file).first(std::min<std::size_t>(header_of(file).total_size, file.size()));
}

void fit_digest(Bytes& file) {
  const auto bytes = image_in(file);
  if (bytes.size() < sizeof(Header)) return;
  const XXH64_hash_t seed = XXH3_64bits(bytes.data(), TRIDENT_IMAGE_DIGEST_OFFSET);
  const XXH128_hash_t digest =
      XXH3_128bits_withSeed(bytes.data() + sizeof(Header), bytes.size() - sizeof(Header), seed);
  std::memcpy(file.data() + TRIDENT_IMAGE_DIGEST_OFFSET, &digest.low64, 8);
  std::memcpy(file.data() + TRIDENT_IMAGE_DIGEST_OFFSET + 8, &digest.high64, 8);
}

bool sender_accepts(const Bytes& file) {
  return image::validate(image_in(file)).ok();
}

/// Takes the image for that of a kernel with kCounts, or of a loop.
bool receiver_accepts(const Bytes& file, bool is_loop = false) {
  const Header h = header_of(file);
  const image::Counts counts = is_loop ? image::Counts{} : kCounts;
  return client::validate_image(file, {.size = h.total_size,
                                       .digest_low = h.digest[0],
                                       .digest_high = h.digest[1],
                                       .tier = h.tier,
                                       .inputs = counts.inputs,
                                       .outputs = counts.outputs,
                                       .params = counts.params,
                                       .version = is_loop ? std::uint16_t{TRIDENT_LOOP_IMAGE_VERSION}
                                                          : std::uint16_t{TRIDENT_IMAGE_VERSION},
                                       .may_speculate = !is_loop,
                                       .code_before = TRIDENT_LOOP_CODE_BYTES_MAX,
                                       .code_after = TRIDENT_LOOP_CODE_BYTES_MAX})
      .ok();
}

/// Paints part after part; a part may not begin or lie before the end of the one before it.
class Canvas {
 public:
  explicit Canvas(std::size_t size) : painted_(size) {}
  bool paint(std::uint32_t offset, std::uint32_t bytes) {
    if (offset > painted_.size() || (offset < painted_.size() && painted_[offset])) return false;
    for (std::uint64_t at = offset; at < std::uint64_t{offset} + bytes; ++at) {
      if (at >= painted_.size()) return false;
      painted_[at] = true;
    }
    std::fill(painted_.begin(), painted_.begin() + offset, true);
    return true;
  }
  [[nodiscard]] bool full() const { return std::find(painted_.begin(), painted_.end(), false) == painted_.end(); }

 private:
  std::vector<bool> painted_;
};

bool is_sound(const Bytes& file) {
  const Header h = header_of(file);
  if (h.magic != 0x4B4E5254 || (h.version != 1 && h.version != 3) || (h.tier != 1 && h.tier != 2) || h.reserved0 != 0)
    return false;
  for (const std::uint8_t byte : h.reserved1)
    if (byte != 0) return false;
  if (h.description_offset != 0 || h.description_size != 0) return false;
  if (h.total_size > file.size() || h.code_offset % 64 != 0 || h.pool_offset % 64 != 0 || h.code_size == 0)
    return false;
  Canvas canvas(h.total_size);
  if (!canvas.paint(0, 128) || !canvas.paint(h.code_offset, h.code_size) || !canvas.paint(h.pool_offset, h.pool_size) ||
      !canvas.paint(h.unwind_offset, h.unwind_size) || !canvas.full())
    return false;
  for (std::size_t at = h.code_offset; at + sizeof kPad <= h.code_offset + h.code_size; ++at)
    if (at == h.entry_offset) return std::memcmp(file.data() + at, kPad, sizeof kPad) == 0;
  return false;
}

class ImageLayout : public ::testing::Test {
 protected:
  void SetUp() override {
    if (client::greatest_isa() == 0) GTEST_SKIP() << "no instruction set of an image runs here";
    file_ = sound_file();
    ASSERT_TRUE(sender_accepts(file_));
    ASSERT_TRUE(receiver_accepts(file_));
    ASSERT_TRUE(is_sound(file_));
  }
  Bytes file_;
};

TEST_F(ImageLayout, BothEndsAgreeOnEveryChangeOfEveryField) {
  for (const Field& field : kFields) {
    for (std::size_t bit = 0; bit < field.bytes * 8; ++bit) {
      for (const bool down : {false, true}) {  // a flipped bit, or all bits below it
        Bytes changed = file_;
        for (std::size_t b = down ? 0 : bit; b <= bit; ++b)
          changed[field.offset + b / 8] ^= static_cast<std::byte>(1u << b % 8);
        fit_digest(changed);
        const bool sender = sender_accepts(changed), receiver = receiver_accepts(changed);
        ASSERT_TRUE(sender || !receiver) << field.name << " bit " << bit;
        if (field.kind == Kind::own) continue;
        ASSERT_EQ(sender, receiver) << field.name << " bit " << bit;
        ASSERT_EQ(receiver, is_sound(changed)) << field.name << " bit " << bit;
      }
    }
  }
}

// Header and description of a loop, every bit. Bits that no check sees: masks of registers, and numbers that other
// sound loops have; but both ends must say the same, and no change makes a kernel of it.
TEST_F(ImageLayout, BothEndsAgreeOnLoops) {
  const Bytes file = sound_loop_file();
  ASSERT_TRUE(image::validate(image_in(file)).ok()) << image::validate(image_in(file)).error().message;
  ASSERT_TRUE(receiver_accepts(file, true));
  EXPECT_FALSE(receiver_accepts(file));
  EXPECT_FALSE(receiver_accepts(file_, true));
  const Header h = header_of(file);
  std::size_t refused = 0, bits = 0;
  for (std::size_t at = 0; at < h.total_size; ++at) {
    if (at >= sizeof(Header) && at < h.description_offset) continue;
    for (int bit = 0; bit < 8; ++bit, ++bits) {
      Bytes changed = file;
      changed[at] ^= static_cast<std::byte>(1u << bit);
      fit_digest(changed);
      const bool sender = sender_accepts(changed);
      const bool is_own = at == offsetof(Header, isa);
      ASSERT_TRUE(is_own || receiver_accepts(changed, true) == sender) << "byte " << at << " bit " << bit;
      refused += sender ? 0 : 1;
    }
  }
  EXPECT_GT(refused, bits / 2);
}

TEST_F(ImageLayout, BothEndsAgreeOnRandomPlaces) {
  std::mt19937_64 random(11);
  const std::size_t offsets[] = {offsetof(Header, total_size),    offsetof(Header, code_offset),
                                 offsetof(Header, code_size),     offsetof(Header, entry_offset),
                                 offsetof(Header, pool_offset),   offsetof(Header, pool_size),
                                 offsetof(Header, unwind_offset), offsetof(Header, unwind_size)};
  int sound = 0;
  for (int round = 0; round < 100'000; ++round) {
    Bytes changed = file_;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes; ++i) {
      auto* const at = changed.data() + offsets[random() % std::size(offsets)];
      std::uint32_t value = 0;
      std::memcpy(&value, at, 4);
      if (random() % 2 == 0) value = static_cast<std::uint32_t>(random() % 12 * 32);
      value += static_cast<std::uint32_t>(random() % 5) - 2;
      std::memcpy(at, &value, 4);
    }
    fit_digest(changed);
    const bool expected = is_sound(changed);
    ASSERT_EQ(sender_accepts(changed), expected) << round;
    ASSERT_EQ(receiver_accepts(changed), expected) << round;
    sound += expected ? 1 : 0;
  }
  EXPECT_GT(sound, 1000);
}

}  // namespace
}  // namespace trident
