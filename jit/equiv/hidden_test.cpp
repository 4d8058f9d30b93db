// The checker on forms that differ from their source only where several variables are NaN or infinite together. The
// oracle is the meaning of min and max, C's fmin and fmax: each pair differs at the point beside it, worked out by
// hand.
#include "jit/equiv/hidden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "jit/equiv/checker.h"

namespace trident::equiv {
namespace {

using expr::Type;

expr::Expr parsed(const std::string& text, Type type) {
  auto e = expr::parse_infix(text, {.type = type, .variables = {}});
  CHECK(e.ok());
  return std::move(e).value();
}

/// Compares source and form, in which the variables come in one order.
bool are_same(const std::string& source, const std::string& form, Type type, expr::Policy policy) {
  const expr::Expr from = parsed(source, type);
  auto e = expr::parse_infix(form, {.type = type, .variables = from.variables});
  CHECK(e.ok());
  auto kernel = expr::lower(*e, {.policy = policy, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
  CHECK(kernel.ok());
  auto checker = Checker::make(from, policy, {.samples = {.points = 2048, .seed = 3}});
  CHECK(checker.ok());
  auto prepared = (*checker)->check_meaning(*kernel, Demand::policy);
  CHECK(prepared.ok());
  return prepared->meaning.same();
}

struct LosingForm {
  std::string names, source, form, differs_at;
};

TEST(Hidden, FormsThatLoseNanOfSeveralVariablesAreRefused) {
  const LosingForm pairs[] = {
      {"p = min(min(a, b), c); q = min(min(d, e), f); ", "max(p, min(p, q))", "p + 0*q", "a, b, c NaN: q"},
      {"p = max(a, b); q = min(min(c, d), e); ", "max(p, q) * min(p, q)", "p * q", "c, d, e NaN: p squared"},
      {"p = min(min(a, b), c); q = min(min(d, e), f); ", "max(p, q) - min(p, q)", "abs(p - q)", "d, e, f NaN: 0"},
      {"p = min(min(min(a, b), c), d); q = max(max(e, f), g); ", "min(p, max(p, q))", "p + 0*q", "a to d NaN: q"},
      {"p = min(a, b); q = min(min(c, d), e); r = max(h, l); ", "min(p, max(q, r))", "max(min(p, q), min(p, r))",
       "h, l NaN: min(p, q)"},
      {"p = min(min(a, b), c); q = min(min(d, e), f); ", "p - p + q", "q + 0*a*0", "a, b, c infinite: NaN"},
  };
  for (const Type type : {Type::f32, Type::f64}) {
    for (const LosingForm& pair : pairs) {
      for (const expr::PolicyKind kind : {expr::PolicyKind::bounded, expr::PolicyKind::exact}) {
        const expr::Policy policy{.kind = kind};
        EXPECT_TRUE(are_same(pair.names + pair.source, pair.names + pair.source, type, policy)) << pair.source;
        EXPECT_FALSE(are_same(pair.names + pair.source, pair.names + pair.form, type, policy))
            << pair.source << " -> " << pair.form << " differs at " << pair.differs_at;
      }
    }
  }
}

// The mean of the middle two of six by a sorting network. a = 0, b = -2.5, c = -1.5, d = 1 and e and f NaN give 0.5;
// with t8 multiplied out -0.75, since min(t6, t3) is a number and t3 is not.
TEST(Hidden, TwoNanOfSixInASortingNetwork) {
  const std::string network =
      "t1 = min(b, c); t2 = max(b, c); t3 = min(e, f); t4 = max(e, f); t5 = min(a, t2); t6 = min(d, t4); "
      "t7 = max(t5, t1); t8 = max(t6, t3); t9 = min(min(max(a, t2), max(d, t4)), max(t7, t8)); ";
  const std::string source = network + "t10 = max(max(min(t5, t1), min(t6, t3)), min(t7, t8)); 0.5 * (t9 + t10)";
  const std::string form = network + "t10 = max(max(min(t5, t1), min(t7, t3)), min(t6, max(t3, t7))); 0.5 * (t9 + t10)";
  for (const Type type : {Type::f32, Type::f64}) {
    EXPECT_TRUE(are_same(source, source, type, {}));
    EXPECT_FALSE(are_same(source, form, type, {}));
  }
}

TEST(Hidden, InfinitiesOfSeveralVariablesMeet) {
  const std::string names = "p = min(min(a, b), min(c, s)); q = max(max(d, e), max(f, t)); r = min(g, h); ";
  EXPECT_FALSE(are_same(names + "max(p + q, r + q)", names + "max(p, r) + q", Type::f64, {}))
      << "p inf, q -inf, r a number: -inf as written";
}

TEST(Hidden, FewPointsAndNoneWhereNothingHides) {
  const SampleOptions options{.points = 1024, .seed = 5};
  const expr::Expr plain = parsed("a*b + c/d - e", Type::f32), two = parsed("min(a, b) + c", Type::f32);
  PointDrawer of_plain(plain, options), of_two(two, options);
  EXPECT_TRUE(hidden_specials(of_plain).empty());
  const auto points = hidden_specials(of_two);
  ASSERT_FALSE(points.empty());
  EXPECT_LE(points.size(), 4096u);
  for (int set = 0; set < 8; ++set)
    EXPECT_TRUE(std::any_of(points.begin(), points.end(),
                            [&](const Point& p) {
                              for (std::size_t v = 0; v < 3; ++v)
                                if (std::isnan(value_of(Type::f32, p[v])) != ((set >> v & 1) != 0)) return false;
                              return true;
                            }))
        << "set " << set;
}

}  // namespace
}  // namespace trident::equiv
