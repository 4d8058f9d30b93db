// Walks the blocks of a region in their order. A way into a block has a condition and what each variable holds there;
// where ways meet, selects choose. So the region's graph must have no way back, and no block may fail.
#include "jit/function/to_expr.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "jit/expr/builder.h"
#include "jit/region/region.h"

namespace trident::function {
namespace {

using expr::NodeId;
using region::Op;
using RegionType = region::Type;

/// Larger expressions are left to the function's own code.
constexpr std::uint32_t kNodesMax = 512;

/// A value of the region. Those of i32 are truths; other numbers of i32 only tell where a call failed.
struct Held {
  NodeId node{};
  std::optional<bool> truth{};  ///< i32: known
  [[nodiscard]] bool is_there() const { return node.valid() || truth.has_value(); }
  friend bool operator==(const Held&, const Held&) = default;
};

struct Way {
  Held condition;
  std::vector<Held> held;  ///< by variable
};

constexpr std::pair<Op, expr::Op> kSameInBoth[] = {
    {Op::Add, expr::Op::Add},    {Op::Sub, expr::Op::Sub},
    {Op::Mul, expr::Op::Mul},    {Op::And, expr::Op::And},
    {Op::Or, expr::Op::Or},      {Op::Xor, expr::Op::Xor},
    {Op::Not, expr::Op::Not},    {Op::Neg, expr::Op::Neg},
    {Op::Shl, expr::Op::Shl},    {Op::Shr, expr::Op::Shr},
    {Op::Sar, expr::Op::Sar},    {Op::Eq, expr::Op::Eq},
    {Op::Ne, expr::Op::Ne},      {Op::SLt, expr::Op::Lt},
    {Op::SLe, expr::Op::Le},     {Op::FAdd, expr::Op::Add},
    {Op::FSub, expr::Op::Sub},   {Op::FMul, expr::Op::Mul},
    {Op::FDiv, expr::Op::Div},   {Op::FSqrt, expr::Op::Sqrt},
    {Op::FFma, expr::Op::Fma},   {Op::FFloor, expr::Op::Floor},
    {Op::FCeil, expr::Op::Ceil}, {Op::FTrunc, expr::Op::Trunc},
    {Op::FRint, expr::Op::Rint}, {Op::FNeg, expr::Op::Neg},
    {Op::FAbs, expr::Op::Abs},   {Op::FCopysign, expr::Op::Copysign},  // lower() never lets the sign of NaN through
    {Op::FLt, expr::Op::Lt},     {Op::FLe, expr::Op::Le},
    {Op::FEq, expr::Op::Eq},     {Op::FNe, expr::Op::Ne}};

/// Appends the nodes of an expression whose variables are `operands`; returns its result.
NodeId copy_over(const std::vector<NodeId>& operands, const expr::Expr& from, expr::Builder& to) {
  std::vector<NodeId> nodes;
  const auto moved = [&](NodeId id) { return id.valid() ? nodes[id.index] : id; };
  for (expr::Node node : from.nodes) {
    node.a = moved(node.a);
    node.b = moved(node.b);
    node.c = moved(node.c);
    nodes.push_back(node.op == expr::Op::Variable ? operands[node.imm] : to.add(node));
  }
  return nodes[from.outputs[0].node.index];
}

const Formula* formula_at(std::uint32_t inst, const Lowered& lowered) {
  const auto found = std::lower_bound(lowered.formulas.begin(), lowered.formulas.end(), inst,
                                      [](const Formula& f, std::uint32_t at) { return f.first < at; });
  return found != lowered.formulas.end() && found->first == inst ? &*found : nullptr;
}

class Composer {
 public:
  Composer(const Function& function, const Lowered& lowered)
      : function_(function), lowered_(lowered), region_(lowered.region), build_(out_), ways_(region_.blocks.size()) {}

  std::optional<expr::Expr> run() {
    if (function_.result == Type::none || !take_parameters()) return {};
    for (std::uint32_t b = 0; b < region_.blocks.size(); ++b)
      if (!ways_[b].empty() && (!walk(b) || build_.size() > kNodesMax)) return {};
    if (results_.empty()) return {};
    Held result = results_.back().second;
    for (std::size_t i = results_.size() - 1; i-- > 0;) result = chosen(results_[i].first, results_[i].second, result);
    if (!result.node.valid()) return {};
    out_.outputs = {{"result", result.node}};
    if (!expr::check(out_).ok()) return {};
    return std::move(out_);
  }

 private:
  bool take_parameters() {
    Way start{.condition = truth(true), .held = std::vector<Held>(region_.variables.size())};
    for (std::size_t i = 0; i < function_.parameters.size(); ++i) {
      const Parameter& p = function_.parameters[i];
      const bool is_word = p.type == Type::i64 || p.type == Type::f64;
      if (p.is_array() || !is_word || p.lo || !expr::is_name(p.name, false)) return false;
      out_.variables.push_back({p.name, p.type == Type::f64 ? expr::Type::f64 : expr::Type::i64});
      start.held[variable_at(lowered_.slots[i])] = {build_.variable(static_cast<std::uint32_t>(i))};
    }
    ways_[0].push_back(std::move(start));
    return true;
  }

  [[nodiscard]] std::size_t variable_at(std::uint32_t slot) const {
    const auto found = std::find_if(region_.variables.begin(), region_.variables.end(),
                                    [&](const region::Variable& v) { return v.slot == slot; });
    return static_cast<std::size_t>(found - region_.variables.begin());
  }

  static Held truth(bool known) { return {.node = {}, .truth = known}; }
  Held op(expr::Op op, Held a, Held b = {}, Held c = {}) { return {build_.op(op, a.node, b.node, c.node)}; }

  // --- truths ---

  Held negation(Held a) {
    if (a.truth) return truth(!*a.truth);
    const expr::Node& node = build_.at(a.node);
    return node.op == expr::Op::Not ? Held{node.a} : op(expr::Op::Not, a);
  }
  Held both(Held a, Held b) {
    if (a.truth) return *a.truth ? b : a;
    if (b.truth) return *b.truth ? a : b;
    return op(expr::Op::And, a, b);
  }
  Held either(Held a, Held b) {
    if (a.truth || b.truth) return negation(both(negation(a), negation(b)));
    return a == negation(b) ? truth(true) : op(expr::Op::Or, a, b);
  }
  Held unlike(Held a, Held b) {
    if (a.truth) return *a.truth ? negation(b) : b;
    if (b.truth) return *b.truth ? negation(a) : a;
    return op(expr::Op::Xor, a, b);
  }

  [[nodiscard]] bool is_truth(Held a) const {
    return a.truth || (a.node.valid() && build_.type_of(a.node) == expr::Type::b32);
  }

  /// Returns a where the condition holds, else b; nothing where one is not there.
  Held chosen(Held condition, Held a, Held b) {
    if (a == b || condition.truth) return condition.truth.value_or(true) ? a : b;
    if (!a.is_there() || !b.is_there()) return {};
    if (is_truth(a)) return either(both(condition, a), both(negation(condition), b));
    return op(expr::Op::Select, condition, a, b);
  }

  // --- blocks ---

  Way merged(const std::vector<Way>& ways) {
    Way all = ways.back();
    for (std::size_t w = ways.size() - 1; w-- > 0;) {
      for (std::size_t v = 0; v < all.held.size(); ++v)
        all.held[v] = chosen(ways[w].condition, ways[w].held[v], all.held[v]);
      all.condition = either(ways[w].condition, all.condition);
    }
    return all;
  }

  bool place(const Formula& formula) {
    std::vector<NodeId> operands;
    for (const region::Value v : formula.operands) operands.push_back(values_[v.index - first_].node);
    if (!std::all_of(operands.begin(), operands.end(), [](NodeId id) { return id.valid(); })) return false;
    values_[formula.result.index - first_] = {copy_over(operands, formula.meaning, build_)};
    return true;
  }

  bool walk(std::uint32_t number) {
    const region::Block& block = region_.blocks[number];
    now_ = merged(ways_[number]);
    values_.assign(block.last - block.first, {});
    first_ = block.first;
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const Formula* const formula = formula_at(i, lowered_);
      if (formula != nullptr ? !place(*formula) : !instruction(region_.insts[i], values_[i - first_])) return false;
      if (formula != nullptr) i = formula->last - 1;
    }
    return end(number, block.end);
  }

  bool end(std::uint32_t number, const region::Terminator& end) {
    if (end.flow == region::Flow::exit) return exit(end.exit);
    if (end.then <= number || (end.flow == region::Flow::branch && end.otherwise <= number)) return false;
    if (end.flow == region::Flow::jump) return ways_[end.then].push_back(std::move(now_)), true;
    const Held holds = values_[end.condition.index - first_];
    if (!is_truth(holds)) return false;
    go(end.then, both(now_.condition, holds));
    go(end.otherwise, both(now_.condition, negation(holds)));
    return true;
  }
  void go(std::uint32_t block, Held condition) {
    if (condition != truth(false)) ways_[block].push_back({condition, now_.held});
  }

  bool exit(region::Exit exit) {
    const Held failure = now_.held[variable_at(lowered_.failure_slot)];
    if (exit != region::Exit::left || failure != truth(false)) return false;
    results_.emplace_back(now_.condition, now_.held[variable_at(lowered_.result_slot)]);
    return results_.back().second.is_there();
  }

  // --- instructions ---

  /// Returns false for what expressions cannot say.
  bool instruction(const region::Inst& inst, Held& made) {
    const auto value = [&](region::Value v) { return v.valid() ? values_[v.index - first_] : Held{}; };
    const Held a = value(inst.a), b = value(inst.b), c = value(inst.c);
    if (inst.op == Op::Constant) return made = constant(inst), true;
    if (inst.op == Op::Get) return made = now_.held[inst.imm], made.is_there();
    if (inst.op == Op::Set) return now_.held[inst.imm] = a, true;
    if (inst.op == Op::Zext32) return made = widened(a), made.is_there();
    if (inst.op == Op::Select) return made = is_truth(a) ? chosen(a, b, c) : Held{}, made.is_there();
    if (!a.is_there()) return false;
    if (is_truth(a)) return is_truth(b) && logic(inst.op, a, b, made);
    return made = computed(inst.op, a, b, c), made.is_there();
  }

  Held constant(const region::Inst& inst) {
    if (inst.type == RegionType::i32) return inst.imm <= 1 ? truth(inst.imm == 1) : Held{};
    return {build_.constant_bits(inst.type == RegionType::f64 ? expr::Type::f64 : expr::Type::i64, inst.imm)};
  }
  Held widened(Held a) {
    if (a.truth) return {build_.constant_int(expr::Type::i64, *a.truth ? 1 : 0)};
    return is_truth(a) ? Held{build_.cast(expr::Type::i64, a.node)} : Held{};
  }

  bool logic(Op op, Held a, Held b, Held& made) {
    if (op == Op::And) made = both(a, b);
    if (op == Op::Or) made = either(a, b);
    if (op == Op::Xor || op == Op::Ne) made = unlike(a, b);
    if (op == Op::Eq) made = negation(unlike(a, b));
    return made.is_there();
  }

  Held computed(Op op, Held a, Held b, Held c) {
    for (const auto& [from, to] : kSameInBoth)
      if (from == op) return this->op(to, a, b, c);
    using E = expr::Op;
    if (op == Op::ULt) return this->op(E::Lt, biased(a), biased(b));
    if (op == Op::ULe) return this->op(E::Le, biased(a), biased(b));
    if (op == Op::Rotr) return this->op(E::Or, this->op(E::Shr, a, b), this->op(E::Shl, a, this->op(E::Neg, b)));
    if (op == Op::FMin) return extreme(this->op(E::Lt, b, a), a, b);
    if (op == Op::FMax) return extreme(this->op(E::Lt, a, b), a, b);
    if (op == Op::IntToFloat) return {build_.cast(expr::Type::f64, a.node)};
    if (op == Op::FloatToInt) return {build_.cast(expr::Type::i64, a.node)};
    return {};
  }

  /// Numbers without a sign, in the order of those with one.
  Held biased(Held a) {
    return op(expr::Op::Xor, a, {build_.constant_int(expr::Type::i64, std::numeric_limits<std::int64_t>::min())});
  }
  /// Takes the first of two zeros, which an expression's own extremes do not promise.
  Held extreme(Held takes_b, Held a, Held b) { return chosen(either(op(expr::Op::Ne, a, a), takes_b), b, a); }

  const Function& function_;
  const Lowered& lowered_;
  const region::Region& region_;
  expr::Expr out_;
  expr::Builder build_;
  std::vector<std::vector<Way>> ways_;  ///< into each block
  std::vector<std::pair<Held, Held>> results_;
  // While a block is walked:
  Way now_;
  std::vector<Held> values_;
  std::uint32_t first_ = 0;
};

}  // namespace

std::optional<expr::Expr> to_expr(const Function& function, const Lowered& lowered) {
  return Composer(function, lowered).run();
}

}  // namespace trident::function
