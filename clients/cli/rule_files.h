// Files of rewrite rules (jit/expr/rules/README.md has their format): reading, checking, and taking those of a user in
// use, which only rules that passed the check ever are.
#pragma once

#include <string>
#include <vector>

#include "jit/expr/rewrite/rules.h"
#include "jit/rulecheck/rulecheck.h"
#include "runtime/base/result.h"

namespace trident::cli {

/// Rules of a user at one time: many more would only slow the search down.
inline constexpr std::size_t kUserRulesMax = 4096;
/// Greatest rule file that is read: ten times what so many rules take.
inline constexpr std::size_t kRuleFileBytesMax = std::size_t{4} << 20;

struct RuleFile {
  std::string path;
  expr::rewrite::RuleSet set;
};

/// Errors show the place. InvalidArgument: not a regular file, or one without rules. LimitExceeded: more than
/// kRuleFileBytesMax.
Result<RuleFile> read_rule_file(const std::string& path);

struct CheckedRule {
  std::string file, name, text;  ///< text: "left => right if conditions"
  std::uint32_t line = 0;
  rulecheck::RuleVerdict verdict;
};

/// All rules of all files, in order. A progress bar on a terminal.
std::vector<CheckedRule> check_rule_files(const std::vector<RuleFile>& files,
                                          const rulecheck::RuleCheckOptions& options);

/// Reads and checks files of rules to be used beside the built-in ones. NotEquivalent with all that is wrong with them;
/// InvalidArgument for a name that is taken, by a built-in rule or in another file; LimitExceeded beyond kUserRulesMax.
Result<expr::rewrite::RuleSet> load_user_rules(const std::vector<std::string>& paths);

/// "left => right if conditions"
std::string rule_text(const egraph::Rule& rule);

}  // namespace trident::cli
