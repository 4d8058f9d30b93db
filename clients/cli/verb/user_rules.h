// --load-rules: rewrite rules of the user, for every verb that searches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/cli/verb/options.h"
#include "jit/pipeline/search_rules.h"
#include "jit/rulecheck/rule_files.h"

namespace trident::cli {

/// --load-rules FILE, repeatable.
void add_load_rules(Verb verb, std::vector<std::string>& files);
/// rulecheck::load_user_rules() with a progress bar on a terminal, and a line about what was loaded.
Result<rulecheck::UserRules> load_rules(const std::vector<std::string>& files);
/// ... for the pipeline; nothing without files.
Result<std::optional<pipeline::SearchRules>> load_search_rules(const std::vector<std::string>& files);
/// rulecheck::check_rule_files() with a progress bar on a terminal.
std::vector<rulecheck::CheckedRule> check_rules(const std::vector<rulecheck::RuleFile>& files,
                                                rulecheck::RuleCheckOptions options);

}  // namespace trident::cli
