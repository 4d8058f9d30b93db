// The output of `trident rules`, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "jit/rulecheck/rule_files.h"

namespace trident::cli {

/// The built-in rules of a theme, or of all when it is empty.
std::string rule_list_text(const std::string& theme);
std::string rule_list_json(const std::string& theme);
/// One built-in rule, by its number.
std::string rule_page_text(std::size_t index);
std::string rule_page_json(std::size_t index);
/// The law that a rule states, in infix: "sqrt(a*a) = a, where a is never less than zero".
std::string law_of(const egraph::Rule& rule);

/// The outcome of checking rules of files: the faulty ones, and the number of sound ones.
std::string check_text(const std::vector<rulecheck::CheckedRule>& rules, const rulecheck::RuleCheckOptions& options);
std::string check_json(const std::vector<rulecheck::CheckedRule>& rules, const rulecheck::RuleCheckOptions& options);

}  // namespace trident::cli
