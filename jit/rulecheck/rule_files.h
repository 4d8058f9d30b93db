// Files of rewrite rules (jit/expr/rules/README.md has their format): reading, checking, and taking those of a user in
// use, which only rules that passed the check ever are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jit/expr/rewrite/rules.h"
#include "jit/rulecheck/rulecheck.h"
#include "runtime/base/limits.h"
#include "runtime/base/result.h"

namespace trident::rulecheck {

/// Rules of a user at one time: many more would only slow the search down.
inline constexpr std::size_t kUserRulesMax = 4096;
/// Greatest rule file that is read: ten times what so many rules take.
inline constexpr std::size_t kRuleFileBytesMax = limits::kRulesTextBytesMax;

struct RuleFile {
  std::string path;
  expr::rewrite::RuleSet set;
  std::string text;  ///< the lines that have a rule, each with its end
};

/// Errors show the place. InvalidArgument: not a regular file, or one without rules. LimitExceeded: more than
/// kRuleFileBytesMax.
Result<RuleFile> read_rule_file(const std::string& path);

struct CheckedRule {
  std::string file, name, text;  ///< text: "left => right if conditions"
  std::uint32_t line = 0;
  RuleVerdict verdict;
};

/// Told at first, and after each rule but the last, how many have been checked of how many, and one of those that come
/// next; by several threads, one at a time.
using CheckProgress = std::function<void(std::size_t done, std::size_t total, const std::string& name)>;

/// All rules of all files, in order, checked by as many threads as there are cores. A true one whose name is taken, by
/// a built-in rule or in another of the files, is no right one; but the files that the built-in rules are made of may
/// be checked.
std::vector<CheckedRule> check_rule_files(const std::vector<RuleFile>& files, const RuleCheckOptions& options,
                                          const CheckProgress& progress = {});

struct UserRules {
  expr::rewrite::RuleSet set;
  std::string text;  ///< the lines of the files that have a rule: parse_rules() makes the same rules of it
};

/// Reads and checks files of rules to be used beside the built-in ones. NotEquivalent with all that is wrong with them;
/// InvalidArgument for a name that is taken, by a built-in rule or in another file; LimitExceeded beyond kUserRulesMax
/// and limits::kRulesTextBytesMax of text.
Result<UserRules> load_user_rules(const std::vector<std::string>& paths, const CheckProgress& progress = {});

/// "left => right if conditions"
std::string rule_text(const egraph::Rule& rule);

/// "?a = 2, ?b = 3", but for variables that stand for themselves.
std::string point_text(const std::vector<Binding>& point);

/// A rule that is not right: place, fault, counterexample and hint, a line each.
std::string fault_text(const CheckedRule& rule);

}  // namespace trident::rulecheck
