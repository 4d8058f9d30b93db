// What the search takes an op to cost, and what whole expressions cost by it: as a tree, where a shared part counts as
// often as it is used, and as a DAG, where it counts once.
#pragma once

#include "jit/egraph/term.h"
#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::expr::rewrite {

/// What an op costs on average on this kind of machine: the instructions that it lowers to, in units of one fma.
egraph::CostModel default_costs();

/// Rough latencies on one scale, the table that published figures of e-graph searches on bench/corpus/rewrite.txt use:
/// add, sub, mul, fma 4; neg, abs 1; min, max 2; div, recip 13; sqrt 18; rsqrt 20; exp 30; log 35; sin, cos 40; tanh
/// 45; tan, sinh, cosh 50; pow 80; a remaining derivative 100,000. What that table does not name costs 4 (one
/// instruction) or 60 (functions).
egraph::CostModel reference_costs();

struct TermCost {
  double tree = 0, dag = 0;
};
/// Errors: what to_term() refuses.
Result<TermCost> cost_of(const Expr& expr, const egraph::CostModel& costs);

}  // namespace trident::expr::rewrite
