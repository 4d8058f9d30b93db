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
#include "tests/support/draws.h"
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

struct CorpusKernel {
  std::string name;
  ir::Type type;
  expr::Expr source;
};
std::vector<CorpusKernel> corpus() {
  std::ifstream file("bench/corpus/kernels.tsv");
  EXPECT_TRUE(file.is_open());
  std::vector<CorpusKernel> kernels;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::string name;
    const std::string text = kernel_text(line, name);
    for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
      const Result<expr::Expr> e = expr::parse(text, {.type = type, .variables = {}, .file = name});
      EXPECT_TRUE(e.ok()) << e.error().message;
      kernels.push_back({name, type, *expr::eliminate_derivatives(*e)});
    }
  }
  return kernels;
}

// Returns why the rule of acceptance refuses `kernel` in place of the unrewritten one; empty when it accepts it.
std::string refusal(const expr::Expr& source, equiv::Checker& checker, const kir::Kernel& kernel) {
  const auto unrewritten =
      checker.check_meaning(*expr::lower(source, {.policy = {}, .simplify = false}), equiv::Demand::policy);
  const auto prepared = checker.check_meaning(kernel, equiv::Demand::any_set, &*unrewritten);
  return prepared->meaning.same() ? "" : equiv::print(prepared->meaning);
}

// Accepted forms obey bounded(2) on points that the rule has not seen; refused forms are rare.
TEST(ExprSimplify, AcceptedFormsOfTheCorpusObeyBounded) {
  std::size_t accepted = 0, refused = 0;
  for (const CorpusKernel& k : corpus()) {
    SCOPED_TRACE(k.name + " " + std::string(ir::name_of(k.type)));
    const auto checker = equiv::Checker::make(k.source, {}, {.samples = {.points = 4096, .seed = 1}});
    const Result<kir::Kernel> kernel = expr::lower(k.source, {});
    ASSERT_TRUE(checker.ok() && kernel.ok());
    if (!refusal(k.source, **checker, *kernel).empty()) {
      ++refused;
      continue;
    }
    ++accepted;
    const auto fresh = equiv::Checker::make(k.source, {}, {.samples = {.points = testing::draws(4096), .seed = 5}});
    const auto prepared = (*fresh)->check_meaning(*kernel, equiv::Demand::policy);
    EXPECT_TRUE(prepared->meaning.same()) << equiv::print(prepared->meaning);
  }
  EXPECT_GE(accepted, 30u);
  EXPECT_LE(refused, 14u);
}

// A form with one constant off by some thousand ulp, or with one operation for another, is refused: that is what the
// check is for.
TEST(ExprSimplify, FaultyFormsOfTheCorpusAreRefused) {
  std::size_t faults = 0, missed = 0;
  for (const CorpusKernel& k : corpus()) {
    const auto checker = equiv::Checker::make(k.source, {}, {.samples = {.points = 2048, .seed = 1}});
    ASSERT_TRUE(checker.ok());
    std::size_t changed = 0;
    for (std::size_t i = 0; i < k.source.nodes.size() && changed < 4; ++i) {
      expr::Expr faulty = k.source;
      expr::Node& node = faulty.nodes[i];
      if (node.op == expr::Op::Constant && expr::value_of(node.type, node.imm) != 0) {
        const double off = 1 + std::ldexp(1.0, k.type == ir::Type::f32 ? -12 : -41);
        node.imm = expr::bits_of(node.type, expr::value_of(node.type, node.imm) * off);
      } else if (node.op == expr::Op::Sub) {
        node.op = expr::Op::Add;
      } else if (node.op == expr::Op::Sin) {
        node.op = expr::Op::Tan;
      } else if (node.op == expr::Op::Exp) {
        node.op = expr::Op::Exp2;
      } else {
        continue;
      }
      ++changed;
      const Result<kir::Kernel> kernel = expr::lower(faulty, {.policy = {}, .simplify = false});
      ASSERT_TRUE(kernel.ok());
      ++faults;
      if (refusal(k.source, **checker, *kernel).empty()) ++missed;
    }
  }
  EXPECT_GT(faults, 150u);
  EXPECT_LE(missed * 20, faults);  // 4: where strict evaluation cancels, or a constant has next to no weight
}

void check_random(const expr::LowerOptions& options, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t seed = first; seed < last; ++seed) {
    testing::RandomExprOptions shape;
    shape.ranged = 1;
    shape.functions = false;
    shape.nodes_max = 14;
    shape.or_nan = seed % 3 == 0 ? 0.5 : 0;
    const expr::Expr e = testing::random_expr(seed, shape);
    const std::string what = difference(e, options, 512);
    ASSERT_TRUE(what.empty()) << "seed " << seed << ": " << what;
  }
}

TEST(ExprSimplify, RandomExpressionsStayWithinBounded) {
  check_random({}, 0, testing::draws(75));
}
TEST(ExprSimplify, RandomExpressionsStayWithinFast) {
  check_random({.policy = {.kind = expr::PolicyKind::fast}}, 1000, 1000 + testing::draws(50));
}

// Evaluates `e` in the interpreter: array outputs one after the other, as doubles.
std::vector<double> values_of(const expr::Expr& e, const std::vector<std::vector<std::uint64_t>>& columns) {
  const Result<kir::Kernel> kernel =
      expr::lower(e, {.policy = {.kind = expr::PolicyKind::exact, .k = 0}, .simplify = false});
  EXPECT_TRUE(kernel.ok());
  const std::size_t n = columns.front().size();
  std::vector<std::vector<std::byte>> arrays, results(kernel->outputs.size(), std::vector<std::byte>(8 * n));
  std::vector<const void*> in;
  std::vector<std::uint64_t> params;
  for (std::size_t v = 0; v < columns.size(); ++v) {
    if (e.variables[v].is_scalar()) {
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
  for (std::uint64_t seed = 0; seed < testing::draws(500); ++seed) {
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
  EXPECT_GT(shorter, testing::draws(50));
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
