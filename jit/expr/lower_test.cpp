// Lowering leaves out work that cannot matter, as ranges show. Oracle: C's fmin and fmax, which give the number when
// one operand is NaN; and C's arithmetic for operations that change nothing. tests/differential tests everything else
// that lowers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/expr/expr.h"
#include "jit/expr/simplify.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/reduction.h"

namespace trident::expr {
namespace {

double value(const std::string& text, double x, double y, const LowerOptions& options) {
  const auto e = parse_infix(text);
  EXPECT_TRUE(e.ok()) << text;
  const auto kernel = lower(*e, options);
  EXPECT_TRUE(kernel.ok()) << text;
  std::vector<const void*> in;
  for (const Variable& v : e->variables) in.push_back(v.name == "x" ? &x : &y);
  double out = 0;
  void* outs[] = {&out};
  kir::interpret(*kernel, 1, in.data(), outs, nullptr);
  return out;
}

TEST(Lower, MinAndMaxOfANumberAndANanAreTheNumberOnEitherSide) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  LowerOptions options[3];
  options[1].policy.kind = PolicyKind::exact;
  options[2].simplify = false;
  for (const LowerOptions& o : options) {
    for (const double x : {nan, -inf, -2.0, 1.0, 3.0, inf}) {
      for (const double y : {1.0, 2.5, nan, inf}) {
        EXPECT_TRUE(std::isnan(x) && std::isnan(y) ? std::isnan(value("min(x, y)", x, y, o))
                                                   : std::fmin(x, y) == value("min(x, y)", x, y, o))
            << x << " " << y;
        EXPECT_TRUE(std::isnan(x) && std::isnan(y) ? std::isnan(value("max(x, y)", x, y, o))
                                                   : std::fmax(x, y) == value("max(x, y)", x, y, o))
            << x << " " << y;
        // One side is known to be a number: a constant, or by its range.
        EXPECT_EQ(std::fmin(x, 2), value("min(x, 2)", x, y, o)) << x;
        EXPECT_EQ(std::fmin(2, x), value("min(2, x)", x, y, o)) << x;
        EXPECT_EQ(std::fmax(x, 2), value("max(x, 2)", x, y, o)) << x;
        EXPECT_EQ(std::fmax(2, x), value("max(2, x)", x, y, o)) << x;
        if (!(y >= 0 && y <= 4)) continue;
        EXPECT_EQ(std::fmin(x, y), value("y in [0, 4]; min(x, y)", x, y, o)) << x << " " << y;
        EXPECT_EQ(std::fmin(y, x), value("y in [0, 4]; min(y, x)", x, y, o)) << x << " " << y;
        EXPECT_EQ(std::fmax(x, y), value("y in [0, 4]; max(x, y)", x, y, o)) << x << " " << y;
        EXPECT_EQ(std::fmax(y, x), value("y in [0, 4]; max(y, x)", x, y, o)) << x << " " << y;
      }
    }
  }
}

struct Network {
  const char* text;
  double (*correct)(const double* x);
};
constexpr Network kNetworks[] = {
    {"f = max(min(a, b), min(c, d)); g = min(max(a, b), max(c, d)); max(min(f, g), min(max(f, g), e))",
     [](const double* x) {
       const double f = std::fmax(std::fmin(x[0], x[1]), std::fmin(x[2], x[3]));
       const double g = std::fmin(std::fmax(x[0], x[1]), std::fmax(x[2], x[3]));
       return std::fmax(std::fmin(f, g), std::fmin(std::fmax(f, g), x[4]));
     }},
    {"min(max(a, b), max(c, b)) + 0*(d + e)",
     [](const double* x) { return std::fmin(std::fmax(x[0], x[1]), std::fmax(x[2], x[1])) + 0 * (x[3] + x[4]); }},
    {"max(min(a, min(b, c)), min(max(d, e), max(b, a)))", [](const double* x) {
       return std::fmax(std::fmin(x[0], std::fmin(x[1], x[2])),
                        std::fmin(std::fmax(x[3], x[4]), std::fmax(x[1], x[0])));
     }}};

// A network of min and max is a number where one of its operands is. Oracle: fmin and fmax of C; all sets of operands
// that are NaN are tried.
TEST(Lower, NetworksOfMinAndMaxAreNumbersWhereOneOperandIs) {
  for (const Network& network : kNetworks)
    for (const PolicyKind kind : {PolicyKind::exact, PolicyKind::bounded}) {
      const auto e = parse_infix(std::string("a: f64; b: f64; c: f64; d: f64; e: f64; ") + network.text);
      ASSERT_TRUE(e.ok()) << e.error().message;
      const auto kernel = lower(*e, {.policy = {kind, 2}, .simplify = false});
      ASSERT_TRUE(kernel.ok());
      for (unsigned nans = 0; nans < 32; ++nans) {
        double x[] = {-2, 1, 3, 4, 7};
        do {
          double y[5];
          for (unsigned i = 0; i < 5; ++i) y[i] = (nans >> i & 1) != 0 ? std::nan("") : x[i];
          const void* in[] = {&y[0], &y[1], &y[2], &y[3], &y[4]};
          double out = 0;
          void* outs[] = {&out};
          kir::interpret(*kernel, 1, in, outs, nullptr);
          const double correct = network.correct(y);
          EXPECT_TRUE(std::isnan(correct) ? std::isnan(out) : out == correct)
              << network.text << " " << nans << ": " << out << ", not " << correct;
        } while (std::next_permutation(std::begin(x), std::end(x)));
      }
    }
}

// b of both min(a, b) and max(a, b) is cleared of NaN once, and what is NaN only together needs no care.
TEST(Lower, NetworksOfMinAndMaxTestForNanOnce) {
  const auto count = [](const char* text, const char* op) {
    const auto e = parse_infix(text);
    EXPECT_TRUE(e.ok()) << text;
    const auto lowered = lower(*e, {.policy = {PolicyKind::bounded, 2}, .simplify = false});
    EXPECT_TRUE(lowered.ok()) << text;
    const std::string kernel = kir::print(*lowered);
    std::size_t found = 0;
    for (std::size_t at = kernel.find(op); at != std::string::npos; at = kernel.find(op, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("max(x, y) - min(x, y)", " select "), 1u);
  EXPECT_EQ(count("max(y, x) - min(x, y)", " select "), 1u);
  EXPECT_EQ(count("min(x, max(x, y))", " select "), 1u);
  EXPECT_EQ(count("min(max(x, y), min(x, y))", " select "), 1u);
  EXPECT_EQ(count("min(max(x, y), max(z, w)) + max(min(x, y), min(z, w))", " select "), 4u);
  EXPECT_EQ(count("min(max(x, y), max(z, w)) + max(min(x, y), min(z, w))", " ne "), 3u);
  EXPECT_EQ(count("min(min(x, y), min(z, w))", " select "), 3u);
}

TEST(Lower, TwiceAValueIsItsSumWithItself) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* text : {"2*x", "x*2", "x*2 + 2*y", "(x*y)*2"}) {
    const auto e = parse_infix(text);
    ASSERT_TRUE(e.ok());
    const auto kernel = lower(*e, {.policy = {PolicyKind::exact, 2}, .simplify = false});
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ(kir::print(*kernel).find(" mul "),
              std::string(text) == "(x*y)*2" ? kir::print(*kernel).find(" mul ") : std::string::npos)
        << kir::print(*kernel);
  }
  for (const double x : {0.0, -0.0, 3.7, 1e308, -1e308, 5e-324, inf, -inf, nan}) {
    const double twice = value("2*x", x, 0, {.policy = {PolicyKind::exact, 2}, .simplify = false});
    EXPECT_TRUE(std::isnan(x) ? std::isnan(twice) : twice == 2 * x && std::signbit(twice) == std::signbit(2 * x)) << x;
  }
}

// Powers of two move to where they cost nothing, and every rounding stays.
// A sum under `bounded` may take the factors of its products where it then has the class of the text's sum (NaN, either
// infinity, a number) for all inputs. Oracle: C's arithmetic. Elements that are a row of partial results apart
// (jit/kir/reduction.h) meet in one of these.
struct SumOfProducts {
  const char* text;
  double (*product)(double x, double y);
  bool joins;
};

int class_of(double v) {
  return std::isnan(v) ? 2 : std::isinf(v) ? (v > 0 ? 1 : -1) : 0;
}

void expect_classes(const SumOfProducts& sum, const kir::Kernel& kernel) {
  constexpr std::size_t kRow = kir::kPartialBytes / sizeof(double);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double values[] = {0.0, -0.0, 1, -1e200, 1e200, 1.5e308, -1.5e308, inf, -inf, nan};
  for (const double x0 : values)
    for (const double y0 : values)
      for (const double x1 : values)
        for (const double y1 : values) {
          double x[kRow + 1] = {x0}, y[kRow + 1] = {y0}, out = 0;
          x[kRow] = x1, y[kRow] = y1;
          const void* in[] = {x, y};
          void* outs[] = {&out};
          kir::interpret(kernel, kRow + 1, in, outs, nullptr);
          const double want = sum.product(x0, y0) + sum.product(x1, y1);
          ASSERT_EQ(class_of(out), class_of(want)) << sum.text << ": " << x0 << " " << y0 << " " << x1 << " " << y1;
        }
}

TEST(Lower, SumsTakeFactorsOfProductsWithTheTextsClass) {
  const auto square = [](double x, double) { return x * x; };
  const auto product = [](double x, double y) { return x * y; };
  const SumOfProducts sums[] = {
      {"sum(x*x)", square, true},
      {"dot(x, x)", square, true},
      {"sum(x^2)", square, true},
      {"sum(abs(x)*abs(y))", [](double x, double y) { return std::fabs(x) * std::fabs(y); }, true},
      {"sum(-abs(x)*abs(y))", [](double x, double y) { return -std::fabs(x) * std::fabs(y); }, true},
      {"sum(x*y)", product, false},
      {"dot(x, y)", product, false},
      {"x in [-1e9, 1e9]; y in [-1e9, 1e9]; sum(x*y)", product, true},
      {"x in [-1e9, 1e9]; y in [-1e9, 1e9]; dot(x, y)", product, true},
  };
  for (const SumOfProducts& sum : sums) {
    const auto e = parse_infix(sum.text);
    ASSERT_TRUE(e.ok()) << sum.text;
    for (const PolicyKind kind : {PolicyKind::exact, PolicyKind::bounded}) {
      const auto kernel = lower(*e, {.policy = {.kind = kind}, .simplify = false});
      ASSERT_TRUE(kernel.ok()) << sum.text;
      const bool joins = std::any_of(kernel->insts.begin(), kernel->insts.end(),
                                     [](const kir::Inst& inst) { return inst.op == kir::Op::Dot; });
      EXPECT_EQ(joins, kind == PolicyKind::bounded && sum.joins) << sum.text;
      const bool ranged = e->variables[0].lo > -std::numeric_limits<double>::infinity();
      if (!ranged) expect_classes(sum, *kernel);
    }
  }
}

TEST(DropIdleOperations, TakesUpPowersOfTwo) {
  struct Case {
    const char* text;
    double (*c)(double x, double y);
    std::size_t insts;  ///< left in the kernel, inputs and constants aside
  };
  const Case cases[] = {
      {"4*(x*6.1 - y*1.3)", [](double x, double y) { return 4 * (x * 6.1 - y * 1.3); }, 3},
      {"0.5*(y*(x*0.7)*x)", [](double x, double y) { return 0.5 * (y * (x * 0.7) * x); }, 3},
      {"-2*(x*3.1/y + 1.7)", [](double x, double y) { return -2 * (x * 3.1 / y + 1.7); }, 3},
      {"(2*x)/(2*sqrt(y))", [](double x, double y) { return (2 * x) / (2 * std::sqrt(y)); }, 2},
      // Nothing there can absorb the factor, or others need it too.
      {"4*(x*6.1 - y)", [](double x, double y) { return 4 * (x * 6.1 - y); }, 3},
      {"t = x*6.1; 4*(t - y*1.3) + t", [](double x, double y) { return 4 * (x * 6.1 - y * 1.3) + x * 6.1; }, 4},
  };
  for (const Case& c : cases) {
    const auto e = parse_infix(std::string("x in [0.5, 9]; y in [0.5, 9]; ") + c.text);
    ASSERT_TRUE(e.ok()) << c.text;
    LowerOptions how;
    how.simplify = false;
    const auto kernel = lower(drop_idle_operations(*e, how), how);
    ASSERT_TRUE(kernel.ok());
    std::size_t insts = 0;
    for (const kir::Inst& inst : kernel->insts) insts += inst.op != kir::Op::Input && inst.op != kir::Op::Constant;
    EXPECT_EQ(insts, c.insts) << c.text << kir::print(*kernel);
    for (double x = 0.5; x < 9; x += 0.173) {
      for (double y = 0.5; y < 9; y += 0.219) {
        double out = 0;
        const void* in[] = {&x, &y};
        void* outs[] = {&out};
        kir::interpret(*kernel, 1, in, outs, nullptr);
        ASSERT_EQ(out, c.c(x, y)) << c.text << " " << x << " " << y;
      }
    }
  }
}

// Oracle: the checker of expressions.
TEST(Simplify, ExponentsStayWithinTheirLimit) {
  for (const char* text :
       {"x^2147483647 * x^2147483647", "x^-2147483648 / x", "x^2147483648 * x^2147483648 * x^2147483648"}) {
    const auto e = parse_infix(std::string("x in [1, 1.0000001]; ") + text);
    ASSERT_TRUE(e.ok()) << text;
    const Expr simple = simplify(*e, {.policy = {.kind = PolicyKind::fast}});
    const auto well = check(simple);
    EXPECT_TRUE(well.ok()) << text << ": " << well.error().message;
  }
  const auto derivative = parse_infix("diff(x^-2147483648, x)");
  ASSERT_TRUE(derivative.ok());
  const auto eliminated = eliminate_derivatives(*derivative);
  ASSERT_TRUE(eliminated.ok());
  const auto well = check(*eliminated);
  EXPECT_TRUE(well.ok()) << well.error().message;
}

}  // namespace
}  // namespace trident::expr
