// Two guests with the same code, one of them to attach to: both must come to the same state.
#pragma once

#include <gtest/gtest.h>

#include "tests/unicorn/guest.h"
#include "tests/unicorn/loops_double.h"
#include "tests/unicorn/words.h"

namespace trident::tests {

/// Fills [x10, x10 + x11) with w1, which grows by one each of x12 times. A call ends each, so that only the inner loop
/// is one for native code.
inline const std::vector<std::uint32_t> kFill = {mov(0, 10), mov(2, 11),   strb_post(1, 0, 1), subs(2, 2, 1), b_ne(-2),
                                                 bl(5),      add(1, 1, 1), subs(12, 12, 1),    b_ne(-8),      kStop,
                                                 kRet};
inline constexpr std::uint64_t kFillHead = kCode + 8;

/// Adds the bytes of [x10, x10 + x11) to x3, x12 times.
inline const std::vector<std::uint32_t> kSum = {
    mov(0, 10), mov(2, 11),      ldrb_post(1, 0, 1), add_x(3, 3, 1), subs(2, 2, 1), b_ne(-3),
    bl(4),      subs(12, 12, 1), b_ne(-8),           kStop,          kRet};

inline GuestState repeated(std::uint64_t base, std::uint64_t count, std::uint64_t times) {
  GuestState state;
  for (unsigned r = 0; r < 32; ++r) state.x[r] = 0x1111'0000 + r;
  state.x[1] = 0x5A;
  state.x[10] = base;
  state.x[11] = count;
  state.x[12] = times;
  return state;
}

class Offload : public ::testing::Test {
 protected:
  ~Offload() override { loops_double() = {}; }

  void load(const std::vector<std::uint32_t>& words) {
    for (Guest* guest : {&plain_, &guest_}) guest->write_code(kCode, words);
  }

  void run_both(const GuestState& state, std::uint64_t begin = kCode, std::uint64_t until = 0) {
    for (Guest* guest : {&plain_, &guest_}) guest->set(state);
    EXPECT_EQ(plain_.run(begin, until), guest_.run(begin, until));
    expect_equal();
  }

  void expect_equal(bool with_pc = true) {
    const GuestState right = plain_.state(), got = guest_.state();
    for (unsigned r = 0; r < 32; ++r) EXPECT_EQ(got.x[r], right.x[r]) << "x" << r;
    EXPECT_EQ(got.nzcv, right.nzcv);
    if (with_pc) {
      EXPECT_EQ(got.pc, right.pc);
    }
    EXPECT_TRUE(plain_.read(kData, kDataBytes) == guest_.read(kData, kDataBytes));
  }

  Guest plain_, guest_;
};

}  // namespace trident::tests
