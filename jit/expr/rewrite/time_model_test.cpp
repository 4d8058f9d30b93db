// Oracle: sums and chains by hand, from the rows of a table that is made up.
#include "jit/expr/rewrite/time_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "jit/expr/rewrite/kinds.h"
#include "jit/nnue/features.h"

namespace trident::expr::rewrite {
namespace {

using kir::Op;

/// Every op takes 1 and waits 2; but a product takes 3 and waits 5, a division 7 and 11.
cost::Table made_up() {
  cost::Table table = cost::shipped("avx512");
  for (std::size_t i = 0; i < cost::rows().size(); ++i) {
    const Op op = cost::rows()[i].op;
    table.figures[i] = op == Op::Mul   ? cost::Figures{.latency = 5, .throughput = 3}
                       : op == Op::Div ? cost::Figures{.latency = 11, .throughput = 7}
                                       : cost::Figures{.latency = 2, .throughput = 1};
  }
  table.f32 = {.latency_ns = 1, .throughput_ns = 0.25};
  table.f64 = {.latency_ns = 2, .throughput_ns = 0.5};
  return table;
}

kir::Kernel lowered(const char* text) {
  const auto e = parse(text);
  EXPECT_TRUE(e.ok()) << text;
  auto kernel = lower(*e, {.policy = {}, .simplify = false});
  EXPECT_TRUE(kernel.ok());
  return std::move(kernel).value();
}

TEST(KernelWork, CountsByHand) {
  // (x*y + x)/y + 2*c with a parameter c: a product, two sums, a division in the loop; 2*c before it.
  const KernelWork w = work_of(lowered("x: f64; y: f64; param c: f64; (x*y + x)/y + 2.0*c"), made_up());
  EXPECT_DOUBLE_EQ(w.throughput, 3 + 1 + 7 + 1);
  EXPECT_DOUBLE_EQ(w.latency, 5 + 2 + 11 + 2);
  EXPECT_DOUBLE_EQ(w.path, 5 + 2 + 11 + 2);
  EXPECT_DOUBLE_EQ(w.divider, 7);
  EXPECT_EQ(w.inputs, 2u);
  EXPECT_EQ(w.outputs, 1u);
  EXPECT_EQ(w.selects, 0u);
  EXPECT_TRUE(w.wide);
  EXPECT_EQ(w.live, 3u);  // x, y and the product
}

TEST(KernelWork, TheCriticalPathIsTheLongestChain) {
  const KernelWork w = work_of(lowered("x: f32; y: f32; ((x*x)*x)*x + (y + 1)"), made_up());
  EXPECT_DOUBLE_EQ(w.path, 3 * 5 + 2);
  EXPECT_DOUBLE_EQ(w.latency, 3 * 5 + 2 + 2);
  EXPECT_FALSE(w.wide);
}

TEST(StaticNs, IsTheBusierOfPipesAndPath) {
  const cost::Table table = made_up();
  KernelWork w;
  w.throughput = 100, w.path = 10, w.instructions = 50, w.inputs = 2, w.outputs = 1;
  EXPECT_DOUBLE_EQ(static_ns(w, table), 104 * 0.25 / 16);  // 16 lanes of f32
  w.wide = true;
  EXPECT_DOUBLE_EQ(static_ns(w, table), 104 * 0.5 / 8);
  w.path = 1e4, w.instructions = 2047;  // a quarter of an iteration is under way: counted as one
  EXPECT_DOUBLE_EQ(static_ns(w, table), 1e4 * 2 / 8);
  w.instructions = 127;  // four iterations at once
  EXPECT_DOUBLE_EQ(static_ns(w, table), 1e4 * 2 / 4 / 8);
}

TEST(Scalars, AreLogarithms) {
  const cost::Table table = made_up();
  KernelWork w;
  w.throughput = 100, w.latency = 200, w.path = 50, w.instructions = 60, w.live = 7, w.wide = true;
  const TimeScalars s = scalars_of(w, table, 33);
  const auto at = [&](TimeScalar i) { return int{s[static_cast<std::size_t>(i)]}; };
  EXPECT_EQ(at(TimeScalar::nodes), std::lround(128 * std::log(33)));
  EXPECT_EQ(at(TimeScalar::throughput), std::lround(128 * std::log(100)));
  EXPECT_EQ(at(TimeScalar::latency), std::lround(128 * std::log(200)));
  EXPECT_EQ(at(TimeScalar::slack), std::lround(128 * std::log(0.5)));
  EXPECT_EQ(at(TimeScalar::live), std::lround(128 * std::log(8)));
  EXPECT_EQ(at(TimeScalar::wide), 127);
  EXPECT_EQ(at(TimeScalar::static_guess), std::lround(128 * std::log(static_ns(w, table))));
  EXPECT_EQ(scalar_of_logarithm(1e9), 2048);
  EXPECT_EQ(scalar_of_logarithm(-1e9), -2048);
}

TEST(TimeModel, AddsWhatItsHeadSaysToALinearFunctionOfTheScalars) {
  TimeScalars scalars{};
  scalars[static_cast<std::size_t>(TimeScalar::nodes)] = 128 * 3;
  scalars[static_cast<std::size_t>(TimeScalar::static_guess)] = -64;
  // Weights of version 3 go by the analytical model.
  EXPECT_DOUBLE_EQ(base_of(nullptr, scalars), -0.5);
  nn::LinearGuess base;
  base.per_scalar[static_cast<std::size_t>(TimeScalar::nodes)] = 0.25f;
  base.per_scalar[static_cast<std::size_t>(TimeScalar::static_guess)] = 2;
  base.constant = 10, base.margin = 0.125f;
  EXPECT_DOUBLE_EQ(base_of(&base, scalars), 0.25 * 3 - 2 * 0.5 + 10);

  nn::PlainWeights plain;
  plain.space = nnue::feature_space(node_kinds().hash, nnue::kDefaultDepth);
  for (auto& head : plain.heads) head.bias.resize(1);
  plain.heads[0].b2 = 100, plain.judge_unit = 1.0f / 1024;
  const auto old = nn::AccumulatorWeights::make(plain);
  plain.linear_guess = base;
  const auto with = nn::AccumulatorWeights::make(plain);
  ASSERT_TRUE(old.ok() && with.ok());
  EXPECT_DOUBLE_EQ(TimeModel(*old).log_ns({}, 20, scalars), -0.5 + 100.0 / 1024);
  EXPECT_EQ(TimeModel(*old).margin(), 0);
  EXPECT_DOUBLE_EQ(TimeModel(*with).log_ns({}, 20, scalars), 9.75 + 100.0 / 1024);
  EXPECT_EQ(TimeModel(*with).margin(), 0.125);
}

}  // namespace
}  // namespace trident::expr::rewrite
