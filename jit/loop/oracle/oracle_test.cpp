// Rows that are malformed, and verdicts. Oracle: what each text says. tests/loops has the labelled loops.
#include "jit/loop/oracle/oracle.h"

#include <gtest/gtest.h>

namespace trident::loop::oracle {
namespace {

// subs x0, x0, #1; b.ne .-4
constexpr const char* kDelay = R"("head": "0x1000", "bytes": "000400f1e1ffff54")";

std::string row(const std::string& members) {
  return "{" + std::string(kDelay) + ", " + members + "}";
}

TEST(Oracle, ComparesTheOutcome) {
  for (const auto& [expected, is_right] :
       {std::pair("compile", true), {"either", true}, {"refuse", false}, {"not_a_loop", false}}) {
    const auto verdict = check(row(R"("label": "delay", "opt": "O2", "expect": ")" + std::string(expected) + "\""));
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_EQ(verdict->is_right(), is_right) << expected;
    EXPECT_EQ(verdict->is_false_accept(), !is_right) << expected;
    EXPECT_EQ(verdict->name, "delay O2");
    EXPECT_EQ(verdict->difference(), "expected " + std::string(expected) + ", found compile");
  }
}

TEST(Oracle, TellsWhyALoopIsRefused) {
  // bl .+4096; b .-4
  const auto verdict = check(R"({"head": 4096, "bytes": "00040094ffffff17", "expect": "compile"})");
  ASSERT_TRUE(verdict.ok());
  EXPECT_FALSE(verdict->is_right());
  EXPECT_FALSE(verdict->is_false_accept());
  EXPECT_EQ(verdict->difference(), "expected compile, found call at 0x1000: every way round has a call");
}

TEST(Oracle, FloatsAreNoFaultYet) {
  // fadd s0, s1, s2; b .-4
  const auto verdict = check(R"({"head": 4096, "bytes": "2028221effffff17", "expect": "compile"})");
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->outcome(), "floats");
  EXPECT_TRUE(verdict->is_right());
}

TEST(Oracle, AsksForTheLoopThatTheTailCloses) {
  // subs x0, x0, #1; b.ne .-4; ret; b .-12
  const std::string code = R"({"head": 0, "bytes": "000400f1e1ffff54c0035fd6fdffff17", "expect": "compile", "tail": )";
  EXPECT_EQ(check(code + "4}")->outcome(), "compile");
  EXPECT_EQ(check(code + "\"0xc\"}")->outcome(), "not_a_loop");
}

TEST(Oracle, SaysWhatIsWrongWithARow) {
  const std::pair<std::string, const char*> rows[] = {
      {"nonsense", "expected a JSON object"},
      {"[1]", "expected a JSON object"},
      {"{}", "no member 'bytes'"},
      {R"({"bytes": 7})", "expected a text, found 7"},
      {R"({"bytes": ""})", "8 hex digits an instruction, found 0 digits"},
      {R"({"bytes": "000400f"})", "found 7 digits"},
      {R"({"bytes": "000400g1"})", "'g1' is no pair of hex digits"},
      {R"({"bytes": "000400-1"})", "'-1' is no pair"},
      {R"({"bytes": ")" + std::string(4 * 16384, '0') + "\"}", "at most 16384 bytes"},
      {R"({"bytes": "000400f1"})", "no member 'head'"},
      {R"({"bytes": "000400f1", "head": "1000"x})", "expected a JSON object"},
      {R"({"bytes": "000400f1", "head": "0x"})", "head: expected an address"},
      {R"({"bytes": "000400f1", "head": "0x1g"})", "found 0x1g"},
      {R"({"bytes": "000400f1", "head": -4})", "found -4"},
      {R"({"bytes": "000400f1", "head": 1.5})", "found 1.5"},
      {R"({"bytes": "000400f1", "head": "0x10000000000000000"})", "head: expected an address"},
      {R"({"bytes": "000400f1", "head": 4})", "no member 'expect'"},
      {R"({"bytes": "000400f1", "head": 4, "expect": "copmile"})", "found 'copmile'"},
      {row(R"("expect": "compile", "tail": "0x1008")"), "tail: lies outside"},
      {row(R"("expect": "compile", "tail": "0xffc")"), "tail: lies outside"},
      {row(R"("expect": "compile", "tail": "0x1002")"), "tail: lies outside"},
      {row(R"("expect": "compile", "tail": null)"), "tail: expected an address"},
  };
  for (const auto& [text, message] : rows) {
    const auto verdict = check(text);
    ASSERT_FALSE(verdict.ok()) << text;
    EXPECT_EQ(verdict.error().code, ErrorCode::kSyntaxError);
    EXPECT_NE(verdict.error().message.find(message), std::string::npos) << verdict.error().message;
  }
}

}  // namespace
}  // namespace trident::loop::oracle
