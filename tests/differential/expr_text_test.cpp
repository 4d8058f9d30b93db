// parse(print(e)) is e again, for random expressions over every op and type, in both text forms.
#include <gtest/gtest.h>

#include "tests/support/random_expr.h"

namespace trident {
namespace {

constexpr std::uint64_t kSeeds = 20000;

testing::RandomExprOptions all_ops(std::uint64_t seed) {
  testing::RandomExprOptions options;
  options.derivatives = true;
  options.nodes_max = seed % 10 == 0 ? 300 : 24;
  return options;
}

TEST(ExprText, RandomExpressionsAreWellFormed) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const expr::Expr e = testing::random_expr(seed, all_ops(seed));
    const Result<void> sound = expr::check(e);
    ASSERT_TRUE(sound.ok()) << "seed " << seed << ": " << sound.error().message;
  }
}

TEST(ExprText, InfixReadsBackWhatItPrints) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const expr::Expr e = testing::random_expr(seed, all_ops(seed));
    const std::string text = expr::print_infix(e);
    const Result<expr::Expr> back =
        expr::parse_infix(text, {.type = ir::Type::f32, .variables = {}, .file = "printed"});
    ASSERT_TRUE(back.ok()) << "seed " << seed << "\n" << text << "\n" << back.error().message;
    ASSERT_EQ(expr::canonical_bytes(e), expr::canonical_bytes(*back)) << "seed " << seed << "\n"
                                                                      << text << "\n\n"
                                                                      << expr::print_infix(*back);
  }
}

TEST(ExprText, SexprReadsBackWhatItPrints) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const expr::Expr e = testing::random_expr(seed, all_ops(seed));
    const std::string text = expr::print_sexpr(e);
    const Result<expr::Expr> back = expr::parse(text, {.type = ir::Type::f32, .variables = {}, .file = "printed"});
    ASSERT_TRUE(back.ok()) << "seed " << seed << "\n" << text << "\n" << back.error().message;
    ASSERT_EQ(expr::canonical_bytes(e), expr::canonical_bytes(*back)) << "seed " << seed << "\n"
                                                                      << text << "\n\n"
                                                                      << expr::print_sexpr(*back);
  }
}

}  // namespace
}  // namespace trident
