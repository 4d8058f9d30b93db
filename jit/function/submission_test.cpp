// Submissions of functions: what resolve() makes is what read_program() reads; hostile texts end in an error, soon.
// Oracle: the library itself, and the limits.
#include "jit/function/submission.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "jit/function/call.h"
#include "jit/function/to_expr.h"
#include "schemas/function_image.h"

namespace trident::function {
namespace {

const Library& shipped(const void*) {
  return Library::shipped();
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string function_of(const std::string& value) {
  return "fn f(a: i64) -> i64 {\n  return " + value + ";\n}\n";
}

TEST(Submission, TravelsWithAllThatItCalls) {
  for (const Function* f : Library::shipped().list()) {
    const auto sent = resolve(*f, Library::shipped());
    ASSERT_TRUE(sent.ok()) << f->name << ": " << sent.error().message;
    const auto received = read_program(sent->text, sent->calls);
    ASSERT_TRUE(received.ok()) << f->name << ": " << received.error().message;
    const auto expected = lower(*f, Library::shipped()), got = lower(received->function(), received->library);
    ASSERT_TRUE(expected.ok() && got.ok()) << f->name;
    EXPECT_EQ(region::print(expected->region), region::print(got->region)) << f->name;
    EXPECT_EQ(static_cast<const Layout&>(*expected), static_cast<const Layout&>(*got)) << f->name;
  }
}

TEST(Submission, ANameOfTheLibraryMayBeTheUsersOwn) {
  const auto own = resolve("fn gcd(a: i64) -> i64 {\n  return max(a, 7);\n}\n", &shipped, nullptr);
  ASSERT_TRUE(own.ok()) << own.error().message;
  const auto lowered = lower(own->function(), own->library);
  ASSERT_TRUE(lowered.ok());
  const Argument three{.number = 3};
  EXPECT_EQ(7, call(own->function(), *lowered, std::span(&three, 1))->result);
  EXPECT_EQ(own->calls, Library::shipped().find("max")->text + '\0');
}

/// Parses, checks and lowers; returns the error's code, kBusy for none.
ErrorCode outcome_of(const std::string& text, const std::string& calls = {}) {
  const auto program = read_program(text, calls);
  if (!program.ok()) return program.error().code;
  const auto lowered = lower(program->function(), program->library);
  return lowered.ok() ? ErrorCode::kBusy : lowered.error().code;
}

TEST(Submission, ErrorsOfAllKindsNameTheFile) {
  for (const char* value : {"1 +", "b", "f(a)", "1.5"}) {
    const auto program = resolve(function_of(value), &shipped, nullptr, "folder/any.fn");
    ASSERT_FALSE(program.ok()) << value;
    EXPECT_TRUE(program.error().message.starts_with("folder/any.fn:")) << program.error().message;
  }
}

TEST(Submission, HostileTextsEndInAnErrorSoon) {
  const std::size_t most = TRIDENT_FUNCTION_TEXT_BYTES_MAX - 100;
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& value :
       {"a" + repeated("+a", most / 2), "a" + repeated("&&a", most / 3), "a" + repeated("<a", most / 2),
        repeated("-", most), repeated("(", most), repeated("a ? a : ", most / 8), repeated("!", most),
        repeated("abs(", most / 4), std::string(most, '9'), std::string(most, 'x'), repeated("a ? ", most / 4)})
    EXPECT_NE(ErrorCode::kBusy, outcome_of(function_of(value))) << value.substr(0, 20);
  for (const std::string& body :
       {repeated("if a { ", most / 7), repeated("while true {", most / 12), repeated("let t = [u8; 65536];", most / 20),
        repeated("if a > 0 {} else ", most / 17), repeated("a = a + 1;", most / 10)})
    EXPECT_NE(ErrorCode::kBusy, outcome_of("fn f(a: i64) {" + body + "}")) << body.substr(0, 20);
  EXPECT_NE(ErrorCode::kBusy, outcome_of("fn f(" + repeated("a: i64, ", most / 8) + ") { }"));
  EXPECT_NE(ErrorCode::kBusy, outcome_of(repeated("// \n", most / 4)));
  EXPECT_NE(ErrorCode::kBusy, outcome_of(repeated("@prompt x\n", most / 10)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Submission, CallsThatDoubleEndAtTheLimit) {
  std::string calls;
  for (int i = 0; i < 60; ++i) {
    const std::string callee =
        i == 0 ? "a" : "f" + std::to_string(i - 1) + "(a) + f" + std::to_string(i - 1) + "(a + 1)";
    calls += "fn f" + std::to_string(i) + "(a: i64) -> i64 {\n  return " + callee + ";\n}\n" + '\0';
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ErrorCode::kLimitExceeded, outcome_of("fn g(a: i64) -> i64 { return f59(a); }", calls));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

/// Returns `value` around itself, as deeply as the parser allows: "@" is where the next one stands.
std::string nested(const std::string& value, const std::string& core, std::size_t levels) {
  const std::size_t at = value.find('@');
  return repeated(value.substr(0, at), levels) + core + repeated(value.substr(at + 1), levels);
}

TEST(Submission, DeepTextsAreLoweredSoon) {
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& [value, core] : {std::pair("a > 0 ? a : @", "1"),
                                    {"a > 0 ? (@) : a", "1"},
                                    {"(@) > 0 ? a : 2", "a"},
                                    {"i64(a > 0 && (@) > 1)", "a"},
                                    {"i64((@) > 1 || a > 0)", "a"},
                                    {"-(@)", "a"},
                                    {"select(a > 0, (@), a)", "1"},
                                    {"min((@), max(a, 3))", "a"},
                                    {"abs(a ^ 1 - (@))", "a"},
                                    {"a > 7 / a ? a : @", "1"},
                                    {"(a > 0 ? a : 1) / (@)", "a"},
                                    {"gcd(a, @)", "1"}}) {
    std::size_t levels = 128;
    auto program = resolve(function_of(nested(value, core, levels)), &shipped, nullptr);
    while (!program.ok() && levels > 1)
      program = resolve(function_of(nested(value, core, --levels)), &shipped, nullptr);
    EXPECT_GE(levels, 25u) << value << program.error().message;
    const auto lowered = lower(program->function(), program->library);
    ASSERT_TRUE(lowered.ok() || lowered.error().code == ErrorCode::kLimitExceeded) << value;
    if (lowered.ok()) (void)to_expr(program->function(), *lowered);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Submission, CallsWithoutInstructionsEndAtTheLimit) {
  std::vector<Library::Text> texts = {{"f0.fn", "fn f0(x: [i64]) {\n}\n"}};
  std::string names[40] = {"f0"};
  for (int i = 1; i < 40; ++i) {
    names[i] = "f" + std::to_string(i);
    texts.push_back({names[i] + ".fn", ""});
  }
  std::vector<std::string> bodies(40);
  for (int i = 1; i < 40; ++i) {
    bodies[i] = "fn " + names[i] + "(x: [i64]) {\n  " + names[i - 1] + "(x);\n  " + names[i - 1] + "(x);\n}\n";
    texts[i].text = bodies[i];
  }
  const auto library = Library::make(texts);
  ASSERT_TRUE(library.ok());
  const auto lowered = lower(*library->find("f39"), *library);
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code, ErrorCode::kLimitExceeded);
}

TEST(Submission, RefusesWhatNobodySends) {
  const std::string text = function_of("a");
  EXPECT_EQ(ErrorCode::kRejectedMessage, outcome_of(text, "fn g(a: i64) -> i64 { return a; }"));
  EXPECT_NE(ErrorCode::kBusy, outcome_of(text, std::string("\0", 1)));
  EXPECT_NE(ErrorCode::kBusy, outcome_of(text, text + '\0')) << "the same name twice";
  EXPECT_NE(ErrorCode::kBusy, outcome_of(function_of("f(a)"))) << "calls itself";
  EXPECT_NE(ErrorCode::kBusy,
            outcome_of(function_of("g(a)"), "fn g(a: i64) -> i64 { return f(a); }" + std::string("\0", 1)));
  std::string many;
  for (unsigned i = 0; i <= TRIDENT_FUNCTION_CALLEES_MAX; ++i) many += "fn g" + std::to_string(i) + "() { }" + '\0';
  EXPECT_EQ(ErrorCode::kLimitExceeded, outcome_of(text, many));
  EXPECT_EQ(ErrorCode::kLimitExceeded, outcome_of(std::string(TRIDENT_FUNCTION_TEXT_BYTES_MAX + 1, ' ')));
}

}  // namespace
}  // namespace trident::function
