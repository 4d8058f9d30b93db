#include "clients/cli/rule_files.h"

#include <filesystem>
#include <iterator>
#include <map>

#include "clients/cli/corpus_reader.h"
#include "clients/cli/progress_bar.h"
#include "clients/cli/rules_report.h"
#include "jit/expr/rewrite/language.h"

namespace trident::cli {

using expr::rewrite::RuleSet;

std::string rule_text(const egraph::Rule& rule) {
  const auto rows = expr::rewrite::op_rows();
  std::string text = print(rule.left, rows, rule.variables) + " => " + print(rule.right, rows, rule.variables);
  for (std::size_t i = 0; i < rule.conditions.size(); ++i)
    text += (i == 0 ? " if " : ", ") + print(rule.conditions[i], rule.variables);
  return text;
}

Result<RuleFile> read_rule_file(const std::string& path) {
  // Asked before it is opened: opening a FIFO waits for a writer.
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (code)
    return make_error(ErrorCode::kInvalidArgument, "%s: cannot be read: %s", path.c_str(), code.message().c_str());
  if (!std::filesystem::is_regular_file(status))
    return make_error(ErrorCode::kInvalidArgument, "%s: is %s; rules are read from regular files", path.c_str(),
                      std::filesystem::is_directory(status) ? "a directory"
                      : std::filesystem::is_fifo(status)    ? "a FIFO"
                                                            : "no file but a device or a socket");
  TRY(const std::string text, read_file(path, kRuleFileBytesMax));
  TRY(RuleSet set, expr::rewrite::parse_rules(text, path));
  if (set.rules.empty()) return make_error(ErrorCode::kInvalidArgument, "%s: no rules in it", path.c_str());
  return RuleFile{path, std::move(set)};
}

std::vector<CheckedRule> check_rule_files(const std::vector<RuleFile>& files,
                                          const rulecheck::RuleCheckOptions& options) {
  std::size_t total = 0;
  for (const RuleFile& f : files) total += f.set.rules.size();
  ProgressBar bar("checking", total);
  std::vector<CheckedRule> checked;
  for (const RuleFile& f : files) {
    for (std::size_t i = 0; i < f.set.rules.size(); ++i) {
      const egraph::Rule& rule = f.set.rules[i];
      bar.update(checked.size(), rule.name);
      checked.push_back({f.path, rule.name, rule_text(rule), f.set.tags[i].line,
                         rulecheck::check_rule(rule, f.set.tags[i], options)});
    }
  }
  return checked;
}

Result<RuleSet> load_user_rules(const std::vector<std::string>& paths) {
  std::map<std::string, std::string, std::less<>> taken;
  for (const egraph::Rule& rule : expr::rewrite::builtin_rules().rules) taken[rule.name] = "among the built-in ones";
  std::vector<RuleFile> files;
  std::size_t count = 0;
  for (const std::string& path : paths) {
    TRY(RuleFile file, read_rule_file(path));
    count += file.set.rules.size();
    if (count > kUserRulesMax)
      return make_error(ErrorCode::kLimitExceeded, "%s: more than %zu rules", path.c_str(), kUserRulesMax);
    for (std::size_t i = 0; i < file.set.rules.size(); ++i) {
      const std::string& name = file.set.rules[i].name;
      const std::string place = path + ":" + std::to_string(file.set.tags[i].line);
      const auto [other, fresh] = taken.emplace(name, "at " + place);
      if (!fresh)
        return make_error(ErrorCode::kInvalidArgument, "%s: there is a rule \"%s\" already, %s", place.c_str(),
                          name.c_str(), other->second.c_str());
    }
    files.push_back(std::move(file));
  }
  std::string faults;
  for (const CheckedRule& rule : check_rule_files(files, {}))
    if (rule.verdict.kind != rulecheck::RuleVerdict::Kind::right) faults += fault_text(rule);
  if (!faults.empty())
    return make_error(ErrorCode::kNotEquivalent, "no rules are loaded, because not all are right:\n%s",
                      faults.substr(0, faults.size() - 1).c_str());
  RuleSet all;
  for (RuleFile& f : files) {
    std::move(f.set.rules.begin(), f.set.rules.end(), std::back_inserter(all.rules));
    std::move(f.set.tags.begin(), f.set.tags.end(), std::back_inserter(all.tags));
  }
  return all;
}

}  // namespace trident::cli
