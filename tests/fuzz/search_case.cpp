#include "tests/fuzz/search_case.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "jit/corpus/setting_names.h"
#include "jit/expr/rewrite/rules.h"
#include "tests/support/random_expr.h"

namespace trident::fuzz {
namespace {

using egraph::ConditionKind;
using egraph::PatternTerm;
using egraph::Strategy;
using testing::Motif;
using testing::Random;

constexpr std::array kStrategies = {Strategy::best_first, Strategy::pulse,    Strategy::random,
                                    Strategy::hostile,    Strategy::saturate, Strategy::guided};

Motif::Guard guard_of(ConditionKind kind) {
  switch (kind) {
    case ConditionKind::nonzero:
    case ConditionKind::positive:
    case ConditionKind::nonnegative:
    case ConditionKind::finite:
    case ConditionKind::number: return Motif::Guard::positive;
    case ConditionKind::negative:
    case ConditionKind::nonpositive: return Motif::Guard::negative;
    case ConditionKind::integral: return Motif::Guard::whole;
    case ConditionKind::constant:
    case ConditionKind::integer_two_up: return Motif::Guard::constant;
    case ConditionKind::within_one:
    case ConditionKind::within_half_pi: return Motif::Guard::within_one;
    case ConditionKind::at_least_one: return Motif::Guard::at_least_one;
    case ConditionKind::symbolic:
    case ConditionKind::independent:
    case ConditionKind::uniform:
    case ConditionKind::stride:
    case ConditionKind::of_f32:
    case ConditionKind::of_f64:
    case ConditionKind::of_i32:
    case ConditionKind::of_b32:
    case ConditionKind::le: return Motif::Guard::none;
  }
  return Motif::Guard::none;
}

Motif motif_of(const egraph::Rule& rule) {
  Motif motif;
  motif.guards.resize(rule.variables.size());
  for (const egraph::Condition& c : rule.conditions) motif.guards[c.variable[0]] = guard_of(c.kind);
  for (const PatternTerm& t : rule.left.terms) {
    Motif::Step step;
    step.variable = t.variable, step.child = t.child, step.number = t.number;
    if (t.kind == PatternTerm::Kind::number) step.kind = Motif::Kind::number;
    if (t.kind == PatternTerm::Kind::node) {
      step.kind = Motif::Kind::node;
      step.op = static_cast<expr::Op>(t.op);
      const bool logic = expr::info(step.op).types == expr::Types::B;
      for (std::size_t i = 0; i < expr::info(step.op).arity; ++i) {
        const PatternTerm& child = rule.left.terms[t.child[i]];
        if (child.kind == PatternTerm::Kind::variable && (logic || (step.op == expr::Op::Select && i == 0)))
          motif.guards[child.variable] = Motif::Guard::truth;
      }
    }
    motif.steps.push_back(step);
  }
  return motif;
}

/// The left sides of all built-in rules but those about tables.
const std::vector<Motif>& rule_motifs() {
  static const std::vector<Motif> motifs = [] {
    std::vector<Motif> all;
    for (const egraph::Rule& rule : expr::rewrite::builtin_rules().rules)
      if (!rule.mixed) all.push_back(motif_of(rule));
    return all;
  }();
  return motifs;
}

}  // namespace

void SearchCounts::add(const SearchCounts& other) {
  cases += other.cases, forms += other.forms, kept += other.kept, refused += other.refused;
  unasked += other.unasked, accepted += other.accepted, codes += other.codes;
}

SearchCase make_search_case(std::uint64_t seed, std::uint32_t nodes_max) {
  Random random(seed * 0x9E3779B97F4A7C15u + 0x5EA4C4);
  SearchCase c;
  c.seed = seed;
  testing::RandomExprOptions options;
  // Most are small, for there a fault is not hidden behind NaN; one in eight is as large as they get.
  constexpr std::array<std::uint32_t, 8> kSizes = {4, 6, 8, 12, 16, 24, 64, 200};
  options.nodes_max = std::min(nodes_max, kSizes[random.below(kSizes.size())]);
  options.extremes = random.chance(0.3);
  options.derivatives = random.chance(0.15);
  options.reductions = random.chance(0.4);
  options.integers = random.chance(0.5);
  options.ranged = random.chance(0.3) ? 1 : 0.6;
  if (random.chance(0.3)) options.narrowing = 0.15;
  if (random.chance(0.75)) options.motifs = rule_motifs();
  c.expr = testing::random_expr(random.next(), options);
  constexpr std::array<expr::PolicyKind, 3> kPolicies = {expr::PolicyKind::exact, expr::PolicyKind::bounded,
                                                         expr::PolicyKind::fast};
  c.policy.kind = kPolicies[random.below(kPolicies.size())];
  c.strategy = kStrategies[random.below(kStrategies.size())];
  c.odd_costs = random.chance(0.5);
  return c;
}

std::string print(const SearchCase& c) {
  char head[200];
  std::snprintf(head, sizeof head, "# seed %llu policy %s strategy %s odd_costs %d graph_nodes %u\n",
                static_cast<unsigned long long>(c.seed), corpus::policy_name(c.policy).c_str(),
                std::string(egraph::name_of(c.strategy)).c_str(), c.odd_costs ? 1 : 0, c.graph_nodes);
  return head + expr::print_infix(c.expr) + "\n";
}

Result<SearchCase> read_search_case(const std::string& text) {
  SearchCase c;
  unsigned long long seed = 0;
  char policy[32] = {}, strategy[32] = {};
  int odd = 0;
  if (std::sscanf(text.c_str(), "# seed %llu policy %31s strategy %31s odd_costs %d graph_nodes %u", &seed, policy,
                  strategy, &odd, &c.graph_nodes) != 5)
    return make_error(ErrorCode::kInvalidArgument, "the first line is not that of a case");
  c.seed = seed, c.odd_costs = odd != 0;
  std::string name = policy;  // "bounded(2)"
  if (const std::size_t open = name.find('('); open != std::string::npos)
    name = name.substr(0, open) + ":" + name.substr(open + 1, name.size() - open - 2);
  TRY(c.policy, corpus::parse_policy(name));
  const auto* const found = std::find_if(kStrategies.begin(), kStrategies.end(),
                                         [&](Strategy s) { return egraph::name_of(s) == std::string_view(strategy); });
  if (found == kStrategies.end()) return make_error(ErrorCode::kInvalidArgument, "no strategy %s", strategy);
  c.strategy = *found;
  TRY(c.expr, expr::parse_infix(text.substr(text.find('\n') + 1)));
  return c;
}

}  // namespace trident::fuzz
