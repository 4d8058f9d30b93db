// A guest and libtrident itself, whose engine runs in this process. Oracle: Unicorn alone.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unicorn/guest.h"
#include "tests/unicorn/words.h"

namespace trident::tests {
namespace {

/// Fills [x10, x10 + x11) with w1, which grows by one each of x12 times.
const std::vector<std::uint32_t> kFill = {mov(0, 10), mov(2, 11),   strb_post(1, 0, 1), subs(2, 2, 1), b_ne(-2),
                                          bl(5),      add(1, 1, 1), subs(12, 12, 1),    b_ne(-8),      kStop,
                                          kRet};

class Embedded : public ::testing::Test {
 protected:
  Embedded() {
    trident_options options{};
    options.struct_size = sizeof options;
    options.mode = TRIDENT_MODE_EMBEDDED;
    EXPECT_EQ(trident_open(&options, &context_), TRIDENT_OK) << trident_last_error();
    for (Guest* guest : {&plain_, &guest_}) guest->write_code(kCode, kFill);
  }
  ~Embedded() override {
    guest_.detach();
    trident_close(context_);
  }

  void run_both(std::uint64_t count) {
    GuestState state;
    state.x[10] = kData + 5;
    state.x[11] = count;
    state.x[12] = 50;
    for (Guest* guest : {&plain_, &guest_}) {
      guest->set(state);
      EXPECT_EQ(guest->run(kCode), UC_ERR_EXCEPTION);
    }
    EXPECT_EQ(plain_.state().x, guest_.state().x);
    EXPECT_EQ(plain_.state().nzcv, guest_.state().nzcv);
    EXPECT_EQ(plain_.state().pc, guest_.state().pc);
    EXPECT_TRUE(plain_.read(kData, kDataBytes) == guest_.read(kData, kDataBytes));
  }

  trident_ctx* context_ = nullptr;
  Guest plain_, guest_;
};

TEST_F(Embedded, ALoopIsCompiledMeanwhileAndThenEntered) {
  guest_.attach(early(), context_);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  do {
    run_both(300);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  } while (guest_.stats().installed == 0 && std::chrono::steady_clock::now() < deadline);
  run_both(400);
  EXPECT_GT(guest_.stats().iterations, 10'000u) << guest_.loop().state;
  EXPECT_EQ(guest_.stats().mismatches, 0u);
  EXPECT_GT(guest_.stats().shadows, 0u);
}

}  // namespace
}  // namespace trident::tests
