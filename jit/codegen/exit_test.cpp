// Kernels with an exit. Oracle: the interpreter on the same kernel without its exit, whose mask is one more output
// (compare_on). The interpreter's own exits have the same oracle, and one place where they must stop.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "jit/codegen/codegen.h"
#include "jit/kir/builder.h"
#include "jit/kir/guard.h"
#include "jit/kir/interpreter.h"
#include "tests/support/draws.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using testing::map_native;
using testing::random_kernel;
using testing::runnable_isas;

constexpr Variant kExitVariants[] = {{.vectors = 1, .schedule = false},
                                     {.vectors = 2},
                                     {.vectors = 4},
                                     {.vectors = 8},
                                     {.vectors = 1, .vector_bits = 256},
                                     {.vectors = 3, .newton = 4},
                                     {.vectors = 8, .schedule = false},
                                     {.vectors = 2, .newton = 8}};

std::string listing_of(const kir::Kernel& kernel, Isa isa, const Variant& variant) {
  std::string text = std::string(name_of(isa)) + "\n" + kir::print(kernel);
  if (auto code = emit(kernel, isa, variant); code.ok())
    if (auto listing = disassemble(*code, isa); listing.ok()) text += *listing;
  return text;
}

TEST(Exit, RandomKernelsStopBeforeTheFirstSetLane) {
  for (std::uint64_t seed = 1; seed <= testing::draws(48); ++seed) {
    const auto kernel =
        random_kernel(seed, {.ops = 20, .narrow_only = seed % 3 == 0, .tables = seed % 5 == 0, .exits = true});
    ASSERT_TRUE(kir::check(kernel).ok()) << kir::check(kernel).error().message << kir::print(kernel);
    const Variant& variant = kExitVariants[seed % std::size(kExitVariants)];
    for (const Isa isa : runnable_isas()) {
      auto native = map_native(kernel, isa, variant);
      ASSERT_TRUE(native.ok()) << native.error().message;
      for (const std::uint64_t n : {0, 1, 7, 17, 130, 260})
        ASSERT_EQ(testing::compare_with_interpreter(
                      kernel, *native, {.n = n, .in_place = n % 2 == 0, .at_front = seed % 2 != 0, .seed = seed + n}),
                  "")
            << "seed " << seed << " " << listing_of(kernel, isa, variant);
    }
  }
}

/// Copies x, adds y, and stops where y is not below 1; `negated`: where it is false that y is below 1.
kir::Kernel stopping(ir::Type type, bool negated) {
  kir::Kernel kernel;
  kernel.inputs = {{"x", type}, {"y", type}};
  kir::Builder b(kernel);
  const kir::Value x = b.input(0), y = b.input(1), limit = b.constant(type, 1);
  kernel.exit = negated ? b.op(kir::Op::Not, b.lt(y, limit)) : b.le(limit, y);
  kernel.outputs = {{"copy", x}, {"sum", b.add(x, y)}};
  return kernel;
}

std::uint64_t float_bits(ir::Type type, double value) {
  return type == ir::Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                               : std::bit_cast<std::uint64_t>(value);
}

/// `n` zeros, with a one in place `bad` if there is such a place.
std::vector<std::uint64_t> zeros_but_one(ir::Type type, std::uint64_t n, std::uint64_t bad) {
  std::vector<std::uint64_t> lanes(n, 0);
  if (bad < n) lanes[bad] = float_bits(type, 1);
  return lanes;
}

TEST(Exit, OneSetLaneInEachPositionStopsTheKernel) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64})
    for (const Variant& variant : kExitVariants) {
      const kir::Kernel kernel = stopping(type, variant.schedule);
      ASSERT_TRUE(kir::check(kernel).ok()) << kir::check(kernel).error().message;
      for (const Isa isa : runnable_isas()) {
        auto native = map_native(kernel, isa, variant);
        ASSERT_TRUE(native.ok()) << native.error().message;
        for (const std::uint64_t n : {5, 39})
          for (std::uint64_t bad = 0; bad <= n; ++bad)
            ASSERT_EQ(
                testing::compare_on(kernel, *native,
                                    {std::vector<std::uint64_t>(n, float_bits(type, 3)), zeros_but_one(type, n, bad)},
                                    {}, {.n = n, .in_place = bad % 2 == 0}),
                "")
                << "element " << bad << " of " << n << " " << listing_of(kernel, isa, variant);
      }
    }
}

/// Adds x and y, and stops where one of them lies outside its range.
kir::Kernel guarding(ir::Type type, const kir::Assumed& of_x, const kir::Assumed& of_y) {
  kir::Kernel kernel;
  kernel.inputs = {{"x", type}, {"y", type}};
  kir::Builder b(kernel);
  kernel.outputs = {{"sum", b.add(b.input(0), b.input(1))}};
  const kir::Assumed assumed[] = {of_x, of_y};
  CHECK(kir::guard(kernel, assumed, {}));
  return kernel;
}

/// Bits beside the ends of a range, and of values that no comparison holds for, or for another reason.
std::vector<std::uint64_t> telling_bits(ir::Type type, const kir::Assumed& range) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::uint64_t sign = std::uint64_t{1} << (8 * ir::bytes_of(type) - 1), nan = float_bits(type, std::nan(""));
  std::vector<std::uint64_t> all = {0,
                                    sign,
                                    1,
                                    sign | 1,
                                    nan,
                                    nan | sign,
                                    nan + 1,
                                    float_bits(type, kInf) + 1,
                                    float_bits(type, kInf),
                                    float_bits(type, -kInf)};
  for (const double end : {range.lo, range.hi, -range.hi})
    for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 32})
      all.push_back((float_bits(type, end) + step) & (sign | (sign - 1)));
  return all;
}

TEST(Exit, RangesAreTestedToTheBitInEachPosition) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const kir::Assumed ranges[] = {{0, 4},
                                 {0.25, 600},
                                 {-8, 8},
                                 {-3, 5},
                                 {0, kInf},
                                 {2, kInf},
                                 {-kInf, 1},
                                 {0, 0},
                                 // Ends for which upper halves decide, and both with others.
                                 {0.25, 0x1.fffffffffffffp1},
                                 {0.3, 0x1.fffffffffffffp1},
                                 {0.3, 0.7},
                                 {-0x1.fffffffffffffp2, 0x1.fffffffffffffp2},
                                 // Ends beside which NaN passes.
                                 {0, 4, true},
                                 {0.25, 600, true},
                                 {-8, 8, true},
                                 {-3, 5, true},
                                 {0, kInf, true},
                                 {-kInf, 1, true},
                                 {0, 0, true},
                                 {0.3, 0x1.fffffffffffffp1, true},
                                 {-0x1.fffffffffffffp2, 0x1.fffffffffffffp2, true}};
  std::uint64_t number = 0;
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64})
    for (const kir::Assumed& of_x : ranges)
      for (const kir::Assumed& of_y : {kir::Assumed{1, 2}, kir::Assumed{-3, 5}, kir::Assumed{}, of_x,
                                       kir::Assumed{0.5, 0x1.fffffffffffffp0}, kir::Assumed{1, 2, true}}) {
        const kir::Kernel kernel = guarding(type, of_x, of_y);
        ASSERT_TRUE(kir::check(kernel).ok());
        const Variant& variant = kExitVariants[++number % std::size(kExitVariants)];
        const double fits = of_x.lo > 0 ? of_x.lo : std::min(of_x.hi, 0.0);
        for (const Isa isa : runnable_isas()) {
          auto native = map_native(kernel, isa, variant);
          ASSERT_TRUE(native.ok()) << native.error().message;
          constexpr std::uint64_t n = 150;
          for (const std::uint64_t bits : telling_bits(type, of_x)) {
            // Inputs of one range share their test: the value outside comes in either.
            const bool alike = of_y.lo == of_x.lo && of_y.hi == of_x.hi && of_y.or_nan == of_x.or_nan;
            std::vector<std::uint64_t> x(n, float_bits(type, fits));
            std::vector<std::uint64_t> y(n, float_bits(type, alike ? fits : 1.5));
            (alike && number % 2 == 0 ? y : x)[number * 37 % n] = bits;
            ASSERT_EQ(testing::compare_on(kernel, *native, {x, y}, {}, {.n = n}), "")
                << std::hex << bits << " " << listing_of(kernel, isa, variant);
            number += 11;
          }
        }
      }
}

/// Ranges of 2^k integers, and others.
TEST(Exit, RangesOfIntegersAreTestedInEachPosition) {
  std::uint64_t number = 0;
  for (const ir::Type type : {ir::Type::i32, ir::Type::i64})
    for (const kir::Assumed& of_x : {kir::Assumed{0, 255}, {-256, 255}, {-3, 4}, {0, 100}})
      for (const kir::Assumed& of_y : {of_x, kir::Assumed{0, 7}, kir::Assumed{-5, 5}, kir::Assumed{}}) {
        const kir::Kernel kernel = guarding(type, of_x, of_y);
        ASSERT_TRUE(kir::check(kernel).ok());
        const std::uint64_t lanes = type == ir::Type::i32 ? 0xFFFF'FFFFu : ~std::uint64_t{0};
        const auto bits_of = [&](double value) {
          return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & lanes;
        };
        for (const Variant& variant : kExitVariants)
          for (const Isa isa : runnable_isas()) {
            auto native = map_native(kernel, isa, variant);
            ASSERT_TRUE(native.ok()) << native.error().message;
            constexpr std::uint64_t n = 150;
            for (const std::uint64_t bad :
                 {bits_of(of_x.lo - 1), bits_of(of_x.hi + 1), bits_of(of_x.lo), bits_of(of_x.hi), lanes,
                  lanes ^ lanes >> 1, lanes >> 1, (lanes >> 1) + 2}) {
              std::vector<std::uint64_t> x(n, bits_of(of_x.hi)), y(n, bits_of(of_y.is_anything() ? 3 : of_y.hi));
              (number % 5 == 4 ? y : x)[number * 37 % n] = bad;
              ASSERT_EQ(testing::compare_on(kernel, *native, {x, y}, {}, {.n = n}), "")
                  << std::hex << bad << " " << listing_of(kernel, isa, variant);
              number += 11;
            }
          }
      }
}

/// The ranges of one kernel are decided by upper halves, those of the other are not.
TEST(Exit, UpperHalvesOfTwoVectorsAreTestedAtOnce) {
  const auto work = [](kir::Assumed x, kir::Assumed y, std::uint8_t vectors) {
    const auto code = emit(guarding(ir::Type::f64, x, y), Isa::avx512, {.vectors = vectors});
    EXPECT_TRUE(code.ok());
    return code->vector_work;
  };
  const kir::Assumed decided[] = {{0.25, 0x1.fffffffffffffp1}, {-0x1.fffffffffffffp2, 0x1.fffffffffffffp2}};
  const kir::Assumed others[] = {{0.25, 4}, {-8, 8}};
  EXPECT_EQ(work(decided[0], decided[1], 4) + 2, work(others[0], others[1], 4));
  EXPECT_EQ(work(decided[0], decided[1], 8) + 6, work(others[0], others[1], 8));
  EXPECT_EQ(work(decided[0], decided[1], 2), work(others[0], others[1], 2));  // too few to pay
}

TEST(Exit, UpperHalvesAreTestedInEachPosition) {
  const kir::Assumed of_x{0.25, 0x1.fffffffffffffp1}, of_y{-0x1.fffffffffffffp2, 0x1.fffffffffffffp2};
  const kir::Kernel kernel = guarding(ir::Type::f64, of_x, of_y), alike = guarding(ir::Type::f64, of_x, of_x);
  constexpr std::uint64_t n = 80;
  for (const std::uint8_t vectors : {std::uint8_t{3}, std::uint8_t{4}, std::uint8_t{8}})
    for (const Isa isa : runnable_isas()) {
      auto native = map_native(kernel, isa, {.vectors = vectors}), other = map_native(alike, isa, {.vectors = vectors});
      ASSERT_TRUE(native.ok() && other.ok());
      for (std::uint64_t place = 0; place < 2 * n; ++place)
        for (const double bad : {-9.0, 8.0, 0x1.fffffffffffffp-3, std::nan("")}) {
          std::vector<std::uint64_t> x(n, float_bits(ir::Type::f64, 1)), y = x;
          (place < n ? x : y)[place % n] = float_bits(ir::Type::f64, bad);
          ASSERT_EQ(testing::compare_on(kernel, *native, {x, y}, {}, {.n = n}), "") << place << " " << bad;
          ASSERT_EQ(testing::compare_on(alike, *other, {x, y}, {}, {.n = n}), "") << place << " " << bad;
        }
    }
}

/// NaN, a value outside, and both, at each distance from each other: no extreme may forget what came before a NaN.
TEST(Exit, NanThatPassesHidesNothingBesideIt) {
  constexpr std::uint64_t n = 150;
  std::uint64_t number = 0;
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64})
    for (const kir::Assumed& range :
         {kir::Assumed{0.25, 4, true}, kir::Assumed{-4, 4, true}, kir::Assumed{-1, 4, true}}) {
      const kir::Kernel kernel = guarding(type, range, {0, 8, number % 2 == 0});
      for (const Variant& variant : kExitVariants)
        for (const Isa isa : runnable_isas()) {
          auto native = map_native(kernel, isa, variant);
          ASSERT_TRUE(native.ok()) << native.error().message;
          for (const double stray : {-9.0, 9.0, 1.0})
            for (const std::uint64_t every : {1, 2, 3, 16, 31, 64}) {
              const std::uint64_t bad = ++number * 41 % n;
              std::vector<std::uint64_t> x(n, float_bits(type, 1));
              const std::vector<std::uint64_t> y = x;
              for (std::uint64_t i = number % every; i < n; i += every) x[i] = float_bits(type, std::nan(""));
              if (stray != 1) x[bad] = float_bits(type, stray);
              ASSERT_EQ(testing::compare_on(kernel, *native, {x, y}, {}, {.n = n}), "")
                  << bad << " " << stray << " " << every << " " << listing_of(kernel, isa, variant);
            }
        }
    }
}

TEST(Exit, RangesOfTwoTypesAreTestedTogether) {
  constexpr std::uint64_t n = 70;
  std::uint64_t number = 0;
  for (int admits = 0; admits < 4; ++admits) {
    kir::Kernel kernel;
    kernel.inputs = {{"x", ir::Type::f32}, {"y", ir::Type::f64}};
    kir::Builder b(kernel);
    kernel.outputs = {{"sum", b.add(b.convert(kir::Op::Convert, ir::Type::f64, b.input(0)), b.input(1))}};
    const kir::Assumed ranges[] = {{-4, 4, (admits & 1) != 0}, {0.25, 4, (admits & 2) != 0}};
    ASSERT_TRUE(kir::guard(kernel, ranges, {}) && kir::check(kernel).ok());
    for (const Variant& variant : kExitVariants)
      for (const Isa isa : runnable_isas()) {
        auto native = map_native(kernel, isa, variant);
        ASSERT_TRUE(native.ok()) << native.error().message;
        for (std::uint64_t place = 0; place < n; ++place)
          for (const double bad : {9.0, std::nan("")}) {
            std::vector<std::uint64_t> x(n, float_bits(ir::Type::f32, 1)), y(n, float_bits(ir::Type::f64, 1));
            const bool of_x = ++number % 2 == 0;
            (of_x ? x : y)[place] = float_bits(of_x ? ir::Type::f32 : ir::Type::f64, bad);
            ASSERT_EQ(testing::compare_on(kernel, *native, {x, y}, {}, {.n = n}), "")
                << place << " " << bad << " " << listing_of(kernel, isa, variant);
          }
      }
  }
}

/// The extremes of numbers take as many instructions a vector as those of bits, and one a step more.
TEST(Exit, LettingNanPassCostsAnInstructionAStepAndEnd) {
  const auto work = [](kir::Assumed x, ir::Type type, Isa isa, std::uint8_t vectors) {
    const auto code = emit(guarding(type, x, {}), isa, {.vectors = vectors});
    EXPECT_TRUE(code.ok());
    return code->vector_work;
  };
  for (const std::uint8_t vectors : {std::uint8_t{2}, std::uint8_t{4}}) {
    EXPECT_LE(work({0.25, 4, true}, ir::Type::f32, Isa::avx512, vectors),
              work({0.25, 4}, ir::Type::f32, Isa::avx512, vectors) + 2);
    EXPECT_LE(work({-4, 4, true}, ir::Type::f32, Isa::avx512, vectors),
              work({-4, 4}, ir::Type::f32, Isa::avx512, vectors) + 1);
    EXPECT_LE(work({-4, 4, true}, ir::Type::f32, Isa::avx2, vectors),
              work({-4, 4}, ir::Type::f32, Isa::avx2, vectors) + 1);
  }
}

TEST(Exit, StreamsStopInTheirFirstElementsAndInTheirLoop) {
  const kir::Kernel kernel = stopping(ir::Type::f32, true);
  const std::uint64_t n = kStreamBytes / 8 + 1000;
  for (const Isa isa : runnable_isas()) {
    auto native = map_native(kernel, isa, {.vectors = 2, .non_temporal = true});
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (const std::uint64_t bad : {std::uint64_t{2}, std::uint64_t{5000}, n})
      ASSERT_EQ(testing::compare_on(
                    kernel, *native,
                    {std::vector<std::uint64_t>(n, float_bits(ir::Type::f32, 3)), zeros_but_one(ir::Type::f32, n, bad)},
                    {}, {.n = n, .misalign = 3}),
                "")
          << "element " << bad;
  }
}

/// Runs the interpreter on `kernel` in place and returns how many elements it says are done.
std::uint64_t interpret_in_place(const kir::Kernel& kernel, std::vector<float>& x, const std::vector<float>& y,
                                 std::vector<float>& sum) {
  const void* const in[] = {x.data(), y.data()};
  void* const out[] = {x.data(), sum.data()};
  return kir::interpret(kernel, x.size(), in, out, nullptr);
}

TEST(Exit, TheInterpreterStopsAtTheMultipleOfSixteenBefore) {
  const kir::Kernel kernel = stopping(ir::Type::f32, false);
  for (const std::uint64_t n : {1u, 16u, 40u, 5000u})
    for (const std::uint64_t bad : {0u, 3u, 15u, 16u, 31u, 38u, 39u, 1023u, 1024u, 4999u, 5000u}) {
      if (bad > n) continue;
      std::vector<float> x(n, 3), y(n, 0), sum(n, -1);
      if (bad < n) y[bad] = 1;
      const std::uint64_t done = interpret_in_place(kernel, x, y, sum);
      ASSERT_EQ(done, bad == n ? n : bad / 16 * 16) << n;
      ASSERT_EQ(std::count(sum.begin(), sum.end(), 3.0f), static_cast<std::ptrdiff_t>(done));
      ASSERT_EQ(std::count(sum.begin(), sum.end(), -1.0f), static_cast<std::ptrdiff_t>(n - done));
    }
}

TEST(Exit, RandomKernelsStopInTheInterpreterToo) {
  for (std::uint64_t seed = 1; seed <= testing::draws(80); ++seed) {
    const kir::Kernel kernel = random_kernel(seed, {.ops = 20, .tables = seed % 5 == 0, .exits = true});
    const auto run = [&](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
      return kir::interpret(kernel, n, in, out, params);
    };
    for (const std::uint64_t n : {0u, 1u, 16u, 67u, 260u}) {
      testing::Random random(seed + n);
      const testing::Arguments arguments = testing::random_arguments(kernel, n, random);
      ASSERT_EQ(testing::compare_on(kernel, run, arguments.inputs, arguments.params, {.n = n, .in_place = n % 2 == 0}),
                "")
          << "seed " << seed << "\n"
          << kir::print(kernel);
    }
  }
}

}  // namespace
}  // namespace trident::codegen
