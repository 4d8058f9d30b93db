// From an expression to cheaper ones that mean the same over the reals: rules and collection under a policy, searched
// by jit/egraph. What comes out are candidates; whether they keep the policy's bound is for jit/equiv to say, and which
// is fastest for jit/judge.
#pragma once

#include <vector>

#include "jit/egraph/search.h"
#include "jit/expr/expr.h"
#include "jit/expr/rewrite/rules.h"
#include "runtime/base/result.h"

namespace trident::expr::rewrite {

/// Bounded by counts alone, so that the same expression and seed give the same forms everywhere: some 20 ms.
inline constexpr egraph::SearchBudget kSearchBudget{
    .nodes = 4'000, .nanoseconds = 0, .applications = 60'000, .graph_nodes = 15'000};

struct RewriteOptions {
  Policy policy{};
  egraph::Strategy strategy = egraph::Strategy::best_first;
  egraph::SearchBudget budget = kSearchBudget;
  std::uint64_t seed = 1;
  std::size_t keep = 3;
};

struct Rewritten {
  std::vector<Expr> forms;  ///< the statically cheapest first; without those equal to the source
  egraph::SearchStats stats;
};

/// `source` has passed check() and has no Diff. Errors: what to_term() refuses.
Result<Rewritten> rewrite(const Expr& source, const RewriteOptions& options);

/// What an op costs on average on this kind of machine: the instructions that it lowers to, in units of one fma.
egraph::CostModel default_costs();

}  // namespace trident::expr::rewrite
