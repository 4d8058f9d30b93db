// Loops between the guest's memory, the daemon's images and the caller: when code is entered, with which windows, and
// when it is not. Oracle: the code of loop_fixture.h, which tells what it was given.
#include "clients/c/loop.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <numeric>
#include <string>
#include <thread>

#include "clients/c/abi_edge.h"
#include "clients/c/loop_fixture.h"
#include "clients/c/loops.h"

namespace trident::client {
namespace {

constexpr std::uint64_t kHead = 0x400000, kData = 0x10000, kMore = 0x20000;
constexpr std::uint32_t kReadWrite = TRIDENT_LOOP_READ | TRIDENT_LOOP_WRITE;
constexpr std::uint32_t kReadExecute = TRIDENT_LOOP_READ | TRIDENT_LOOP_EXECUTE;
constexpr std::uint64_t kBudget = 1000;

class LoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "the images of this test are code of x86-64";
#endif
    if (greatest_isa() == 0) GTEST_SKIP() << "no instruction set of an image runs here";
    std::iota(code_.begin(), code_.end(), std::uint8_t{0});
    frame_.x[1] = kData + 16;
    Settings settings;
    settings.mode = TRIDENT_MODE_INTERP;  // no threads: what a daemon would say is said here
    context_ = new trident_ctx(std::move(settings));
    ASSERT_EQ(TRIDENT_OK, trident_loops_open(context_, nullptr, &loops_));
  }
  void TearDown() override {
    trident_loops_close(loops_);
    if (context_ != nullptr) context_->close();
  }

  trident_status map(std::uint64_t base, std::uint64_t size, void* host, std::uint32_t permissions) {
    trident_loop_memory memory{};
    memory.struct_size = sizeof memory;
    memory.permissions = permissions;
    memory.base = base;
    memory.size = size;
    memory.host = host;
    return trident_loops_map(loops_, &memory);
  }
  void map_code(std::uint32_t permissions) {
    ASSERT_EQ(TRIDENT_OK, map(kHead, code_.size(), code_.data(), permissions));
  }
  void map_data() {
    ASSERT_EQ(TRIDENT_OK, map(kData, data_.size(), data_.data(), kReadWrite));
  }
  trident_status submit_at(std::uint64_t head, trident_loop** loop) {
    trident_loop_request request{};
    request.struct_size = sizeof request;
    request.head = head;
    request.code_base = kHead;
    request.code = code_.data();
    request.code_size = code_.size();
    return trident_loop_submit(loops_, &request, loop);
  }
  trident_loop* submit() {
    trident_loop* loop = nullptr;
    EXPECT_EQ(TRIDENT_OK, submit_at(kHead, &loop)) << trident_last_error();
    return loop;
  }
  Result<void> deliver(trident_loop* loop, const ProbeLoop& probe = {}) {
    LoopImage image = loop_image(probe);
    Delivery delivery;
    delivery.claim = image.claim;
    delivery.inline_image = true;
    delivery.bytes = std::move(image.bytes);
    return context_->deliver(job(loop), std::move(delivery));
  }
  static std::uint64_t job(trident_loop* loop) {
    return Loop::of(loop)->submission.job;
  }
  /// Enters with x1 at the data; the exit.
  std::uint32_t enter(trident_loop* loop) {
    frame_.region.budget = kBudget;
    frame_.pc = kHead;
    frame_.scratch[0] = frame_.scratch[1] = 77;
    return trident_loop_enter(loop, &frame_);
  }
  static trident_loop_facts facts(const trident_loop* loop) {
    trident_loop_facts facts{};
    facts.struct_size = sizeof facts;
    EXPECT_EQ(TRIDENT_OK, trident_loop_info(loop, &facts));
    return facts;
  }
  /// The window that the code was given.
  void expect_window(std::uint64_t lo, std::uint64_t span) {
    EXPECT_EQ(lo, frame_.scratch[0]);
    EXPECT_EQ(span, frame_.scratch[1]);
  }

  alignas(8) std::array<std::uint8_t, 64> code_{};
  std::array<std::uint8_t, 256> data_{}, more_{};
  trident_ctx* context_ = nullptr;
  trident_loops* loops_ = nullptr;
  trident_loop_frame frame_{};
};

TEST_F(LoopTest, WithoutCodeNothingIsTouched) {
  trident_loop* loop = submit();
  const trident_loop_frame before = frame_;
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
  EXPECT_EQ(0, std::memcmp(before.x, frame_.x, sizeof before.x));
  EXPECT_EQ(kBudget, frame_.region.budget);
  EXPECT_EQ(0u, frame_.iterations);
  EXPECT_EQ(0, trident_loop_is_ready(loop));
  std::uint64_t read = 0, written = 0;
  trident_loop_registers(loop, &read, &written);
  EXPECT_EQ(~std::uint64_t{0}, read & written);
  EXPECT_EQ(0u, facts(loop).entries);
}

TEST_F(LoopTest, WithoutABudgetNoRoundBegins) {
  map_code(kReadExecute);
  map_data();
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  frame_.region.budget = 0;
  const trident_loop_frame before = frame_;
  EXPECT_EQ(TRIDENT_LOOP_BUDGET, trident_loop_enter(loop, &frame_));
  EXPECT_EQ(0u, frame_.region.budget);
  EXPECT_EQ(0u, frame_.iterations);
  EXPECT_EQ(before.pc, frame_.pc);
  EXPECT_EQ(0, std::memcmp(before.x, frame_.x, sizeof before.x));
  EXPECT_EQ(0, std::memcmp(before.scratch, frame_.scratch, sizeof before.scratch));
  EXPECT_EQ(1u, facts(loop).entries);
}

TEST_F(LoopTest, CodeIsEnteredWithTheWindowsThatItsRegistersPointTo) {
  map_code(kReadExecute);
  map_data();
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(1, trident_loop_is_ready(loop));
  std::uint64_t read = 0, written = 0;
  trident_loop_registers(loop, &read, &written);
  EXPECT_EQ(0x6u, read);
  EXPECT_EQ(0x2u, written);
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  expect_window(kData, data_.size());
  EXPECT_EQ(3u, frame_.iterations);
  EXPECT_EQ(0u, loop->checks);
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  const trident_loop_facts now = facts(loop);
  EXPECT_EQ(TRIDENT_LOOP_READY, now.state);
  EXPECT_EQ(2u, now.entries);
  EXPECT_EQ(6u, now.iterations);
  EXPECT_EQ(4u, now.instructions);
  EXPECT_EQ(1u, now.windows);
  EXPECT_EQ(0u, now.stores);
  EXPECT_EQ(kHead, now.code_begin);
  EXPECT_EQ(kHead + 16, now.code_end);
  EXPECT_NE(0u, now.installed_ns);
  EXPECT_EQ(nullptr, now.note);
}

TEST_F(LoopTest, AMissFillsTheWindowWherePermissionsAllowIt) {
  map_code(kReadExecute);
  map_data();
  ASSERT_EQ(TRIDENT_OK, map(kMore, more_.size(), more_.data(), TRIDENT_LOOP_READ));
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop, {.exit = TRIDENT_LOOP_MISS}).ok());
  frame_.x[5] = kMore + 8;
  EXPECT_EQ(TRIDENT_LOOP_MISS, enter(loop));
  expect_window(kData, data_.size());
  EXPECT_EQ(TRIDENT_LOOP_MISS, enter(loop));
  expect_window(kMore, more_.size());
  frame_.x[5] = 0x999000;  // nobody's memory: the window stays
  EXPECT_EQ(TRIDENT_LOOP_MISS, enter(loop));
  EXPECT_EQ(TRIDENT_LOOP_MISS, enter(loop));
  expect_window(kMore, more_.size());
  EXPECT_EQ(4u, facts(loop).misses);
}

TEST_F(LoopTest, AWindowForStoresIsNeverInCodeNorInMemoryToReadOnly) {
  const ProbeLoop stores{.windows = {{1, TRIDENT_LOOP_STORES, 4, 0}}};
  map_code(kReadWrite | TRIDENT_LOOP_EXECUTE);
  ASSERT_EQ(TRIDENT_OK, map(kMore, more_.size(), more_.data(), TRIDENT_LOOP_READ));
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop, stores).ok());
  for (const std::uint64_t address : {kHead + 32, kMore}) {
    frame_.x[1] = address;
    EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
    EXPECT_EQ(0u, frame_.scratch[1]) << std::hex << address;
  }
}

TEST_F(LoopTest, AStoreWindowInTheMemoryOfItsCodeEndsBeforeIt) {
  map_code(kReadWrite);
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop, {.windows = {{1, TRIDENT_LOOP_STORES, 4, 0}}}).ok());
  frame_.x[1] = kHead + 40;
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  expect_window(kHead + 16, code_.size() - 16);
}

TEST_F(LoopTest, WindowsAreEmptiedWhenMemoryGoes) {
  map_code(kReadExecute);
  map_data();
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  trident_loops_unmap(loops_, kData + 64, 1);
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  expect_window(kData, 64);
  trident_loops_unmap(loops_, kData, data_.size());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  EXPECT_EQ(0u, frame_.scratch[1]);
  map_data();
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  expect_window(kData, data_.size());
}

TEST_F(LoopTest, CodeThatTheGuestMayWriteIsComparedAtEveryEntry) {
  map_code(kReadWrite);
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  code_[20] ^= 1;  // behind the loop's instructions
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  code_[12] ^= 1;
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
  EXPECT_EQ(TRIDENT_LOOP_STALE, facts(loop).state);
  EXPECT_NE(nullptr, facts(loop).note);
  code_[12] ^= 1;  // for good: what was compiled may have been something else meanwhile
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
  trident_loop* again = nullptr;
  EXPECT_EQ(TRIDENT_E_INVALID, submit_at(kHead, &again));
  trident_loop_close(loop);
  EXPECT_EQ(TRIDENT_OK, submit_at(kHead, &again));
}

TEST_F(LoopTest, CodeThatIsWritableAtAnotherAddressIsComparedToo) {
  map_code(kReadExecute);
  ASSERT_EQ(TRIDENT_OK, map(kMore, code_.size(), code_.data(), kReadWrite));
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  code_[0] ^= 1;
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
}

TEST_F(LoopTest, OtherCodeIsComparedWhenItIsSaidToBeWritten) {
  map_code(kReadExecute);
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  EXPECT_EQ(0u, loop->checks);
  trident_loops_written(loops_, kHead + 16, 100);  // not the loop's
  EXPECT_EQ(0u, loop->checks);
  trident_loops_written(loops_, kHead + 15, 1);
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));  // with the same bytes
  code_[15] ^= 1;
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop)) << "nobody has said anything, and the guest may not write there";
  trident_loops_written(loops_, kHead + 15, 1);
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
  EXPECT_EQ(TRIDENT_LOOP_STALE, facts(loop).state);
}

TEST_F(LoopTest, CodeThatIsOtherAlreadyWhenItsImageComesIsNotEntered) {
  map_code(kReadExecute);
  trident_loop* loop = submit();
  code_[0] ^= 1;
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
  EXPECT_EQ(TRIDENT_LOOP_STALE, facts(loop).state);
}

TEST_F(LoopTest, UnmappedCodeIsStaleAndTheSameCodeMappedAgainIsNot) {
  map_code(kReadExecute);
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  trident_loops_unmap(loops_, kHead, code_.size());
  map_code(kReadExecute);
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  trident_loops_unmap(loops_, kHead, code_.size());
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
  EXPECT_EQ(TRIDENT_LOOP_STALE, facts(loop).state);
}

TEST_F(LoopTest, CodeThatIsNotMappedIsTrustedUntilItIsWritten) {
  map_data();
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  trident_loops_written(loops_, kHead, 4);
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
}

TEST_F(LoopTest, ExcludedInstructionsAreNeitherMadeNorEntered) {
  map_code(kReadExecute);
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  trident_loops_exclude(loops_, kHead + 16, kHead + 20);
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  trident_loops_exclude(loops_, kHead + 12, kHead + 13);
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
  EXPECT_EQ(TRIDENT_LOOP_GIVEN_UP, facts(loop).state);
  EXPECT_NE(std::string::npos, std::string(facts(loop).note).find("exclude"));
  trident_loop_close(loop);
  loop = submit();  // its instructions are not known before the image is there
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
  trident_loop* other = nullptr;
  ASSERT_EQ(TRIDENT_OK, submit_at(kHead + 12, &other));
  EXPECT_EQ(TRIDENT_LOOP_GIVEN_UP, facts(other).state);
}

TEST_F(LoopTest, ARevocationBringsTheRefusalBack) {
  map_code(kReadExecute);
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  context_->revoke(job(loop), TRIDENT_TIER_BASELINE, "it was wrong");
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
  EXPECT_EQ(0, trident_loop_is_ready(loop));
  EXPECT_STREQ("it was wrong", facts(loop).note);
}

TEST_F(LoopTest, OtherCodeMayNotNeedOtherRegisters) {
  map_code(kReadExecute);
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  EXPECT_EQ(3u, frame_.iterations);
  const ProbeLoop fewer{.registers_read = 0x4, .registers_written = 0x2, .rounds = 5};
  ASSERT_TRUE(deliver(loop, fewer).ok());
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  EXPECT_EQ(5u, frame_.iterations);
  std::uint64_t read = 0, written = 0;
  trident_loop_registers(loop, &read, &written);
  EXPECT_EQ(0x6u, read) << "what was told once stays";
  const ProbeLoop more{.registers_read = 0xe, .rounds = 7};
  ASSERT_TRUE(deliver(loop, more).ok());
  EXPECT_EQ(TRIDENT_LOOP_REFUSED, enter(loop));
}

TEST_F(LoopTest, ARefusalHasItsReason) {
  trident_loop* loop = submit();
  Loop::of(loop)->submission.state = JobState::sent;  // in mode interp it has ended already
  ++context_->unfinished;
  context_->refuse(job(loop), 4, kHead + 8, "it calls");
  const trident_loop_facts now = facts(loop);
  EXPECT_EQ(TRIDENT_LOOP_GIVEN_UP, now.state);
  EXPECT_EQ(5u, now.reason);
  EXPECT_EQ(kHead + 8, now.reason_address);
  EXPECT_STREQ("it calls", now.note);
}

TEST_F(LoopTest, ImagesThatAreNotOfTheSubmittedCodeAreRefused) {
  trident_loop* loop = submit();
  EXPECT_FALSE(deliver(loop, {.ranges = {{-4, 8, 0}}}).ok());
  EXPECT_FALSE(deliver(loop, {.ranges = {{0, 68, 0}}}).ok());
  EXPECT_FALSE(deliver(loop, {.ranges = {{4, 8, 0}}}).ok()) << "without the head";
  EXPECT_FALSE(deliver(loop, {.windows = {{33, TRIDENT_LOOP_LOADS, 4, 0}}}).ok());
  EXPECT_FALSE(deliver(loop, {.registers_read = std::uint64_t{1} << 33}).ok());
  EXPECT_TRUE(deliver(loop, {.ranges = {{0, 64, 0}}}).ok());
}

TEST_F(LoopTest, UnsoundRequestsAreRefused) {
  trident_loop* loop = nullptr;
  const auto status = [&](auto change) {
    trident_loop_request request{};
    request.struct_size = sizeof request;
    request.head = request.code_base = kHead;
    request.code = code_.data();
    request.code_size = code_.size();
    change(request);
    return trident_loop_submit(loops_, &request, &loop);
  };
  EXPECT_EQ(TRIDENT_E_INVALID, status([](auto& r) { r.head = kHead - 4; }));
  EXPECT_EQ(TRIDENT_E_INVALID, status([](auto& r) { r.head = kHead + 64; }));
  EXPECT_EQ(TRIDENT_E_INVALID, status([](auto& r) { r.head = kHead + 2; }));
  EXPECT_EQ(TRIDENT_E_INVALID, status([](auto& r) { r.code_size = 0; }));
  EXPECT_EQ(TRIDENT_E_INVALID, status([](auto& r) { r.code_size = 63; }));
  EXPECT_EQ(TRIDENT_E_INVALID, status([](auto& r) { r.code = nullptr; }));
  EXPECT_EQ(TRIDENT_E_LIMIT, status([](auto& r) { r.code_size = TRIDENT_LOOP_CODE_BYTES_MAX + 4; }));
  EXPECT_EQ(TRIDENT_E_INVALID, status([](auto& r) { r.head = r.code_base = ~std::uint64_t{0} - 31; }));
  EXPECT_EQ(nullptr, loop);
}

TEST_F(LoopTest, BackEdgesMakeAHeadHotOnce) {
  trident_loops* loops = nullptr;
  const trident_loops_options options{sizeof options, TRIDENT_AARCH64, 5, 0};
  ASSERT_EQ(TRIDENT_OK, trident_loops_open(context_, &options, &loops));
  int hot = 0;
  for (int i = 0; i < 20; ++i) hot += trident_loops_back_edge(loops, kHead + 12, kHead);
  EXPECT_EQ(1, hot);
  EXPECT_EQ(0, trident_loops_back_edge(loops, kHead, kHead + 12)) << "forwards";
  trident_loops_close(loops);
}

TEST_F(LoopTest, OfHeadsThatShareAPlaceTheOneWithMoreJumpsBecomesHot) {
  trident_loops* loops = nullptr;
  const trident_loops_options options{sizeof options, TRIDENT_AARCH64, 5, 0};
  ASSERT_EQ(TRIDENT_OK, trident_loops_open(context_, &options, &loops));
  const std::uint64_t rare = kHead - 4 * TRIDENT_LOOPS_EDGES;
  int hot = 0, hot_rare = 0;
  for (int i = 0; i < 20; ++i) {
    hot_rare += trident_loops_back_edge(loops, kHead, rare);
    for (int round = 0; round < 3; ++round) hot += trident_loops_back_edge(loops, kHead + 12, kHead);
  }
  EXPECT_GT(hot, 0);
  EXPECT_EQ(hot_rare, 0);
  for (int i = 0; i < 20; ++i) hot_rare += trident_loops_back_edge(loops, kHead, rare);
  EXPECT_EQ(hot_rare, 1) << "once the other has been told, its place is free";
  trident_loops_close(loops);
}

TEST_F(LoopTest, LoopsOutliveTheirContext) {
  map_code(kReadExecute);
  trident_loop* loop = submit();
  ASSERT_TRUE(deliver(loop).ok());
  std::exchange(context_, nullptr)->close();
  EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
  trident_loop_close(loop);
  loop = submit();
  EXPECT_EQ(TRIDENT_LOOP_GIVEN_UP, facts(loop).state);
}

// Images and revocations come from another thread all the while. Code must only ever run with its own windows.
TEST_F(LoopTest, SwapsBehindTheCallersBackNeverMixWindows) {
  map_code(kReadExecute);
  map_data();
  ASSERT_EQ(TRIDENT_OK, map(kMore, more_.size(), more_.data(), TRIDENT_LOOP_READ));
  frame_.x[2] = kMore;
  for (int round = 0; round < 20; ++round) {
    trident_loop* loop = submit();
    std::atomic<bool> swapped = false;
    std::thread library([&] {
      for (std::uint8_t i = 1; i <= 7; ++i) {
        const auto base = static_cast<std::uint16_t>(1 + i % 2);
        EXPECT_TRUE(deliver(loop, {.windows = {{base, TRIDENT_LOOP_LOADS, 4, 0}}, .rounds = i}).ok());
        if (i % 3 == 0) context_->revoke(job(loop), TRIDENT_TIER_BASELINE, "on the way");
      }
      swapped = true;
    });
    while (!swapped) {
      if (enter(loop) == TRIDENT_LOOP_REFUSED) continue;
      ASSERT_EQ(frame_.iterations % 2 == 0 ? kData : kMore, frame_.scratch[0]);
    }
    library.join();
    EXPECT_EQ(TRIDENT_LOOP_LEFT, enter(loop));
    EXPECT_EQ(7u, frame_.iterations);
    trident_loop_close(loop);
  }
}

}  // namespace
}  // namespace trident::client
