// Every function at every type, class and a set of ranges against MPFR, and the special values of C99 Annex F.
#include "jit/kir/math/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "jit/kir/interpreter.h"
#include "jit/kir/math/mpfr_oracle.h"

namespace trident::kir::math {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const Range kAnything{};

struct Point {
  double x, y;
};

std::string name_of(Accuracy a) {
  return a == Accuracy::ulp1 ? "ulp1" : a == Accuracy::ulp4 ? "ulp4" : "rel3";
}

/// The kernel "out = f(x[, y])" with the ranges as promises.
Kernel kernel_of(Function f, Type type, Accuracy accuracy, std::span<const Range> ranges) {
  Kernel kernel;
  Builder builder(kernel);
  std::vector<Value> args;
  for (std::uint32_t i = 0; i < arity_of(f); ++i) {
    kernel.inputs.push_back({i == 0 ? "x" : "y", type});
    args.push_back(builder.input(i));
  }
  const Value result = emit(builder, f, args, ranges, accuracy);
  kernel.outputs.push_back({"out", result, OutputKind::array});
  return kernel;
}

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

/// Maps the integers to the floats of the type in ascending order, so that neighbours are neighbours.
double from_order(std::int64_t order, Type type) {
  if (type == Type::f32) {
    const auto magnitude = static_cast<std::uint32_t>(order < 0 ? -order : order);
    return std::copysign(std::bit_cast<float>(magnitude), order < 0 ? -1.0 : 1.0);
  }
  const auto magnitude = static_cast<std::uint64_t>(order < 0 ? -order : order);
  return std::copysign(std::bit_cast<double>(magnitude), order < 0 ? -1.0 : 1.0);
}
std::int64_t order_of(double x, Type type) {
  const double a = std::fabs(x);
  const auto magnitude = type == Type::f32 ? std::int64_t{std::bit_cast<std::int32_t>(static_cast<float>(a))}
                                           : std::bit_cast<std::int64_t>(a);
  return std::signbit(x) ? -magnitude : magnitude;
}

/// Points of a range: its ends and their neighbours, halves uniform by value and uniform by representation.
class Sampler {
 public:
  explicit Sampler(Type type) : type_(type) {}

  double pick(const Range& range) {
    const double greatest = type_ == Type::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const double lo = round_into(std::max(range.lo, -greatest), range),
                 hi = round_into(std::min(range.hi, greatest), range);
    const std::int64_t first = order_of(lo, type_), last = order_of(hi, type_);
    switch (random_() % 16) {
      case 0: return from_order(std::min(last, first + static_cast<std::int64_t>(random_() % 4)), type_);
      case 1: return from_order(std::max(first, last - static_cast<std::int64_t>(random_() % 4)), type_);
      case 2: return first <= 0 && last >= 0 ? (random_() % 2 != 0 && first < 0 ? -0.0 : 0.0) : lo;
      case 3: return near_one(range);
      default: break;
    }
    const double u = static_cast<double>(random_() >> 11) * 0x1p-53;
    if (random_() % 2 != 0 && hi - lo < kInf) return round_into(lo + (hi - lo) * u, range);
    const auto start = static_cast<std::uint64_t>(first);
    const auto span = static_cast<unsigned __int128>(static_cast<std::uint64_t>(last) - start) + 1;
    return from_order(static_cast<std::int64_t>(start + static_cast<std::uint64_t>((span * random_()) >> 64)), type_);
  }

 private:
  double round_into(double x, const Range& range) const {
    const double rounded = type_ == Type::f32 ? static_cast<float>(x) : x;
    if (rounded < range.lo) return from_order(order_of(rounded, type_) + 1, type_);
    if (rounded > range.hi) return from_order(order_of(rounded, type_) - 1, type_);
    return rounded;
  }
  /// Near a multiple of 1/4 pi, of 1/2, or near a power of two: where reductions change their minds.
  double near_one(const Range& range) {
    const double k = static_cast<double>(random_() % 16) - 7;
    const double centres[] = {k * 0.7853981633974483, k * 0.5, std::ldexp(1.0, static_cast<int>(k)),
                              k * 0.34657359027997264};
    const double x = centres[random_() % 4];
    if (!(x >= range.lo && x <= range.hi)) return pick({range.lo, range.hi, false});
    const double nearby = from_order(order_of(x, type_) + static_cast<std::int64_t>(random_() % 9) - 4, type_);
    return std::clamp(nearby, range.lo, range.hi) == nearby ? nearby : round_into(x, range);
  }

  Type type_;
  std::mt19937_64 random_{20240607};
};

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

struct Special {
  Function f;
  double x, y, expected;
};

TEST(Math, SpecialValuesAreThoseOfAnnexF) {
  const std::vector<Special> specials = {
#include "jit/kir/math/test_specials.def"
  };
  const Range ranges[] = {kAnything, kAnything};
  for (const Special& s : specials)
    for (const Type type : {Type::f32, Type::f64})
      for (const Accuracy accuracy : {Accuracy::ulp1, Accuracy::ulp4}) {
        const Point point{s.x, s.y};
        const double got =
            run(kernel_of(s.f, type, accuracy, std::span(ranges, arity_of(s.f))), type, std::span(&point, 1))[0];
        const double expected = type == Type::f32 ? static_cast<float>(s.expected) : s.expected;
        const bool same =
            std::isnan(expected) ? std::isnan(got) : got == expected && std::signbit(got) == std::signbit(expected);
        EXPECT_TRUE(same) << math::name_of(s.f) << ' ' << ir::name_of(type) << ' ' << name_of(accuracy) << " at " << s.x
                          << ", " << s.y << " got " << got << " for " << expected;
      }
}

}  // namespace
}  // namespace trident::kir::math
