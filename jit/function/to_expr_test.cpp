// Functions as expressions. Oracle: the interpreter of the function's region.
#include "jit/function/to_expr.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "jit/function/call.h"
#include "jit/kir/interpreter.h"

namespace trident::function {
namespace {

constexpr std::size_t kElements = 600;

std::int64_t drawn(Type type, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  constexpr double kReals[] = {0.0, -0.0, 0.5, -1.5, 2.5, 1e300, -1e300, 5e-324, 0x1.fffffffffffffp-2, 0x1p63};
  if (type == Type::f64 && bits % 8 == 0) return bits_of(std::numeric_limits<double>::quiet_NaN());
  if (type == Type::f64 && bits % 8 == 1) return bits_of(std::numeric_limits<double>::infinity());
  if (type == Type::f64 && bits % 8 < 5) return bits_of(kReals[bits / 8 % std::size(kReals)]);
  if (type == Type::f64) return bits_of(static_cast<double>(static_cast<std::int64_t>(bits)) / 1024);
  return bits % 3 == 0 ? static_cast<std::int64_t>(bits) >> bits / 4 % 64 : static_cast<std::int64_t>(bits % 21) - 10;
}

void expect_same(const Function& f, const Library& library) {
  const auto lowered = lower(f, library);
  ASSERT_TRUE(lowered.ok());
  const auto e = to_expr(f, *lowered);
  ASSERT_TRUE(e) << f.name;
  std::mt19937_64 random(1);
  std::vector<std::vector<std::int64_t>> columns;
  std::vector<const void*> in;
  for (const Parameter& p : f.parameters) {
    columns.emplace_back();
    for (std::size_t i = 0; i < kElements; ++i) columns.back().push_back(drawn(p.type, random));
  }
  for (const auto& column : columns) in.push_back(column.data());
  for (const bool simplify : {false, true}) {
    const auto kernel = expr::lower(*e, {.policy = {expr::PolicyKind::exact, 0}, .simplify = simplify});
    ASSERT_TRUE(kernel.ok()) << f.name << ": " << kernel.error().message;
    std::vector<std::int64_t> results(kElements);
    void* const out[] = {results.data()};
    kir::interpret(*kernel, kElements, in.data(), out, nullptr);
    for (std::size_t i = 0; i < kElements; ++i) {
      std::vector<Argument> arguments;
      for (std::size_t p = 0; p < columns.size(); ++p)
        arguments.push_back({.is_real = f.parameters[p].type == Type::f64, .number = columns[p][i]});
      const auto expected = call(f, *lowered, arguments);
      ASSERT_TRUE(expected.ok() && !expected->fault);
      ASSERT_TRUE(is_same(f.result, results[i], expected->result))
          << f.name << " of " << print(arguments[0]) << " .. is " << expected->result << ", not " << results[i];
    }
  }
}

TEST(FunctionToExpr, LibraryFunctionsGiveTheSame) {
  std::set<std::string> found;
  const Library& library = Library::shipped();
  for (const Function* f : library.list()) {
    const auto lowered = lower(*f, library);
    ASSERT_TRUE(lowered.ok());
    if (!to_expr(*f, *lowered) || f->parameters.empty()) continue;
    found.insert(f->name);
    ASSERT_NO_FATAL_FAILURE(expect_same(*f, library));
  }
  for (const char* name : {"max", "sign", "clamp", "abs_i64", "is_even", "fadd", "fmin", "fround", "lerp", "rotr"})
    EXPECT_EQ(found.count(name), 1u) << name;
  for (const char* name : {"gcd", "div_ceil", "strlen", "factorial"}) EXPECT_EQ(found.count(name), 0u) << name;
}

std::optional<Function> checked(const std::string& text) {
  auto f = parse(text, "f.fn");
  if (!f.ok() || !check(*f, Library::shipped()).ok()) return {};
  return std::move(*f);
}

TEST(FunctionToExpr, PathsMeetInSelects) {
  for (const char* text :
       {"fn f(a: i64, b: i64) -> i64 {\n  let x = a;\n  if a < b {\n    x = b * 3;\n    if x == 9 {\n      return -1;\n"
        "    }\n  } else {\n    if ult(a, b) {\n      x = x ^^ b;\n    }\n  }\n  return x + a;\n}",
        "fn f(a: f64, b: f64) -> bool {\n  if a < b || b != b {\n    return max(a, b) > 1.0 && !(a == b);\n  }\n"
        "  return min(a, b) < fma(a, b, -0.5);\n}",
        "fn f(a: f64, n: i64) -> f64 {\n  let k = n >>> (a < 0.0 ? 1 : 2) << 3;\n  return f64(k) * sign(a) + "
        "rint(a);\n}",
        "fn f(a: f64) -> i64 {\n  return a < 0.0 ? i64(ceil(a)) : i64(sqrt(a));\n}",
        "fn f(a: f64, b: f64) -> f64 {\n  if isnan(b) {\n    return exp(a) ^ 3;\n  }\n  let s = sin(a);\n"
        "  return atan2(s * s, pow(b, s)) + remainder(a, pi) + clamp(b, -1, select(a > 2, a, 1));\n}",
        "fn f(a: i64, b: i64) -> i64 {\n  return a ^ 5 - b ^ 2;\n}"}) {
    const auto f = checked(text);
    ASSERT_TRUE(f) << text;
    ASSERT_NO_FATAL_FAILURE(expect_same(*f, Library::shipped()));
  }
}

/// x ^ 1 is x, without an instruction.
TEST(FunctionToExpr, FirstPowersAreTheirBases) {
  for (const char* text : {"fn f(a: i64) -> i64 {\n  return a ^ 1;\n}", "fn f(a: f64) -> f64 {\n  return a ^ 1;\n}",
                           "fn f(a: i64) -> i64 {\n  return a + 2 ^ 1;\n}",
                           "fn f(a: f64, b: f64) -> f64 {\n  return exp(a ^ 1) ^ 1 + (b ^ 1) ^ 3;\n}"}) {
    const auto f = checked(text);
    ASSERT_TRUE(f) << text;
    ASSERT_NO_FATAL_FAILURE(expect_same(*f, Library::shipped()));
  }
}

TEST(FunctionToExpr, LeavesFunctionsThatExpressionsCannotSay) {
  for (const char* text : {"fn f(a: i64) -> i64 {\n  while a > 0 {\n    a = a - 1;\n  }\n  return a;\n}",
                           "fn f(a: [i64]) -> i64 {\n  return len(a);\n}", "fn f(a: u8) -> i64 {\n  return a;\n}",
                           "@param a in [0, 5]: a number\nfn f(a: i64) -> i64 {\n  return a;\n}",
                           "fn f(a: i64, b: i64) -> i64 {\n  return b == 0 ? 0 : a / b;\n}",
                           "fn f(a: f64) -> i64 {\n  return to_bits(a);\n}"}) {
    const auto f = checked(text);
    ASSERT_TRUE(f) << text;
    const auto lowered = lower(*f, Library::shipped());
    ASSERT_TRUE(lowered.ok());
    EXPECT_FALSE(to_expr(*f, *lowered)) << text;
  }
}

}  // namespace
}  // namespace trident::function
