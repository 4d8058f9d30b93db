// The estimated share of sets that break the policy, against the actual one: hundreds of sets drawn and judged.
#include "jit/equiv/tail.h"

#include <gtest/gtest.h>

#include <cmath>

#include "jit/equiv/checker.h"

namespace trident::equiv {
namespace {

using expr::Type;

constexpr std::uint64_t kSetPoints = 4096;
constexpr int kSets = 100;

struct Case {
  const char* name;
  const char* source;
  const char* candidate;
};

std::vector<expr::Variable> variables() {
  return {{"x", Type::f32, expr::VariableKind::array, 0.5, 2}, {"y", Type::f32, expr::VariableKind::array, 0.5, 2}};
}

expr::Expr parsed(const char* text) {
  auto e = expr::parse_infix(text, {.type = Type::f32, .variables = variables()});
  CHECK(e.ok());
  return std::move(e).value();
}

kir::Kernel lowered(const expr::Expr& e) {
  auto kernel = expr::lower(e, {.policy = {}, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

// Errors of `kernel` in the uniform set of `points` points and this seed.
struct Drawn {
  std::vector<Samples> sets;
  std::vector<Errors> errors;
  bool broken = false;
};
Drawn draw(const expr::Expr& source, const kir::Kernel& kernel, std::uint64_t points, std::uint64_t seed) {
  Drawn d;
  d.sets = make_samples(source, {.points = points, .seed = seed});
  auto reference = Reference::make(source, d.sets[0]);
  CHECK(reference.ok());
  strict_errors(source, *reference, points);
  const Outputs ours = interpret_calls(source, kernel, d.sets[0], d.sets[0].calls);
  // A bound that nothing breaks, to see all errors; the policy is asked of the maxima below.
  const expr::Policy lenient{expr::PolicyKind::bounded, 1e30};
  EXPECT_FALSE(compare_values(source, d.sets[0], *reference, ours, lenient, {1.0}, d.errors).has_value());
  PointErrors most{0, 0};
  for (std::size_t i = d.sets[0].runs; i < d.errors[0].points.size(); ++i) {
    most.ours_ulp = std::max(most.ours_ulp, d.errors[0].points[i].ours_ulp);
    most.strict_ulp = std::max(most.strict_ulp, d.errors[0].points[i].strict_ulp);
  }
  d.broken = most.ours_ulp > 2 * most.strict_ulp + 2;
  return d;
}

double estimated(const expr::Expr& source, const kir::Kernel& kernel, std::uint64_t points, double set_points,
                 double slack_ulp = 2) {
  const Drawn start = draw(source, kernel, points, 99);
  const auto tail = explore_tail({.source = source,
                                  .kernel = kernel,
                                  .start = start.sets[0],
                                  .errors = start.errors[0].points,
                                  .greatest = start.errors[0].greatest,
                                  .slack_ulp = slack_ulp,
                                  .set_points = set_points});
  CHECK(tail.ok());
  return tail->probability;
}

double really(const expr::Expr& source, const kir::Kernel& kernel) {
  int broken = 0;
  for (int set = 0; set < kSets; ++set)
    broken += draw(source, kernel, kSetPoints, 1000 + static_cast<std::uint64_t>(set)).broken ? 1 : 0;
  return static_cast<double>(broken) / kSets;
}

// The start is a quarter of a set, so that most of the deciding points lie in levels that were climbed to.
TEST(Tail, TheEstimateIsWhatHappens) {
  const Case cases[] = {
      {"other roundings near a zero", "x*x - y*y", "fma(x, x, -(y*y))"},
      {"worse near a zero", "(x - y) * (x + y)", "x*x - y*y"},
      {"one more rounding near a zero", "(x*y + x) - (y*y + y)", "x*(y + 1) - y*(y + 1)"},
      {"twice the error near a pole", "1 / (x*y - 1)", "1 / (x*y*1.5 - 1.5) * 1.5"},
      {"settled", "x*y + x", "x*(y + 1)"},
  };
  double all_wanted = 0, all_got = 0;  // of the rare ones
  for (const Case& c : cases) {
    const expr::Expr source = parsed(c.source);
    const kir::Kernel kernel = lowered(parsed(c.candidate));
    const double wanted = really(source, kernel);
    const double got = estimated(source, kernel, kSetPoints / 4, kSetPoints * 7.0 / 8);
    // Three standard deviations of `wanted`, and a third for the error of chains of few points.
    const double slack = 3 * std::sqrt(wanted * (1 - wanted) / kSets) + 0.33 * wanted + 0.02;
    EXPECT_NEAR(got, wanted, slack) << c.name;
    std::printf("%-32s %.3f, estimated %.3f\n", c.name, wanted, got);
    if (wanted < 0.5) all_wanted += wanted, all_got += got;
  }
  // Each alone is within chance of a fraction of it; together they are not, unless chains climb.
  EXPECT_GT(all_wanted, 0.2);
  EXPECT_GT(all_got, 0.5 * all_wanted);
}

// Errors in whole steps, each a tenth as likely as the one before: most points of a level are a tie.
TEST(Tail, ClimbsStepsThatMostPointsOfALevelShare) {
  const expr::Expr source = parsed("x*0 + 1");
  std::string steps = "1";
  for (const char* from : {"1.85", "1.985", "1.9985", "1.99985", "1.999985"})
    steps += " + select(x > " + std::string(from) + ", 1.1920929e-7, 0)";
  const kir::Kernel kernel = lowered(parsed(steps.c_str()));
  // Five ulp at ten of a million points, and four are allowed.
  EXPECT_GT(estimated(source, kernel, 1024, 1e6, 4.5), 0.9);
  EXPECT_EQ(estimated(source, kernel, 1024, 1e6, 5.5), 0);
}

}  // namespace
}  // namespace trident::equiv
