// The climb to rare points, on candidates that break the policy at a known share of all points, too rare for the drawn
// ones to show.
#include "jit/equiv/tail.h"

#include <gtest/gtest.h>

#include "jit/equiv/checker.h"
#include "jit/expr/compact.h"

namespace trident::equiv {
namespace {

using expr::Type;

constexpr std::uint64_t kPoints = 1024;

expr::Expr parsed(const std::string& text) {
  auto e = expr::parse_infix(text, {.type = Type::f32,
                                    .variables = {{"x", Type::f32, expr::VariableKind::array, 0.5, 2},
                                                  {"y", Type::f32, expr::VariableKind::array, 0.5, 2}}});
  CHECK(e.ok());
  return std::move(e).value();
}

kir::Kernel lowered(const expr::Expr& e) {
  auto kernel = expr::lower(e, {.policy = {}, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

struct Found {
  double drawn = 0;  ///< greatest share among the drawn points
  Tail tail;
};

Found climb(const std::string& source_text, const std::string& candidate, double k, double set_points = 1e6) {
  const expr::Expr source = parsed(source_text);
  const kir::Kernel kernel = lowered(parsed(candidate));
  const expr::Policy policy{expr::PolicyKind::bounded, k};
  const Samples samples = make_samples(source, {.points = kPoints, .seed = 99})[0];
  auto reference = Reference::make(source, samples, {}, k);
  CHECK(reference.ok());
  const Outputs ours = interpret_calls(source, kernel, samples, samples.calls);
  std::vector<Errors> errors;
  EXPECT_FALSE(compare_values(source, samples, *reference, ours, policy, errors).has_value()) << candidate;
  auto tail = explore_tail({.source = source,
                            .kernel = kernel,
                            .start = samples,
                            .shares = errors[0].shares,
                            .policy = policy,
                            .set_points = set_points});
  CHECK(tail.ok());
  return {errors[0].share, *tail};
}

// An expression with the operands of its root as outputs, the second one alone or behind the first.
expr::Expr with_operands(const std::string& text, bool both) {
  expr::Expr e = parsed(text);
  const expr::Node root = e.at(e.outputs[0].node);
  e.outputs = {{"second", root.b}};
  if (both) e.outputs.insert(e.outputs.begin(), {"first", root.a});
  expr::drop_unused(e);
  return e;
}

// The climb for one output of several is the climb for that output alone.
TEST(Tail, OfAnOutputDependsOnThatOutputAlone) {
  const char* const source_text = "sin(x*y) + (x*x - y*y)*(x + 3)";
  const char* const form_text = "sin(x*y) + (x - y)*(x + y)*(x + 3)";
  const expr::Policy policy{expr::PolicyKind::bounded, 2};
  std::vector<Tail> tails;
  for (const bool both : {false, true}) {
    const expr::Expr source = with_operands(source_text, both);
    const kir::Kernel kernel = lowered(with_operands(form_text, both));
    const Samples samples = make_samples(with_operands(source_text, false), {.points = kPoints, .seed = 99})[0];
    auto reference = Reference::make(source, samples, {}, 2);
    ASSERT_TRUE(reference.ok());
    const Outputs ours = interpret_calls(source, kernel, samples, samples.calls);
    std::vector<Errors> errors;
    EXPECT_FALSE(compare_values(source, samples, *reference, ours, policy, errors).has_value());
    const std::size_t output = source.outputs.size() - 1;
    auto tail = explore_tail({.source = source,
                              .kernel = kernel,
                              .output = output,
                              .start = samples,
                              .shares = errors[output].shares,
                              .policy = policy});
    ASSERT_TRUE(tail.ok());
    tails.push_back(std::move(tail).value());
  }
  EXPECT_GT(tails[0].share, 0.1);
  EXPECT_EQ(tails[0].share, tails[1].share);
  EXPECT_EQ(tails[0].risk, tails[1].risk);
  EXPECT_EQ(tails[0].point, tails[1].point);
}

// Errors in whole steps, each a tenth as likely as the one before: most points of a level are a tie. The value 1 has an
// ulp of 2^-23; x*0 + 1 allows a unit of half an ulp and two ulp.
TEST(Tail, ClimbsStepsThatMostPointsOfALevelShare) {
  std::string steps = "1";
  for (const char* from : {"1.85", "1.985", "1.9985", "1.99985", "1.999985"})
    steps += " + select(x > " + std::string(from) + ", 1.1920929e-7, 0)";
  const Found broken = climb("x*0 + 1", steps, 4.5);  // five ulp at ten of a million points, and 4.25 are allowed
  EXPECT_LT(broken.drawn, 0.8);
  EXPECT_GT(broken.tail.share, 1);
  ASSERT_EQ(broken.tail.point.size(), 2u);
  EXPECT_GT(value_of(Type::f32, broken.tail.point[0]), 1.99998);  // the point is one of those
  const Found held = climb("x*0 + 1", steps, 7);
  EXPECT_LE(held.tail.share, 1);
  EXPECT_GT(held.tail.share, 0.85);  // all five steps were met
}

// Rounding errors of a form are bounded; nothing rarer breaks it.
TEST(Tail, LeavesFormsThatHoldAlone) {
  for (const auto& [source, form] :
       {std::pair{"x*x - y*y", "fma(x, x, -(y*y))"}, std::pair{"x*x - y*y", "(x - y)*(x + y)"},
        std::pair{"(x*y + x) - (y*y + y)", "x*(y + 1) - y*(y + 1)"}, std::pair{"x*y + x", "x*(y + 1)"}})
    EXPECT_LT(climb(source, form, 2).tail.share, 0.85) << form;
}

}  // namespace
}  // namespace trident::equiv
