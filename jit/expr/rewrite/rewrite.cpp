#include "jit/expr/rewrite/rewrite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"
#include "jit/expr/print_plan.h"
#include "jit/expr/rewrite/collect.h"
#include "jit/expr/rewrite/fixed_parts.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/regions.h"
#include "jit/expr/rewrite/special_values.h"
#include "jit/expr/shape.h"
#include "jit/kir/interpreter.h"

namespace trident::expr::rewrite {
namespace {

// Time to make an expression of a term and to check it, per node of the search's start.
constexpr std::uint64_t kFormNs = 250;
// Time for the analyses before a search begins, per node.
constexpr std::uint64_t kAnalysisNs = 125;

std::string label(const egraph::ENode& enode, const Expr& source) {
  const Node node = node_of(enode);
  if (node.op == Op::Variable) return source.variables[node.imm].name;
  if (node.op == Op::Constant) return print_constant(node.type, node.imm);
  std::string text(info(node.op).text);
  if (node.op == Op::Powi) text += " " + std::to_string(static_cast<std::int64_t>(node.imm));
  return text;
}

// Two nodes of an explanation's pool as the outputs of an expression.
Expr sides_of(std::span<const egraph::ENode> pool, std::uint32_t left, std::uint32_t right, const Expr& like) {
  Expr outputs = like;
  outputs.outputs = {{"left", {}}, {"right", {}}};
  Expr sides = to_expr({.nodes = {pool.begin(), pool.end()}, .roots = {left, right}}, outputs);
  drop_unused(sides);
  return sides;
}

// An output that was one value must not become an array, nor the other way: (sum x) - (sum x) is zero, but one.
bool same_shapes(const Expr& source, const Expr& form) {
  const std::vector<Shape> before = shapes_of(source), after = shapes_of(form);
  for (std::size_t k = 0; k < source.outputs.size(); ++k)
    if (output_kind(before[source.outputs[k].node.index]) != output_kind(after[form.outputs[k].node.index]))
      return false;
  return true;
}

/// How two sides agree at some points: both have a value and it is equal; only one has a value. Ill-conditioned points,
/// where the least change of the inputs moves a value by much, do not count.
struct Agreement {
  std::size_t known = 0, equal = 0, one_sided = 0;
};

constexpr std::size_t kPoints = 64;

/// Both sides' values at each point.
using Sides = std::array<std::vector<double>, 2>;

Sides evaluate(const kir::Kernel& kernel, const Expr& sides, const std::vector<std::vector<std::byte>>& columns,
               std::span<const std::uint64_t> params) {
  std::vector<const void*> in;
  for (const auto& column : columns) in.push_back(column.data());
  const Type type = sides.at(sides.outputs[0].node).type;
  std::vector<std::byte> left(kPoints * ir::bytes_of(type)), right(left.size());
  void* out[] = {left.data(), right.data()};
  kir::interpret(kir::without_storage(kernel), kPoints, in.data(), out, params.data());
  Sides values;
  for (std::size_t i = 0; i < kPoints; ++i) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, left.data() + i * ir::bytes_of(type), ir::bytes_of(type));
    std::memcpy(&b, right.data() + i * ir::bytes_of(type), ir::bytes_of(type));
    values[0].push_back(value_of(type, a)), values[1].push_back(value_of(type, b));
  }
  return values;
}

/// Moves every value of a float's column to the next one, up or down.
std::vector<std::byte> shaken(std::vector<std::byte> column, Type type, std::mt19937_64& random) {
  if (!ir::is_float(type)) return column;
  for (std::size_t at = 0; at < column.size(); at += ir::bytes_of(type)) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, column.data() + at, ir::bytes_of(type));
    if (value_of(type, bits) != 0) bits += random() % 2 == 0 ? 1 : ~std::uint64_t{0};
    std::memcpy(column.data() + at, &bits, ir::bytes_of(type));
  }
  return column;
}

// Compares at points of magnitude up to `most`.
Agreement compare(const kir::Kernel& kernel, const Expr& sides, double most) {
  constexpr int kShakes = 4;
  constexpr double kTolerance = 1e-6, kSpreads = 8, kSpreadMax = 1e-2;
  std::mt19937_64 random(1);
  std::vector<std::vector<std::byte>> columns;
  std::vector<Type> types;
  std::vector<std::uint64_t> params;
  for (const Variable& v : sides.variables) {
    const double lo = std::max(v.lo, -most), hi = std::min(v.hi, most);
    const bool outside = !(lo < hi);
    std::uniform_real_distribution<double> draw(outside ? std::max(v.lo, -1e6) : lo,
                                                outside ? std::min(v.hi, 1e6) : hi);
    std::vector<std::byte> column(kPoints * ir::bytes_of(v.type));
    for (std::size_t i = 0; i < kPoints; ++i) {
      const std::uint64_t bits = bits_of(v.type, draw(random));
      if (v.is_scalar() && i == 0) params.push_back(bits);
      std::memcpy(column.data() + i * ir::bytes_of(v.type), &bits, ir::bytes_of(v.type));
    }
    if (!v.is_scalar()) columns.push_back(std::move(column)), types.push_back(v.type);
  }
  for (const Variable& v : sides.variables)
    if (v.is_table()) params.push_back(kPoints);
  const Sides values = evaluate(kernel, sides, columns, params);
  std::vector<double> spread(kPoints, 0.0);
  for (int shake = 0; shake < kShakes; ++shake) {
    std::vector<std::vector<std::byte>> near;
    for (std::size_t c = 0; c < columns.size(); ++c) near.push_back(shaken(columns[c], types[c], random));
    const Sides moved = evaluate(kernel, sides, near, params);
    for (std::size_t i = 0; i < kPoints; ++i)
      for (const std::size_t side : {0, 1})
        if (std::isfinite(values[side][i]) || std::isfinite(moved[side][i]))
          spread[i] = std::max(spread[i], std::fabs(values[side][i] - moved[side][i]));
  }
  Agreement found;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double x = values[0][i], y = values[1][i], size = 1 + std::fabs(x);
    if (!(spread[i] <= kSpreadMax * (std::isfinite(x) ? size : 1))) continue;
    found.one_sided += std::isfinite(x) != std::isfinite(y) ? 1 : 0;
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    ++found.known;
    found.equal += std::fabs(x - y) <= kTolerance * size + kSpreads * spread[i] ? 1 : 0;
  }
  return found;
}

// Returns whether a collection's equation holds: at most points of some magnitude where both sides have values. (At
// others rounding alone tells sums that cancel from zero.) Where neither side ever has a value, asin(3) say, it counts
// as true.
bool equal_in_numbers(Expr sides) {
  constexpr std::size_t kEnough = 8;
  const Result<kir::Kernel> kernel = lower(sides, {.policy = {}, .simplify = false});
  if (!kernel.ok()) return false;
  Agreement all;
  bool differ = false;
  for (const double most : {4.0, 0.5, 50.0}) {
    const Agreement here = compare(*kernel, sides, most);
    all.known += here.known, all.equal += here.equal, all.one_sided += here.one_sided;
    if (here.known >= kEnough && here.equal * 8 >= here.known * 7) return true;
    differ = differ || here.known >= kEnough;
  }
  if (differ) return false;
  if (all.known >= kEnough) return all.equal * 8 >= all.known * 7;
  return all.one_sided == 0 && all.equal == all.known;
}

/// Puts the same output of two expressions over the same variables side by side, as "left" and "right".
Expr both_sides(const Expr& left, const Expr& right, std::size_t output) {
  Expr sides;
  sides.variables = left.variables;
  Builder builder(sides);
  for (const Expr* side : {&left, &right}) {
    std::vector<NodeId> moved;
    for (Node n : side->nodes) {
      for (NodeId* operand : {&n.a, &n.b, &n.c})
        if (operand->valid()) *operand = moved[operand->index];
      moved.push_back(builder.add(n));
    }
    sides.outputs.push_back({side == &left ? "left" : "right", moved[side->outputs[output].node.index]});
  }
  drop_unused(sides);
  return sides;
}

void explain_pass(std::string_view name, const Expr& before, const Expr& after, Rewritten& result) {
  if (canonical_bytes(before) == canonical_bytes(after)) return;
  for (std::size_t k = 0; k < before.outputs.size(); ++k)
    result.derivation.push_back({std::string(name), both_sides(before, after, k)});
}

/// `parts`: the nodes of the source that the search left alone, if any.
void explain(const Expr& source, const FixedParts* parts, const egraph::SearchSpace& space, const RuleSet& set,
             const egraph::SearchResult& found, Rewritten& result) {
  const auto sides = [&](std::span<const egraph::ENode> pool, std::uint32_t left, std::uint32_t right) {
    if (parts == nullptr) return sides_of(pool, left, right, source);
    return parts->close_others(sides_of(pool, left, right, parts->open()));
  };
  for (const egraph::Explanation& e : found.explanation) {
    for (const egraph::Step& step : e.steps)
      result.derivation.push_back({step.rule ? set.rules[*step.rule].name : "", sides(e.pool, step.left, step.right)});
    const auto believe = [&](std::span<const egraph::ENode> pool, std::uint32_t left, std::uint32_t right) {
      return equal_in_numbers(sides(pool, left, right));
    };
    if (result.replay_fault) continue;
    result.replay_fault = egraph::replay(space.ops, space.semantics, set.rules, e, believe);
  }
}

/// Explains how the search's start comes from the source.
void explain_start(const Expr& source, const egraph::SearchSpace& space, const RuleSet& set,
                   const WithoutDerivatives& start, Rewritten& result) {
  if (start.by_plain_pass()) return explain_pass(kPlainPass, source, start.expr, result);
  explain(source, nullptr, space, set, start.found, result);
  explain_pass(start.how == Differentiated::rest_plain ? kPlainPass : "", start.by_rules, start.expr, result);
}

}  // namespace

Rules::Rules(const Expr& source, const RewriteOptions& options, std::size_t unknown)
    : Rules(source, options, unknown, options.rules != nullptr ? *options.rules : CompiledRules::builtin()) {}

Rules::Rules(const Expr& source, const RewriteOptions& options, std::size_t unknown, const CompiledRules& rules)
    : set_(rules.set()),
      matchers_(rules.matchers(options.policy, options.rules_max)),
      language_(source.variables, options.policy.kind == PolicyKind::fast, values_of(options.policy)) {
  for (const std::uint32_t variable : options.nonzero) language_.promise_nonzero(variable);
  for (std::size_t v = unknown; v < source.variables.size(); ++v) language_.forget(v);
  // The rules are about reals: integers wrap.
  const auto bit = [](Type t) { return std::uint64_t{1} << static_cast<unsigned>(t); };
  space_ = {op_rows(values_of(options.policy)),
            language_.semantics(),
            matchers_.all.get(),
            options.costs,
            {},
            bit(Type::f32) | bit(Type::f64) | bit(Type::b32)};
  if (options.policy.kind != PolicyKind::exact) space_.tactics.push_back(collect_tactic());
}

egraph::SearchSpace Rules::differentiating_space() const {
  egraph::SearchSpace space = space_;
  space.ops = differentiating_ops();
  space.matcher = matchers_.differentiating.get();
  return space;
}

namespace {

/// Returns whether there is time for the analyses before a search, and for making a form of its result.
bool has_time_to_begin(const Expr& from, const egraph::SearchBudget& budget) {
  return budget.nanoseconds == 0 || (kAnalysisNs + kFormNs) * from.nodes.size() < budget.nanoseconds;
}

/// Makes an expression of a term that was found for `source`, or for its open parts; none where it would compute with
/// constants that do not survive, or infinities that the source does not have.
std::optional<Expr> form_of(const egraph::Term& term, const Expr& source, const FixedParts* parts, bool may_overflow) {
  if (!keeps_constants(term) || (!may_overflow && overflows(term))) return std::nullopt;
  std::optional<Expr> form = to_expr(term, parts != nullptr ? parts->open() : source);
  if (parts != nullptr) form = parts->close(*form);
  if (!form) return std::nullopt;
  drop_unused(*form);
  if (!check(*form).ok() || !same_shapes(source, *form)) return std::nullopt;
  return form;
}

/// Adds the forms found that are not the source itself. Only the first is made when the time is up.
void add_forms(const Expr& source, const FixedParts* parts, const egraph::Term& term, const egraph::SearchResult& found,
               std::uint64_t late_ns, std::vector<Expr>& forms) {
  const std::vector<std::byte> original = canonical_bytes(source);
  const bool may_overflow = overflows(term);
  for (const egraph::Term& t : found.terms) {
    if (!forms.empty() && egraph::thread_cpu_ns() >= late_ns) return;
    std::optional<Expr> form = form_of(t, source, parts, may_overflow);
    if (form && canonical_bytes(*form) != original) forms.push_back(std::move(*form));
  }
}

/// Returns the nodes that a search over the reals must leave alone; null if there are none.
std::shared_ptr<const FixedParts> fixed_parts(const Expr& source, const Policy& policy) {
  if (policy.kind == PolicyKind::exact) return nullptr;
  std::vector<bool> fixed = special_values(source).nodes;
  const std::vector<bool> casts = casts_read_in_f64(source);
  for (std::size_t i = 0; i < fixed.size(); ++i) fixed[i] = fixed[i] || casts[i];
  const bool any = std::find(fixed.begin(), fixed.end(), true) != fixed.end();
  return any ? std::make_shared<const FixedParts>(source, std::move(fixed)) : nullptr;
}

}  // namespace

Result<Rewritten> rewrite(const Expr& source, const RewriteOptions& options) {
  Rewritten result;
  if (passes_of(source) > 1) return result;  // rules about reductions are about one pass
  const Rules rules(source, options);
  egraph::SearchOptions search;
  search.strategy = options.strategy;
  search.guide = options.guide, search.guide_alone = options.guide_alone;
  search.budget = options.budget;
  search.objective = options.objective;
  search.seed = options.seed;
  search.keep = options.explain ? 1 : options.keep;
  search.records = options.records;
  search.explain = options.explain;
  std::optional<WithoutDerivatives> start;
  if (has_derivatives(source)) {
    const std::uint64_t began = egraph::thread_cpu_ns();
    DifferentiationOptions how{options.policy, options.objective, options.budget, options.explain};
    how.budget.nanoseconds = (how.budget.nanoseconds + 1) / 2;
    TRY(start, differentiate(source, rules.differentiating_space(), how));
    start->found.stats.nanoseconds = egraph::thread_cpu_ns() - began;
    result.differentiated = start->how;
    if (options.explain) explain_start(source, rules.differentiating_space(), rules.set(), *start, result);
    search.budget = egraph::rest_of(search.budget, start->found.stats);
  }
  const auto kept = std::make_shared<const Expr>(start ? start->expr : source);
  const Expr& from = *kept;
  if (!has_time_to_begin(from, search.budget) && !options.explain && !options.look) {
    if (start) result.stats = start->found.stats, result.forms.push_back(from);
    result.stats.stop = egraph::Stop::time;
    return result;
  }
  const std::uint64_t began = egraph::thread_cpu_ns();
  const std::shared_ptr<const FixedParts> parts = fixed_parts(from, options.policy);
  std::optional<const Rules> of_parts;
  if (parts) of_parts.emplace(parts->open(), options, source.variables.size());
  const egraph::SearchSpace& space = of_parts ? of_parts->space() : rules.space();
  const Expr& searched = parts ? parts->open() : from;
  TRY(const egraph::Term term, to_term(searched));
  if (options.look) {
    search.look = [&](const egraph::EGraph& graph, std::span<const egraph::ClassId> roots, const egraph::Term& found) {
      options.look(
          egraph::view_of(graph, roots, found, [&](const egraph::ENode& node) { return label(node, searched); }));
    };
  }
  // Making expressions of the results takes time too.
  const std::uint64_t before_ns = egraph::thread_cpu_ns() - began;
  const std::uint64_t form_ns = kFormNs * from.nodes.size(), total_ns = search.budget.nanoseconds;
  const std::uint64_t all_forms_ns = form_ns * std::max<std::size_t>(search.keep, 1);
  const std::uint64_t aside_ns = before_ns + std::min(all_forms_ns, std::max(2 * form_ns, total_ns / 8));
  const std::uint64_t late_ns = total_ns == 0 ? ~std::uint64_t{0} : began + total_ns - std::min(form_ns, total_ns);
  if (total_ns != 0) search.budget.nanoseconds -= std::min(aside_ns, total_ns / 2);
  const Language& language = of_parts ? of_parts->language() : rules.language();
  const bool whole = search.explain || search.look || search.strategy == egraph::Strategy::saturate ||
                     inner_nodes(searched) <= kWholeNodesMax;
  RegionResult by_regions;
  if (!whole) by_regions = search_by_regions(space, language, term, search);
  const egraph::SearchResult found = whole ? egraph::search(space, term, search) : std::move(by_regions.found);
  const std::uint64_t found_at = egraph::thread_cpu_ns();
  result.stats = found.stats;
  if (start) result.stats.add(start->found.stats);
  add_forms(source, parts.get(), term, found, late_ns, result.forms);
  if (start && result.forms.empty()) result.forms.push_back(from);
  if (by_regions.pieces.count > 0) {
    const auto form = [kept, parts, term_of = std::move(by_regions.pieces.term),
                       may_overflow = overflows(term)](const std::vector<bool>& renewed) {
      return form_of(term_of(renewed), *kept, parts.get(), may_overflow);
    };
    result.pieces = {by_regions.pieces.count, form};
  }
  result.stats.nanoseconds += before_ns + egraph::thread_cpu_ns() - found_at;
  if (options.explain) explain(from, parts.get(), space, rules.set(), found, result);
  return result;
}

}  // namespace trident::expr::rewrite
