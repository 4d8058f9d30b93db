// Oracle: the kir interpreter on this machine, which has the same estimates. Skipped where AVX-512 code cannot run.
#include <gtest/gtest.h>

#include <algorithm>

#include "jit/kir/builder.h"
#include "tests/support/draws.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using kir::Op;

bool runs_here() {
  const auto isas = testing::runnable_isas();
  return std::ranges::find(isas, Isa::avx512) != isas.end();
}

constexpr Variant kRootVariants[] = {{.vectors = 1, .schedule = false},
                                     {.vectors = 2},
                                     {.vectors = 4, .newton = 4},
                                     {.vectors = 1, .vector_bits = 256},
                                     {.vectors = 8, .schedule = false}};

/// sqrt(a), 1/sqrt(a) and both of a sum that is negative at times, so that some share an estimate.
kir::Kernel roots() {
  kir::Kernel kernel;
  kernel.inputs = {{"a", ir::Type::f32}};
  kernel.params = {{"p", ir::Type::f32}};
  kir::Builder b(kernel);
  const kir::Value a = b.input(0), moved = b.add(a, b.param(0));
  for (const kir::Value x : {a, moved, b.param(0)})
    for (const Op op : {Op::Sqrt14, Op::Rsqrt14}) kernel.outputs.push_back({"o", b.op(op, x)});
  return kernel;
}

TEST(Estimates, CornersAndRandomBits) {
  if (!runs_here()) GTEST_SKIP() << "no AVX-512";
  testing::Random random(1);
  std::vector<std::uint64_t> lanes = testing::corner_lanes(ir::Type::f32);
  while (lanes.size() < 5000) lanes.push_back(testing::random_lane(random, ir::Type::f32));
  const kir::Kernel kernel = roots();
  for (const Variant& variant : kRootVariants)
    for (const std::uint64_t param : {0x3F80'0000u, 0u, 0x8000'0000u, 0x7F80'0000u, 1u, 0xBF80'0000u}) {
      const auto native = testing::map_native(kernel, Isa::avx512, variant);
      ASSERT_TRUE(native.ok()) << native.error().message;
      EXPECT_EQ(testing::compare_on(kernel, *native, {lanes}, {param}, {.n = lanes.size()}), "") << param;
    }
}

TEST(Estimates, RandomKernels) {
  if (!runs_here()) GTEST_SKIP() << "no AVX-512";
  std::size_t have = 0;
  for (std::uint64_t seed = 1; seed <= testing::draws(120); ++seed) {
    const kir::Kernel kernel = testing::random_kernel(
        seed,
        {.ops = 60, .reductions = seed % 2 == 0, .narrow_only = seed % 3 == 0, .floats_only = true, .estimates = true});
    ASSERT_TRUE(kir::check(kernel).ok()) << kir::print(kernel);
    have += kir::has_estimates(kernel) ? 1 : 0;
    const auto native = testing::map_native(kernel, Isa::avx512, kRootVariants[seed % std::size(kRootVariants)]);
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (const std::uint64_t n : {1, 7, 16, 17, 67})
      EXPECT_EQ(testing::compare_with_interpreter(kernel, *native, {.n = n, .seed = seed + n}), "")
          << "seed " << seed << "\n"
          << kir::print(kernel);
  }
  EXPECT_GT(have, 60u);
}

TEST(Estimates, OtherInstructionSetsRefuse) {
  for (const Isa isa : {Isa::avx2, Isa::neon}) {
    const auto code = emit(roots(), isa, {});
    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.error().code, ErrorCode::kUnsupported);
  }
}

}  // namespace
}  // namespace trident::codegen
