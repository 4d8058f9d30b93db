// Oracle: the control registers, read here; what strtod() and printf() say of numbers that decide between two.
#include "runtime/base/float_environment.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "tests/support/foreign_floats.h"

namespace trident {
namespace {

using testing::FloatEnvironment;
using testing::ForeignFloats;
using testing::kForeignFloats;

/// Results computed in one environment: decimal to binary and back, arithmetic in both formats, subnormals, a trap.
struct Computed {
  double decimal = 0, quotient = 0, subnormal = 0, infinite = 0;
  long double wide = 0;
  char text[32] = {};
};

[[gnu::noinline]] void compute(Computed& c) {
  volatile double one = 1, three = 3, zero = 0, tiny = std::numeric_limits<double>::denorm_min();
  volatile long double wide = 2;
  c.decimal = std::strtod("0.3", nullptr);
  c.quotient = one / three;
  c.subnormal = tiny + tiny;
  c.infinite = one / zero;
  c.wide = wide / 3;
  std::snprintf(c.text, sizeof c.text, "%.3f", 0.0625 + 0.5);
}

bool same(const Computed& a, const Computed& b) {
  return a.decimal == b.decimal && a.quotient == b.quotient && a.subnormal == b.subnormal && a.infinite == b.infinite &&
         a.wide == b.wide && std::string(a.text) == b.text;
}

TEST(StandardFloats, AreStandardInsideAndWhatWasFoundAfterwards) {
  ASSERT_TRUE(StandardFloats::is_standard());
  Computed right;
  compute(right);
  for (const FloatEnvironment& environment : kForeignFloats) {
    Computed inside;
    bool standard_before = true, standard_inside = false, intact = false;
    {
      const ForeignFloats foreign(environment);
      standard_before = StandardFloats::is_standard();
      {
        const StandardFloats floats;
        standard_inside = StandardFloats::is_standard();
        compute(inside);  // raises flags whose traps must not come afterwards
      }
      intact = foreign.intact();
#if defined(__x86_64__)
      asm volatile("fwait");
#endif
    }
    EXPECT_FALSE(standard_before) << environment.name;
    EXPECT_TRUE(standard_inside) << environment.name;
    EXPECT_TRUE(same(inside, right)) << environment.name;
    EXPECT_TRUE(intact) << environment.name;
  }
}

TEST(StandardFloats, Nest) {
  bool intact = false, still = false;
  {
    const ForeignFloats foreign(kForeignFloats[0]);
    {
      const StandardFloats outer;
      { const StandardFloats inner; }
      still = StandardFloats::is_standard();
    }
    intact = foreign.intact();
  }
  EXPECT_TRUE(still);
  EXPECT_TRUE(intact);
}

}  // namespace
}  // namespace trident
