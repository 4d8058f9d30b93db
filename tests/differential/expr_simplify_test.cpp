// Simplification under bounded(2): kernels of simplified expressions against the MPFR reference of the source, by the
// policy's own measure (jit/equiv).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "jit/equiv/checker.h"
#include "jit/expr/builder.h"
#include "jit/expr/simplify.h"
#include "jit/kir/interpreter.h"
#include "tests/support/random_expr.h"

namespace trident {
namespace {

std::string difference(const expr::Expr& e, const expr::LowerOptions& options, std::uint64_t points, double slack = 1) {
  Result<expr::Expr> source = expr::eliminate_derivatives(e);
  if (!source.ok()) return source.error().message;
  expr::Policy checked = options.policy;
  checked.k *= slack;
  const auto checker = equiv::Checker::make(*source, checked, {.samples = {.points = points, .seed = 3}});
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

TEST(ExprSimplify, CorpusStaysNearItsPolicy) {
  std::ifstream corpus("bench/corpus/kernels.tsv");
  ASSERT_TRUE(corpus.is_open());
  for (std::string line; std::getline(corpus, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::string name;
    const std::string text = kernel_text(line, name);
    for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
      const Result<expr::Expr> e = expr::parse(text, {.type = type, .variables = {}, .file = name});
      ASSERT_TRUE(e.ok()) << e.error().message;
      // Where the output crosses zero the maxima of one set are luck, and the optimiser asks more (jit/equiv/tail.h); a
      // mistake is off by more than a factor.
      const std::string what = difference(*e, {}, 16384, 8);
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

// What the interpreter makes of `e`, array outputs one after the other, as doubles.
std::vector<double> values_of(const expr::Expr& e, const std::vector<std::vector<std::uint64_t>>& columns) {
  const Result<kir::Kernel> kernel =
      expr::lower(e, {.policy = {.kind = expr::PolicyKind::exact, .k = 0}, .simplify = false});
  EXPECT_TRUE(kernel.ok());
  const std::size_t n = columns.front().size();
  std::vector<std::vector<std::byte>> arrays, results(kernel->outputs.size(), std::vector<std::byte>(8 * n));
  std::vector<const void*> in;
  std::vector<std::uint64_t> params;
  for (std::size_t v = 0; v < columns.size(); ++v) {
    if (e.variables[v].scalar) {
      params.push_back(columns[v][0]);
      continue;
    }
    const std::size_t bytes = ir::bytes_of(e.variables[v].type);
    auto& array = arrays.emplace_back(n * bytes);
    for (std::size_t i = 0; i < n; ++i) std::memcpy(&array[i * bytes], &columns[v][i], bytes);
  }
  for (const auto& array : arrays) in.push_back(array.data());
  std::vector<void*> out;
  for (auto& result : results) out.push_back(result.data());
  kir::interpret(*kernel, n, in.data(), out.data(), params.data());
  std::vector<double> values;
  for (std::size_t o = 0; o < results.size(); ++o) {
    const ir::Type type = kernel->type_of(kernel->outputs[o].value);
    const bool scalar = kernel->outputs[o].kind == kir::OutputKind::scalar;
    for (std::size_t i = 0; i < (scalar ? 1 : n); ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &results[o][i * ir::bytes_of(type)], ir::bytes_of(type));
      values.push_back(expr::value_of(type, bits));
    }
  }
  return values;
}

// Multiples of 2^-8 from the range of `variable`: nothing made of them with a few operations comes near underflow,
// where powers of two do take part in roundings.
std::vector<std::uint64_t> coarse_values(const expr::Variable& variable, std::size_t count, testing::Random& random) {
  std::vector<std::uint64_t> values;
  while (values.size() < count) {
    const double drawn = variable.lo + (variable.hi - variable.lo) * random.unit();
    const double coarse = std::clamp(std::round(drawn * 256) / 256, variable.lo, variable.hi);
    values.push_back(expr::bits_of(variable.type, coarse));
  }
  return values;
}

TEST(ExprSimplify, DroppingIdleOperationsKeepsEveryValue) {
  constexpr std::size_t kElements = 64;
  std::size_t shorter = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    testing::RandomExprOptions shape;
    shape.ranged = 1;
    shape.functions = shape.integers = shape.reductions = false;
    shape.nodes_max = 14;
    const expr::Expr e = testing::random_expr(seed, shape);
    if (e.variables.empty()) continue;
    const expr::Expr dropped = expr::drop_idle_operations(e, {});
    ASSERT_TRUE(expr::check(dropped).ok());
    shorter += dropped.nodes.size() < e.nodes.size() ? 1 : 0;
    testing::Random random(seed);
    std::vector<std::vector<std::uint64_t>> columns;
    for (const expr::Variable& v : e.variables) columns.push_back(coarse_values(v, kElements, random));
    const auto want = values_of(e, columns), got = values_of(dropped, columns);
    ASSERT_EQ(want.size(), got.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (std::isnan(want[i]) && std::isnan(got[i])) continue;
      ASSERT_EQ(want[i], got[i]) << "seed " << seed << " element " << i << ": " << expr::print_infix(e) << "\nbecame\n"
                                 << expr::print_infix(dropped);
    }
  }
  EXPECT_GT(shorter, 200u);
}

TEST(ExprSimplify, IdleOperationsGo) {
  const auto dropped = [](const char* text) {
    const Result<expr::Expr> e = expr::parse(text, {.type = ir::Type::f32, .variables = {}, .file = ""});
    EXPECT_TRUE(e.ok());
    return expr::print_infix(expr::drop_idle_operations(*e, {}));
  };
  const auto expressed = [](const char* text) {
    const Result<expr::Expr> e = expr::parse(text, {.type = ir::Type::f32, .variables = {}, .file = ""});
    EXPECT_TRUE(e.ok());
    return expr::print_infix(*e);
  };
  const std::string xy = "x in [-4, 4], y in [1, 2]; ";
  EXPECT_EQ(dropped((xy + "(0 * x + 4 * 0) * y + 1 * x").c_str()), expressed((xy + "(out = x)").c_str()));
  EXPECT_EQ(dropped((xy + "2 * x * y + y").c_str()), expressed((xy + "fma(x * y, 2, y)").c_str()));
  EXPECT_EQ(dropped((xy + "(0 - x * 1) / y").c_str()), expressed((xy + "-(x / y)").c_str()));
  // Roundings stay: a sum of products is not fused, a factor that is no power of two does not move.
  EXPECT_EQ(dropped((xy + "3 * x * y + y * y").c_str()), expressed((xy + "y * (x * 3) + y * y").c_str()));
  // Nothing is known of z: it may be infinite, and 0 * z is NaN then.
  EXPECT_EQ(dropped("0 * z + 2 * z"), expressed("z * 0 + z * 2"));
}

}  // namespace
}  // namespace trident
