// Forms that give no number at single points where their source gives one. The oracle: arithmetic by hand at the point,
// with the rounding of every step known.
#include "jit/equiv/lost_numbers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "jit/equiv/checker.h"

namespace trident::equiv {
namespace {

expr::Expr of_two_numbers(std::string_view text) {
  const std::vector<expr::Variable> variables = {{"x", expr::Type::f32}, {"y", expr::Type::f32}};
  auto e = expr::parse_infix(text, {.type = expr::Type::f32, .variables = variables});
  CHECK(e.ok());
  return std::move(e).value();
}

kir::Kernel as_it_stands(const expr::Expr& e) {
  auto kernel = expr::lower(e, {.policy = {}, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

/// Returns the points at which `form` loses a number.
std::vector<Point> lost_by(std::string_view form, std::string_view text) {
  const expr::Expr source = of_two_numbers(text);
  LostNumbers numbers;
  const std::vector<Samples> sets = make_samples(source, {.points = 4096, .seed = 3});
  const kir::Kernel unrewritten = as_it_stands(source);
  EXPECT_TRUE(numbers.of(unrewritten, source, unrewritten, sets, 3).empty());
  return numbers.of(as_it_stands(of_two_numbers(form)), source, unrewritten, sets, 3);
}

// A quarter of the least subnormals is zero, and that of their sum need not be.
TEST(LostNumbers, AreFoundWhereTinyTermsVanish) {
  const std::vector<Point> found = lost_by("x/(x*0.25 + y*0.25)", "x/((x + y)*0.25)");
  ASSERT_FALSE(found.empty());
  for (const Point& point : found) {
    const auto x = static_cast<float>(value_of(expr::Type::f32, point[0]));
    const auto y = static_cast<float>(value_of(expr::Type::f32, point[1]));
    EXPECT_TRUE(std::isfinite(x / ((x + y) * 0.25f))) << x << ", " << y;
    EXPECT_FALSE(std::isfinite(x / (x * 0.25f + y * 0.25f))) << x << ", " << y;
  }
}

// At x = -y the source's divisor is 1, and the form's is 1 - 1 = 0.
TEST(LostNumbers, AreFoundWhereVariablesAreOpposite) {
  const std::vector<Point> found = lost_by("x/((x + y == 0) ? 0 : 1 + (x + y))", "x/(1 + (x + y))");
  ASSERT_FALSE(found.empty());
  for (const Point& point : found) EXPECT_EQ(value_of(expr::Type::f32, point[0]), -value_of(expr::Type::f32, point[1]));
}

// The form is wrong at one of ten thousand points whose variables are alike, and the drawn points of some seeds miss
// it.
TEST(LostNumbers, ACheckOfRarePointsRefusesThem) {
  const expr::Expr source = of_two_numbers("x/(1 + (x + y))");
  const kir::Kernel plain = as_it_stands(source);
  // An ulp less everywhere: a form that gives the source's values at all drawn points is asked no more.
  const kir::Kernel form = as_it_stands(
      of_two_numbers("x/((x + y == 0) ? ((abs(x) > 0.7) ? ((abs(x) < 0.706) ? 0 : 1) : 1) : 1 + (x + y)) * 0.9999999"));
  int missed = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto checker = Checker::make(source, {}, {.samples = {.points = 16'384, .seed = seed}});
    ASSERT_TRUE(checker.ok());
    const Checker::Prepared unrewritten = (*checker)->run(plain);
    const auto holds = [&](const kir::Kernel& kernel, Demand demand) {
      const auto prepared = (*checker)->check_meaning(kernel, demand, &unrewritten);
      CHECK(prepared.ok());
      return prepared->meaning.same();
    };
    EXPECT_TRUE(holds(plain, Demand::any_set));
    EXPECT_FALSE(holds(form, Demand::any_set));
    missed += holds(form, Demand::policy) ? 1 : 0;
  }
  EXPECT_GT(missed, 0);
}

}  // namespace
}  // namespace trident::equiv
