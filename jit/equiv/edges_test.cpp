// Edges of overflow: are both neighbours found, and is a candidate refused that overflows where its source does not?
// Oracles: MPFR for the x at which e^x passes the greatest double; for candidates their origin: each pair below is the
// same over the reals, and the comment says at which values the candidate alone overflows.
#include "jit/equiv/edges.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "jit/equiv/checker.h"

namespace trident::equiv {
namespace {

using expr::PolicyKind;
using expr::Type;

expr::Expr parsed(const char* text, Type type) {
  auto e = expr::parse_infix(text, {.type = type, .variables = {{"x", type}, {"y", type}}});
  CHECK(e.ok());
  return std::move(e).value();
}

kir::Kernel lowered(const expr::Expr& e) {
  auto kernel = expr::lower(e, {.policy = {}, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

// Returns the greatest double whose exponential rounds to a double.
double last_exponent() {
  mpfr_t x;
  mpfr_init2(x, 300);
  mpfr_set_ui_2exp(x, 1, 1024, MPFR_RNDN);
  mpfr_nextbelow(x);
  mpfr_log(x, x, MPFR_RNDD);
  const double last = mpfr_get_d(x, MPFR_RNDD);
  mpfr_clear(x);
  return last;
}

TEST(Edges, HoldsBothNeighboursOfWhereAnExponentialOverflows) {
  const double last = last_exponent();
  const expr::Expr e = parsed("1 / (1 + exp(x))", Type::f64);
  const std::vector<Point> points = edges_of(e, lowered(e), 1, {}).overflow;
  for (const double x : {last, std::nextafter(last, INFINITY)}) {
    const auto is_x = [&](const Point& p) { return p[0] == bits_of(Type::f64, x); };
    EXPECT_TRUE(std::any_of(points.begin(), points.end(), is_x)) << x;
  }
}

// z^2 / (y^2 + 1/2) overflows from 1.30e19 on where y is small, and z^2, which makes the result infinite, from 1.84e19
// on. A form that is NaN in the upper part of this window alone was published under `fast`.
TEST(Edges, LieInTheWindowBetweenTwoOverflows) {
  const char* text = "sqrt(x*x) + x/sqrt((x/sqrt(y*y + 0.5))*(x/sqrt(y*y + 0.5)) + 0.5)";
  const expr::Expr e = parsed(text, Type::f32);
  const std::vector<Point> points = edges_of(e, lowered(e), 5, {}).overflow;
  const auto inside = [](const Point& p) {
    const double x = std::fabs(value_of(Type::f32, p[0])), y = std::fabs(value_of(Type::f32, p[1]));
    return 1.42e19 < x && x < 1.71e19 && y < 0.1;
  };
  EXPECT_TRUE(std::any_of(points.begin(), points.end(), inside));
}

TEST(Edges, LieInDeclaredRangesAndAreTheSameEachTime) {
  expr::Expr e = parsed("x * exp(y)", Type::f32);
  e.variables[0].lo = 1, e.variables[0].hi = 1e30;
  e.variables[1].lo = -50, e.variables[1].hi = 60;
  const Edges edges = edges_of(e, lowered(e), 3, {});
  EXPECT_FALSE(edges.overflow.empty());
  for (const auto* points : {&edges.overflow, &edges.underflow})
    for (const Point& p : *points)
      for (std::size_t v = 0; v < 2; ++v) EXPECT_TRUE(allowed(e.variables[v], p[v]));
  EXPECT_EQ(edges.overflow, edges_of(e, lowered(e), 3, {}).overflow);
}

struct Pair {
  const char* source;
  const char* candidate;
  bool same;
};

// Identities over the reals: a checker of those would call all of them the same.
constexpr Pair kPairs[] = {
    {"cosh(x)", "0.5 * (exp(x) + exp(-x))", false},  // between log(greatest) and log(2 greatest)
    {"sinh(x)", "0.5 * (exp(x) - exp(-x))", false},
    {"cosh(x) * 0", "(exp(x) + exp(-x)) * 0", false},                               // inf * 0
    {"cosh(x) - sinh(x) + 1", "0.5 * exp(x) - 0.5 * exp(x) + exp(-x) + 1", false},  // inf - inf
    {"y / cosh(x)", "2 * y / (exp(x) + exp(-x))", false},                           // 0 where a great y leaves a number
    {"tanh(x)", "(exp(2 * x) - 1) / (exp(2 * x) + 1)", false},                      // inf / inf
    {"1 / (1 + exp(-x))", "exp(x) / (1 + exp(x))", false},
    {"hypot(x, y)", "sqrt(x * x + y * y)", false},
    {"x / hypot(x, 1)", "x / sqrt(x * x + 1)", false},  // 0 for 1
    {"max(x, y) + log1p(exp(-abs(x - y)))", "log(exp(x) + exp(y))", false},
    {"exp(x - y)", "exp(x) / exp(y)", false},
    {"(x / 3) * 2", "(x * 2) / 3", false},  // in the last half of the range only
    {"x / 2 + y / 2", "(x + y) / 2", false},
    {"x * y", "y * x", true},
    {"exp(x) * 2", "exp(x) + exp(x)", true},
    {"cosh(x)", "exp(abs(x) / 2) * (0.5 * exp(abs(x) / 2)) + 0.5 * exp(-abs(x))", true},
    {"1 / (1 + exp(-x))", "1 / (exp(-x) + 1)", true},
};

TEST(Edges, RefuseWhatOverflowsWhereItsSourceDoesNot) {
  for (const Type type : {Type::f32, Type::f64}) {
    for (const PolicyKind kind : {PolicyKind::bounded, PolicyKind::fast}) {
      for (const Pair& pair : kPairs) {
        // The exponential of x / 2 has the rounding of half its argument, squared: more than bounded(2) allows.
        const double k = pair.same ? 1000 : 2;
        const expr::Expr source = parsed(pair.source, type);
        const expr::Expr form = parsed(pair.candidate, type);
        const auto checker = Checker::make(source, {kind, k}, {.samples = {.points = 2048, .seed = 7}});
        ASSERT_TRUE(checker.ok());
        const auto prepared = (*checker)->check_meaning(lowered(form), Demand::policy);
        ASSERT_TRUE(prepared.ok());
        EXPECT_EQ(prepared->meaning.same(), pair.same)
            << pair.candidate << " for " << pair.source << ", " << ir::name_of(type) << ", "
            << (kind == PolicyKind::fast ? "fast: " : "bounded: ") << print(prepared->meaning);
        if (pair.same) continue;
        // A form that was asked about drawn points alone is asked this before it is used.
        const auto later = (*checker)->check_meaning(lowered(form), Demand::any_set);
        ASSERT_TRUE(later.ok());
        EXPECT_FALSE(later->meaning.same()) << pair.candidate << " for " << pair.source;
      }
    }
  }
}

TEST(Edges, LetEachSourceBeItself) {
  for (const Type type : {Type::f32, Type::f64}) {
    for (const PolicyKind kind : {PolicyKind::exact, PolicyKind::bounded, PolicyKind::fast}) {
      for (const Pair& pair : kPairs) {
        for (const char* text : {pair.source, pair.candidate}) {
          const expr::Expr source = parsed(text, type);
          const auto checker = Checker::make(source, {kind, 2}, {.samples = {.points = 2048, .seed = 3}});
          ASSERT_TRUE(checker.ok());
          const auto prepared = (*checker)->check_meaning(lowered(source), Demand::policy);
          ASSERT_TRUE(prepared.ok());
          EXPECT_TRUE(prepared->meaning.same()) << text << ": " << print(prepared->meaning);
        }
      }
    }
  }
}

}  // namespace
}  // namespace trident::equiv
