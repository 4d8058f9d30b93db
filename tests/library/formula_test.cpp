// Functions that the language takes from expressions, in each tier. Oracle: the interpreter of the expression's kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "jit/expr/expr.h"
#include "jit/function/call.h"
#include "jit/kir/interpreter.h"
#include "tests/library/tiers.h"
#include "tests/support/random.h"

namespace trident::test {
namespace {

using function::Argument;
using function::bits_of;
using function::Function;
using function::Library;

constexpr std::size_t kElements = 3000;

double drawn(Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kEdges[] = {0.0,        -0.0,
                               1.0,        -1.0,
                               0.5,        -0.5,
                               2.0,        -3.0,
                               1e9,        1e300,
                               -1e300,     5e-324,
                               -2.5e-310,  0x1p-54,
                               0x1p1023,   709.78,
                               -745.2,     1024,
                               -1075,      kInfinity,
                               -kInfinity, std::numeric_limits<double>::quiet_NaN()};
  const std::uint64_t bits = random(), kind = bits % 8;
  if (kind < 2) return kEdges[bits / 8 % std::size(kEdges)];
  if (kind == 2) return std::bit_cast<double>(random());
  const double unit = static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-63;
  return std::ldexp(unit, static_cast<int>(random() % 24) - 4);
}

Function checked(const std::string& text) {
  auto f = function::parse(text, "f.fn");
  EXPECT_TRUE(f.ok()) << text;
  EXPECT_TRUE(function::check(*f, Library::shipped()).ok()) << text;
  return std::move(*f);
}

std::vector<double> answers(const std::string& text, const std::vector<double>& a, const std::vector<double>& b) {
  const auto e = expr::parse_infix(text, {.variables = {{"a"}, {"b"}}});
  EXPECT_TRUE(e.ok()) << text;
  const auto kernel = expr::lower(*e, {.policy = {expr::PolicyKind::exact, 0}, .simplify = false});
  EXPECT_TRUE(kernel.ok()) << text;
  std::vector<double> results(a.size());
  const void* const in[] = {a.data(), b.data()};
  void* const out[] = {results.data()};
  kir::interpret(*kernel, a.size(), in, out, nullptr);
  return results;
}

std::vector<std::int64_t> bits_of_all(const std::vector<double>& values) {
  std::vector<std::int64_t> bits;
  for (const double v : values) bits.push_back(bits_of(v));
  return bits;
}

/// The value of a call, and that of each round of a loop, which a tier may hoist or vectorise.
void expect_same(const std::string& text) {
  SCOPED_TRACE(text);
  Random random(3);
  std::vector<double> a, b;
  for (std::size_t i = 0; i < kElements; ++i) {
    a.push_back(drawn(random));
    b.push_back(drawn(random));
  }
  const std::vector<double> expected = answers(text, a, b);
  const Function one = checked("fn f(a: f64, b: f64) -> f64 {\n  return " + text + ";\n}\n");
  for (const Tier& tier : tiers(one))
    for (std::size_t i = 0; i < kElements; ++i) {
      const std::vector<Argument> in = {{.is_real = true, .number = bits_of(a[i])},
                                        {.is_real = true, .number = bits_of(b[i])}};
      const auto got = tier.call(one, in);
      ASSERT_TRUE(got.ok() && !got->fault);
      ASSERT_TRUE(function::is_same(function::Type::f64, got->result, bits_of(expected[i])))
          << tier.name << " " << a[i] << " " << b[i] << " " << function::real_of(got->result) << " " << expected[i];
    }
  const Function loop = checked(
      "fn f(x: inout [f64], y: [f64]) {\n  for i in 0..len(x) {\n    let a = x[i];\n    let b = y[i];\n    x[i] = " +
      text + ";\n  }\n}\n");
  for (const Tier& tier : tiers(loop)) {
    const std::vector<Argument> in = {{.is_array = true, .is_real = true, .elements = bits_of_all(a)},
                                      {.is_array = true, .is_real = true, .elements = bits_of_all(b)}};
    const auto got = tier.call(loop, in);
    ASSERT_TRUE(got.ok() && !got->fault);
    for (std::size_t i = 0; i < kElements; ++i)
      ASSERT_TRUE(function::is_same(function::Type::f64, got->arguments[0].elements[i], bits_of(expected[i])))
          << tier.name << " " << a[i] << " " << b[i];
  }
}

TEST(Formulas, EachTierGivesTheBitsOfExpressions) {
  constexpr struct {
    const char* name;
    std::string_view operands;
  } kFormulas[] = {
#define X(text, operands, meaning) {text, #operands},
#include "jit/function/formulas.def"
#undef X
  };
  for (const auto& formula : kFormulas) {
    expect_same(std::string(formula.name) + (formula.operands.size() == 2 ? "(a, b)" : "(a)"));
    if (HasFatalFailure()) return;
  }
}

TEST(Formulas, PowersAreThoseOfExpressions) {
  for (const char* text : {"a ^ 2", "a ^ -3", "a ^ 100", "a ^ b", "a ^ 0.5", "2 ^ a", "-a ^ 3 * 2"})
    ASSERT_NO_FATAL_FAILURE(expect_same(text));
}

}  // namespace
}  // namespace trident::test
