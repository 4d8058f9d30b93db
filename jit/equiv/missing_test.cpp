// The checker on forms that are right for numbers in a range and wrong for NaN beside it, as a search may find them
// where it takes "in the range or NaN" for "in the range". The oracle is IEEE arithmetic by hand: comparisons with NaN
// are false but for "!=", C's fmin and fmax leave it out, arithmetic keeps it, and as an integer it is the least one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "jit/equiv/checker.h"

namespace trident::equiv {
namespace {

using expr::Type;

/// Compares source and form over x from 1 to 2 and y from -3 to 3, which may be NaN if `or_nan`.
bool are_same(const std::string& source, const std::string& form, Type type, expr::Policy policy, bool or_nan) {
  const std::vector<expr::Variable> variables = {{.name = "x", .type = type, .lo = 1, .hi = 2, .or_nan = or_nan},
                                                 {.name = "y", .type = type, .lo = -3, .hi = 3, .or_nan = or_nan}};
  auto from = expr::parse_infix(source, {.type = type, .variables = variables});
  auto to = expr::parse_infix(form, {.type = type, .variables = variables});
  CHECK(from.ok() && to.ok());
  for (std::size_t v = 0; v < variables.size(); ++v) CHECK(from->variables[v].or_nan == or_nan);
  const auto kernel = expr::lower(*to, {.policy = policy, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
  CHECK(kernel.ok());
  const auto checker = Checker::make(*from, policy, {.samples = {.points = 2048, .seed = 3}});
  CHECK(checker.ok());
  const auto prepared = (*checker)->check_meaning(*kernel, Demand::policy);
  CHECK(prepared.ok());
  return prepared->meaning.same();
}

struct Folded {
  const char *source, *form;
};
constexpr Folded kFolded[] = {
    {"x < 3 ? y : 0", "y"},
    {"x >= 1 ? y : -y", "y"},
    {"x == x ? y : 0", "y"},
    {"x != x ? y : x", "x"},
    {"x > 0.5 && y < 4 ? x + y : 7", "x + y"},
    {"min(x, 5)", "x"},
    {"max(0.5, x)", "x"},
    {"max(min(y, 3), -3)", "y"},
    {"y - min(x, 2)", "y - x"},
    {"x - x", "0"},
    {"0*x", "0"},
    {"x/x", "1"},
    {"sign(x)", "1"},
    {"y + floor(x/4)", "y + 0"},
    {"i32(x) > 0 ? y : 0", "y"},
    {"y > 2.9 ? (x < 3 ? x*y : y) : y", "y > 2.9 ? x*y : y"},
    {"y > 2.9 ? min(x, 3) : 1", "y > 2.9 ? x : 1"},
    {"max(x)", "max(max(x, 1))"},
    {"sum(x < 3 ? y : 0)", "sum(y)"},
};

TEST(Missing, FormsThatAreRightForNumbersAloneAreRefusedWhereNanMayCome) {
  for (const Type type : {Type::f32, Type::f64})
    for (const Folded& pair : kFolded)
      for (const expr::PolicyKind kind : {expr::PolicyKind::bounded, expr::PolicyKind::exact}) {
        const expr::Policy policy{.kind = kind};
        EXPECT_TRUE(are_same(pair.source, pair.source, type, policy, true)) << pair.source;
        EXPECT_TRUE(are_same(pair.source, pair.form, type, policy, false)) << pair.source;
        EXPECT_FALSE(are_same(pair.source, pair.form, type, policy, true)) << pair.source << " -> " << pair.form;
      }
}

/// Each of the variables alone, both, and neither; and every length of a call has some.
TEST(Missing, PointsHaveEverySetOfMissingVariables) {
  for (const char* text : {"x*y", "sum(x*y)"}) {
    auto e = expr::parse_infix(text, {.type = Type::f32, .variables = {}});
    ASSERT_TRUE(e.ok());
    for (expr::Variable& v : e->variables) v.lo = 1, v.hi = 2, v.or_nan = true;
    std::size_t counts[4] = {};
    for (const Samples& set : make_samples(*e, {.points = 4096, .seed = 1})) {
      if (set.name != "missing") continue;
      for (std::uint64_t i = 0; i < set.n; ++i) {
        float x = 0, y = 0;
        std::memcpy(&x, set.columns[0].data() + i * sizeof x, sizeof x);
        std::memcpy(&y, set.columns[1].data() + i * sizeof y, sizeof y);
        ++counts[(std::isnan(x) ? 1 : 0) + (std::isnan(y) ? 2 : 0)];
      }
    }
    for (const std::size_t count : counts) EXPECT_GE(count, 4u) << text;
  }
}

}  // namespace
}  // namespace trident::equiv
