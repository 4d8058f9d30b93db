#include "jit/learn/scrambles.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "jit/egraph/neighbours.h"
#include "jit/expr/compact.h"
#include "jit/expr/rewrite/language.h"
#include "runtime/base/check.h"

namespace trident::learn {
namespace {

using expr::Expr;
using Random = std::mt19937_64;

constexpr std::size_t kVariables = 5;
constexpr std::uint64_t kMatchSteps = 40'000;
/// Ops that join parts, with the places of two operands.
constexpr const char* kJoints[] = {"(add %1 %2)", "(mul %1 %2)",          "(sub %1 %2)",
                                   "(div %1 %2)", "(add %1 (mul %2 %2))", "(mul %1 (add %2 1))",
                                   "(max %1 %2)", "(min %1 %2)",          "(sqrt (add (mul %1 %1) (mul %2 %2)))"};
constexpr const char* kCoats[] = {"(neg %1)", "(mul 2 %1)", "(mul %1 %1)", "(exp %1)",
                                  "(sin %1)", "(abs %1)",   "(sqrt %1)"};

/// Places of a table's elements, as rules of memory write them.
constexpr const char* kPlaces[] = {"index",
                                   "(add index 2)",
                                   "(sub index 1)",
                                   "(sub 7 index)",
                                   "(mul 2 index)",
                                   "(add index 0)",
                                   "(add (mul 3 index) 1)",
                                   "(mul 2 (add index 1))",
                                   "(add (shl index 1) 1)",
                                   "(sub (add index 3) 1)"};
/// Choices between two operands, with conditions that are true, or false, for all values of leaves.
constexpr const char* kChoices[] = {
    "(select (lt 1 2) %1 %2)",
    "(select (lt (mul %3 %3) -1) %1 %2)",
    "(select (and (lt 1 2) (lt %3 %4)) %1 %2)",
    "(select (or (lt %3 %4) (lt 2 1)) %1 %2)",
    "(select (and (lt %3 %4) (lt 2 1)) %1 %2)",
    "(select (or (le -3 (abs %3)) (lt %3 %4)) %1 %2)",
    "(select (xor (lt 1 2) (lt %3 %4)) %1 %2)",
    "(select (not (not (lt %3 %4))) %1 %2)",
    "(select (lt %3 %4) %1 %2)",
};
enum class Dress : std::uint8_t { none, types, memory, truths };
constexpr std::pair<Dress, const char*> kDresses[] = {
    {Dress::types, "types"}, {Dress::memory, "memory"}, {Dress::truths, "truths"}};
constexpr std::uint64_t kDressedOneIn = 4;

template <std::size_t N>
const char* any_of(const char* const (&from)[N], Random& random) {
  return from[random() % N];
}

/// Returns `text` with the parts in place of %1, %2, ...
std::string with_parts(std::string text, std::initializer_list<std::string> parts) {
  for (std::size_t at = 0; (at = text.find('%', at)) != std::string::npos;) {
    const std::string& part = parts.begin()[text[at + 1] - '1'];
    text.replace(at, 2, part);
    at += part.size();
  }
  return text;
}

bool asked_for(const ScrambleOptions& options, std::string_view theme) {
  return options.themes.empty() ||
         std::find(options.themes.begin(), options.themes.end(), theme) != options.themes.end();
}

bool dresses(std::string_view theme) {
  return std::any_of(std::begin(kDresses), std::end(kDresses), [&](const auto& d) { return d.second == theme; });
}

/// Draws the dress of a seed's expression. Drawn separately, so that the option changes no other expression.
Dress dress_of(std::uint64_t seed, const ScrambleOptions& options) {
  if (!options.dressed) return Dress::none;
  std::vector<Dress> asked;
  for (const auto& [dress, theme] : kDresses)
    if (asked_for(options, theme)) asked.push_back(dress);
  const std::uint64_t draw = Random(seed ^ 0xD4E55ED)();
  const bool alone = std::all_of(options.themes.begin(), options.themes.end(), dresses) && !options.themes.empty();
  if (asked.empty() || (!alone && draw % kDressedOneIn != 0)) return Dress::none;
  return asked[draw / kDressedOneIn % asked.size()];
}

class Composer {
 public:
  Composer(Random& random, const ScrambleOptions& options, Dress dress)
      : random_(random), options_(options), dress_(dress) {
    const expr::rewrite::RuleSet& set = expr::rewrite::builtin_rules();
    const bool dress_alone = dress != Dress::none && std::all_of(options.themes.begin(), options.themes.end(), dresses);
    for (std::size_t r = 0; r < set.rules.size(); ++r) {
      const std::string& theme = set.tags[r].theme;
      if ((dress_alone || asked_for(options, theme)) && !set.rules[r].typed && !set.rules[r].mixed)
        of_theme_[theme].push_back(r);
    }
  }

  std::string leaf() {
    const std::uint64_t draw = random_() % 10;
    if (draw == 0) return std::to_string(1 + random_() % 4);
    const std::string variable(1, static_cast<char>('a' + random_() % kVariables));
    if (dress_ != Dress::none) variables_.insert("(" + variable + (dress_ == Dress::types ? ":f32)" : ":f64)"));
    if (dress_ == Dress::types) return "(f64 " + variable + ")";
    if (dress_ != Dress::memory || draw >= 6) return variable;
    variables_.insert("(table t:f64)");
    return std::string("(gather t ") + any_of(kPlaces, random_) + ")";
  }

  /// Returns a side of a rule over leaves, or over `inner`.
  std::string side(const std::string& inner) {
    if (of_theme_.empty()) return leaf();
    auto theme = of_theme_.begin();
    std::advance(theme, static_cast<std::ptrdiff_t>(random_() % of_theme_.size()));
    themes_.push_back(theme->first);
    const expr::rewrite::RuleSet& set = expr::rewrite::builtin_rules();
    const egraph::Rule& rule = set.rules[theme->second[random_() % theme->second.size()]];
    const egraph::Pattern& pattern = random_() % 3 == 0 ? rule.right : rule.left;
    std::string text = egraph::print(pattern, expr::rewrite::op_rows(), rule.variables);
    const std::size_t special =
        inner.empty() || rule.variables.empty() ? rule.variables.size() : random_() % rule.variables.size();
    // Longer names first: ?a begins ?ab.
    std::vector<std::size_t> order(rule.variables.size());
    for (std::size_t v = 0; v < order.size(); ++v) order[v] = v;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return rule.variables[a].size() > rule.variables[b].size(); });
    for (const std::size_t v : order) {
      const std::string name = "?" + rule.variables[v], with = v == special ? inner : leaf();
      for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += with.size())
        text.replace(at, name.size(), with);
    }
    return text;
  }

  /// Composes an expression; a dressed one declares the types of its variables.
  std::string compose() {
    const std::string body = compose_body();
    if (dress_ == Dress::none) return body;
    std::string kernel = "(kernel k :vars (";
    for (const std::string& variable : variables_) kernel += variable + " ";
    return kernel + ") :body (outputs (out " + body + ")))";
  }
  std::vector<std::string>& themes() { return themes_; }

 private:
  std::string compose_body() {
    const std::uint64_t parts = 1 + random_() % options_.parts_max;
    std::string text;
    for (std::uint64_t p = 0; p < parts; ++p) {
      if (dress_ == Dress::truths && !text.empty() && random_() % 3 == 0) {
        text = chosen(text, side(""));
        continue;
      }
      switch (text.empty() ? 0 : random_() % 4) {
        case 0: text = text.empty() ? side("") : with_parts(any_of(kJoints, random_), {text, side("")}); break;
        case 1: text = with_parts(any_of(kJoints, random_), {side(""), text}); break;
        case 2: text = with_parts(any_of(kCoats, random_), {text}); break;
        default: text = side(text);
      }
    }
    if (dress_ == Dress::truths && parts == 1) text = chosen(text, leaf());
    return dress_ == Dress::types ? "(f32 " + text + ")" : text;
  }
  /// Chooses one of both by a condition about leaves.
  std::string chosen(const std::string& first, const std::string& second) {
    return with_parts(any_of(kChoices, random_), {first, second, leaf(), leaf()});
  }

  Random& random_;
  const ScrambleOptions& options_;
  std::map<std::string, std::vector<std::size_t>> of_theme_;
  std::vector<std::string> themes_;
  std::set<std::string> variables_;  ///< variables of a dressed expression
  Dress dress_;
};

/// Fills in `expr` and `steps`, given `good`.
std::optional<Scramble> with_random_rewrites(Scramble out, Random& random, const ScrambleOptions& options) {
  auto term = expr::rewrite::to_term(out.good);
  if (!term.ok() || term->nodes.size() > options.nodes_max) return std::nullopt;
  expr::rewrite::RewriteOptions how;
  how.policy.kind = expr::PolicyKind::fast;
  const expr::rewrite::Rules rules(out.good, how);
  CHECK(options.steps_min <= options.steps_max);
  const std::uint64_t steps =
      options.steps_max == 0 ? 0 : options.steps_min + random() % (options.steps_max - options.steps_min + 1);
  egraph::Term at = *std::move(term);
  for (; out.steps < steps; ++out.steps) {
    std::vector<egraph::Term> next = egraph::neighbours(rules.space(), at, kMatchSteps);
    std::erase_if(next, [&](const egraph::Term& t) { return t.nodes.size() > options.nodes_max; });
    if (next.empty()) break;
    // Takes the larger of two, which is mostly worse.
    std::size_t a = random() % next.size();
    const std::size_t b = random() % next.size();
    if (next[b].nodes.size() > next[a].nodes.size()) a = b;
    at = std::move(next[a]);
  }
  out.expr = expr::rewrite::to_expr(at, out.good);
  expr::drop_unused(out.expr);
  if (!expr::check(out.expr).ok()) return std::nullopt;
  return out;
}

Random random_of(std::uint64_t seed) {
  return Random(seed * 0x9E37'79B9'7F4A'7C15u + 1);
}

}  // namespace

std::optional<Scramble> worsened(const expr::Expr& good, std::uint64_t seed, const ScrambleOptions& options) {
  if (expr::has_derivatives(good)) return std::nullopt;
  Random random = random_of(seed);
  Scramble out;
  out.good = good;
  return with_random_rewrites(std::move(out), random, options);
}

std::optional<Scramble> scrambled(std::uint64_t seed, const ScrambleOptions& options) {
  Random random = random_of(seed);
  const Dress dress = dress_of(seed, options);
  Composer composer(random, options, dress);
  auto parsed = expr::parse_sexpr(composer.compose());
  if (!parsed.ok() || expr::has_derivatives(*parsed)) return std::nullopt;
  Scramble out;
  out.themes = std::move(composer.themes());
  for (const auto& [worn, theme] : kDresses)
    if (worn == dress) out.themes.emplace_back(theme);
  // Half of the variables are positive, as lengths and masses are.
  for (expr::Variable& v : parsed->variables)
    if (random() % 2 == 0 && !v.is_table()) v.lo = 0.01, v.hi = 100;
  if (!expr::check(*parsed).ok()) return std::nullopt;
  out.good = std::move(*parsed);
  return with_random_rewrites(std::move(out), random, options);
}

}  // namespace trident::learn
