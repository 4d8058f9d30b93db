// `trident rules`: the rewrite rules that are built in, and whether those of a file are true.
#include <algorithm>
#include <cstdio>

#include "clients/cli/search/commands.h"
#include "clients/cli/search/rules_report.h"
#include "clients/cli/verb/user_rules.h"
#include "clients/cli/verb/verb.h"
#include "runtime/base/nearest.h"

namespace trident::cli {
namespace {

using expr::rewrite::builtin_rules;

struct RulesVerb {
  std::string theme, name;
  std::vector<std::string> files;
  rulecheck::RuleCheckOptions check;
  bool json = false;
};

Result<int> list(const RulesVerb& verb) {
  std::vector<std::string> themes;
  for (const auto& tags : builtin_rules().tags)
    if (themes.empty() || themes.back() != tags.theme) themes.push_back(tags.theme);
  if (!verb.theme.empty() && std::find(themes.begin(), themes.end(), verb.theme) == themes.end()) {
    std::string known;
    for (const std::string& theme : themes) known += (known.empty() ? "" : ", ") + theme;
    return make_error(ErrorCode::kInvalidArgument, "--theme %s: expected one of %s", verb.theme.c_str(), known.c_str());
  }
  std::fputs((verb.json ? rule_list_json(verb.theme) : rule_list_text(verb.theme)).c_str(), stdout);
  return 0;
}

Result<int> show(const RulesVerb& verb) {
  std::vector<std::string> names;
  for (const egraph::Rule& rule : builtin_rules().rules) names.push_back(rule.name);
  const auto found = std::find(names.begin(), names.end(), verb.name);
  if (found == names.end()) {
    const std::string meant = nearest(names, verb.name, std::max<std::size_t>(2, verb.name.size() / 2));
    return make_error(ErrorCode::kInvalidArgument, "there is no rule '%s'%s", verb.name.c_str(),
                      (meant.empty() ? "; `trident rules list` has all" : ": did you mean '" + meant + "'?").c_str());
  }
  const auto index = static_cast<std::size_t>(found - names.begin());
  std::fputs((verb.json ? rule_page_json(index) : rule_page_text(index)).c_str(), stdout);
  return 0;
}

Result<int> check(const RulesVerb& verb) {
  std::vector<rulecheck::RuleFile> files;
  for (const std::string& path : verb.files) {
    TRY(rulecheck::RuleFile file, rulecheck::read_rule_file(path));
    files.push_back(std::move(file));
  }
  const std::vector<rulecheck::CheckedRule> rules = check_rules(files, verb.check);
  std::fputs((verb.json ? check_json(rules, verb.check) : check_text(rules, verb.check)).c_str(), stdout);
  const bool all_right = std::all_of(rules.begin(), rules.end(), [](const rulecheck::CheckedRule& r) {
    return r.verdict.kind == rulecheck::RuleVerdict::Kind::right;
  });
  return all_right ? 0 : kExitWrong;
}

}  // namespace

void add_rules_command(Verb app, int& status) {
  const Verb rules = app.add_subcommand("rules", "List, show and check rewrite rules");
  rules.require_subcommand();
  auto state = std::make_shared<RulesVerb>();
  const auto add = [&](const char* name, const char* description, Result<int> (*run)(const RulesVerb&)) {
    const Verb verb = rules.add_subcommand(name, description);
    verb.add_flag("--json", state->json, "Print a JSON object instead of text");
    verb.callback([state, &status, run] {
      const auto code = run(*state);
      status = code ? *code : report(code.error());
    });
    return verb;
  };
  add("list", "List built-in rules by theme, with their tags", list)
      .add_option("--theme", state->theme, "List only the rules of this theme");
  add("show", "Explain one built-in rule, with an example", show)
      .add_option("NAME", state->name, "Name of the rule")
      .required();
  const Verb checked = add("check", "Check the rules of files; exit 1 if one is wrong", check);
  checked.add_option("FILE", state->files, "Files of rules, as in jit/expr/rules").required();
  checked.add_option("--points", state->check.points, "Points at which the sides of a rule are compared")
      .check(range(100, 10'000'000))
      .capture_default_str();
  checked.add_option("--seed", state->check.seed, "Seed of the points").check(negative_fault).capture_default_str();
}

}  // namespace trident::cli
