#include "jit/learn/scrambles.h"

#include <algorithm>
#include <map>
#include <random>

#include "jit/egraph/neighbours.h"
#include "jit/expr/compact.h"
#include "jit/expr/rewrite/language.h"

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

template <std::size_t N>
const char* any_of(const char* const (&from)[N], Random& random) {
  return from[random() % N];
}

std::string with_parts(std::string text, const std::string& first, const std::string& second) {
  for (std::size_t at = 0; (at = text.find('%', at)) != std::string::npos;) {
    const std::string& part = text[at + 1] == '1' ? first : second;
    text.replace(at, 2, part);
    at += part.size();
  }
  return text;
}

class Composer {
 public:
  Composer(Random& random, const ScrambleOptions& options) : random_(random), options_(options) {
    const expr::rewrite::RuleSet& set = expr::rewrite::builtin_rules();
    for (std::size_t r = 0; r < set.rules.size(); ++r) {
      const std::string& theme = set.tags[r].theme;
      const bool asked = options.themes.empty() ||
                         std::find(options.themes.begin(), options.themes.end(), theme) != options.themes.end();
      if (asked && !set.rules[r].typed && !set.rules[r].mixed) of_theme_[theme].push_back(r);
    }
  }

  std::string leaf() {
    const std::uint64_t draw = random_() % 10;
    if (draw == 0) return std::to_string(1 + random_() % 4);
    return std::string(1, static_cast<char>('a' + random_() % kVariables));
  }

  /// A side of a rule over leaves, or over what `inner` is.
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

  std::string compose() {
    const std::uint64_t parts = 1 + random_() % options_.parts_max;
    std::string text;
    for (std::uint64_t p = 0; p < parts; ++p) {
      switch (text.empty() ? 0 : random_() % 4) {
        case 0: text = text.empty() ? side("") : with_parts(any_of(kJoints, random_), text, side("")); break;
        case 1: text = with_parts(any_of(kJoints, random_), side(""), text); break;
        case 2: text = with_parts(any_of(kCoats, random_), text, ""); break;
        default: text = side(text);
      }
    }
    return text;
  }
  std::vector<std::string>& themes() { return themes_; }

 private:
  Random& random_;
  const ScrambleOptions& options_;
  std::map<std::string, std::vector<std::size_t>> of_theme_;
  std::vector<std::string> themes_;
};

/// Fills in `expr` and `steps` of what has a `good`.
std::optional<Scramble> with_random_rewrites(Scramble out, Random& random, const ScrambleOptions& options) {
  auto term = expr::rewrite::to_term(out.good);
  if (!term.ok() || term->nodes.size() > options.nodes_max) return std::nullopt;
  expr::rewrite::RewriteOptions how;
  how.policy.kind = expr::PolicyKind::fast;
  const expr::rewrite::Rules rules(out.good, how);
  const std::uint64_t steps = options.steps_max == 0 ? 0 : random() % (options.steps_max + 1);
  egraph::Term at = *std::move(term);
  for (; out.steps < steps; ++out.steps) {
    std::vector<egraph::Term> next = egraph::neighbours(rules.space(), at, kMatchSteps);
    std::erase_if(next, [&](const egraph::Term& t) { return t.nodes.size() > options.nodes_max; });
    if (next.empty()) break;
    // Of two the larger: worse, mostly.
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
  Composer composer(random, options);
  auto parsed = expr::parse_sexpr(composer.compose());
  if (!parsed.ok() || expr::has_derivatives(*parsed)) return std::nullopt;
  Scramble out;
  out.themes = std::move(composer.themes());
  // Half of the variables are positive, as lengths and masses are.
  for (expr::Variable& v : parsed->variables)
    if (random() % 2 == 0) v.lo = 0.01, v.hi = 100;
  if (!expr::check(*parsed).ok()) return std::nullopt;
  out.good = std::move(*parsed);
  return with_random_rewrites(std::move(out), random, options);
}

}  // namespace trident::learn
