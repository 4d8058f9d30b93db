#include "jit/rulecheck/rule_files.h"

#include <mpfr.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "jit/expr/rewrite/language.h"
#include "runtime/os/atomic_file.h"

namespace trident::rulecheck {

using expr::rewrite::RuleSet;

namespace {

Result<std::string> read_text(const std::string& path) {
  const auto bytes = os::read_file(path, kRuleFileBytesMax);
  if (bytes.ok()) return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  if (bytes.error().code == ErrorCode::kLimitExceeded)
    return make_error(ErrorCode::kLimitExceeded, "%s: more than %zu bytes", path.c_str(), kRuleFileBytesMax);
  return make_error(ErrorCode::kInvalidArgument, "%s", bytes.error().message.c_str());
}

/// Returns the lines of `text` that hold the rules of `set`.
std::string lines_of(const RuleSet& set, std::string_view text) {
  std::string lines;
  std::uint32_t number = 1;
  std::size_t at = 0;
  for (const RuleSet::Tags& tags : set.tags) {
    for (; number < tags.line; ++number) at = text.find('\n', at) + 1;
    lines.append(text.substr(at, text.find('\n', at) - at)) += '\n';
  }
  return lines;
}

/// The names of rules in use, and their places.
class TakenNames {
 public:
  TakenNames() {
    const RuleSet& built_in = expr::rewrite::builtin_rules();
    for (std::size_t i = 0; i < built_in.rules.size(); ++i)
      places_[built_in.rules[i].name] = {"among the built-in ones", built_in.tags[i].theme};
  }

  struct Place {
    std::string text, theme;  ///< theme: of a built-in one
  };
  /// Returns where the name of a rule is in use already; if nowhere, this rule takes it.
  std::optional<Place> take(const RuleFile& file, std::size_t rule) {
    const std::string here = "at " + file.path + ":" + std::to_string(file.set.tags[rule].line);
    const auto [other, fresh] = places_.emplace(file.set.rules[rule].name, Place{here, ""});
    return fresh ? std::nullopt : std::optional(other->second);
  }

 private:
  std::map<std::string, Place, std::less<>> places_;
};

/// Returns whether a file is the source of a theme of built-in rules, perhaps edited since.
bool is_source_of(const std::string& theme, const std::string& path) {
  std::error_code code;
  const auto full = std::filesystem::weakly_canonical(path, code);
  return !code && !theme.empty() && full.string().ends_with("/jit/expr/rules/" + theme + ".rules");
}

/// Checks all rules of all files, in order, with as many threads as there are cores. A rule's verdict depends on that
/// rule alone.
std::vector<RuleVerdict> verdicts_on(const std::vector<RuleFile>& files, const RuleCheckOptions& options,
                                     const CheckProgress& progress) {
  struct Task {
    const egraph::Rule* rule;
    const RuleSet::Tags* tags;
  };
  std::vector<Task> tasks;
  for (const RuleFile& f : files)
    for (std::size_t i = 0; i < f.set.rules.size(); ++i) tasks.push_back({&f.set.rules[i], &f.set.tags[i]});
  std::vector<RuleVerdict> verdicts(tasks.size());
  std::atomic<std::size_t> next{0};
  std::mutex telling;
  std::size_t done = 0;
  const auto tell = [&] {
    if (progress && done < tasks.size()) progress(done, tasks.size(), tasks[done].rule->name);
  };
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < tasks.size(); i = next.fetch_add(1)) {
      verdicts[i] = check_rule(*tasks[i].rule, *tasks[i].tags, options);
      const std::lock_guard lock(telling);
      ++done;
      tell();
    }
  };
  tell();
  std::vector<std::thread> others;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  while (others.size() + 1 < std::min(cores, tasks.size()))
    others.emplace_back([&] {
      work();
      mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);  // MPFR keeps constants for every thread
    });
  work();
  for (std::thread& other : others) other.join();
  return verdicts;
}

}  // namespace

std::string rule_text(const egraph::Rule& rule) {
  const auto rows = expr::rewrite::op_rows();
  std::string text = print(rule.left, rows, rule.variables) + " => " + print(rule.right, rows, rule.variables);
  for (std::size_t i = 0; i < rule.conditions.size(); ++i)
    text += (i == 0 ? " if " : ", ") + print(rule.conditions[i], rule.variables);
  return text;
}

Result<RuleFile> read_rule_file(const std::string& path) {
  TRY(const std::string text, read_text(path));
  TRY(RuleSet set, expr::rewrite::parse_rules(text, path));
  if (set.rules.empty()) return make_error(ErrorCode::kInvalidArgument, "%s: no rules in it", path.c_str());
  std::string lines = lines_of(set, text);
  return RuleFile{path, std::move(set), std::move(lines)};
}

std::vector<CheckedRule> check_rule_files(const std::vector<RuleFile>& files, const RuleCheckOptions& options,
                                          const CheckProgress& progress) {
  std::vector<RuleVerdict> verdicts = verdicts_on(files, options, progress);
  std::vector<CheckedRule> checked;
  TakenNames taken;
  for (const RuleFile& f : files) {
    for (std::size_t i = 0; i < f.set.rules.size(); ++i) {
      const egraph::Rule& rule = f.set.rules[i];
      RuleVerdict& verdict = verdicts[checked.size()];
      const auto other = taken.take(f, i);
      if (other && !is_source_of(other->theme, f.path) && verdict.kind == RuleVerdict::Kind::right) {
        verdict.kind = RuleVerdict::Kind::wrong;
        verdict.fault = "there is a rule of this name already, " + other->text;
        verdict.hint = "give it another name";
      }
      checked.push_back({f.path, rule.name, rule_text(rule), f.set.tags[i].line, std::move(verdict)});
    }
  }
  return checked;
}

Result<UserRules> load_user_rules(const std::vector<std::string>& paths, const CheckProgress& progress) {
  TakenNames taken;
  std::vector<RuleFile> files;
  std::size_t count = 0, bytes = 0;
  for (const std::string& path : paths) {
    TRY(RuleFile file, read_rule_file(path));
    count += file.set.rules.size();
    if (count > kUserRulesMax)
      return make_error(ErrorCode::kLimitExceeded, "%s: more than %zu rules", path.c_str(), kUserRulesMax);
    bytes += file.text.size();
    if (bytes > limits::kRulesTextBytesMax)
      return make_error(ErrorCode::kLimitExceeded, "%s: more than %zu bytes of rules in all files together",
                        path.c_str(), limits::kRulesTextBytesMax);
    for (std::size_t i = 0; i < file.set.rules.size(); ++i) {
      if (const auto other = taken.take(file, i))
        return make_error(ErrorCode::kInvalidArgument, "%s:%u: there is a rule \"%s\" already, %s", path.c_str(),
                          file.set.tags[i].line, file.set.rules[i].name.c_str(), other->text.c_str());
    }
    files.push_back(std::move(file));
  }
  std::string faults;
  for (const CheckedRule& rule : check_rule_files(files, {}, progress))
    if (rule.verdict.kind != RuleVerdict::Kind::right) faults += fault_text(rule);
  if (!faults.empty())
    return make_error(ErrorCode::kNotEquivalent, "no rules are loaded, because not all are right:\n%s",
                      faults.substr(0, faults.size() - 1).c_str());
  UserRules all;
  for (RuleFile& f : files) {
    std::move(f.set.rules.begin(), f.set.rules.end(), std::back_inserter(all.set.rules));
    std::move(f.set.tags.begin(), f.set.tags.end(), std::back_inserter(all.set.tags));
    all.text += f.text;
  }
  return all;
}

std::string point_text(const std::vector<Binding>& point) {
  std::string text;
  for (const Binding& b : point)
    if (b.name.substr(1) != b.value) text += (text.empty() ? "" : ", ") + b.name + " = " + b.value;  // not ?x = x
  return text;
}

std::string fault_text(const CheckedRule& rule) {
  const RuleVerdict& v = rule.verdict;
  const bool wrong = v.kind == RuleVerdict::Kind::wrong;
  std::string out = rule.file + ":" + std::to_string(rule.line) + ": " + rule.name + ": " +
                    (wrong ? "wrong: " : "not checked: ") + v.fault + "\n    " + rule.text + "\n";
  if (wrong && !v.point.empty())
    out += "    at " + point_text(v.point) + ": left " + v.left + ", right " + v.right + "\n";
  if (!v.hint.empty()) out += "    hint: " + v.hint + "\n";
  return out;
}

}  // namespace trident::rulecheck
