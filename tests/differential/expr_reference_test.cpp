// The reference of the equivalence check against two evaluators written apart from it: the strict one over libm and the
// one over the reals in MPFR. Without math functions the strict values must agree to the last bit; with them the real
// ones must, to nearly the last bit of a long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "jit/equiv/reference.h"
#include "tests/support/draws.h"
#include "tests/support/mpfr_evaluator.h"
#include "tests/support/random_expr.h"
#include "tests/support/strict_evaluator.h"

namespace trident {
namespace {

constexpr std::size_t kReferencePoints = 48;

struct Inputs {
  std::vector<std::vector<std::uint64_t>> lanes;  // as the evaluators of tests/support want them
  equiv::Samples samples;
};

Inputs draw(const expr::Expr& e, std::uint64_t seed) {
  testing::Random random(seed);
  Inputs inputs;
  inputs.samples.n = kReferencePoints;
  inputs.samples.calls = {{0, kReferencePoints, false}};
  for (const auto& variable : e.variables) {
    inputs.lanes.push_back(testing::random_values(variable, kReferencePoints, random));
    const std::size_t bytes = ir::bytes_of(variable.type);
    auto& column = inputs.samples.columns.emplace_back(kReferencePoints * bytes);
    for (std::size_t i = 0; i < kReferencePoints; ++i)
      std::memcpy(column.data() + i * bytes, &inputs.lanes.back()[variable.is_scalar() ? 0 : i], bytes);
  }
  return inputs;
}

bool same_float(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b)) ||
         (a == 0 && b == 0);
}

double float_of(expr::Type type, std::uint64_t bits) {
  if (type == expr::Type::f32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return std::bit_cast<double>(bits);
}

std::int64_t integer_of(expr::Type type, std::uint64_t bits) {
  if (type == expr::Type::i64) return static_cast<std::int64_t>(bits);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
}

TEST(ExprReference, StrictValuesAgreeWithThePlainEvaluator) {
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 0; seed < testing::draws(1000); ++seed) {
    testing::RandomExprOptions options;
    options.functions = false;
    const expr::Expr e = testing::random_expr(seed, options);
    const auto is_power = [](const expr::Node& node) { return node.op == expr::Op::Powi; };
    if (std::any_of(e.nodes.begin(), e.nodes.end(), is_power)) continue;  // correctly rounded in one of the two only
    const Inputs inputs = draw(e, seed);
    auto reference = equiv::Reference::make(e, inputs.samples);
    ASSERT_TRUE(reference.ok()) << reference.error().message;
    const auto plain = testing::evaluate_strict(e, inputs.lanes, kReferencePoints);
    for (std::size_t k = 0; k < e.outputs.size(); ++k) {
      const equiv::OutputValues& out = reference->outputs()[k];
      const auto& wanted = plain[e.outputs[k].node.index];
      const std::size_t count = out.per_call ? 1 : kReferencePoints;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t bits = wanted[wanted.size() == 1 ? 0 : i];
        if (out.unsure[i] != 0) continue;
        if (ir::is_float(out.type)) {
          ASSERT_TRUE(same_float(out.strict[i], float_of(out.type, bits)))
              << "seed " << seed << " element " << i << ": " << out.strict[i] << " and " << float_of(out.type, bits)
              << "\n"
              << expr::print_infix(e);
          ++compared;
        } else {
          ASSERT_EQ(out.integer[i], integer_of(out.type, bits)) << "seed " << seed << " element " << i << "\n"
                                                                << expr::print_infix(e);
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, testing::draws(37'500));
}

// MPFR's own erf ends the process there. Oracle: its value of a thousand bits less.
TEST(ExprReference, TheMpfrEvaluatorKnowsErrorFunctionsAtTheRootOfThree) {
  const auto e =
      expr::parse_infix("(erf(sqrt(x)) - erf(sqrt(x)*(1 + 1e-30)), erfc(sqrt(x)), erfc(-sqrt(x)), erf(-sqrt(x)))",
                        {.type = expr::Type::f64, .variables = {}});
  ASSERT_TRUE(e.ok());
  const auto few = testing::evaluate_real(*e, {3}, 800), many = testing::evaluate_real(*e, {3}, 4000);
  for (std::size_t k = 0; k < few.size(); ++k) EXPECT_EQ(few[k], many[k]) << k;
}

TEST(ExprReference, RealValuesAgreeWithTheMpfrEvaluator) {
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 0; seed < testing::draws(150); ++seed) {
    testing::RandomExprOptions options;
    options.integers = false;
    options.reductions = false;
    const expr::Expr e = testing::random_expr(seed, options);
    const Inputs inputs = draw(e, seed);
    auto reference = equiv::Reference::make(e, inputs.samples);
    ASSERT_TRUE(reference.ok()) << reference.error().message;
    for (std::size_t i = 0; i < 8; ++i) {
      std::vector<double> point;
      for (std::size_t v = 0; v < e.variables.size(); ++v)
        point.push_back(float_of(e.variables[v].type, inputs.lanes[v][e.variables[v].is_scalar() ? 0 : i]));
      const auto wanted = testing::evaluate_real(e, point, 320, testing::Casts::rounding);
      for (std::size_t k = 0; k < e.outputs.size(); ++k) {
        if (!ir::is_float(reference->outputs()[k].type)) continue;
        const long double quick = reference->outputs()[k].correct[i];
        const long double bound = reference->outputs()[k].error[i];
        reference->refine(k, i);
        const equiv::OutputValues& out = reference->outputs()[k];
        if (out.unsure[i] != 0) continue;
        ++compared;
        if (std::isnan(wanted[k]) || std::isinf(wanted[k]) || std::isinf(out.correct[i])) {
          ASSERT_TRUE(out.correct[i] == wanted[k] || (std::isnan(out.correct[i]) && std::isnan(wanted[k])))
              << "seed " << seed << ": " << out.correct[i] << " and " << wanted[k] << "\n"
              << expr::print_infix(e);
          continue;
        }
        // The absolute part: acos(1 - tiny) and the like leave but a third of the 200 bits.
        const long double scale = std::fabs(wanted[k]) * 1e-18L + 1e-40L;
        ASSERT_LE(std::fabs(out.correct[i] - wanted[k]), scale) << "seed " << seed << "\n" << expr::print_infix(e);
        const bool trusted = std::isfinite(bound);
        ASSERT_TRUE(!trusted || std::fabs(quick - wanted[k]) <= bound + scale) << expr::print_infix(e);
      }
    }
  }
  EXPECT_GT(compared, testing::draws(750));
}

}  // namespace
}  // namespace trident
