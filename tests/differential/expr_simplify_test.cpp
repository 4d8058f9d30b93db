// Simplification under bounded(2): kernels of simplified expressions against the MPFR reference of the source, by the
// policy's own measure (jit/equiv).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "jit/equiv/checker.h"
#include "jit/expr/simplify.h"
#include "tests/support/random_expr.h"

namespace trident {
namespace {

std::string difference(const expr::Expr& e, const expr::LowerOptions& options, std::uint64_t points) {
  Result<expr::Expr> source = expr::eliminate_derivatives(e);
  if (!source.ok()) return source.error().message;
  const auto checker = equiv::Checker::make(*source, options.policy, {.samples = {.points = points, .seed = 3}});
  if (!checker.ok()) return checker.error().message;
  const Result<kir::Kernel> kernel = expr::lower(e, options);
  if (!kernel.ok()) return kernel.error().message;
  const auto prepared = (*checker)->check_meaning(*kernel, equiv::Demand::policy);
  if (!prepared.ok()) return prepared.error().message;
  if (prepared->meaning.same()) return "";
  return equiv::print(prepared->meaning) + "\n" + expr::print_infix(e) + "\nbecame\n" +
         expr::print_infix(expr::simplify(*source, options));
}

// "name<TAB>x:lo:hi,...<TAB>text" as a declaration and the text.
std::string kernel_text(const std::string& line, std::string& name) {
  std::istringstream fields(line);
  std::string variables;
  std::string text;
  std::getline(fields, name, '\t');
  std::getline(fields, variables, '\t');
  std::getline(fields, text);
  std::istringstream list(variables);
  std::string declarations;
  for (std::string v; std::getline(list, v, ',');) {
    const std::size_t first = v.find(':');
    const std::size_t second = v.find(':', first + 1);
    declarations += (declarations.empty() ? "" : ", ") + v.substr(0, first) + " in [" +
                    v.substr(first + 1, second - first - 1) + ", " + v.substr(second + 1) + "]";
  }
  return declarations + "; " + text;
}

TEST(ExprSimplify, CorpusStaysWithinItsPolicy) {
  std::ifstream corpus("bench/corpus/kernels.tsv");
  ASSERT_TRUE(corpus.is_open());
  for (std::string line; std::getline(corpus, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::string name;
    const std::string text = kernel_text(line, name);
    for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
      const Result<expr::Expr> e = expr::parse(text, {.type = type, .variables = {}, .file = name});
      ASSERT_TRUE(e.ok()) << e.error().message;
      const std::string what = difference(*e, {}, 16384);
      EXPECT_TRUE(what.empty()) << name << " " << ir::name_of(type) << ": " << what;
    }
  }
}

void check_random(const expr::LowerOptions& options, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t seed = first; seed < last; ++seed) {
    testing::RandomExprOptions shape;
    shape.ranged = 1;
    shape.functions = false;
    shape.nodes_max = 14;
    const expr::Expr e = testing::random_expr(seed, shape);
    const std::string what = difference(e, options, 512);
    ASSERT_TRUE(what.empty()) << "seed " << seed << ": " << what;
  }
}

TEST(ExprSimplify, RandomExpressionsStayWithinBounded) {
  check_random({}, 0, 300);
}
TEST(ExprSimplify, RandomExpressionsStayWithinFast) {
  check_random({.policy = {.kind = expr::PolicyKind::fast}}, 1000, 1200);
}

}  // namespace
}  // namespace trident
