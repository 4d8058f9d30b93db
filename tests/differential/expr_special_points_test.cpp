// Identities at the special points: zeros of both signs, infinities, NaN, denormals, values near overflow. Each row is
// a text that simplification rewrites under some ranges; the oracles are the op-by-op evaluator over libm for what kind
// of value is due (and for its bits under the exact policy), and MPFR for its size.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "tests/differential/special_values.h"
#include "tests/support/mpfr_evaluator.h"
#include "tests/support/strict_evaluator.h"

namespace trident {
namespace {

// Texts of plain arithmetic: under the exact policy the bits must stay.
constexpr const char* kArithmetic[] = {
    "x^2 * x^-3",
    "x^3 * x^-3",
    "x^2 * x^-2",
    "x * x^-1",
    "x^-1 * x^2",
    "x^-2 * x^-3",
    "x^2 * x^3",
    "x^-4 * x",
    "(x^2)^-1",
    "(x^-1)^-1",
    "(x^-2)^2",
    "(x^2)^2",
    "(-x)^3",
    "(-x)^2",
    "abs(x)^2",
    "x^-1",
    "x^-2",
    "x^0",
    "sqrt(x)^2",
    "sqrt(x)^-2",
    "sqrt(x)^4",
    "sqrt(x)^-4",
    "sqrt(x) * sqrt(x)",
    "sqrt(x * x)",
    "abs(x) * abs(x)",
    "abs(x)",
    "abs(-x)",
    "abs(abs(x))",
    "-(-x)",
    "-(x - y)",
    "-x - y",
    "-x + y",
    "x - -y",
    "-x * -y",
    "-x * y",
    "-x / y",
    "x / -y",
    "-(2 * x)",
    "-(2 / x)",
    "x - x",
    "x + x",
    "x / x",
    "x * 0",
    "0 * x",
    "0 / x",
    "x / 0",
    "x + 0",
    "0 + x",
    "x - 0",
    "0 - x",
    "-0.0 - x",
    "x + -0.0",
    "x * 1",
    "x * -1",
    "x / 1",
    "x / -1",
    "x * 0 + y",
    "y - x * 0",
    "(x - x) + y",
    "1 / (x - x)",
    "x + 3 - 3",
    "x + 1e300 - 1e300",
    "x * 2 * 0.5",
    "x * 3 * 5",
    "x / 3",
    "x / 2",
    "x / 3 / 5",
    "3 / x * 5",
    "(2 * x) * (3 * y)",
    "(2 * x) / (3 * y)",
    "2 / (3 * x)",
    "x - y * -3",
    "x / (y / x)",
    "(x / y) / x",
    "x / y / 3",
    "x / (y / 3)",
    "(x / y) * y",
    "(x / y) * (y / x)",
    "x / y * (1 / y)",
    "x / sqrt(x)",
    "1 / sqrt(x)",
    "sqrt(x) / x",
    "1 / (1 / x)",
    "recip(recip(x))",
    "recip(x) * x",
    "x / y + y / x",
    "x / (x * y) + y / x + y / y",
    "x * y + x",
    "x * y - x",
    "y - x * y",
    "-(x * y / 3)",
    "min(x, x)",
    "min(x, 1)",
    "max(x, -1)",
    "min(x, y)",
    "max(y, x)",
    "max(x, 0)",
    "min(max(x, 0), 1)",
    "floor(floor(x))",
    "trunc(rint(x))",
    "copysign(x, y)",
    "copysign(x, 2)",
    "copysign(x, -2)",
    "copysign(2, x)",
    "x < 0 ? 1 : x < 0 ? 2 : 3",
    "(x < 0 ? 0 : 1) * y",
    "(x < 0 ? 1 : 2) * 3",
    "(x < 0 ? 1 : -1) * y",
    "(x < 0 ? 0 : x) + (x < 0 ? y : 0)",
    "(x < 0 ? x : 0) - (x < 0 ? 0 : y)",
    "x == x ? y : 0",
    "!(x < y) ? x : y",
    "1 / abs(x)",
    "1 / (x + 0)",
    "1 / sqrt(x * x)",
    "1 / (0 - x)",
    "1 / -(x - y)",
    "1 / (x * 0)",
    "1 / (-x - y)",
    "1 / (sqrt(x) * sqrt(x))",
    "copysign(y, x * 0)",
    "copysign(1, -(x - y))",
};

// Sums of rounded products: where they cancel, a product that becomes part of the sum leaves its rounding behind.
constexpr const char* kCancelling[] = {"3 * x + 3 * y", "3 * x - 3 * y", "3 * x - -3 * y"};

// With functions: kind and size only.
constexpr const char* kFunctions[] = {
    "hypot(x, y)",
    "hypot(x, 0)",
    "pow(x, 0.5)",
    "pow(x, 0.25)",
    "pow(x, 1.5)",
    "pow(x, -0.5)",
    "pow(x, 3)",
    "pow(x, -2)",
    "pow(x, 0)",
    "pow(x, 1)",
    "pow(2, x)",
    "pow(1, x)",
    "pow(2.5, x)",
    "pow(0.5, x)",
    "pow(x, y)",
    "1/pow(x, 0.5)",
    "exp(-x)",
    "exp(x - x)",
    "log(x * x)",
    "sin(x) * 0",
    "2 ^ x",
    "exp(x) * exp(-x)",
    "pow(x, 2) * pow(x, -2)",
    "tanh(x) - tanh(x)",
    "2.718281828459045 ^ x",
};

struct Span {
  double lo, hi;
};
constexpr Span kSpans[] = {{-kInf, kInf}, {0, kInf},   {-kInf, 0},  {0x1p-1074, kInf}, {-1, 1},         {0, 1},
                           {-1, 0},       {1e-3, 1e3}, {-4, -1e-3}, {1, kInf},         {-1e300, 1e300}, {1e-30, 1e30}};
constexpr double kSpecialPoints[] = {0.0,    -0.0,  kInf,   -kInf, kNan,  0x1p-1074, -0x1p-1074, 0x1p-149, -0x1p-149,
                                     1e-310, 1e300, -1e300, 1e38,  -1e38, 1e-38,     1,          -1,       2,
                                     -3,     0.5,   0.1,    1e3,   1e-3,  1e30,      1e-30,      1e19,     7.25};

template <class T>
constexpr ir::Type kType = sizeof(T) == 4 ? ir::Type::f32 : ir::Type::f64;

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
std::vector<T> points_in(const Span& span) {
  std::vector<T> out;
  for (const double p : kSpecialPoints) {
    const T v = static_cast<T>(p);
    const bool anything = span.lo == -kInf && span.hi == kInf;
    if (anything || (static_cast<double>(v) >= span.lo && static_cast<double>(v) <= span.hi)) out.push_back(v);
  }
  return out;
}

template <class T>
bool same_class(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::isinf(a) || std::isinf(b) ? a == b : true;
}

// Returns true when `got` agrees with strict evaluation or the real value, at operands of size `scale` or less. Either
// will do when strict evaluation leaves the type's range on the way and the real value does not. What is a millionth of
// the rest or less counts as that.
template <class T>
bool admissible(T got, T strict, long double real, long double scale) {
  const T rounded = static_cast<T>(real);
  if (!std::isfinite(strict) && same_class(got, strict)) return true;
  if (!std::isfinite(got)) return same_class(got, rounded) || same_class(got, strict);
  if (std::isnan(real) || std::isinf(rounded)) return std::isfinite(strict);
  const long double size = std::max(std::fabs(real), 1e-6L * scale);
  const long double unit = std::numeric_limits<T>::epsilon() * size + std::numeric_limits<T>::denorm_min();
  const long double off = std::isfinite(strict) ? std::fabs(static_cast<long double>(strict) - real) : 0;
  return std::fabs(static_cast<long double>(got) - real) <= 4 * off + 16 * unit;
}

template <class T>
struct CrossProduct {
  expr::Expr e;
  std::vector<T> x, y;                           // the cross product of the points
  std::vector<std::uint64_t> strict;             // bits
  std::vector<std::vector<std::uint64_t>> bits;  // of x and y
};

template <class T>
void prepare(CrossProduct<T>& c, const char* text, const Span& span) {
  Result<expr::Expr> e = expr::parse(text, {.type = kType<T>,
                                            .variables = {{"x", kType<T>, expr::VariableKind::array, span.lo, span.hi},
                                                          {"y", kType<T>, expr::VariableKind::array, span.lo, span.hi}},
                                            .file = text});
  ASSERT_TRUE(e.ok()) << text << e.error().message;
  c.e = std::move(e).value();
  const std::vector<T> points = points_in<T>(span);
  c.bits.resize(2);
  for (const T a : points) {
    for (const T b : points) {
      c.x.push_back(a);
      c.y.push_back(b);
      c.bits[0].push_back(std::bit_cast<BitsOf<T>>(a));
      c.bits[1].push_back(std::bit_cast<BitsOf<T>>(b));
    }
  }
  const auto values = testing::evaluate_strict(c.e, c.bits, c.x.size());
  c.strict = values[c.e.outputs[0].node.index];
  if (c.strict.size() == 1) c.strict.resize(c.x.size(), c.strict[0]);
}

template <class T>
std::vector<T> lowered_values(const CrossProduct<T>& c, const expr::LowerOptions& options) {
  const Result<kir::Kernel> kernel = expr::lower(c.e, options);
  CHECK(kernel.ok());
  std::vector<T> out(c.x.size());
  const void* in[] = {c.x.data(), c.y.data()};
  void* outputs[] = {out.data()};
  kir::interpret(*kernel, c.x.size(), in, outputs, nullptr);
  return out;
}

template <class T>
void check_bounded(const char* text, const Span& span, bool cancels = false) {
  CrossProduct<T> c;
  prepare(c, text, span);
  for (const double k : {1.0, 2.0}) {
    const std::vector<T> got = lowered_values(c, {.policy = {.kind = expr::PolicyKind::bounded, .k = k}});
    for (std::size_t i = 0; i < got.size(); ++i) {
      const T strict = std::bit_cast<T>(static_cast<BitsOf<T>>(c.strict[i]));
      if (std::bit_cast<BitsOf<T>>(got[i]) == c.strict[i]) continue;
      const long double real =
          testing::evaluate_real(c.e, {static_cast<double>(c.x[i]), static_cast<double>(c.y[i])}, 2400)[0];
      const T largest = std::fmax(std::fmax(std::fabs(c.x[i]), std::fabs(c.y[i])), T{1});
      const bool ok = cancels ? same_class(got[i], strict) || same_class(got[i], static_cast<T>(real))
                              : admissible(got[i], strict, real, std::isfinite(largest) ? largest : T{1});
      EXPECT_TRUE(ok) << text << " " << ir::name_of(kType<T>) << " on [" << span.lo << ", " << span.hi
                      << "] at x = " << c.x[i] << ", y = " << c.y[i] << ": " << got[i] << " where strictly " << strict
                      << ", really " << (double)real;
    }
  }
}

template <class T>
void check_exact(const char* text, const Span& span) {
  CrossProduct<T> c;
  prepare(c, text, span);
  const std::vector<T> plain = lowered_values(c, {.policy = {.kind = expr::PolicyKind::exact}, .simplify = false});
  const std::vector<T> got = lowered_values(c, {.policy = {.kind = expr::PolicyKind::exact}});
  const bool powers = std::string(text).find('^') != std::string::npos;  // whose products libm does not round alike
  for (std::size_t i = 0; i < got.size(); ++i) {
    const T want = powers ? plain[i] : std::bit_cast<T>(static_cast<BitsOf<T>>(c.strict[i]));
    const bool same = std::bit_cast<BitsOf<T>>(got[i]) == std::bit_cast<BitsOf<T>>(want);
    // Which of two zeros min and max give is not said.
    const bool extremum = std::string(text).find("m") != std::string::npos;
    const bool either = extremum && got[i] == 0 && want == 0;
    EXPECT_TRUE(same || either || (std::isnan(got[i]) && std::isnan(want)))
        << text << " exact, " << ir::name_of(kType<T>) << " on [" << span.lo << ", " << span.hi << "] at x = " << c.x[i]
        << ", y = " << c.y[i] << ": " << got[i] << " instead of " << want;
  }
}

TEST(ExprSpecialPoints, BoundedKeepsKindAndSize) {
  for (const Span& span : kSpans) {
    for (const char* text : kArithmetic) check_bounded<double>(text, span), check_bounded<float>(text, span);
    for (const char* text : kFunctions) check_bounded<double>(text, span), check_bounded<float>(text, span);
    for (const char* text : kCancelling)
      check_bounded<double>(text, span, true), check_bounded<float>(text, span, true);
  }
}

TEST(ExprSpecialPoints, ExactKeepsBits) {
  for (const Span& span : kSpans) {
    for (const char* text : kArithmetic) check_exact<double>(text, span), check_exact<float>(text, span);
    for (const char* text : kCancelling) check_exact<double>(text, span), check_exact<float>(text, span);
  }
}

}  // namespace
}  // namespace trident
