// Oracles: the table of peers below, from the documentation of SO_PEERCRED; the table of processors; sums over time for
// the turns of users.
#include "daemon/session/session.h"

#include <gtest/gtest.h>

namespace trident::session {
namespace {

TEST(Admission, GoesByUserAndRefusesTheOneThatStandsForMany) {
  constexpr std::uint32_t kDaemon = 990, kOverflow = 65534;
  EXPECT_TRUE(admit({.uid = 1000, .gid = 1000, .pid = 42}, kDaemon, kOverflow).ok());
  EXPECT_TRUE(admit({.uid = 0, .gid = 0, .pid = 42}, kDaemon, kOverflow).ok());
  EXPECT_TRUE(admit({.uid = kDaemon, .gid = 1, .pid = 42}, kDaemon, kOverflow).ok());
  EXPECT_TRUE(admit({.uid = 1000, .gid = 1000, .pid = 0}, kDaemon, kOverflow).ok());  // another pid namespace
  EXPECT_TRUE(admit({.uid = 1000, .gid = kOverflow, .pid = 7}, kDaemon, kOverflow).ok());
  const auto nobody = admit({.uid = kOverflow, .gid = kOverflow, .pid = 42}, kDaemon, kOverflow);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(nobody.error().message.find("65534"), std::string::npos);
  EXPECT_FALSE(admit({.uid = kOverflow, .gid = 1000, .pid = 0}, kDaemon, kOverflow).ok());
  // A system whose overflow uid is another one; and a daemon that is "nobody" itself.
  EXPECT_TRUE(admit({.uid = kOverflow, .gid = 0, .pid = 42}, kDaemon, 64000).ok());
  EXPECT_FALSE(admit({.uid = 64000, .gid = 0, .pid = 42}, kDaemon, 64000).ok());
  EXPECT_TRUE(admit({.uid = kOverflow, .gid = 0, .pid = 42}, kOverflow, kOverflow).ok());
}

TEST(CommonIsa, IsTheGreatestThatBothHave) {
  const os::CpuFeatures none{}, avx2{.avx2_fma = true}, avx512{.avx2_fma = true, .avx512 = true}, arm{.neon = true};
  struct Row {
    std::uint8_t clients;
    os::CpuFeatures cpu;
    int common;
  };
  const Row rows[] = {{TRIDENT_ISA_AVX2, avx512, TRIDENT_ISA_AVX2},
                      {TRIDENT_ISA_AVX2, avx2, TRIDENT_ISA_AVX2},
                      {TRIDENT_ISA_AVX512, avx512, TRIDENT_ISA_AVX512},
                      {TRIDENT_ISA_AVX512, avx2, TRIDENT_ISA_AVX2},
                      {TRIDENT_ISA_NEON, arm, TRIDENT_ISA_NEON},
                      {TRIDENT_ISA_NEON, avx512, 0},
                      {TRIDENT_ISA_AVX512, arm, 0},
                      {TRIDENT_ISA_AVX2, arm, 0},
                      {TRIDENT_ISA_AVX2, none, 0},
                      {TRIDENT_ISA_AVX512, none, 0},
                      {0, avx512, 0},
                      {0, arm, 0},
                      {4, avx512, 0},
                      {255, arm, 0}};
  for (const Row& row : rows)
    EXPECT_EQ(row.common, common_isa(row.clients, row.cpu))
        << int{row.clients} << " " << row.cpu.avx2_fma << row.cpu.avx512 << row.cpu.neon;
}

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint32_t kFlooder = 1000, kOther = 1001;

/// Reads messages of `message_ns` each from a user that always has more; returns the part of the time that this took.
double share_of_flood(Turns& turns, std::uint64_t message_ns, std::uint64_t from_ns) {
  constexpr std::uint64_t kForNs = 5'000 * kMs;
  std::uint64_t now = from_ns, read_ns = 0;
  while (now < from_ns + kForNs) {
    now = std::max(now, turns.rests_until_ns(kFlooder)) + message_ns;
    turns.charge(kFlooder, message_ns, now);
    read_ns += message_ns;
  }
  return static_cast<double>(read_ns) / static_cast<double>(std::max(now, turns.rests_until_ns(kFlooder)) - from_ns);
}

TEST(Turns, AFloodGetsItsShareHoweverLongItsMessagesTake) {
  for (const std::uint64_t message_ns : {10'000ull, 100'000ull, 3'000'000ull, 100'000'000ull}) {
    Turns turns;
    turns.charge(kOther, 1000, 7 * kMs);
    EXPECT_NEAR(share_of_flood(turns, message_ns, 8 * kMs), 1.0 / (1 + Turns::kRestPerTime), 0.02) << message_ns;
  }
}

TEST(Turns, AUserAloneNeverRests) {
  Turns turns;
  EXPECT_EQ(share_of_flood(turns, 100'000, kMs), 1);
  // Another has been here, but not for long.
  Turns later;
  later.charge(kOther, 1000, kMs);
  EXPECT_EQ(share_of_flood(later, 100'000, 2 * kMs + jobs::Presence::kPresentNs), 1);
}

TEST(Turns, SliceAndRestAreBounded) {
  Turns turns;
  turns.charge(kOther, 1000, kMs);
  std::uint64_t now = 2 * kMs, read_ns = 0;
  while (turns.rests_until_ns(kFlooder) <= now) {
    turns.charge(kFlooder, 10'000, now += 10'000);
    read_ns += 10'000;
  }
  EXPECT_LE(read_ns, 2 * Turns::kSliceNs);
  EXPECT_EQ(turns.rests_until_ns(kOther), 0u);
  turns.charge(kFlooder, 60'000 * kMs, now += 60'000 * kMs);  // the other has gone: no rest
  turns.charge(kOther, 1000, now);
  turns.charge(kFlooder, 60'000 * kMs, now);
  EXPECT_EQ(turns.rests_until_ns(kFlooder), now + Turns::kRestMaxNs);
}

TEST(Turns, SeveralFloodsTogetherGetTheShareOfOne) {
  constexpr std::uint32_t kFloods = 4;
  constexpr std::uint64_t kMessageNs = 100'000, kForNs = 5'000 * kMs;
  Turns turns;
  turns.charge(kOther, 1000, 7 * kMs);
  std::uint64_t now = 8 * kMs, read_ns = 0;
  while (now < kForNs) {
    const std::uint64_t before = now;
    for (std::uint32_t user = kFlooder; user < kFlooder + kFloods; ++user) {
      if (turns.rests_until_ns(user) > now) continue;
      turns.charge(user, kMessageNs, now += kMessageNs);
      read_ns += kMessageNs;
    }
    if (now == before) now += 10'000;
  }
  const double share = static_cast<double>(read_ns) / kForNs;
  EXPECT_LT(share, 1.5 / (1 + Turns::kRestPerTime));
  EXPECT_GT(share, 0.5 / (1 + Turns::kRestPerTime));
}

TEST(Turns, OneThatAsksNowAndThenNeverRests) {
  Turns turns;
  for (std::uint64_t now = kMs; now < 10'000 * kMs; now += 2 * kMs) {
    turns.charge(kFlooder, 2 * kMs, now);
    turns.charge(kOther, 300'000, now);
    ASSERT_LE(turns.rests_until_ns(kOther), now);
  }
}

TEST(Turns, ManyUsersDoNotMakeAFloodForgotten) {
  Turns turns;
  turns.charge(kOther, 1000, kMs);
  turns.charge(kFlooder, Turns::kRestMaxNs, 2 * kMs);
  for (std::uint32_t user = 0; user < 900; ++user) turns.charge(user, 1000, 3 * kMs + user * 10'000ull);
  EXPECT_GT(turns.rests_until_ns(kFlooder), 900 * kMs);
}

}  // namespace
}  // namespace trident::session
