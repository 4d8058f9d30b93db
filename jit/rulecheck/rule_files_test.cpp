// Oracle: files of rules whose truth is known.
#include "jit/rulecheck/rule_files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace trident::rulecheck {
namespace {

std::string written(const char* name, const char* text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(RuleFiles, OnlyThoseWithTrueRulesAreLoaded) {
  const std::string good = written("good.rules",
                                   "one: (add (mul 3 ?a) ?a) => (mul 4 ?a) ;; ieee=round real=ok\n"
                                   "two: (erf (neg (neg ?a))) => (erf ?a) ;; ieee=exact real=ok\n");
  std::vector<std::string> told;
  const auto loaded = load_user_rules({good}, [&](std::size_t done, std::size_t total, const std::string& name) {
    told.push_back(std::to_string(done) + "/" + std::to_string(total) + " " + name);
  });
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_EQ(loaded->set.rules.size(), 2u);
  ASSERT_EQ(loaded->set.tags.size(), 2u);
  EXPECT_EQ(loaded->set.rules[1].name, "two");
  EXPECT_EQ(loaded->set.tags[1].ieee, expr::rewrite::Ieee::exact);
  EXPECT_EQ(told, (std::vector<std::string>{"0/2 one", "1/2 two"}));

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

// Threads take the rules in any order; the report has the order of the file, and progress comes one rule at a time.
TEST(RuleFiles, ManyRulesComeOutInOrder) {
  std::string text;
  constexpr std::size_t kRules = 40;
  for (std::size_t i = 0; i < kRules; ++i)
    text += fmt::format("r{}: (add (mul {} ?a) ?a) => (mul {} ?a) ;; ieee=round real=ok\n", i, i + 3,
                        i % 3 == 0 ? 1 : i + 4);
  std::vector<std::size_t> told;
  const std::vector<RuleFile> files = {read_rule_file(written("many.rules", text.c_str())).value()};
  const auto rules = check_rule_files(files, {.points = 200, .hints = false},
                                      [&](std::size_t done, std::size_t total, const std::string& name) {
                                        EXPECT_EQ(total, kRules);
                                        EXPECT_EQ(name, fmt::format("r{}", done));
                                        told.push_back(done);
                                      });
  ASSERT_EQ(rules.size(), kRules);
  for (std::size_t i = 0; i < kRules; ++i) {
    EXPECT_EQ(rules[i].name, fmt::format("r{}", i));
    EXPECT_EQ(rules[i].verdict.kind == RuleVerdict::Kind::right, i % 3 != 0) << rules[i].text;
    EXPECT_EQ(told[i], i);
  }
}

TEST(RuleFiles, NamesThatAreTakenAreNotRight) {
  const char* const text =
      "neg-neg: (neg (neg ?a)) => ?a ;; ieee=exact real=ok\n"
      "mine: (add (mul 3 ?a) ?a) => (mul 4 ?a) ;; ieee=round real=ok\n";
  const auto checked = [&](const std::vector<std::string>& paths) {
    std::vector<RuleFile> files;
    for (const std::string& path : paths) files.push_back(read_rule_file(path).value());
    return check_rule_files(files, {});
  };
  const std::string one = written("one.rules", text), two = written("two.rules", text);
  const auto rules = checked({one, two});
  ASSERT_EQ(rules.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(rules[i].verdict.kind, i == 1 ? RuleVerdict::Kind::right : RuleVerdict::Kind::wrong)
        << fault_text(rules[i]);
  EXPECT_EQ(fault_text(rules[0]).find(one + ":1: neg-neg: wrong: there is a rule of this name already, among"), 0u)
      << fault_text(rules[0]);
  EXPECT_NE(fault_text(rules[3]).find("two.rules:2: mine: wrong: "), std::string::npos);
  EXPECT_NE(fault_text(rules[3]).find("already, at " + one + ":2"), std::string::npos) << fault_text(rules[3]);
  // The source files of the built-in rules may use their names.
  const std::string tree = ::testing::TempDir() + "tree/jit/expr/rules";
  std::filesystem::create_directories(tree);
  std::filesystem::copy_file(one, tree + "/sums.rules", std::filesystem::copy_options::overwrite_existing);
  for (const CheckedRule& rule : checked({tree + "/sums.rules"}))
    EXPECT_EQ(rule.verdict.kind, RuleVerdict::Kind::right) << fault_text(rule);
  EXPECT_FALSE(load_user_rules({tree + "/sums.rules"}).ok());
}

// The text is sent to others, who must parse the same rules from it, in order, whatever surrounds them in the
// files.
TEST(RuleFiles, BecomeOneTextOfTheirRules) {
  const std::string one = "one: (add (mul 3 ?a) ?a) => (mul 4 ?a) ;; ieee=round real=ok  ; why it is so";
  const std::string two = "  two: (erf (neg (neg ?a))) => (erf ?a) ;; ieee=exact real=ok";
  const std::string three = "three: (mul ?b (sub ?a ?a)) => 0 if finite(?a), finite(?b) ;; ieee=nan real=ok";
  const auto loaded = load_user_rules({written("first.rules", ("; comment\n\n" + one + "\n\n; more\n" + two).c_str()),
                                       written("second.rules", ("\n\n" + three + "\n; end").c_str())});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->text, one + "\n" + two + "\n" + three + "\n");
  const auto again = expr::rewrite::parse_rules(loaded->text, "again");
  ASSERT_TRUE(again.ok()) << again.error().message;
  ASSERT_EQ(again->rules.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again->rules[i].name, loaded->set.rules[i].name);
    EXPECT_EQ(rule_text(again->rules[i]), rule_text(loaded->set.rules[i]));
    EXPECT_EQ(again->tags[i].ieee, loaded->set.tags[i].ieee);
    EXPECT_EQ(again->tags[i].real, loaded->set.tags[i].real);
  }
}

// None of these ends, or is text; reading a FIFO would block.
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
  EXPECT_NE(fault(::testing::TempDir(), ErrorCode::kInvalidArgument).find("a folder"), std::string::npos);
  EXPECT_NE(fault("/dev/zero", ErrorCode::kInvalidArgument).find("a device"), std::string::npos);
  EXPECT_NE(fault(fifo, ErrorCode::kInvalidArgument).find("No such file"), std::string::npos);
  std::ofstream(big).close();
  std::filesystem::resize_file(big, kRuleFileBytesMax + 1);
  EXPECT_NE(fault(big, ErrorCode::kLimitExceeded).find("more than"), std::string::npos);
  std::filesystem::remove(big);
}

// Each file is short enough, but not both together.
TEST(RuleFiles, AreNotTooLongTogether) {
  std::vector<std::string> files;
  for (const char* name : {"left", "right"}) {
    const std::string rule = std::string(name) + ": (neg (neg (neg ?a))) => (neg ?a) ;; ieee=exact real=ok ;";
    files.push_back(written((std::string(name) + ".rules").c_str(),
                            (rule + std::string(kRuleFileBytesMax / 2, '.') + "\n").c_str()));
  }
  const auto refused = load_user_rules(files);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimitExceeded);
  EXPECT_NE(refused.error().message.find("right.rules: more than"), std::string::npos) << refused.error().message;
  for (const std::string& file : files) std::filesystem::remove(file);
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
}  // namespace trident::rulecheck
