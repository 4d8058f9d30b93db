// A checker asks first where it has refused other forms, which changes no answer. Oracle: a checker that has seen none.
#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "jit/equiv/checker.h"

namespace trident::equiv {
namespace {

using expr::Type;
using expr::Variable;

const std::vector<Variable> kInputs = {{"x", Type::f32, expr::VariableKind::array, -2, 2},
                                       {"y", Type::f32, expr::VariableKind::array, -1e3, 1e30}};

expr::Expr in_f32(std::string_view text) {
  auto e = expr::parse_infix(text, {.type = Type::f32, .variables = kInputs});
  CHECK(e.ok());
  return std::move(e).value();
}

/// A checker that has judged the source's own kernel.
struct Asked {
  explicit Asked(const expr::Expr& source) {
    auto made = Checker::make(source, {}, {.samples = {.points = 4096, .seed = 5}});
    CHECK(made.ok());
    checker = std::move(*made);
    own = ask(source, nullptr);
  }
  Checker::Prepared ask(const expr::Expr& form, const Checker::Prepared* unrewritten) const {
    const auto kernel = expr::lower(form, {.policy = {}, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
    CHECK(kernel.ok());
    auto prepared = checker->check_meaning(*kernel, Demand::policy, unrewritten);
    CHECK(prepared.ok());
    return std::move(*prepared);
  }
  std::unique_ptr<Checker> checker;
  Checker::Prepared own;
};

TEST(FormsBefore, ChangeNoVerdict) {
  const expr::Expr source = in_f32("exp(x) - y * x");
  const Asked shared(source);
  ASSERT_TRUE(shared.own.meaning.same()) << print(shared.own.meaning);
  struct Form {
    std::string_view text;
    bool is_right;
  };
  constexpr Form kForms[] = {
      {"fma(-y, x, exp(x))", true},         {"exp(x) - x * y + x * 2e-6", false},   {"exp(x) + y * x", false},
      {"exp(x) - min(y, 1e29) * x", false}, {"exp(x) - max(y, -999.9) * x", false}, {"exp(x) - x * y", true}};
  for (const bool again : {false, true})
    for (const auto& [text, is_right] : kForms) {
      const expr::Expr form = in_f32(text);
      const Asked fresh(source);
      const Verdict after = shared.ask(form, &shared.own).meaning, alone = fresh.ask(form, &fresh.own).meaning;
      EXPECT_EQ(after.same(), alone.same()) << text << again;
      EXPECT_EQ(after.same(), is_right) << text << print(after);
    }
}

}  // namespace
}  // namespace trident::equiv
