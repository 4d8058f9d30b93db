// Oracle: MPFR at 3000 bits. What is folded is the real value but for roundings, and exact where it has few bits.
#include "jit/expr/rewrite/fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "jit/expr/builder.h"
#include "tests/support/mpfr_evaluator.h"

namespace trident::expr::rewrite {
namespace {

constexpr int kPrecisionBits = 3000;  // 1 + 1e-310 - 1 has digits left

double value_of_op(Op op, std::int64_t imm, const std::vector<double>& at) {
  Expr e;
  Node n;
  n.op = op, n.type = Type::f64, n.imm = static_cast<std::uint64_t>(imm);
  const NodeId ids[] = {NodeId(0), NodeId(1), NodeId(2)};
  for (std::size_t v = 0; v < at.size(); ++v) {
    e.variables.push_back({std::string(1, static_cast<char>('a' + v)), Type::f64, VariableKind::array});
    e.nodes.push_back({});
    e.nodes.back().op = Op::Variable, e.nodes.back().type = Type::f64, e.nodes.back().imm = v;
  }
  n.a = ids[0];
  if (at.size() > 1) n.b = ids[1];
  if (at.size() > 2) n.c = ids[2];
  e.nodes.push_back(n);
  e.outputs.push_back({"y", NodeId(static_cast<std::uint32_t>(at.size()))});
  return static_cast<double>(testing::evaluate_real(e, at, kPrecisionBits)[0]);
}

std::optional<double> folded(Op op, const std::vector<double>& at, std::int64_t imm = 0) {
  Node n;
  n.op = op, n.type = Type::f64, n.imm = static_cast<std::uint64_t>(imm);
  n.a = NodeId(0);
  if (at.size() > 1) n.b = NodeId(1);
  if (at.size() > 2) n.c = NodeId(2);
  return fold(n, at[0], at.size() > 1 ? at[1] : 0, at.size() > 2 ? at[2] : 0);
}

TEST(Fold, IsTheRealValueOrNothing) {
  std::mt19937_64 random(5);
  const double special[] = {0,        1,           -1,          2,      0.5,   3,     4,      8,     9,     10,
                            100,      1000,        27,          1e-310, 1e-24, 1e-17, 1e-200, 1e200, 0.1,   M_PI,
                            M_PI / 2, 1 + 0x1p-40, 1 - 0x1p-53, -0.1,   20,    700,   -800,   1e308, 5e-324};
  const auto draw = [&] {
    const double x = special[random() % std::size(special)];
    switch (random() % 4) {
      case 0: return x;
      case 1: return -x;
      case 2: return std::ldexp(static_cast<double>(random() % 4096) - 2048, static_cast<int>(random() % 20) - 10);
      default: return std::ldexp(static_cast<double>(random()) * 0x1p-64, static_cast<int>(random() % 80) - 40);
    }
  };
  int kept = 0, simple = 0;
  for (std::size_t o = 0; o < kOpCount; ++o) {
    const Op op = static_cast<Op>(o);
    const bool of_floats = info(op).types == Types::F || info(op).types == Types::N || info(op).types == Types::A;
    if (info(op).signature != Signature::Same || !of_floats || info(op).arity == 0) continue;
    if (op == Op::Copysign || op == Op::Fmod) continue;
    for (int i = 0; i < 300; ++i) {
      std::vector<double> at;
      for (int v = 0; v < info(op).arity; ++v) at.push_back(draw());
      const std::int64_t imm = static_cast<std::int64_t>(random() % 41) - 20;
      const auto value = folded(op, at, imm);
      if (!value) continue;
      const double real = value_of_op(op, imm, at);
      ++kept;
      const bool few_bits = static_cast<double>(static_cast<float>(*value)) == *value && *value != 0;
      simple += few_bits;
      const std::string where =
          std::string(info(op).text) + " of " + ::testing::PrintToString(at) + ", " + std::to_string(imm);
      ASSERT_LE(std::fabs(*value - real), 1e-9 * std::fabs(real)) << where;
      if (few_bits) {
        ASSERT_EQ(*value, real) << where;
      }
    }
  }
  EXPECT_GT(kept, 2000);
  EXPECT_GT(simple, 500);
}

TEST(Fold, OfWhatIsRoundedToAFewBitsIsNothing) {
  EXPECT_FALSE(folded(Op::Exp, {1e-310}));
  EXPECT_FALSE(folded(Op::Cosh, {1e-9}));
  EXPECT_FALSE(folded(Op::Add, {1, 1e-24}));
  EXPECT_FALSE(folded(Op::Sub, {1, 1 - 0x1p-53}));
  EXPECT_FALSE(folded(Op::Tanh, {700}));
  EXPECT_FALSE(folded(Op::Sin, {M_PI / 2}));
  EXPECT_FALSE(folded(Op::Fma, {1e-12, 1e-12, 1}));
  EXPECT_FALSE(folded(Op::Pow, {1 + 0x1p-20, 3e-20}));
}

TEST(Fold, TellsFunctionsOfOneNumberApart) {
  // Starts at 2, where functions come near their limits and one another; no two are the same there.
  std::mt19937_64 random(7);
  int folds = 0;
  for (int i = 0; i < 400; ++i) {
    const double x = std::ldexp(1 + static_cast<double>(random()) * 0x1p-64, 1 + static_cast<int>(random() % 60));
    for (const double at : {x, -x, 1 / x, -1 / x}) {
      std::vector<std::pair<std::string, double>> values{
          {"itself", at}, {"-itself", -at}, {"half a turn", M_PI}, {"a quarter", M_PI / 2}, {"-a quarter", -M_PI / 2}};
      for (const Op op :
           {Op::Exp, Op::Sinh, Op::Cosh, Op::Tanh, Op::Expm1, Op::Log, Op::Log1p, Op::Asinh, Op::Acosh, Op::Atan,
            Op::Asin, Op::Acos, Op::Atanh, Op::Erf, Op::Erfc, Op::Sin, Op::Tan, Op::Cbrt, Op::Sqrt})
        if (const auto value = folded(op, {at})) values.emplace_back(info(op).text, *value), ++folds;
      for (const double other : {1.5, -1.5})
        for (const Op op : {Op::Hypot, Op::Atan2})
          if (const auto value = folded(op, {at, other}))
            values.emplace_back(std::string(info(op).text) + (other > 0 ? "" : "-"), *value), ++folds;
      const auto hyperbolic = [](const std::string& name) { return name.starts_with("exp") || name.ends_with("inh"); };
      for (std::size_t k = 0; k < values.size(); ++k)
        for (std::size_t l = 0; l < k; ++l) {
          // At small numbers two series can agree in three terms, so nothing tells them apart.
          if (std::fabs(at) < 1 && l >= 5) continue;
          const bool both_hypot = values[k].first == "hypot-" && values[l].first == "hypot";
          if (!both_hypot) {
            EXPECT_NE(values[k].second, values[l].second) << values[k].first << ", " << values[l].first << " of " << at;
          }
          // Likewise for pairs of which one is half of the other.
          if (hyperbolic(values[k].first) && hyperbolic(values[l].first)) {
            EXPECT_NE(2 * values[k].second, values[l].second)
                << values[k].first << ", " << values[l].first << " " << at;
            EXPECT_NE(values[k].second, 2 * values[l].second)
                << values[k].first << ", " << values[l].first << " " << at;
          }
        }
    }
  }
  EXPECT_GT(folds, 5000);
}

TEST(Fold, OfWhatIsExactIsThat) {
  EXPECT_EQ(8, folded(Op::Powi, {2}, 3));
  EXPECT_EQ(0.125, folded(Op::Pow, {2, -3}));
  EXPECT_EQ(27, folded(Op::Pow, {9, 1.5}));
  EXPECT_EQ(5, folded(Op::Hypot, {3, 4}));
  EXPECT_EQ(3, folded(Op::Log10, {1000}));
  EXPECT_EQ(-3, folded(Op::Log2, {0.125}));
  EXPECT_EQ(3, folded(Op::Cbrt, {27}));
  EXPECT_EQ(0.25, folded(Op::Rsqrt, {16}));
  EXPECT_EQ(1, folded(Op::Exp, {0}));
  EXPECT_EQ(0, folded(Op::Log, {1}));
  EXPECT_EQ(1, folded(Op::Mul, {2, 0.5}));
  EXPECT_EQ(0, folded(Op::Sub, {0.1, 0.1}));
}

}  // namespace
}  // namespace trident::expr::rewrite
