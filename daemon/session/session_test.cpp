// Oracles: the table of peers below, from the documentation of SO_PEERCRED; the table of processors.
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

}  // namespace
}  // namespace trident::session
