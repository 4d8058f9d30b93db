#include "tests/fuzz/value_oracle.h"

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "jit/kir/interpreter.h"
#include "runtime/base/check.h"
#include "tests/support/mpfr_evaluator.h"
#include "tests/support/native_kernel.h"
#include "tests/support/strict_evaluator.h"

namespace trident::fuzz {
namespace {

using testing::Random;
using Lanes = std::vector<std::vector<std::uint64_t>>;

/// Elements of a call that is compared bit for bit: whole vectors and a tail at every width.
constexpr std::uint64_t kCodeElements = 19;
constexpr std::size_t kMeaningPoints = 200;
constexpr int kPrecisionBits = 320;
/// Beyond these exponents of two a real is an infinity or a zero: no float comes near, and functions of larger numbers
/// (sin(exp(exp(x)))) would need millions of bits.
constexpr mpfr_exp_t kExponentMax = 1 << 16;

double unit(Random& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

std::uint64_t bits_of(ir::Type type, double value) {
  switch (type) {
    case ir::Type::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case ir::Type::f64: return std::bit_cast<std::uint64_t>(value);
    case ir::Type::i32:
    case ir::Type::b32:
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::clamp(value, -0x1p31, 0x1p30)));
    case ir::Type::i64:
    case ir::Type::b64:
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::clamp(value, -0x1p62, 0x1p62)));
  }
  return 0;
}

double float_of(ir::Type type, std::uint64_t bits) {
  if (type == ir::Type::f32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return std::bit_cast<double>(bits);
}

/// A value of the variable that keeps its promise.
std::uint64_t draw(const expr::Variable& v, bool corners, Random& random) {
  if (!v.has_range()) {
    if (corners && random.one_in(3)) return testing::random_lane(random, v.type);
    const double value = (unit(random) * 2 - 1) * std::exp2(static_cast<double>(random.below(8)) - 3);
    return bits_of(v.type, value);
  }
  // In the type's own precision: an end that is no float of the type must not be rounded past.
  constexpr double kMost = std::numeric_limits<double>::max();
  const double lo = std::max(v.lo, -kMost), hi = std::min(v.hi, kMost);
  double value = lo + unit(random) * (hi / 2 - lo / 2) * 2;
  if (corners && random.one_in(4)) value = random.one_in(2) ? lo : hi;
  if (corners && random.one_in(8) && lo <= 0 && hi >= 0) value = 0;
  value = std::clamp(value, lo, hi);
  if (!ir::is_float(v.type)) return bits_of(v.type, std::clamp(std::rint(value), std::ceil(lo), std::floor(hi)));
  if (v.type == ir::Type::f64) return bits_of(v.type, value);
  float narrow = static_cast<float>(std::clamp(value, -static_cast<double>(std::numeric_limits<float>::max()),
                                               static_cast<double>(std::numeric_limits<float>::max())));
  if (static_cast<double>(narrow) < lo) narrow = std::nextafter(narrow, std::numeric_limits<float>::infinity());
  if (static_cast<double>(narrow) > hi) narrow = std::nextafter(narrow, -std::numeric_limits<float>::infinity());
  return std::bit_cast<std::uint32_t>(narrow);
}

Lanes draw_all(const expr::Expr& expr, std::uint64_t n, bool corners, Random& random) {
  Lanes lanes;
  for (const expr::Variable& v : expr.variables) {
    auto& column = lanes.emplace_back(v.is_scalar() ? 1 : n);
    for (std::uint64_t& lane : column) lane = draw(v, corners, random);
  }
  return lanes;
}

[[noreturn]] void wrong(const expr::Expr& expr, const std::string& what) {
  std::fprintf(stderr, "fuzz: WRONG VALUE: %s\n", what.c_str());
  for (const expr::Variable& v : expr.variables)
    std::fprintf(stderr, "  %s: %s%s in [%.17g, %.17g]\n", v.name.c_str(), std::string(ir::name_of(v.type)).c_str(),
                 v.is_scalar() ? " scalar" : "", v.lo, v.hi);
  std::fprintf(stderr, "  %s\n", expr::print_infix(expr).c_str());
  std::abort();
}

/// Runs the interpreter: [output][element] as floats.
std::vector<std::vector<double>> interpreted(const expr::Expr& expr, const kir::Kernel& kernel, const Lanes& lanes,
                                             std::size_t n) {
  std::vector<std::vector<std::byte>> arrays, results;
  std::vector<std::uint64_t> params;
  for (std::size_t v = 0; v < expr.variables.size(); ++v) {
    if (expr.variables[v].is_scalar()) {
      params.push_back(lanes[v][0]);
      continue;
    }
    const std::size_t bytes = ir::bytes_of(expr.variables[v].type);
    auto& array = arrays.emplace_back(n * bytes);
    for (std::size_t i = 0; i < n; ++i) std::memcpy(&array[i * bytes], &lanes[v][i], bytes);
  }
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const auto& array : arrays) in.push_back(array.data());
  for (const kir::Output& o : kernel.outputs) results.emplace_back(n * ir::bytes_of(kernel.type_of(o.value)));
  for (auto& result : results) out.push_back(result.data());
  kir::interpret(kir::without_storage(kernel), n, in.data(), out.data(), params.data());  // the arrays hold values
  std::vector<std::vector<double>> values;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const ir::Type type = kernel.type_of(kernel.outputs[k].value);
    auto& column = values.emplace_back();
    // A value that depends on no array is one element.
    const std::size_t count = kernel.outputs[k].kind == kir::OutputKind::array ? n : 1;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &results[k][(i % count) * ir::bytes_of(type)], ir::bytes_of(type));
      column.push_back(float_of(type, bits));
    }
  }
  return values;
}

long double ulp_at(ir::Type type, long double magnitude) {
  const int least = type == ir::Type::f32 ? -149 : -1074, bits = type == ir::Type::f32 ? 24 : 53;
  int exponent = least;
  if (magnitude > 0) std::frexp(magnitude, &exponent), exponent -= bits;
  return std::ldexp(1.0L, std::max(exponent, least));
}

/// Returns true when steps that are off by up to some ulp can end at a value that `accepts` takes, at element i. An ulp
/// decides on which side of a domain's edge, of overflow, or of inf * 0 a value falls.
template <class Accepts>
bool within_reach(const expr::Expr& expr, const Lanes& lanes, std::size_t i, expr::NodeId output, Accepts accepts) {
  constexpr int kTries = 256;
  constexpr std::int64_t kUlps = 3;
  Random random(i);
  std::vector<std::uint64_t> values(expr.nodes.size());
  const auto value = [&](expr::NodeId id) { return id.valid() ? values[id.index] : 0; };
  for (int attempt = 0; attempt < kTries; ++attempt) {
    for (std::size_t k = 0; k < expr.nodes.size(); ++k) {
      const expr::Node& node = expr.nodes[k];
      if (node.op == expr::Op::Constant) values[k] = node.imm;
      if (node.op == expr::Op::Variable) values[k] = lanes[node.imm][i % lanes[node.imm].size()];
      if (node.op == expr::Op::Constant || node.op == expr::Op::Variable) continue;
      values[k] = testing::evaluate_op(expr, node, value(node.a), value(node.b), value(node.c));
      const double exact = float_of(node.type, values[k]);
      const bool rounds = std::isfinite(exact) && node.op != expr::Op::Neg && node.op != expr::Op::Abs;
      if (rounds && exact != 0) values[k] += random.below(2 * kUlps + 1) - kUlps;
    }
    if (accepts(float_of(expr.at(output).type, values[output.index]))) return true;
  }
  return false;
}

/// Returns true when `got` and `other` are both finite, both NaN, or the same infinity.
bool same_class(double got, double other) {
  return std::isnan(got) ? std::isnan(other) : std::isinf(got) ? got == other : std::isfinite(other);
}

/// Checks the class of a result that is not finite, or whose strict counterpart is not: it must be that of the strict
/// result or of the rounded real value. Where the real value does not exist, a finite result may stand.
bool class_is_right(ir::Type type, double got, double strict, long double real) {
  const double most = type == ir::Type::f32 ? static_cast<double>(std::numeric_limits<float>::max())
                                            : std::numeric_limits<double>::max();
  if (same_class(got, strict) || std::isnan(real)) return true;
  if (std::isinf(got)) return (real > 0) == (got > 0) && std::fabs(real) >= most * 0.999;
  return std::isfinite(got) && std::fabs(real) <= most;
}

struct Errors {
  long double ours = 0, strict = 0;
  std::size_t worst = 0;
};

struct Point {
  double ours, strict;
  long double real;
};

/// Both errors in ulp of max(|real|, a millionth of the greatest).
Errors errors_of(ir::Type type, const std::vector<Point>& points) {
  long double greatest = 0;
  for (const Point& p : points)
    if (std::isfinite(p.real) && std::isfinite(p.strict)) greatest = std::max(greatest, std::fabs(p.real));
  Errors errors;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& p = points[i];
    if (!std::isfinite(p.real) || !std::isfinite(p.strict) || !std::isfinite(p.ours)) continue;
    const long double ulp = ulp_at(type, std::max(std::fabs(p.real), greatest * 1e-6L));
    const long double ours = std::fabs(p.ours - p.real) / ulp;
    errors.strict = std::max(errors.strict, std::fabs(p.strict - p.real) / ulp);
    if (ours > errors.ours) errors.worst = i;
    errors.ours = std::max(errors.ours, ours);
  }
  return errors;
}

/// Twice the plain evaluation's error where errors are moderate. Where they are not, the greatest of some hundred points
/// is a matter of luck on either side, and only what no luck explains is wrong.
bool keeps_policy(const Errors& errors) {
  constexpr long double kSettledUlp = 32;
  if (errors.strict <= kSettledUlp) return errors.ours <= 2 * errors.strict + 2;
  return errors.ours <= 16 * errors.strict + 64;
}

/// Returns true when correctly rounded steps leave no digit right at some point, as in cos(1e9 x). Then luck decides,
/// too, on which side of a domain's edge a value falls.
bool no_digits(ir::Type type, const Errors& errors) {
  return errors.strict > (type == ir::Type::f32 ? 0x1p20L : 0x1p49L);
}

/// The outputs at `n` points, by the three evaluations.
std::vector<std::vector<Point>> evaluate(const expr::Expr& expr, const kir::Kernel& kernel, const Lanes& lanes,
                                         std::size_t n) {
  const auto ours = interpreted(expr, kernel, lanes, n);
  const auto strict = testing::evaluate_strict(expr, lanes, n);
  std::vector<std::vector<Point>> points(expr.outputs.size());
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> at;
    for (std::size_t v = 0; v < expr.variables.size(); ++v)
      at.push_back(float_of(expr.variables[v].type, lanes[v][i % lanes[v].size()]));
    const auto real = testing::evaluate_real(expr, at, kPrecisionBits, testing::Casts::rounding);
    for (std::size_t k = 0; k < expr.outputs.size(); ++k) {
      const auto& column = strict[expr.outputs[k].node.index];
      const ir::Type type = expr.at(expr.outputs[k].node).type;
      points[k].push_back({ours[k][i], float_of(type, column[i % column.size()]), real[k]});
    }
  }
  return points;
}

std::string describe(const expr::Expr& expr, std::size_t output, const Lanes& lanes, std::size_t i, const Point& p,
                     const Errors& errors) {
  char text[300];
  std::snprintf(text, sizeof text,
                "output %zu: ours %.17g, strict %.17g, real %.21Lg; greatest errors %.3Lg ulp, strict %.3Lg; at",
                output, p.ours, p.strict, p.real, errors.ours, errors.strict);
  std::string what = text;
  for (std::size_t v = 0; v < lanes.size(); ++v) {
    std::snprintf(text, sizeof text, " %s = %a", expr.variables[v].name.c_str(),
                  float_of(expr.variables[v].type, lanes[v][i % lanes[v].size()]));
    what += text;
  }
  return what;
}

}  // namespace

std::string difference_from_interpreter(const expr::Expr& expr, const kir::Kernel& kernel, const image::Mapped& native,
                                        std::uint64_t seed) {
  Random random(seed);
  const Lanes lanes = draw_all(expr, kCodeElements, true, random);
  Lanes arrays;
  std::vector<std::uint64_t> params;
  for (std::size_t v = 0; v < lanes.size(); ++v) {
    if (expr.variables[v].is_scalar())
      params.push_back(lanes[v][0]);
    else
      arrays.push_back(lanes[v]);
  }
  for (const expr::Variable& v : expr.variables)
    if (v.is_table()) params.push_back(kCodeElements);
  params.push_back(0);  // never a null pointer
  return testing::compare_on(kernel, native, arrays, params, {.n = kCodeElements, .seed = seed});
}

void check_code(const expr::Expr& expr, const kir::Kernel& kernel, std::uint64_t seed) {
  static const std::vector<codegen::Isa> kIsas = testing::runnable_isas();
  for (const codegen::Isa isa : kIsas) {
    const auto native = testing::map_native(kernel, isa, {.vectors = 1, .schedule = false});
    if (!native.ok()) {
      CHECK(native.error().code == ErrorCode::kUnsupported || native.error().code == ErrorCode::kLimitExceeded);
      continue;
    }
    const std::string difference = difference_from_interpreter(expr, kernel, *native, seed);
    if (!difference.empty()) wrong(expr, std::string(codegen::name_of(isa)) + ": " + difference);
  }
}

bool has_real_meaning(const expr::Expr& expr) {
  using expr::Op;
  constexpr Op kSteps[] = {Op::Floor, Op::Ceil,  Op::Round, Op::Rint, Op::Trunc,  Op::Fmod,    Op::Copysign, Op::Sign,
                           Op::Sum,   Op::MinOf, Op::MaxOf, Op::Mean, Op::Dot,    Op::Diff,    Op::Lt,       Op::Le,
                           Op::Gt,    Op::Ge,    Op::Eq,    Op::Ne,   Op::Gather, Op::Strided, Op::Prod};
  const auto has_none = [&](const expr::Node& n) {
    return !ir::is_float(n.type) || std::find(std::begin(kSteps), std::end(kSteps), n.op) != std::end(kSteps);
  };
  return std::none_of(expr.nodes.begin(), expr.nodes.end(), has_none);
}

void check_meaning(const expr::Expr& expr, const kir::Kernel& kernel, std::uint64_t seed) {
  mpfr_set_emax(kExponentMax);
  mpfr_set_emin(-kExponentMax);
  Random random(seed);
  // An apparent violation must show again at other points: some hundred can be unlucky.
  constexpr int kTries = 3;
  for (int attempt = 1; attempt <= kTries; ++attempt) {
    const std::size_t n = kMeaningPoints * static_cast<std::size_t>(attempt * attempt);
    const Lanes lanes = draw_all(expr, n, attempt == 1, random);
    const auto points = evaluate(expr, kernel, lanes, n);
    bool keeps = true;
    for (std::size_t k = 0; k < points.size(); ++k) {
      const ir::Type type = expr.at(expr.outputs[k].node).type;
      const Errors errors = errors_of(type, points[k]);
      for (std::size_t i = 0; i < n; ++i) {
        const Point& p = points[k][i];
        if ((std::isfinite(p.strict) && std::isfinite(p.ours)) || no_digits(type, errors)) continue;
        if (class_is_right(type, p.ours, p.strict, p.real)) continue;
        const auto same = [&](double value) { return same_class(p.ours, value); };
        if (!within_reach(expr, lanes, i, expr.outputs[k].node, same))
          wrong(expr, describe(expr, k, lanes, i, p, errors));
      }
      if (keeps_policy(errors)) continue;
      keeps = false;
      if (attempt == kTries) wrong(expr, describe(expr, k, lanes, errors.worst, points[k][errors.worst], errors));
    }
    if (keeps) return;
  }
}

}  // namespace trident::fuzz
