// The language of functions. Oracle: answers worked out by hand, and C++ arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "jit/function/call.h"
#include "jit/region/forward.h"

namespace trident::function {
namespace {

Result<Library> library_of(const std::vector<std::string>& texts) {
  std::vector<Library::Text> list;
  for (const std::string& text : texts) {
    const std::size_t begin = text.find("fn ") + 3;
    list.push_back({text.substr(begin, text.find('(', begin) - begin) + ".fn", text});
  }
  return Library::make(list, &Library::shipped());
}

/// Calls the function of the first text; the others are there to be called.
Returned called(const std::vector<std::string>& texts, const std::vector<Argument>& arguments,
                std::uint64_t budget = 1000) {
  const auto library = library_of(texts);
  EXPECT_TRUE(library.ok()) << library.error().message;
  const std::size_t begin = texts[0].find("fn ") + 3;
  const Function& f = *library->find(texts[0].substr(begin, texts[0].find('(', begin) - begin));
  const auto lowered = lower(f, *library);
  EXPECT_TRUE(lowered.ok()) << lowered.error().message;
  auto returned = call(f, *lowered, arguments, budget);
  EXPECT_TRUE(returned.ok()) << returned.error().message;
  return std::move(returned).value();
}

Argument number(std::int64_t value) {
  return {.number = value};
}
Argument list(std::vector<std::int64_t> elements) {
  return {.is_array = true, .elements = std::move(elements)};
}

std::string fault_of(const std::vector<std::string>& texts, const std::vector<Argument>& arguments,
                     std::uint64_t budget = 1000) {
  const Returned returned = called(texts, arguments, budget);
  return returned.fault ? print(*returned.fault) : "none";
}

std::string refusal(const std::vector<std::string>& texts) {
  const auto library = library_of(texts);
  return library.ok() ? "none" : library.error().message;
}

TEST(Functions, OperatorsBindAsInExpressions) {
  const auto value = [](const std::string& e) { return called({"fn f() -> i64 { return " + e + "; }"}, {}).result; };
  EXPECT_EQ(value("2 + 3 * 4"), 14);
  EXPECT_EQ(value("2 - 3 - 4"), -5);
  EXPECT_EQ(value("1 << 2 + 1"), 8);
  EXPECT_EQ(value("6 & 3 ^^ 1"), 3);
  EXPECT_EQ(value("8 | 1 << 1"), 10);
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("-7 % 2"), -1);
  EXPECT_EQ(value("-1 >>> 60"), 15);
  EXPECT_EQ(value("-16 >> 2"), -4);
  EXPECT_EQ(value("~5"), -6);
  EXPECT_EQ(value("1 < 2 && !(3 < 2) ? 7 : 8"), 7);
  EXPECT_EQ(value("false ? 1 : true ? 2 : 3"), 2);
  EXPECT_EQ(value("i64(2 == 2) + i64(true == false)"), 1);
  EXPECT_EQ(value("9223372036854775807 + 1"), INT64_MIN);
  EXPECT_EQ(value("-9223372036854775808 / -1"), INT64_MIN);
  EXPECT_EQ(value("-9223372036854775808 % -1"), 0);
  EXPECT_EQ(value("udiv(-1, 2)"), INT64_MAX);
  EXPECT_EQ(value("urem(-1, 10)"), 5);
  EXPECT_EQ(value("i64(ult(1, -1))"), 1);
  EXPECT_EQ(value("umulh(-1, -1)"), -2);
  EXPECT_EQ(value("'a' + '\\n'"), 107);
  EXPECT_EQ(value("0xff"), 255);
}

TEST(Functions, RealsComputeAsInC) {
  const auto value = [](const std::string& e) {
    return real_of(called({"fn f() -> f64 { return " + e + "; }"}, {}).result);
  };
  EXPECT_EQ(value("1.5 + 2.0 * 4e1"), 81.5);
  EXPECT_EQ(value("0.1 + 0.2"), 0.30000000000000004);
  EXPECT_EQ(value("7.0 / 2.0 - 1.0"), 2.5);
  EXPECT_EQ(value("1.0 / -0.0"), -INFINITY);
  EXPECT_TRUE(std::isnan(value("inf - inf")));
  EXPECT_EQ(value("nan == nan ? 1.0 : 2.0"), 2);
  EXPECT_EQ(value("nan != nan && 1.0 < inf ? 1.0 : 2.0"), 1);
  EXPECT_EQ(value("nan < 1.0 || nan >= 1.0 ? 1.0 : 2.0"), 2);
  EXPECT_EQ(value("abs(-2.5) + sqrt(2.25)"), 4);
  EXPECT_EQ(value("min(nan, 3.0) + max(4.0, nan)"), 7);
  EXPECT_EQ(value("floor(-1.5) * 100.0 + ceil(1.2) * 10.0 + trunc(-0.5)"), -180);
  EXPECT_EQ(value("f64(min(7, 3)) + f64(i64(-3.9))"), 0) << "min of integers is the library's";
  EXPECT_EQ(value("fma(0x1 == 1 ? 1e16 : 0.0, 1.0, 1.0) - 1e16"), std::fma(1e16, 1.0, 1.0) - 1e16);
  EXPECT_EQ(value("copysign(3.0, -0.0)"), -3);
  EXPECT_EQ(value("copysign(-3.0, nan)"), 3);
  EXPECT_EQ(value("sign(-0.25) + sign(inf) * 4.0"), 3);
  EXPECT_TRUE(std::signbit(value("sign(-0.0)")));
  EXPECT_EQ(value("from_bits(to_bits(1.5) + 1)"), std::nextafter(1.5, 2));
  for (const double x : {0.5, -0.5, 0.49999999999999994, 1.5, 2.5, -2.5, 0x1p52 + 1, 0x1p53 + 2, -0.0, 1e300}) {
    const std::string text = "from_bits(" + std::to_string(bits_of(x)) + ")";
    EXPECT_EQ(bits_of(value("round(" + text + ")")), bits_of(std::round(x))) << x;
    EXPECT_EQ(bits_of(value("rint(" + text + ")")), bits_of(std::nearbyint(x))) << x;
  }
}

TEST(Functions, NamesAndOperatorsOfExpressionsMeanTheSame) {
  const auto value = [](const std::string& e) {
    return real_of(
        called({"fn f(x: f64) -> f64 { return " + e + "; }"}, {{.is_real = true, .number = bits_of(1.5)}}).result);
  };
  EXPECT_EQ(value("2 * x + x / 2 - 1"), 2.75);
  EXPECT_EQ(value("x < 2 ? 1 : x"), 1);
  EXPECT_EQ(value("min(1, x) + max(x, 2) + sqrt(4) + copysign(1, -2)"), 4);
  EXPECT_EQ(value("-9007199254740993"), -9007199254740992.0) << "to nearest even";
  EXPECT_EQ(value("+x - +2"), -0.5);
  EXPECT_EQ(value("pi"), 3.141592653589793);
  EXPECT_EQ(value("clamp(x, 2, 3) + clamp(x, -1, 1) * 4 + clamp(x, 1, 2) * 16"), 30);
  EXPECT_EQ(value("clamp(nan, 2, 3)"), 2);
  EXPECT_EQ(value("f64(clamp(7, 2, 3))"), 3) << "of integers: the library's";
  EXPECT_EQ(value("select(x > 1, 10, x) + select(x > 2, x, 20)"), 30);
  EXPECT_EQ(value("select(isnan(nan) && !isnan(inf) && !isnan(x), 1.0, 0)"), 1);
  EXPECT_EQ(value("select(isinf(-inf) && !isinf(nan) && !isinf(x), 1, 0.0)"), 1);
  EXPECT_EQ(value("select(isfinite(x) && !isfinite(nan) && !isfinite(-inf), 1.0, 0)"), 1);
  EXPECT_EQ(value("-x ^ 2"), -2.25);
  EXPECT_EQ(value("-2.0 ^ 2 + (-2.0) ^ 2 * 10"), 36);
  EXPECT_EQ(value("2.0 ^ 3.0 ^ 2 + x ** -1 * 3"), 514);
  EXPECT_EQ(value("4 ^ x"), 8);
  EXPECT_EQ(value("hypot(3, 4) + log2(8) * 10 + exp2(x + 0.5) * 100"), 435);
  EXPECT_EQ(value("atan2(1, 0) - pi / 2"), 0) << "the ordinate comes first";
  EXPECT_EQ(value("pow(2, 10) + remainder(5, 3)"), 1023);
  EXPECT_EQ(value("rsqrt(4) + cbrt(27)"), 3.5);
  const auto integer = [](const std::string& e) {
    return called({"fn f(n: i64, k: i64) -> i64 { return " + e + "; }"}, {number(3), number(41)}).result;
  };
  EXPECT_EQ(integer("n ^ 4 - 2 ^ n"), 73);
  std::uint64_t power = 1;
  for (int i = 0; i < 41; ++i) power *= 3;
  EXPECT_EQ(integer("n ^ k"), static_cast<std::int64_t>(power)) << "wraps";
  EXPECT_EQ(integer("n ^ -k + (-1) ^ -k * 10 + 1 ^ -k"), -9);
}

/// A function of f64 leaves its name to parameters, variables and functions of other values.
TEST(Functions, NamesOfExpressionsAreNotReserved) {
  EXPECT_EQ(called({"fn f(exp: i64, pi: i64) -> i64 { let log = exp + pi; return pow(log, 2); }",
                    "fn pow(a: i64, b: i64) -> i64 { return a * 10 + b; }"},
                   {number(3), number(4)})
                .result,
            72);
  EXPECT_EQ(called({"fn f(a: [f64]) -> i64 { return select(a); }", "fn select(a: [f64]) -> i64 { return len(a); }"},
                   {{.is_array = true, .is_real = true}})
                .result,
            0);
  EXPECT_NE(refusal({"fn sin(a: f64) -> f64 { return a; }"}).find("a function of this name for f64"),
            std::string::npos);
}

TEST(Functions, OneFormKeepsNamesAndPowers) {
  const std::string text =
      "fn f(x: f64, n: i64) -> f64 {\n  let a = 2 * x ^ 2 ^ n;\n  let b = (-x) ^ -2 + -x ^ 2 + +x;\n"
      "  let c = (x ^ 2) ^ 3 * (-2) ^ x;\n  let d = (a + b) ^ (a + 1);\n  return sin(pi * c) + d;\n}\n";
  const auto parsed = parse(text, "f.fn");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(print(*parsed), text);
  const auto commented = parse("fn f(x: f64) -> f64 {\n  return -2 // c\n    ^ x;\n}\n", "f.fn");
  ASSERT_TRUE(commented.ok());
  EXPECT_NE(print(*commented).find("-(2 ^ x)"), std::string::npos) << print(*commented);
  const std::string checked = "fn f(x: f64) -> f64 {\n  return 2 * pi * x;\n}\n";
  EXPECT_EQ(print(*library_of({checked})->find("f")), checked);
}

TEST(Functions, RealsConvertAsStated) {
  const auto value = [](const std::string& e) { return called({"fn f() -> i64 { return " + e + "; }"}, {}).result; };
  EXPECT_EQ(value("i64(-2.9)"), -2);
  EXPECT_EQ(value("i64(9.3e18)"), INT64_MIN);
  EXPECT_EQ(value("i64(nan)"), INT64_MIN);
  EXPECT_EQ(value("to_bits(-0.0)"), INT64_MIN);
  EXPECT_EQ(value("i64(f64(9007199254740993))"), 9007199254740992);
}

TEST(Functions, ArraysAndRangesOfReals) {
  const std::string text = R"(@param x in [-0.5, 1.0]: a number
@test f([1.0, 2.5], 0.5) = 4.0 : a = [1.5, 3.0]
@test f([nan], 0.0) = nan
@test f([-inf], -0.5) = -inf
@test f([1.0], 1.5) = error range
fn f(a: inout [f64], x: f64) -> f64 {
  let t = [f64; 3];
  for i in 0..len(a) {
    a[i] = a[i] + x;
    t[0] = t[0] + a[i];
  }
  return t[0] + t[2] - x;
}
)";
  const auto library = library_of({text});
  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_EQ(print(*library->find("f")), text);
  const auto lowered = lower(*library->find("f"), *library);
  ASSERT_TRUE(lowered.ok());
  const auto misses = run_tests(*library->find("f"), *lowered);
  ASSERT_TRUE(misses.ok());
  for (const Miss& miss : *misses) ADD_FAILURE() << miss.test << " " << miss.why;
  EXPECT_EQ(fault_of({text}, {{.is_array = true, .is_real = true}, {.is_real = true, .number = bits_of(NAN)}}),
            "f: line 1: an argument outside of its declared range: x");
  const std::string caller = "fn g(y: f64) -> f64 {\n  return h(y);\n}",
                    callee = "@param x in [0.0, 1.0]: a\nfn h(x: f64) -> f64 {\n  return x;\n}";
  EXPECT_EQ(fault_of({caller, callee}, {{.is_real = true, .number = bits_of(NAN)}}),
            "g: line 2: an argument outside of its declared range");
  EXPECT_EQ(fault_of({caller, callee}, {{.is_real = true, .number = bits_of(1.0)}}), "none");
}

TEST(Functions, OnlyWhatIsNeededIsEvaluated) {
  const std::string text = "fn f(a: [i64], i: i64) -> i64 { return i < len(a) && a[i] == 7 || i == 9 ? 1 : 0; }";
  EXPECT_EQ(called({text}, {list({5, 7}), number(1)}).result, 1);
  EXPECT_EQ(called({text}, {list({5, 7}), number(0)}).result, 0);
  EXPECT_EQ(called({text}, {list({5, 7}), number(2)}).result, 0);
  EXPECT_EQ(called({text}, {list({5, 7}), number(9)}).result, 1);
  const std::string division = "fn f(a: i64, b: i64) -> i64 { return b == 0 ? -1 : a / b; }";
  EXPECT_EQ(called({division}, {number(6), number(0)}).result, -1);
  EXPECT_EQ(called({division}, {number(6), number(3)}).result, 2);
}

TEST(Functions, OperandsAreEvaluatedFromLeftToRightAndKept) {
  // The right operands need blocks of their own, across which the left ones are kept.
  const std::string text = "fn f(a: i64, b: i64) -> i64 { return a * 1000 + (a / b) * 100 + (b > 2 ? a % b : b / a); }";
  EXPECT_EQ(called({text}, {number(17), number(5)}).result, 17000 + 300 + 2);
  EXPECT_EQ(called({text}, {number(1), number(2)}).result, 1000 + 0 + 2);
}

TEST(Functions, LoopsLeaveAndGoOn) {
  const std::string text = R"(fn f(n: i64) -> i64 {
    let total = 0;
    for i in 0..n {
      if i % 3 == 0 { continue; }
      for j in 0..100 {
        if j == i { break; }
        total = total + 1;
      }
    }
    return total;
  })";
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < 20; ++i) expected += i % 3 == 0 ? 0 : i;
  EXPECT_EQ(called({text}, {number(20)}).result, expected);
}

TEST(Functions, FaultsNameTheLine) {
  EXPECT_EQ(fault_of({"fn f(a: i64) -> i64 {\n  let b = 1;\n  return b / a;\n}"}, {number(0)}),
            "f: line 3: a division by zero");
  EXPECT_EQ(fault_of({"fn f(a: [i64], i: i64) -> i64 {\n  return a[i];\n}"}, {list({1, 2}), number(2)}),
            "f: line 2: an index outside of its array");
  EXPECT_EQ(fault_of({"fn f(a: [i64], i: i64) -> i64 {\n  return a[i];\n}"}, {list({1, 2}), number(-1)}),
            "f: line 2: an index outside of its array");
  // 8 * 2^61 is 0 in 64 bits.
  EXPECT_EQ(
      fault_of({"fn f(a: [i64], i: i64) -> i64 {\n  return a[i];\n}"}, {list({1, 2}), number(std::int64_t{1} << 61)}),
      "f: line 2: an index outside of its array");
  EXPECT_EQ(fault_of({"fn f() {\n\n  while true {\n  }\n}"}, {}),
            "f: line 3: more rounds of loops than the budget allows");
  EXPECT_EQ(fault_of({"@param a in [1, 5]: a\nfn f(a: i64) -> i64 { return a; }"}, {number(6)}),
            "f: line 1: an argument outside of its declared range: a");
  // In a function that is called: its own line.
  EXPECT_EQ(fault_of({"fn f(a: i64) -> i64 {\n  return g(a);\n}", "fn g(a: i64) -> i64 {\n\n\n  return 1 % a;\n}"},
                     {number(0)}),
            "g: line 4: a division by zero");
  EXPECT_EQ(
      fault_of({"fn f(a: i64) -> i64 {\n  return g(a);\n}", "@param a in [0, 9]: a\nfn g(a: i64) -> i64 { return a; }"},
               {number(-1)}),
      "f: line 2: an argument outside of its declared range");
}

/// A divisor is asked once for zero, but again where it may have changed.
TEST(Functions, EveryDivisionByZeroIsFound) {
  const auto ends = [](const std::string& body, std::int64_t b) {
    return fault_of({"fn f(a: i64, b: i64) -> i64 {\n  let q = a / b;\n" + body + "}"}, {number(7), number(b)});
  };
  const std::string again = "  return q + a % b;\n";
  EXPECT_EQ(ends(again, 2), "none");
  EXPECT_EQ(ends(again, 0), "f: line 2: a division by zero");
  EXPECT_EQ(ends("  b = b - 1;\n" + again, 1), "f: line 4: a division by zero");
  EXPECT_EQ(ends("  if a > 0 {\n    b = 0;\n  }\n" + again, 1), "f: line 6: a division by zero");
  EXPECT_EQ(ends("  for i in 0..2 {\n    q = q + a % b;\n    b = b - 1;\n  }\n  return q;\n", 1),
            "f: line 4: a division by zero");
}

/// a / b and a % b make one division and one question.
TEST(Functions, AQuotientIsNotComputedTwice) {
  const auto lowered = lower(*Library::shipped().find("div_ceil"), Library::shipped());
  ASSERT_TRUE(lowered.ok());
  const region::Region region = region::forward_copies(lowered->region);
  const auto branches = std::count_if(region.blocks.begin(), region.blocks.end(),
                                      [](const region::Block& b) { return b.end.flow == region::Flow::branch; });
  EXPECT_EQ(branches, 1);
}

TEST(Functions, BudgetsCountRoundsOfAllLoops) {
  const std::string text = "fn f(n: i64) { for i in 0..n { for j in 0..3 { } } }";
  EXPECT_EQ(fault_of({text}, {number(5)}, 20), "none");
  EXPECT_NE(fault_of({text}, {number(5)}, 19), "none");
}

TEST(Functions, LoopsOfFewRoundsAreCopied) {
  const std::string text =
      "fn f(a: inout [i64]) -> i64 {\n  let n = 0;\n  for i in 0..7 {\n    let moved = a[6 - i];\n    a[7 - i] = "
      "moved;\n"
      "    n = n + i * a[i];\n  }\n  return n;\n}\n";
  std::vector<std::int64_t> expected = {3, 1, 4, 1, 5, 9, 2, 6, 5};
  const Returned returned = called({text}, {list(expected)});
  std::int64_t n = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    expected[7 - i] = expected[6 - i];
    n += static_cast<std::int64_t>(i) * expected[i];
  }
  EXPECT_EQ(returned.result, n);
  EXPECT_EQ(returned.arguments[0].elements, expected);
  const auto library = library_of({text});
  const auto lowered = lower(*library->find("f"), *library);
  for (std::uint32_t b = 0; b < lowered->region.blocks.size(); ++b)
    EXPECT_TRUE(lowered->region.blocks[b].end.flow == region::Flow::exit || lowered->region.blocks[b].end.then > b);
  EXPECT_EQ(fault_of({text}, {list(expected)}, 7), "none");
  EXPECT_EQ(fault_of({text}, {list(expected)}, 6), "f: line 3: more rounds of loops than the budget allows");
  EXPECT_EQ(fault_of({text}, {list({1, 2, 3, 4, 5})}), "f: line 4: an index outside of its array");
  EXPECT_EQ(fault_of({"fn f(a: i64) -> i64 {\n  for i in 0..3 {\n    a = a / i;\n  }\n  return a;\n}"}, {number(5)}),
            "f: line 3: a division by zero");
}

TEST(Functions, ManyLoopsOfFewRoundsStayWithinTheLimits) {
  std::string text = "fn f(a: i64) -> i64 {\n";
  for (int loop = 0; loop < 400; ++loop) text += "  for i in 0..8 {\n    a = a * 3 + i - 1;\n  }\n";
  std::uint64_t expected = 5;
  for (std::uint64_t i = 0; i < 400 * 8; ++i) expected = expected * 3 + i % 8 - 1;
  EXPECT_EQ(called({text + "  return a;\n}\n"}, {number(5)}, 10'000).result, static_cast<std::int64_t>(expected));
}

TEST(Functions, LocalArraysAreClearedEachTime) {
  const std::string text = R"(fn f(n: i64) -> i64 {
    let total = 0;
    for i in 0..n {
      let t = [u8; 11];
      total = total + t[10] + len(t);
      t[10] = 300;
      total = total + t[10];
    }
    return total;
  })";
  EXPECT_EQ(called({text}, {number(3)}).result, 3 * (11 + 300 % 256));
  EXPECT_NE(fault_of({"fn f() -> i64 { let t = [u8; 11]; return t[11]; }"}, {}), "none")
      << "11 bytes, not the 16 of its memory";
}

TEST(Functions, CallsSeeArraysThemselves) {
  const Returned returned = called({"fn f(a: inout [i64]) -> i64 { set(a, 1, 5); return get(a, 1) + get(a, 0); }",
                                    "fn set(x: inout [i64], i: i64, v: i64) { x[i] = v; i = 0; }",
                                    "fn get(x: [i64], i: i64) -> i64 { return x[i]; }"},
                                   {list({1, 2, 3})});
  EXPECT_EQ(returned.result, 6);
  EXPECT_EQ(returned.arguments[0].elements, (std::vector<std::int64_t>{1, 5, 3}));
}

TEST(Functions, ErrorsShowTheirPlace) {
  EXPECT_EQ(refusal({"fn f() -> i64 {\n  return 1 +;\n}"}),
            "f.fn:2:13: expected a value before ';'\n    return 1 +;\n              ^");
  EXPECT_EQ(
      refusal({"fn f(n: i64) -> f64 {\n  return 2.5 ^ n;\n}"}),
      "f.fn:2:16: the right operand is f64, and this is i64: write f64(n)\n    return 2.5 ^ n;\n                 ^");
  const std::pair<const char*, const char*> rows[] = {
      {"fn f() -> i64 { return x; }", "nothing is called 'x' here"},
      {"fn f() -> i64 { return g(1); }", "there is no function 'g'"},
      {"fn f() -> i64 { return f(); }", "the function calls itself"},
      {"fn f() -> i64 { }", "the end is reached without a return"},
      {"fn f() -> i64 { return 1; return 2; }", "this is never reached"},
      {"fn f() { return 1; }", "the function has no result"},
      {"fn f() -> i64 { return true; }", "the result is i64, and this is bool"},
      {"fn f() -> bool { return 1 < 2 < 3; }", "comparisons do not chain"},
      {"fn f(a: [i64]) { a[0] = 1; }", "'a' is only read: declare it inout to write it"},
      {"fn f(a: [i64]) -> i64 { return a; }", "'a' is an array"},
      {"fn f(a: i64) -> i64 { return a[0]; }", "'a' is no array"},
      {"fn f(a: inout [i64]) -> i64 { return copy(a, a); }", "an array that is written is passed twice"},
      {"fn f(a: [u8]) -> i64 { return sum(a); }", "has elements of type i64"},
      {"fn f() { for i in 0..3 { i = 1; } }", "counts a loop and is not assigned to"},
      {"fn f() { break; }", "there is no loop around this"},
      {"fn f(a: i64) { let a = 1; }", "'a' has a meaning here already"},
      {"fn f() { let t = [i64; 0]; }", "the size of an array is a number from 1"},
      {"fn f() { let let = 1; }", "'let' is a word of the language"},
      {"fn f() -> i64 { return 9223372036854775808; }", "a number beyond 64 bits"},
      {"fn f() -> i64 { return 1.5; }", "the result is i64, and this is f64"},
      {"fn f() -> i64 { return 1x; }", "a number is digits alone, or 1.5, or 1e9"},
      {"fn f() -> f64 { return 1.5x; }", "a number ends before a letter"},
      {"fn f() -> f64 { return 1e999; }", "a number beyond those of f64"},
      {"fn f(n: i64) -> f64 { return 1.5 + n; }", "the right operand is f64, and this is i64"},
      {"fn f(n: i64) -> f64 { return n + 1.5; }", "the right operand is f64, and this is i64: write f64(n)"},
      {"fn f() -> f64 { return 1.5 + 'a'; }", "the right operand is f64, and this is i64"},
      {"fn f(n: i64) -> f64 { return sin(n); }", "an operand is f64, and this is i64: write f64(n)"},
      {"fn f(n: i64) -> f64 { return sin(n + 1); }", "an operand is f64, and this is i64: write f64(..)"},
      {"fn f(x: f64) -> i64 { return 1 << x; }", "the right operand is i64, and this is f64: write i64(x)"},
      {"fn f(b: bool) -> i64 { return 1 + b; }", "the right operand is i64, and this is bool: write i64(b)"},
      {"fn f(n: i64) -> i64 { if n { return 1; } return 2; }", "and this is i64: compare it, as in n != 0"},
      {"fn f() -> f64 { return atan2(1.0); }", "'atan2' takes 2 operands"},
      {"fn f(n: i64) -> i64 { return select(n, 1, 2); }", "an operand is bool, and this is i64"},
      {"fn f(n: i64) -> i64 { return select(n > 0, 1, true); }", "the other value is i64, and this is bool"},
      {"fn f(n: i64) -> i64 { return n ^ -1; }", "an integer has no negative powers"},
      {"fn f(x: f64) -> f64 { return x ^ 2147483649; }", "an integer exponent is at most 2^31"},
      {"fn f(x: f64, n: i64) -> f64 { return x ^ n; }", "the right operand is f64, and this is i64: write f64(n)"},
      {"fn f() { pi = 3.0; }", "nothing is called 'pi' here"},
      {"fn f() -> f64 { return 1.5 % 2.0; }",
       "% divides numbers of i64: fmod(a, b) and remainder(a, b) are for those of f64"},
      {"fn f() -> f64 { return -true; }", "the operand is i64 or f64, and this is bool"},
      {"fn f(n: i64) -> f64 { return sqrt(n); }", "an operand is f64, and this is i64: write f64(n)"},
      {"fn f(n: i64) -> f64 { return min(1.0, n); }", "an operand is f64, and this is i64"},
      {"fn f() -> i64 { return i64(2); }", "this is an i64"},
      {"fn f(a: inout [f64], n: i64) { a[0] = n; }", "an element is f64, and this is i64"},
      {"@test f(1) = 2\nfn f(a: f64) -> i64 { return 1; }", "numbers of f64 are written with a point"},
      {"@test f([1.0, 2]) = 2\nfn f(a: [f64]) -> i64 { return 1; }", "all integers or all of f64"},
      {"@param a in [0, 1]: b\nfn f(a: f64) -> i64 { return 1; }", "'a' is of another type"},
      {"@param a in [1.0, nan]: b\nfn f(a: f64) -> i64 { return 1; }", "the range of 'a' is empty"},
      {"fn min(a: f64) -> f64 { return a; }", "the language has a function of this name for f64"},
      {"fn f() -> i64 { return '; }", "a character is one byte between quotes"},
      {"@test f(1) = 2\nfn f() -> i64 { return 1; }", "the function takes 0 arguments"},
      {"@test f() = error crash\nfn f() -> i64 { return 1; }", "expected division, index, budget or range"},
      {"@param b: c\nfn f(a: i64) { return; }", "there is no parameter 'b'"},
      {"@param a in [2, 1]: c\nfn f(a: i64) { return; }", "the range of 'a' is empty"},
      {"@param a: 1..5 x\nfn f(a: i64) { return; }", "a range stands before the colon, as in @param a in [1, 5]:"},
      {"@param a: in [-1.5, 5] x\nfn f(a: f64) { return; }", "a range stands before the colon"},
      {"@param a: b\n@param a in [1, 5]: b\nfn f(a: i64) { return; }", "'a' has a @param line already"},
      {"@toast\nfn f() { return; }", "expected prompt, param or test"},
  };
  for (const auto& [text, why] : rows) {
    const std::string message = refusal({text});
    EXPECT_NE(message.find(why), std::string::npos) << text << ": " << message;
    EXPECT_NE(message.find('^'), std::string::npos) << message;
  }
}

TEST(Functions, CallsInACircleAreRefused) {
  EXPECT_NE(refusal({"fn f() { f(); }"}).find("the function calls itself\n"), std::string::npos);
  EXPECT_NE(refusal({"fn f() { g(); }", "fn g() { h(); }", "fn h() { g(); }"}).find("calls itself: g, h, g"),
            std::string::npos);
}

TEST(Functions, CallsThatGrowWithoutBoundAreRefused) {
  std::vector<std::string> texts{"fn f0(a: i64) -> i64 { return a + 1; }"};
  for (int i = 1; i < 40; ++i) {
    const std::string below = "f" + std::to_string(i - 1);
    texts.push_back("fn f" + std::to_string(i) + "(a: i64) -> i64 { return " + below + "(a) + " + below + "(a); }");
  }
  const auto library = library_of(texts);
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(lower(*library->find("f39"), *library).error().code, ErrorCode::kLimitExceeded);
  EXPECT_TRUE(lower(*library->find("f4"), *library).ok());
}

TEST(Functions, LimitsAreToldWithTheirFigure) {
  const auto many = [](int count, const char* type) {
    std::string list;
    for (int i = 0; i < count; ++i) list += (i == 0 ? "p" : ", p") + std::to_string(i) + ": " + type;
    return list;
  };
  const std::pair<std::string, const char*> rows[] = {
      {"fn f(" + many(65, "i64") + ") { return; }", "too many parameters: at most 64"},
      {"fn f(" + many(17, "[i64]") + ") { return; }", "too many arrays, those of callees included: at most 16"},
      {"fn f() { let a = [i64; 65536]; let b = [i64; 65536]; let c = [u8; 1]; a[0] = 1; b[0] = 1; c[0] = 1; }",
       "local arrays are too large: at most 1048576 bytes"},
  };
  for (const auto& [text, why] : rows) {
    const auto library = library_of({text});
    const std::string message = library.ok() ? lower(*library->find("f"), *library).error().message : refusal({text});
    EXPECT_NE(message.find(why), std::string::npos) << message;
  }
  for (const std::string& text :
       {"fn f(" + many(64, "i64") + ") { return; }", "fn f(" + many(16, "[i64]") + ") { return; }"})
    EXPECT_TRUE(lower(*library_of({text})->find("f"), Library::shipped()).ok()) << text;
}

TEST(Functions, RangesOfIntegersMayHaveExponents) {
  const auto range = [](const std::string& ends) {
    return parse("@param a in [" + ends + "]: b\nfn f(a: i64) {\n  return;\n}", "f.fn");
  };
  const auto parsed = range("-1e18, 25E+2");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(*parsed->parameters[0].lo, -1'000'000'000'000'000'000);
  EXPECT_EQ(*parsed->parameters[0].hi, 2500);
  EXPECT_EQ(*range("0, 9007199254740993e1")->parameters[0].hi, 90071992547409930) << "in no step a double";
  for (const char* ends : {"0, 1.5e3", "0, 1e19", "0, 1e-1", "0, 1.0", "0, inf"})
    EXPECT_FALSE(range(ends).ok()) << ends;
}

TEST(Functions, AByteOrderMarkIsPassedOver) {
  const std::string text = "fn f() {\n  return;\n}\n";
  const auto parsed = parse("\xEF\xBB\xBF" + text, "f.fn");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(print(*parsed), text);
}

TEST(Functions, HostileTextsAreErrorsOrFunctions) {
  std::mt19937 random(3);
  const auto functions = Library::shipped().list();
  for (int i = 0; i < 4000; ++i) {
    std::string text = functions[random() % functions.size()]->text;
    const std::string& other = functions[random() % functions.size()]->text;
    for (unsigned k = 0; k <= random() % 4; ++k) {
      const std::size_t at = random() % text.size(), size = random() % 12;
      if (random() % 2 == 0)
        text.replace(at, size, other.substr(random() % other.size(), size));
      else
        text[at] = static_cast<char>(random() % 256);
    }
    auto parsed = parse(text, "x.fn");
    if (!parsed.ok() || !check(*parsed, Library::shipped()).ok()) continue;
    const auto lowered = lower(*parsed, Library::shipped());
    if (!lowered.ok()) continue;
    EXPECT_TRUE(run_tests(*parsed, *lowered, nullptr, 2000).ok());
    const auto again = parse(print(*parsed), "x.fn");
    ASSERT_TRUE(again.ok()) << text << "\n" << print(*parsed) << again.error().message;
    EXPECT_EQ(print(*again), print(*parsed));
  }
  for (const char* part : {"(", "[", "-", "!", "{", "if a {", "f(", "a ? ", "1 + (", "else if true {"}) {
    std::string deep = "fn f() -> i64 { return ";
    for (int i = 0; i < 60'000; ++i) deep += part;
    EXPECT_FALSE(parse(deep, "deep.fn").ok());
  }
  std::string chain = "fn f(a: i64) { if a == 0 { } ";
  for (int i = 0; i < 30'000; ++i) chain += "else if a == 1 { } ";
  EXPECT_EQ(parse(chain + "}", "chain.fn").error().code, ErrorCode::kLimitExceeded);
}

}  // namespace
}  // namespace trident::function
