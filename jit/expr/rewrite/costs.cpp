#include "jit/expr/rewrite/costs.h"

#include <array>
#include <atomic>

#include "jit/expr/builder.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/shape.h"

namespace trident::expr::rewrite {
namespace {

constexpr double kUnknown = 30;
constexpr double kDerivative = 1e6;
/// Costs of one vector, in the table's unit: a load for each lane, and a load with a bounds test.
constexpr double kGather = 24, kStrided = 6;

/// Returns whether it runs for every element. (A reduction's result is in the epilogue, its work in the loop.)
bool in_loop(const kir::Inst& inst) {
  return inst.section == kir::Section::body || kir::info(inst.op).signature == kir::Signature::Reduce;
}

Variable tame_variable(Op op, Type type, std::size_t index) {
  Variable v;
  v.name = std::string(1, static_cast<char>('a' + index));
  v.type = type;
  v.lo = is_float(type) ? 0.25 : 1, v.hi = 4;
  if (index == 0 && info(op).domain == Domain::within_one) v.hi = 0.75;
  if (index == 0 && info(op).domain == Domain::from_one) v.lo = 1.5;
  return v;
}

/// Costs one op on variables of a tame range, lowered.
double lowered_cost(Op op, Type type, const cost::Table& table) {
  Expr e;
  for (std::size_t i = 0; i < info(op).arity; ++i) e.variables.push_back(tame_variable(op, type, i));
  Builder b(e);
  std::array<NodeId, 3> operands{};
  for (std::uint32_t i = 0; i < info(op).arity; ++i) operands[i] = b.variable(i);
  const bool selects = info(op).signature == Signature::Select;
  if (selects) operands[0] = b.op(Op::Lt, operands[0], operands[1]);
  e.outputs.push_back({"y", op == Op::Powi ? b.powi(operands[0], 7) : b.op(op, operands[0], operands[1], operands[2])});
  if (!check(e).ok()) return kUnknown;
  LowerOptions options;
  options.simplify = false;
  options.accuracy = kir::math::Accuracy::ulp4;
  const Result<kir::Kernel> kernel = lower(e, options);
  if (!kernel.ok()) return kUnknown;
  double sum = 0;
  for (const kir::Inst& inst : kernel->insts) {
    if (!in_loop(inst) || (selects && kir::info(inst.op).signature == kir::Signature::Compare)) continue;
    sum += table.throughput(*kernel, inst);
  }
  return sum;
}

/// The kir op of the same name.
kir::Op kir_op(Op op) {
  for (std::uint32_t k = 0; k < kir::kOpCount; ++k)
    if (kir::kOpInfos[k].text == info(op).text) return static_cast<kir::Op>(k);
  CHECK(false);
}

/// A comparison's result says nothing of its operands' width: 32 bits.
double comparison_cost(Op op, const cost::Table& table) {
  const Op straight = op == Op::Gt ? Op::Lt : op == Op::Ge ? Op::Le : op;
  return table.at({kir_op(straight), Type::f32, Type::f32, cost::Form::plain}).throughput;
}

double mask_cost(Op op, const cost::Table& table) {
  return table.at({kir_op(op), Type::b32, Type::b32, cost::Form::plain}).throughput;
}

/// Costs a cast to `type` from the most common source: the other float type, or for integers the float as wide.
double cast_cost(Type type, const cost::Table& table) {
  if (is_mask(type)) return comparison_cost(Op::Ne, table);
  const Type from = type == Type::f32 || type == Type::i64 ? Type::f64 : Type::f32;
  return table.at({kir::Op::Convert, type, from, cost::Form::plain}).throughput;
}

double op_cost(Op op, Type type, const cost::Table& table) {
  const Signature s = info(op).signature;
  if (s == Signature::Leaf) return 0;
  if (s == Signature::Read) return op == Op::Gather ? kGather : kStrided;
  if (op == Op::Diff) return kDerivative;
  if (s == Signature::Compare) return comparison_cost(op, table);
  if (s == Signature::Convert) return cast_cost(type, table);
  if (is_mask(type)) return info(op).types == Types::B ? mask_cost(op, table) : kUnknown;
  return lowered_cost(op, type, table);
}

// Weight of an op done once per call against one done for every element: calls have some dozens of vectors or more.
constexpr double kOncePerCall = 1.0 / 32;

double model_cost(const void* context, const egraph::ENode& node, std::uint8_t stage) {
  const Op op = static_cast<Op>(node.op);
  const bool once = stage != egraph::kStageOfElements && !makes_total(op);
  return static_cast<const OpCosts*>(context)->of(op, static_cast<Type>(node.sort)) * (once ? kOncePerCall : 1);
}

struct ReferenceRow {
  Op op;
  double cost;
};
constexpr ReferenceRow kReference[] = {
    {Op::Add, 4},        {Op::Sub, 4},   {Op::Mul, 4},     {Op::Fma, 4},    {Op::Neg, 1},      {Op::Abs, 1},
    {Op::Min, 2},        {Op::Max, 2},   {Op::Div, 13},    {Op::Recip, 13}, {Op::Sqrt, 18},    {Op::Rsqrt, 20},
    {Op::Exp, 30},       {Op::Log, 35},  {Op::Sin, 40},    {Op::Cos, 40},   {Op::Tanh, 45},    {Op::Tan, 50},
    {Op::Sinh, 50},      {Op::Cosh, 50}, {Op::Pow, 80},    {Op::Powi, 80},  {Op::Constant, 0}, {Op::Variable, 0},
    {Op::Diff, 100'000}, {Op::Index, 0}, {Op::Gather, 26}, {Op::Strided, 8}};

double reference_cost(const void*, const egraph::ENode& node, std::uint8_t) {
  constexpr double kInstruction = 4, kFunction = 60;
  static constexpr auto kTable = [] {
    std::array<double, kOpCount> cost{};
    for (std::size_t i = 0; i < kOpCount; ++i) cost[i] = kOpInfos[i].types == Types::F ? kFunction : kInstruction;
    for (const ReferenceRow& row : kReference) cost[static_cast<std::size_t>(row.op)] = row.cost;
    return cost;
  }();
  return kTable[node.op];
}

}  // namespace

OpCosts::OpCosts(cost::Table table) : table_(std::move(table)) {
  for (std::size_t t = 0; t < kTypes; ++t)
    for (std::size_t i = 0; i < kOpCount; ++i) cost_[t][i] = op_cost(static_cast<Op>(i), static_cast<Type>(t), table_);
}

egraph::CostModel OpCosts::model() const {
  return {this, &model_cost, &stage_of};
}

const OpCosts& default_op_costs(std::string_view isa, std::string_view cpu) {
  // Grows only and takes no lock: a forked child would find a lock held by a thread that it does not have.
  struct Made {
    OpCosts costs;
    const cost::Table* table;
    const Made* next;
  };
  static constinit std::atomic<const Made*> newest{nullptr};
  const cost::Table& table = cost::shipped(isa, cpu);
  for (const Made* made = newest.load(std::memory_order_acquire); made != nullptr; made = made->next)
    if (made->table == &table) return made->costs;
  auto* const fresh = new Made{OpCosts(table), &table, newest.load(std::memory_order_relaxed)};
  while (!newest.compare_exchange_weak(fresh->next, fresh, std::memory_order_release)) {
  }
  return fresh->costs;
}

egraph::CostModel default_costs() {
  return default_op_costs("avx512").model();
}

egraph::CostModel reference_costs() {
  return {nullptr, &reference_cost};
}

Result<TermCost> cost_of(const Expr& expr, const egraph::CostModel& costs) {
  TRY(const egraph::Term term, to_term(expr));
  return TermCost{egraph::tree_cost(term, op_rows(), costs), egraph::dag_cost(term, op_rows(), costs)};
}

}  // namespace trident::expr::rewrite
