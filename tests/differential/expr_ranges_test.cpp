// Soundness of the interval analysis: every node's value, evaluated strictly at random points within the declared
// ranges, lies in the node's interval.
#include <gtest/gtest.h>

#include <cmath>

#include "jit/expr/builder.h"
#include "jit/expr/ranges.h"
#include "tests/support/draws.h"
#include "tests/support/random_expr.h"
#include "tests/support/strict_evaluator.h"

namespace trident {
namespace {

constexpr std::size_t kPoints = 24;

// Describes the fault of `bits` as a value of `node`; empty when there is none.
std::string fault(const expr::Node& node, const expr::Fact& fact, std::uint64_t bits) {
  if (node.type == ir::Type::b32) {
    const double v = bits != 0 ? 1 : 0;
    return v >= fact.lo && v <= fact.hi ? "" : "truth " + std::to_string(v);
  }
  const double v = expr::value_of(node.type, bits);
  if (std::isnan(v)) return fact.may_be_nan ? "" : "NaN";
  if (!(v >= fact.lo && v <= fact.hi)) return "value " + std::to_string(v);
  if (fact.integral && std::isfinite(v) && std::trunc(v) != v) return "not integral: " + std::to_string(v);
  return "";
}

TEST(ExprRanges, HoldEveryNodesValue) {
  for (std::uint64_t seed = 0; seed < testing::draws(5000); ++seed) {
    testing::RandomExprOptions options;
    options.ranged = 0.9;
    options.or_nan = seed % 2 == 0 ? 0 : 0.5;
    const expr::Expr e = testing::random_expr(seed, options);
    testing::Random random(seed + 1);
    std::vector<std::vector<std::uint64_t>> inputs;
    for (const expr::Variable& v : e.variables) inputs.push_back(testing::random_values(v, kPoints, random));
    const auto values = testing::evaluate_strict(e, inputs, kPoints);
    expr::Ranges ranges(e);
    for (std::uint32_t i = 0; i < e.nodes.size(); ++i) {
      const expr::Fact& fact = ranges.at(expr::NodeId(i));
      for (std::size_t k = 0; k < values[i].size(); ++k) {
        const std::string what = fault(e.nodes[i], fact, values[i][k]);
        ASSERT_TRUE(what.empty()) << "seed " << seed << ", node " << i << " " << expr::info(e.nodes[i].op).text << ": "
                                  << what << " outside [" << fact.lo << ", " << fact.hi << "] at point " << k << "\n"
                                  << expr::print_sexpr(e);
      }
    }
  }
}

}  // namespace
}  // namespace trident
