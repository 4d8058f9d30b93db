// Oracle: the regions' interpreter. Random regions run in this process on copies of one state.
#include "jit/codegen/region.h"

#include <gtest/gtest.h>

#include <vector>

#include "jit/region/interpreter.h"
#include "runtime/os/cpu.h"
#include "runtime/os/memfd.h"
#include "tests/support/foreign_floats.h"
#include "tests/support/random_region.h"

namespace trident::codegen {
namespace {

/// Skips the test where the code of regions cannot run.
#define REQUIRE_REGION_CODE() \
  if (!os::cpu_features().bmi2) GTEST_SKIP() << "the code of regions needs a processor with AVX2 and BMI2"

class Native {
 public:
  explicit Native(const region::Region& region) : Native(emit(region)) {}
  Native(const region::Region& region, Isa isa) : Native(emit(regionopt::Bulk{region, {}}, isa)) {}
  explicit Native(const Result<MachineCode>& code) {
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

/// The code of each instruction set that this processor has.
std::vector<Native> every_native(const region::Region& region) {
  std::vector<Native> natives;
  natives.emplace_back(region);
  if (os::cpu_features().avx512) natives.emplace_back(region, Isa::avx512);
  return natives;
}

void expect_equal(const region::Region& region, std::uint64_t seed, int states) {
  const std::vector<Native> natives = every_native(region);
  for (int i = 0; i < states; ++i) {
    const testing::RegionState start(region, seed * 1000 + static_cast<std::uint64_t>(i));
    testing::RegionState theirs(start);
    ASSERT_TRUE(interpret(region, theirs.frame, theirs.windows, 1'000'000).exit);
    for (const Native& native : natives) {
      testing::RegionState ours(start);
      native.run(ours);
      ASSERT_EQ(ours.memory, theirs.memory) << seed << "\n" << print(region);
      ASSERT_EQ(ours.frame, theirs.frame) << seed << "\n" << print(region);
    }
  }
}

TEST(RegionCode, DoesWhatTheInterpreterDoes) {
  REQUIRE_REGION_CODE();
  for (std::uint64_t seed = 0; seed < 3000 && !::testing::Test::HasFatalFailure(); ++seed)
    expect_equal(testing::random_region(seed), seed, 4);
}

/// The code computes as ever, and gives the caller's environment back.
TEST(RegionCode, KeepsTheCallersFloatingPointEnvironment) {
  REQUIRE_REGION_CODE();
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const region::Region region = testing::random_region(seed);
    const testing::RegionState start(region, seed);
    testing::RegionState expected(start);
    ASSERT_TRUE(interpret(region, expected.frame, expected.windows, 1'000'000).exit);
    for (const Native& native : every_native(region)) {
      for (const testing::FloatEnvironment& environment : testing::kForeignFloats) {
        testing::RegionState ours(start);
        bool intact = false;
        {
          const testing::ForeignFloats floats(environment);
          native.run(ours);
          intact = floats.intact();
        }
        ASSERT_TRUE(intact) << environment.name;
        ASSERT_EQ(ours.memory, expected.memory) << seed << ", " << environment.name << "\n" << print(region);
        ASSERT_EQ(ours.frame, expected.frame) << seed << ", " << environment.name << "\n" << print(region);
      }
    }
  }
}

TEST(RegionCode, HoldsUnderPressure) {
  REQUIRE_REGION_CODE();
  for (std::uint64_t seed = 0; seed < 100 && !::testing::Test::HasFatalFailure(); ++seed)
    expect_equal(testing::random_region(seed, {.variables = 60, .blocks = 8, .ops = 120, .windows = 4}), seed, 4);
}

}  // namespace
}  // namespace trident::codegen
