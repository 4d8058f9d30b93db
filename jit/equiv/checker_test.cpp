// The checker on kernels that are right, subtly wrong, and wrong in their code. The oracle is the origin of each
// candidate: made from the same source (must pass), or from one changed on purpose (must be refused at a point where
// the two really differ, which the test recomputes with libm or integer arithmetic).
#include "jit/equiv/checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <ctime>
#include <set>
#include <thread>

#include "jit/equiv/draw.h"
#include "jit/kir/interpreter.h"

namespace trident::equiv {
namespace {

using expr::Type;
using expr::Variable;

expr::Expr parsed(std::string_view text, Type type, std::vector<Variable> variables) {
  auto e = expr::parse_infix(text, {.type = type, .variables = std::move(variables)});
  if (!e.ok()) ADD_FAILURE() << e.error().message;
  CHECK(e.ok());
  return std::move(e).value();
}

kir::Kernel lowered(const expr::Expr& e) {
  auto kernel = expr::lower(e, {.policy = {}, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

// Runs a kernel as if it were machine code.
Execute interpreting(const expr::Expr& source, const kir::Kernel& kernel) {
  return one_by_one([&](const CodeRun& run) -> Result<Executed> {
    return Executed{"", interpret_calls(source, kernel, run.samples, run.calls)};
  });
}

Verdict verdict_of(const expr::Expr& source, const kir::Kernel& kernel, expr::Policy policy = {}) {
  auto checker = Checker::make(source, policy, {.samples = {.points = 4096, .seed = 7}});
  CHECK(checker.ok());
  auto prepared = (*checker)->check_meaning(kernel, Demand::policy);
  CHECK(prepared.ok());
  return prepared->meaning;
}

// Where the bound says that a sine may be anything, the source's own value comes as near to the bound as can be, and
// always holds. Another form's value there may be anything else.
TEST(Checker, TheSourcesOwnResultsAreNoRisk) {
  std::vector<Variable> open;
  for (const char* name : {"x", "y", "z"}) open.push_back({name, Type::f32, expr::VariableKind::array, 1, 1e10});
  const expr::Expr source = parsed("sin(x * y * z)", Type::f32, open);
  const Verdict own = verdict_of(source, lowered(source));
  ASSERT_TRUE(own.same()) << print(own);
  EXPECT_GT(own.bound_share, 0.9);
  EXPECT_LT(own.risk, 0.6);
  const Verdict other = verdict_of(source, lowered(parsed("sin(x * (y * z))", Type::f32, open)));
  ASSERT_TRUE(other.same()) << print(other);
  EXPECT_GT(other.risk, 0.6);
}

// The screen leaves out most points, and judges as the reference does.
TEST(Checker, ScreenedPointsCountAsDecided) {
  std::vector<Variable> near;
  for (const char* name : {"x", "y"}) near.push_back({name, Type::f32, expr::VariableKind::array, 1, 100});
  const expr::Expr source = parsed("sqrt(x * y) + y / x", Type::f32, near);
  const kir::Kernel kernel = lowered(source), wrong = lowered(parsed("sqrt(x * y) + y / (x + 1e-5)", Type::f32, near));
  const Verdict whole = verdict_of(source, kernel);
  for (const kir::Kernel* of : {&kernel, &wrong}) {
    const auto checker = Checker::make(source, {}, {.samples = {.points = 4096, .seed = 7}, .screened = of});
    ASSERT_TRUE(checker.ok());
    std::uint64_t left = 0;
    for (const Samples& samples : (*checker)->sets()) left += samples.n;
    const auto prepared = (*checker)->check_meaning(*of, Demand::policy);
    ASSERT_TRUE(prepared.ok());
    EXPECT_EQ(of == &kernel, prepared->meaning.same());
    if (of != &kernel) continue;
    EXPECT_LT(left, whole.points / 4);
    EXPECT_NEAR(1, static_cast<double>(prepared->meaning.points) / static_cast<double>(whole.points), 0.1);
  }
}

struct Pair {
  const char* source;
  const char* candidate;
  bool same;  // as the policy bounded(2) says
};

std::vector<Variable> two(Type type, double lo, double hi) {
  return {{"x", type, expr::VariableKind::array, lo, hi}, {"y", type, expr::VariableKind::array, lo, hi}};
}

TEST(Checker, TellsRewritingsFromMistakes) {
  const Pair pairs[] = {
      {"x * y + x", "x * (y + 1)", true},
      {"x * y + x", "x * (y + 1.000001)", false},
      {"(x + y) * (x - y)", "x * x - y * y", true},  // the unit of x - y is that of its terms
      {"(x - y) * (x - y)", "x * x - 2 * x * y + y * y", false},
      {"x / y", "x * (1 / y)", true},
      {"sqrt(x) * sqrt(y)", "sqrt(x * y)", true},
      {"x - y", "y - x", false},
      {"x < y ? x : y", "min(x, y)", true},
      {"x < 2 ? x : y", "x <= 2 ? x : y", false},
      {"max(x, y)", "x > y ? x : y", true},
      {"floor(x)", "trunc(x)", true},  // the range is positive
      {"floor(x)", "rint(x)", false},
      {"abs(x - y)", "max(x - y, y - x)", true},
  };
  for (const Type type : {Type::f32, Type::f64}) {
    for (const Pair& pair : pairs) {
      const auto source = parsed(pair.source, type, two(type, 0.5, 4));
      const auto candidate = lowered(parsed(pair.candidate, type, two(type, 0.5, 4)));
      const Verdict v = verdict_of(source, candidate);
      EXPECT_EQ(v.same(), pair.same) << pair.source << " -> " << pair.candidate << "\n" << print(v);
      EXPECT_EQ(v.counterexample.has_value(), !pair.same);
    }
  }
}

// Forms whose step lies five ulp beside the source's: the running error of a product does not reach so far. (Hardly any
// of these products is exact.)
TEST(Checker, RefusesStepsBesideTheRunningError) {
  const Pair pairs[] = {
      {"x*1.1 < 4 ? 1 : 2", "x*1.1 < 4.0000024 ? 1 : 2", false}, {"floor(x*1.1)", "floor(x*1.1 + 0.0000024)", false},
      {"f32(i32(x*1.1))", "f32(i32(x*1.1 - 0.0000024))", false}, {"x*1.1 < 4 ? 1 : 2", "x < 3.63636356 ? 1 : 2", true},
      {"floor(x*1.1)", "floor(fma(x, 1.1, 0))", true},
  };
  const std::vector<Variable> x = {{"x", Type::f32, expr::VariableKind::array, 3.636, 3.637}};
  for (const Pair& pair : pairs) {
    const Verdict v = verdict_of(parsed(pair.source, Type::f32, x), lowered(parsed(pair.candidate, Type::f32, x)));
    EXPECT_EQ(v.same(), pair.same) << pair.source << " -> " << pair.candidate << "\n" << print(v);
  }
}

// A cast to a narrower type rounds, and is meant to: its rounding is no error, and a form without it is
// wrong.
TEST(Checker, CastsRoundByTheirMeaning) {
  const Pair pairs[] = {
      {"x - f64(f32(x))", "x*0", false},
      {"f64(f32(x))", "x", false},
      {"f64(f32(x*y)) + 1", "x*y + 1", false},
      {"f64(f32(x*y)) + 1", "f64(f32(x)*f32(y)) + 1", false},
      {"f64(f32(exp(x)))*y", "exp(x)*y", false},
      {"f64(f32(exp(x)))*y", "y*f64(f32(exp(x)))", true},
      {"f64(f32(x/y + x*y)) - x", "f64(f32(x*(1/y + y))) - x", true},  // but next to the middle between two floats
      {"f32(x*y)", "f32(x)*f32(y)", true},                             // an ulp and a half of f32
      {"f32(x*y + x)", "f32(x*(y + 1))", true},
      {"f32(x - y)", "f32(x) - f32(y)", false},  // cancels
      {"f64(f32(x)) - f64(f32(y))", "f64(f32(x) - f32(y))", false},
  };
  for (const expr::Policy policy : {expr::Policy{}, expr::Policy{expr::PolicyKind::fast}}) {
    for (const Pair& pair : pairs) {
      const auto source = parsed(pair.source, Type::f64, two(Type::f64, 0.5, 4));
      EXPECT_TRUE(verdict_of(source, lowered(source), policy).same()) << pair.source;
      const Verdict v = verdict_of(source, lowered(parsed(pair.candidate, Type::f64, two(Type::f64, 0.5, 4))), policy);
      EXPECT_EQ(v.same(), pair.same) << pair.source << " -> " << pair.candidate << "\n" << print(v);
    }
  }
  const std::vector<Variable> anything = {{"x", Type::f64, expr::VariableKind::array},
                                          {"n", Type::i64, expr::VariableKind::array}};
  for (const auto& [text, wrong] :
       {std::pair("f64(f32(x))", "x"), std::pair("f64(f32(1/x)) - 1", "1/f64(f32(x)) - 1"),
        std::pair("n - i64(f64(n))", "n - n"), std::pair("f64(f32(n)) - f64(n)", "0*f64(n)")}) {
    const auto source = parsed(text, Type::f64, anything);
    for (const auto kind : {expr::PolicyKind::exact, expr::PolicyKind::bounded, expr::PolicyKind::fast}) {
      EXPECT_TRUE(verdict_of(source, lowered(source), {kind}).same()) << text;
      EXPECT_FALSE(verdict_of(source, lowered(parsed(wrong, Type::f64, anything)), {kind}).same()) << text;
    }
  }
}

// A bound that is a share of the greatest value would let all of these pass or refuse the careful ones.
TEST(Checker, EachPointHasItsOwnBound) {
  struct Row {
    const char *source, *candidate;
    double lo, hi;
    bool same;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const char* const lennard_jones = "i = 1/(x*x + y*y); s = i*i*i; 4*(s*s - s)";
  for (const Row& row : {
           Row{"x*y / (x + y)", "y*x / (y + x)", -kInfinity, kInfinity, true},
           Row{"x*y / (x + y)", "1 / (1/x + 1/y)", -kInfinity, kInfinity, false},
           Row{"x*y / (x + y)", "x / (x/y + 1)", -kInfinity, kInfinity, false},
           Row{"x*y / (x + y)", "y / (x + y) * x", -kInfinity, kInfinity, false},  // 0 at (1e300, 1.5e-154)
           Row{"x*y / (x + y)", "1 / (1/x + 1/y)", 0.5, 4, true},
           Row{lennard_jones, "i = 1/(x*x + y*y); s = i*i*i; 4*s*(s - 1)", 0.5, 2, true},
           Row{"i = 1/(x*x + y*y); s = i*i*i; 4*s*(s - 1)", lennard_jones, 0.5, 2, true},
           Row{lennard_jones, "i = 1/(x*x + y*y); s = i*i*i; 4*s*(s - 1.00001)", 0.5, 2, false},
           Row{"x*x - y*y", "(x - y)*(x + y)", 0.5, 4, true},
           Row{"(x - y)*(x + y)", "x*x - y*y", 0.5, 4, true},
           Row{"x*x - 2*x*y + y*y", "(x - y)*(x - y)", 0.5, 4, true},
           Row{"(x - y)*(x - y)", "x*x - 2*x*y + y*y", 0.5, 4, false},
           Row{"(x + y) + (x - y)", "2*x", 0.5, 4, true},
           Row{"((x + y) + x) - y", "(x - y) + (x + y)", -1e6, 1e6, true},
           Row{"1 - cos(x*y)", "2*sin(x*y/2)*sin(x*y/2)", 0.1, 1, true},
           Row{"sqrt(x*x - y*y)", "sqrt(fma(x, x, -(y*y)))", 0.5, 4, false},
           Row{"2*sin(x*y/2)*sin(x*y/2)", "1 - cos(x*y)", 0.001, 1, false},
       }) {
    for (const Type type : {Type::f32, Type::f64}) {
      const auto variables = two(type, row.lo, row.hi);
      const auto source = parsed(row.source, type, variables);
      EXPECT_TRUE(verdict_of(source, lowered(source), {expr::PolicyKind::bounded, 2}).same()) << row.source;
      const Verdict v = verdict_of(source, lowered(parsed(row.candidate, type, variables)));
      EXPECT_EQ(v.same(), row.same) << row.source << " -> " << row.candidate << "\n" << print(v);
    }
  }
}

TEST(Checker, UndeclaredRangesKeepSpecialValues) {
  const Pair pairs[] = {
      {"x * 0", "0", false},  // NaN and infinities
      {"x - x", "0", false},    {"x / x", "1", false},
      {"x + 0", "x", true},     {"min(x, y)", "x < y ? x : y", false},  // a NaN in x
      {"x + y", "y + x", true}, {"(x + y) - x", "y", false},            // overflow, infinities
  };
  for (const Type type : {Type::f32, Type::f64}) {
    const std::vector<Variable> anything = {{"x", type, expr::VariableKind::array},
                                            {"y", type, expr::VariableKind::array}};
    for (const Pair& pair : pairs) {
      const auto source = parsed(pair.source, type, anything);
      const Verdict v = verdict_of(source, lowered(parsed(pair.candidate, type, anything)));
      EXPECT_EQ(v.same(), pair.same) << pair.source << " -> " << pair.candidate << "\n" << print(v);
    }
  }
}

// Where a sum is zero to the bit, a rule of addition fixes its sign, which forms over the reals do not keep; an angle
// is 0 on one side and pi on the other. Points drawn at random never meet it.
TEST(Checker, SignsOfExactZerosCount) {
  const double most = std::numeric_limits<double>::max();
  const std::vector<Variable> variables = {{"a", Type::f64, expr::VariableKind::array, -0.5, 5},
                                           {"b", Type::f64, expr::VariableKind::array, 0.001, 100},
                                           {"d", Type::f64, expr::VariableKind::array, -most, most}};
  const Pair pairs[] = {
      {"atan2(-fma(a, d, b), fma(a, d, b))", "atan2(fma(a, -d, -b), -fma(a, -d, -b))", false},
      {"copysign(a, b - d)", "copysign(a, -(d - b))", false},
      {"atan2(-fma(a, d, b), fma(a, d, b))", "atan2(-fma(d, a, b), fma(d, a, b))", true},
  };
  for (const Pair& pair : pairs) {
    const Verdict v =
        verdict_of(parsed(pair.source, Type::f64, variables), lowered(parsed(pair.candidate, Type::f64, variables)));
    EXPECT_EQ(v.same(), pair.same) << pair.source << " -> " << pair.candidate << "\n" << print(v);
  }
}

// Forms that lose every digit near zero, in ranges whose large values would hide that.
TEST(Checker, SmallValuesAreLookedAtByThemselves) {
  const double most = std::numeric_limits<double>::max();
  struct Case {
    const char *source, *candidate;
    double lo, hi;
  };
  const Case cases[] = {
      {"expm1(x * y)", "exp(x * y) - 1", -INFINITY, INFINITY},
      {"expm1(x * y)", "exp(x * y) - 1", -10, 10},
      {"expm1(x) * y", "(exp(x) - 1) * y", -80, 80},
      {"sqrt(log1p(x)) + 0*y", "sqrt(log(1 + x)) + 0*y", 0, most},
      {"log1p(x) * y", "log(1 + x) * y", 0, most},
      {"sinh(x) * y", "(exp(x) - exp(-x)) * 0.5 * y", -50, 50},
  };
  for (const Type type : {Type::f32, Type::f64}) {
    for (const Case& c : cases) {
      const double end =
          type == Type::f32 ? std::min(c.hi, static_cast<double>(std::numeric_limits<float>::max())) : c.hi;
      const auto source = parsed(c.source, type, two(type, c.lo, c.hi == INFINITY ? INFINITY : end));
      const auto candidate = lowered(parsed(c.candidate, type, two(type, c.lo, c.hi == INFINITY ? INFINITY : end)));
      EXPECT_TRUE(verdict_of(source, lowered(source)).same()) << c.source;
      EXPECT_FALSE(verdict_of(source, candidate).same()) << c.source << " -> " << c.candidate;
    }
  }
}

// Code that errs only in long calls: every kind of fault is found, sound code is not refused.
TEST(Checker, LongCallsAreComparedBitForBit) {
  constexpr std::uint64_t kLong = 100'000;
  for (const char* text : {"x * y + 1", "(x * y, x - y)", "(sum(x * y), x * y)"}) {
    const auto source = parsed(text, Type::f32, two(Type::f32, 0.5, 4));
    const auto kernel = lowered(source);
    auto checker = Checker::make(source, {}, {.samples = {.points = 2048, .seed = 7}});
    ASSERT_TRUE(checker.ok());
    auto prepared = (*checker)->check_meaning(kernel, Demand::policy);
    ASSERT_TRUE(prepared.ok());
    enum class Fault { none, first, last, misaligned, in_place, at_start, crash };
    for (const Fault fault :
         {Fault::none, Fault::first, Fault::last, Fault::misaligned, Fault::in_place, Fault::at_start, Fault::crash}) {
      const Execute spoiling = one_by_one([&](const CodeRun& run) -> Result<Executed> {
        Executed executed{"", interpret_calls(source, kernel, run.samples, run.calls)};
        for (std::size_t c = 0; c < run.calls.size(); ++c) {
          const Call& call = run.calls[c];
          if (call.n < kLong || fault == Fault::none) continue;
          auto& output = executed.outputs[c].back();
          const bool hit =
              fault == Fault::first || fault == Fault::last || (fault == Fault::in_place && call.in_place) ||
              (fault == Fault::misaligned && call.first % 8 != 0) || (fault == Fault::at_start && run.flush_start);
          if (hit) (fault == Fault::last ? output.back() : output.front()) ^= std::byte{1};
          if (fault == Fault::crash) executed.failure = "crashed";
        }
        return executed;
      });
      // The ordinary check sees nothing of it.
      auto ordinary = (*checker)->check_code(*prepared, spoiling, Effort::full);
      ASSERT_TRUE(ordinary.ok());
      EXPECT_TRUE(ordinary->same());
      auto verdict = (*checker)->check_long_calls(*prepared, kernel, spoiling, kLong);
      ASSERT_TRUE(verdict.ok());
      EXPECT_EQ(verdict->same(), fault == Fault::none) << text << " " << static_cast<int>(fault) << "\n"
                                                       << print(*verdict);
    }
  }
}

// Conversions of computed values, most of which are within two units of an integer: either one is right, no other is.
// Two units of x*4099.7 are 2^-23 of it. The share of points that are so near to an integer is twice their mean.
TEST(Checker, EitherSideOfAStepIsRightAndNothingElse) {
  const std::vector<Variable> range = {{"x", Type::f32, expr::VariableKind::array, 500, 1000}};
  const auto source = parsed("f32(i32(x * 4099.7))", Type::f32, range);
  const auto unrewritten_kernel = lowered(source);
  auto checker = Checker::make(source, {}, {.samples = {.points = 4096, .seed = 7}});
  ASSERT_TRUE(checker.ok());
  auto unrewritten = (*checker)->check_meaning(unrewritten_kernel, Demand::policy);
  ASSERT_TRUE(unrewritten.ok());
  EXPECT_TRUE(unrewritten->meaning.same());
  EXPECT_NEAR(2 * 750 * 4099.7 * 0x1p-23, unrewritten->meaning.either_side, 0.02);
  const auto judged = [&](const char* text) {
    auto prepared = (*checker)->check_meaning(lowered(parsed(text, Type::f32, range)), Demand::any_set, &*unrewritten);
    CHECK(prepared.ok());
    return prepared->meaning;
  };
  EXPECT_TRUE(judged("f32(i32(4099.7 * x))").same());
  const Verdict wrong = judged("f32(i32(x * 4100))");
  EXPECT_FALSE(wrong.same());
  EXPECT_NE(print(wrong).find("error of"), std::string::npos) << print(wrong);
}

// However hard an expression is, the checker often asks whether to continue. Each gap is the shortest of three runs,
// which ask at the same places: on a busy machine any single one can be long.
TEST(Checker, AsksForCancellationWithinMilliseconds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::clock_t kGapMaxMs = 1000;
#else
  constexpr std::clock_t kGapMaxMs = 50;  // of processor time
#endif
  // Cancels everywhere, so that every point is refined, and has a step per term.
  std::string text = "0";
  for (int i = 0; i < 8; ++i)
    text += " + (exp(sin(x + " + std::to_string(i) + ")) - exp(sin(x + " + std::to_string(i) +
            ")) * (1 + y * 1e-13)) * floor(pow(x, y) * 10)";
  const auto source = parsed(text, Type::f64, two(Type::f64, 0.5, 4));
  const auto kernel = lowered(source);
  const auto gaps_of_a_run = [&] {
    std::vector<std::clock_t> gaps;
    std::clock_t asked = std::clock();
    const auto ask = [&] {
      const std::clock_t now = std::clock();
      gaps.push_back(now - asked);
      asked = now;
      return false;
    };
    auto checker = Checker::make(source, {}, {.samples = {.points = 512, .seed = 7}, .cancelled = ask});
    CHECK(checker.ok());
    CHECK((*checker)->check_meaning(kernel, Demand::any_set).ok());
    ask();
    return gaps;
  };
  std::vector<std::clock_t> shortest = gaps_of_a_run();
  for (int run = 1; run < 3; ++run) {
    const std::vector<std::clock_t> gaps = gaps_of_a_run();
    ASSERT_EQ(gaps.size(), shortest.size());
    for (std::size_t i = 0; i < gaps.size(); ++i) shortest[i] = std::min(shortest[i], gaps[i]);
  }
  EXPECT_LT(*std::max_element(shortest.begin(), shortest.end()), kGapMaxMs * CLOCKS_PER_SEC / 1000);
}

// Behaviour that occurs only far out or at infinity counts wherever a range does not exclude it.
TEST(Checker, WhatARangeDoesNotExcludeCounts) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Row {
    const char *source, *candidate;
    double lo, hi;
    bool same;
  };
  for (const Type type : {Type::f32, Type::f64}) {
    for (const Row& row :
         {Row{"hypot(x, x*x)", "sqrt(fma(x*x, x*x, x*x))", -kInfinity, kInfinity, false},
          Row{"hypot(x, x*x)", "sqrt(fma(x*x, x*x, x*x))", 1, kInfinity, false},
          Row{"hypot(x, x*x)", "sqrt(fma(x*x, x*x, x*x))", 1, 1e6, true},
          Row{"(x/x) / (0.1*x)", "x / (0.1*x*x)", -kInfinity, kInfinity, false},
          Row{"(x/x) / (0.1*x)", "x / (0.1*x*x)", 0, 1, false}, Row{"(x/x) / (0.1*x)", "x / (0.1*x*x)", 1e-9, 1, true},
          Row{"(1 + (x - x)) * atan(x)", "atan(x)", -kInfinity, kInfinity, false},
          Row{"(1 + (x - x)) * atan(x)", "atan(x)", -1e30, 1e30, true}}) {
      const std::vector<Variable> x = {{"x", type, expr::VariableKind::array, row.lo, row.hi}};
      const Verdict v = verdict_of(parsed(row.source, type, x), lowered(parsed(row.candidate, type, x)));
      EXPECT_EQ(row.same, v.same()) << row.candidate << " in [" << row.lo << ", " << row.hi << "]\n" << print(v);
    }
  }
}

// A quotient and the product with the rounded reciprocal lie on two sides of a step at many multiples. Where no range
// or a wide one is declared, a whole step is little beside the greatest values.
TEST(Checker, StepsAreNotMoved) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double end : {kInfinity, 1e30, 400.0})
    for (const auto& [source, moved] :
         {std::pair{"floor(x/49)", "floor(x*(1/49.0))"}, std::pair{"floor(x/49)*49", "floor(x*(1/49.0))*49"},
          std::pair{"x/49 >= 1 ? x : -x", "x*(1/49.0) >= 1 ? x : -x"},
          std::pair{"floor((x+y)/49)", "floor((x+y)*(1/49.0))"}, std::pair{"floor(x*y/49)", "floor(x*y*(1/49.0))"},
          std::pair{"round(x*0.5/49)", "round(x*(0.5/49.0))"}, std::pair{"sign(x/49-1)", "sign(x*(1/49.0)-1)"}}) {
      const auto xy = two(Type::f64, -end, end);
      const auto e = parsed(source, Type::f64, xy);
      for (const expr::PolicyKind kind : {expr::PolicyKind::bounded, expr::PolicyKind::fast}) {
        const auto checker = Checker::make(e, {kind}, {});
        ASSERT_TRUE(checker.ok());
        const auto unrewritten = (*checker)->check_meaning(lowered(e), Demand::policy);
        ASSERT_TRUE(unrewritten.ok() && unrewritten->meaning.same()) << source;
        const auto v = (*checker)->check_meaning(lowered(parsed(moved, Type::f64, xy)), Demand::any_set, &*unrewritten);
        ASSERT_TRUE(v.ok());
        EXPECT_FALSE(v->meaning.same()) << source << " in +-" << end;
      }
    }
}

// Infinity times logarithms of either sign is no number; the power of their product is. At the ends of x they have one.
TEST(Checker, InfinitiesAreTriedAmongValuesOfEveryKind) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Type type : {Type::f32, Type::f64}) {
    const std::vector<Variable> xyz = {{"x", type, expr::VariableKind::array, 1e-20, 1e20},
                                       {"y", type, expr::VariableKind::array, 0.5, 0.9},
                                       {"z", type, expr::VariableKind::array, -kInfinity, 0}};
    const char* const source = "pow((x / (x + x*0.01)) * (x * y), z)";
    const auto verdict = [&](const char* text) {
      return verdict_of(parsed(source, type, xyz), lowered(parsed(text, type, xyz)), {expr::PolicyKind::bounded, 1e6});
    };
    EXPECT_TRUE(verdict(source).same());
    const Verdict v = verdict("exp(z * log(x / (x + x*0.01)) + z * log(x * y))");
    ASSERT_FALSE(v.same());
    EXPECT_NE(print(v).find("inf"), std::string::npos) << print(v);
  }
}

// Twelve factors of 1e-4 are zero in f32; drawing twelve such factors independently is too unlikely.
TEST(Checker, VariablesAreAlikeAtSomePoints) {
  std::string sum = "log(a)", product = "a";
  std::vector<Variable> variables;
  for (const char name : std::string("abcdefghijkl")) {
    variables.push_back({std::string(1, name), Type::f32, expr::VariableKind::array, 1e-4, 1});
    if (name == 'a') continue;
    sum += std::string(" + log(") + name + ")";
    product += std::string("*") + name;
  }
  const auto source = parsed(sum.c_str(), Type::f32, variables);
  EXPECT_FALSE(verdict_of(source, lowered(parsed(("log(" + product + ")").c_str(), Type::f32, variables))).same());
  const std::vector<Variable> xy = {{"x", Type::f64}, {"y", Type::f64}};
  const auto sides = parsed("(x*y - (y + x)) / (x*y - (y + x))", Type::f64, xy);
  EXPECT_FALSE(verdict_of(sides, lowered(parsed("(x*y - y - x) / (x*y - y - x)", Type::f64, xy))).same());
}

// Values that a condition allows but no drawn point meets are compared too; if none is found, that is reported.
TEST(Checker, TinyValuesStandBesideVastOnes) {
  const std::vector<Variable> yz = {{"y", Type::f64}, {"z", Type::f64}};
  const auto source = parsed("1/(y*y*y) / (z / (1/(y*y*y)))", Type::f64, yz);
  EXPECT_FALSE(verdict_of(source, lowered(parsed("1/(y*y*y*y*y*y) / z", Type::f64, yz))).same());
}

// Where x / y is about 1625.5 rounding decides whether the power overflows, and 0 times infinity is NaN; the result
// overflows anyway.
TEST(Checker, AValueThatMayOverflowOnTheWayExcusesNan) {
  const std::vector<Variable> variables = {{"x", Type::f32, expr::VariableKind::array, 1000, 20'000},
                                           {"y", Type::f32, expr::VariableKind::array, 1, 20}};
  const expr::Expr source = parsed("0 * (x / y)^12 - 1e37 * x", Type::f32, variables);
  EXPECT_TRUE(verdict_of(source, lowered(source)).same());
  const expr::Expr other = parsed("0 / 0 - 1e37 * x", Type::f32, variables);
  EXPECT_FALSE(verdict_of(parsed("0 - 1e37 * x", Type::f32, variables), lowered(other)).same());
}

// a^b is 1 or the next number above, as rounding decides, and so the base of the outer power is 0 or below 0.
TEST(Checker, APowerOfABaseThatMayBeBelowZeroMayBeNan) {
  const std::vector<Variable> variables = {{"a", Type::f64, expr::VariableKind::array, 0.8, 0.85},
                                           {"b", Type::f64, expr::VariableKind::array, -7e-16, -5e-16},
                                           {"c", Type::f64, expr::VariableKind::array, 7.1, 7.4}};
  const expr::Expr source = parsed("1 - pow(1 - pow(a, b), c)", Type::f64, variables);
  EXPECT_TRUE(verdict_of(source, lowered(source)).same());
  // Where the base is far from 0 a power is NaN or is not.
  const std::vector<Variable> below = {{"a", Type::f64, expr::VariableKind::array, -3, -2},
                                       {"c", Type::f64, expr::VariableKind::array, 7.1, 7.4}};
  const expr::Expr nan = parsed("pow(a, c)", Type::f64, below), number = parsed("pow(-a, c)", Type::f64, below);
  EXPECT_FALSE(verdict_of(nan, lowered(number)).same());
}

// Aitken's step from three logarithms that hardly differ: rounding decides whether it divides 0 by 0.
TEST(Checker, RoundingMayDecideWhetherAQuotientIsOfZeros) {
  const std::vector<Variable> variables = {{"x", Type::f32, expr::VariableKind::array, 1e5, 1e6},
                                           {"y", Type::f32, expr::VariableKind::array, 1, 2}};
  const expr::Expr source =
      parsed("a = log10(x); b = log10(x + y/8); c = log10(x + y/9); 1/(a - (b - a)*(b - a)/(c - 2*b + a))", Type::f32,
             variables);
  EXPECT_TRUE(verdict_of(source, lowered(source)).same());
  const expr::Expr nan = parsed("(x - x)/(y - y)", Type::f32, variables), number = parsed("x/y", Type::f32, variables);
  EXPECT_FALSE(verdict_of(number, lowered(nan)).same());
}

// The price of a bond where interest hardly returns to its mean: rounding decides whether the exponent is -1e9 or 1e9.
TEST(Checker, RoundingMayDecideWhetherAnExponentialOverflows) {
  const std::vector<Variable> variables = {{"k", Type::f32, expr::VariableKind::array, -1e-6, -1e-8},
                                           {"t", Type::f32, expr::VariableKind::array, 1, 9}};
  const expr::Expr source = parsed("B = (1 - exp(-k*t))/k; exp((1 - 0.0001/(k*k))*(B - t))", Type::f32, variables);
  EXPECT_TRUE(verdict_of(source, lowered(source)).same());
  const expr::Expr vast = parsed("exp(1000 + t)", Type::f32, variables),
                   small = parsed("exp(t - 1000)", Type::f32, variables);
  EXPECT_FALSE(verdict_of(small, lowered(vast)).same());
}

// An extreme shows an element's effect only where it is alone, or where all are alike. The candidate's errors reach 22
// ulp over a million points of the range, the strict evaluation's 13. Among vast and tiny values only a few points show
// any.
TEST(Checker, FewPointsOfAFarSetAreNoMeasureOfTheirMaxima) {
  const std::vector<Variable> variables = {{"x", Type::f64, expr::VariableKind::array, -10, 1},
                                           {"y", Type::f64, expr::VariableKind::array}};
  const auto source = parsed("cosh(hypot((x - 0.1) - (x - 0.1), exp2(exp(x - 0.1)))) + y * 0", Type::f64, variables);
  const auto candidate = lowered(parsed("cosh(exp2(exp(x) * 0.9048374180359595)) + y * 0", Type::f64, variables));
  for (const std::uint64_t seed : {3, 6, 7, 12}) {  // these draw strict evaluations that are lucky
    auto checker = Checker::make(source, {}, {.samples = {.points = 16'384, .seed = seed}});
    ASSERT_TRUE(checker.ok());
    const auto prepared = (*checker)->check_meaning(candidate, Demand::policy);
    ASSERT_TRUE(prepared.ok());
    EXPECT_TRUE(prepared->meaning.same()) << "seed " << seed << ": " << print(prepared->meaning);
  }
}

TEST(Checker, ReductionsAreTriedOnSingleElements) {
  const std::vector<Variable> x = {{"x", Type::f64}};
  EXPECT_FALSE(
      verdict_of(parsed("max(x - x)", Type::f64, x), lowered(parsed("max(0 * tanh(x))", Type::f64, x))).same());
}

// Totals of integers have no scale on which errors count. Where a cast is on the edge of a step, there is something to
// settle all the same.
TEST(Checker, TotalsOfIntegersMayBeUndecided) {
  const std::vector<Variable> x = {{"x", Type::f32}};
  const auto source = parsed("sum(i64(exp2(erfc(abs(x))) / abs(x))) >> 1", Type::f32, x);
  EXPECT_TRUE(verdict_of(source, lowered(source)).same());
  EXPECT_FALSE(verdict_of(source, lowered(parsed("sum(i64(exp2(erfc(abs(x))) / abs(x))) >> 2", Type::f32, x))).same());
}

// tan(inf) is a NaN, whose sign is unspecified; under fast it is not compared.
TEST(Checker, UnderFastHostsNeedNotAgreeOnWhatInfinitiesGive) {
  const std::vector<Variable> x = {{"x", Type::f32}};
  const auto source = parsed("2 * x, sum(x)", Type::f32, x);
  // Runs the interpreter, but flips the sign of results that are not finite; `finite_too`: of one finite one as well.
  const auto verdict = [&](expr::PolicyKind policy, bool finite_too) {
    const auto kernel = lowered(source);
    const auto checker = Checker::make(source, {policy, 2}, {.samples = {.points = 512}});
    auto prepared = (*checker)->check_meaning(kernel, Demand::policy);
    const Execute execute = one_by_one([&](const CodeRun& run) -> Result<Executed> {
      Executed done{"", interpret_calls(source, kernel, run.samples, run.calls)};
      for (auto& call : done.outputs)
        for (auto& output : call)
          for (std::size_t at = 0; at + sizeof(float) <= output.size(); at += sizeof(float)) {
            float y = 0;
            std::memcpy(&y, &output[at], sizeof y);
            if (std::isinf(y) || (finite_too && y == 2.0f)) y = -y;
            std::memcpy(&output[at], &y, sizeof y);
          }
      return done;
    });
    return (*checker)->check_code(*prepared, execute, Effort::full)->same();
  };
  EXPECT_FALSE(verdict(expr::PolicyKind::exact, false));
  EXPECT_FALSE(verdict(expr::PolicyKind::bounded, false));
  EXPECT_FALSE(verdict(expr::PolicyKind::fast, true));
}

TEST(Checker, RareBranchesAreEntered) {
  const std::vector<Variable> variables = {{"z", Type::f64}, {"w", Type::f64}, {"x", Type::f64}, {"y", Type::f64}};
  const auto verdict = [&](const std::string& condition, const char* branch, const char* other) {
    const auto text = [&](const char* b) { return condition + " ? " + b + " : exp(x)*y"; };
    return verdict_of(parsed(text(branch).c_str(), Type::f64, variables),
                      lowered(parsed(text(other).c_str(), Type::f64, variables)));
  };
  for (const char* condition :
       {"z == 7", "z == 7 && w == 3", "abs(z*w - 3) < 0.0001", "z == 7 && !(w < 3) && w <= 3"}) {
    EXPECT_TRUE(verdict(condition, "tanh(x)/x", "tanh(x)/x").same()) << condition;
    EXPECT_FALSE(verdict(condition, "tanh(x)/x", "(1 - exp(-2*x))/(1 + exp(-2*x))/x").same()) << condition;
    EXPECT_FALSE(verdict(condition, "hypot(x, y)", "sqrt(x*x + y*y)").same()) << condition;
    EXPECT_FALSE(verdict(condition, "(x + y) - y", "x").same()) << condition;
  }
  const auto unexplored = [&](const char* text, std::vector<Variable> v) {
    return (*Checker::make(parsed(text, Type::f64, std::move(v)), {}, {.samples = {.points = 1024}}))->unexplored();
  };
  // Behind another condition, between two, with the other branch's values far greater, beside another rare one.
  const auto same = [&](const char* source, const char* candidate) {
    return verdict_of(parsed(source, Type::f64, variables), lowered(parsed(candidate, Type::f64, variables))).same();
  };
  EXPECT_FALSE(same("z == 7 ? (w == 3 ? hypot(x, y) : 0) : x", "z == 7 ? (w == 3 ? sqrt(x*x + y*y) : 0) : x"));
  EXPECT_FALSE(
      same("z*w < 20 ? x : z*w < 20.0001 ? hypot(x, y) : y", "z*w < 20 ? x : z*w < 20.0001 ? sqrt(x*x + y*y) : y"));
  EXPECT_FALSE(same("z > 10 ? expm1(x)/x : exp(x)", "z > 10 ? (exp(x) - 1)/x : exp(x)"));
  EXPECT_FALSE(same("z < -10 ? exp(-z)*log1p(exp(z)) : exp(z)", "z < -10 ? exp(-z)*log(1 + exp(z)) : exp(z)"));
  EXPECT_FALSE(same("min(z == 7 ? hypot(x, y) : 0, w == 3 ? 1e300 : 0)",
                    "min(z == 7 ? sqrt(x*x + y*y) : 0, w == 3 ? 1e300 : 0)"));
  EXPECT_FALSE(unexplored("z == 7 && w == 3 ? x : y", variables));
  std::string many = "y";
  for (int i = 0; i < 150; ++i) many = "(z > " + std::to_string(i) + " ? x : " + many + ")";
  EXPECT_TRUE(unexplored(many.c_str(), variables)) << "too many to look for";
  EXPECT_TRUE(unexplored("max(z) == 7 ? sum(x) : 1", variables)) << "no element decides";
  EXPECT_TRUE(unexplored("z*z*z + w*w == 7.123 ? x : y", variables));
  EXPECT_FALSE(unexplored("x < 0 ? y : x", {{"x", Type::f64, expr::VariableKind::array, 1, 2}, {"y", Type::f64}}))
      << "the range excludes it";
}

TEST(Checker, FastLeavesNonFiniteInputsOut) {
  const std::vector<Variable> anything = {{"x", Type::f64, expr::VariableKind::array}};
  const auto source = parsed("x - x", Type::f64, anything);
  EXPECT_FALSE(verdict_of(source, lowered(parsed("x * 0", Type::f64, anything)), {expr::PolicyKind::exact, 0}).same());
  EXPECT_TRUE(verdict_of(source, lowered(parsed("x * 0", Type::f64, anything)), {expr::PolicyKind::fast, 0}).same());
}

// Nearly everywhere these are 0 or vanish; a peak that few points of a million meet is all they have.
TEST(Checker, PeaksAreFound) {
  struct Case {
    const char* source;
    const char* careless;
    double hi;
  };
  for (const Case& c : {Case{"exp(20000*x - x*x - 1e8)", "x*0", 1e7},
                        {"exp(20000*x - x*x - 1e8)", "exp(20000*x) * exp(-x*x - 1e8)", 1e6},
                        {"exp(x*(1000 - x)*1000 - 250000000)", "0*x", 2e5},
                        {"1 - tanh((x - 5000)*(x - 5000))", "0*x", 1e7},
                        {"1e-3 + erfc(abs(x - 777)*100)", "0*x + 1e-3", 1e7}}) {
    const std::vector<Variable> inputs = {{"x", Type::f64, expr::VariableKind::array, 0, c.hi}};
    const auto source = parsed(c.source, Type::f64, inputs);
    EXPECT_FALSE(verdict_of(source, lowered(parsed(c.careless, Type::f64, inputs))).same()) << c.source;
    EXPECT_TRUE(verdict_of(source, lowered(source)).same()) << c.source;
  }
}

// The bound of this 1 is a unit, twice half an ulp, and two ulp.
TEST(Checker, NearToTheLimitIsTooNearForAMillionPoints) {
  const std::vector<Variable> inputs = {{"x", Type::f32, expr::VariableKind::array, 1e-4, 1}};
  const auto source = parsed("x*0 + 1", Type::f32, inputs);
  const auto checker = Checker::make(source, {}, {.samples = {.points = suggested_points(source), .seed = 1}});
  ASSERT_TRUE(checker.ok());
  const auto holds = [&](const char* text, Demand demand) {
    const auto prepared = (*checker)->check_meaning(lowered(parsed(text, Type::f32, inputs)), demand);
    CHECK(prepared.ok());
    return prepared->meaning.same();
  };
  const char *near = "x*0 + 1.00000036", *two = "x*0 + 1.00000024";  // three ulp more, two ulp
  EXPECT_TRUE(holds(near, Demand::policy));
  EXPECT_FALSE(holds(near, Demand::any_set));
  EXPECT_TRUE(holds(two, Demand::any_set));
  EXPECT_FALSE(holds("x*0 + 1.0000005", Demand::policy));
}

// Under fast a kernel may assume finite inputs where an integer depends on them too, and nowhere else.
// The tasks of a check may be done in any order, and at once.
TEST(Checker, TasksDoneAtOnceGiveTheSameVerdict) {
  const auto backwards = [](std::span<const std::function<void()>> tasks) {
    std::vector<std::thread> threads;
    for (std::size_t i = tasks.size(); i-- > 0;) threads.emplace_back(tasks[i]);
    for (std::thread& thread : threads) thread.join();
  };
  const auto source = parsed("exp(x) - y * x", Type::f32, two(Type::f32, -2, 2));
  for (const char* text : {"fma(-y, x, exp(x))", "exp(x) - x * y + x * 2e-6", "exp(x) - x * y + 1e-7"}) {
    const auto judged = [&](const CheckOptions& options) {
      auto checker = Checker::make(source, {}, options);
      CHECK(checker.ok());
      auto prepared =
          (*checker)->check_meaning(lowered(parsed(text, Type::f32, two(Type::f32, -2, 2))), Demand::any_set);
      CHECK(prepared.ok());
      return prepared->meaning;
    };
    CheckOptions options{.samples = {.points = 4096, .seed = 5}};
    const Verdict one_by_one = judged(options);
    options.together = backwards;
    const Verdict at_once = judged(options);
    EXPECT_EQ(print(at_once), print(one_by_one)) << text;
    EXPECT_EQ(at_once.bound_share, one_by_one.bound_share) << text;
    EXPECT_EQ(at_once.risk, one_by_one.risk) << text;
  }
}

TEST(Checker, FastIsAboutFiniteInputsOfIntegersToo) {
  const std::vector<Variable> inputs = {{"x", Type::f32}, {"i", Type::i32, expr::VariableKind::array, -10, -2}};
  const auto source = parsed("select(x > log(x), 2, i)", Type::f32, inputs);
  const auto finite = lowered(parsed("select(x >= 0 && x - x == 0, 2, i)", Type::f32, inputs));
  const auto takes_infinity = lowered(parsed("select(x >= 0, 2, i)", Type::f32, inputs));
  const auto wrong = lowered(parsed("select(x > 1e-3, 2, i)", Type::f32, inputs));
  for (const auto kind : {expr::PolicyKind::bounded, expr::PolicyKind::fast}) {
    const expr::Policy policy{kind, 2};
    EXPECT_TRUE(verdict_of(source, lowered(source), policy).same());
    EXPECT_TRUE(verdict_of(source, finite, policy).same());
    EXPECT_EQ(verdict_of(source, takes_infinity, policy).same(), kind == expr::PolicyKind::fast);
    EXPECT_FALSE(verdict_of(source, wrong, policy).same());
  }
}

TEST(Checker, ExactMeansBits) {
  const auto source = parsed("x * y + x", Type::f64, two(Type::f64, 0.5, 4));
  const expr::Policy exact{expr::PolicyKind::exact, 0};
  EXPECT_TRUE(verdict_of(source, lowered(source), exact).same());
  const Verdict v = verdict_of(source, lowered(parsed("x * (y + 1)", Type::f64, two(Type::f64, 0.5, 4))), exact);
  ASSERT_FALSE(v.same());
  EXPECT_NE(print(v).find("bits differ"), std::string::npos) << print(v);
}

TEST(Checker, IntegersAreExactAndSmallRangesExhaustive) {
  const std::vector<Variable> small = {{"x", Type::i32, expr::VariableKind::array, 0, 99},
                                       {"y", Type::i32, expr::VariableKind::array, 0, 39}};
  const auto source = parsed("(x * y) & 255", Type::f64, small);
  const Verdict right = verdict_of(source, lowered(parsed("(y * x) & 255", Type::f64, small)));
  EXPECT_EQ(right.kind, Verdict::Kind::exhaustive);
  EXPECT_EQ(right.points, 4000u);
  // Wrong at one point of 4,000.
  const Verdict wrong =
      verdict_of(source, lowered(parsed("(x * y) & 255 | (x == 77 && y == 23 ? 256 : 0)", Type::f64, small)));
  ASSERT_FALSE(wrong.same());
  EXPECT_EQ(wrong.counterexample->inputs[0].second, "77");
  EXPECT_EQ(wrong.counterexample->inputs[1].second, "23");
}

TEST(Checker, ParametersAndReductions) {
  const std::vector<Variable> variables = {{"x", Type::f64, expr::VariableKind::array, -1, 1},
                                           {"p", Type::f64, expr::VariableKind::scalar, -2, 2}};
  const auto source = parsed("(sum(x * p), x + p, maxof(x))", Type::f64, variables);
  EXPECT_TRUE(verdict_of(source, lowered(parsed("(p * sum(x), x + p, maxof(x))", Type::f64, variables))).same());
  EXPECT_FALSE(verdict_of(source, lowered(parsed("(sum(x), x + p, maxof(x))", Type::f64, variables))).same());
  EXPECT_FALSE(verdict_of(source, lowered(parsed("(sum(x * p), x + p, minof(x))", Type::f64, variables))).same());
  EXPECT_FALSE(verdict_of(source, lowered(parsed("(sum(x * p), x - p, maxof(x))", Type::f64, variables))).same());
}

TEST(Checker, CodeIsComparedBitForBitAndFailuresAreNamed) {
  const auto source = parsed("x * y + x", Type::f32, two(Type::f32, 0.5, 4));
  const kir::Kernel kernel = lowered(source);
  auto checker = Checker::make(source, {}, {.samples = {.points = 2048, .seed = 1}});
  ASSERT_TRUE(checker.ok());
  auto prepared = (*checker)->check_meaning(kernel, Demand::policy);
  ASSERT_TRUE(prepared.ok());
  ASSERT_TRUE(prepared->meaning.same()) << print(prepared->meaning);
  auto right = (*checker)->check_code(*prepared, interpreting(source, kernel), Effort::full);
  ASSERT_TRUE(right.ok());
  EXPECT_TRUE(right->same()) << print(*right);

  // The value with another rounding: the policy allows it, but the kernel gives other bits.
  const kir::Kernel other = lowered(parsed("x * (y + 1)", Type::f32, two(Type::f32, 0.5, 4)));
  auto rounded = (*checker)->check_code(*prepared, interpreting(source, other), Effort::brief);
  ASSERT_TRUE(rounded.ok());
  EXPECT_FALSE(rounded->same());

  // Wrong only in a tail of 13 elements.
  const Execute tail_fault = one_by_one([&](const CodeRun& run) -> Result<Executed> {
    Executed done{"", interpret_calls(source, kernel, run.samples, run.calls)};
    for (std::size_t c = 0; c < run.calls.size(); ++c)
      if (run.calls[c].n == 13 && run.calls[c].in_place) done.outputs[c][0][12 * 4] ^= std::byte{1};
    return done;
  });
  auto faulty = (*checker)->check_code(*prepared, tail_fault, Effort::brief);
  ASSERT_TRUE(faulty.ok());
  ASSERT_FALSE(faulty->same());
  EXPECT_EQ(faulty->counterexample->elements, 13u);
  EXPECT_EQ(faulty->counterexample->element, 12u);

  const Execute crash = one_by_one([](const CodeRun&) -> Result<Executed> { return Executed{"crashed (SIGILL)", {}}; });
  auto crashed = (*checker)->check_code(*prepared, crash, Effort::brief);
  ASSERT_TRUE(crashed.ok());
  EXPECT_NE(print(*crashed).find("crashed (SIGILL)"), std::string::npos);
}

TEST(Checker, CancelEndsIt) {
  const auto source = parsed("x * y", Type::f32, two(Type::f32, 0.5, 4));
  auto checker = Checker::make(source, {}, {.samples = {}, .cancelled = [] { return true; }});
  ASSERT_FALSE(checker.ok());
  EXPECT_EQ(checker.error().code, ErrorCode::kCancelled);
}

// --- sample sets -----------------------------------------------------------------------------------------------------

TEST(Samples, StayInTheirRangesAndHitTheEnds) {
  const auto e = parsed("x * y + p", Type::f32,
                        {{"x", Type::f32, expr::VariableKind::array, 0.1, 0.7},
                         {"y", Type::f32, expr::VariableKind::array, -3, 1e20},
                         {"p", Type::f32, expr::VariableKind::scalar, 1, 2}});
  const auto sets = make_samples(e, {.points = 4096, .seed = 3});
  ASSERT_EQ(sets.size(), 7u);  // y comes near to zero: small, alike small and tiny
  for (const Samples& s : sets) {
    std::uint64_t covered = 0;
    for (const Call& call : s.calls) {
      EXPECT_EQ(call.first, covered);
      covered += call.n;
    }
    EXPECT_EQ(covered, s.n);
    for (std::size_t v = 0; v < 3; ++v) {
      double least = INFINITY;
      double most = -INFINITY;
      for (std::uint64_t i = 0; i < s.n; ++i) {
        float f = 0;
        std::memcpy(&f, s.columns[v].data() + i * 4, 4);
        ASSERT_GE(static_cast<double>(f), e.variables[v].lo) << s.name;
        ASSERT_LE(static_cast<double>(f), e.variables[v].hi) << s.name;
        least = std::min(least, static_cast<double>(f));
        most = std::max(most, static_cast<double>(f));
      }
      if (s.name != "corners") continue;
      EXPECT_LT(least - e.variables[v].lo, 1e-6);
      EXPECT_GT(most / e.variables[v].hi, 1 - 1e-6);
    }
  }
}

TEST(Samples, CornersLieOnBothSidesOfAStep) {
  const auto e = parsed("x + y < 1.5 ? x : y", Type::f64, two(Type::f64, 0, 1));
  const auto sets = make_samples(e, {.points = 1024, .seed = 3});
  const Samples& s = sets.back();
  int just_below = 0;
  int just_above = 0;
  for (std::uint64_t i = 0; i < s.n; ++i) {
    double x = 0;
    double y = 0;
    std::memcpy(&x, s.columns[0].data() + i * 8, 8);
    std::memcpy(&y, s.columns[1].data() + i * 8, 8);
    just_below += x + y < 1.5 && x + y > 1.5 - 1e-15 ? 1 : 0;
    just_above += x + y >= 1.5 && x + y < 1.5 + 1e-15 ? 1 : 0;
  }
  EXPECT_GE(just_below, 1);
  EXPECT_GE(just_above, 1);
}

TEST(Samples, CornersHoldEveryCombinationOfEnds) {
  // More corners per variable than could be combined; the float nearest to 0.7 lies below it, outside the range.
  std::vector<Variable> ranged;
  std::string sum = "0";
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    ranged.push_back({name, Type::f32, expr::VariableKind::array, 0.7, 3});
    sum += std::string(" + ") + name;
  }
  const auto count = [](const expr::Expr& e, const std::vector<float>& wanted) {
    const Samples s = make_samples(e, {.points = 1024, .seed = 3}).back();
    std::set<std::vector<std::uint32_t>> found;
    for (std::uint64_t i = 0; i < s.n; ++i) {
      std::vector<std::uint32_t> point;
      for (const auto& column : s.columns) {
        float x = 0;
        std::memcpy(&x, column.data() + i * 4, 4);
        for (const float w : wanted)
          if (std::bit_cast<std::uint32_t>(w) == std::bit_cast<std::uint32_t>(x) || (std::isnan(w) && std::isnan(x)))
            point.push_back(std::bit_cast<std::uint32_t>(w));
      }
      if (point.size() == s.columns.size()) found.insert(point);
    }
    return found.size();
  };
  EXPECT_EQ(count(parsed(sum, Type::f32, ranged), {std::nextafter(0.7F, 1.0F), 3}), 64u);
  const std::vector<Variable> free = {{"a", Type::f32, expr::VariableKind::array},
                                      {"b", Type::f32, expr::VariableKind::array},
                                      {"c", Type::f32, expr::VariableKind::array}};
  EXPECT_EQ(count(parsed("a + b + c", Type::f32, free), {0.0F, -0.0F, INFINITY, -INFINITY, NAN}), 125u);
}

TEST(Samples, SameSeedSamePoints) {
  const auto e = parsed("x * y", Type::f64, two(Type::f64, 0, 1));
  const auto a = make_samples(e, {.points = 1024, .seed = 3});
  const auto b = make_samples(e, {.points = 1024, .seed = 3});
  const auto c = make_samples(e, {.points = 1024, .seed = 4});
  EXPECT_EQ(a[0].columns, b[0].columns);
  EXPECT_NE(a[0].columns, c[0].columns);
}

}  // namespace
}  // namespace trident::equiv
