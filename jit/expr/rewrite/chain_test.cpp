// Oracle: the interpreter, for every form of a chain against the source; forms by hand.
#include "jit/expr/rewrite/chain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "jit/kir/interpreter.h"

namespace trident::expr::rewrite {
namespace {

Rewritten explained(const Expr& source) {
  RewriteOptions how;
  how.policy.kind = PolicyKind::fast;
  how.explain = true;
  auto found = rewrite(source, how);
  EXPECT_TRUE(found.ok());
  return std::move(found).value();
}

std::vector<double> values_of(const Expr& e, const std::vector<std::vector<double>>& columns) {
  LowerOptions options;
  options.simplify = false;
  const auto kernel = lower(e, options);
  EXPECT_TRUE(kernel.ok());
  std::vector<const void*> in;
  for (const auto& column : columns) in.push_back(column.data());
  std::vector<double> out(columns[0].size());
  void* const outs[] = {out.data()};
  kir::interpret(*kernel, out.size(), in.data(), outs, nullptr);
  return out;
}

TEST(Chain, EveryFormHasTheValueOfTheSource) {
  std::size_t links = 0, whole = 0, cases = 0;
  for (const char* text : {"x: f64 in [1, 2]; y: f64 in [1, 2]; sin(x)*sin(x) + cos(x)*cos(x) + y*0",
                           "x: f64 in [1, 2]; y: f64 in [1, 2]; x*x + 2*x*y + y*y",
                           "x: f64 in [1, 2]; y: f64 in [1, 2]; exp(x)*exp(y) + exp(x+y)",
                           "x: f64 in [1, 2]; y: f64 in [1, 2]; log(exp(x*y)) / (y*x) + x",
                           "x: f64 in [1, 2]; y: f64 in [1, 2]; (x*y + x*x) / x",
                           "x: f64 in [1, 2]; y: f64 in [1, 2]; sqrt(x*x) * (y - 0) + 1*x"}) {
    const auto source = parse(text);
    ASSERT_TRUE(source.ok()) << text;
    const Rewritten found = explained(*source);
    ASSERT_FALSE(found.forms.empty()) << text;
    const auto chain = chain_of(*source, found);
    ASSERT_TRUE(chain.ok());
    ASSERT_GE(chain->size(), 2u) << text;
    EXPECT_TRUE(chain->front().rules.empty());
    EXPECT_EQ(print_sexpr(chain->front().form), print_sexpr(*source));
    EXPECT_EQ(print_sexpr(chain->back().form), print_sexpr(found.forms.front()));
    std::vector<std::vector<double>> columns(2);
    for (int i = 0; i < 50; ++i) columns[0].push_back(1 + i / 50.0), columns[1].push_back(2 - i / 60.0);
    const std::vector<double> right = values_of(*source, columns);
    for (const ChainLink& link : *chain) {
      const std::vector<double> got = values_of(link.form, columns);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], right[i], 1e-12 * std::fabs(right[i])) << text << "\n" << print_sexpr(link.form);
    }
    ++cases, links += chain->size() - 1;
    whole += std::all_of(chain->begin() + 1, chain->end(), [](const ChainLink& l) { return l.rules.size() == 1; });
  }
  EXPECT_GE(whole, cases / 2);  // most have no link of several rules
  EXPECT_GE(links, cases);
}

TEST(Chain, OfNothingFoundIsTheSource) {
  const auto source = parse("x: f64; x + 1");
  ASSERT_TRUE(source.ok());
  const auto chain = chain_of(*source, Rewritten{});
  ASSERT_TRUE(chain.ok());
  EXPECT_EQ(chain->size(), 1u);
}

}  // namespace
}  // namespace trident::expr::rewrite
