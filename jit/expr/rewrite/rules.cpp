#include "jit/expr/rewrite/rules.h"

#include <algorithm>
#include <set>

#include "jit/expr/rewrite/builtin_rule_texts.h"
#include "jit/expr/rewrite/language.h"

namespace trident::expr::rewrite {
namespace {

constexpr std::string_view kIeeeNames[] = {"exact", "zero", "nan", "round", "domain"};
constexpr std::string_view kRealNames[] = {"ok", "guard", "partial"};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The value of "key=value" in the text behind ";;".
std::string_view tag(std::string_view tags, std::string_view key) {
  const std::size_t at = tags.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = tags.substr(at + key.size());
  return rest.substr(0, rest.find_first_of(" \t\r"));
}

Result<RuleSet::Tags> parse_tags(std::string_view text) {
  RuleSet::Tags tags;
  const auto ieee = std::find(std::begin(kIeeeNames), std::end(kIeeeNames), tag(text, "ieee="));
  const auto real = std::find(std::begin(kRealNames), std::end(kRealNames), tag(text, "real="));
  if (ieee == std::end(kIeeeNames))
    return make_error(ErrorCode::kSyntaxError, "expected \";; ieee=exact|zero|nan|round|domain real=...\"");
  if (real == std::end(kRealNames)) return make_error(ErrorCode::kSyntaxError, "expected \"real=ok|guard|partial\"");
  tags.ieee = static_cast<Ieee>(ieee - std::begin(kIeeeNames));
  tags.real = static_cast<Real>(real - std::begin(kRealNames));
  return tags;
}

Error at_line(std::string_view file, std::uint32_t line, const Error& error) {
  return make_error(error.code, "%.*s:%u: %s", static_cast<int>(file.size()), file.data(), line, error.message.c_str());
}

}  // namespace

Result<RuleSet> parse_rules(std::string_view text, std::string_view file) {
  RuleSet set;
  std::set<std::string, std::less<>> names;
  std::string_view theme = file.substr(file.find_last_of('/') + 1);
  theme = theme.substr(0, theme.find('.'));
  std::uint32_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line[0] == ';') continue;
    Result<egraph::Rule> rule = egraph::parse_rule(line, op_rows());
    if (!rule.ok()) return at_line(file, number, rule.error());
    const std::size_t tags_at = line.find(";;");
    Result<RuleSet::Tags> tags = parse_tags(tags_at == std::string_view::npos ? "" : line.substr(tags_at));
    if (!tags.ok()) return at_line(file, number, tags.error());
    if (!names.insert(rule->name).second)
      return at_line(file, number,
                     make_error(ErrorCode::kSyntaxError, "there are two rules \"%s\"", rule->name.c_str()));
    tags->theme = std::string(theme);
    tags->line = number;
    set.rules.push_back(std::move(rule).value());
    set.tags.push_back(std::move(tags).value());
  }
  return set;
}

const RuleSet& builtin_rules() {
  static const RuleSet kSet = [] {
    RuleSet all;
    for (const BuiltinRuleText& text : kBuiltinRuleTexts) {
      Result<RuleSet> set = parse_rules(text.text, text.file);
      CHECK(set.ok());  // tests/rules parses them all
      std::move(set->rules.begin(), set->rules.end(), std::back_inserter(all.rules));
      std::move(set->tags.begin(), set->tags.end(), std::back_inserter(all.tags));
    }
    return all;
  }();
  return kSet;
}

std::vector<bool> allowed(const RuleSet& set, const Policy& policy) {
  std::vector<bool> enabled;
  for (const RuleSet::Tags& t : set.tags) {
    const bool same_bits = t.ieee == Ieee::exact;
    const bool holds = t.real != Real::partial;
    enabled.push_back(policy.kind == PolicyKind::exact     ? same_bits && holds
                      : policy.kind == PolicyKind::bounded ? holds
                                                           : true);
  }
  return enabled;
}

}  // namespace trident::expr::rewrite
