// Oracles: the kir interpreter on this machine, which has the same estimates; quotients and roots in f64. Tests of 14
// bits are skipped where AVX-512 code cannot run.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "jit/kir/builder.h"
#include "tests/support/draws.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using kir::Op;

constexpr Variant kEstimateVariants[] = {{.vectors = 1, .schedule = false}, {.vectors = 2},
                                         {.vectors = 4, .newton = 4},       {.vectors = 1, .vector_bits = 256},
                                         {.vectors = 8, .schedule = false}, {.vectors = 4, .lockstep = true}};

class Estimates : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    const auto isas = testing::runnable_isas();
    if (std::ranges::find(isas, GetParam()) == isas.end()) GTEST_SKIP() << "no " << name_of(GetParam());
  }
  [[nodiscard]] static bool wide() { return GetParam() == Isa::avx512; }
  [[nodiscard]] static Variant variant(std::size_t i) {
    Variant chosen = kEstimateVariants[i % std::size(kEstimateVariants)];
    if (!wide()) chosen.vector_bits = 0;
    return chosen;
  }
};

/// Roots, inverse roots, quotients and reciprocals of an array, a parameter and their sum, so that some share an
/// estimate, and some are invariants.
kir::Kernel all_of(std::uint32_t bits) {
  const bool wide = bits == 14;
  kir::Kernel kernel;
  kernel.inputs = {{"a", ir::Type::f32}, {"b", ir::Type::f32}};
  kernel.params = {{"p", ir::Type::f32}};
  kir::Builder b(kernel);
  const kir::Value a = b.input(0), other = b.input(1), moved = b.add(a, b.param(0));
  const Op div = wide ? Op::Div14 : Op::Div12;
  const auto output = [&](kir::Value v) { kernel.outputs.push_back({"o", v}); };
  for (const kir::Value x : {a, moved, b.param(0)}) {
    output(b.op(wide ? Op::Sqrt14 : Op::Sqrt12, x));
    output(b.op(wide ? Op::Rsqrt14 : Op::Rsqrt12, x));
    output(b.op(div, x, other));
    output(b.op(div, other, x));
    output(b.op(div, b.constant(ir::Type::f32, 1), x));
    output(b.op(div, x, b.constant(ir::Type::f32, 3)));
  }
  return kernel;
}

TEST_P(Estimates, CornersAndRandomBits) {
  testing::Random random(1);
  std::vector<std::uint64_t> lanes, others;
  for (const std::uint64_t x : testing::corner_lanes(ir::Type::f32))
    for (const std::uint64_t y : testing::corner_lanes(ir::Type::f32)) lanes.push_back(x), others.push_back(y);
  for (int i = 0; i < 5000; ++i) {
    lanes.push_back(testing::random_lane(random, ir::Type::f32));
    others.push_back(testing::random_lane(random, ir::Type::f32));
  }
  const kir::Kernel kernel = all_of(estimate_bits(GetParam()));
  for (std::size_t v = 0; v < std::size(kEstimateVariants); ++v)
    for (const std::uint64_t param : {0x3F80'0000u, 0u, 0x8000'0000u, 0x7F80'0000u, 1u, 0xBF80'0000u}) {
      const auto native = testing::map_native(kernel, GetParam(), variant(v));
      ASSERT_TRUE(native.ok()) << native.error().message;
      EXPECT_EQ(testing::compare_on(kernel, *native, {lanes, others}, {param}, {.n = lanes.size()}), "") << param;
    }
}

TEST_P(Estimates, RandomKernels) {
  std::size_t have = 0;
  for (std::uint64_t seed = 1; seed <= testing::draws(120); ++seed) {
    const kir::Kernel kernel = testing::random_kernel(seed, {.ops = 60,
                                                             .reductions = seed % 2 == 0,
                                                             .narrow_only = seed % 3 == 0,
                                                             .floats_only = true,
                                                             .estimate_bits = estimate_bits(GetParam())});
    ASSERT_TRUE(kir::check(kernel).ok()) << kir::print(kernel);
    have += kir::has_estimates(kernel) ? 1 : 0;
    const auto native = testing::map_native(kernel, GetParam(), variant(seed));
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (const std::uint64_t n : {1, 7, 16, 17, 67})
      EXPECT_EQ(testing::compare_with_interpreter(kernel, *native, {.n = n, .seed = seed + n}), "")
          << "seed " << seed << "\n"
          << kir::print(kernel);
  }
  EXPECT_GT(have, 60u);
}

TEST_P(Estimates, OtherEstimatesAreRefused) {
  const std::uint32_t other = wide() ? 12 : 14;
  for (const Isa isa : {GetParam(), Isa::neon}) {
    const auto code = emit(all_of(other), isa, {});
    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.error().code, ErrorCode::kUnsupported);
  }
}

std::string isa_name(const ::testing::TestParamInfo<Isa>& info) {
  return std::string(name_of(info.param));
}
INSTANTIATE_TEST_SUITE_P(Isas, Estimates, ::testing::Values(Isa::avx2, Isa::avx512), isa_name);

/// Returns the error of `value` in ulps of `correct`, whose unit is that of a subnormal at least.
double ulps_off(float value, double correct) {
  int exponent = 0;
  std::frexp(correct, &exponent);
  return std::fabs(static_cast<double>(value) - correct) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

// A doubtful lane beside others changes none of them, and gets the exact quotient.
TEST_P(Estimates, QuotientsAreWithinTheStatedErrorWhateverTheirNeighbours) {
  kir::Kernel kernel;
  kernel.inputs = {{"a", ir::Type::f32}, {"b", ir::Type::f32}};
  kir::Builder b(kernel);
  kernel.outputs.push_back({"o", b.op(wide() ? Op::Div14 : Op::Div12, b.input(0), b.input(1))});
  const auto native = testing::map_native(kernel, GetParam(), variant(1));
  ASSERT_TRUE(native.ok()) << native.error().message;
  testing::Random random(7);
  constexpr std::size_t kCount = 40'000;
  std::vector<float> x(kCount), y(kCount), out(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const bool any = i / 64 % 2 == 0 && i % 5 == 0;
    const auto draw = [&] {
      const auto bits = static_cast<std::uint32_t>(random.next());
      return std::bit_cast<float>(any ? bits : (bits & 0x81FF'FFFFu) | 0x3E00'0000u);
    };
    x[i] = draw(), y[i] = draw();
  }
  const void* in[] = {x.data(), y.data()};
  void* results[] = {out.data()};
  native->entry()(nullptr, kCount, in, results, nullptr);
  const double stated = wide() ? 0.57 : 1.51;
  for (std::size_t i = 0; i < kCount; ++i) {
    const float exact = x[i] / y[i];
    if (!std::isfinite(exact) || exact == 0)
      EXPECT_TRUE(std::isnan(exact) ? std::isnan(out[i]) : out[i] == exact) << x[i] << " / " << y[i];
    else
      EXPECT_LE(ulps_off(out[i], static_cast<double>(x[i]) / y[i]), stated) << x[i] << " / " << y[i];
  }
}

}  // namespace
}  // namespace trident::codegen
