// Counts of rounds, from registers. Oracle: Unicorn runs the loop, and a hook counts its blocks.
#include <gtest/gtest.h>
#include <stddef.h>
#include <stdint.h>
#include <unicorn/unicorn.h>

#include "clients/c/trident_loop.h"
#include "clients/unicorn/trident_unicorn.h"
extern "C" {
#include "clients/unicorn/handle.h"
}

#include "tests/loops/random_body.h"
#include "tests/unicorn/guest.h"
#include "tests/unicorn/words.h"

namespace trident::tests {
namespace {

constexpr std::uint64_t kRoundsMax = 5000;

class LastRound : public ::testing::Test {
 protected:
  /// Rounds that the guest runs; kRoundsMax where it goes on, or faults on its way.
  std::uint64_t counted(const std::vector<std::uint32_t>& words, const GuestState& state) {
    std::vector<std::uint32_t> code = words;
    code.push_back(kStop);
    guest_.write_code(kCode, code);
    guest_.set(state);
    rounds_ = 0;
    uc_hook hook = 0;
    uc_hook_add(guest_.uc, &hook, UC_HOOK_BLOCK, reinterpret_cast<void*>(&at_head), this, kCode, kCode);
    const bool ends = guest_.run(kCode) == UC_ERR_EXCEPTION;
    uc_hook_del(guest_.uc, hook);
    return ends ? rounds_ : kRoundsMax;
  }
  /// Rounds as they are told; 0: not known.
  std::uint64_t told(const std::vector<std::uint32_t>& words, const GuestState& state) {
    struct trident_unicorn owner {};
    struct head head {};
    guest_.write_code(kCode, words);
    owner.uc = guest_.uc;
    head.owner = &owner;
    head.address = head.code_begin = kCode;
    head.code_end = kCode + 4 * words.size();
    trident_unicorn_find_last_round(&head);
    for (unsigned r = 0; r < 32; ++r) head.frame.x[r] = state.x[r];
    return trident_unicorn_rounds_left(&head);
  }

  Guest guest_;

 private:
  static void at_head(uc_engine* uc, std::uint64_t, std::uint32_t, void* data) {
    if (++static_cast<LastRound*>(data)->rounds_ >= kRoundsMax) uc_emu_stop(uc);
  }
  std::uint64_t rounds_ = 0;
};

constexpr std::uint32_t kCmpX0X1 = 0xEB01'001F, kCmpW0W1 = 0x6B01'001F, kCmpX1X0 = 0xEB00'003F,
                        kCmpX0With48 = 0xF100'C01F;
constexpr std::uint32_t kSubsW0 = 0x7100'0400, kCbnzW0 = 0x3500'0000 | (0x7'FFFE << 5);
constexpr std::uint32_t kLdpPost16 = 0xA8C1'0C02, kLdurWithout = 0xF840'0002, kLdrPre8 = 0xF840'8C02;
constexpr std::uint32_t kAddX5 = 0x8B02'00A5;

TEST_F(LastRound, IsCountedInEachForm) {
  const std::vector<std::vector<std::uint32_t>> loops = {
      {kAddX5, subs(0, 0, 1), b_ne(-2)},
      {kAddX5, subs(0, 0, 8), b_ne(-2)},
      {subs(0, 0, 4), kAddX5, b_ne(-2)},
      {kSubsW0, b_ne(-1)},
      {sub(0, 0, 1), cbnz(0, -1)},
      {kAddX5, sub(0, 0, 4), kCbnzW0 | (0 << 5)},
      {add(0, 0, 8), kCmpX0X1, b_ne(-2)},
      {add(0, 0, 8), kCmpX1X0, b_ne(-2)},
      {kCmpX0X1, add(0, 0, 1), b_ne(-2)},
      {add(0, 0, 1), kCmpW0W1, b_ne(-2)},
      {sub(0, 0, 4), kCmpX0X1, b_ne(-2)},
      {add(0, 0, 4), add(0, 0, 4), kCmpX0X1, b_ne(-3)},
      {add(0, 0, 4), kCmpX0X1, add(0, 0, 4), b_ne(-3)},
      {add(0, 0, 1), kCmpX0With48, b_ne(-2)},
      {ldr_post(2, 0, 8), kCmpX0X1, b_ne(-2)},
      {kLdpPost16, kCmpX0X1, b_ne(-2)},
      {kLdrPre8, kCmpX0X1, b_ne(-2)},
  };
  testing::Random random(3);
  std::size_t known = 0, tries = 0;
  for (const auto& words : loops)
    for (int i = 0; i < 60; ++i) {
      GuestState state;
      const std::uint64_t by = random.below(60) * (random.one_in(2) ? 8 : 1);
      state.x[0] = kData + 0x1000;
      state.x[1] = words[0] == sub(0, 0, 4) ? state.x[0] - by : state.x[0] + by;
      if (words.size() < 4 && (words[words.size() - 2] & 0x7FE0'FC1F) != 0x6B00'001F) state.x[0] = random.below(70) + 1;
      if (random.one_in(4)) state.x[1] |= std::uint64_t{random.below(3)} << 32;
      const std::uint64_t right = counted(words, state), got = told(words, state);
      ++tries;
      if (got == 0) continue;
      ++known;
      if (right < kRoundsMax) {
        EXPECT_EQ(got, right) << std::hex << words[0] << ' ' << words[words.size() - 2] << std::dec << ' ' << by;
      } else {
        EXPECT_GE(got, kRoundsMax) << std::hex << words[0];
      }
    }
  EXPECT_GT(known, tries / 2);
}

TEST_F(LastRound, IsCountedWhateverTheBodyIs) {
  testing::Random random(9);
  int known = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::uint32_t> words = RandomBody(random).code(1 + random.below(8));
    GuestState state;
    for (unsigned r = 0; r < 32; ++r) state.x[r] = kData + 0x3000 + 8 * random.below(64);
    state.x[kIndex] = random.below(64);
    state.x[kCounter] = 1 + random.below(20);
    const std::uint64_t got = told(words, state);
    EXPECT_TRUE(got == 0 || got == state.x[kCounter]) << i;
    known += got != 0 ? 1 : 0;
  }
  EXPECT_GT(known, 100);
}

// A counter that moves otherwise, a limit that moves, a loop of two blocks.
TEST_F(LastRound, IsNotKnownElsewhere) {
  GuestState state;
  state.x[0] = 10;
  state.x[1] = 20;
  for (const std::vector<std::uint32_t>& words : std::vector<std::vector<std::uint32_t>>{
           {add_x(0, 0, 2), kCmpX0X1, b_ne(-2)},
           {add(0, 0, 1), add_x(1, 1, 2), kCmpX0X1, b_ne(-3)},
           {add(0, 0, 1), ldr(1, 5, 0), kCmpX0X1, b_ne(-3)},
           {add(0, 0, 1), cbz(7, 3), kCmpX0X1, b_ne(-3)},
           {add(0, 0, 3), kCmpX0X1, b_ne(-2)},
           {kAddX5, kAddX5, b_ne(-2)},
           {subs(0, 0, 1), b_ne(-1) ^ 1},
       })
    EXPECT_EQ(told(words, state), 0u) << std::hex << words[0];
}

}  // namespace
}  // namespace trident::tests
