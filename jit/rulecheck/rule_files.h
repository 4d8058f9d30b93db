// Files of rewrite rules (jit/expr/rules/README.md has their format): reads them, checks them, and loads those of a
// user. Only rules that passed the check are ever used.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jit/expr/rewrite/rules.h"
#include "jit/rulecheck/rulecheck.h"
#include "runtime/base/limits.h"
#include "runtime/base/result.h"

namespace trident::rulecheck {

/// Most user rules at one time: more would only slow the search down.
inline constexpr std::size_t kUserRulesMax = 4096;
/// Greatest rule file that is read: ten times the size of so many rules.
inline constexpr std::size_t kRuleFileBytesMax = limits::kRulesTextBytesMax;

struct RuleFile {
  std::string path;
  expr::rewrite::RuleSet set;
  std::string text;  ///< the lines that have a rule, each with its end
};

/// Reads a file. Errors show the place. InvalidArgument: not a regular file, or one without rules. LimitExceeded: more
/// than kRuleFileBytesMax.
Result<RuleFile> read_rule_file(const std::string& path);

struct CheckedRule {
  std::string file, name, text;  ///< text: "left => right if conditions"
  std::uint32_t line = 0;
  RuleVerdict verdict;
};

/// Called at first, and after each rule but the last: how many were checked of how many, and one of the next ones. By
/// several threads, one at a time.
using CheckProgress = std::function<void(std::size_t done, std::size_t total, const std::string& name)>;

/// Checks all rules of all files, in order, with as many threads as there are cores. A true rule is refused if a
/// built-in rule or a rule in another file has its name; but the source files of the built-in rules may be
/// checked.
std::vector<CheckedRule> check_rule_files(const std::vector<RuleFile>& files, const RuleCheckOptions& options,
                                          const CheckProgress& progress = {});

struct UserRules {
  expr::rewrite::RuleSet set;
  std::string text;  ///< the lines of the files that have a rule: parse_rules() makes the same rules of it
};

/// Reads and checks files of rules to use beside the built-in ones. NotEquivalent lists all their faults.
/// InvalidArgument: a name is in use, by a built-in rule or in another file. LimitExceeded: beyond kUserRulesMax, or
/// beyond limits::kRulesTextBytesMax of text.
Result<UserRules> load_user_rules(const std::vector<std::string>& paths, const CheckProgress& progress = {});

/// Prints "left => right if conditions".
std::string rule_text(const egraph::Rule& rule);

/// Prints "?a = 2, ?b = 3", without variables that stand for themselves.
std::string point_text(const std::vector<Binding>& point);

/// Describes a rule that is not right: place, fault, counterexample and hint, a line each.
std::string fault_text(const CheckedRule& rule);

}  // namespace trident::rulecheck
