// The policy exact is the bits of the interpreter, and the interpreter is an implementation like any other: here every
// operation that it performs is compared with MPFR's result for the same operands. The arithmetic operations
// must be rounded correctly, functions be within the errors that jit/kir/math/errors.def states, NaN, infinities and
// the signs of zeros be right. Over the corpus and random expressions, at drawn points and corners.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <fstream>

#include "jit/equiv/big.h"
#include "jit/equiv/checker.h"
#include "jit/equiv/evaluator.h"
#include "tests/support/draws.h"
#include "tests/support/random_expr.h"

namespace trident {
namespace {

using expr::NodeId;
using expr::Op;
using ir::Type;

constexpr std::size_t kShownPerKernel = 48;
constexpr std::size_t kPointsPerSet = 64;

// Holds every sum, product and product-sum of doubles exactly.
using Wide = equiv::WideBig<4400>;
using Narrow = equiv::WideBig<300>;

// The stated error in ulp; 0: correctly rounded.
double stated_error(const expr::Node& n) {
#define X(Name, f32_ulp1, f32_ulp4, f64_ulp1, f64_ulp4) \
  if (n.op == Op::Name) return n.type == Type::f32 ? f32_ulp1 : f64_ulp1;
#include "jit/kir/math/errors.def"
#undef X
  // A chain of products, each rounded, or the function pow in one or two parts.
  const auto size = std::fabs(static_cast<double>(static_cast<std::int64_t>(n.imm)));
  if (n.op == Op::Powi) return size <= 1 ? 0 : size <= 64 ? 1.5 + size : 3.6;
  return 0;
}

bool is_exact_step(Op op) {
  return op == Op::Round || op == Op::Fmod;
}

// An op over floats of one type that MPFR has.
bool is_judged(const expr::Expr& e, const expr::Node& n) {
  const auto signature = expr::info(n.op).signature;
  if (!ir::is_float(n.type) || signature != expr::Signature::Same) return false;
  for (const NodeId id : {n.a, n.b, n.c})
    if (id.valid() && e.at(id).type != n.type) return false;
  return true;
}

double rounded(Type type, mpfr_srcptr x) {
  return type == Type::f32 ? static_cast<double>(mpfr_get_flt(x, MPFR_RNDN)) : mpfr_get_d(x, MPFR_RNDN);
}

template <class N>
std::string judge(const expr::Node& n, const double (&args)[3], double got) {
  N a, b, c, truth;
  mpfr_set_d(a.raw(), args[0], MPFR_RNDN);
  mpfr_set_d(b.raw(), args[1], MPFR_RNDN);
  mpfr_set_d(c.raw(), args[2], MPFR_RNDN);
  equiv::apply(n.op, static_cast<std::int64_t>(n.imm), a, b, c, truth);
  const double due = rounded(n.type, truth.raw());
  const auto fault = [&](const char* what) {
    char text[200];
    std::snprintf(text, sizeof text, "%s(%a, %a, %a; %lld) = %a, MPFR: %a: %s",
                  std::string(expr::info(n.op).text).c_str(), args[0], args[1], args[2], static_cast<long long>(n.imm),
                  got, due, what);
    return std::string(text);
  };
  if (std::isnan(got) || std::isnan(due)) return std::isnan(got) == std::isnan(due) ? "" : fault("NaN");
  const bool any_zero = (n.op == Op::Min || n.op == Op::Max) && got == 0 && due == 0;
  if (std::signbit(got) != std::signbit(due) && !any_zero) return fault("sign");
  if (got == due) return "";
  const double stated = stated_error(n);
  if (stated == 0 || is_exact_step(n.op)) return fault("not correctly rounded");
  const long double most = n.type == Type::f32 ? FLT_MAX : DBL_MAX;
  const long double wide = truth.to_long_double();
  const long double ulp = equiv::ulp_at(n.type, std::fmin(std::fabs(wide), most));
  if (std::isinf(got)) return std::fabs(wide) >= most - stated * ulp ? "" : fault("infinite");
  return std::fabs(static_cast<long double>(got) - wide) <= stated * ulp ? "" : fault("error above what is stated");
}

class Judgement {
 public:
  explicit Judgement(const expr::Expr& e) : expr_(e) {
    for (std::uint32_t i = 0; i < e.nodes.size(); ++i)
      if (ir::is_float(e.nodes[i].type)) shown_.push_back(i);
  }

  // The first fault in any set, or "". Counts what was judged.
  std::string run(std::size_t& judged) {
    for (const equiv::Samples& set : equiv::make_samples(expr_, {.points = 256, .seed = 9})) {
      show(set);
      const std::uint64_t stride = std::max<std::uint64_t>(set.n / kPointsPerSet, 1);
      for (const std::uint32_t i : shown_) {
        const expr::Node& n = expr_.nodes[i];
        if (!is_judged(expr_, n)) continue;
        for (std::uint64_t at = 0; at < set.n; at += stride) {
          double args[3] = {0, 0, 0};
          std::size_t count = 0;
          for (const NodeId id : {n.a, n.b, n.c})
            if (id.valid()) args[count++] = columns_[id.index][static_cast<std::size_t>(at)];
          const bool sums = n.op == Op::Add || n.op == Op::Sub || n.op == Op::Fma || n.op == Op::Mul;
          const double got = columns_[i][static_cast<std::size_t>(at)];
          const std::string fault = sums ? judge<Wide>(n, args, got) : judge<Narrow>(n, args, got);
          if (!fault.empty()) return std::string(ir::name_of(n.type)) + " " + fault;
          ++judged;
        }
      }
    }
    return "";
  }

 private:
  // The interpreter's values of all float nodes.
  void show(const equiv::Samples& set) {
    columns_.assign(expr_.nodes.size(), {});
    for (std::size_t first = 0; first < shown_.size(); first += kShownPerKernel) {
      expr::Expr part = expr_;
      part.outputs.clear();
      for (std::size_t j = first; j < std::min(first + kShownPerKernel, shown_.size()); ++j)
        part.outputs.push_back({"n" + std::to_string(shown_[j]), NodeId(shown_[j])});
      const auto kernel = expr::lower(
          part, {.policy = {expr::PolicyKind::exact, 0}, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      for (const auto& outputs : equiv::interpret_calls(part, *kernel, set, set.calls)) {
        for (std::size_t k = 0; k < outputs.size(); ++k) {
          const NodeId id = part.outputs[k].node;
          const std::size_t bytes = ir::bytes_of(expr_.at(id).type);
          for (std::size_t at = 0; at < outputs[k].size(); at += bytes)
            columns_[id.index].push_back(equiv::load_float(expr_.at(id).type, &outputs[k][at]));
        }
      }
    }
  }

  const expr::Expr& expr_;
  std::vector<std::uint32_t> shown_;
  std::vector<std::vector<double>> columns_;
};

TEST(ExprRounding, OfTheCorpusIsWhatMpfrSays) {
  std::ifstream corpus("bench/corpus/kernels.tsv");
  ASSERT_TRUE(corpus.is_open());
  std::size_t judged = 0;
  for (std::string line; std::getline(corpus, line);) {
    if (line.empty() || line[0] == '#') continue;
    // Without the ranges: special values are corners too.
    const std::string text = line.substr(line.rfind('\t') + 1);
    for (const Type type : {Type::f32, Type::f64}) {
      const auto e = expr::parse(text, {.type = type, .variables = {}, .file = ""});
      ASSERT_TRUE(e.ok()) << e.error().message;
      const auto source = expr::eliminate_derivatives(*e);
      ASSERT_TRUE(source.ok());
      ASSERT_EQ(Judgement(*source).run(judged), "") << text;
    }
  }
  EXPECT_GT(judged, 50'000u);
}

TEST(ExprRounding, OfRandomExpressionsIsWhatMpfrSays) {
  std::size_t judged = 0;
  for (std::uint64_t seed = 0; seed < testing::draws(63); ++seed) {
    testing::RandomExprOptions options;
    options.reductions = false;
    options.scalars = false;
    options.ranged = 0.5;
    const expr::Expr e = testing::random_expr(seed, options);
    ASSERT_EQ(Judgement(e).run(judged), "") << "seed " << seed << "\n" << expr::print_infix(e);
  }
  EXPECT_GT(judged, testing::draws(25'000));
}

}  // namespace
}  // namespace trident
