#include "jit/expr/rewrite/rewrite.h"

#include "jit/expr/compact.h"
#include "jit/expr/rewrite/collect.h"
#include "jit/expr/rewrite/language.h"

namespace trident::expr::rewrite {
namespace {

std::vector<bool> enabled_rules(const RuleSet& set, const RewriteOptions& options) {
  std::vector<bool> enabled = allowed(set, options.policy);
  std::size_t left = options.rules_max;
  for (std::size_t i = 0; i < enabled.size(); ++i) {
    if (!enabled[i]) continue;
    if (left == 0)
      enabled[i] = false;
    else
      --left;
  }
  return enabled;
}

}  // namespace

Result<Rewritten> rewrite(const Expr& source, const RewriteOptions& options) {
  TRY(const egraph::Term term, to_term(source));
  const RuleSet& set = options.rules != nullptr ? *options.rules : builtin_rules();
  const egraph::Matcher matcher(set.rules, op_rows(), enabled_rules(set, options));
  Language language(source.variables, options.policy.kind == PolicyKind::fast);
  for (const std::uint32_t variable : options.nonzero) language.promise_nonzero(variable);
  // The rules are about reals: integers wrap.
  const auto bit = [](Type t) { return std::uint64_t{1} << static_cast<unsigned>(t); };
  egraph::SearchSpace space{
      op_rows(), language.semantics(), &matcher, options.costs, {}, bit(Type::f32) | bit(Type::f64) | bit(Type::b32)};
  if (options.policy.kind != PolicyKind::exact) space.tactics.push_back(collect_tactic());
  egraph::SearchOptions search;
  search.strategy = options.strategy;
  search.budget = options.budget;
  search.objective = options.objective;
  search.seed = options.seed;
  search.keep = options.keep;
  egraph::SearchResult found = egraph::search(space, term, search);
  Rewritten result;
  result.stats = found.stats;
  const std::vector<std::byte> original = canonical_bytes(source);
  for (const egraph::Term& t : found.terms) {
    Expr form = to_expr(t, source);
    drop_unused(form);
    if (!check(form).ok() || canonical_bytes(form) == original) continue;
    result.forms.push_back(std::move(form));
  }
  return result;
}

}  // namespace trident::expr::rewrite
