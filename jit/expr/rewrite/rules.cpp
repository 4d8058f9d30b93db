#include "jit/expr/rewrite/rules.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "jit/expr/rewrite/builtin_rule_ranking.h"
#include "jit/expr/rewrite/builtin_rule_texts.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/op_code.h"
#include "runtime/base/embedded_file.h"

namespace trident::expr::rewrite {
namespace {

struct TagRow {
  std::string_view name, meaning;
};
#define X(name, meaning) {#name, meaning},
constexpr TagRow kIeeeTags[] = {TRIDENT_IEEE_TAGS(X)};
constexpr TagRow kRealTags[] = {TRIDENT_REAL_TAGS(X)};
#undef X

Error expected_tag(const ir::SourceText& source, std::size_t at, std::string_view key, std::span<const TagRow> rows) {
  std::string known;
  for (const TagRow& r : rows) known += (known.empty() ? "" : "|") + std::string(r.name);
  return source.error(at, "expected \";; ieee=... real=...\" with " + std::string(key) + known);
}

// Finds `value`, which begins at `at`, among `rows`.
Result<std::size_t> parse_tag(const ir::SourceText& source, std::size_t at, std::string_view value,
                              std::string_view key, std::span<const TagRow> rows) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const TagRow& r) { return r.name == value; });
  if (row == rows.end()) return expected_tag(source, at, key, rows);
  return static_cast<std::size_t>(row - rows.begin());
}

// Parses both tags, in any order. Only a comment may follow: a condition there would not be checked.
Result<RuleSet::Tags> parse_tags(const ir::SourceText& source, std::size_t line_begin) {
  constexpr std::string_view kIeee = "ieee=", kReal = "real=";
  const std::size_t line_end = std::min(source.text().find('\n', line_begin), source.text().size());
  const std::string_view text = source.text().substr(0, line_end);
  std::size_t at = std::min(text.find(';', line_begin), line_end);
  if (!text.substr(at).starts_with(";;")) return expected_tag(source, at, kIeee, kIeeeTags);
  at += 2;
  std::optional<std::size_t> ieee, real;
  while (true) {
    at = std::min(text.find_first_not_of(" \t\r", at), line_end);
    if (at == line_end || text[at] == ';') break;
    const std::size_t end = std::min(text.find_first_of(" \t\r;", at), line_end);
    const std::string_view word = text.substr(at, end - at);
    if (!ieee && word.starts_with(kIeee)) {
      TRY(ieee, parse_tag(source, at + kIeee.size(), word.substr(kIeee.size()), kIeee, kIeeeTags));
    } else if (!real && word.starts_with(kReal)) {
      TRY(real, parse_tag(source, at + kReal.size(), word.substr(kReal.size()), kReal, kRealTags));
    } else if (ieee && real) {
      return source.error(
          at, "unexpected text after the tags: conditions stand before \";;\", a comment begins with \";\"");
    } else {
      return ieee ? expected_tag(source, at, kReal, kRealTags) : expected_tag(source, at, kIeee, kIeeeTags);
    }
    at = end;
  }
  if (!ieee) return expected_tag(source, line_end, kIeee, kIeeeTags);
  if (!real) return expected_tag(source, line_end, kReal, kRealTags);
  RuleSet::Tags tags;
  tags.ieee = static_cast<Ieee>(*ieee);
  tags.real = static_cast<Real>(*real);
  return tags;
}

// Sorts rules: those that the ranking names, in its order, then the others in theirs.
void rank(RuleSet& set) {
  std::map<std::string, std::size_t, std::less<>> numbers;
  for (std::size_t i = 0; i < set.rules.size(); ++i) numbers.emplace(set.rules[i].name, i);
  std::uint32_t next = 0;
  std::vector<bool> named(set.rules.size(), false);
  const std::string_view text = kBuiltinRuleRankings[0].text;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto found = numbers.find(text.substr(at, end - at));  // comments are no names
    at = end + 1;
    if (found == numbers.end() || named[found->second]) continue;
    named[found->second] = true;
    set.tags[found->second].rank = next++;
  }
  for (std::size_t i = 0; i < set.rules.size(); ++i)
    if (!named[i]) set.tags[i].rank = next++;
}

}  // namespace

Result<RuleSet> parse_rules(std::string_view text, std::string_view file) {
  RuleSet set;
  std::set<std::string, std::less<>> names;
  std::string_view theme = file.substr(file.find_last_of('/') + 1);
  theme = theme.substr(0, theme.find('.'));
  const ir::SourceText source(text, file);
  std::uint32_t number = 0;
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1) {
    ++number;
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r", at), text.size());
    if (begin == text.size() || text[begin] == '\n' || text[begin] == ';') continue;
    TRY(egraph::Rule rule, egraph::parse_rule(source, begin, op_rows()));
    TRY(RuleSet::Tags tags, parse_tags(source, begin));
    if (!names.insert(rule.name).second) return source.error(begin, "there are two rules \"" + rule.name + "\"");
    tags.theme = std::string(theme);
    tags.line = number;
    set.rules.push_back(std::move(rule));
    set.tags.push_back(std::move(tags));
  }
  return set;
}

std::string_view name_of(Ieee tag) {
  return kIeeeTags[static_cast<std::size_t>(tag)].name;
}
std::string_view name_of(Real tag) {
  return kRealTags[static_cast<std::size_t>(tag)].name;
}
std::string_view meaning_of(Ieee tag) {
  return kIeeeTags[static_cast<std::size_t>(tag)].meaning;
}
std::string_view meaning_of(Real tag) {
  return kRealTags[static_cast<std::size_t>(tag)].meaning;
}

const RuleSet& builtin_rules() {
  static const RuleSet kSet = [] {
    RuleSet all;
    for (const EmbeddedFile& file : kBuiltinRuleTexts) {
      Result<RuleSet> set = parse_rules(file.text, file.name);
      CHECK(set.ok());  // tests/rules parses them all
      std::move(set->rules.begin(), set->rules.end(), std::back_inserter(all.rules));
      std::move(set->tags.begin(), set->tags.end(), std::back_inserter(all.tags));
    }
    rank(all);
    return all;
  }();
  return kSet;
}

RuleSet with_builtin_rules(RuleSet own) {
  const RuleSet& builtin = builtin_rules();
  own.rules.insert(own.rules.end(), builtin.rules.begin(), builtin.rules.end());
  own.tags.insert(own.tags.end(), builtin.tags.begin(), builtin.tags.end());
  return own;
}

void keep_best(const RuleSet& set, std::size_t count, std::vector<bool>& enabled) {
  std::vector<std::size_t> order(set.rules.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return set.tags[a].rank < set.tags[b].rank; });
  for (const std::size_t i : order) {
    if (!enabled[i]) continue;
    if (count == 0)
      enabled[i] = false;
    else
      --count;
  }
}

std::vector<bool> allowed(const RuleSet& set, const Policy& policy) {
  std::vector<bool> enabled;
  for (std::size_t i = 0; i < set.rules.size(); ++i) {
    const RuleSet::Tags& t = set.tags[i];
    const bool same_bits = t.ieee == Ieee::exact;
    const bool derives = set.rules[i].left.root().op == op_code(Op::Diff);
    const bool holds = t.real != Real::partial && (t.ieee != Ieee::nan || derives);
    enabled.push_back(policy.kind == PolicyKind::exact     ? same_bits && holds
                      : policy.kind == PolicyKind::bounded ? holds
                                                           : true);
  }
  return enabled;
}

}  // namespace trident::expr::rewrite
