#include "clients/cli/verb/user_rules.h"

#include <cstdio>

#include "clients/cli/verb/verb.h"
#include "runtime/report/progress_bar.h"

namespace trident::cli {
namespace {

/// A progress bar for the check of rules; cleared with the object.
class CheckBar {
 public:
  rulecheck::CheckProgress progress() {
    return [this](std::size_t done, std::size_t total, const std::string& name) { bar_.update(done, total, name); };
  }

 private:
  report::ProgressBar bar_{"checking", 0};
};

}  // namespace

void add_load_rules(Verb verb, std::vector<std::string>& files) {
  verb.add_option("--load-rules", files, "File of your own rules; used only when all are right; repeatable")
      .allow_extra_args(false)
      .check(file_name_fault);
}

Result<rulecheck::UserRules> load_rules(const std::vector<std::string>& files) {
  TRY(rulecheck::UserRules rules, rulecheck::load_user_rules(files, CheckBar().progress()));
  const std::size_t count = rules.set.rules.size();
  std::fprintf(stderr, "trident: %zu rule%s of %s\n", count, count == 1 ? "" : "s",
               files.size() == 1 ? files[0].c_str() : "files of yours");
  return rules;
}

Result<std::optional<pipeline::SearchRules>> load_search_rules(const std::vector<std::string>& files) {
  if (files.empty()) return std::optional<pipeline::SearchRules>();
  TRY(const rulecheck::UserRules user, load_rules(files));
  TRY(pipeline::SearchRules rules, pipeline::SearchRules::parse(user.text, files.front()));
  return std::make_optional(std::move(rules));
}

std::vector<rulecheck::CheckedRule> check_rules(const std::vector<rulecheck::RuleFile>& files,
                                                rulecheck::RuleCheckOptions options) {
  options.slope_points = options.points;
  return rulecheck::check_rule_files(files, options, CheckBar().progress());
}

}  // namespace trident::cli
