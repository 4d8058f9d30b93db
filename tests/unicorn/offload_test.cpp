// Loops of a guest, run with and without a handle. Oracle: the same guest in another engine, without one; or a value
// that is written out.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "tests/unicorn/offload.h"

namespace trident::tests {
namespace {

TEST_F(Offload, AHotLoopIsFoundShadowedAndEntered) {
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData + 3, 200, 100));
  EXPECT_EQ(guest_.stats().installed, 1u);
  EXPECT_EQ(guest_.stats().shadows, 2u);
  EXPECT_EQ(guest_.stats().mismatches, 0u);
  EXPECT_GT(guest_.stats().entries, 90u);
  EXPECT_GT(guest_.stats().iterations, 17'000u);
  EXPECT_EQ(guest_.loop().head, kFillHead);
  EXPECT_GT(guest_.loop().guest_ns, 0);
}

TEST_F(Offload, ARunningLoopIsReplacedInTheMiddle) {  // of one execution: unicorn-engine/unicorn#2200
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData, 20'000, 1));
  EXPECT_GE(guest_.stats().entries, 1u) << guest_.stats().heads << ' ' << guest_.stats().installed << ' '
                                        << guest_.stats().shadows;
}

TEST_F(Offload, TheExitIsReachedOnceAndTheBodyRunsAsOftenAsItShould) {  // unicorn-engine/unicorn#2058
  // x3 counts rounds, x4 exits.
  load(
      {mov(2, 11), add(3, 3, 1), subs(2, 2, 1), b_ne(-2), add(4, 4, 1), bl(4), subs(12, 12, 1), b_ne(-7), kStop, kRet});
  guest_.attach(early());
  GuestState state = repeated(0, 300, 500);
  state.x[3] = state.x[4] = 0;
  run_both(state);
  EXPECT_EQ(guest_.state().x[3], 300u * 500);
  EXPECT_EQ(guest_.state().x[4], 500u);
  EXPECT_GT(guest_.stats().entries, 400u);
}

TEST_F(Offload, AFillThatFaultsHalfWayStopsAtTheFirstBadAddress) {
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData, 100, 100));
  const std::uint64_t entries = guest_.stats().entries;
  for (Guest* guest : {&plain_, &guest_}) {
    guest->set(repeated(kData + kDataBytes - 4096, 8192, 1));
    EXPECT_EQ(guest->run(kCode), UC_ERR_WRITE_UNMAPPED);
  }
  EXPECT_GT(guest_.stats().entries, entries);
  expect_equal();
  EXPECT_EQ(guest_.state().x[0], kData + kDataBytes);
  EXPECT_EQ(guest_.state().x[2], 4096u);
}

// Unicorn alone tells another instruction: only where code is hooked it knows.
TEST_F(Offload, AFaultThatNativeCodeComesToIsToldAtItsInstruction) {
  load({mov(0, 10), mov(4, 13), mov(2, 11), ldrb_post(1, 0, 1), strb_post(1, 4, 1), subs(2, 2, 1), b_ne(-3), bl(4),
        subs(12, 12, 1), b_ne(-9), kStop, kRet});
  guest_.attach(early());
  GuestState state = repeated(kData, 100, 100);
  state.x[13] = kData + 0x4000;
  run_both(state);
  const auto nothing = +[](uc_engine*, std::uint64_t, std::uint32_t, void*) {};
  uc_hook hook = 0;
  uc_hook_add(plain_.uc, &hook, UC_HOOK_CODE, reinterpret_cast<void*>(nothing), nullptr, kCode, kCode + 0x100);
  uc_ctl_remove_cache(plain_.uc, kCode, kCode + 0x100);
  state = repeated(kData, 4000, 1);
  state.x[13] = kData + kDataBytes - 3000;
  for (Guest* guest : {&plain_, &guest_}) {
    guest->set(state);
    EXPECT_EQ(guest->run(kCode), UC_ERR_WRITE_UNMAPPED);
  }
  expect_equal();
  EXPECT_EQ(guest_.state().pc, kCode + 16);
}

TEST_F(Offload, CodeThatTheGuestRewritesRunsAsItIsThen) {
  for (Guest* guest : {&plain_, &guest_})
    ASSERT_EQ(uc_mem_protect(guest->uc, kCode, kCodeBytes, UC_PROT_ALL), UC_ERR_OK);
  // The loop adds, then x20 (a subtraction) is stored over the addition, and the loop subtracts.
  load({mov(2, 11), add(3, 3, 5), subs(2, 2, 1), b_ne(-2), bl(9), subs(12, 12, 1), b_ne(-6), str_w(20, 21, 0),
        mov(12, 22), add(23, 23, 1), subs(24, 24, 1), b_ne(-11), kStop, kRet});
  guest_.attach(early());
  GuestState state = repeated(0, 100, 50);
  state.x[20] = sub(3, 3, 7);
  state.x[21] = kCode + 4;
  state.x[22] = 50;
  state.x[24] = 3;
  run_both(state);
  EXPECT_EQ(guest_.state().x[3], 0x1111'0003u + 100 * 50 * 5 - 2 * 100 * 50 * 7);
  EXPECT_GT(guest_.stats().entries, 60u);
  EXPECT_EQ(guest_.stats().installed, 2u);
}

TEST_F(Offload, CodeThatTheProgramRewritesRunsAsItIsThen) {
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData, 100, 50));
  std::vector<std::uint32_t> other = kFill;
  other[2] = strb_post(1, 0, 2);
  load(other);
  run_both(repeated(kData, 100, 50));
  EXPECT_EQ(guest_.stats().installed, 2u);
  EXPECT_EQ(guest_.stats().mismatches, 0u);
}

TEST_F(Offload, MemoryThatIsNamedAsKeptIsNotTouched) {
  load(kFill);
  const trident_unicorn_region kept = {kData + 0x4000, 0x1000, nullptr, TRIDENT_UNICORN_KEEP, 0};
  for (Guest* guest : {&plain_, &guest_}) {  // a piece of its own, as a device is
    ASSERT_EQ(uc_mem_unmap(guest->uc, kept.base, kept.size), UC_ERR_OK);
    ASSERT_EQ(uc_mem_map(guest->uc, kept.base, kept.size, UC_PROT_READ | UC_PROT_WRITE), UC_ERR_OK);
  }
  std::size_t seen = 0;
  const auto count = +[](uc_engine*, uc_mem_type, std::uint64_t, int, std::int64_t, void* counted) {
    ++*static_cast<std::size_t*>(counted);
  };
  uc_hook hook = 0;
  uc_hook_add(guest_.uc, &hook, UC_HOOK_MEM_WRITE, reinterpret_cast<void*>(count), &seen, kept.base,
              kept.base + kept.size - 1);
  trident_unicorn_options options = early();
  options.regions = &kept;
  options.region_count = 1;
  guest_.attach(options);
  run_both(repeated(kept.base, 100, 50));
  EXPECT_EQ(seen, 100u * 50);
  EXPECT_EQ(guest_.stats().iterations, 0u);
}

TEST_F(Offload, ADeviceThatIsNamedIsNotRead) {
  std::size_t reads = 0;
  const auto read = +[](uc_engine*, std::uint64_t, unsigned, void* counted) -> std::uint64_t {
    return ++*static_cast<std::size_t*>(counted);
  };
  ASSERT_EQ(uc_mmio_map(guest_.uc, 0x40'0000, 0x1000, read, &reads, nullptr, nullptr), UC_ERR_OK);
  const trident_unicorn_region device = {0x40'0000, 0x1000, nullptr, TRIDENT_UNICORN_KEEP, 0};
  trident_unicorn_options options = early();
  options.regions = &device;
  options.region_count = 1;
  guest_.attach(options);
  EXPECT_EQ(reads, 0u);
  guest_.write_code(kCode, kSum);
  guest_.set(repeated(0x40'0000, 100, 3));
  EXPECT_EQ(guest_.run(kCode), UC_ERR_EXCEPTION);
  EXPECT_EQ(reads, 300u);
}

TEST_F(Offload, MemoryOfTheProgramStaysItsOwn) {
  load(kFill);
  alignas(4096) static std::uint8_t mine[0x2000];
  ASSERT_EQ(uc_mem_map_ptr(guest_.uc, 0x50'0000, sizeof mine, UC_PROT_READ | UC_PROT_WRITE, mine), UC_ERR_OK);
  const trident_unicorn_region region = {0x50'0000, sizeof mine, mine, TRIDENT_UNICORN_POINTER, 0};
  trident_unicorn_options options = early();
  options.regions = &region;
  options.region_count = 1;
  guest_.attach(options);
  guest_.set(repeated(0x50'0000, 3000, 30));
  EXPECT_EQ(guest_.run(kCode), UC_ERR_EXCEPTION);
  EXPECT_GT(guest_.stats().iterations, 80'000u);
  EXPECT_EQ(std::count(mine, mine + sizeof mine, 0x5A + 29), 3000);
}

TEST_F(Offload, ExcludedAndPausedLoopsAreNotEntered) {
  load(kFill);
  guest_.attach(early());
  trident_unicorn_pause(guest_.handle, 1);
  run_both(repeated(kData, 100, 50));
  EXPECT_EQ(guest_.stats().entries, 0u);
  trident_unicorn_pause(guest_.handle, 0);
  run_both(repeated(kData, 100, 50));
  const std::uint64_t entries = guest_.stats().entries;
  EXPECT_GT(entries, 0u);
  trident_unicorn_exclude(guest_.handle, kFillHead + 4, kFillHead + 8);
  run_both(repeated(kData, 100, 50));
  EXPECT_EQ(guest_.stats().entries, entries);
}

TEST_F(Offload, UntilInsideOfTheHeadsBlockIsSeen) {
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData, 100, 50));
  for (Guest* guest : {&plain_, &guest_}) {
    GuestState state = repeated(kData, 100, 1);
    state.x[0] = kData;
    state.x[2] = 50;
    guest->set(state);
    uc_ctl_remove_cache(guest->uc, kCode, kCode + 0x1000);
    EXPECT_EQ(guest->run(kFillHead, kFillHead + 4), UC_ERR_OK);
  }
  expect_equal();
  EXPECT_EQ(guest_.state().pc, kFillHead + 4);
}

TEST_F(Offload, UntilRightBehindTheLoopIsNoHindrance) {
  load(kFill);
  guest_.attach(early());
  for (int i = 0; i < 40; ++i) run_both(repeated(kData, 200, 1), kCode, kCode + 20);
  EXPECT_EQ(guest_.stats().mismatches, 0u) << guest_.loop().note;
  EXPECT_GT(guest_.stats().entries, 10u);
}

TEST_F(Offload, ALoopThatIsLeftByAJumpToUntilIsNoMismatch) {
  // x2 counts down; at 0 the loop jumps over a few instructions, to `until`.
  load({mov(2, 11), cbz(2, 5), subs(2, 2, 1), add(3, 3, 5), b(-3), kNop, add(4, 4, 1), kStop});
  guest_.attach(early());
  for (int i = 0; i < 200; ++i) run_both(repeated(kData, 30 + i % 7, 1), kCode, kCode + 24);
  EXPECT_EQ(guest_.stats().mismatches, 0u) << guest_.loop().note;
  EXPECT_GT(guest_.stats().entries, 100u);
  EXPECT_EQ(guest_.loop().state, TRIDENT_UNICORN_INSTALLED);
}

TEST_F(Offload, RunsThatFaultAreNoMismatch) {
  load(kFill);
  trident_unicorn_options options = early();
  options.shadow_first = 20;
  guest_.attach(options);
  for (int i = 0; i < 60; ++i) {
    for (Guest* guest : {&plain_, &guest_}) {
      guest->set(repeated(kData + kDataBytes - 40 - i % 9, 8192, 1));
      EXPECT_EQ(guest->run(kCode), UC_ERR_WRITE_UNMAPPED);
    }
    expect_equal(false);  // Unicorn alone tells the block
  }
  EXPECT_EQ(guest_.stats().mismatches, 0u) << guest_.loop().note;
  EXPECT_EQ(guest_.loop().state, TRIDENT_UNICORN_INSTALLED);
  EXPECT_GT(guest_.stats().entries, 10u);
}

TEST_F(Offload, ALoopThatRewritesItselfIsToldAsThat) {
  for (Guest* guest : {&plain_, &guest_})
    ASSERT_EQ(uc_mem_protect(guest->uc, kCode, kCodeBytes, UC_PROT_ALL), UC_ERR_OK);
  // Each round stores the addition with a larger immediate over itself: x20 grows by 1 << 10.
  load({mov(2, 11), str_w(20, 21, 0), add(20, 20, 1024), kNop, add(3, 3, 5), subs(2, 2, 1), b_ne(-5), bl(4),
        subs(12, 12, 1), b_ne(-9), kStop, kRet});
  guest_.attach(early());
  GuestState state = repeated(0, 40, 30);
  state.x[20] = add(3, 3, 6);
  state.x[21] = kCode + 16;
  run_both(state);
  EXPECT_EQ(guest_.stats().mismatches, 0u) << guest_.loop().note;
  ASSERT_NE(guest_.loop().note, nullptr) << guest_.loop().state << ' ' << guest_.stats().submitted;
  EXPECT_NE(std::string(guest_.loop().note).find("rewrites"), std::string::npos) << guest_.loop().note;
}

// Its bytes are the same whenever the guest comes to its head.
TEST_F(Offload, ALoopThatRewritesItselfAndBackIsToldAsThat) {
  for (Guest* guest : {&plain_, &guest_})
    ASSERT_EQ(uc_mem_protect(guest->uc, kCode, kCodeBytes, UC_PROT_ALL), UC_ERR_OK);
  load({mov(2, 11), str_w(20, 21, 0), kNop, b(1), add(3, 3, 5), str_w(22, 21, 0), subs(2, 2, 1), b_ne(-6), bl(4),
        subs(12, 12, 1), b_ne(-10), kStop, kRet});
  guest_.attach(early());
  GuestState state = repeated(0, 40, 30);
  state.x[20] = add(3, 3, 6);
  state.x[21] = kCode + 16;
  state.x[22] = add(3, 3, 5);
  run_both(state);
  EXPECT_EQ(guest_.state().x[3], 0x1111'0003u + 40 * 30 * 6);
  EXPECT_EQ(guest_.loop().state, TRIDENT_UNICORN_UNHOOKED);
  EXPECT_STREQ(guest_.loop().note, "the guest rewrites the loop");
}

/// Sums bytes of [x10, x10 + x11), then words from x9 on, x7 of them; x12 times. The second loop's pointer is set
/// between.
const std::vector<std::uint32_t> kTwoSums = {
    mov(0, 10), mov(2, 11),      ldrb_post(1, 0, 1), add_x(3, 3, 1), subs(2, 2, 1), b_ne(-3),
    mov(0, 9),  mov(2, 7),       ldr_post(1, 0, 8),  add_x(3, 3, 1), subs(2, 2, 1), b_ne(-3),
    bl(4),      subs(12, 12, 1), b_ne(-14),          kStop,          kRet};

TEST_F(Offload, OneEntryRunsJoinedLoops) {
  load(kTwoSums);
  trident_unicorn_options options = early();
  options.flags = TRIDENT_UNICORN_JOINED;
  guest_.attach(options);
  GuestState state = repeated(kData, 100, 300);
  state.x[9] = kData + 0x1000;
  state.x[7] = 100;
  for (Guest* guest : {&plain_, &guest_})
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::uint64_t word = i * 0x1'0001'0203;
      guest->write(kData + 0x1000 + 8 * i, &word, sizeof word);
    }
  run_both(state);
  EXPECT_EQ(guest_.stats().mismatches, 0u);
  EXPECT_EQ(guest_.loop().head, kCode + 8);
  EXPECT_EQ(guest_.loop().state, TRIDENT_UNICORN_INSTALLED);
  EXPECT_GT(guest_.loop().guest_ns, 0);
  EXPECT_GT(guest_.loop().iterations, 190 * guest_.loop().entries) << "both loops in one entry";
}

TEST_F(Offload, WrongCodeIsCaughtByTheFirstShadowRun) {
  const std::vector<std::function<void(std::span<std::uint32_t>)>> faults = {
      [](auto words) { words[2] = strb_post(1, 0, 2); },                    // another stride
      [](auto words) { words[2] = add(0, 0, 1); },                          // the store is gone
      [](auto words) { words[2] = strb_post(2, 0, 1); },                    // another value
      [](auto words) { words[3] = subs(2, 2, 2); },                         // another count
      [](auto words) { words[3] = sub(2, 2, 1), words[4] = cbz(2, -2); },   // it leaves at once
      [](auto words) { words[4] = b_ne(-2) ^ 1; },                          // the other condition
      [](auto words) { words[3] = sub(2, 2, 1), words[4] = cbnz(2, -2); },  // other flags
  };
  for (const auto& fault : faults) {
    Guest plain, guest;
    loops_double().corrupt = [&](auto words) {
      if (words[2] == strb_post(1, 0, 1)) fault(words);
    };
    for (Guest* it : {&plain, &guest}) it->write_code(kCode, kFill);
    trident_unicorn_options options = early();
    options.hot = 1000;
    guest.attach(options);
    for (Guest* it : {&plain, &guest}) {
      it->set(repeated(kData, 100, 50));
      EXPECT_EQ(it->run(kCode), UC_ERR_EXCEPTION);
    }
    EXPECT_EQ(guest.stats().entries, 0u);
    EXPECT_EQ(guest.state().x, plain.state().x);
    EXPECT_TRUE(guest.read(kData, kDataBytes) == plain.read(kData, kDataBytes));
    const bool was_made = guest.loop().state != TRIDENT_UNICORN_REFUSED;
    EXPECT_EQ(guest.stats().mismatches, was_made ? 1u : 0u);
    EXPECT_TRUE(!was_made || guest.loop().state == TRIDENT_UNICORN_MISMATCHED) << guest.loop().state;
    EXPECT_NE(guest.loop().note, nullptr);
  }
}

TEST_F(Offload, EveryEntryIsAShadowRunWhereThatIsAskedFor) {
  load(kFill);
  trident_unicorn_options options = early();
  options.flags = TRIDENT_UNICORN_VERIFY;
  guest_.attach(options);
  run_both(repeated(kData, 100, 200));
  EXPECT_EQ(guest_.stats().entries, 0u);
  EXPECT_GT(guest_.stats().shadows, 150u);
  EXPECT_EQ(guest_.stats().mismatches, 0u);
}

TEST_F(Offload, LoopsOfAFewRoundsAreLeftToTheGuest) {
  load(kSum);
  trident_unicorn_options options = early();
  options.shadow_first = 8;
  guest_.attach(options);
  run_both(repeated(kData, 3, 20'000));
  EXPECT_EQ(guest_.loop().state, TRIDENT_UNICORN_UNHOOKED) << guest_.loop().guest_ns << " " << guest_.loop().entry_ns;
  EXPECT_LT(guest_.stats().entries, 10'000u);
}

TEST_F(Offload, RefusedLoopsKeepTheirReason) {
  load({mov(2, 11), ldr(4, 10, 0), cbz(4, -1), kStop});
  trident_unicorn_options options = early();
  options.flags = TRIDENT_UNICORN_TIMED;
  guest_.attach(options);
  ASSERT_EQ(trident_unicorn_loop(guest_.handle, kCode + 4), TRIDENT_OK);
  GuestState state = repeated(kData, 1, 1);
  guest_.set(state);
  EXPECT_EQ(guest_.run(kCode, 0, 50'000), UC_ERR_OK);  // the timeout: the loop waits for somebody
  EXPECT_EQ(guest_.loop().state, TRIDENT_UNICORN_REFUSED);
  EXPECT_STREQ(guest_.loop().note, "it polls");
}

/// Stops runs of an engine that go on for long: Unicorn loses a timeout that comes before the guest has begun.
class Stopper {
 public:
  explicit Stopper(uc_engine* uc)
      : thread_([this, uc] {
          while (!is_over_) {
            const int before = runs_;
            ::usleep(300'000);
            if (runs_ == before) uc_emu_stop(uc);
          }
        }) {}
  ~Stopper() {
    is_over_ = true;
    thread_.join();
  }
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;
  void next_run() { ++runs_; }

 private:
  std::atomic<int> runs_{0};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

TEST_F(Offload, TimeoutsStopAtAnInstructionFromWhichTheGuestGoesOn) {
  // One addition after another, each in a block of its own, and a hot loop.
  load({add(0, 0, 1), b(1), add(1, 1, 1), mov(2, 11), subs(2, 2, 1), b_ne(-1), bl(2), b(-7), kRet});
  guest_.attach(early());
  GuestState state;
  state.x[11] = 50;
  guest_.set(state);
  std::uint64_t pc = kCode;
  Stopper stopper(guest_.uc);
  for (int i = 0; i < 60; ++i) {
    stopper.next_run();
    ASSERT_EQ(guest_.run(pc, 0, 200), UC_ERR_OK);
    const GuestState now = guest_.state();
    pc = now.pc;
    const bool is_between = pc == kCode + 8;
    ASSERT_EQ(now.x[0], now.x[1] + (is_between ? 1 : 0)) << std::hex << pc;
  }
  EXPECT_EQ(guest_.stats().entries, 0u);  // a timeout could get lost
}

TEST_F(Offload, AGuestWithAnMmuOrAlignmentChecksIsNotEntered) {
  load(kFill);
  guest_.attach(early());
  std::uint64_t table = 0x1000;
  uc_arm64_cp_reg sctlr{1, 0, 3, 0, 0, 0};
  for (Guest* guest : {&plain_, &guest_}) uc_reg_write(guest->uc, UC_ARM64_REG_TTBR0_EL1, &table);
  run_both(repeated(kData, 100, 50));
  const std::uint64_t entries = guest_.stats().entries;
  EXPECT_GT(entries, 20u);
  for (Guest* guest : {&plain_, &guest_}) {
    uc_reg_read(guest->uc, UC_ARM64_REG_CP_REG, &sctlr);
    sctlr.val |= 2;  // alignment is checked; of translation no guest of a few pages could run
    uc_reg_write(guest->uc, UC_ARM64_REG_CP_REG, &sctlr);
  }
  run_both(repeated(kData, 100, 50));
  EXPECT_EQ(guest_.stats().entries, entries);
}

// Without page tables a guest may turn its data big-endian: native code would load and store the other way round.
TEST_F(Offload, AGuestThatTurnsItsDataBigEndianIsNotEntered) {
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData, 100, 50));
  const std::uint64_t entries = guest_.stats().entries;
  EXPECT_GT(entries, 20u);
  for (Guest* guest : {&plain_, &guest_}) {
    uc_arm64_cp_reg sctlr{1, 0, 3, 0, 0, 0};
    uc_reg_read(guest->uc, UC_ARM64_REG_CP_REG, &sctlr);
    sctlr.val |= std::uint64_t{1} << 25;
    uc_reg_write(guest->uc, UC_ARM64_REG_CP_REG, &sctlr);
  }
  run_both(repeated(kData, 100, 50));
  EXPECT_EQ(guest_.stats().entries, entries);
}

// SCTLR as it is when a loop is installed holds for a guest that is said not to write it.
TEST_F(Offload, AProgramWithoutPrivilegesIsLookedAtOnce) {
  for (const bool checks_alignment : {false, true}) {
    Guest plain, guest;
    for (Guest* it : {&plain, &guest}) {
      it->write_code(kCode, kFill);
      uc_arm64_cp_reg sctlr{1, 0, 3, 0, 0, 0};
      uc_reg_read(it->uc, UC_ARM64_REG_CP_REG, &sctlr);
      sctlr.val |= checks_alignment ? 2 : 0;
      uc_reg_write(it->uc, UC_ARM64_REG_CP_REG, &sctlr);
    }
    trident_unicorn_options options = early();
    options.flags = TRIDENT_UNICORN_USER_MODE;
    guest.attach(options);
    for (Guest* it : {&plain, &guest}) {
      it->set(repeated(kData, 100, 100));
      EXPECT_EQ(it->run(kCode), UC_ERR_EXCEPTION);
    }
    EXPECT_EQ(guest.state().x, plain.state().x);
    EXPECT_TRUE(guest.read(kData, kDataBytes) == plain.read(kData, kDataBytes));
    EXPECT_EQ(guest.stats().entries > 20, !checks_alignment) << guest.stats().entries;
  }
}

TEST_F(Offload, NestsAreEnteredAtBothHeads) {
  load({mov(0, 10), mov(3, 13), mov(2, 11), strb_post(1, 0, 1), subs(2, 2, 1), b_ne(-2), subs(3, 3, 1), b_ne(-5), bl(4),
        subs(12, 12, 1), b_ne(-10), kStop, kRet});
  guest_.attach(early());
  GuestState state = repeated(kData, 20, 300);
  state.x[13] = 25;
  run_both(state);
  EXPECT_GE(guest_.stats().installed, 2u);
  EXPECT_EQ(guest_.stats().mismatches, 0u);
}

TEST_F(Offload, MemoryThatIsBothWritableAndExecutableIsServedWhereNoCodeIs) {
  for (Guest* guest : {&plain_, &guest_}) {
    ASSERT_EQ(uc_mem_protect(guest->uc, kCode, kCodeBytes, UC_PROT_ALL), UC_ERR_OK);
    ASSERT_EQ(uc_mem_protect(guest->uc, kData, kDataBytes, UC_PROT_ALL), UC_ERR_OK);
  }
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData, 200, 50));
  EXPECT_GT(guest_.stats().iterations, 8000u);
  run_both(repeated(kCode + 0x2000, 200, 50));  // beside the code, in the same region
  EXPECT_TRUE(plain_.read(kCode, kCodeBytes) == guest_.read(kCode, kCodeBytes));
}

TEST_F(Offload, CodeThatALoopStoresIsTranslatedAnew) {
  for (Guest* guest : {&plain_, &guest_})
    ASSERT_EQ(uc_mem_protect(guest->uc, kData, kDataBytes, UC_PROT_ALL), UC_ERR_OK);
  // Copies [x14, x14 + x11) to x10, calls x17 in the middle of it, x12 times; x15 counts. The guest's own rounds, which
  // drop translations, store before that.
  const std::uint32_t blr_x17 = 0xD63F'0220;
  load({mov(0, 10), mov(4, 14), mov(2, 11), ldrb_post(1, 4, 1), strb_post(1, 0, 1), subs(2, 2, 1), b_ne(-3), blr_x17,
        add_x(14, 14, 16), subs(12, 12, 1), b_ne(-10), kStop});
  for (Guest* guest : {&plain_, &guest_}) {
    for (unsigned i = 0; i < 64; ++i) {
      std::vector<std::uint32_t> function(32, add(15, 15, i));
      function.back() = kRet;
      guest->write(kData + 0x4000 + i * 128, function.data(), 128);
    }
  }
  guest_.attach(early());
  GuestState state = repeated(kData, 128, 64);
  state.x[14] = kData + 0x4000;
  state.x[15] = 0;
  state.x[16] = 128;
  state.x[17] = kData + 64;
  run_both(state);
  EXPECT_EQ(guest_.state().x[15], 15u * 63 * 64 / 2);
  EXPECT_GT(guest_.stats().shadows, 0u);
}

TEST_F(Offload, ARegionThatIsMadeAgainAtItsPlaceIsSeen) {
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData, 500, 50));
  ASSERT_GT(guest_.stats().iterations, 10'000u);
  for (Guest* guest : {&plain_, &guest_}) {
    ASSERT_EQ(uc_mem_unmap(guest->uc, kData, kDataBytes), UC_ERR_OK);
    ASSERT_EQ(uc_mem_map(guest->uc, kData, kDataBytes, UC_PROT_READ | UC_PROT_WRITE), UC_ERR_OK);
  }
  const std::uint64_t iterations = guest_.stats().iterations;
  run_both(repeated(kData + 100, 700, 50));
  EXPECT_GT(guest_.stats().iterations, iterations + 10'000);
}

TEST_F(Offload, RegionsThatAreUnmappedOrProtectedFaultAsBefore) {
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData, 500, 50));
  for (Guest* guest : {&plain_, &guest_})
    ASSERT_EQ(uc_mem_protect(guest->uc, kData + 0x4000, 0x1000, UC_PROT_READ), UC_ERR_OK);
  for (Guest* guest : {&plain_, &guest_}) {
    guest->set(repeated(kData + 0x3F00, 500, 3));
    EXPECT_EQ(guest->run(kCode), UC_ERR_WRITE_PROT);
  }
  expect_equal(false);
  EXPECT_EQ(guest_.state().x[0], kData + 0x4000);
  for (Guest* guest : {&plain_, &guest_}) {
    ASSERT_EQ(uc_mem_unmap(guest->uc, kData + 0x4000, 0x1000), UC_ERR_OK);
    guest->set(repeated(kData + 0x3F00, 500, 3));
    EXPECT_EQ(guest->run(kCode), UC_ERR_WRITE_UNMAPPED);
    EXPECT_EQ(guest->state().x[0], kData + 0x4000);
  }
}

TEST_F(Offload, RegionsThatAreAnnouncedAreServed) {
  load(kFill);
  trident_unicorn_options options = early();
  options.flags = TRIDENT_UNICORN_ANNOUNCED;
  guest_.attach(options);
  run_both(repeated(kData, 500, 50));
  ASSERT_GT(guest_.stats().iterations, 10'000u);
  trident_unicorn_unmap(guest_.handle, kData, kDataBytes);
  for (Guest* guest : {&plain_, &guest_}) {
    ASSERT_EQ(uc_mem_unmap(guest->uc, kData, kDataBytes), UC_ERR_OK);
    guest->set(repeated(kData, 500, 50));
    EXPECT_EQ(guest->run(kCode), UC_ERR_WRITE_UNMAPPED);
    ASSERT_EQ(uc_mem_map(guest->uc, kData, kDataBytes, UC_PROT_READ | UC_PROT_WRITE), UC_ERR_OK);
  }
  const trident_unicorn_region region = {kData, kDataBytes, nullptr, 0, 0};
  trident_unicorn_map(guest_.handle, &region);
  const std::uint64_t iterations = guest_.stats().iterations;
  run_both(repeated(kData + 100, 700, 50));
  EXPECT_GT(guest_.stats().iterations, iterations + 10'000);
}

TEST_F(Offload, MemoryThatGoesDuringAShadowRunIsNotReadAgain) {
  static constexpr std::uint64_t kBase = 0x50'0000, kBytes = 0x1000;
  struct Program {
    void* memory = nullptr;
    std::size_t loops_left = 30;
  } program;
  program.memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  load(kFill);
  ASSERT_EQ(uc_mem_map_ptr(guest_.uc, kBase, kBytes, UC_PROT_READ | UC_PROT_WRITE, program.memory), UC_ERR_OK);
  // At the call behind the loop, where a shadow run waits for the guest to come by, the memory goes.
  const auto unmap = +[](uc_engine* uc, std::uint64_t, std::uint32_t, void* of) {
    auto* const it = static_cast<Program*>(of);
    if (--it->loops_left != 0) return;
    uc_mem_unmap(uc, kBase, kBytes);
    ::munmap(it->memory, kBytes);
  };
  uc_hook hook = 0;
  uc_hook_add(guest_.uc, &hook, UC_HOOK_BLOCK, reinterpret_cast<void*>(unmap), &program, kFillHead + 12,
              kFillHead + 12);
  const trident_unicorn_region region = {kBase, kBytes, program.memory, TRIDENT_UNICORN_POINTER, 0};
  trident_unicorn_options options = early();
  options.flags = TRIDENT_UNICORN_VERIFY;
  options.regions = &region;
  options.region_count = 1;
  guest_.attach(options);
  guest_.set(repeated(kBase, 400, 50));
  EXPECT_EQ(guest_.run(kCode), UC_ERR_WRITE_UNMAPPED);
  EXPECT_GT(guest_.stats().shadows, 20u);
  EXPECT_EQ(guest_.stats().mismatches, 0u);
}

TEST_F(Offload, ItIsDetachedInTheMiddleAndMemoryStays) {
  load(kFill);
  guest_.attach(early());
  const auto detach = +[](uc_engine*, std::uint64_t, std::uint32_t, void* guest) {
    auto* const it = static_cast<Guest*>(guest);
    if (it->handle != nullptr && it->stats().entries > 20) it->detach();
  };
  uc_hook hook = 0;
  uc_hook_add(guest_.uc, &hook, UC_HOOK_BLOCK, reinterpret_cast<void*>(detach), &guest_, kCode, kCode);
  run_both(repeated(kData, 200, 100));
  EXPECT_EQ(guest_.handle, nullptr);
  run_both(repeated(kData + 50, 2000, 3));
}

TEST_F(Offload, EachThreadHasAnEngineAndAHandle) {
  const auto work = [] {
    Guest plain, guest;
    for (Guest* it : {&plain, &guest}) it->write_code(kCode, kFill);
    guest.attach(early());
    for (int i = 0; i < 20; ++i) {
      for (Guest* it : {&plain, &guest}) {
        it->set(repeated(kData + i, 300, 20));
        EXPECT_EQ(it->run(kCode), UC_ERR_EXCEPTION);
      }
      EXPECT_EQ(plain.state().x, guest.state().x);
      EXPECT_TRUE(plain.read(kData, kDataBytes) == guest.read(kData, kDataBytes));
    }
    EXPECT_GT(guest.stats().iterations, 50'000u);
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
}

TEST_F(Offload, WatchingEndsAndBeginsAgainForCodeThatIsNew) {
  load(kFill);
  guest_.write_code(kCode + 0x2000, kSum);
  plain_.write_code(kCode + 0x2000, kSum);
  trident_unicorn_options options = early();
  options.hot = 64;
  options.sample_blocks = 50;
  guest_.attach(options);
  run_both(repeated(kData, 5000, 1));
  EXPECT_EQ(guest_.stats().heads, 0u);
  EXPECT_LT(guest_.stats().sampled_blocks, 60u);
  run_both(repeated(kData, 300, 20), kCode + 0x2000);
  EXPECT_EQ(guest_.loop().head, kCode + 0x2008);
  EXPECT_GT(guest_.stats().entries, 10u);
}

TEST_F(Offload, NothingIsWatchedWhereTheProgramNamesTheLoops) {
  load(kFill);
  trident_unicorn_options options = early();
  options.flags = TRIDENT_UNICORN_NO_SAMPLING;
  guest_.attach(options);
  run_both(repeated(kData, 100, 100));
  EXPECT_EQ(guest_.stats().heads, 0u);
  EXPECT_LT(guest_.stats().sampled_blocks, 10u);
  EXPECT_EQ(trident_unicorn_loop(guest_.handle, kFillHead), TRIDENT_OK);
  run_both(repeated(kData, 100, 100));
  EXPECT_GT(guest_.stats().entries, 50u);
}

TEST_F(Offload, CodeThatComesLateIsInstalledThen) {
  loops_double().questions_until_ready = 5000;
  load(kFill);
  guest_.attach(early());
  run_both(repeated(kData, 200, 100));
  EXPECT_GT(guest_.stats().entries, 10u);
}

TEST(Attach, ArgumentsAreChecked) {
  uc_engine* uc = nullptr;
  trident_unicorn* handle = reinterpret_cast<trident_unicorn*>(&uc);
  auto* const context = reinterpret_cast<trident_ctx*>(&uc);
  ASSERT_EQ(uc_open(UC_ARCH_ARM, UC_MODE_ARM, &uc), UC_ERR_OK);
  EXPECT_EQ(trident_unicorn_attach(uc, context, nullptr, &handle), TRIDENT_E_UNSUPPORTED);
  EXPECT_EQ(handle, nullptr);
  EXPECT_STREQ(trident_unicorn_error(), "the guest must be AArch64 in little-endian order");
  uc_close(uc);
  ASSERT_EQ(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &uc), UC_ERR_OK);
  EXPECT_EQ(trident_unicorn_attach(uc, nullptr, nullptr, &handle), TRIDENT_E_INVALID);
  const trident_unicorn_region region = {0x1000, 0x1000, nullptr, TRIDENT_UNICORN_POINTER, 0};
  trident_unicorn_options options = {};
  options.struct_size = sizeof options;
  options.regions = &region;
  options.region_count = 1;
  EXPECT_EQ(trident_unicorn_attach(uc, context, &options, &handle), TRIDENT_E_INVALID);
  uc_close(uc);
}

// A program that did not look at the status of attaching runs on without native code.
TEST(Attach, WithoutAHandleNothingHappens) {
  const trident_unicorn_region region = {0x1000, 0x1000, nullptr, TRIDENT_UNICORN_KEEP, 0};
  trident_unicorn_stats stats{};
  stats.struct_size = sizeof stats;
  stats.loops = 7;
  trident_unicorn_loop_facts facts{};
  facts.struct_size = sizeof facts;
  trident_unicorn_exclude(nullptr, 0x1000, 0x2000);
  trident_unicorn_pause(nullptr, 1);
  trident_unicorn_unmap(nullptr, 0x1000, 0x1000);
  trident_unicorn_written(nullptr, 0x1000, 0x1000);
  EXPECT_EQ(trident_unicorn_map(nullptr, &region), TRIDENT_E_INVALID);
  EXPECT_EQ(trident_unicorn_loop(nullptr, 0x1000), TRIDENT_E_INVALID);
  EXPECT_EQ(trident_unicorn_get_loop(nullptr, 0, &facts), TRIDENT_E_INVALID);
  trident_unicorn_get_stats(nullptr, &stats);
  EXPECT_EQ(stats.loops, 0u);
  trident_unicorn_detach(nullptr);
}

TEST_F(Offload, QuestionsWithoutAPlaceForTheAnswerAreNoHarm) {
  guest_.attach(early());
  ASSERT_EQ(trident_unicorn_loop(guest_.handle, kCode), TRIDENT_OK);
  trident_unicorn_get_stats(guest_.handle, nullptr);
  EXPECT_EQ(trident_unicorn_get_loop(guest_.handle, 0, nullptr), TRIDENT_E_INVALID);
}

}  // namespace
}  // namespace trident::tests
