#include "jit/rulecheck/edges.h"

#include <algorithm>
#include <random>

#include "jit/rulecheck/rational.h"
#include "jit/rulecheck/strict_value.h"

namespace trident::rulecheck {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Op;
using expr::rewrite::Real;

using Values = std::vector<mpq_class>;

bool met_exactly(const Condition& c, const Values& at) {
  const mpq_class& a = at[c.variable[0]];
  const bool whole = a.get_den() == 1;
  switch (c.kind) {
    case ConditionKind::nonzero: return a != 0;
    case ConditionKind::positive: return a > 0;
    case ConditionKind::nonnegative: return a >= 0;
    case ConditionKind::negative: return a < 0;
    case ConditionKind::nonpositive: return a <= 0;
    case ConditionKind::integral: return whole;
    case ConditionKind::integer_two_up: return whole && a >= 2;
    case ConditionKind::within_one: return a >= -1 && a <= 1;
    case ConditionKind::at_least_one: return a >= 1;
    case ConditionKind::within_half_pi:
      return a >= mpq_class(-1.5707963267948966) && a <= mpq_class(1.5707963267948966);
    case ConditionKind::le: return a <= at[c.variable[1]];
    case ConditionKind::stride: return whole && a != 0;
    case ConditionKind::finite:
    case ConditionKind::number:
    case ConditionKind::constant:
    case ConditionKind::symbolic:
    case ConditionKind::uniform:
    case ConditionKind::of_f32:
    case ConditionKind::of_f64:
    case ConditionKind::of_i32:
    case ConditionKind::of_b32:
    case ConditionKind::independent: return true;
  }
  return false;
}

// An edge: where a term changes its kind, at a zero or at every integer of another term.
struct Edge {
  const Pattern* side = nullptr;
  std::size_t term = 0;
  enum class Of : std::uint8_t { first, second, difference, ratio, twice } of = Of::first;
  bool integers = false;
};

std::vector<Edge> edges_of(const Rule& rule) {
  std::vector<Edge> found;
  for (const Pattern* side : {&rule.left, &rule.right}) {
    for (std::size_t i = 0; i < side->terms.size(); ++i) {
      if (side->terms[i].kind != PatternTerm::Kind::node) continue;
      const Op op = static_cast<Op>(side->terms[i].op);
      const auto add = [&](Edge::Of of, bool integers) { found.push_back({side, i, of, integers}); };
      if (op == Op::Div || op == Op::Copysign) add(Edge::Of::second, false);
      if (op == Op::Recip || op == Op::Abs || op == Op::Sign || op == Op::Powi) add(Edge::Of::first, false);
      if (expr::info(op).signature == expr::Signature::Compare || op == Op::Min || op == Op::Max)
        add(Edge::Of::difference, false);
      const bool halves = op == Op::Rint || op == Op::Round;
      if (halves) add(Edge::Of::twice, true);
      if (expr::rounds_to_integer(op) && !halves) add(Edge::Of::first, true);
      if (op == Op::Fmod) add(Edge::Of::ratio, true), add(Edge::Of::second, false);
    }
  }
  return found;
}

class EdgeSearch {
 public:
  EdgeSearch(const Rule& rule, const expr::rewrite::RuleSet::Tags& tags, const Sorts& sorts, std::uint64_t seed)
      : rule_(rule), tags_(tags), sorts_(sorts), random_(seed), edges_(edges_of(rule)) {
    for (const Pattern* side : {&rule.left, &rule.right})
      for (const PatternTerm& t : side->terms)
        if (t.kind == PatternTerm::Kind::number) constants_.push_back(fraction_of(t.number, sorts));
    alone_.resize(rule.variables.size());
    for (const Edge& edge : edges_)
      if (const std::optional<std::size_t> v = only_variable(edge); v && !sorts.truth[*v]) alone_[*v].push_back(&edge);
  }

  std::optional<RuleVerdict> run(std::uint64_t tries) {
    for (std::uint64_t i = 0; i < tries && !edges_.empty(); ++i) {
      Values at;
      for (std::size_t v = 0; v < rule_.variables.size(); ++v)
        at.push_back(sorts_.truth[v] ? mpq_class(static_cast<long>(random_() % 2)) : fraction());
      // Every other time, some variables are at edges that depend on them alone.
      for (std::size_t w = 0; w < at.size() && i % 2 == 0; ++w) {
        if (alone_[w].empty() || random_() % 4 == 0) continue;
        if (const auto root = solved(*alone_[w][random_() % alone_[w].size()], at, w)) at[w] = *root;
      }
      const std::size_t v = random_() % at.size();
      if (sorts_.truth[v]) continue;
      const Edge& edge = edges_[random_() % edges_.size()];
      const std::optional<mpq_class> root = solved(edge, at, v);
      if (!root) continue;
      for (const mpq_class& beside : beside_) {
        at[v] = *root + beside;
        if (std::optional<RuleVerdict> fault = fault_at(at)) return fault;
      }
    }
    return std::nullopt;
  }

 private:
  mpq_class fraction() {
    static constexpr long kDenominators[] = {1, 1, 1, 2, 3, 4, 5, 7, 10};
    static constexpr long kScales[] = {1, 1, 1, 1, 1, 1, 1000, 1'000'000'000};
    if (!constants_.empty() && random_() % 8 == 0) return constants_[random_() % constants_.size()];
    mpq_class made(static_cast<long>(random_() % 41) - 20, kDenominators[random_() % std::size(kDenominators)]);
    made.canonicalize();
    return made * kScales[random_() % std::size(kScales)];
  }

  static std::optional<std::size_t> only_variable(const Edge& edge) {
    std::optional<std::size_t> found;
    for (const PatternTerm& t : term_alone(*edge.side, static_cast<std::uint8_t>(edge.term)).terms) {
      if (t.kind != PatternTerm::Kind::variable) continue;
      if (found && *found != t.variable) return std::nullopt;
      found = t.variable;
    }
    return found;
  }

  std::optional<mpq_class> at_edge(const Edge& edge, const Values& at) const {
    const std::vector<RationalValue> values = rational_values(*edge.side, at, sorts_);
    const PatternTerm& t = edge.side->terms[edge.term];
    const RationalValue &a = values[t.child[0]], &b = values[t.child[edge.of == Edge::Of::first ? 0 : 1]];
    if (edge.of == Edge::Of::twice) return a.is_number() ? std::optional(mpq_class(2 * a.number)) : std::nullopt;
    if (!a.is_number() || !b.is_number()) return std::nullopt;
    if (edge.of == Edge::Of::difference) return mpq_class(a.number - b.number);
    if (edge.of == Edge::Of::ratio) return b.number == 0 ? std::nullopt : std::optional(mpq_class(a.number / b.number));
    return edge.of == Edge::Of::first ? a.number : b.number;
  }

  // Solves for the value of variable `v` that brings a term to its edge, if the term is linear in it.
  std::optional<mpq_class> solved(const Edge& edge, Values at, std::size_t v) {
    const mpq_class start = at[v];
    std::optional<mpq_class> values[3];
    for (int i = 0; i < 3; ++i) {
      at[v] = start + i;
      if (values[i] = at_edge(edge, at); !values[i]) return std::nullopt;
    }
    const mpq_class slope = *values[1] - *values[0];
    if (slope == 0 || *values[2] - *values[1] != slope) return std::nullopt;
    mpq_class target = 0;
    if (edge.integers) target = floor_of(*values[0]) + static_cast<long>(random_() % 5) - 2;
    return mpq_class(start + (target - *values[0]) / slope);
  }

  std::optional<RuleVerdict> fault_at(const Values& at) const {
    for (const Condition& c : rule_.conditions)
      if (!met_exactly(c, at)) return std::nullopt;
    const RationalValue l = rational_values(rule_.left, at, sorts_).back();
    const RationalValue r = rational_values(rule_.right, at, sorts_).back();
    using Kind = RationalValue::Kind;
    if (l.kind == Kind::open || r.kind == Kind::open) return std::nullopt;
    if (l.kind == r.kind && l.number == r.number && l.truth == r.truth) return std::nullopt;
    const bool one_sided = l.kind == Kind::none || r.kind == Kind::none;
    if (one_sided && tags_.real == Real::partial) return std::nullopt;
    RuleVerdict verdict{.kind = RuleVerdict::Kind::wrong, .isolated = true};
    verdict.fault = l.kind == Kind::none   ? "the left side is undefined where the right side is a number"
                    : r.kind == Kind::none ? "the right side is undefined where the left side is a number"
                                           : "the sides differ over the reals";
    for (std::size_t v = 0; v < at.size(); ++v)
      verdict.point.push_back(
          {"?" + rule_.variables[v], sorts_.truth[v] ? (at[v] != 0 ? "true" : "false") : at[v].get_str()});
    verdict.left = text_of(l), verdict.right = text_of(r);
    return verdict;
  }

  static std::string text_of(const RationalValue& value) {
    if (value.is_number()) return value.number.get_str();
    return value.kind == RationalValue::Kind::none ? "no number" : value.truth ? "true" : "false";
  }

  const Rule& rule_;
  const expr::rewrite::RuleSet::Tags& tags_;
  const Sorts& sorts_;
  std::mt19937_64 random_;
  const std::vector<Edge> edges_;
  std::vector<mpq_class> constants_;
  std::vector<std::vector<const Edge*>> alone_;  ///< those of terms that depend on one variable, by that
  const mpq_class beside_[7] = {0,
                                mpq_class(1, 1'000'000'000'000'000L),
                                mpq_class(-1, 1'000'000'000'000'000L),
                                mpq_class(1, 1000),
                                mpq_class(-1, 1000),
                                mpq_class(1, 3),
                                mpq_class(-1, 3)};
};

}  // namespace

std::optional<RuleVerdict> fault_at_edges(const Rule& rule, const expr::rewrite::RuleSet::Tags& tags,
                                          const Sorts& sorts, const RuleCheckOptions& options) {
  if (sorts.slopes || !sorts.types.empty() || rule.variables.empty()) return std::nullopt;
  if (!is_rational(rule.left, sorts) || !is_rational(rule.right, sorts)) return std::nullopt;
  constexpr std::uint64_t kPointsPerTry = 10;
  return EdgeSearch(rule, tags, sorts, options.seed + 2).run(options.points / kPointsPerTry);
}

}  // namespace trident::rulecheck
