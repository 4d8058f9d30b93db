// Oracles: the table in the header, written out again; sums by hand.
#include "jit/expr/rewrite/costs.h"

#include <gtest/gtest.h>

#include <map>

#include "jit/expr/builder.h"
#include "jit/expr/rewrite/language.h"

namespace trident::expr::rewrite {
namespace {

TermCost cost(const std::string& text, const egraph::CostModel& costs, Type type = Type::f64) {
  const auto e = parse(text, {.type = type, .variables = {}});
  EXPECT_TRUE(e.ok()) << text;
  return cost_of(*e, costs).value();
}

double of_op(const std::string& text, const egraph::CostModel& costs, Type type = Type::f64) {
  return cost(text, costs, type).dag;
}

TEST(ReferenceCosts, AreThePublishedTable) {
  const std::map<std::string, double> kTable = {
      {"(add x y)", 4},  {"(sub x y)", 4},          {"(mul x y)", 4}, {"(fma x y z)", 4}, {"(neg x)", 1},
      {"(abs x)", 1},    {"(min x y)", 2},          {"(max x y)", 2}, {"(div x y)", 13},  {"(recip x)", 13},
      {"(sqrt x)", 18},  {"(rsqrt x)", 20},         {"(exp x)", 30},  {"(log x)", 35},    {"(sin x)", 40},
      {"(cos x)", 40},   {"(tanh x)", 45},          {"(tan x)", 50},  {"(sinh x)", 50},   {"(cosh x)", 50},
      {"(pow x y)", 80}, {"(pow x 7)", 80},         {"x", 0},         {"3", 0},           {"(atan x)", 60},
      {"(erf x)", 60},   {"(d x (sin x))", 100'040}};
  for (const auto& [text, due] : kTable) {
    EXPECT_EQ(due, of_op(text, reference_costs())) << text;
    EXPECT_EQ(due, of_op(text, reference_costs(), Type::f32)) << text;
  }
}

TEST(Costs, SharedPartsCountOnceInADagAndOftenInATree) {
  const TermCost shared = cost("(mul (sin x) (sin x))", reference_costs());
  EXPECT_EQ(84, shared.tree);
  EXPECT_EQ(44, shared.dag);
  const TermCost deep = cost("t = sin(x); u = t*t; v = u*u; v*v", reference_costs());
  EXPECT_EQ(8 * 40 + 7 * 4, deep.tree);
  EXPECT_EQ(40 + 3 * 4, deep.dag);
  const TermCost outputs = cost("t = exp(x); (t + 1, t*2)", reference_costs());
  EXPECT_EQ(2 * 30 + 8, outputs.tree);
  EXPECT_EQ(30 + 8, outputs.dag);
}

/// Makes a table in which every row has its own throughput, so that a sum tells its parts.
cost::Table numbered_table() {
  cost::Table table;
  table.isa = "avx2";
  for (std::size_t i = 0; i < cost::rows().size(); ++i) table.figures.push_back({7, 1 + static_cast<double>(i) / 1024});
  return table;
}

// Instructions that each op lowers to, worked out by hand from jit/expr/lower.cpp.
TEST(OpCosts, AreTheThroughputsOfWhatOpsBecome) {
  const cost::Table table = numbered_table();
  const OpCosts costs(table);
  const auto row = [&](kir::Op op, Type type, cost::Form form = cost::Form::plain) {
    return table.at({op, type, type, form}).throughput;
  };
  for (const Type t : {Type::f32, Type::f64}) {
    EXPECT_EQ(costs.of(Op::Add, t), row(kir::Op::Add, t));
    EXPECT_EQ(costs.of(Op::Mul, t), row(kir::Op::Mul, t));
    EXPECT_EQ(costs.of(Op::Fma, t), row(kir::Op::Fma, t));
    EXPECT_EQ(costs.of(Op::Neg, t), row(kir::Op::Neg, t));
    // Normal operands: the divider or Newton's steps. Their rows differ; the first is the cheaper.
    EXPECT_EQ(costs.of(Op::Div, t), row(kir::Op::Div, t));
    EXPECT_LT(row(kir::Op::Div, t), row(kir::Op::Div, t, cost::Form::newton));
    EXPECT_EQ(costs.of(Op::Sqrt, t), row(kir::Op::Sqrt, t));
    EXPECT_EQ(costs.of(Op::Rsqrt, t), row(kir::Op::Sqrt, t) + row(kir::Op::Div, t));
    EXPECT_EQ(costs.of(Op::Floor, t), row(kir::Op::Floor, t));
    EXPECT_EQ(costs.of(Op::Select, t), row(kir::Op::Select, t));
    EXPECT_EQ(costs.of(Op::Sum, t), row(kir::Op::Sum, t));
    EXPECT_EQ(costs.of(Op::Dot, t), row(kir::Op::Dot, t)) << "of finite products, which the sum takes by their factors";
    EXPECT_EQ(costs.of(Op::Variable, t), 0);
    EXPECT_EQ(costs.of(Op::Constant, t), 0);
  }
  for (const Type t : {Type::i32, Type::i64}) {
    EXPECT_EQ(costs.of(Op::Add, t), row(kir::Op::Add, t));
    EXPECT_EQ(costs.of(Op::And, t), row(kir::Op::And, t));
  }
  EXPECT_EQ(costs.of(Op::Lt, Type::b32), row(kir::Op::Lt, Type::f32));
  EXPECT_EQ(costs.of(Op::Ge, Type::b32), row(kir::Op::Le, Type::f32));
  EXPECT_EQ(costs.of(Op::Not, Type::b32), row(kir::Op::Not, Type::b32));
  EXPECT_EQ(of_op("(mul x y)", costs.model(), Type::f32), row(kir::Op::Mul, Type::f32));
}

TEST(OpCosts, AFigureOfTheTableMattersWhereItsInstructionIsUsed) {
  cost::Table table = numbered_table();
  const OpCosts before(table);
  for (std::size_t i = 0; i < cost::rows().size(); ++i)
    if (cost::rows()[i].op == kir::Op::Fma) table.figures[i].throughput += 100;
  const OpCosts after(table);
  for (const Type t : {Type::f32, Type::f64}) {
    EXPECT_EQ(after.of(Op::Mul, t), before.of(Op::Mul, t));
    EXPECT_EQ(after.of(Op::Fma, t), before.of(Op::Fma, t) + 100);
    for (const Op polynomial : {Op::Exp, Op::Log, Op::Sin, Op::Tanh})
      EXPECT_GT(after.of(polynomial, t), before.of(polynomial, t) + 300);
  }
}

TEST(DefaultCosts, AreSane) {
  const auto f32 = [](const char* text) { return of_op(text, default_costs(), Type::f32); };
  const auto f64 = [](const char* text) { return of_op(text, default_costs(), Type::f64); };
  for (const char* one : {"(add x y)", "(sub x y)", "(mul x y)", "(fma x y z)"}) {
    EXPECT_EQ(1, f32(one)) << one;
    EXPECT_EQ(1, f64(one)) << one;
  }
  EXPECT_LT(f32("(neg x)"), 1);
  EXPECT_GT(f32("(div x y)"), 5);
  EXPECT_GT(f64("(div x y)"), f32("(div x y)"));
  EXPECT_GT(f64("(sqrt x)"), f64("(div x y)"));
  EXPECT_EQ(0, f64("x"));
  EXPECT_EQ(0, f64("2.5"));
  EXPECT_LE(f64("(min x y)"), 3);
  EXPECT_LT(f64("x^7"), f64("(pow x y)"));
  for (const char* function : {"(exp x)", "(log x)", "(sin x)", "(tanh x)", "(erf x)", "(atan2 x y)", "(cbrt x)"}) {
    EXPECT_GT(f64(function), f64("(fma x y z)") * 5) << function;
    EXPECT_LT(f64(function), 200) << function;
    EXPECT_GE(f64(function), f32(function)) << function;
  }
  EXPECT_GT(f64("(pow x y)"), f64("(exp x)"));
  EXPECT_GE(f64("(d x (sin x))"), 1e6);
}

TEST(Costs, APowerBeyondTheTermsExponentIsRefused) {
  for (const std::int64_t exponent : {std::int64_t{2'000'000'000}, kPowiMax}) {
    Expr e;
    e.variables.push_back({.name = "x", .type = Type::f64});
    Builder b(e);
    e.outputs.push_back({"y", b.powi(b.variable(0), exponent)});
    EXPECT_EQ(exponent < INT32_MAX, cost_of(e, reference_costs()).ok()) << exponent;
  }
}

}  // namespace
}  // namespace trident::expr::rewrite
