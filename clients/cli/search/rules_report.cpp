#include "clients/cli/search/rules_report.h"

#include <algorithm>

#include "jit/corpus/setting_names.h"
#include "jit/expr/rewrite/language.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"

namespace trident::cli {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Op;
using expr::rewrite::builtin_rules;
using expr::rewrite::RuleSet;
using rulecheck::CheckedRule;
using rulecheck::fault_text;
using rulecheck::point_text;
using rulecheck::rule_text;
using Kind = rulecheck::RuleVerdict::Kind;

constexpr const char* kKindNames[] = {"right", "wrong", "unchecked"};

std::string number_text(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", number);
  double shorter = 0;
  char brief[40];
  std::snprintf(brief, sizeof brief, "%.15g", number);
  std::sscanf(brief, "%lf", &shorter);
  return shorter == number ? brief : text;
}

// --- a law in infix --------------------------------------------------------------------------------------------------

// How tightly an operator binds: that of a leaf or a call is the greatest.
enum Binding : int { kLoosest, kOr, kAnd, kCompare, kSum, kProduct, kSign, kPower, kCall };

struct Infix {
  Op op;
  const char* sign;
  Binding binding;
};
constexpr Infix kInfix[] = {{Op::Add, " + ", kSum},     {Op::Sub, " - ", kSum},     {Op::Mul, "*", kProduct},
                            {Op::Div, "/", kProduct},   {Op::Lt, " < ", kCompare},  {Op::Le, " <= ", kCompare},
                            {Op::Gt, " > ", kCompare},  {Op::Ge, " >= ", kCompare}, {Op::Eq, " == ", kCompare},
                            {Op::Ne, " != ", kCompare}, {Op::And, " and ", kAnd},   {Op::Or, " or ", kOr}};

struct Piece {
  std::string text;
  Binding binding = kCall;
};

std::string within(const Piece& piece, int least) {
  return piece.binding >= least ? piece.text : "(" + piece.text + ")";
}

Piece piece_of(const PatternTerm& t, const std::vector<Piece>& made, const Rule& rule) {
  if (t.kind == PatternTerm::Kind::variable) return {rule.variables[t.variable]};
  if (t.kind == PatternTerm::Kind::number) return {number_text(t.number), t.number < 0 ? kSign : kCall};
  const Op op = static_cast<Op>(t.op);
  const Piece& a = made[t.child[0]];
  for (const Infix& row : kInfix) {
    if (row.op != op) continue;
    const int right = expr::has(op, expr::kAssociative) ? row.binding : row.binding + 1;
    return {within(a, row.binding) + row.sign + within(made[t.child[1]], right), row.binding};
  }
  if (op == Op::Neg) return {"-" + within(a, kSign + 1), kSign};
  if (op == Op::Not) return {"not " + within(a, kCall), kSign};
  if (op == Op::Recip) return {"1/" + within(a, kProduct + 1), kProduct};
  if (op == Op::Powi)
    return {within(a, kCall) + "^" + within({number_text(t.number), t.number < 0 ? kSign : kCall}, kCall), kPower};
  if (op == Op::Select)
    return {within(a, kOr) + " ? " + within(made[t.child[1]], kOr) + " : " + within(made[t.child[2]], kOr), kLoosest};
  if (op == Op::Cast) return {std::string(ir::name_of(static_cast<ir::Type>(t.sort))) + "(" + a.text + ")"};
  std::string text = std::string(expr::info(op).text) + "(" + a.text;
  for (std::uint8_t i = 1; i < expr::info(op).arity; ++i) text += ", " + made[t.child[i]].text;
  return {text + ")"};
}

std::string infix_of(const Pattern& side, const Rule& rule) {
  std::vector<Piece> made;
  for (const PatternTerm& t : side.terms) made.push_back(piece_of(t, made, rule));
  return made.back().text;
}

// --- rules -----------------------------------------------------------------------------------------------------------

std::vector<std::string> policies_of(std::size_t index) {
  std::vector<std::string> names;
  for (const char* name : {"exact", "bounded", "fast"}) {
    const auto policy = corpus::parse_policy(name);
    if (allowed(builtin_rules(), *policy)[index]) names.emplace_back(name);
  }
  return names;
}

std::string place_of(const RuleSet::Tags& tags) {
  return "jit/expr/rules/" + tags.theme + ".rules:" + std::to_string(tags.line);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Json rule_json(std::size_t index) {
  const Rule& rule = builtin_rules().rules[index];
  const RuleSet::Tags& tags = builtin_rules().tags[index];
  const auto rows = expr::rewrite::op_rows();
  Json conditions = Json::array();
  for (const egraph::Condition& c : rule.conditions) conditions.push_back(print(c, rule.variables));
  return {{"name", rule.name},
          {"theme", tags.theme},
          {"ieee", name_of(tags.ieee)},
          {"real", name_of(tags.real)},
          {"conditions", conditions},
          {"left", print(rule.left, rows, rule.variables)},
          {"right", print(rule.right, rows, rule.variables)}};
}

/// The numbers of the rules of a theme, and how many there are of each theme, in the order of the files.
struct Selection {
  std::vector<std::size_t> rules;
  std::vector<std::pair<std::string, std::size_t>> themes;
};
Selection select(const std::string& theme) {
  Selection s;
  const RuleSet& all = builtin_rules();
  for (std::size_t i = 0; i < all.rules.size(); ++i) {
    if (!theme.empty() && all.tags[i].theme != theme) continue;
    if (s.themes.empty() || s.themes.back().first != all.tags[i].theme) s.themes.emplace_back(all.tags[i].theme, 0);
    ++s.themes.back().second;
    s.rules.push_back(i);
  }
  return s;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

Json point_json(const std::vector<rulecheck::Binding>& point) {
  Json values = Json::object();
  for (const rulecheck::Binding& b : point) values[b.name] = b.value;
  return values;
}

std::size_t count_of(const std::vector<CheckedRule>& rules, Kind kind) {
  return static_cast<std::size_t>(
      std::count_if(rules.begin(), rules.end(), [&](const CheckedRule& r) { return r.verdict.kind == kind; }));
}

}  // namespace

std::string law_of(const Rule& rule) {
  std::string text = infix_of(rule.left, rule) + " = " + infix_of(rule.right, rule);
  for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
    std::string meaning = explain(rule.conditions[i], rule.variables);
    std::erase(meaning, '?');
    text += (i == 0 ? ", where " : " and ") + meaning;
  }
  return text;
}

std::string rule_list_text(const std::string& theme) {
  const RuleSet& all = builtin_rules();
  const Selection selection = select(theme);
  std::size_t width = 0;
  for (const std::size_t i : selection.rules) width = std::max(width, all.rules[i].name.size());
  std::string out;
  auto rule = selection.rules.begin();
  for (const auto& [name, count] : selection.themes) {
    out += name + ": " + counted(count, "rule") + "\n";
    for (std::size_t k = 0; k < count; ++k, ++rule) {
      const RuleSet::Tags& tags = all.tags[*rule];
      const std::string both = std::string(name_of(tags.ieee)) + " " + std::string(name_of(tags.real));
      out += "  " + padded(all.rules[*rule].name, width) + "  " + padded(both, sizeof "domain partial" - 1) + "  " +
             rule_text(all.rules[*rule]) + "\n";
    }
  }
  return out + counted(selection.rules.size(), "rule") + " in " + counted(selection.themes.size(), "theme") + "\n";
}

std::string rule_list_json(const std::string& theme) {
  const Selection selection = select(theme);
  Json rules = Json::array(), themes = Json::object();
  for (const std::size_t i : selection.rules) rules.push_back(rule_json(i));
  for (const auto& [name, count] : selection.themes) themes[name] = count;
  return Json{{"rules", rules}, {"themes", themes}, {"count", selection.rules.size()}}.dump(2) + "\n";
}

std::string rule_page_text(std::size_t index) {
  const Rule& rule = builtin_rules().rules[index];
  const RuleSet::Tags& tags = builtin_rules().tags[index];
  std::vector<std::pair<std::string, std::string>> lines = {
      {"rule", rule_text(rule)}, {"law", law_of(rule)}, {"place", place_of(tags)}};
  lines.emplace_back("ieee=" + std::string(name_of(tags.ieee)), meaning_of(tags.ieee));
  lines.emplace_back("real=" + std::string(name_of(tags.real)), meaning_of(tags.real));
  for (const egraph::Condition& c : rule.conditions)
    lines.emplace_back("if " + print(c, rule.variables), explain(c, rule.variables));
  lines.emplace_back("policies", "fires under " + joined(policies_of(index)));
  if (const auto example = rulecheck::example_of(rule))
    lines.emplace_back("example", point_text(example->point) + ": left " + example->left + ", right " + example->right);
  std::size_t width = 0;
  for (const auto& line : lines) width = std::max(width, line.first.size());
  std::string out = rule.name + " (" + tags.theme + ")\n";
  for (const auto& [name, text] : lines) out += "  " + padded(name, width) + "  " + text + "\n";
  return out;
}

std::string rule_page_json(std::size_t index) {
  const Rule& rule = builtin_rules().rules[index];
  const RuleSet::Tags& tags = builtin_rules().tags[index];
  Json page = rule_json(index);
  page["law"] = law_of(rule);
  page["file"] = "jit/expr/rules/" + tags.theme + ".rules";
  page["line"] = tags.line;
  page["policies"] = policies_of(index);
  page["meanings"] = {{"ieee", meaning_of(tags.ieee)}, {"real", meaning_of(tags.real)}};
  Json conditions = Json::object();
  for (const egraph::Condition& c : rule.conditions) conditions[print(c, rule.variables)] = explain(c, rule.variables);
  page["meanings"]["conditions"] = conditions;
  page["example"] = nullptr;
  if (const auto example = rulecheck::example_of(rule))
    page["example"] = {{"point", point_json(example->point)}, {"left", example->left}, {"right", example->right}};
  return page.dump(2) + "\n";
}

std::string check_text(const std::vector<CheckedRule>& rules, const rulecheck::RuleCheckOptions& options) {
  std::string out;
  for (const CheckedRule& rule : rules)
    if (rule.verdict.kind != Kind::right) out += fault_text(rule);
  out += counted(rules.size(), "rule") + ": " + std::to_string(count_of(rules, Kind::right)) + " right, " +
         std::to_string(count_of(rules, Kind::wrong)) + " wrong";
  if (const std::size_t unchecked = count_of(rules, Kind::unchecked))
    out += ", " + std::to_string(unchecked) + " not checked";
  std::uint64_t least = UINT64_MAX, most = 0;
  for (const CheckedRule& rule : rules) {
    if (rule.verdict.kind != Kind::right) continue;
    least = std::min(least, rule.verdict.compared), most = std::max(most, rule.verdict.compared);
  }
  out += " (";
  if (least <= most)
    out += "the right ones compared at " + (least < most ? std::to_string(least) + " to " : "") +
           counted(most, "point") + " each, ";
  return out + "seed " + std::to_string(options.seed) + ")\n";
}

std::string check_json(const std::vector<CheckedRule>& rules, const rulecheck::RuleCheckOptions& options) {
  Json rows = Json::array();
  for (const CheckedRule& rule : rules) {
    const rulecheck::RuleVerdict& v = rule.verdict;
    Json row = {{"name", rule.name},
                {"file", rule.file},
                {"line", rule.line},
                {"rule", rule.text},
                {"verdict", kKindNames[static_cast<std::size_t>(v.kind)]},
                {"compared_points", v.compared}};
    if (v.kind != Kind::right) row["fault"] = v.fault;
    if (v.kind == Kind::wrong) {
      row["point"] = point_json(v.point);
      row["left"] = v.left;
      row["right"] = v.right;
      row["hint"] = v.hint.empty() ? Json(nullptr) : Json(v.hint);
    }
    rows.push_back(row);
  }
  const Json all = {{"rules", rows},
                    {"summary",
                     {{"rules", rules.size()},
                      {"right", count_of(rules, Kind::right)},
                      {"wrong", count_of(rules, Kind::wrong)},
                      {"unchecked", count_of(rules, Kind::unchecked)},
                      {"points", options.points},
                      {"seed", options.seed}}}};
  return all.dump(2) + "\n";
}

}  // namespace trident::cli
