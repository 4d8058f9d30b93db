// Derivatives of single operations. Oracle: difference quotients of libm in long double (Richardson's extrapolation of
// the central one), which know nothing of rules. Compositions are tested in tests/differential.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"

namespace trident::expr {
namespace {

using Real = long double;

double value_of_text(const std::string& text, double x, double y) {
  const auto parsed = parse_infix(text);
  EXPECT_TRUE(parsed.ok()) << text;
  const auto plain = eliminate_derivatives(*parsed);
  EXPECT_TRUE(plain.ok()) << text;
  const auto kernel = lower(*plain, {});
  EXPECT_TRUE(kernel.ok()) << text;
  std::vector<const void*> in;
  for (const Variable& v : plain->variables) in.push_back(v.name == "x" ? &x : &y);
  double out = 0;
  void* outs[] = {&out};
  kir::interpret(*kernel, 1, in.data(), outs, nullptr);
  return out;
}

Real quotient(const std::function<Real(Real)>& f, Real at) {
  const auto central = [&](Real h) { return (f(at + h) - f(at - h)) / (2 * h); };
  const Real h = 0x1p-11L;
  return (4 * central(h / 2) - central(h)) / 3;
}

TEST(Derivative, OfEveryFunctionOfOneArgument) {
  struct Row {
    const char* text;
    std::function<Real(Real)> f;
    double from, to;
  };
  const Row rows[] = {
      {"sqrt(x)", [](Real x) { return std::sqrt(x); }, 0.3, 4},
      {"cbrt(x)", [](Real x) { return std::cbrt(x); }, 0.3, 4},
      {"rsqrt(x)", [](Real x) { return 1 / std::sqrt(x); }, 0.3, 4},
      {"recip(x)", [](Real x) { return 1 / x; }, 0.3, 4},
      {"abs(x)", [](Real x) { return std::fabs(x); }, -4, -0.3},
      {"exp(x)", [](Real x) { return std::exp(x); }, -2, 2},
      {"exp2(x)", [](Real x) { return std::exp2(x); }, -2, 2},
      {"expm1(x)", [](Real x) { return std::expm1(x); }, -2, 2},
      {"log(x)", [](Real x) { return std::log(x); }, 0.3, 4},
      {"log2(x)", [](Real x) { return std::log2(x); }, 0.3, 4},
      {"log10(x)", [](Real x) { return std::log10(x); }, 0.3, 4},
      {"log1p(x)", [](Real x) { return std::log1p(x); }, -0.5, 4},
      {"sin(x)", [](Real x) { return std::sin(x); }, -4, 4},
      {"cos(x)", [](Real x) { return std::cos(x); }, -4, 4},
      {"tan(x)", [](Real x) { return std::tan(x); }, -1.2, 1.2},
      {"asin(x)", [](Real x) { return std::asin(x); }, -0.8, 0.8},
      {"acos(x)", [](Real x) { return std::acos(x); }, -0.8, 0.8},
      {"atan(x)", [](Real x) { return std::atan(x); }, -4, 4},
      {"sinh(x)", [](Real x) { return std::sinh(x); }, -2, 2},
      {"cosh(x)", [](Real x) { return std::cosh(x); }, -2, 2},
      {"tanh(x)", [](Real x) { return std::tanh(x); }, -2, 2},
      {"asinh(x)", [](Real x) { return std::asinh(x); }, -3, 3},
      {"acosh(x)", [](Real x) { return std::acosh(x); }, 1.3, 4},
      {"atanh(x)", [](Real x) { return std::atanh(x); }, -0.8, 0.8},
      {"erf(x)", [](Real x) { return std::erf(x); }, -2, 2},
      {"erfc(x)", [](Real x) { return std::erfc(x); }, -2, 2},
      {"x^5", [](Real x) { return std::pow(x, 5.0L); }, -2, 2},
      {"x^(-3)", [](Real x) { return std::pow(x, -3.0L); }, 0.4, 2},
      {"-x", [](Real x) { return -x; }, -2, 2},
  };
  for (const Row& row : rows) {
    for (int i = 0; i <= 10; ++i) {
      const double x = row.from + (row.to - row.from) * i / 10;
      const Real right = quotient(row.f, x);
      const double ours = value_of_text("diff(" + std::string(row.text) + ", x)", x, 0);
      EXPECT_NEAR(static_cast<double>(right), ours, 1e-7 * (1 + std::fabs(static_cast<double>(right))))
          << row.text << " at " << x;
    }
  }
}

TEST(Derivative, OfEveryFunctionOfTwoArguments) {
  struct Row {
    const char* text;
    std::function<Real(Real, Real)> f;
  };
  const Row rows[] = {
      {"x + y", [](Real x, Real y) { return x + y; }},
      {"x - y", [](Real x, Real y) { return x - y; }},
      {"x * y", [](Real x, Real y) { return x * y; }},
      {"x / y", [](Real x, Real y) { return x / y; }},
      {"1 / (x + y)", [](Real x, Real y) { return 1 / (x + y); }},
      {"x*y / (x + y*y)", [](Real x, Real y) { return x * y / (x + y * y); }},
      {"exp(y / x)", [](Real x, Real y) { return std::exp(y / x); }},
      {"2*y - (x + 3)/y", [](Real x, Real y) { return 2 * y - (x + 3) / y; }},
      {"pow(x, y)", [](Real x, Real y) { return std::pow(x, y); }},
      {"hypot(x, y)", [](Real x, Real y) { return std::hypot(x, y); }},
      {"atan2(x, y)", [](Real x, Real y) { return std::atan2(x, y); }},
      {"min(x, y)", [](Real x, Real y) { return std::fmin(x, y); }},
      {"max(x, y)", [](Real x, Real y) { return std::fmax(x, y); }},
      {"fma(x, y, x)", [](Real x, Real y) { return x * y + x; }},
      {"x < y ? x*x : y*x*x", [](Real x, Real y) { return x < y ? x * x : y * x * x; }},
  };
  for (const Row& row : rows) {
    for (const double x : {0.4, 1.3, 2.9}) {
      for (const double y : {0.7, 1.9, 3.1}) {
        const Real by_x = quotient([&](Real t) { return row.f(t, y); }, x);
        const Real by_y = quotient([&](Real t) { return row.f(x, t); }, y);
        const double ours_x = value_of_text("diff(" + std::string(row.text) + ", x)", x, y);
        const double ours_y = value_of_text("diff(" + std::string(row.text) + ", y)", x, y);
        EXPECT_NEAR(static_cast<double>(by_x), ours_x, 1e-7 * (1 + std::fabs(ours_x))) << row.text << " by x";
        EXPECT_NEAR(static_cast<double>(by_y), ours_y, 1e-7 * (1 + std::fabs(ours_y))) << row.text << " by y";
      }
    }
  }
}

// For two variables the pass goes backwards; a quotient whose value is an output too has another form.
TEST(Derivative, OfQuotientsByTwoVariablesAndBesideTheirValues) {
  struct Row {
    const char* text;
    std::function<Real(Real, Real)> f;
  };
  for (const Row& row : {Row{"x / y", [](Real x, Real y) { return x / y; }},
                         Row{"1 / (x*y)", [](Real x, Real y) { return 1 / (x * y); }},
                         Row{"sin(x)*y / (x + y*y)", [](Real x, Real y) { return std::sin(x) * y / (x + y * y); }},
                         Row{"exp(y / x)", [](Real x, Real y) { return std::exp(y / x); }}}) {
    for (const double x : {0.4, 1.3, 2.9}) {
      for (const double y : {0.7, 1.9, 3.1}) {
        const Real slopes =
            quotient([&](Real t) { return row.f(t, y); }, x) + 10 * quotient([&](Real t) { return row.f(x, t); }, y);
        const std::string both = "diff(q, x) + 10*diff(q, y)", q = std::string("q = ") + row.text + "; ";
        const auto near = [&](Real right) { return 1e-7 * (1 + std::fabs(static_cast<double>(right))); };
        EXPECT_NEAR(static_cast<double>(slopes), value_of_text(q + both, x, y), near(slopes)) << row.text;
        const Real more = slopes + 100 * row.f(x, y);
        EXPECT_NEAR(static_cast<double>(more), value_of_text(q + both + " + 100*q", x, y), near(more)) << row.text;
      }
    }
  }
}

}  // namespace
}  // namespace trident::expr
