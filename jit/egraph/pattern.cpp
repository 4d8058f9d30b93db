#include "jit/egraph/pattern.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace trident::egraph {
namespace {

constexpr double kHalfPi = 1.5707963267948966;

struct ConditionRow {
  std::string_view text;
  std::uint8_t arguments;
  std::string_view meaning;
};
constexpr ConditionRow kConditions[] = {
#define X(name, text, arguments, meaning) {text, arguments, meaning},
    TRIDENT_EGRAPH_CONDITIONS(X)
#undef X
};

class Reader {
 public:
  /// Reads bytes [begin, end) of `source`.
  Reader(const ir::SourceText& source, std::size_t begin, std::size_t end, std::span<const OpRow> ops,
         std::vector<std::string>& variables)
      : source_(source), text_(source.text().substr(0, end)), ops_(ops), variables_(variables), at_(begin) {}

  Result<Pattern> pattern(bool closed) {
    Pattern pattern;
    TRY_VOID(term(pattern, closed, 0));
    return pattern;
  }

  Result<std::vector<Condition>> conditions() {
    std::vector<Condition> found;
    do {
      TRY(const Condition condition, condition_at());
      found.push_back(condition);
    } while (take(','));
    return found;
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string_view word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view(" \t\r(),:;=>").find(text_[at_]) == std::string_view::npos) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool at_end() {
    skip();
    return at_ == text_.size();
  }
  Error error(std::string_view what) const { return source_.error(at_, what); }
  /// Makes an error at the beginning of a word that was read.
  Error error_at(std::string_view word, std::string_view what) const {
    return source_.error(static_cast<std::size_t>(word.data() - text_.data()), what);
  }

 private:
  static constexpr std::uint32_t kNesting = 32;

  Result<std::uint8_t> push(Pattern& pattern, const PatternTerm& term) {
    if (pattern.terms.size() == kPatternTermsMax) return error(fmt::format("more than {} terms", kPatternTermsMax));
    pattern.terms.push_back(term);
    return static_cast<std::uint8_t>(pattern.terms.size() - 1);
  }

  Result<std::uint8_t> variable(std::string_view name, bool closed) {
    const auto found = std::find(variables_.begin(), variables_.end(), name);
    if (found != variables_.end()) return static_cast<std::uint8_t>(found - variables_.begin());
    if (closed) return error_at(name, fmt::format("?{} is not on the left side", name));
    if (variables_.size() == kRuleVariablesMax) return error(fmt::format("more than {} variables", kRuleVariablesMax));
    variables_.emplace_back(name);
    return static_cast<std::uint8_t>(variables_.size() - 1);
  }

  static bool to_number(std::string_view text, double& value) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc() && end == text.data() + text.size();
  }

  Result<std::uint8_t> term(Pattern& pattern, bool closed, std::uint32_t depth) {
    if (depth > kNesting) return error("nested too deeply");
    PatternTerm made;
    if (take('(')) return node(pattern, closed, depth);
    if (take('?')) {
      made.kind = PatternTerm::Kind::variable;
      const std::string_view name = word();
      if (name.empty()) return error("a variable needs a name");
      TRY(made.variable, variable(name, closed));
      return push(pattern, made);
    }
    const std::string_view number = word();
    if (!to_number(number, made.number)) return error_at(number, fmt::format("expected a term, found \"{}\"", number));
    made.kind = PatternTerm::Kind::number;
    return push(pattern, made);
  }

  Result<std::uint8_t> node(Pattern& pattern, bool closed, std::uint32_t depth) {
    PatternTerm made;
    made.kind = PatternTerm::Kind::node;
    const std::string_view name = word();
    for (const ir::Type type : {ir::Type::f32, ir::Type::f64, ir::Type::i32, ir::Type::i64})
      if (name == ir::name_of(type)) made.sort = static_cast<std::uint8_t>(type);
    const std::string_view op = made.sort == kNoSort ? name : "cast";
    const auto row = std::find_if(ops_.begin(), ops_.end(), [&](const OpRow& r) { return r.text == op; });
    if (row == ops_.end()) return error_at(name, fmt::format("there is no op \"{}\"", name));
    made.op = static_cast<std::uint8_t>(row - ops_.begin());
    for (std::uint8_t i = 0; i < row->children; ++i) {
      if (take(')')) return error(fmt::format("\"{}\" takes {} operands", name, row->children));
      TRY(made.child[i], term(pattern, closed, depth + 1));
    }
    if (!take(')')) {
      if (!to_number(word(), made.number) || !take(')'))
        return error(fmt::format("\"{}\" takes {} operands, then \")\"", name, row->children));
      made.has_payload = true;
    }
    return push(pattern, made);
  }

  Result<Condition> condition_at() {
    const std::string_view name = word();
    Condition made;
    const auto row = std::find_if(std::begin(kConditions), std::end(kConditions),
                                  [&](const ConditionRow& r) { return r.text == name; });
    if (row == std::end(kConditions)) return error_at(name, fmt::format("there is no condition \"{}\"", name));
    made.kind = static_cast<ConditionKind>(row - std::begin(kConditions));
    if (!take('(')) return error("expected \"(\"");
    for (std::uint8_t i = 0; i < row->arguments; ++i) {
      if (i > 0 && !take(',')) return error("expected \",\"");
      if (!take('?')) return error("conditions are about variables");
      TRY(made.variable[i], variable(word(), true));
    }
    if (!take(')')) return error("expected \")\"");
    return made;
  }

  const ir::SourceText& source_;
  std::string_view text_;
  std::span<const OpRow> ops_;
  std::vector<std::string>& variables_;
  std::size_t at_;
};

/// Source of a value's sort: a variable, a fixed sort, or unknown.
struct SortSource {
  std::uint8_t variable = kSortedByRoot, fixed = kNoSort;
  bool known = false;
};

// Sets the sort of each number: that of the other operands, if it is one of several of one sort; else that of their
// result; else, where no operand has a sort, the root's.
void say_sorts_of_numbers(Pattern& pattern, std::span<const OpRow> ops) {
  std::vector<PatternTerm>& terms = pattern.terms;
  std::vector<SortSource> sorts(terms.size());
  // The operands of one sort begin with the one whose sort the value has.
  const auto of_operands = [&](const PatternTerm& t) {
    const OpRow& row = ops[t.op];
    if (row.number_sort != OpRow::kSiblingsSort) return SortSource{kSortedByRoot, row.number_sort, true};
    for (std::uint8_t c = row.sort_child; c < row.children; ++c)
      if (sorts[t.child[c]].known) return sorts[t.child[c]];
    return SortSource{};
  };
  const auto makes_its_own = [&](const PatternTerm& t) { return t.sort != kNoSort || ops[t.op].sort != kNoSort; };
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const PatternTerm& t = terms[i];
    if (t.kind == PatternTerm::Kind::variable) sorts[i] = {t.variable, kNoSort, true};
    if (t.kind != PatternTerm::Kind::node) continue;
    if (makes_its_own(t))
      sorts[i] = {kSortedByRoot, t.sort != kNoSort ? t.sort : ops[t.op].sort, true};
    else if (ops[t.op].children > 0 && sorts[t.child[ops[t.op].sort_child]].known)
      sorts[i] = sorts[t.child[ops[t.op].sort_child]];
    else if (ops[t.op].number_sort == OpRow::kSiblingsSort)
      sorts[i] = of_operands(t);
  }
  if (!sorts.back().known) sorts.back() = {kSortedByRoot, kNoSort, true};
  for (std::size_t i = terms.size(); i-- > 0;) {
    const PatternTerm& t = terms[i];
    if (t.kind != PatternTerm::Kind::node) continue;
    const OpRow& row = ops[t.op];
    SortSource operands = of_operands(t);
    if (!operands.known && !makes_its_own(t)) operands = sorts[i];
    for (std::uint8_t c = 0; c < row.children; ++c) {
      SortSource& child = sorts[t.child[c]];
      if (!child.known) child = operands.known ? operands : SortSource{kSortedByRoot, kNoSort, true};
    }
  }
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (terms[i].kind == PatternTerm::Kind::number)
      terms[i].sort = sorts[i].fixed, terms[i].sorted_by = sorts[i].variable;
}

}  // namespace

std::uint8_t Pattern::depth() const {
  std::vector<std::uint8_t> depths(terms.size(), 0);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const PatternTerm& t = terms[i];
    if (t.kind != PatternTerm::Kind::node) continue;
    // A leaf op has no children; its unused slots name term 0, which may come later: bounded by i.
    for (const std::uint8_t c : t.child) {
      if (c < i) depths[i] = std::max(depths[i], depths[c]);
    }
    ++depths[i];
  }
  return depths.back();
}

constexpr double kStrideMax = 65'536;

bool holds(ConditionKind kind, const Facts& a, const Facts& b) {
  switch (kind) {
    case ConditionKind::nonzero: return a.is_nonzero();
    case ConditionKind::positive: return a.lo > 0 || (a.lo >= 0 && a.nonzero);
    case ConditionKind::nonnegative: return a.lo >= 0;
    case ConditionKind::negative: return a.hi < 0 || (a.hi <= 0 && a.nonzero);
    case ConditionKind::nonpositive: return a.hi <= 0;
    case ConditionKind::finite: return a.finite();
    case ConditionKind::number: return !a.may_be_nan;
    case ConditionKind::integral: return a.integral;
    case ConditionKind::constant: return a.constant;
    case ConditionKind::integer_two_up: return a.constant && a.lo >= 2 && a.lo == std::floor(a.lo);
    case ConditionKind::within_one: return a.lo >= -1 && a.hi <= 1;
    case ConditionKind::at_least_one: return a.lo >= 1;
    case ConditionKind::within_half_pi: return a.lo >= -kHalfPi && a.hi <= kHalfPi;
    case ConditionKind::symbolic: return a.variables != 0;
    case ConditionKind::of_f32:
    case ConditionKind::of_f64:
    case ConditionKind::of_i32:
    case ConditionKind::of_b32: return a.sort == static_cast<std::uint8_t>(*type_of(kind));
    case ConditionKind::uniform: return a.stage == 0;
    case ConditionKind::independent: return (a.variables & b.variables) == 0;
    case ConditionKind::stride:
      return a.constant && a.lo != 0 && a.lo == std::floor(a.lo) && std::fabs(a.lo) <= kStrideMax;
    case ConditionKind::le: return a.hi <= b.lo;
  }
  return false;
}

std::optional<ir::Type> type_of(ConditionKind kind) {
  if (kind == ConditionKind::of_f32) return ir::Type::f32;
  if (kind == ConditionKind::of_f64) return ir::Type::f64;
  if (kind == ConditionKind::of_i32) return ir::Type::i32;
  if (kind == ConditionKind::of_b32) return ir::Type::b32;
  return std::nullopt;
}

std::string_view name_of(ConditionKind kind) {
  return kConditions[static_cast<std::size_t>(kind)].text;
}

std::uint8_t arguments_of(ConditionKind kind) {
  return kConditions[static_cast<std::size_t>(kind)].arguments;
}

std::string print(const Condition& condition, std::span<const std::string> variables) {
  std::string text = fmt::format("{}(?{}", name_of(condition.kind), variables[condition.variable[0]]);
  if (arguments_of(condition.kind) == 2) text += fmt::format(", ?{}", variables[condition.variable[1]]);
  return text + ")";
}

std::string explain(const Condition& condition, std::span<const std::string> variables) {
  const ConditionRow& row = kConditions[static_cast<std::size_t>(condition.kind)];
  std::string text = fmt::format("?{} {}", variables[condition.variable[0]], row.meaning);
  if (row.arguments == 2) text += fmt::format(" ?{}", variables[condition.variable[1]]);
  return text;
}

Result<Pattern> parse_pattern(std::string_view text, std::span<const OpRow> ops, std::vector<std::string>& variables,
                              bool closed) {
  const ir::SourceText source(text);
  Reader reader(source, 0, text.size(), ops, variables);
  TRY(Pattern pattern, reader.pattern(closed));
  if (!reader.at_end()) return reader.error("unexpected text after the term");
  return pattern;
}

Result<Rule> parse_rule(std::string_view text, std::span<const OpRow> ops) {
  return parse_rule(ir::SourceText(text), 0, ops);
}

Result<Rule> parse_rule(const ir::SourceText& source, std::size_t begin, std::span<const OpRow> ops) {
  const std::size_t end = std::min(source.text().find_first_of(";\n", begin), source.text().size());
  Rule rule;
  Reader reader(source, begin, end, ops, rule.variables);
  rule.name = reader.word();
  if (rule.name.empty() || !reader.take(':')) return reader.error("expected \"name:\"");
  TRY(rule.left, reader.pattern(false));
  if (rule.left.root().kind != PatternTerm::Kind::node) return reader.error("the left side must be an operation");
  if (!reader.take("=>")) return reader.error("expected \"=>\"");
  TRY(rule.right, reader.pattern(true));
  if (reader.take("if")) {
    TRY(rule.conditions, reader.conditions());
  }
  if (!reader.at_end()) return reader.error("unexpected text after the rule");
  for (Pattern* side : {&rule.left, &rule.right}) say_sorts_of_numbers(*side, ops);
  for (const PatternTerm& t : rule.left.terms)
    rule.mixed = rule.mixed || (t.kind == PatternTerm::Kind::node && ops[t.op].number_sort != OpRow::kSiblingsSort);
  std::vector<bool> typed(rule.variables.size(), false);
  for (const Condition& c : rule.conditions)
    if (type_of(c.kind)) typed[c.variable[0]] = rule.typed = true;
  if (const auto at = std::find(typed.begin(), typed.end(), false); rule.typed && at != typed.end())
    return reader.error(fmt::format("the type of ?{} is missing: a rule about types gives the type of every variable",
                                    rule.variables[static_cast<std::size_t>(at - typed.begin())]));
  return rule;
}

std::string print(const Pattern& pattern, std::span<const OpRow> ops, std::span<const std::string> variables) {
  std::vector<std::string> texts;
  for (const PatternTerm& t : pattern.terms) {
    switch (t.kind) {
      case PatternTerm::Kind::variable: texts.push_back("?" + variables[t.variable]); break;
      case PatternTerm::Kind::number: texts.push_back(fmt::format("{}", t.number)); break;
      case PatternTerm::Kind::node: {
        const bool cast = t.sort != kNoSort;
        std::string text = "(" + std::string(cast ? ir::name_of(static_cast<ir::Type>(t.sort)) : ops[t.op].text);
        for (std::uint8_t i = 0; i < ops[t.op].children; ++i) text += " " + texts[t.child[i]];
        if (t.has_payload) text += fmt::format(" {}", t.number);
        texts.push_back(text + ")");
        break;
      }
    }
  }
  return texts.back();
}

}  // namespace trident::egraph
