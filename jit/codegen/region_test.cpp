// Oracle: the regions' interpreter. Random regions run in this process on copies of one state.
#include "jit/codegen/region.h"

#include <gtest/gtest.h>

#include <vector>

#include "jit/region/builder.h"
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
  void run(void* frame) const { reinterpret_cast<RegionEntry>(code_.base())(frame, nullptr); }

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

/// x / divisor, signed and unsigned, in the homes behind x's.
region::Region quotients_of(std::uint64_t divisor) {
  region::Region region;
  region::Builder b(region);
  for (std::uint32_t v = 0; v < 3; ++v)
    b.variable("v" + std::to_string(v), region::Type::i64, region::kFrameHeadBytes + 8 * v);
  b.begin_block();
  b.set(1, b.op_with(region::Op::SDiv, b.get(0), divisor));
  b.set(2, b.op_with(region::Op::UDiv, b.get(0), divisor));
  b.exit(region::Exit::left);
  return region;
}

TEST(RegionCode, DividesByConstants) {
  REQUIRE_REGION_CODE();
  std::vector<std::uint64_t> numbers = {std::uint64_t{1} << 63, ~std::uint64_t{0} >> 1, 641, 6'700'417, 1'000'000'007};
  for (std::uint64_t n = 0; n < 70; ++n) numbers.insert(numbers.end(), {n, 0 - n, std::uint64_t{1} << n % 64});
  for (const std::uint64_t divisor : numbers) {
    const Native native(quotients_of(divisor));
    const auto by = static_cast<std::int64_t>(divisor);
    for (const std::uint64_t number : numbers) {
      std::uint64_t frame[region::kFrameHeadBytes / 8 + 3] = {};
      std::uint64_t* const x = frame + region::kFrameHeadBytes / 8;
      x[0] = number;
      native.run(frame);
      const auto of = static_cast<std::int64_t>(number);
      const std::uint64_t by_one = by == -1 ? 0 - number : 0;
      ASSERT_EQ(x[1], by == 0 || by == -1 ? by_one : static_cast<std::uint64_t>(of / by)) << of << " / " << by;
      ASSERT_EQ(x[2], divisor == 0 ? 0 : number / divisor) << number << " / " << divisor;
    }
  }
}

}  // namespace
}  // namespace trident::codegen
