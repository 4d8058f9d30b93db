#include "runtime/os/linger.h"

#include <gtest/gtest.h>

#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"

namespace trident::os {
namespace {

TEST(Linger, GoesOnForItsMomentAfterWorkAndNotWithout) {
  Linger linger;
  EXPECT_FALSE(linger.goes_on()) << "nothing has come yet";
  for (int burst = 0; burst < 3; ++burst) {
    const std::uint64_t begin = monotonic_ns();
    linger.begin();
    while (linger.goes_on()) {
    }
    if (usable_cpus() > 1) {
      EXPECT_GE(monotonic_ns() - begin, Linger::kNs);
    }
    EXPECT_FALSE(linger.goes_on());
  }
}

}  // namespace
}  // namespace trident::os
