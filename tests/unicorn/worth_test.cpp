// Whether a loop is kept, by times that a clock would have told: what native code costs against what the guest's own
// rounds cost is known here exactly.
#include <gtest/gtest.h>

#include <cstdint>

extern "C" {
#include "clients/unicorn/worth.h"
}

namespace trident {
namespace {

struct Prices {
  double guest_round = 5, native_round = 0.5, entry = 200, refusal = 150;
};

/// A loop on a made-up machine. It counts what it would have cost to run all of it either way.
class Loop {
 public:
  explicit Loop(Prices prices) : prices_(prices) {
    trident_unicorn_worth_of_guest(&worth_, prices.guest_round * 100, 100, 0, 1);
  }

  /// Returns whether it is still entered afterwards.
  bool visit(std::uint64_t rounds, double disturbance_ns = 0) {
    return spend(prices_.entry + prices_.native_round * static_cast<double>(rounds) + disturbance_ns, rounds);
  }

  /// Looks at memory, and is refused. Likewise.
  bool visit_in_vain() { return spend(prices_.refusal, 0); }

  /// Returns how many visits of so many rounds were made natively, of so many.
  std::uint64_t visits(std::uint64_t rounds, std::uint64_t count) {
    const std::uint64_t before = visits_;
    for (std::uint64_t i = 0; i < count; ++i) visit(rounds);
    return visits_ - before;
  }

  bool is_kept() const { return is_kept_; }

 private:
  bool spend(double ns, std::uint64_t rounds) {
    if (!is_kept_) return false;
    const bool is_timed = trident_unicorn_worth_wants_time(&worth_, visits_) != 0;
    ++visits_;
    saved_ += rounds;
    if (is_timed) is_kept_ = trident_unicorn_worth_of_visit(&worth_, ns, rounds, visits_, saved_) == 0;
    return is_kept_;
  }

  Prices prices_;
  struct worth worth_ {};
  std::uint64_t visits_ = 0, saved_ = 0;
  bool is_kept_ = true;
};

TEST(Worth, ALoopThatLosesGoesWithinTheFirstHundreds) {
  Loop loop({});
  EXPECT_EQ(loop.visits(16, 10'000), 256u);  // 80 ns of the guest for 208
  EXPECT_FALSE(loop.is_kept());
}

TEST(Worth, ALoopThatWinsStays) {
  Loop loop({});
  EXPECT_EQ(loop.visits(64, 100'000), 100'000u);  // 320 ns of the guest for 232
}

TEST(Worth, ALoopAtTheBorderGoes) {
  Loop loop({.guest_round = 4.5});
  EXPECT_EQ(loop.visits(50, 10'000), 256u);  // 225 ns either way
  Loop a_little_better({.guest_round = 4.8});
  EXPECT_EQ(a_little_better.visits(50, 10'000), 256u);  // a gain of 6 %
}

TEST(Worth, TotalsDecideNotTheUsualVisit) {
  Loop wins({});
  for (int i = 0; i < 100'000; ++i) wins.visit(i % 100 == 99 ? 20'000 : 8);  // 99 of 100 lose 164 ns, one wins 90000
  EXPECT_TRUE(wins.is_kept());
  Loop loses({});
  for (int i = 0; i < 100'000; ++i) loses.visit(i % 100 == 99 ? 200 : 8);  // 99 of 100 lose 164 ns, one wins 700
  EXPECT_FALSE(loses.is_kept());
}

TEST(Worth, LongVisitsCountThoughNoneOfThemIsTimed) {
  Loop loop({});
  loop.visits(1000, 256);
  for (int i = 0; i < 100'000; ++i) loop.visit(i % 64 == 33 ? 20'000 : 8);
  EXPECT_TRUE(loop.is_kept());
}

TEST(Worth, ALoopWhoseVisitsBecomeShortGoesThen) {
  Loop loop({});
  EXPECT_EQ(loop.visits(1000, 10'000), 10'000u);
  EXPECT_LT(loop.visits(8, 100'000), 10'000u);
  EXPECT_FALSE(loop.is_kept());
}

TEST(Worth, AnAccessThatMissesInTheFirstRoundSavesNothing) {
  Loop loop({});
  EXPECT_EQ(loop.visits(0, 10'000), 256u);
  EXPECT_FALSE(loop.is_kept());
}

TEST(Worth, VisitsThatAreRefusedLateCountAgainstThoseThatWin) {
  Loop few({}), many({});  // a visit of 100 rounds wins 250 ns, one in vain loses 150
  for (int i = 0; i < 100'000; ++i) i % 7 == 3 ? few.visit_in_vain() : few.visit(100);
  EXPECT_TRUE(few.is_kept());
  for (int i = 0; i < 100'000; ++i) i % 7 == 3 ? many.visit(100) : many.visit_in_vain();
  EXPECT_FALSE(many.is_kept());
}

TEST(Worth, ALoopThatIsRefusedFromSomeTimeOnGoesThen) {
  Loop loop({});
  EXPECT_EQ(loop.visits(1000, 10'000), 10'000u);
  int visits = 0;
  while (visits < 100'000 && loop.visit_in_vain()) ++visits;
  EXPECT_LT(visits, 10'000);
}

TEST(Worth, AnInterruptionIsNotTheLoopsOwn) {
  Loop loop({});
  for (int i = 0; i < 10'000; ++i) loop.visit(100, i % 33 == 32 ? 1e6 : 0);
  EXPECT_TRUE(loop.is_kept());
}

TEST(Worth, TheGuestsPriceIsWithoutItsHooksAndNeverTooHigh) {
  struct worth worth {};
  trident_unicorn_worth_of_guest(&worth, 100 * (5 + 8), 100, 8, 1);
  EXPECT_LE(worth.guest_ns, 5);
  EXPECT_GE(worth.guest_ns, 3);
  trident_unicorn_worth_of_guest(&worth, 100 * 40, 100, 8, 1);  // an interruption
  EXPECT_LE(worth.guest_ns, 5);
  trident_unicorn_worth_of_guest(&worth, 100 * 2, 100, 8, 1);  // less than the calls alone
  EXPECT_GT(worth.guest_ns, 0);
}

TEST(Worth, AnExactTimeOfTheGuestTakesTheRoughOnesPlace) {
  struct worth worth {};
  trident_unicorn_worth_of_guest(&worth, 100 * 1, 100, 0, 0);
  EXPECT_EQ(worth.guest_ns, 1);
  trident_unicorn_worth_of_guest(&worth, 100 * 5, 100, 0, 1);
  trident_unicorn_worth_of_guest(&worth, 100 * 2, 100, 0, 0);
  EXPECT_EQ(worth.guest_ns, 5);
  trident_unicorn_worth_of_guest(&worth, 100 * 4, 100, 0, 1);
  EXPECT_EQ(worth.guest_ns, 4);
}

TEST(Worth, ALongRunOfTheGuestTellsMoreThanAShortOne) {
  struct worth worth {};
  trident_unicorn_worth_of_guest(&worth, 2 * 1, 2, 0, 1);  // begin and end are cold, and guessed
  trident_unicorn_worth_of_guest(&worth, 1000 * 5, 1000, 0, 1);
  EXPECT_EQ(worth.guest_ns, 5);
  trident_unicorn_worth_of_guest(&worth, 2 * 1, 2, 0, 1);
  EXPECT_EQ(worth.guest_ns, 5);
  trident_unicorn_worth_of_guest(&worth, 900 * 4, 900, 0, 1);
  EXPECT_EQ(worth.guest_ns, 4);
}

TEST(Worth, ARoughTimeOfTheGuestDecidesLater) {
  struct worth worth {};
  trident_unicorn_worth_of_guest(&worth, 100 * 5, 100, 0, 0);
  std::uint64_t visits = 0;
  for (int lost = 0; lost == 0 && visits < 10'000;) {
    const bool is_timed = trident_unicorn_worth_wants_time(&worth, visits) != 0;
    ++visits;
    if (is_timed) lost = trident_unicorn_worth_of_visit(&worth, 300, 10, visits, 10 * visits);
  }
  EXPECT_GT(visits, 256u);
  EXPECT_LT(visits, 10'000u);
}

TEST(Worth, ARoughTimeOfTheGuestMayBeTooLow) {
  struct worth worth {};
  trident_unicorn_worth_of_guest(&worth, 100 * 18, 100, 0, 0);  // it is 48: 8 rounds take 384 ns, an entry 240
  for (std::uint64_t i = 1; i <= 10'000; ++i)
    ASSERT_EQ(trident_unicorn_worth_of_visit(&worth, 240, 8, i, 8 * i), 0) << i;
}

TEST(Worth, NothingIsDecidedBeforeTheGuestWasTimed) {
  struct worth worth {};
  for (std::uint64_t i = 1; i <= 10'000; ++i) EXPECT_EQ(trident_unicorn_worth_of_visit(&worth, 500, 2, i, 2 * i), 0);
}

}  // namespace
}  // namespace trident
