// Quotients by one divisor through its reciprocal. Oracle: quotients in long double, whose exponents reach beyond those
// of all results. Which divisors are shared, and which need a power of two, is told by hand.
#include "jit/expr/shared_divisors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "jit/expr/simplify.h"
#include "jit/kir/interpreter.h"

namespace trident::expr {
namespace {

int number_of(kir::Op op, const kir::Kernel& kernel) {
  return static_cast<int>(
      std::count_if(kernel.insts.begin(), kernel.insts.end(), [&](const kir::Inst& inst) { return inst.op == op; }));
}

kir::Kernel shared_kernel(const std::string& text, bool share = true) {
  const auto e = parse_infix(text);
  EXPECT_TRUE(e.ok()) << text;
  return *lower(*e, {.policy = {}, .simplify = false, .share_divisors = share});
}

/// Numbers of any size, and those where something changes: ends of the type, of what is normal, of the powers of two.
template <class Float>
std::vector<Float> numbers() {
  constexpr int kMost = std::numeric_limits<Float>::max_exponent, kLeast = std::numeric_limits<Float>::min_exponent;
  std::vector<Float> list{0, std::numeric_limits<Float>::infinity(), std::numeric_limits<Float>::quiet_NaN()};
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> significand(1, 2);
  for (int exponent = kLeast - std::numeric_limits<Float>::digits; exponent < kMost; ++exponent) {
    const bool edge = exponent < kLeast + 2 || exponent > kMost - 4 || std::abs(std::abs(exponent) - 900) < 3;
    if (!edge && exponent % 41 != 0) continue;
    list.push_back(std::ldexp(Float{1}, exponent));
    list.push_back(std::ldexp(std::nextafter(Float{1}, Float{2}), exponent));
    list.push_back(std::ldexp(std::nextafter(Float{2}, Float{1}), exponent));
    for (int k = 0; k < 2; ++k) list.push_back(std::ldexp(static_cast<Float>(significand(random)), exponent));
  }
  for (std::size_t i = 0, n = list.size(); i < n; ++i) list.push_back(-list[i]);
  return list;
}

/// Expects two units of error at most, and the quotient's class and sign.
template <class Float>
void expect_two_units(Float x, Float divisor, Float got) {
  constexpr long double kUnit = std::numeric_limits<Float>::epsilon() / 2, kMost = std::numeric_limits<Float>::max();
  const long double want = static_cast<long double>(x) / divisor;
  const long double half_least = static_cast<long double>(std::numeric_limits<Float>::denorm_min()) / 2;
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << x << " / " << divisor << " = " << got;
    return;
  }
  EXPECT_EQ(std::signbit(got), std::signbit(want)) << x << " / " << divisor;
  if (std::fabs(want) > kMost * (1 - 2 * kUnit)) {
    EXPECT_GE(std::fabs(got), kMost * (1 - 4 * kUnit)) << x << " / " << divisor;
    return;
  }
  EXPECT_LE(std::fabs(got - want), 2 * kUnit * std::fabs(want) + half_least) << x << " / " << divisor << " = " << got;
}

/// Computes both quotients of `text` for all pairs of numbers; `divisor` gives what they are divided by.
template <class Float, class Divisor>
void expect_all_pairs(const kir::Kernel& kernel, Divisor divisor) {
  const std::vector<Float> all = numbers<Float>();
  const std::size_t n = all.size();
  std::vector<Float> x(n), y(n), first(n), second(n);
  for (const Float d : all) {
    const std::vector<Float> divisors(n, d);
    for (std::size_t i = 0; i < n; ++i) x[i] = all[i], y[i] = all[n - 1 - i];
    std::vector<const void*> in;
    for (const auto& input : kernel.inputs)
      in.push_back(input.name == "x" ? x.data() : input.name == "y" ? y.data() : divisors.data());
    void* outs[] = {first.data(), second.data()};
    kir::interpret(kernel, n, in.data(), outs, nullptr);
    for (std::size_t i = 0; i < n; ++i) {
      expect_two_units(x[i], divisor(d), first[i]);
      expect_two_units(y[i], divisor(d), second[i]);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(SharedDivisors, QuotientsAreThoseOfTheDividerButForTwoUnits) {
  const kir::Kernel any = shared_kernel("x/d, q = y/d");
  EXPECT_EQ(number_of(kir::Op::Div, any), 1);
  expect_all_pairs<double>(any, [](double d) { return d; });
  const kir::Kernel root = shared_kernel("x/sqrt(d), q = y/sqrt(d)");
  EXPECT_EQ(number_of(kir::Op::Div, root), 1);
  expect_all_pairs<double>(root, [](double d) { return std::sqrt(d); });
}

TEST(SharedDivisors, SimplifiedExpressionsShareRootsWhateverTheirRange) {
  for (const char* type : {"f64", "f32"}) {
    ParseOptions options;
    options.type = type[1] == '6' ? ir::Type::f64 : ir::Type::f32;
    const auto e = parse_infix("x/sqrt(d), q = y/sqrt(d)", options);
    const kir::Kernel kernel = *lower(*e, {.policy = {}});
    EXPECT_EQ(number_of(kir::Op::Div, kernel), 1) << type;
    if (options.type == ir::Type::f64)
      expect_all_pairs<double>(kernel, [](double d) { return std::sqrt(d); });
    else
      expect_all_pairs<float>(kernel, [](float d) { return std::sqrt(d); });
    // Two roots as one divisor stay: the first product might overflow.
    const auto two = parse_infix("x/(sqrt(d)*sqrt(e)), q = y/sqrt(d), r = x/sqrt(e)", options);
    EXPECT_EQ(number_of(kir::Op::Div, *lower(*two, {.policy = {}})), 3) << type;
  }
}

TEST(SharedDivisors, PowersOfTwoStandWhereRangesDoNotShowThatTheyAreOne) {
  struct Case {
    const char* text;
    int divisions, selections;
  };
  for (const Case& c : {Case{"x/d, q = y/d, r = 1/d", 1, 2},
                        {"x/d, q = y/e", 2, 0},
                        {"x/(1 + d*d), q = y/(1 + d*d)", 1, 1},
                        {"d in [1, 9]; x/d, q = y/d", 1, 0},
                        {"d in [0, 9]; x/d, q = y/d", 1, 1},
                        {"d in [1, 1e300]; x/d, q = y/d", 1, 1},
                        {"x/sqrt(d), q = y/sqrt(d)", 1, 0},
                        {"x/3, q = y/3", 2, 0},
                        {"d: f32; x: f32; y: f32; x/d, q = y/d", 2, 0}}) {
    const kir::Kernel kernel = shared_kernel(c.text);
    EXPECT_EQ(number_of(kir::Op::Div, kernel), c.divisions) << c.text << kir::print(kernel);
    EXPECT_EQ(number_of(kir::Op::Select, kernel), c.selections) << c.text << kir::print(kernel);
  }
}

TEST(SharedDivisors, NothingComesWhereNoDivisorIsShared) {
  EXPECT_FALSE(share_divisors(*parse_infix("x/d + y/e"), {}));
  EXPECT_EQ(kir::print(shared_kernel("x/d + y/e")), kir::print(shared_kernel("x/d + y/e", false)));
}

}  // namespace
}  // namespace trident::expr
