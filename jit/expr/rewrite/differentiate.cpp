#include "jit/expr/rewrite/differentiate.h"

#include <algorithm>
#include <cmath>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/op_code.h"
#include "jit/expr/rewrite/special_values.h"
#include "jit/expr/simplify.h"

namespace trident::expr::rewrite {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::PatternTerm;

// Exponents up to here are doubles, floats and 32-bit integers alike.
constexpr double kExponentMax = 1 << 24;
// Time per node of the plain pass for: that pass itself, simplification, and the search for special values with the
// start of a search. A slower machine scales them by the time of its first pass.
constexpr double kPassNs = 200, kSimplifyNs = 400, kBeginNs = 100;

// A pattern cannot compute with the exponent of an integer power, which is no operand. So (powi ?a n) is also added as
// (pow ?a ?n), and the rules for pow go on from there.
void powers_as_pow(EGraph& graph, const egraph::Term& term, std::span<const ClassId> classes, egraph::Watch& watch) {
  for (std::size_t i = 0; i < term.nodes.size(); ++i) {
    if (watch.spend()) return;
    const Node n = node_of(term.nodes[i]);
    const auto exponent = static_cast<double>(static_cast<std::int64_t>(n.imm));
    if (n.op != Op::Powi || !ir::is_float(n.type) || std::fabs(exponent) > kExponentMax) continue;
    const std::uint8_t sort = term.nodes[i].sort;
    const ClassId constant = graph.add_constant(sort, exponent);
    if (constant == egraph::kNone) return;
    const ClassId made = graph.add(op_code(Op::Pow), sort, classes[n.a.index], constant, 0);
    if (made == egraph::kNone) return;
    graph.merge(classes[i], made);
  }
}

// Turns such powers back into integer powers.
Expr with_integer_powers(const Expr& expr) {
  Expr made;
  made.variables = expr.variables;
  Builder b(made);
  std::vector<NodeId> moved;
  for (Node n : expr.nodes) {
    for (NodeId* operand : {&n.a, &n.b, &n.c})
      if (operand->valid()) *operand = moved[operand->index];
    NodeId now;
    if (n.op == Op::Pow && b.at(n.b).op == Op::Constant) {
      const double e = value_of(n.type, b.at(n.b).imm);
      if (e == 1)
        now = n.a;
      else if (e != 0 && e == std::round(e) && std::fabs(e) <= kExponentMax)
        now = b.powi(n.a, static_cast<std::int64_t>(e));
    }
    moved.push_back(now.valid() ? now : b.add(n));
  }
  for (const Output& o : expr.outputs) made.outputs.push_back({o.name, moved[o.node.index], o.storage});
  drop_unused(made);
  return made;
}

double cost_of(const egraph::Term& term, const egraph::SearchSpace& space, egraph::Objective objective) {
  return objective == egraph::Objective::dag ? egraph::dag_cost(term, op_rows(), space.costs)
                                             : egraph::tree_cost(term, op_rows(), space.costs);
}

std::optional<Expr> form_of(const egraph::Term& term, const Expr& source) {
  if (!keeps_constants(term)) return std::nullopt;
  Expr form = to_expr(term, source);
  drop_unused(form);
  return check(form).ok() ? std::optional(std::move(form)) : std::nullopt;
}

bool has_derivatives(const egraph::Term& term) {
  return std::any_of(term.nodes.begin(), term.nodes.end(),
                     [](const egraph::ENode& n) { return n.op == op_code(Op::Diff); });
}

// A graph may learn a fact of an operand, such as that it is constant, only after a rule was tried at its user. A new
// graph that starts from the result knows the fact from the beginning.
egraph::SearchResult by_rules(const egraph::SearchSpace& space, const egraph::Term& term,
                              const DifferentiationOptions& options) {
  constexpr int kGraphsMax = 4;
  egraph::SearchSpace with_powers = space;
  with_powers.tactics = {powers_as_pow};
  egraph::SearchResult all;
  all.terms = {term};
  egraph::SearchBudget budget = options.budget;
  for (int graph = 0; graph < kGraphsMax; ++graph) {
    egraph::SearchResult found = egraph::search(with_powers, all.terms.front(),
                                                {.strategy = egraph::Strategy::saturate,
                                                 .objective = options.objective,
                                                 .budget = budget,
                                                 .keep = 1,
                                                 .explain = options.explain});
    all.stats.add(found.stats);
    all.stats.stop = found.stats.stop;
    budget = egraph::rest_of(budget, found.stats);
    std::move(found.explanation.begin(), found.explanation.end(), std::back_inserter(all.explanation));
    const bool cheaper =
        cost_of(found.terms.front(), space, options.objective) < cost_of(all.terms.front(), space, options.objective);
    all.terms = std::move(found.terms);
    if (!cheaper || all.stats.stop != egraph::Stop::saturated || !has_derivatives(all.terms.front())) break;
  }
  return all;
}

}  // namespace

std::string_view text_of(Differentiated how) {
#define X(name, text) text,
  static constexpr std::string_view kTexts[] = {TRIDENT_DIFFERENTIATED(X)};
#undef X
  return kTexts[static_cast<std::size_t>(how)];
}

std::vector<bool> differentiating(std::span<const egraph::Rule> rules, std::vector<bool> enabled) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const bool differentiates = std::any_of(
        rules[i].left.terms.begin(), rules[i].left.terms.end(),
        [](const PatternTerm& t) { return t.kind == PatternTerm::Kind::node && t.op == op_code(Op::Diff); });
    const bool takes_away = rules[i].right.root().kind != PatternTerm::Kind::node;
    enabled[i] = enabled[i] && (differentiates || takes_away);
  }
  return enabled;
}

std::span<const egraph::OpRow> differentiating_ops() {
  return op_rows(Values::bits);
}

Result<WithoutDerivatives> differentiate(const Expr& source, const egraph::SearchSpace& space,
                                         const DifferentiationOptions& options) {
  WithoutDerivatives result;
  struct Candidate {
    Differentiated how;
    Expr expr;
  };
  std::vector<Candidate> candidates;
  const std::uint64_t began = egraph::thread_cpu_ns();
  TRY(Expr plain, eliminate_derivatives(source));
  const auto spent_ns = [&] { return static_cast<double>(egraph::thread_cpu_ns() - began); };
  const double slowness = std::max(1.0, spent_ns() / (kPassNs * static_cast<double>(plain.nodes.size())));
  const auto has_time_for = [&](const Expr& expr, double ns_per_node) {
    const auto most = static_cast<double>(options.budget.nanoseconds);
    return most == 0 || spent_ns() + slowness * ns_per_node * static_cast<double>(expr.nodes.size()) <= most;
  };
  TRY(const egraph::Term term, to_term(source));
  const bool exact = options.policy.kind == PolicyKind::exact;
  const bool in_time = has_time_for(plain, kBeginNs);
  const bool special = !exact && in_time && special_values(plain).any();
  if (!exact && !special && in_time) {
    DifferentiationOptions rest = options;
    if (rest.budget.nanoseconds != 0) rest.budget.nanoseconds -= egraph::thread_cpu_ns() - began;
    result.found = by_rules(space, term, rest);
    if (std::optional<Expr> form = form_of(result.found.terms.front(), source)) {
      result.by_rules = std::move(*form);
      Expr powers = with_integer_powers(result.by_rules);
      if (!has_derivatives(powers))
        candidates.push_back({Differentiated::by_rules, std::move(powers)});
      else if (has_time_for(plain, kPassNs))
        if (auto rest_of_it = eliminate_derivatives(powers); rest_of_it.ok())
          candidates.push_back({Differentiated::rest_plain, std::move(*rest_of_it)});
    }
  }
  const Differentiated why = exact     ? Differentiated::plain_bits
                             : special ? Differentiated::plain_special
                                       : Differentiated::plain;
  candidates.push_back({why, std::move(plain)});
  // Later ones must be cheaper to be taken.
  if (!exact) {
    const LowerOptions how{.policy = options.policy, .accuracy = kir::math::Accuracy::ulp4};
    for (std::size_t i = 0, count = candidates.size(); i < count; ++i)
      if (has_time_for(candidates[i].expr, kSimplifyNs))
        candidates.push_back({candidates[i].how, simplify(candidates[i].expr, how)});
  }
  double least = std::numeric_limits<double>::infinity();
  for (Candidate& c : candidates) {
    const Result<egraph::Term> as_term = to_term(c.expr);
    if (!as_term.ok()) continue;
    const double cost = candidates.size() == 1 ? 0 : cost_of(*as_term, space, options.objective);
    if (!(cost < least)) continue;
    least = cost;
    result.expr = std::move(c.expr);
    result.how = c.how;
  }
  if (result.expr.nodes.empty())
    return make_error(ErrorCode::kUnsupported, "the derivative has an integer power beyond 32 bits");
  return result;
}

}  // namespace trident::expr::rewrite
