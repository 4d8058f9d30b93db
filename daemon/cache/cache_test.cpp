// Oracle: the entries that were put in. Images are built by jit/image from bytes that only look like code.
#include "daemon/cache/cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "runtime/os/memfd.h"

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

image::ImageBytes image_for(const image::Key& key) {
  codegen::MachineCode code;
  code.bytes.assign(64, std::byte{0xC3});
  constexpr unsigned char kLandingPad[] = {0xF3, 0x0F, 0x1E, 0xFA};
  std::memcpy(code.bytes.data(), kLandingPad, sizeof(kLandingPad));
  code.code_size = 16;
  code.pool_offset = 64;
  kir::Kernel kernel;
  kernel.outputs.resize(1);
  return image::build(code, kernel, codegen::Isa::avx2, TRIDENT_TIER_OPTIMISED, key);
}

Entry entry_for(const image::Key& key, const std::string& canonical) {
  const image::ImageBytes image = image_for(key);
  auto fd = image::seal(image);
  EXPECT_TRUE(fd.ok());
  Entry entry;
  entry.outcome = 0;
  entry.image.file = std::make_shared<ImageFile>(std::move(*fd));
  entry.image.size = static_cast<std::uint32_t>(image.bytes.size());
  entry.image.digest[0] = image.header().digest[0];
  entry.image.digest[1] = image.header().digest[1];
  entry.image.tier = TRIDENT_TIER_OPTIMISED;
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
  ASSERT_TRUE(stored->image.file != nullptr);
  const auto mapping = os::map_read_only(stored->image.file->fd(), stored->image.size);
  ASSERT_TRUE(mapping.ok());
  const image::ImageBytes image = image_for(key);
  EXPECT_EQ(std::memcmp(mapping->base(), image.bytes.data(), image.bytes.size()), 0);
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
  EXPECT_EQ(stored->image.file, nullptr);
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
  few.hot_bytes_max = 3 * os::page_bytes();
  Cache cache(few);
  for (int i = 0; i < 10; ++i) {
    cache.insert(1, key_of(i), entry_for(key_of(i), "e"));
    EXPECT_LE(cache.stats().hot_bytes, few.hot_bytes_max);
    EXPECT_NE(cache.find_hot(1, key_of(i), bytes_of("e")), nullptr);
  }
  EXPECT_EQ(cache.stats().hot, 3u);
  cache.insert(1, key_of(9), entry_for(key_of(9), "e"));  // again: counted once
  EXPECT_EQ(cache.stats().hot_bytes, 3 * os::page_bytes());
}

TEST(ImageFile, TellsWhetherAnyClientHasIt) {
  auto unwritten = image::unwritten_file();
  ASSERT_TRUE(unwritten.ok());
  auto fd = image::seal(image_for(key_of(1)), std::move(*unwritten));
  ASSERT_TRUE(fd.ok());
  ImageFile file(std::move(*fd));
  EXPECT_EQ(file.clients(), os::Holders::none);
  auto first = file.give_away(), second = file.give_away();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(file.clients(), os::Holders::some);
  first->reset();
  EXPECT_EQ(file.clients(), os::Holders::some);
  auto mapped = os::map_read_only(**second, 100);
  second->reset();
  EXPECT_EQ(file.clients(), os::Holders::some);
  *mapped = os::Mapping();
  EXPECT_EQ(file.clients(), os::Holders::none);
  auto third = file.give_away();
  EXPECT_EQ(file.clients(), os::Holders::some);

  auto writable = image::seal(image_for(key_of(1)));
  ImageFile opaque(std::move(*writable));
  for (int i = 0; i < 2; ++i) {
    auto given = opaque.give_away();
    ASSERT_TRUE(given.ok());
    EXPECT_EQ(opaque.clients(), os::Holders::unknown);
  }
}

TEST_F(CacheTest, RecordsSayOnlyWhatAnAnswerCanSay) {
  const image::Key key = key_of(9);
  const image::ImageBytes optimised = image_for(key);
  Entry entry = entry_for(key, "canonical");
  const auto decodes = [&](int outcome, int tier, bool carries) {
    entry.outcome = static_cast<std::uint8_t>(outcome);
    entry.image.tier = static_cast<std::uint8_t>(tier);
    return decode_entry(encode_entry(entry, carries ? std::span<const std::byte>(optimised.bytes)
                                                    : std::span<const std::byte>()))
        .ok();
  };
  for (int outcome = 0; outcome < 256; ++outcome)
    for (int tier = 0; tier < 256; ++tier) {
      // The image is an optimised one, so only its own tier fits.
      ASSERT_EQ(decodes(outcome, tier, true), outcome == 0 && tier == 2) << outcome << " " << tier;
      ASSERT_EQ(decodes(outcome, tier, false), outcome == 3) << outcome << " " << tier;
    }
}

TEST_F(CacheTest, MutatedRecordsDecodeToAnErrorOrToAnImageThatValidates) {
  const image::Key key = key_of(9);
  const store::Bytes good = encode_entry(entry_for(key, "canonical"), image_for(key).bytes);
  ASSERT_TRUE(decode_entry(good).ok());
  std::mt19937_64 random(8);
  for (int i = 0; i < 20'000; ++i) {
    store::Bytes bad = good;
    for (std::uint64_t k = 0; k <= random() % 3; ++k)
      bad[random() % bad.size()] ^= static_cast<std::byte>(1u << random() % 8);
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    const auto decoded = decode_entry(bad);
    if (!decoded.ok() || decoded->image.bytes.empty()) continue;
    ASSERT_TRUE(image::validate(decoded->image.bytes).ok());
  }
}

}  // namespace
}  // namespace trident::cache
