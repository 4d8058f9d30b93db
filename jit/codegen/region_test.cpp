// Oracle: the regions' interpreter. Random regions run in this process on copies of one state.
#include "jit/codegen/region.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <cstring>

#include "jit/region/interpreter.h"
#include "runtime/os/cpu.h"
#include "runtime/os/memfd.h"
#include "tests/support/random_region.h"

namespace trident::codegen {
namespace {

/// Skips the test where the code of regions cannot run.
#define REQUIRE_REGION_CODE() \
  if (!os::cpu_features().bmi2) GTEST_SKIP() << "the code of regions needs a processor with AVX2 and BMI2"

class Native {
 public:
  explicit Native(const region::Region& region) {
    const auto code = emit(region);
    EXPECT_TRUE(code.ok()) << code.error().message;
    auto mapping = os::map_code(code->bytes);
    EXPECT_TRUE(mapping.ok());
    code_ = std::move(*mapping);
  }
  void run(testing::RegionState& state) const {
    reinterpret_cast<RegionEntry>(code_.base())(state.frame.data(), state.windows.data());
  }

 private:
  os::Mapping code_;
};

void expect_equal(const region::Region& region, std::uint64_t seed, int states) {
  const Native native(region);
  for (int i = 0; i < states; ++i) {
    testing::RegionState ours(region, seed * 1000 + static_cast<std::uint64_t>(i)), theirs(ours);
    ASSERT_TRUE(interpret(region, theirs.frame, theirs.windows, 1'000'000).exit);
    native.run(ours);
    ASSERT_EQ(ours.memory, theirs.memory) << seed << "\n" << print(region);
    ASSERT_EQ(ours.frame, theirs.frame) << seed << "\n" << print(region);
  }
}

TEST(RegionCode, DoesWhatTheInterpreterDoes) {
  REQUIRE_REGION_CODE();
  for (std::uint64_t seed = 0; seed < 3000 && !::testing::Test::HasFatalFailure(); ++seed)
    expect_equal(testing::random_region(seed), seed, 4);
}

/// Other rounding, other subnormals: the code computes as ever, and gives the caller's environment back.
TEST(RegionCode, KeepsTheCallersFloatingPointEnvironment) {
  REQUIRE_REGION_CODE();
  constexpr std::uint32_t kUpwardsWithoutSubnormals = 0x1F80 | 2u << 13 | 1u << 15 | 1u << 6;
  constexpr std::uint32_t kFlags = 0x3F;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const region::Region region = testing::random_region(seed);
    const Native native(region);
    testing::RegionState ours(region, seed), theirs(ours);
    ASSERT_TRUE(interpret(region, theirs.frame, theirs.windows, 1'000'000).exit);
    const std::uint32_t found = _mm_getcsr();
    _mm_setcsr(kUpwardsWithoutSubnormals);
    native.run(ours);
    const std::uint32_t left = _mm_getcsr();
    _mm_setcsr(found);
    ASSERT_EQ(left & ~kFlags, kUpwardsWithoutSubnormals);
    ASSERT_EQ(ours.memory, theirs.memory) << seed << "\n" << print(region);
    ASSERT_EQ(ours.frame, theirs.frame) << seed << "\n" << print(region);
  }
}

TEST(RegionCode, HoldsUnderPressure) {
  REQUIRE_REGION_CODE();
  for (std::uint64_t seed = 0; seed < 100 && !::testing::Test::HasFatalFailure(); ++seed)
    expect_equal(testing::random_region(seed, {.variables = 60, .blocks = 8, .ops = 120, .windows = 4}), seed, 4);
}

}  // namespace
}  // namespace trident::codegen
