// Every function at every type, class and a set of ranges against MPFR, and the special values of C99 Annex F.
#include "jit/kir/math/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "jit/kir/interpreter.h"
#include "tests/support/argument_sampler.h"
#include "tests/support/mpfr_oracle.h"
#include "tests/support/remainder_operands.h"

namespace trident::kir::math {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const Range kAnything{};

struct Point {
  double x, y;
};

template <typename Float>
std::vector<double> run_as(const Kernel& kernel, std::span<const Point> points) {
  std::vector<Float> x, y, out(points.size());
  for (const Point& p : points) {
    x.push_back(static_cast<Float>(p.x));
    y.push_back(static_cast<Float>(p.y));
  }
  const void* in[] = {x.data(), y.data()};
  void* outputs[] = {out.data()};
  interpret(kernel, points.size(), in, outputs, nullptr);
  return {out.begin(), out.end()};
}

std::vector<double> run(const Kernel& kernel, Type type, std::span<const Point> points) {
  const auto checked = check(kernel);
  EXPECT_TRUE(checked) << print(kernel);
  return type == Type::f32 ? run_as<float>(kernel, points) : run_as<double>(kernel, points);
}

void expect_accurate(Function f, Type type, Accuracy accuracy, std::span<const Range> ranges, std::size_t count) {
  Sampler sampler(type);
  std::vector<Point> points(count);
  for (Point& p : points) p = {sampler.pick(ranges[0]), ranges.size() > 1 ? sampler.pick(ranges[1]) : 0};
  const std::vector<double> got = run(kernel_of(f, type, accuracy, ranges), type, points);
  Oracle oracle;
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    oracle.evaluate(f, points[i].x, points[i].y);
    double error = oracle.error_ulp(got[i], type);
    if (accuracy == Accuracy::rel3) {
      const double greatest = type == Type::f32 ? 0x1.fp127 : 0x1.fp1023;
      const bool tiny = std::fabs(oracle.value()) < (type == Type::f32 ? 0x1p-126 : 0x1p-1022);
      const bool small = std::fabs(got[i] - oracle.value()) < 1e-3 && std::fabs(oracle.value()) < 1e-3;
      if (tiny || small || std::fabs(oracle.value()) > greatest) continue;
      error = oracle.error_relative(got[i]) * (type == Type::f32 ? 0x1p24 : 0x1p53);
    }
    if (!(error <= worst)) worst = error, at = i;
  }
  EXPECT_LE(worst, stated_error_ulp(f, type, accuracy))
      << math::name_of(f) << ' ' << ir::name_of(type) << ' ' << name_of(accuracy) << " on [" << ranges[0].lo << ", "
      << ranges[0].hi << "] at " << std::hexfloat << points[at].x << ", " << points[at].y << " got " << got[at];
}

struct Case {
  Function f;
  Range x, y;
};

TEST(Math, StaysWithinItsStatedErrorOnEveryRange) {
  const std::vector<Case> cases = {
#include "jit/kir/math/test_ranges.def"
  };
  for (const Case& c : cases)
    for (const Type type : {Type::f32, Type::f64})
      for (const Accuracy accuracy : {Accuracy::ulp1, Accuracy::ulp4, Accuracy::rel3}) {
        const Range ranges[] = {c.x, c.y};
        expect_accurate(c.f, type, accuracy, std::span(ranges, arity_of(c.f)), 600);
      }
}

/// Expansions for a narrow range beside which NaN may come. Oracle: those for any argument, at NaN; the stated error at
/// numbers.
TEST(Math, NanBesideANarrowRangeIsNoNumber) {
  const std::vector<Case> cases = {
#include "jit/kir/math/test_ranges.def"
  };
  for (const Case& c : cases)
    for (const Type type : {Type::f32, Type::f64})
      for (const Accuracy accuracy : {Accuracy::ulp1, Accuracy::ulp4, Accuracy::rel3})
        for (std::size_t which = 0; which < arity_of(c.f); ++which) {
          std::array<Range, 2> ranges = {c.x, c.y};
          ranges[which].may_be_nan = true;
          const auto own = std::span(ranges).first(arity_of(c.f));
          expect_accurate(c.f, type, accuracy, own, 60);
          Sampler sampler(type);
          std::vector<Point> points(60);
          for (Point& p : points) {
            p = {sampler.pick(ranges[0]), sampler.pick(ranges[1])};
            (which == 0 ? p.x : p.y) = kNan;
          }
          const std::array<Range, 2> anything;
          const Kernel general = kernel_of(c.f, type, accuracy, std::span(anything).first(arity_of(c.f)));
          const auto got = run(kernel_of(c.f, type, accuracy, own), type, points), wanted = run(general, type, points);
          for (std::size_t i = 0; i < points.size(); ++i)
            ASSERT_TRUE(std::isnan(wanted[i]) ? std::isnan(got[i]) : std::fabs(got[i] - wanted[i]) < 1e-2)
                << math::name_of(c.f) << ' ' << ir::name_of(type) << ' ' << name_of(accuracy) << " on ["
                << ranges[which].lo << ", " << ranges[which].hi << "] at " << points[i].x << ", " << points[i].y
                << " got " << got[i] << " for " << wanted[i];
        }
}

// Hosts implement Scalef in different ways, which agree where its operand meets the contract in ops.def.
TEST(Math, ScalefIsGivenWhatItAsksFor) {
  const std::vector<Case> cases = {
#include "jit/kir/math/test_ranges.def"
  };
  std::size_t seen = 0;
  const auto look = [&](const Case& c, Type type, Accuracy accuracy) {
    const Range ranges[] = {c.x, c.y};
    Sampler sampler(type);
    std::vector<Point> points(400);
    for (Point& p : points) p = {sampler.pick(ranges[0]), arity_of(c.f) > 1 ? sampler.pick(ranges[1]) : 0};
    Kernel kernel = kernel_of(c.f, type, accuracy, std::span(ranges, arity_of(c.f)));
    for (const Inst& inst : std::vector<Inst>(kernel.insts)) {
      if (inst.op != Op::Scalef) continue;
      ++seen;
      kernel.outputs[0].value = inst.a;
      const std::vector<double> operands = run(kernel, type, points);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const double a = std::fabs(operands[i]);
        ASSERT_TRUE((a >= 0x1p-4 && a < 0x1p4) || a == 0 || std::isnan(a))
            << math::name_of(c.f) << ' ' << ir::name_of(type) << ' ' << name_of(accuracy) << " at " << points[i].x
            << ", " << points[i].y << ": " << a;
      }
    }
  };
  for (const Case& c : cases)
    for (const Type type : {Type::f32, Type::f64})
      for (const Accuracy accuracy : {Accuracy::ulp1, Accuracy::ulp4, Accuracy::rel3}) look(c, type, accuracy);
  EXPECT_GT(seen, 20u);
}

// Products bound the time of these functions: the table of roots, the short series and ranges save some.
TEST(Math, PowersOfClassUlp4TakeFewProducts) {
  struct Most {
    Function f;
    std::array<Range, 2> ranges;
    std::size_t products, insts;
  };
  const Range some{0.1, 10, false}, small{-2, 2, false}, unbounded{1, kInf, true};
  for (const Most& most : {Most{Function::Exp, {some, some}, 11, 40}, Most{Function::Exp2, {some, some}, 8, 40},
                           Most{Function::Pow, {some, small}, 27, 80}, Most{Function::Pow, {unbounded, small}, 28, 100},
                           Most{Function::Pow, {Range{2.5, 2.5, false}, kAnything}, 40, 117}}) {
    const Kernel kernel = kernel_of(most.f, Type::f64, Accuracy::ulp4, std::span(most.ranges).first(arity_of(most.f)));
    const auto is_product = [](const Inst& inst) {
      return inst.op == Op::Mul || inst.op == Op::Fma || inst.op == Op::Fms || inst.op == Op::Fnma;
    };
    EXPECT_LE(static_cast<std::size_t>(std::ranges::count_if(kernel.insts, is_product)), most.products)
        << name_of(most.f) << "\n"
        << print(kernel);
    EXPECT_LE(kernel.insts.size(), most.insts) << name_of(most.f) << "\n" << print(kernel);
  }
}

TEST(Math, SineAndCosineNeverExceedOne) {
  std::mt19937_64 random(5);
  for (const Type type : {Type::f32, Type::f64})
    for (const Accuracy accuracy : {Accuracy::ulp1, Accuracy::ulp4})
      for (const Function f : {Function::Sin, Function::Cos}) {
        // Where the true value rounds to 1: around the extrema, within the root of half an ulp.
        std::vector<Point> points(100000);
        for (Point& p : points) {
          const double extremum = (static_cast<double>(random() % 9) - 4 + (f == Function::Sin ? 0.5 : 0)) * M_PI;
          const double width = type == Type::f32 ? 0x1p-11 : 0x1p-25;
          p = {extremum + width * (static_cast<double>(random() >> 11) * 0x1p-52 - 1), 0};
        }
        const Range range{-16, 16, false};
        double greatest = 0;
        for (const double got : run(kernel_of(f, type, accuracy, std::span(&range, 1)), type, points))
          greatest = std::max(greatest, std::fabs(got));
        EXPECT_LE(greatest, 1) << math::name_of(f) << ' ' << ir::name_of(type) << ' ' << name_of(accuracy);
      }
}

struct Special {
  Function f;
  double x, y, expected;
};

TEST(Math, SpecialValuesAreThoseOfAnnexF) {
  const std::vector<Special> specials = {
#include "jit/kir/math/test_specials.def"
  };
  const auto expect = [](const Special& s, std::span<const Range> ranges) {
    for (const Type type : {Type::f32, Type::f64})
      for (const Accuracy accuracy : {Accuracy::ulp1, Accuracy::ulp4}) {
        const Point point{s.x, s.y};
        const double got =
            run(kernel_of(s.f, type, accuracy, ranges.subspan(0, arity_of(s.f))), type, std::span(&point, 1))[0];
        const double expected = type == Type::f32 ? static_cast<float>(s.expected) : s.expected;
        // StaysWithinItsStatedErrorOnEveryRange covers other values.
        const double slack = ranges[0].may_be_nan || !std::isnormal(expected) ? 0 : 0x1p-20 * std::fabs(expected);
        const bool same = std::isnan(expected) ? std::isnan(got)
                                               : (got == expected || std::fabs(got - expected) <= slack) &&
                                                     std::signbit(got) == std::signbit(expected);
        EXPECT_TRUE(same) << math::name_of(s.f) << ' ' << ir::name_of(type) << ' ' << name_of(accuracy) << " at " << s.x
                          << ", " << s.y << " on [" << ranges[0].lo << ", " << ranges[0].hi << "] got " << got
                          << " for " << expected;
      }
  };
  // Expansions for narrow ranges leave out steps that these values may have needed.
  const auto of_one_sign = [](double x, double greatest) {
    return Range{x < 0 ? -kInf : x == 0 ? 0 : 0x1p-140, x < kInf ? greatest : kInf, std::isnan(x)};
  };
  const auto around = [](double x) { return std::fabs(x) <= 5 ? Range{x - 0.5, x + 5, false} : Range{x, x, false}; };
  for (const Special& s : specials) {
    expect(s, std::array{kAnything, kAnything});
    for (const double greatest : {1e30, kInf}) expect(s, std::array{of_one_sign(s.x, greatest), kAnything});
    if (!std::isnan(s.x) && !std::isnan(s.y)) expect(s, std::array{around(s.x), around(s.y)});
  }
}

TEST(Math, RemaindersOfOperandsOfAnySizeAreExact) {
  std::vector<Point> points;
  testing::RemainderOperands operands;
  for (int i = 0; i < 400'000; ++i) {
    const auto [x, y] = operands.next();
    points.push_back({x, y});
  }
  const double corners[] = {
      0,      -0.0,   0x1p-1074,  -0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp-1023, 1,    -1,
      0x1p52, 0x1p53, 0x1p53 - 1, 0x1p1023,   3,         0x1.fffffffffffffp1023,  0.1,  0x1.8p-1070,
      kInf,   -kInf,  kNan,       1e300,      1e-300,    0x1.fffffffffffffp0,     1e17, 5e-323};
  for (const double x : corners)
    for (const double y : corners) points.push_back({x, y});
  for (const Range& y_range : {kAnything, Range{0x1p-1022, kInf, false}, Range{-0x1p-600, 0x1p1000, false}}) {
    const std::vector<double> got =
        run(kernel_of(Function::Fmod, Type::f64, Accuracy::ulp1, std::vector<Range>{kAnything, y_range}), Type::f64,
            points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto [x, y] = points[i];
      if (!(y_range.may_be_nan || (y >= y_range.lo && y <= y_range.hi))) continue;
      const double expected = std::fmod(x, y);
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(got[i])) << std::hexfloat << x << ' ' << y;
      else
        ASSERT_EQ(std::bit_cast<std::uint64_t>(expected), std::bit_cast<std::uint64_t>(got[i]))
            << std::hexfloat << x << ' ' << y;
    }
  }
}

}  // namespace
}  // namespace trident::kir::math
