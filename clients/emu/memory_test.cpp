// Oracle: a model with one entry a page. The watcher, which stands for the CPU, must see the same pages.
#include "clients/emu/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/random.h"

namespace trident::emu {
namespace {

constexpr std::uint64_t kBase = 0x100'0000, kHeap = 0x200'0000;
constexpr std::uint64_t kPages = 24;

struct Page {
  std::uint32_t permissions;
  std::uint64_t word;  ///< its first
  bool operator==(const Page&) const = default;
};
using Pages = std::map<std::uint64_t, Page>;

/// Keeps areas as a CPU does: it maps no page twice, and unmaps only whole areas. Translates executable pages, and runs
/// what it has of them until it is told to drop it.
struct Watched {
  std::map<std::uint64_t, Area> areas;
  std::map<std::uint64_t, std::uint64_t> translated;  ///< first words of pages
  GuestMemory::Watch watch() {
    return {[this](const Area& area) {
              const auto next = areas.lower_bound(area.base);
              EXPECT_TRUE(next == areas.end() || next->first >= area.base + area.bytes);
              EXPECT_TRUE(next == areas.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= area.base);
              areas[area.base] = area;
              return true;
            },
            [this](std::uint64_t base, std::uint64_t bytes) {
              EXPECT_TRUE(areas.contains(base) && areas[base].bytes == bytes);
              areas.erase(base);
            },
            [this](std::uint64_t base, std::uint64_t bytes) {
              translated.erase(translated.lower_bound(page_down(base)), translated.lower_bound(base + bytes));
            }};
  }
  void translate() {
    for (const auto& [base, page] : pages())
      if ((page.permissions & kExecute) != 0) translated[base] = page.word;
  }
  [[nodiscard]] bool translations_hold() const {
    const Pages now = pages();
    return std::all_of(translated.begin(), translated.end(), [&](const auto& page) {
      const auto found = now.find(page.first);
      return found != now.end() && (found->second.permissions & kExecute) != 0 && found->second.word == page.second;
    });
  }
  [[nodiscard]] Pages pages() const {
    Pages pages;
    for (const auto& [base, area] : areas)
      for (std::uint64_t at = 0; at < area.bytes; at += kPageBytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, area.host + at, sizeof word);
        pages[base + at] = {area.permissions, word};
      }
    return pages;
  }
};

TEST(GuestMemory, EqualsAModelOfPages) {
  testing::Random random(7);
  Watched cpu;
  GuestMemory memory(cpu.watch());
  ASSERT_TRUE(memory.reserve_heap(kHeap));
  Pages model;
  std::uint64_t heap_end = kHeap;
  for (int i = 0; i < 4'000; ++i) {
    const std::uint64_t base = kBase + random.next() % kPages * kPageBytes;
    const std::uint64_t bytes = (random.next() % 5 + 1) * kPageBytes;
    const auto permissions = static_cast<std::uint32_t>(random.next() % 8);
    const std::uint64_t choice = random.next() % 5;
    if (choice == 0) {
      EXPECT_TRUE(memory.map(base, bytes, permissions));
      for (std::uint64_t at = base; at < base + bytes; at += kPageBytes) model[at] = {permissions, 0};
    } else if (choice == 1) {
      memory.unmap(base, bytes);
      model.erase(model.lower_bound(base), model.lower_bound(base + bytes));
    } else if (choice == 2) {
      const auto first = model.lower_bound(base), last = model.lower_bound(base + bytes);
      const bool all = std::distance(first, last) == static_cast<std::ptrdiff_t>(bytes / kPageBytes);
      EXPECT_EQ(memory.protect(base, bytes, permissions), all);
      for (auto page = first; all && page != last; ++page) page->second.permissions = permissions;
    } else if (choice == 3) {
      const std::uint64_t word = random.next();
      const auto page = model.find(base);
      const bool writable = page != model.end() && (page->second.permissions & kWrite) != 0;
      EXPECT_EQ(memory.put(base, word), writable);
      if (writable) page->second.word = word;
    } else {
      const std::uint64_t end = kHeap + random.next() % 6 * kPageBytes + random.next() % 2;
      EXPECT_TRUE(memory.set_heap_end(end));
      for (std::uint64_t at = page_up(heap_end); at < page_up(end); at += kPageBytes) model[at] = {kRead | kWrite, 0};
      model.erase(model.lower_bound(page_up(end)), model.end());
      heap_end = end;
    }
    ASSERT_EQ(cpu.pages(), model) << i;
    ASSERT_TRUE(cpu.translations_hold()) << i;
    cpu.translate();
  }
}

TEST(GuestMemory, ReadsAndWritesAcrossAreas) {
  Watched cpu;
  GuestMemory memory(cpu.watch());
  ASSERT_TRUE(memory.map(kBase, kPageBytes, kRead | kWrite) &&
              memory.map(kBase + kPageBytes, kPageBytes, kRead | kWrite));
  const std::uint64_t edge = kBase + kPageBytes - 3;
  EXPECT_TRUE(memory.write(edge, "across", 7));
  EXPECT_EQ(memory.text(edge, 100), "across");
  EXPECT_EQ(memory.text(edge, 4), "acro");
  EXPECT_FALSE(memory.put(kBase + 2 * kPageBytes - 7, std::uint64_t{1}));
  EXPECT_FALSE(memory.get<std::uint64_t>(~std::uint64_t{0} - 3));
  EXPECT_FALSE(memory.pieces(kBase, ~std::uint64_t{0}, kRead));
  ASSERT_TRUE(memory.protect(kBase + kPageBytes, kPageBytes, kRead));
  EXPECT_FALSE(memory.write(edge, "ACROSS", 7));
  EXPECT_EQ(memory.text(edge, 100), "across");  // nothing of it was written
}

TEST(GuestMemory, PutsMappingsWhereNothingIs) {
  Watched cpu;
  GuestMemory memory(cpu.watch());
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t bytes = (i % 7 + 1) * kPageBytes, base = memory.free_range(bytes);
    ASSERT_NE(base, 0u);
    EXPECT_TRUE(memory.is_free(base, bytes));
    EXPECT_TRUE(memory.map(base, bytes, kRead));
    if (i % 3 == 0) memory.unmap(base, kPageBytes);
  }
  EXPECT_EQ(memory.free_range(kAddressEnd), 0u);
  EXPECT_FALSE(memory.map(kBase, std::uint64_t{1} << 38, kRead));
}

}  // namespace
}  // namespace trident::emu
