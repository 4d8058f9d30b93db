// Choice among a search's forms. Oracles: choices by hand; the judge asked again, form by form.
#include "jit/pipeline/forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/time_model.h"
#include "jit/pipeline/tried.h"

namespace trident::pipeline {
namespace {

TEST(LearnedChoice, IsTheFastestThatIsPromisedMoreThanTheMargin) {
  EXPECT_EQ(learned_choice({}, 0), 0u);
  EXPECT_EQ(learned_choice(std::array{1.0}, 0), 0u);
  EXPECT_EQ(learned_choice(std::array{1.0, 0.98, 0.96}, 0), 2u);
  EXPECT_EQ(learned_choice(std::array{1.0, 0.98, 0.96}, 0.03), 2u);
  EXPECT_EQ(learned_choice(std::array{1.0, 0.98, 0.96}, 0.05), 0u);
  EXPECT_EQ(learned_choice(std::array{1.0, 1.0, 1.5}, 0), 0u);
}

TEST(Extract, HasTheStaticallyCheapestAndNoCodeTwice) {
  const Options options{.target = {.isa = codegen::Isa::avx2}};
  const expr::rewrite::TimeModel* judge = expr::rewrite::shipped_time_model();
  ASSERT_NE(judge, nullptr);
  std::size_t several = 0;
  for (const char* text : {"x: f64; y: f64; (x*y + x)/(y*x + 1)", "x: f32; x^5 + 3*x^4 + x^3 + x",
                           "x: f64; exp(x)/(exp(x) + 1)", "x: f64; y: f64; z: f64; (x + y)*(x + z)*(y + z)"}) {
    const auto source = expr::parse(text);
    ASSERT_TRUE(source.ok()) << text;
    const Extraction e = extract(*source, *source, options);
    ASSERT_FALSE(e.found.empty()) << text;
    ASSERT_EQ(e.guesses.size(), e.found.size());
    EXPECT_EQ(e.margin, judge->margin());
    EXPECT_NE(std::find(e.order.begin(), e.order.end(), 0u), e.order.end());
    EXPECT_LE(e.order.size(), 3u);
    several += e.order.size() > 1 ? 1 : 0;
    for (const std::size_t i : e.order) {
      const auto kernel = lower_found(e.found[i], options.target.policy);
      ASSERT_TRUE(kernel.ok());
      for (const std::size_t j : e.order)
        EXPECT_TRUE(i == j || !same_kernel(*kernel, *lower_found(e.found[j], options.target.policy))) << text;
      // A form before the statically cheapest must be promised to be faster by the margin.
      if (i != 0 && e.order[0] == i) {
        EXPECT_LT(e.guesses[i], e.guesses[0] - e.margin);
      }
    }
  }
  EXPECT_GT(several, 0u);
}

// Oracle: what forms cost, which only falls while a search goes on.
TEST(Extract, MoreEffortFindsNothingDearerAndSomethingCheaper) {
  const auto least = [](const expr::Expr& source, std::uint8_t effort) {
    const Options options{.target = {.isa = codegen::Isa::avx2, .policy = {.kind = expr::PolicyKind::fast}},
                          .budget = {.effort = effort}};
    double least = std::numeric_limits<double>::infinity();
    for (const expr::Expr& form : extract(source, source, options).found)
      if (const auto cost = expr::rewrite::cost_of(form, rewriting(options).costs); cost.ok())
        least = std::min(least, cost->dag);
    return least;
  };
  std::size_t cheaper = 0;
  for (const char* text : {"a: f64; c: f64; a + (1 - a)*pow(1 - c, 5)", "x: f64; exp(x)/(exp(x) + 1)",
                           "x: f32; m: f32; s: f32; exp(-(x - m)^2 / (2*s^2)) / (s*sqrt(2*3.141592653589793))"}) {
    const auto source = expr::parse(text);
    ASSERT_TRUE(source.ok()) << text;
    const double once = least(*source, 1), longer = least(*source, 8);
    EXPECT_LE(longer, once) << text;
    cheaper += longer < once ? 1 : 0;
  }
  EXPECT_GT(cheaper, 0u);
}

std::size_t count_of(kir::Op op, const kir::Kernel& kernel) {
  return static_cast<std::size_t>(std::ranges::count(kernel.insts, op, &kir::Inst::op));
}

/// Forms "estimated" of a text.
std::vector<Form> estimated(const char* text, codegen::Isa isa, expr::PolicyKind policy) {
  const auto source = expr::parse(text);
  const Options options{.target = {.isa = isa, .policy = {.kind = policy}}};
  const std::function<void(const Progress&)> nobody;
  auto list = forms(*source, *source, options, PassScope(options, nobody));
  std::vector<Form> found;
  for (Form& form : *list) {
    EXPECT_EQ(kir::has_estimates(form.kernel), form.name == "estimated");
    if (form.name == "estimated") found.push_back(std::move(form));
  }
  return found;
}

TEST(Estimated, IsForRootsAndQuotientsOfF32WhereBitsMayChange) {
  using expr::PolicyKind;
  constexpr const char* kTexts[] = {"x: f32; y: f32; y/sqrt(x*x + 1) + sqrt(y)", "x: f32; y: f32; x/(x*y + 1)"};
  for (const codegen::Isa isa : {codegen::Isa::avx2, codegen::Isa::avx512})
    for (const char* text : kTexts) {
      for (const PolicyKind policy : {PolicyKind::bounded, PolicyKind::fast}) {
        const auto found = estimated(text, isa, policy);
        EXPECT_FALSE(found.empty()) << text;
        for (const Form& form : found)
          EXPECT_TRUE(kir::has_estimates_only_of(codegen::estimate_bits(isa), form.kernel)) << text;
        EXPECT_TRUE(estimated(text, codegen::Isa::neon, policy).empty()) << text;
      }
      EXPECT_TRUE(estimated(text, isa, PolicyKind::exact).empty()) << text;
    }
  for (const char* text : {"x: f64; sqrt(x*x + 1)", "x: f64; x/(x*x + 1)", "x: f32; x*sqrt(3)", "x: f32; x/3",
                           "x: f32; param p: f32; x*(2/p)"})
    EXPECT_TRUE(estimated(text, codegen::Isa::avx512, PolicyKind::bounded).empty()) << text;
}

TEST(Estimated, LeavesTheDividerAShareOfManyQuotients) {
  const auto found = estimated("x: f32; y: f32; z: f32; x/y + y/z + z/x + x/(y + z) + y/(x + z) + z/(x + y)",
                               codegen::Isa::avx2, expr::PolicyKind::bounded);
  bool all = false, some = false;
  for (const Form& form : found) {
    const std::size_t divided = count_of(kir::Op::Div, form.kernel);
    all |= divided == 0 && !form.in_place_of;
    some |= divided > 0 && count_of(kir::Op::Div12, form.kernel) > 0 && !form.in_place_of;
  }
  EXPECT_TRUE(all);
  EXPECT_TRUE(some);
}

TEST(Estimated, TestsOperandsUnlessRangesShowThatNoneIsDoubtful) {
  const auto flags = [](const char* text) {
    const kir::Kernel kernel = *expr::lower(*expr::parse(text), {.policy = {}, .estimates = {.bits = 14}});
    return std::ranges::find(kernel.insts, kir::Op::Div14, &kir::Inst::op)->flags;
  };
  EXPECT_EQ(flags("x: f32; y: f32; x/y"), 0);
  EXPECT_EQ(flags("x: f32 in [1, 2]; y: f32 in [-4, -1]; x/y"), kir::kNormal);
  EXPECT_EQ(flags("x: f32 in [0, 2]; y: f32 in [1, 4]; x/y"), 0);
  EXPECT_EQ(flags("x: f32 in [1, 2]; y: f32 in [1e-20, 4]; x/y"), 0);
  EXPECT_EQ(flags("x: f32 in [1, 2]; y: f32 in [1, 1e30]; x/y"), 0);
}

TEST(Estimated, TriesTheLastRootsAloneWhereAllAreRefused) {
  const auto found =
      estimated("x: f32; y: f32; sqrt(1 + x/sqrt(x*x + y*y))", codegen::Isa::avx512, expr::PolicyKind::bounded);
  const auto roots = [](const Form& f) {
    return count_of(kir::Op::Sqrt14, f.kernel) + count_of(kir::Op::Rsqrt14, f.kernel);
  };
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(roots(found[0]), 2u);
  EXPECT_FALSE(found[0].in_place_of);
  const auto last = std::ranges::find_if(found, [&](const Form& f) { return roots(f) == 1; });
  ASSERT_NE(last, found.end());
  EXPECT_TRUE(last->in_place_of);
}

TEST(Estimated, RootsOfQuotientsNeedNoDivisionUnlessTheDivisorMayBeMinusZero) {
  const auto divisions = [](const char* text) {
    return count_of(
        kir::Op::Div,
        *expr::lower(*expr::parse(text), {.policy = {}, .estimates = {.bits = 14, .quotients = 0}, .narrow = true}));
  };
  EXPECT_EQ(divisions("x: f32; sqrt(2/(1 + x))"), 0u);
  EXPECT_EQ(divisions("x: f32; 3/sqrt(x)"), 0u);
  EXPECT_EQ(divisions("x: f32; sqrt(2/x)"), 1u);
  EXPECT_EQ(divisions("x: f32; sqrt(2/(x + x*x))"), 1u);
  EXPECT_EQ(divisions("x: f32; sqrt(x/(1 + x))"), 1u);
}

TEST(Multiplied, StandsInForTheSimplifiedFormOfConstantQuotients) {
  const auto multiplied = [](const char* text, expr::PolicyKind kind, std::vector<std::string> disabled = {}) {
    const auto source = expr::parse(text);
    Options options{.target = {.isa = codegen::Isa::avx2, .policy = {.kind = kind}}};
    options.search.disabled = std::move(disabled);
    const std::function<void(const Progress&)> nobody;
    const auto list = *forms(*source, *source, options, PassScope(options, nobody));
    std::vector<std::string> found;  // the form in whose place it is, and its divisions
    for (const Form& form : list)
      if (form.name == "multiplied")
        found.push_back((form.in_place_of ? list[*form.in_place_of].name : "none") + " " +
                        std::to_string(count_of(kir::Op::Div, form.kernel)));
    return found;
  };
  using expr::PolicyKind;
  using Found = std::vector<std::string>;
  constexpr const char* kText = "x: f32; y: f32; sqrt(1 - x/1.1*y) + 1/y";
  EXPECT_EQ(multiplied(kText, PolicyKind::bounded), Found{"simplified 1"});
  EXPECT_EQ(multiplied(kText, PolicyKind::fast), Found{"simplified 1"});
  EXPECT_EQ(multiplied(kText, PolicyKind::bounded, {"simplified"}), Found{"none 1"});
  EXPECT_EQ(multiplied(kText, PolicyKind::bounded, {"multiplied"}), Found{});
  EXPECT_EQ(multiplied(kText, PolicyKind::exact), Found{});
  EXPECT_EQ(multiplied("x: f32; y: f32; sqrt(1 - x/4) + 1/y + x*1.1", PolicyKind::bounded), Found{});
}

TEST(Shared, BoldFormsComeFirstAndCarefulOnesStandInForThem) {
  const auto shared = [](const char* text, expr::PolicyKind kind, std::vector<std::string> disabled = {}) {
    const auto source = expr::parse(text);
    Options options{.target = {.isa = codegen::Isa::avx2, .policy = {.kind = kind}}};
    options.search.disabled = std::move(disabled);
    const std::function<void(const Progress&)> nobody;
    const auto list = *forms(*source, *source, options, PassScope(options, nobody));
    std::vector<std::string> found;  // the form in whose place it is, its divisions and its sums with a product
    for (const Form& form : list)
      if (form.name == "shared")
        found.push_back((form.in_place_of ? list[*form.in_place_of].name : "none") + " " +
                        std::to_string(count_of(kir::Op::Div, form.kernel)) + " " +
                        std::to_string(count_of(kir::Op::Fma, form.kernel)));
    return found;
  };
  using expr::PolicyKind;
  using Found = std::vector<std::string>;
  constexpr const char* kText = "(x*y + z)/(x*z + w), q = y/(x*z + w)";
  const Found by_hand{"none 1 2", "shared 1 1", "shared 1 0"};
  EXPECT_EQ(shared(kText, PolicyKind::bounded, {"searched", "guided"}), by_hand);
  EXPECT_EQ(shared(kText, PolicyKind::fast, {"searched", "guided"}), by_hand);
  EXPECT_EQ(shared(kText, PolicyKind::bounded, {"searched", "guided", "contracted"}),
            (Found{"none 1 2", "shared 1 0"}));
  EXPECT_EQ(shared(kText, PolicyKind::bounded, {"shared"}), Found{});
  EXPECT_EQ(shared(kText, PolicyKind::exact), Found{});
  EXPECT_EQ(shared("x: f32; y: f32; x/(x + y), q = y/(x + y)", PolicyKind::bounded), Found{});
}

TEST(Replaced, FollowsTheChainOfFormsThatStandInForEachOther) {
  std::vector<Tried> tried(4);
  tried[2].form.in_place_of = 1, tried[3].form.in_place_of = 2;
  EXPECT_FALSE(replaced(tried, tried[2]) || replaced(tried, tried[3]));
  tried[1].prepared.emplace();
  ASSERT_TRUE(tried[1].holds());
  EXPECT_FALSE(replaced(tried, tried[0]));
  EXPECT_TRUE(replaced(tried, tried[2]) && replaced(tried, tried[3]));
}

}  // namespace
}  // namespace trident::pipeline
