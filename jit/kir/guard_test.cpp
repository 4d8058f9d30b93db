// Guards. Oracle: the ranges as comparisons of doubles and wide integers, element by element.
#include "jit/kir/guard.h"

#include <gtest/gtest.h>

#include <cmath>

#include "jit/kir/interpreter.h"
#include "tests/support/random_kernel.h"

namespace trident::kir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Assumed kRanges[] = {{0, 1},
                               {-1, 1},
                               {0.1, 0.3},
                               {-0x1p40, 3},
                               {1e300, kInfinity},
                               {-kInfinity, 2},
                               {2.5, 7},
                               {-1e300, 1e300},
                               {0, 0},
                               {5, 4},
                               {-0x1p31, 0x1p31},
                               {0x1p62, 0x1p80},
                               {kInfinity, kInfinity},
                               {-kInfinity, -kInfinity},
                               {1, 0x1p23},
                               {0, 255},
                               {-256, 255},
                               {3, 10},
                               {-7, -4},
                               {5, 5},
                               {-1, 1},
                               {0, 0x1p31 - 1},
                               {-0x1p31, 0x1p31 - 1},
                               {-0x1p31, -1},
                               {-0x1p50, 0x1p50 - 1},
                               {-0x1p63, 0},
                               {-0x1p63, 0x1p62},
                               {0, 1, true},
                               {-1, 1, true},
                               {0.1, 0.3, true},
                               {-0x1p40, 3, true},
                               {1e300, kInfinity, true},
                               {-kInfinity, 2, true},
                               {-1e300, 1e300, true},
                               {0, 0, true},
                               {5, 4, true}};

bool holds(Type type, std::uint64_t bits, const Assumed& range) {
  if (type == Type::i32 || type == Type::i64) {
    const auto x =
        static_cast<long double>(type == Type::i32 ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits));
    return x >= static_cast<long double>(range.lo) && x <= static_cast<long double>(range.hi);
  }
  const double x = type == Type::f32 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                                     : std::bit_cast<double>(bits);
  return (x >= range.lo && x <= range.hi) || (range.or_nan && std::isnan(x));
}

/// Says whether a kernel of one element runs; `scalar`: the element is a parameter.
bool passes(Type type, std::uint64_t bits, const Assumed& range, bool scalar) {
  Kernel kernel;
  (scalar ? kernel.params : kernel.inputs).push_back({"x", type});
  kernel.outputs = {{"y", Value(0)}};
  kernel.insts = {
      {.op = scalar ? Op::Param : Op::Input, .type = type, .section = scalar ? Section::invariant : Section::body}};
  const std::span<const Assumed> ranges(&range, 1), none;
  if (!guard(kernel, scalar ? none : ranges, scalar ? ranges : none)) return true;
  EXPECT_TRUE(check(kernel).ok()) << check(kernel).error().message << print(kernel);
  std::uint64_t y = 0;
  const void* const in[] = {&bits};
  void* const out[] = {&y};
  return interpret(kernel, 1, in, out, &bits) == 1;
}

TEST(Guard, HoldsInsideTheRangeAlone) {
  testing::Random random(1);
  for (const Type type : {Type::f32, Type::f64, Type::i32, Type::i64})
    for (const Assumed& range : kRanges) {
      std::vector<std::uint64_t> lanes = testing::corner_lanes(type);
      for (int i = 0; i < 200; ++i) lanes.push_back(testing::random_lane(random, type));
      for (const double end : {range.lo, range.hi})
        for (const double to : {-kInfinity, kInfinity}) {
          const double beside = std::floor(end) + (to > 0 ? 1 : -1), most = type == Type::i32 ? 0x1p31 : 0x1p62;
          for (const double number : {std::floor(end), beside})
            if (ir::is_int(type) && std::fabs(number) < most)
              lanes.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(number)) &
                              (type == Type::i32 ? 0xFFFF'FFFFu : ~std::uint64_t{0}));
          const float narrow = std::nextafter(static_cast<float>(end), static_cast<float>(to));
          if (type == Type::f32) lanes.push_back(std::bit_cast<std::uint32_t>(narrow));
          if (type == Type::f32) lanes.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(end)));
          if (type == Type::f64) lanes.push_back(std::bit_cast<std::uint64_t>(std::nextafter(end, to)));
          if (type == Type::f64) lanes.push_back(std::bit_cast<std::uint64_t>(end));
        }
      for (const std::uint64_t bits : lanes)
        for (const bool scalar : {false, true})
          ASSERT_EQ(passes(type, bits, range, scalar), holds(type, bits, range))
              << name_of(type) << " " << std::hex << bits << " in " << range.lo << " to " << range.hi
              << (range.or_nan ? " or NaN" : "");
    }
}

TEST(Guard, AllInputsMustHoldWhateverTheirTypes) {
  Kernel kernel;
  kernel.inputs = {{"a", Type::f32}, {"b", Type::f64}, {"c", Type::i32}, {"d", Type::i64}, {"e", Type::f32}};
  kernel.outputs = {{"y", Value(0)}};
  kernel.insts = {{.op = Op::Input, .type = Type::f32, .section = Section::body}};
  const Assumed ranges[] = {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {}};
  ASSERT_TRUE(guard(kernel, ranges, {}));
  ASSERT_TRUE(check(kernel).ok()) << check(kernel).error().message;
  for (int bad = 0; bad <= 5; ++bad) {
    const float a = bad == 0 ? 2 : 1, e = bad == 4 ? NAN : 1000;
    const double b = bad == 1 ? 2 : 1;
    const std::int32_t c = bad == 2 ? -1 : 1;
    const std::int64_t d = bad == 3 ? 2 : 1;
    float y = 0;
    const void* const in[] = {&a, &b, &c, &d, &e};
    void* const out[] = {&y};
    EXPECT_EQ(interpret(kernel, 1, in, out, nullptr), bad < 4 ? 0u : 1u) << bad;
  }
}

TEST(Guard, NanPassesWhereItIsSaidAndNowhereElse) {
  for (int admits = 0; admits < 8; ++admits) {
    Kernel kernel;
    kernel.inputs = {{"a", Type::f32}, {"b", Type::f64}, {"c", Type::i32}, {"d", Type::f64}};
    kernel.outputs = {{"y", Value(0)}};
    kernel.insts = {{.op = Op::Input, .type = Type::f32, .section = Section::body}};
    const Assumed ranges[] = {
        {0, 1, (admits & 1) != 0}, {-1, 1, (admits & 2) != 0}, {0, 1, true}, {2, kInfinity, (admits & 4) != 0}};
    ASSERT_TRUE(guard(kernel, ranges, {}));
    ASSERT_TRUE(check(kernel).ok()) << check(kernel).error().message;
    for (int nan = 0; nan < 8; ++nan)
      for (const bool stray : {false, true}) {
        const float a = (nan & 1) != 0 ? NAN : 1;
        const double b = (nan & 2) != 0 ? NAN : 1, d = (nan & 4) != 0 ? NAN : 3;
        const std::int32_t c = stray ? 2 : 1;
        float y = 0;
        const void* const in[] = {&a, &b, &c, &d};
        void* const out[] = {&y};
        EXPECT_EQ(interpret(kernel, 1, in, out, nullptr), (nan & ~admits) == 0 && !stray ? 1u : 0u)
            << admits << " " << nan << "\n"
            << print(kernel);
      }
  }
}

TEST(Guard, NothingIsAssumedOfNothing) {
  Kernel kernel;
  kernel.inputs = {{"a", Type::f32}, {"t", Type::f32, 0}};
  kernel.params = {{"t.length", Type::i64}};
  kernel.outputs = {{"y", Value(0)}};
  kernel.insts = {{.op = Op::Input, .type = Type::f32, .section = Section::body}};
  const Assumed ranges[] = {{}, {0, 1}}, lengths[] = {{}};
  EXPECT_FALSE(guard(kernel, ranges, lengths));
  EXPECT_FALSE(kernel.exit.valid());
}

/// One comparison for all inputs of integers whose ranges are powers of two.
TEST(Guard, RangesOfBitsAreComparedOnce) {
  Kernel kernel;
  kernel.inputs = {{"a", Type::i64}, {"b", Type::i64}, {"c", Type::i64}};
  kernel.outputs = {{"y", Value(0)}};
  kernel.insts = {{.op = Op::Input, .type = Type::i64, .section = Section::body}};
  const Assumed ranges[] = {{0, 255}, {-128, 127}, {-16, 15}};
  ASSERT_TRUE(guard(kernel, ranges, {}));
  ASSERT_TRUE(check(kernel).ok()) << check(kernel).error().message;
  EXPECT_EQ(kernel.at(kernel.exit).op, Op::Ne) << print(kernel);
  const std::int64_t fits[] = {255, -128, 15};
  for (std::size_t bad = 0; bad < 4; ++bad)
    for (const std::int64_t step : {1, -1}) {
      std::int64_t x[] = {fits[0], fits[1], fits[2]}, y = 0;
      const bool outside = bad < 3 && (bad == 1 ? step < 0 : step > 0);
      if (bad < 3) x[bad] += step;
      const void* const in[] = {&x[0], &x[1], &x[2]};
      void* const out[] = {&y};
      EXPECT_EQ(interpret(kernel, 1, in, out, nullptr), outside ? 0u : 1u) << bad << " " << step;
    }
}

}  // namespace
}  // namespace trident::kir
