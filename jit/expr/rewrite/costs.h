// Costs of ops for the search, and of whole expressions: as a tree, where a shared part counts as often as it is used,
// and as a DAG, where it counts once.
#pragma once

#include <array>
#include <string_view>

#include "jit/cost/cost.h"
#include "jit/egraph/term.h"
#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::expr::rewrite {

/// Costs of every op by a table of jit/cost. An op costs the reciprocal throughputs of the kir instructions that it
/// lowers to, in fmas, on variables of a tame range and with functions of 4 ulp. Throughput and not latency: loops have
/// independent elements to fill the time that an instruction is under way.
class OpCosts {
 public:
  /// Lowers every op once: some milliseconds.
  explicit OpCosts(cost::Table table);
  [[nodiscard]] const cost::Table& table() const { return table_; }
  /// Returns the cost of an op whose result has type `type`; for a comparison, with operands of 32 bits.
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

/// Returns costs by the table that is shipped for an instruction set and a processor (cost::shipped()). Made once for
/// each table.
const OpCosts& default_op_costs(std::string_view isa, std::string_view cpu = cost::kAnyCpu);
/// Returns the shipped AVX-512 costs, which are the same on every machine.
egraph::CostModel default_costs();

/// Rough latencies on one scale, those of published figures of e-graph searches on bench/corpus/rewrite.txt: add,
/// sub, mul, fma 4; neg, abs 1; min, max 2; div, recip 13; sqrt 18; rsqrt 20; exp 30; log 35; sin, cos 40; tanh 45;
/// tan, sinh, cosh 50; pow 80; a remaining derivative 100,000. Other ops cost 4 (one instruction) or 60
/// (functions).
egraph::CostModel reference_costs();

struct TermCost {
  double tree = 0, dag = 0;
};
/// Errors: those of to_term().
Result<TermCost> cost_of(const Expr& expr, const egraph::CostModel& costs);

}  // namespace trident::expr::rewrite
