// Oracle: IEEE 754 and C's functions, as a reader knows them; for parts put back, the source itself.
#include "jit/expr/rewrite/special_values.h"

#include <gtest/gtest.h>

#include <string>

#include "jit/expr/rewrite/fixed_parts.h"

namespace trident::expr::rewrite {
namespace {

std::size_t special_nodes(const char* text) {
  const auto e = parse_infix(text);
  EXPECT_TRUE(e.ok()) << text;
  const SpecialValues found = special_values(*e);
  std::size_t count = 0;
  for (const bool special : found.nodes) count += special ? 1 : 0;
  EXPECT_EQ(found.any(), count > 0) << text;
  return count;
}

TEST(SpecialValues, AreWhatReadsThemAndWhatTheyComeFrom) {
  // copysign, both products and -0, but not z; the division, floor; the comparison, the product, log; min, sqrt.
  EXPECT_EQ(special_nodes("copysign(x, -0.0*z*z)"), 4u);
  EXPECT_EQ(special_nodes("1/floor(x/20)"), 2u);
  EXPECT_EQ(special_nodes("select(2*log(x) < 1, x*y, z)"), 3u);
  EXPECT_EQ(special_nodes("min(sqrt(x), y*z)"), 2u);
  EXPECT_EQ(special_nodes("pow(sign(abs(x)), log(y))"), 2u);  // 1^NaN is 1
  // NaN everywhere, and where no point reaches.
  EXPECT_EQ(special_nodes("x*y + log(-1)"), 2u);
  EXPECT_EQ(special_nodes("select(abs(x) < 1e9, x*y, sqrt(-2))"), 1u);
}

TEST(SpecialValues, AreNoneWhereNothingLooks) {
  for (const char* text :
       {"x - x", "1/(x*x - y)", "x*(0*y)", "sqrt(x) + log(y)", "select(x > 0, log(x), 0)", "abs(x - x)",
        "atan2(0*x, 1 + y*y)", "x/y < 1 ? x : y", "max(x, 0)*y", "copysign(x, (z - z) + 1)", "1/(1 + exp(1000*x))",
        "(0*x < 1) ? x : y", "pow(0*x, 2)", "select(x > 0, 1/max(x, 0), y)"})
    EXPECT_EQ(special_nodes(text), 0u) << text;
}

// Few points are looked at for so many operations; at one of them at least these logarithms are numbers.
TEST(SpecialValues, OfManyOperationsAreNotTakenForNoNumbers) {
  std::string text = "x";
  for (int i = 0; i < 900; ++i) text += " + log(v" + std::to_string(i % 12) + ")*" + std::to_string(i) + ".5";
  EXPECT_EQ(special_nodes(text.c_str()), 0u);
}

TEST(FixedParts, ComeBackWhereTheyWere) {
  for (const char* text : {"copysign(x, -0.0*z*z) + y", "select(not(2*log(x) < 1), min(sqrt(x*y), y), z) * max(0/0, x)",
                           "sum(copysign(x, 0*x))*2", "s = -0.0*x; (copysign(s, s), atan2(s, s), s, 1/(1/s))",
                           "table t: f64; t[index]/(0*t[index])", "max(sqrt(log(x)), sqrt(log(x)*y))"}) {
    const auto source = parse_infix(text);
    ASSERT_TRUE(source.ok()) << text << source.error().message;
    const SpecialValues special = special_values(*source);
    ASSERT_TRUE(special.any()) << text;
    const FixedParts parts(*source, special.nodes);
    EXPECT_GT(parts.open().variables.size(), source->variables.size());
    const auto closed = parts.close(parts.open());
    ASSERT_TRUE(closed) << text;
    EXPECT_EQ(canonical_bytes(*source), canonical_bytes(*closed)) << print_infix(*closed);
    Expr others = parts.open();
    others.outputs.resize(source->outputs.size());
    EXPECT_EQ(canonical_bytes(*source), canonical_bytes(parts.close_others(others)));
  }
}

// A fixed node's operand has become a term that contains that node.
TEST(FixedParts, AreNotMadeOfThemselves) {
  const auto source = parse_infix("copysign(x, -0.0*(z*z))");
  ASSERT_TRUE(source.ok());
  const FixedParts parts(*source, special_values(*source).nodes);
  Expr form = parts.open();
  ASSERT_EQ(form.outputs.size(), 2u);
  form.outputs[1].node = form.outputs[0].node;
  EXPECT_FALSE(parts.close(form));
}

}  // namespace
}  // namespace trident::expr::rewrite
