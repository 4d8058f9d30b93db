// Oracles: MPFR at many points, whose errors no bound may be below; and bounds known by hand.
#include "jit/equiv/proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "jit/expr/builder.h"
#include "jit/expr/simplify.h"
#include "jit/kir/interpreter.h"
#include "tests/support/mpfr_evaluator.h"

namespace trident::equiv {
namespace {

using expr::Type;

struct Case {
  const char* text;
  double lo, hi;    ///< of x
  double lo2, hi2;  ///< of y
};
const Case kCases[] = {
    {"x*y + x", 1, 2, 1, 2},
    {"(x + y)/(x*y)", 1, 10, 1, 10},
    {"sqrt(x*x + y*y)", 0.1, 3, 0.1, 3},
    {"x*x*x - y*y", -2, 2, -2, 2},
    {"exp(-x*x/2)*y", -3, 3, 1, 2},
    {"sin(x)*cos(y)", -3, 3, -3, 3},
    {"log(1 + x)/(1 + y)", 0, 5, 0, 5},
    {"tanh(x*y)", -1, 1, -1, 1},
    {"max(x, y) - min(x, y)*0.5 + abs(x)", -2, 2, -2, 2},
    {"x^7 + y^-3", 0.5, 2, 0.5, 2},
    {"select(x < y, x*x, y*y + 1/x)", 1, 2, 1, 2},
    {"1/(1 + exp(-x)) + y/3", -4, 4, 0, 1},
    {"f32(x)*f32(y) + 1", 1, 2, 1, 2},
};

expr::Expr parsed(const Case& c, Type type) {
  auto e = expr::parse_infix(c.text, {.type = type,
                                      .variables = {{"x", type, expr::VariableKind::array, c.lo, c.hi},
                                                    {"y", type, expr::VariableKind::array, c.lo2, c.hi2}}});
  EXPECT_TRUE(e.ok()) << c.text;
  return std::move(e).value();
}

const expr::LowerOptions kAsItStands = [] {
  expr::LowerOptions how;
  how.simplify = false;
  return how;
}();

ErrorProofOptions few_boxes(std::size_t count) {
  ErrorProofOptions options;
  options.boxes_max = count;
  return options;
}

// The greatest error at drawn points: absolute, and in ulp of the value or of a millionth of the greatest.
struct Sampled {
  double absolute = 0, ulp = 0;
};

Sampled sampled(const expr::Expr& source, const expr::Expr& form, const expr::LowerOptions& how) {
  const auto kernel = expr::lower(form, how);
  EXPECT_TRUE(kernel.ok());
  const Type in_type = source.variables[0].type, out_type = form.at(form.outputs[0].node).type;
  std::mt19937_64 random(5);
  std::vector<long double> correct;
  std::vector<double> errors;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> at;
    for (const expr::Variable& v : source.variables) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      const double drawn = random() % 16 == 0 ? (random() % 2 == 0 ? v.lo : v.hi) : v.lo + unit * (v.hi - v.lo);
      at.push_back(expr::value_of(in_type, expr::bits_of(in_type, drawn)));
    }
    std::uint64_t bits[2] = {expr::bits_of(in_type, at[0]), expr::bits_of(in_type, at[1])}, result = 0;
    const void* in[] = {&bits[0], &bits[1]};
    void* out[] = {&result};
    kir::interpret(*kernel, 1, in, out, nullptr);
    const long double real = testing::evaluate_real(source, at, 200, testing::Casts::rounding)[0];
    correct.push_back(real);
    errors.push_back(static_cast<double>(std::fabs(static_cast<long double>(expr::value_of(out_type, result)) - real)));
  }
  long double greatest = 0;
  for (const long double c : correct) greatest = std::max(greatest, std::fabs(c));
  Sampled s;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const long double size = std::max(std::fabs(correct[i]), 1e-6L * greatest);
    const double ulp = std::ldexp(1.0, std::ilogb(static_cast<double>(size)) - (out_type == Type::f32 ? 23 : 52));
    s.absolute = std::max(s.absolute, errors[i]);
    s.ulp = std::max(s.ulp, errors[i] / ulp);
  }
  return s;
}

TEST(Proof, NoPointBreaksTheBoundAndItIsNear) {
  std::vector<double> slack;
  for (const Type type : {Type::f32, Type::f64}) {
    for (const Case& c : kCases) {
      const expr::Expr source = parsed(c, type);
      for (const bool simplified : {false, true}) {
        expr::LowerOptions how;
        how.simplify = simplified, how.accuracy = kir::math::Accuracy::ulp4;
        const expr::Expr form = simplified ? expr::simplify(source, how) : source;
        how.simplify = false;
        const auto bounds = prove_error(source, form, how, few_boxes(512));
        ASSERT_TRUE(bounds.ok()) << c.text;
        ASSERT_EQ(bounds->size(), 1u);
        const ErrorBound& bound = bounds->front();
        if (simplified && bound.why.find("a constant that the source does not have") != std::string::npos) continue;
        ASSERT_TRUE(bound.proven) << c.text << ": " << bound.why;
        const Sampled met = sampled(source, form, how);
        EXPECT_LE(met.absolute, bound.absolute) << c.text << " " << print(bound);
        EXPECT_LE(met.ulp, bound.ulp) << c.text << " " << print(bound);
        slack.push_back(bound.ulp / std::max(met.ulp, 0.25));
      }
    }
  }
  std::nth_element(slack.begin(), slack.begin() + static_cast<long>(slack.size() / 2), slack.end());
  EXPECT_LE(slack[slack.size() / 2], 6);
}

// Half an ulp of 2 for a sum in [2, 4): no more, no less.
TEST(Proof, OneRoundingIsHalfAnUlp) {
  const Case sum{"x + y", 1.1, 1.9, 1.1, 1.9};
  const expr::Expr source = parsed(sum, Type::f32);
  const auto bounds = prove_error(source, source, kAsItStands, {});
  ASSERT_TRUE(bounds.ok());
  EXPECT_NEAR(bounds->front().absolute, 0x1p-23, 0x1p-50);
  EXPECT_NEAR(bounds->front().ulp, 0.5, 1e-6);
}

// A cast to f32 is an intended rounding, and counts only for operands that may lie on either side of its steps.
TEST(Proof, CastsRoundByTheirMeaning) {
  const auto proven = [](const char* source_text, const char* form_text) {
    const Case source_case{source_text, 1.1, 1.9, 1.1, 1.9}, form_case{form_text, 1.1, 1.9, 1.1, 1.9};
    const expr::Expr source = parsed(source_case, Type::f64), form = parsed(form_case, Type::f64);
    const auto bounds = prove_error(source, form, kAsItStands, few_boxes(256));
    EXPECT_TRUE(bounds.ok());
    const Sampled met = sampled(source, form, kAsItStands);
    EXPECT_TRUE(!bounds->front().proven || met.absolute <= bounds->front().absolute) << source_text << " " << form_text;
    return bounds->front();
  };
  EXPECT_LE(proven("x - f64(f32(x))", "x - f64(f32(x))").absolute, 0x1p-60);
  EXPECT_LE(proven("y + f64(f32(x))", "f64(f32(x)) + y").ulp, 0.5 + 1e-6);
  const ErrorBound either = proven("f64(f32(x*y)) - x", "f64(f32(x*y)) - x");
  EXPECT_TRUE(either.proven) << either.why;
  EXPECT_LE(either.absolute, 0x1.1p-22);
  const ErrorBound output = proven("f32(x*y + x)", "f32(x + y*x)");
  EXPECT_TRUE(output.proven) << output.why;
  for (const auto& [source, form] :
       {std::pair("x - f64(f32(x))", "x - x"), std::pair("f32(x*y)*f32(y)", "f32(x)*f32(y)*f32(y)"),
        std::pair("f32(x + y)", "f32(x) + f32(y)"), std::pair("x*y", "f64(f32(x*y))")})
    EXPECT_FALSE(proven(source, form).proven) << source << " " << form;
}

// Roundings and cancellations in folded constants are invisible in the form.
TEST(Proof, FoldedConstantsProveNothing) {
  const Case third{"x/3", 1, 1.5, 0, 1}, product{"x*0.33333334", 1, 1.5, 0, 1};
  const Case sum{"x*1e8 + x*1.5 - x*1e8", 1, 2, 0, 1}, zero{"x*0", 1, 2, 0, 1};
  const Case twice{"x*1.5 + x*1.5", 1, 2, 0, 1}, three{"x*3", 1, 2, 0, 1};
  const auto proven = [](const Case& source, const Case& form) {
    const auto bounds = prove_error(parsed(source, Type::f32), parsed(form, Type::f32), kAsItStands, {});
    EXPECT_TRUE(bounds.ok());
    return bounds->front().proven;
  };
  EXPECT_FALSE(proven(third, product));
  EXPECT_FALSE(proven(sum, zero));
  EXPECT_TRUE(proven(twice, three));
  // 0 and 1 are short, and so are exp(-1000) and tanh(50) in double.
  const Case vanishes{"exp(x - 1000) + x", 1, 2, 0, 1}, rest{"0 + x", 1, 2, 0, 1};
  EXPECT_FALSE(proven(vanishes, rest));
}

TEST(Proof, SaysWhyThereIsNone) {
  struct Refused {
    Case c;
    const char* why;
  };
  for (const Refused& r :
       {Refused{{"floor(x*y)", 1, 2, 1, 2}, "'floor' has no bounded derivative"},
        // x*y - 2.25 computed may have the other sign than the real one: that is 2 pi, beside the cut.
        Refused{{"10 + atan2(x*y - 2.25, -1 - x)", 1, 2, 1, 2}, "'atan2' has no bounded derivative"},
        Refused{{"select(x*x < y, x, y)", 1, 2, 1, 2}, "a comparison of computed values"},
        Refused{{"1/(x - y)", 1, 2, 1, 2}, "near a pole"},
        Refused{{"sin(x*y)", -1e15, 1e15, 1, 2}, "how great the values are is not known"},
        Refused{{"sum(x*y)", 1, 2, 1, 2}, "'sum' has no bounded derivative"}}) {
    const expr::Expr source = parsed(r.c, Type::f64);
    const auto bounds = prove_error(source, source, kAsItStands, few_boxes(64));
    ASSERT_TRUE(bounds.ok()) << r.c.text;
    EXPECT_FALSE(bounds->front().proven);
    EXPECT_NE(print(bounds->front()).find(r.why), std::string::npos) << print(bounds->front());
  }
  const Case overflows{"x*x*1e-30", 1e15, 1e22, 0, 1};
  const expr::Expr single = parsed(overflows, Type::f32);
  EXPECT_FALSE(prove_error(single, single, kAsItStands, {})->front().proven);
  const auto open = expr::parse_infix("x*x", {});
  const auto bounds = prove_error(*open, *open, kAsItStands, {});
  EXPECT_NE(bounds->front().why.find("'x' has no declared range"), std::string::npos);
}

}  // namespace
}  // namespace trident::equiv
