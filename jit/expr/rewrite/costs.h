// What the search takes an op to cost, and what whole expressions cost by it: as a tree, where a shared part counts as
// often as it is used, and as a DAG, where it counts once.
#pragma once

#include <array>
#include <string_view>

#include "jit/cost/cost.h"
#include "jit/egraph/term.h"
#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::expr::rewrite {

/// What every op costs by a table of jit/cost: the kir instructions that it lowers to, on variables of a tame range and
/// with functions of 4 ulp, each by its reciprocal throughput, in fmas. Throughput and not latency, because the loops
/// that a kernel consists of have independent elements to fill the time that an instruction is under way.
class OpCosts {
 public:
  /// Lowers every op once: some milliseconds.
  explicit OpCosts(cost::Table table);
  [[nodiscard]] const cost::Table& table() const { return table_; }
  /// Of an op whose result is `type`; of a comparison, of operands of 32 bits.
  [[nodiscard]] double of(Op op, Type type) const {
    return cost_[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
  }
  /// Refers to this object.
  [[nodiscard]] egraph::CostModel model() const;

 private:
  static constexpr std::size_t kTypes = 6;
  cost::Table table_;
  std::array<std::array<double, kOpCount>, kTypes> cost_{};
};

/// By the table that is shipped for an instruction set, by its name, and a processor (cost::shipped()). Made once for
/// each table.
const OpCosts& default_op_costs(std::string_view isa, std::string_view cpu = cost::kAnyCpu);
/// The same of AVX-512, whatever this machine has: the same everywhere.
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
