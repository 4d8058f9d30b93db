// Oracles: laws as a textbook writes them; files of which it is known which rules are true.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "clients/cli/nearest.h"
#include "clients/cli/rules_report.h"

namespace trident::cli {
namespace {

std::string written(const char* name, const char* text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

std::string law(const std::string& text) {
  const auto set = expr::rewrite::parse_rules("r: " + text + " ;; ieee=round real=ok", "test.rules");
  return set.ok() ? law_of(set->rules[0]) : set.error().message;
}

TEST(Nearest, IsTheWordWithTheFewestOtherLetters) {
  const std::vector<std::string> words = {"list", "show", "check", "chuck"};
  EXPECT_EQ(nearest(words, "lits", 2), "list");
  EXPECT_EQ(nearest(words, "chek", 2), "check");
  EXPECT_EQ(nearest(words, "chck", 2), "check");  // the first of two
  EXPECT_EQ(nearest(words, "shower", 2), "show");
  EXPECT_EQ(nearest(words, "shower", 1), "");
  EXPECT_EQ(nearest(words, "", 2), "");
}

TEST(Law, IsWrittenAsATextbookDoes) {
  EXPECT_EQ(law("(mul ?a (add ?b ?c)) => (add (mul ?a ?b) (mul ?a ?c))"), "a*(b + c) = a*b + a*c");
  EXPECT_EQ(law("(sub ?a (sub ?b ?c)) => (add (sub ?a ?b) ?c)"), "a - (b - c) = a - b + c");
  EXPECT_EQ(law("(div ?a (mul ?b ?c)) => (div (div ?a ?b) ?c)"), "a/(b*c) = a/b/c");
  EXPECT_EQ(law("(recip (recip ?a)) => ?a if nonzero(?a)"), "1/(1/a) = a, where a is never zero");
  EXPECT_EQ(law("(mul -1 (powi (neg ?a) 3)) => (powi ?a 3)"), "-1*(-a)^3 = a^3");
  EXPECT_EQ(law("(select (lt ?a ?b) ?a ?b) => (min ?a ?b) if notnan(?a), le(?a, ?b)"),
            "a < b ? a : b = min(a, b), where a is never NaN and a is never above b");
  EXPECT_EQ(law("(diff (sin ?a) ?x) => (mul (cos ?a) (diff ?a ?x))"), "diff(sin(a), x) = cos(a)*diff(a, x)");
  EXPECT_EQ(law("(log10 ?a) => (mul 0.1 (log ?a))"), "log10(a) = 0.1*log(a)");
}

TEST(RuleFiles, OnlyThoseWithTrueRulesAreLoaded) {
  const std::string good = written("good.rules",
                                   "one: (add (mul 3 ?a) ?a) => (mul 4 ?a) ;; ieee=round real=ok\n"
                                   "two: (erf (neg (neg ?a))) => (erf ?a) ;; ieee=exact real=ok\n");
  const auto loaded = load_user_rules({good});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_EQ(loaded->rules.size(), 2u);
  ASSERT_EQ(loaded->tags.size(), 2u);
  EXPECT_EQ(loaded->rules[1].name, "two");
  EXPECT_EQ(loaded->tags[1].ieee, expr::rewrite::Ieee::exact);

  const std::string bad = written("bad.rules", "three: (sqrt (mul ?a ?a)) => ?a ;; ieee=round real=ok\n");
  const auto refused = load_user_rules({good, bad});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kNotEquivalent);
  EXPECT_NE(refused.error().message.find("bad.rules:1: three: wrong"), std::string::npos) << refused.error().message;
  EXPECT_EQ(refused.error().message.find("one"), std::string::npos) << refused.error().message;

  const auto twice = load_user_rules({good, good});
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code, ErrorCode::kInvalidArgument);
  const std::string taken = written("taken.rules", "neg-neg: (neg (neg ?a)) => ?a ;; ieee=exact real=ok\n");
  EXPECT_EQ(load_user_rules({taken}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(load_user_rules({written("none.rules", "; nothing\n")}).error().code, ErrorCode::kInvalidArgument);
}

// None of these ends, or is text; a FIFO would be waited for.
TEST(RuleFiles, AreRegularFilesOfSomeSize) {
  const auto fault = [](const std::string& path, ErrorCode code) {
    for (const Error& error : {read_rule_file(path).error(), load_user_rules({path}).error()}) {
      EXPECT_EQ(error.code, code) << path;
      EXPECT_EQ(error.message.find(path + ": "), 0u) << error.message;
    }
    return read_rule_file(path).error().message;
  };
  const std::string fifo = ::testing::TempDir() + "rules.fifo", big = ::testing::TempDir() + "big.rules";
  std::filesystem::remove(fifo);
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_NE(fault(fifo, ErrorCode::kInvalidArgument).find("a FIFO"), std::string::npos);
  std::filesystem::remove(fifo);
  EXPECT_NE(fault(::testing::TempDir(), ErrorCode::kInvalidArgument).find("a directory"), std::string::npos);
  EXPECT_NE(fault("/dev/zero", ErrorCode::kInvalidArgument).find("a device"), std::string::npos);
  EXPECT_NE(fault(fifo, ErrorCode::kInvalidArgument).find("No such file"), std::string::npos);
  std::ofstream(big).close();
  std::filesystem::resize_file(big, kRuleFileBytesMax + 1);
  EXPECT_NE(fault(big, ErrorCode::kLimitExceeded).find("more than"), std::string::npos);
  std::filesystem::remove(big);
}

TEST(RuleFiles, HoldManyRulesButNotAnyNumber) {
  std::string text;
  for (std::size_t i = 0; i <= kUserRulesMax; ++i)
    text += "r" + std::to_string(i) + ": (neg ?a) => (neg ?a) ;; ieee=exact real=ok\n";
  const auto refused = load_user_rules({written("many.rules", text.c_str())});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimitExceeded);
}

}  // namespace
}  // namespace trident::cli
