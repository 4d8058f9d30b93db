// Oracle: the entries that were put in. Images are built by jit/image from bytes that only look like code.
#include "daemon/cache/cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

namespace trident::cache {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

image::Key key_of(int number) {
  image::Key key{};
  std::memcpy(key.data(), &number, sizeof(number));
  return key;
}

image::ImageBytes image_for(const image::Key& key, trident_tier tier = TRIDENT_TIER_OPTIMISED) {
  codegen::MachineCode code;
  code.bytes.assign(64, std::byte{0xC3});
  constexpr unsigned char kLandingPad[] = {0xF3, 0x0F, 0x1E, 0xFA};
  std::memcpy(code.bytes.data(), kLandingPad, sizeof(kLandingPad));
  code.code_size = 16;
  code.pool_offset = 64;
  return image::build(code, {.outputs = 1}, codegen::Isa::avx2, tier, key);
}

SharedImage shared_image_for(const image::Key& key, trident_tier tier) {
  return std::make_shared<const image::ImageBytes>(image_for(key, tier));
}

Entry entry_for(const image::Key& key, const std::string& canonical) {
  Entry entry;
  entry.outcome = 0;
  entry.image = shared_image_for(key, TRIDENT_TIER_OPTIMISED);
  entry.baseline_ns = 10;
  entry.winner_ns = 7;
  entry.canonical = bytes_of(canonical);
  return entry;
}

class CacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/dev/shm/trident-cache-XXXXXX";
    directory_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  [[nodiscard]] Options options(std::uint32_t hot = 100) const {
    return {.path = directory_ + "/c.db", .bytes_max = 1 << 20, .hot_entries_max = hot, .hot_bytes_max = 1 << 20};
  }
  std::string directory_;
};

TEST_F(CacheTest, AnEntryIsHotAtOnceAndStoredForTheNextProcess) {
  const image::Key key = key_of(1);
  {
    Cache cache(options());
    EXPECT_EQ(cache.find_hot(5, key, bytes_of("e")), nullptr);
    EXPECT_EQ(cache.find_stored(5, key, bytes_of("e")), nullptr);
    cache.insert(5, key, entry_for(key, "e"));
    const Entry* hot = cache.find_hot(5, key, bytes_of("e"));
    ASSERT_NE(hot, nullptr);
    EXPECT_EQ(hot->winner_ns, 7);
  }
  Cache cache(options());
  EXPECT_EQ(cache.find_hot(5, key, bytes_of("e")), nullptr);
  const Entry* stored = cache.find_stored(5, key, bytes_of("e"));
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->winner_ns, 7);
  EXPECT_EQ(stored->baseline_ns, 10);
  ASSERT_TRUE(stored->image != nullptr);
  EXPECT_EQ(stored->image->bytes, image_for(key).bytes);
  EXPECT_NE(cache.find_hot(5, key, bytes_of("e")), nullptr);
}

TEST_F(CacheTest, OtherUsersAndOtherExpressionsFindNothing) {
  const image::Key key = key_of(2);
  {
    Cache cache(options());
    cache.insert(5, key, entry_for(key, "e"));
    EXPECT_EQ(cache.find_hot(6, key, bytes_of("e")), nullptr);
    EXPECT_EQ(cache.find_hot(5, key, bytes_of("another with the same hash")), nullptr);
  }
  Cache cache(options());
  EXPECT_EQ(cache.find_stored(6, key, bytes_of("e")), nullptr);
  EXPECT_EQ(cache.find_stored(5, key_of(3), bytes_of("e")), nullptr);
  EXPECT_EQ(cache.find_stored(5, key, bytes_of("another with the same hash")), nullptr);
  EXPECT_EQ(cache.stats().collisions, 1u);
}

TEST_F(CacheTest, AnOutcomeWithoutAnImageIsRemembered) {
  const image::Key key = key_of(4);
  {
    Cache cache(options());
    Entry entry;
    entry.outcome = 3;
    entry.canonical = bytes_of("wrong baseline");
    cache.insert(1, key, std::move(entry));
  }
  Cache cache(options());
  const Entry* stored = cache.find_stored(1, key, bytes_of("wrong baseline"));
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->outcome, 3);
  EXPECT_EQ(stored->image, nullptr);
}

TEST_F(CacheTest, HotEntriesAreBoundedAndTheLeastRecentlyUsedGo) {
  Cache cache(options(3));
  for (int i = 0; i < 3; ++i) cache.insert(1, key_of(i), entry_for(key_of(i), "e"));
  EXPECT_NE(cache.find_hot(1, key_of(0), bytes_of("e")), nullptr);
  cache.insert(1, key_of(3), entry_for(key_of(3), "e"));
  EXPECT_EQ(cache.stats().hot, 3u);
  EXPECT_NE(cache.find_hot(1, key_of(0), bytes_of("e")), nullptr);
  EXPECT_EQ(cache.find_hot(1, key_of(1), bytes_of("e")), nullptr);
  // Gone from memory, not from the store, which another thread writes.
  const Entry* stored = nullptr;
  for (int i = 0; i < 1000 && stored == nullptr; ++i, ::usleep(1000))
    stored = cache.find_stored(1, key_of(1), bytes_of("e"));
  EXPECT_NE(stored, nullptr);
}

TEST_F(CacheTest, HotEntriesAreBoundedInBytes) {
  Options few = options();
  const std::uint64_t image_bytes = image_for(key_of(0)).bytes.size();
  few.hot_bytes_max = 3 * image_bytes;
  Cache cache(few);
  for (int i = 0; i < 10; ++i) {
    cache.insert(1, key_of(i), entry_for(key_of(i), "e"));
    EXPECT_LE(cache.stats().hot_bytes, few.hot_bytes_max);
    EXPECT_NE(cache.find_hot(1, key_of(i), bytes_of("e")), nullptr);
  }
  EXPECT_EQ(cache.stats().hot, 3u);
  cache.insert(1, key_of(9), entry_for(key_of(9), "e"));  // again: counted once
  EXPECT_EQ(cache.stats().hot_bytes, 3 * image_bytes);
}

// Oracle: the system's list of this process's descriptors.
TEST_F(CacheTest, HotEntriesCostNoDescriptors) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  Cache cache(options());
  const auto before = descriptors();
  for (int i = 0; i < 50; ++i) cache.insert(1, key_of(i), entry_for(key_of(i), "e"));
  EXPECT_EQ(cache.stats().hot, 50u);
  EXPECT_LE(descriptors(), before + 1);  // the writer may have a journal open
}

TEST_F(CacheTest, RecordsSayOnlyWhatAnAnswerCanSay) {
  const image::Key key = key_of(9);
  Entry entry = entry_for(key, "canonical");
  const auto decodes = [&](int outcome, trident_tier tier, bool carries) {
    entry.outcome = static_cast<std::uint8_t>(outcome);
    entry.image = carries ? shared_image_for(key, tier) : nullptr;
    return decode_entry(encode_entry(entry)).ok();
  };
  for (int outcome = 0; outcome < 256; ++outcome)
    for (const trident_tier tier : {TRIDENT_TIER_BASELINE, TRIDENT_TIER_OPTIMISED}) {
      const bool fits =
          (outcome == 0 && tier == TRIDENT_TIER_OPTIMISED) || (outcome == 1 && tier == TRIDENT_TIER_BASELINE);
      ASSERT_EQ(decodes(outcome, tier, true), fits) << outcome << " " << tier;
      ASSERT_EQ(decodes(outcome, tier, false), outcome == 3) << outcome;
    }
}

TEST_F(CacheTest, MutatedRecordsDecodeToAnErrorOrToAnImageThatValidates) {
  const image::Key key = key_of(9);
  const store::Bytes good = encode_entry(entry_for(key, "canonical"));
  ASSERT_TRUE(decode_entry(good).ok());
  std::mt19937_64 random(8);
  for (int i = 0; i < 20'000; ++i) {
    store::Bytes bad = good;
    for (std::uint64_t k = 0; k <= random() % 3; ++k)
      bad[random() % bad.size()] ^= static_cast<std::byte>(1u << random() % 8);
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    const auto decoded = decode_entry(bad);
    if (!decoded.ok() || !decoded->image) continue;
    ASSERT_TRUE(image::validate(decoded->image->bytes).ok());
  }
}

}  // namespace
}  // namespace trident::cache
