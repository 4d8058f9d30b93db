#include "jit/expr/rewrite/costs.h"

#include <array>

#include "jit/expr/builder.h"
#include "jit/expr/rewrite/language.h"

namespace trident::expr::rewrite {
namespace {

// Instructions that keep a pipe busy for longer than an fma does, in its units: Intel and AMD cores with 512-bit
// vectors.
double weight(const kir::Inst& inst) {
  const bool wide = inst.type == Type::f64;
  if (inst.section != kir::Section::body) return 0;
  if (inst.op == kir::Op::Input) return 0;
  if (inst.op == kir::Op::Div) return wide ? 14 : 8;
  if (inst.op == kir::Op::Sqrt) return wide ? 20 : 12;
  if (inst.op == kir::Op::Scalef || inst.op == kir::Op::Lookup || inst.op == kir::Op::Convert) return 2;
  if (inst.op == kir::Op::Neg || inst.op == kir::Op::Abs || inst.op == kir::Op::Not) return 0.5;
  return 1;
}

constexpr double kUnknown = 30;
constexpr double kDerivative = 1e6;

// One op on variables of a tame range, lowered.
double lowered_cost(Op op, Type type) {
  Expr e;
  for (int i = 0; i < info(op).arity; ++i) {
    Variable v;
    v.name = std::string(1, static_cast<char>('a' + i));
    v.type = type;
    v.lo = 0.25, v.hi = 4;
    if (i == 0 && (op == Op::Asin || op == Op::Acos || op == Op::Atanh)) v.hi = 0.75;
    if (i == 0 && op == Op::Acosh) v.lo = 1.5;
    e.variables.push_back(v);
  }
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
  double sum = selects ? -1 : 0;
  for (const kir::Inst& inst : kernel->insts) sum += weight(inst);
  return sum;
}

struct Table {
  std::array<std::array<double, kOpCount>, 2> cost{};
  Table() {
    for (std::size_t i = 0; i < kOpCount; ++i) {
      const Op op = static_cast<Op>(i);
      for (const Type type : {Type::f32, Type::f64}) {
        double& c = cost[type == Type::f64][i];
        const Signature s = info(op).signature;
        if (s == Signature::Leaf)
          c = 0;
        else if (op == Op::Diff)
          c = kDerivative;
        else if (s == Signature::Convert || s == Signature::Reduce || s == Signature::Reduce2 ||
                 s == Signature::Compare || info(op).types == Types::B || info(op).types == Types::I)
          c = s == Signature::Reduce2 ? 2 : 1;
        else
          c = lowered_cost(op, type);
      }
    }
  }
};

double op_cost(const void*, const egraph::ENode& node) {
  static const Table kTable;
  return kTable.cost[static_cast<Type>(node.sort) == Type::f64][node.op];
}

struct ReferenceRow {
  Op op;
  double cost;
};
constexpr ReferenceRow kReference[] = {
    {Op::Add, 4},   {Op::Sub, 4},    {Op::Mul, 4},      {Op::Fma, 4},      {Op::Neg, 1},
    {Op::Abs, 1},   {Op::Min, 2},    {Op::Max, 2},      {Op::Div, 13},     {Op::Recip, 13},
    {Op::Sqrt, 18}, {Op::Rsqrt, 20}, {Op::Exp, 30},     {Op::Log, 35},     {Op::Sin, 40},
    {Op::Cos, 40},  {Op::Tanh, 45},  {Op::Tan, 50},     {Op::Sinh, 50},    {Op::Cosh, 50},
    {Op::Pow, 80},  {Op::Powi, 80},  {Op::Constant, 0}, {Op::Variable, 0}, {Op::Diff, 100'000}};

double reference_cost(const void*, const egraph::ENode& node) {
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

egraph::CostModel default_costs() {
  return {nullptr, &op_cost};
}

egraph::CostModel reference_costs() {
  return {nullptr, &reference_cost};
}

Result<TermCost> cost_of(const Expr& expr, const egraph::CostModel& costs) {
  TRY(const egraph::Term term, to_term(expr));
  return TermCost{egraph::tree_cost(term, op_rows(), costs), egraph::dag_cost(term, costs)};
}

}  // namespace trident::expr::rewrite
