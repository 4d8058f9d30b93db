// Derivatives through the spine: rules differentiate, and the plain pass where they do not. Oracle:
// difference quotients of long double arithmetic written by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "jit/kir/interpreter.h"
#include "jit/pipeline/pipeline.h"

namespace trident::pipeline {
namespace {

using Real = long double;
using Function = Real (*)(Real x, Real y);

expr::Expr parsed(const std::string& text) {
  auto e = expr::parse_infix(text, {.variables = {{"x", expr::Type::f64, expr::VariableKind::array, 0.5, 2},
                                                  {"y", expr::Type::f64, expr::VariableKind::array, 0.5, 2}}});
  EXPECT_TRUE(e.ok()) << text;
  return std::move(e).value();
}

// Makes the forms of one name, or all.
std::vector<kir::Kernel> forms_of(const expr::Expr& e, const std::string& name) {
  std::string forms;
  Options options{.target = {.isa = codegen::Isa::avx2}, .trace = {.stop_after = "forms"}};
  options.trace.dump = [&](std::string_view pass, std::string_view dumped) {
    if (pass == "forms") forms = dumped;
  };
  EXPECT_TRUE(optimise(e, options, nullptr).ok());
  std::vector<kir::Kernel> kernels;
  const std::string mark = "; " + name;
  for (std::size_t at = forms.find(mark); at != std::string::npos; at = forms.find(mark, at + 1)) {
    const std::size_t begin = forms.find('\n', at) + 1;
    auto kernel = kir::parse(forms.substr(begin, forms.find("\n; ", begin) - begin));
    EXPECT_TRUE(kernel.ok()) << forms;
    if (kernel.ok()) kernels.push_back(std::move(kernel).value());
  }
  return kernels;
}

std::vector<double> values(const kir::Kernel& kernel, double x, double y) {
  std::vector<double> results(kernel.outputs.size());
  std::vector<void*> out;
  for (double& r : results) out.push_back(&r);
  const void* in[] = {&x, &y};
  kir::interpret(kernel, 1, in, out.data(), nullptr);
  return results;
}

Real slope(Function f, Real x, Real y, bool by_y) {
  const auto central = [&](Real h) {
    return by_y ? (f(x, y + h) - f(x, y - h)) / (2 * h) : (f(x + h, y) - f(x - h, y)) / (2 * h);
  };
  const Real h = 0x1p-11L;
  return (4 * central(h / 2) - central(h)) / 3;
}

struct Case {
  const char* text;
  Function f;
};
const Case kCases[] = {
    {"x*x*y + y", [](Real x, Real y) { return x * x * y + y; }},
    {"exp(x*y)*sin(x)", [](Real x, Real y) { return std::exp(x * y) * std::sin(x); }},
    {"log(x)/(1 + y*y)", [](Real x, Real y) { return std::log(x) / (1 + y * y); }},
    {"sqrt(x*x + y*y)", [](Real x, Real y) { return std::sqrt(x * x + y * y); }},
    {"tanh(x*y + 1)", [](Real x, Real y) { return std::tanh(x * y + 1); }},
    {"pow(x, y)", [](Real x, Real y) { return std::pow(x, y); }},
    // No rule knows these: the plain pass differentiates them.
    {"fmod(x*x, 10) * y", [](Real x, Real y) { return std::fmod(x * x, 10.0L) * y; }},
    {"copysign(x*x, y) + x*y", [](Real x, Real y) { return std::copysign(x * x, y) + x * y; }},
};

TEST(Derivatives, FormsOfTheSearchAreSlopes) {
  for (const Case& c : kCases) {
    const std::string text = "f = " + std::string(c.text) + "; (f, diff(f, x), diff(f, y))";
    const std::vector<kir::Kernel> kernels = forms_of(parsed(text), "searched");
    EXPECT_FALSE(kernels.empty()) << c.text;
    for (const kir::Kernel& kernel : kernels) {
      for (const auto& [x, y] : {std::array{0.7, 1.3}, std::array{1.9, 0.6}, std::array{1.1, 1.7}}) {
        const std::vector<double> got = values(kernel, x, y);
        ASSERT_EQ(got.size(), 3u);
        EXPECT_NEAR(got[0], static_cast<double>(c.f(x, y)), 1e-12 * (1 + std::fabs(got[0]))) << c.text;
        EXPECT_NEAR(got[1], static_cast<double>(slope(c.f, x, y, false)), 1e-9 * (1 + std::fabs(got[1]))) << c.text;
        EXPECT_NEAR(got[2], static_cast<double>(slope(c.f, x, y, true)), 1e-9 * (1 + std::fabs(got[2]))) << c.text;
      }
    }
  }
}

// The search starts from the derivative, not from the plain pass's result.
TEST(Derivatives, TheRulesDifferentiate) {
  int others = 0;
  for (const Case& c : kCases) {
    const expr::Expr submitted = parsed("diff(" + std::string(c.text) + ", x)");
    const auto plain = expr::eliminate_derivatives(submitted);
    ASSERT_TRUE(plain.ok());
    std::string by_rules, by_pass;
    for (const kir::Kernel& kernel : forms_of(submitted, "searched")) by_rules += kir::print(kernel);
    for (const kir::Kernel& kernel : forms_of(*plain, "searched")) by_pass += kir::print(kernel);
    others += by_rules != by_pass ? 1 : 0;
  }
  EXPECT_GT(others, 0);
}

// One of three exponentials is left, and two products are added.
TEST(Derivatives, ValueAndSlopesShareTheirWork) {
  expr::LowerOptions how;
  how.accuracy = kir::math::Accuracy::ulp4;
  const auto one = expr::lower(parsed("exp(x*y)"), how);
  ASSERT_TRUE(one.ok());
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const kir::Kernel& kernel : forms_of(parsed("f = exp(x*y); (f, diff(f, x), diff(f, y))"), ""))
    least = std::min(least, kernel.insts.size());
  EXPECT_LE(least, one->insts.size() + 2);
}

}  // namespace
}  // namespace trident::pipeline
