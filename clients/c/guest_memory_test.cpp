// The guest's memory as windows see it. Oracle: a model that knows every byte of a small address space by itself.
#include "clients/c/guest_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace trident::client {
namespace {

constexpr std::uint32_t kRead = TRIDENT_LOOP_READ, kWrite = TRIDENT_LOOP_WRITE, kExecute = TRIDENT_LOOP_EXECUTE;
constexpr std::uint64_t kSpace = 64;  // addresses [kBase, 2^64)
constexpr std::uint64_t kBase = std::uint64_t{0} - kSpace;
constexpr std::uintptr_t kHost = 0x10000;  // host bytes [kHost, kHost + kSpace)

/// Each address on its own: the region that it belongs to, the host's byte, what is allowed.
class Model {
 public:
  struct Byte {
    int region;
    std::uintptr_t host;
    std::uint32_t permissions;
  };

  bool map(const GuestRegion& region) {
    if (region.size == 0 || region.base - kBase + region.size > kSpace) return false;
    for (std::uint64_t i = 0; i < region.size; ++i)
      if (bytes_[region.base - kBase + i]) return false;
    ++regions_;
    for (std::uint64_t i = 0; i < region.size; ++i)
      bytes_[region.base - kBase + i] = Byte{regions_, region.host + i, region.permissions};
    return true;
  }
  void unmap(std::uint64_t base, std::uint64_t size) {
    for (std::uint64_t i = base - kBase; i < kSpace && i - (base - kBase) < size; ++i) bytes_[i].reset();
  }
  /// The host byte may be executed at some address.
  [[nodiscard]] bool any(std::uintptr_t host, std::uint32_t permission) const {
    for (const auto& byte : bytes_)
      if (byte && byte->host == host && (byte->permissions & permission) != 0) return true;
    return false;
  }
  /// Adjacent bytes of one region.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> piece(std::uint64_t i) const {
    std::uint64_t first = i, end = i + 1;
    while (first > 0 && same(first - 1, i)) --first;
    while (end < kSpace && same(end, i)) ++end;
    return {first, end};
  }
  [[nodiscard]] trident_region_window window(std::uint64_t i, const WindowNeed& need,
                                             const std::vector<HostRange>& own_code) const {
    if (!bytes_[i]) return {};
    auto [first, end] = piece(i);
    if (need.loads && (bytes_[i]->permissions & kRead) == 0) return {};
    if (need.stores) {
      if ((bytes_[i]->permissions & kWrite) == 0) return {};
      for (std::uint64_t at = first; at < end; ++at)
        if (any(bytes_[at]->host, kExecute)) return {};
      const auto is_code = [&](std::uint64_t at) {
        for (const HostRange& code : own_code)
          if (bytes_[at]->host >= code.begin && bytes_[at]->host < code.end) return true;
        return false;
      };
      if (is_code(i)) return {};
      for (std::uint64_t at = i; at-- > first;)
        if (is_code(at)) first = at + 1;
      for (std::uint64_t at = i; at < end; ++at)
        if (is_code(at)) end = at;
    }
    if (end - first < need.widest) return {};
    return {kBase + first, end - first, bytes_[i]->host - (kBase + i)};
  }
  [[nodiscard]] const std::optional<Byte>& at(std::uint64_t i) const { return bytes_[i]; }

 private:
  [[nodiscard]] bool same(std::uint64_t a, std::uint64_t b) const {
    return bytes_[a] && bytes_[a]->region == bytes_[b]->region;
  }
  std::array<std::optional<Byte>, kSpace> bytes_;
  int regions_ = 0;
};

class GuestMemoryTest : public ::testing::Test {
 protected:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }

  void change() {
    const std::uint64_t base = kBase + draw(kSpace), size = draw(24);
    if (draw(3) == 0) {
      memory_.unmap(base, size);
      model_.unmap(base, size);
      return;
    }
    const GuestRegion region{base, size, kHost + draw(kSpace), static_cast<std::uint32_t>(draw(8))};
    ASSERT_EQ(model_.map(region), memory_.map(region).ok());
  }
  void expect_equal_windows() {
    const std::uintptr_t code = kHost + draw(kSpace);
    const std::vector<HostRange> own_code = {{code, code + draw(8) + 1}, {code + 20, code + 24}};
    for (std::uint64_t i = 0; i < kSpace; ++i) {
      const WindowNeed need{draw(2) != 0, draw(2) != 0, static_cast<std::uint32_t>(1 + draw(6))};
      const auto expected = model_.window(i, need, own_code), found = memory_.window(kBase + i, need, own_code);
      ASSERT_EQ(expected.span, found.span) << i;
      if (expected.span == 0) continue;
      ASSERT_EQ(expected.lo, found.lo) << i;
      ASSERT_EQ(expected.delta, found.delta) << i;
    }
  }
  void expect_equal_bytes() {
    const std::uint64_t first = draw(kSpace), size = 1 + draw(kSpace - first);
    std::vector<HostRange> found;
    const bool whole = memory_.append_host(kBase + first, size, found);
    std::vector<std::uintptr_t> bytes;
    for (const HostRange& range : found)
      for (std::uintptr_t byte = range.begin; byte < range.end; ++byte) bytes.push_back(byte);
    std::vector<std::uintptr_t> expected;
    for (std::uint64_t i = first; i < first + size && model_.at(i); ++i) expected.push_back(model_.at(i)->host);
    ASSERT_EQ(expected, bytes);
    ASSERT_EQ(expected.size() == size, whole);
    const std::uintptr_t host = kHost + draw(kSpace);
    ASSERT_EQ(model_.any(host, kWrite), memory_.is_writable({host, host + 1}));
  }

  std::mt19937_64 random_{1};
  GuestMemory memory_;
  Model model_;
};

TEST_F(GuestMemoryTest, RandomChangesAgreeWithTheModel) {
  for (int round = 0; round < 3000; ++round) {
    ASSERT_NO_FATAL_FAILURE(change()) << round;
    ASSERT_NO_FATAL_FAILURE(expect_equal_windows()) << round;
    ASSERT_NO_FATAL_FAILURE(expect_equal_bytes()) << round;
  }
}

TEST_F(GuestMemoryTest, UnsoundRegionsAreRefused) {
  EXPECT_FALSE(memory_.map({0x1000, 0, kHost, kRead}).ok());
  EXPECT_FALSE(memory_.map({0x1000, 0x1000, 0, kRead}).ok());
  EXPECT_FALSE(memory_.map({0x1000, 0x1000, kHost, 8}).ok());
  EXPECT_FALSE(memory_.map({kBase, kSpace + 1, kHost, kRead}).ok());
  EXPECT_FALSE(memory_.map({0x1000, 0x1000, ~std::uintptr_t{0} - 100, kRead}).ok());
  EXPECT_TRUE(memory_.regions().empty());
}

TEST_F(GuestMemoryTest, AWindowStaysInItsRegionAlthoughTheNextOneTouches) {
  ASSERT_TRUE(memory_.map({0x1000, 0x1000, 0x70000, kRead | kWrite}).ok());
  ASSERT_TRUE(memory_.map({0x2000, 0x1000, 0x71000, kRead | kWrite}).ok());
  const auto window = memory_.window(0x1fff, {true, true, 8}, {});
  EXPECT_EQ(0x1000u, window.lo);
  EXPECT_EQ(0x1000u, window.span);
}

TEST_F(GuestMemoryTest, StoresKeepOutOfCodeAtEveryAddress) {
  ASSERT_TRUE(memory_.map({0x1000, 0x1000, 0x70000, kRead | kExecute}).ok());
  ASSERT_TRUE(memory_.map({0x9000, 0x2000, 0x6f000, kRead | kWrite}).ok());  // the last half is the code's memory
  EXPECT_EQ(0u, memory_.window(0x9000, {false, true, 1}, {}).span);
  EXPECT_EQ(0x2000u, memory_.window(0x9000, {true, false, 1}, {}).span);
  EXPECT_TRUE(memory_.is_writable({0x70000, 0x70004}));
  memory_.unmap(0x1000, 0x1000);
  EXPECT_EQ(0x2000u, memory_.window(0x9000, {false, true, 1}, {}).span);
}

}  // namespace
}  // namespace trident::client
