// Oracle: the descriptors and mappings that the test itself holds.
#include "daemon/session/image_ledger.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/os/memfd.h"

namespace trident::session {
namespace {

const std::uint64_t kPage = os::page_bytes();

cache::SharedImage image_of(std::size_t pages) {
  auto unwritten = os::UnwrittenMemfd::make("trident-test");
  auto fd = std::move(*unwritten).seal(std::vector<std::byte>(pages * os::page_bytes() - 10), std::byte{0});
  EXPECT_TRUE(fd.ok());
  cache::SharedImage image;
  image.file = std::make_shared<cache::ImageFile>(std::move(*fd));
  image.size = static_cast<std::uint32_t>(pages * os::page_bytes() - 10);
  return image;
}

/// As the daemon does: claims it, and sends it to a client of the test.
std::shared_ptr<const os::Fd> claim_and_send(ImageLedger& ledger, std::uint32_t uid, const cache::SharedImage& image) {
  if (!ledger.claim(uid, image)) return nullptr;
  auto given = image.file->give_away();
  EXPECT_TRUE(given.ok());
  return *given;
}

ImageLedger::Limits limits(std::uint64_t pages_per_user, std::uint64_t pages) {
  return {.bytes_per_user = pages_per_user * kPage, .bytes = pages * kPage, .files_per_user = 100, .files = 1000};
}

TEST(ImageLedger, AClosedJobIsChargedAsLongAsTheClientHoldsTheImage) {
  ImageLedger ledger(limits(4, 100));
  const auto one = image_of(3), two = image_of(3);
  auto held = claim_and_send(ledger, 7, one);
  ASSERT_NE(held, nullptr);
  ledger.release(one.file);
  EXPECT_EQ(ledger.sweep(10), 0u);
  EXPECT_EQ(ledger.bytes_of(7), 3 * kPage);
  EXPECT_FALSE(ledger.claim(7, two));
  EXPECT_TRUE(ledger.claim(8, two));  // another user has room
  auto mapping = os::map_executable(*held, one.size);
  ASSERT_TRUE(mapping.ok());
  held.reset();
  EXPECT_EQ(ledger.sweep(10), 0u);  // mapped
  *mapping = os::Mapping();
  EXPECT_EQ(ledger.sweep(10), 1u);
  EXPECT_EQ(ledger.bytes_of(7), 0u);
  EXPECT_EQ(ledger.loose(), 0u);
  EXPECT_TRUE(ledger.claim(7, image_of(4)));
  EXPECT_TRUE(ledger.full(7));
}

TEST(ImageLedger, AnImageOfTwoJobsIsChargedOnceAndKeptByEither) {
  ImageLedger ledger(limits(4, 100));
  const auto image = image_of(4);
  EXPECT_TRUE(ledger.claim(7, image));
  EXPECT_TRUE(ledger.claim(7, image));
  EXPECT_EQ(ledger.bytes(), 4 * kPage);
  ledger.release(image.file);
  EXPECT_EQ(ledger.sweep(10), 0u);
  EXPECT_EQ(ledger.bytes(), 4 * kPage);
  ledger.release(image.file);
  EXPECT_TRUE(ledger.claim(7, image));  // loose, and claimed again
  EXPECT_EQ(ledger.sweep(10), 0u);
  ledger.release(image.file);
  EXPECT_EQ(ledger.sweep(10), 1u);
  EXPECT_EQ(ledger.files(), 0u);
}

TEST(ImageLedger, AllUsersTogetherAndTheNumberOfFilesAreBounded) {
  ImageLedger ledger(limits(10, 12));
  EXPECT_TRUE(ledger.claim(1, image_of(10)));
  EXPECT_TRUE(ledger.claim(2, image_of(2)));
  EXPECT_FALSE(ledger.claim(2, image_of(1)));
  EXPECT_TRUE(ledger.full(3));
  ImageLedger few({.bytes_per_user = 1 << 30, .bytes = 1 << 30, .files_per_user = 2, .files = 3});
  EXPECT_TRUE(few.claim(1, image_of(1)));
  EXPECT_TRUE(few.claim(1, image_of(1)));
  EXPECT_FALSE(few.claim(1, image_of(1)));
  EXPECT_TRUE(few.claim(2, image_of(1)));
  EXPECT_FALSE(few.claim(2, image_of(1)));
}

TEST(ImageLedger, RoomIsFoundAmongWhatOthersLetGo) {
  ImageLedger ledger(limits(10, 10));
  const auto theirs = image_of(10);
  auto held = claim_and_send(ledger, 1, theirs);
  ledger.release(theirs.file);
  EXPECT_FALSE(ledger.claim(2, image_of(1)));
  held.reset();
  EXPECT_TRUE(ledger.claim(2, image_of(1)));
}

TEST(ImageLedger, WhereTheSystemCannotTellTheUsersEndDecides) {
  ImageLedger ledger(limits(10, 10));
  auto writable = os::make_sealed_memfd("trident-test", std::vector<std::byte>(100), std::byte{0});
  cache::SharedImage image;
  image.file = std::make_shared<cache::ImageFile>(std::move(*writable));
  image.size = 100;
  claim_and_send(ledger, 1, image);
  ledger.release(image.file);
  EXPECT_EQ(ledger.sweep(10), 0u);
  ledger.user_gone(1);
  EXPECT_EQ(ledger.sweep(10), 1u);
  EXPECT_EQ(ledger.bytes(), 0u);
}

TEST(ImageLedger, AfterAnyHistoryTheSumsAreThoseOfWhatIsHeld) {
  std::mt19937_64 random(3);
  ImageLedger ledger(limits(40, 100));
  struct Sent {
    cache::SharedImage image;
    std::uint32_t uid;
    std::uint64_t pages;
    bool open;  ///< the job
    std::shared_ptr<const os::Fd> held;
  };
  std::vector<Sent> all;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 == 0) {
      const auto uid = static_cast<std::uint32_t>(random() % 4);
      const std::uint64_t pages = 1 + random() % 5;
      const auto image = image_of(pages);
      if (auto held = claim_and_send(ledger, uid, image)) all.push_back({image, uid, pages, true, held});
      ASSERT_LE(ledger.bytes(), 100 * kPage);
      ASSERT_LE(ledger.bytes_of(uid), 40 * kPage);
    } else if (!all.empty()) {
      Sent& sent = all[random() % all.size()];
      if (sent.open && random() % 2 == 0) {
        sent.open = false;
        ledger.release(sent.image.file);
      } else {
        sent.held.reset();
      }
    }
    std::erase_if(all, [](const Sent& sent) { return !sent.open && !sent.held; });
    if (step % 50 != 0) continue;
    while (ledger.sweep(1000) != 0) {
    }
    std::uint64_t pages[4] = {}, sum = 0;
    for (const Sent& sent : all) pages[sent.uid] += sent.pages;
    for (std::uint32_t uid = 0; uid < 4; ++uid) {
      EXPECT_EQ(ledger.bytes_of(uid), pages[uid] * kPage);
      sum += pages[uid];
    }
    EXPECT_EQ(ledger.bytes(), sum * kPage);
    EXPECT_EQ(ledger.files(), all.size());
  }
}

}  // namespace
}  // namespace trident::session
