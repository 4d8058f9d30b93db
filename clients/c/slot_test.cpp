// A slot alone, with images whose functions return their numbers. Oracles: a model that keeps the whole history of
// publications and revocations and derives everything from it, and rules that hold in any order of the threads: numbers
// never go back, images stay as long as the slot, one thread alone frees it.
#include "clients/c/slot.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "clients/c/slot_fixture.h"

namespace trident::client {
namespace {

ImageMap mapped(const NumberImage& image) {
  auto map = map_image_bytes(image.bytes, image.claim);
  EXPECT_TRUE(map.ok()) << map.error().message;
  return std::move(map).value();
}

/// A handle as a C interface would have it, and its slot.
struct Handle {
  alignas(64) Number* entry = nullptr;
  alignas(64) Slot slot{entry, &fallback_number};

  [[nodiscard]] Number* load() const { return __atomic_load_n(&entry, __ATOMIC_ACQUIRE); }
  [[nodiscard]] std::uint64_t call() const { return load()(); }
  [[nodiscard]] bool wants(const NumberImage& image) const {
    return slot.wants(image.tier, image.claim.digest_low, image.claim.digest_high);
  }
};

class SlotTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (greatest_isa() == 0) GTEST_SKIP() << "no instruction set of an image runs here";
  }
};

/// Everything that happened, in order; each question is answered from the start.
class History {
 public:
  void publish(const NumberImage& image) { events_.push_back({image.tier, image.number, true}); }
  void revoke(std::uint8_t tier) { events_.push_back({tier, 0, false}); }

  struct State {
    std::uint64_t answer = kFallbackNumber;
    std::uint8_t tier = 0;
    std::uint32_t swaps = 0, images = 0;
    std::set<std::uint64_t> withdrawn{};
  };
  [[nodiscard]] State state() const {
    State now;
    for (const Event& event : events_) {
      if (event.published) {
        now.answer = event.number, now.tier = event.tier;
        ++now.swaps, ++now.images;
      } else if (now.tier != 0 && now.tier == event.tier) {
        now.withdrawn.insert(now.answer);
        now.answer = kFallbackNumber, now.tier = 0;
        ++now.swaps;
      }
    }
    return now;
  }
  [[nodiscard]] bool wants(const NumberImage& image) const {
    const State now = state();
    return image.tier >= now.tier && image.number != now.answer && now.images < 8 &&
           !now.withdrawn.contains(image.number);
  }

 private:
  struct Event {
    std::uint8_t tier;
    std::uint16_t number;
    bool published;
  };
  std::vector<Event> events_;
};

void expect_same(const Handle& handle, const History& history) {
  const History::State state = history.state();
  ASSERT_EQ(state.answer, handle.call());
  ASSERT_EQ(state.tier, handle.slot.tier());
  ASSERT_EQ(state.swaps, handle.slot.swaps());
  ASSERT_EQ(state.images == 8, handle.slot.is_full());
  ASSERT_EQ(state.tier == 0 ? 0 : greatest_isa(), handle.slot.isa());
}

TEST_F(SlotTest, RandomOrdersAgreeWithTheHistory) {
  std::vector<NumberImage> images;
  for (std::uint16_t number = 1; number <= 6; ++number) {
    images.push_back(number_image(static_cast<std::uint8_t>(1 + number % 2), number));
  }
  std::mt19937 random(1);
  std::size_t full = 0, unwanted = 0;
  for (int round = 0; round < 300; ++round) {
    Handle handle;
    History history;
    std::vector<std::pair<Number*, std::uint16_t>> ever;
    for (int step = 0; step < 40; ++step) {
      const NumberImage& offered = images[random() % images.size()];
      ASSERT_EQ(history.wants(offered), handle.wants(offered)) << "round " << round << ", step " << step;
      if (random() % 4 == 0) {
        const auto tier = static_cast<std::uint8_t>(random() % 3);
        handle.slot.revoke(tier);
        history.revoke(tier);
      } else if (handle.wants(offered)) {
        handle.slot.publish(mapped(offered));
        history.publish(offered);
        ever.emplace_back(handle.load(), offered.number);
      } else {
        ++unwanted;
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(handle, history)) << "round " << round << ", step " << step;
      for (const auto& [entry, number] : ever) ASSERT_EQ(number, entry());  // retired images can still be called
    }
    full += handle.slot.is_full() ? 1 : 0;
  }
  EXPECT_GT(full, 0u);  // else the limit was never met
  EXPECT_GT(unwanted, 0u);
}

/// Returns true when the page of `entry` is mapped.
bool is_mapped(Number* entry) {
  const auto page = reinterpret_cast<std::uintptr_t>(entry) & ~std::uintptr_t{4095};
  return ::msync(reinterpret_cast<void*>(page), 1, MS_ASYNC) == 0 || errno != ENOMEM;
}

TEST_F(SlotTest, ImagesAreUnmappedWithTheSlotAndNotBefore) {
  auto handle = std::make_unique<Handle>();
  std::vector<Number*> entries;
  for (std::uint16_t number = 1; number <= 3; ++number) {
    handle->slot.publish(mapped(number_image(TRIDENT_TIER_BASELINE, number)));
    entries.push_back(handle->load());
  }
  handle->slot.revoke(TRIDENT_TIER_BASELINE);
  for (Number* entry : entries) EXPECT_TRUE(is_mapped(entry));
  handle.reset();
  for (Number* entry : entries) EXPECT_FALSE(is_mapped(entry));
}

TEST_F(SlotTest, CodeThatAssumesRangesIsNotSteady) {
  Handle handle;
  const auto steady = [&] { return handle.slot.is_steady(handle.slot.code<Number>()); };
  EXPECT_TRUE(steady());
  handle.slot.publish(mapped(number_image(TRIDENT_TIER_OPTIMISED, 1)));
  Number* const plain = handle.load();
  EXPECT_TRUE(steady());
  NumberImage speculative = number_image(TRIDENT_TIER_OPTIMISED, 2, true);
  speculative.claim.may_speculate = true;
  handle.slot.publish(mapped(speculative));
  EXPECT_EQ(2u, handle.call());
  EXPECT_FALSE(steady());
  EXPECT_FALSE(handle.slot.is_steady(plain));
  EXPECT_TRUE(handle.slot.leave_speculation());
  EXPECT_TRUE(steady());
  EXPECT_TRUE(handle.slot.is_steady(plain));
}

TEST_F(SlotTest, AClosedSlotWantsNothingAndStillAnswers) {
  Handle handle;
  const NumberImage first = number_image(TRIDENT_TIER_BASELINE, 1), second = number_image(TRIDENT_TIER_OPTIMISED, 2);
  handle.slot.publish(mapped(first));
  handle.slot.pin();
  EXPECT_TRUE(handle.wants(second));
  EXPECT_FALSE(handle.slot.close());
  EXPECT_TRUE(handle.slot.is_closed());
  EXPECT_FALSE(handle.wants(second));
  EXPECT_EQ(1u, handle.call());
  EXPECT_TRUE(handle.slot.unpin());
}

TEST_F(SlotTest, TheLastHolderFrees) {
  Handle open, closed, forked;
  open.slot.pin();
  EXPECT_FALSE(open.slot.unpin());  // nobody closed it
  EXPECT_TRUE(open.slot.close());
  closed.slot.pin();
  closed.slot.pin();
  EXPECT_FALSE(closed.slot.close());
  EXPECT_FALSE(closed.slot.unpin());
  EXPECT_TRUE(closed.slot.unpin());
  forked.slot.pin();
  forked.slot.forget_pins();
  EXPECT_TRUE(forked.slot.close());
}

// Each image's number is written to `made` just before it is published: a call that gets the number must see it.
TEST_F(SlotTest, CallsRunWholeImagesInTheOrderOfPublication) {
  constexpr std::uint16_t kImages = kMapsMax;
  std::vector<NumberImage> images;
  for (std::uint16_t number = 1; number <= kImages; ++number)
    images.push_back(number_image(TRIDENT_TIER_BASELINE, number));
  for (int round = 0; round < 30; ++round) {
    Handle handle;
    std::uint64_t made[kImages + 1] = {};
    std::atomic<bool> ended = false;
    std::atomic<int> backwards = 0, unseen = 0, calling = 0;
    const auto call = [&] {
      ++calling;
      for (std::uint64_t last = 0; !ended.load(std::memory_order_relaxed);) {
        const std::uint64_t got = handle.call(), number = got == kFallbackNumber ? 0 : got;
        if (number < last || number > kImages)
          ++backwards;
        else if (made[number] != number)
          ++unseen;
        last = number;
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(call);
    while (calling < 3) std::this_thread::yield();
    for (const NumberImage& next : images) {
      ImageMap map = mapped(next);
      made[next.number] = next.number;
      handle.slot.publish(std::move(map));
    }
    ended = true;
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(0, backwards) << "round " << round;
    ASSERT_EQ(0, unseen) << "round " << round;
    ASSERT_EQ(kImages, handle.call());
  }
}

TEST_F(SlotTest, CallsSurviveRevocations) {
  const NumberImage baseline = number_image(TRIDENT_TIER_BASELINE, 1),
                    optimised = number_image(TRIDENT_TIER_OPTIMISED, 2);
  for (int round = 0; round < 30; ++round) {
    Handle handle;
    std::atomic<bool> ended = false;
    std::atomic<int> strange = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        while (!ended.load(std::memory_order_relaxed)) {
          const std::uint64_t got = handle.call();
          if (got != kFallbackNumber && got != 1 && got != 2) ++strange;
        }
      });
    }
    handle.slot.publish(mapped(baseline));
    handle.slot.publish(mapped(optimised));
    handle.slot.revoke(TRIDENT_TIER_OPTIMISED);
    handle.slot.publish(mapped(baseline));
    handle.slot.revoke(TRIDENT_TIER_BASELINE);
    EXPECT_EQ(kFallbackNumber, handle.call());
    ended = true;
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(0, strange) << "round " << round;
  }
}

// Threads pin and unpin as the library's do, one closes: exactly one of them is told to free, and none pins afterwards.
TEST_F(SlotTest, OneThreadFrees) {
  for (int round = 0; round < 60; ++round) {
    std::mutex mutex;
    auto handle = std::make_unique<Handle>();  // guarded by the mutex
    bool findable = true;                      // in the table of jobs
    std::atomic<int> freed = 0;
    const auto free_it = [&] {
      ++freed;
      handle.reset();
    };
    const auto use = [&] {
      for (;;) {
        Handle* pinned = nullptr;
        {
          const std::lock_guard lock(mutex);
          if (!findable) return;
          pinned = handle.get();
          pinned->slot.pin();
        }
        EXPECT_EQ(kFallbackNumber, pinned->call());
        const std::lock_guard lock(mutex);
        if (pinned->slot.unpin()) free_it();
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(use);
    std::this_thread::yield();
    {
      const std::lock_guard lock(mutex);
      findable = false;
      if (handle->slot.close()) free_it();
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(1, freed) << "round " << round;
    ASSERT_EQ(nullptr, handle);
  }
}

}  // namespace
}  // namespace trident::client
