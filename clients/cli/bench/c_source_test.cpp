// The C text is compiled by a real compiler without fast-math and must give what libm gives for the formula written
// out in this file.
#include "clients/cli/bench/c_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "clients/cli/bench/compilers.h"
#include "runtime/os/process.h"
#include "schemas/kernel_image.h"

namespace trident::cli {
namespace {

constexpr std::size_t kCount = 37;

struct Case {
  const char* text;
  std::function<double(double, double)> expected;
};

/// Compiles `e` at -O1 and returns the open object.
os::SharedObject compile(const expr::Expr& e) {
  static const Compiler plain{"test", "cc", {"-O1", "-ffp-contract=off"}, false, "test"};
  std::vector<Build> builds = {{c_source(e), &plain, "", "", false}};
  const auto built = build_all(builds, 1, [](std::size_t) {});
  EXPECT_TRUE(built.ok()) << built.error().message;
  EXPECT_EQ(builds[0].error, "") << builds[0].source;
  auto object = os::SharedObject::open(builds[0].object);
  EXPECT_TRUE(object.ok()) << object.error().message;
  return std::move(*object);
}

trident_entry entry_of(const os::SharedObject& object) {
  return reinterpret_cast<trident_entry>(object.symbol(kContestantSymbol).value());
}

expr::Expr parsed(const char* text, ir::Type type, std::vector<expr::Variable> variables = {}) {
  expr::ParseOptions options;
  options.type = type;
  options.variables = std::move(variables);
  auto e = expr::parse(text, options);
  EXPECT_TRUE(e.ok()) << e.error().message;
  return std::move(*e);
}

/// Inputs that stay inside the domain of every function below.
struct Points {
  std::array<double, kCount> x, y;
  Points() {
    for (std::size_t i = 0; i < kCount; ++i) {
      x[i] = -0.95 + 1.9 * static_cast<double>(i) / kCount;
      y[i] = 0.3 + 0.07 * static_cast<double>(i * i % kCount);
    }
  }
};

TEST(CSource, FormulasInBothTypes) {
  const std::vector<Case> cases = {
      {"x + y * 3 - 0.25", [](double x, double y) { return x + y * 3 - 0.25; }},
      {"sqrt(y) / (1 + x*x)", [](double x, double y) { return std::sqrt(y) / (1 + x * x); }},
      {"rsqrt(y) + recip(y)", [](double, double y) { return 1 / std::sqrt(y) + 1 / y; }},
      {"x^11 + y^-3 + x^0", [](double x, double y) { return std::pow(x, 11) + std::pow(y, -3) + 1; }},
      {"pow(y, 1.7)", [](double, double y) { return std::pow(y, 1.7); }},
      {"min(x, y) + max(x, 0.1) + abs(x)",
       [](double x, double y) { return std::fmin(x, y) + std::fmax(x, 0.1) + std::fabs(x); }},
      {"select(x < y, sin(x), cos(y))", [](double x, double y) { return x < y ? std::sin(x) : std::cos(y); }},
      {"select(x < 0.2 && !(y > 1), 1, 2)", [](double x, double y) { return x < 0.2 && !(y > 1) ? 1. : 2.; }},
      {"exp(x) + exp2(x) + expm1(x)", [](double x, double) { return std::exp(x) + std::exp2(x) + std::expm1(x); }},
      {"log(y) + log2(y) + log10(y) + log1p(y)",
       [](double, double y) { return std::log(y) + std::log2(y) + std::log10(y) + std::log1p(y); }},
      {"tan(x) + asin(x) + acos(x) + atan(x) + atan2(x, y)",
       [](double x, double y) { return std::tan(x) + std::asin(x) + std::acos(x) + std::atan(x) + std::atan2(x, y); }},
      {"sinh(x) + cosh(x) + tanh(x)", [](double x, double) { return std::sinh(x) + std::cosh(x) + std::tanh(x); }},
      {"asinh(x) + acosh(y + 1) + atanh(x)",
       [](double x, double y) { return std::asinh(x) + std::acosh(y + 1) + std::atanh(x); }},
      {"erf(x) + erfc(x) + cbrt(x) + hypot(x, y)",
       [](double x, double y) { return std::erf(x) + std::erfc(x) + std::cbrt(x) + std::hypot(x, y); }},
      {"floor(y) + ceil(x) + round(y) + rint(y) + trunc(x)",
       [](double x, double y) {
         return std::floor(y) + std::ceil(x) + std::round(y) + std::nearbyint(y) + std::trunc(x);
       }},
      {"fmod(y, 0.7) + copysign(y, x) + sign(x)",
       [](double x, double y) {
         return std::fmod(y, 0.7) + std::copysign(y, x) + (x > 0 ? 1 : x < 0 ? -1 : 0);
       }},
      {"fma(x, y, 2)", [](double x, double y) { return std::fma(x, y, 2.0); }},
  };
  const Points p;
  for (const Case& c : cases) {
    // One formula after the other in both types, over both variables in a fixed order.
    for (const ir::Type type : {ir::Type::f64, ir::Type::f32}) {
      std::vector<expr::Variable> variables(2);
      variables[0].name = "x", variables[1].name = "y";
      variables[0].type = variables[1].type = type;
      const auto object = compile(parsed(c.text, type, variables));
      std::array<float, kCount> xf, yf, rf{};
      for (std::size_t i = 0; i < kCount; ++i) xf[i] = static_cast<float>(p.x[i]), yf[i] = static_cast<float>(p.y[i]);
      std::array<double, kCount> r{};
      const bool wide = type == ir::Type::f64;
      const void* in[] = {wide ? static_cast<const void*>(p.x.data()) : xf.data(),
                          wide ? static_cast<const void*>(p.y.data()) : yf.data()};
      void* out[] = {wide ? static_cast<void*>(r.data()) : rf.data()};
      entry_of(object)(nullptr, kCount, in, out, nullptr);
      for (std::size_t i = 0; i < kCount; ++i) {
        const double expected = wide ? c.expected(p.x[i], p.y[i]) : c.expected(xf[i], yf[i]);
        const double got = wide ? r[i] : static_cast<double>(rf[i]);
        EXPECT_NEAR(got, expected, (wide ? 1e-13 : 2e-5) * (1 + std::fabs(expected))) << c.text << " at " << i;
      }
    }
  }
}

TEST(CSource, ReductionsScalarsAndSeveralOutputs) {
  std::vector<expr::Variable> variables(3);
  variables[0].name = "a", variables[1].name = "x", variables[2].name = "y";
  variables[0].kind = expr::VariableKind::scalar;
  const auto object =
      compile(parsed("(a * x, sum(x * y) / 2, mean(x), dot(x, y), maxof(y), minof(x), prod(1 + x), sum(x) / (2 * a))",
                     ir::Type::f64, variables));
  const Points p;
  const double a = 2.5;
  std::uint64_t param = 0;
  std::memcpy(&param, &a, sizeof a);
  std::array<double, kCount> scaled{};
  std::array<double, 7> totals{};
  const void* in[] = {p.x.data(), p.y.data()};
  void* out[] = {scaled.data(), &totals[0], &totals[1], &totals[2], &totals[3], &totals[4], &totals[5], &totals[6]};
  entry_of(object)(nullptr, kCount, in, out, &param);
  double dot = 0, sum = 0, product = 1, greatest = -INFINITY, least = INFINITY;
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(scaled[i], a * p.x[i]);
    dot += p.x[i] * p.y[i], sum += p.x[i], product *= 1 + p.x[i];
    greatest = std::fmax(greatest, p.y[i]), least = std::fmin(least, p.x[i]);
  }
  EXPECT_NEAR(totals[0], dot / 2, 1e-13);
  EXPECT_NEAR(totals[1], sum / kCount, 1e-13);
  EXPECT_NEAR(totals[2], dot, 1e-13);
  EXPECT_EQ(totals[3], greatest);
  EXPECT_EQ(totals[4], least);
  EXPECT_NEAR(totals[5] / product, 1, 1e-13);
  EXPECT_NEAR(totals[6], sum / (2 * a), 1e-13);  // what is known before the loop is used behind it
}

TEST(CSource, SeveralLoopsWhereReductionsMeetElements) {
  const auto object = compile(parsed("(x - mean(x), argmax(y), argmin(x * y), var(y, 1))", ir::Type::f64));
  const Points p;
  std::array<double, kCount> off{};
  std::int64_t greatest = 0, least = 0;
  double variance = 0;
  const void* in[] = {p.x.data(), p.y.data()};
  void* out[] = {off.data(), &greatest, &least, &variance};
  entry_of(object)(nullptr, kCount, in, out, nullptr);
  double mean_x = 0, mean_y = 0, squares = 0;
  std::size_t g = 0, l = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    mean_x += p.x[i] / kCount, mean_y += p.y[i] / kCount;
    if (p.y[i] > p.y[g]) g = i;
    if (p.x[i] * p.y[i] < p.x[l] * p.y[l]) l = i;
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    squares += (p.y[i] - mean_y) * (p.y[i] - mean_y);
    EXPECT_NEAR(off[i], p.x[i] - mean_x, 1e-14);
  }
  EXPECT_EQ(greatest, static_cast<std::int64_t>(g));
  EXPECT_EQ(least, static_cast<std::int64_t>(l));
  EXPECT_NEAR(variance, squares / (kCount - 1), 1e-13);
}

TEST(CSource, IntegersWrapAndShift) {
  std::vector<expr::Variable> variables(2);
  variables[0].name = "a", variables[1].name = "b";
  variables[0].type = variables[1].type = ir::Type::i32;
  const auto object =
      compile(parsed("((a * b + a) ^ 2, a << 3, -a, abs(b), min(a, b), prod(a))", ir::Type::f64, variables));
  const std::array<std::int32_t, 4> a = {INT32_MIN, -1, 123456789, INT32_MAX}, b = {INT32_MIN, 7, -5, 2};
  std::array<std::array<std::int32_t, 4>, 5> r{};
  std::int32_t product = 0;
  const void* in[] = {a.data(), b.data()};
  void* out[] = {r[0].data(), r[1].data(), r[2].data(), r[3].data(), r[4].data(), &product};
  entry_of(object)(nullptr, 4, in, out, nullptr);
  std::uint32_t wrapped = 1;
  for (const std::int32_t x : a) wrapped *= static_cast<std::uint32_t>(x);
  EXPECT_EQ(static_cast<std::uint32_t>(product), wrapped);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint32_t ua = static_cast<std::uint32_t>(a[i]), ub = static_cast<std::uint32_t>(b[i]);
    const std::uint32_t t = ua * ub + ua;
    EXPECT_EQ(static_cast<std::uint32_t>(r[0][i]), t * t);
    EXPECT_EQ(static_cast<std::uint32_t>(r[1][i]), ua << 3);
    EXPECT_EQ(static_cast<std::uint32_t>(r[2][i]), 0u - ua);
    EXPECT_EQ(static_cast<std::uint32_t>(r[3][i]), b[i] < 0 ? 0u - ub : ub);
    EXPECT_EQ(r[4][i], std::min(a[i], b[i]));
  }
}

TEST(CSource, BrokenSourceIsReportedAndNotCached) {
  static const Compiler plain{"test", "cc", {"-O1"}, false, "test"};
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::vector<Build> builds = {{"this is not C", &plain, "", "", false}};
    ASSERT_TRUE(build_all(builds, 1, [](std::size_t) {}).ok());
    EXPECT_TRUE(builds[0].object.empty());
    EXPECT_NE(builds[0].error.find("error"), std::string::npos) << builds[0].error;
  }
}

}  // namespace
}  // namespace trident::cli
