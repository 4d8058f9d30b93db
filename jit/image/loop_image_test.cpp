// Images of loops: as with those of kernels, any flipped bit must be refused, and every field by its own check.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "jit/image/image.h"
#include "schemas/image_checks.h"
#include "schemas/loop_image.h"

namespace trident::image {
namespace {

constexpr std::uint64_t kFlags = std::uint64_t{1} << 32;

/// endbr64; ret
codegen::MachineCode returns() {
  const std::uint8_t code[] = {0xF3, 0x0F, 0x1E, 0xFA, 0xC3};
  codegen::MachineCode made;
  made.code_size = sizeof code;
  made.pool_offset = 64;
  made.bytes.assign(64 + 20, std::byte{0xCC});
  std::memcpy(made.bytes.data(), code, sizeof code);
  made.eh_frame.assign(27, std::byte{1});  // so that the description needs padding in front
  made.eh_frame_distance = 88;
  return made;
}

/// A description with two ranges and two windows.
struct Parts {
  trident_loop_description counts{0, TRIDENT_GUEST_AARCH64, 2, 2, 5, 3, kFlags | 1};
  trident_loop_range ranges[2] = {{-16, 8, 0}, {0, 12, 0}};
  trident_loop_window_use windows[2] = {{31, TRIDENT_LOOP_LOADS, 16, 0}, {32, TRIDENT_LOOP_STORES, 1, 0}};
};
static_assert(sizeof(Parts) == 32 + 2 * 16 + 2 * 8);

std::vector<std::byte> bytes_of(Parts parts) {
  if (parts.counts.bytes == 0) parts.counts.bytes = sizeof parts;
  const auto bytes = std::as_bytes(std::span(&parts, 1));
  return {bytes.begin(), bytes.end()};
}

ImageBytes loop_image() {
  return build_loop(returns(), bytes_of({}), codegen::Isa::avx2, TRIDENT_TIER_BASELINE, {});
}

TEST(LoopImage, HoldsItsDescription) {
  const ImageBytes image = loop_image();
  ASSERT_TRUE(validate(image.bytes).ok()) << validate(image.bytes).error().message;
  const trident_image_header& h = image.header();
  EXPECT_EQ(h.version, 2);
  EXPECT_EQ(h.description_offset, 248u);  // 128 + 88 + 27 is 243
  EXPECT_EQ(h.description_size, sizeof(Parts));
  EXPECT_EQ(h.total_size, 248 + sizeof(Parts));
  EXPECT_EQ(std::memcmp(image.bytes.data() + 248, bytes_of({}).data(), sizeof(Parts)), 0);
}

TEST(LoopImage, EveryFlippedBitIsRefused) {
  const ImageBytes image = loop_image();
  for (std::size_t bit = 0; bit < image.bytes.size() * 8; ++bit) {
    auto bytes = image.bytes;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    ASSERT_FALSE(validate(bytes).ok()) << "byte " << bit / 8 << " bit " << bit % 8;
  }
}

TEST(LoopImage, EveryTruncationAndExtensionIsRefused) {
  auto bytes = loop_image().bytes;
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(validate(std::span(bytes).first(n)).ok()) << n;
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(validate(bytes).ok());
}

/// Returns the fault of an image after `change` of header and description, with a right digest.
std::string fault_after(const std::function<void(trident_image_header&, Parts&)>& change) {
  auto bytes = loop_image().bytes;
  trident_image_header h;
  Parts parts;
  std::memcpy(&h, bytes.data(), sizeof h);
  std::memcpy(&parts, bytes.data() + h.description_offset, sizeof parts);
  const std::size_t place = h.description_offset;
  change(h, parts);
  std::memcpy(bytes.data() + place, &parts, sizeof parts);
  std::memcpy(bytes.data(), &h, sizeof h);
  const XXH128_hash_t digest = digest_of(bytes);
  h.digest[0] = digest.low64, h.digest[1] = digest.high64;
  std::memcpy(bytes.data(), &h, sizeof h);
  const auto verdict = validate(bytes);
  return verdict.ok() ? "" : verdict.error().message;
}

TEST(LoopImage, EveryFieldIsChecked) {
  using Header = trident_image_header;
  const struct {
    const char* fault;
    std::function<void(Header&, Parts&)> change;
  } lies[] = {
      {"description", [](Header& h, Parts&) { h.version = 1, h.outputs = 1; }},
      {"description", [](Header& h, Parts&) { h.description_offset += 8; }},
      {"description", [](Header& h, Parts&) { h.description_offset -= 8; }},
      {"description", [](Header& h, Parts&) { h.description_size -= 8; }},
      {"description", [](Header& h, Parts&) { h.description_offset = 0, h.description_size = 0; }},
      {"description", [](Header& h, Parts&) { h.unwind_size += 8; }},
      {"reserved", [](Header& h, Parts&) { h.reserved1[15] = 1; }},
      {"inputs and outputs of a loop", [](Header& h, Parts&) { h.inputs = 1; }},
      {"inputs and outputs of a loop", [](Header& h, Parts&) { h.outputs = 1; }},
      {"inputs and outputs of a loop", [](Header& h, Parts&) { h.params = 1; }},
      {"guest", [](Header&, Parts& p) { p.counts.guest = 2; }},
      {"number of windows", [](Header&, Parts& p) { p.counts.windows = 17; }},
      {"size of the description", [](Header&, Parts& p) { p.counts.windows = 1; }},
      {"number of ranges", [](Header&, Parts& p) { p.counts.ranges = 0; }},
      {"number of ranges", [](Header&, Parts& p) { p.counts.ranges = 0xFFFF'FFFF; }},
      {"size of the description", [](Header&, Parts& p) { p.counts.ranges = 1; }},
      {"size of the description", [](Header&, Parts& p) { p.counts.bytes -= 8; }},
      {"number of instructions", [](Header&, Parts& p) { p.counts.instructions = 6; }},
      {"number of instructions", [](Header&, Parts& p) { p.counts.instructions = 0x4000'0005; }},
      {"registers", [](Header&, Parts& p) { p.counts.registers_read = kFlags << 1; }},
      {"registers", [](Header&, Parts& p) { p.counts.registers_written = kFlags << 31; }},
      {"place of a range", [](Header&, Parts& p) { p.ranges[0].offset = -8; }},
      {"place of a range", [](Header&, Parts& p) { p.ranges[0].offset = -15; }},
      {"place of a range", [](Header&, Parts& p) { p.ranges[0].offset = -16388; }},
      {"place of a range", [](Header&, Parts& p) { p.ranges[1].offset = INT64_MAX - 3; }},
      {"place of a range", [](Header&, Parts& p) { p.ranges[1].offset = 16376; }},
      {"size of a range", [](Header&, Parts& p) { p.ranges[0].bytes = 0; }},
      {"size of a range", [](Header&, Parts& p) { p.ranges[0].bytes = 6; }},
      {"size of a range", [](Header&, Parts& p) { p.ranges[0].bytes = 0xFFFF'FFFC; }},
      {"reserved", [](Header&, Parts& p) { p.ranges[1].reserved = 1; }},
      {"no range has the head", [](Header&, Parts& p) { p.ranges[1].offset = 4; }},
      {"base of a window", [](Header&, Parts& p) { p.windows[0].base = 33; }},
      {"access of a window", [](Header&, Parts& p) { p.windows[0].access = 0; }},
      {"access of a window", [](Header&, Parts& p) { p.windows[0].access = 4; }},
      {"widest", [](Header&, Parts& p) { p.windows[1].widest = 0; }},
      {"widest", [](Header&, Parts& p) { p.windows[1].widest = 17; }},
      {"reserved", [](Header&, Parts& p) { p.windows[1].reserved = 1; }},
  };
  EXPECT_EQ(fault_after([](Header&, Parts&) {}), "");
  for (const auto& [fault, change] : lies) {
    const std::string got = fault_after(change);
    EXPECT_NE(got.find(fault), std::string::npos) << fault << ": '" << got << "'";
  }
}

}  // namespace
}  // namespace trident::image
