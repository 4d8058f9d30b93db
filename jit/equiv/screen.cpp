#include "jit/equiv/screen.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "jit/equiv/evaluator.h"
#include "jit/equiv/set_layout.h"

namespace trident::equiv {
namespace {

using expr::Op;
using expr::Propagation;
using expr::Type;

constexpr std::size_t kBlock = 256;
constexpr double kUnknown = std::numeric_limits<double>::infinity();
/// Added to every error: more than all that underflows in the bounds themselves.
constexpr double kLeast = 0x1p-1000;
/// Cover the roundings of bounds of errors, and of running errors.
constexpr double kMore = 1 + 0x1p-40, kLess = 1 - 0x1p-20;
/// The share of the bound up to which a screen decides. What comes nearer is judged by the reference.
constexpr double kShareMax = 0.75;

/// The values of a node at the points of a block. A mask is 0 or 1.
template <class T>
struct Column {
  std::array<T, kBlock> v{};
  std::array<double, kBlock> m{};  ///< v rounded
  std::array<double, kBlock> e{};  ///< bound of |true value - v|
  std::array<double, kBlock> d{};  ///< lower bound of the running error
};

/// Returns the least magnitude of the true value.
double least_size(double m, double e) {
  return std::max(std::fabs(m) - e, 0.0);
}

/// Returns a running error of which nothing is known where doubles do not hold it.
double unless_it_overflows(double d, bool unbounded) {
  return d < kUnknown || unbounded ? d : std::numeric_limits<double>::quiet_NaN();
}

/// Returns whether a divisor's interval surely holds 0, and so the running error of the result is infinite.
template <Op kOp, class T>
[[gnu::always_inline]] inline bool divides_by_zero(const Column<T>& a, const Column<T>& b, std::size_t i) {
  const Column<T>& divisor = kOp == Op::Recip ? a : b;
  const double most = std::fabs(divisor.m[i]) + divisor.e[i];
  return (kOp == Op::Recip || kOp == Op::Div) && divisor.d[i] > most * kMore;
}

/// Bounds the running error that an op of arithmetic carries, from below.
template <Op kOp, class T>
[[gnu::always_inline]] inline double carried_at_least(const Column<T>& a, const Column<T>& b, const Column<T>& c,
                                                      const Column<T>& r, std::size_t i) {
  constexpr const expr::OpInfo& row = expr::info(kOp);
  const double size_a = least_size(a.m[i], a.e[i]), size_b = least_size(b.m[i], b.e[i]);
  const double size = least_size(r.m[i], r.e[i]);
  if constexpr (row.propagation == Propagation::proportional) return a.d[i];
  if constexpr (row.propagation == Propagation::additive) return a.d[i] + b.d[i];
  if constexpr (row.propagation == Propagation::bilinear)
    return size_a * b.d[i] + size_b * a.d[i] + a.d[i] * b.d[i] + (row.arity == 3 ? c.d[i] : 0);
  if constexpr (row.propagation == Propagation::quotient) {
    return divides_by_zero<kOp>(a, b, i) ? kUnknown : (a.d[i] + size * b.d[i]) / (std::fabs(b.m[i]) + b.e[i]);
  }
  if constexpr (row.propagation == Propagation::relative) {
    constexpr double kSlope = kOp == Op::Sqrt ? 0.5 : 1;  // of the logarithm
    const double most_a = std::fabs(a.m[i]) + a.e[i];
    if (divides_by_zero<kOp>(a, b, i)) return kUnknown;
    return a.d[i] < size_a ? kSlope * size * a.d[i] / most_a : 0;
  }
  return 0;
}

/// Evaluates an op of arithmetic. It has a loop that is compiled for that op alone.
template <Op kOp, class T>
void arithmetic(const Column<T>& a, const Column<T>& b, const Column<T>& c, Column<T>& r, double unit,
                std::size_t count) {
  constexpr expr::RealOp real = expr::real_op(kOp);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    r.v[i] = apply_plain<T>(real, 0, a.v[i], b.v[i], c.v[i]);
    r.m[i] = static_cast<double>(r.v[i]);
  }
  constexpr double own = units_of(kOp) * static_cast<double>(kUnit<T>), least = units_of(kOp) * kLeast;
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    const Tracked<double> x{a.m[i], a.e[i]}, y{b.m[i], b.e[i]}, z{c.m[i], c.e[i]};
    const double carried = tracked_detail::propagate<double>(kOp, 0, x, y, z, r.m[i]);
    const bool exact = x.e == 0 && (expr::info(kOp).arity < 2 || y.e == 0) && (expr::info(kOp).arity < 3 || z.e == 0);
    r.e[i] = (exact ? 0 : carried) * kMore + (std::fabs(r.m[i]) * own + least);
  }
  constexpr bool sums = expr::info(kOp).propagation == Propagation::additive;
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    const double size = sums ? least_size(a.m[i], a.e[i]) + least_size(b.m[i], b.e[i]) : least_size(r.m[i], r.e[i]);
    const bool unbounded = a.d[i] == kUnknown || b.d[i] == kUnknown || c.d[i] == kUnknown;
    const double moved = carried_at_least<kOp>(a, b, c, r, i) + (units_of(kOp) != 0 ? unit * size : 0);
    r.d[i] = unless_it_overflows(moved, unbounded || divides_by_zero<kOp>(a, b, i));
  }
}

/// Returns whether the order of two lanes is known.
template <class T>
bool apart(const Column<T>& a, const Column<T>& b, std::size_t i) {
  const double reach = a.e[i] + b.e[i];
  return reach == 0 || static_cast<double>(std::fabs(a.v[i] - b.v[i])) > 1.01 * reach;
}

/// Evaluates min or max. Where the order is unknown, the result is within the greater error.
template <class T>
void extremes(expr::RealOp op, const Column<T>& a, const Column<T>& b, Column<T>& r, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    r.v[i] = apply_plain<T>(op, 0, a.v[i], b.v[i], b.v[i]);
    r.m[i] = static_cast<double>(r.v[i]);
    const bool known = apart(a, b, i), takes_a = r.v[i] == a.v[i];
    const double both = a.e[i] + b.e[i];
    r.e[i] = std::isfinite(both) ? std::max(a.e[i], b.e[i]) : kUnknown;
    r.d[i] = known ? (takes_a ? a.d[i] : b.d[i]) : std::min(a.d[i], b.d[i]);
  }
}

/// Evaluates a jump: exactly, where the operands' errors reach no step.
template <class T>
void jumps(const expr::Node& node, const Column<T>& a, const Column<T>& b, Column<T>& r, std::size_t count) {
  const expr::RealOp op = expr::real_op(node.op);
  const bool of_two = expr::info(node.op).arity == 2;
  for (std::size_t i = 0; i < count; ++i) {
    const T reach = static_cast<T>(a.e[i]) * T(1.01) + std::fabs(a.v[i]) * 4 * kUnit<T>;
    r.v[i] = apply_plain<T>(op, 0, a.v[i], b.v[i], b.v[i]);
    r.m[i] = static_cast<double>(r.v[i]);
    const bool exact = a.e[i] == 0 && (!of_two || b.e[i] == 0);
    const bool level = !of_two && apply_plain<T>(op, 0, a.v[i] - reach, 0, 0) == r.v[i] &&
                       apply_plain<T>(op, 0, a.v[i] + reach, 0, 0) == r.v[i];
    r.e[i] = (exact || level) && std::isfinite(r.m[i]) ? 0 : kUnknown;
    r.d[i] = 0;
  }
}

/// Evaluates a small power by products. (1 + x)^n is at least 1 + n x.
template <class T>
void small_power(std::int64_t exponent, const Column<T>& a, Column<T>& r, double unit, std::size_t count) {
  const auto n = static_cast<double>(std::abs(exponent));
  for (std::size_t i = 0; i < count; ++i) {
    r.v[i] = integer_power(a.v[i], exponent);
    r.m[i] = static_cast<double>(r.v[i]);
  }
  constexpr double own = kFunctionUnits * static_cast<double>(kUnit<T>);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    const double share = 1.34 * n * a.e[i] / std::fabs(a.m[i]), size = std::fabs(r.m[i]);
    const bool known = std::fabs(a.m[i]) > 4 * a.e[i] && share <= 0.5;
    const double carried = a.e[i] == 0 ? 0 : known ? 1.3 * share * size * kMore : kUnknown;
    r.e[i] = carried + (size * own + kFunctionUnits * kLeast);
    const double moved = n * least_size(r.m[i], r.e[i]) * a.d[i] / (std::fabs(a.m[i]) + a.e[i]);
    const double both = (a.d[i] == 0 ? 0 : moved) + unit * least_size(r.m[i], r.e[i]);
    r.d[i] = unless_it_overflows(both, a.d[i] == kUnknown);
  }
}

/// Evaluates an op that takes longer than its bounds do, by those of the reference.
template <class T>
void function(const expr::Node& node, const Column<T>& a, const Column<T>& b, const Column<T>& c, Column<T>& r,
              double k, std::size_t count) {
  const auto exponent = static_cast<std::int64_t>(node.imm);
  const auto tracked = [](const Column<T>& x, std::size_t i) { return Tracked<T>{x.v[i], static_cast<T>(x.e[i])}; };
  const auto around = [](const Column<T>& x, std::size_t i) { return Around{x.v[i], x.d[i]}; };
  for (std::size_t i = 0; i < count; ++i) {
    const Tracked<T> value = apply<T>(node.op, exponent, tracked(a, i), tracked(b, i), tracked(c, i));
    r.v[i] = value.v;
    r.m[i] = static_cast<double>(value.v);
    r.e[i] = static_cast<double>(value.e) * kMore + kLeast;
    const Around x = around(a, i), y = around(b, i);
    const long double moved = carried(expr::real_op(node.op), exponent, x, y, around(c, i), value.v);
    const double size = least_size(r.m[i], r.e[i]);
    const long double both = moved + k * unit_error(node.op, node.type, exponent, x, y, size);
    // A finite error whose end is just beyond a pole, or an overflow, may lie before it in truth.
    r.d[i] = unless_it_overflows(static_cast<double>(both), x.d == kUnknown || y.d == kUnknown);
  }
}

template <class T>
void compare(Op op, const Column<T>& a, const Column<T>& b, Column<T>& r, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    r.v[i] = comparison_holds(op, a.v[i] < b.v[i], a.v[i] == b.v[i], true) ? 1 : 0;
    r.e[i] = apart(a, b, i) ? 0 : kUnknown;
  }
}

template <class T>
void select(const Column<T>& condition, const Column<T>& b, const Column<T>& c, Column<T>& r, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Column<T>& taken = condition.v[i] != 0 ? b : c;
    r.v[i] = taken.v[i];
    r.m[i] = taken.m[i];
    r.e[i] = condition.e[i] == 0 ? taken.e[i] : kUnknown;
    r.d[i] = taken.d[i];
  }
}

template <class T>
void logic(const expr::Node& node, const Column<T>& a, const Column<T>& b, Column<T>& r, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    r.v[i] = apply_integer(node, a.v[i] != 0 ? -1 : 0, b.v[i] != 0 ? -1 : 0) != 0 ? 1 : 0;
    r.e[i] = a.e[i] + b.e[i];
  }
}

/// Evaluates an expression over blocks of points.
template <class T>
class Screen {
 public:
  Screen(const expr::Expr& expr, const Samples& samples, double k)
      : expr_(expr), samples_(samples), k_(k), columns_(expr.nodes.size()) {
    for (std::size_t i = 0; i < expr.nodes.size(); ++i)
      if (expr.nodes[i].op == Op::Constant) fill(i);
  }

  void run(std::uint64_t first, std::size_t count) {
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i) evaluate(i, first, count);
  }

  [[nodiscard]] const Column<T>& column(expr::NodeId id) const { return columns_[id.index]; }

 private:
  void fill(std::size_t index) {
    const expr::Node& node = expr_.nodes[index];
    for (std::size_t i = 0; i < kBlock; ++i)
      put(node.type, reinterpret_cast<const std::byte*>(&node.imm), columns_[index], i);
  }

  static void put(Type type, const std::byte* bytes, Column<T>& r, std::size_t i) {
    r.m[i] = ir::is_float(type) ? load_float(type, bytes) : load_integer(type, bytes) != 0 ? 1 : 0;
    r.v[i] = static_cast<T>(r.m[i]);
    r.e[i] = std::isfinite(r.m[i]) ? 0 : kUnknown;
    r.d[i] = 0;
  }

  void evaluate(std::size_t index, std::uint64_t first, std::size_t count) {
    const expr::Node& node = expr_.nodes[index];
    Column<T>& r = columns_[index];
    if (node.op == Op::Constant) return;
    if (node.op == Op::Variable) {
      for (std::size_t i = 0; i < count; ++i) put(node.type, element_of(samples_, expr_, node.imm, first + i), r, i);
      return;
    }
    const Column<T>& a = column(node.a);
    const Column<T>& b = node.b.valid() ? column(node.b) : a;
    const Column<T>& c = node.c.valid() ? column(node.c) : a;
    const expr::Signature signature = expr::info(node.op).signature;
    if (signature == expr::Signature::Compare) return compare(node.op, a, b, r, count);
    if (signature == expr::Signature::Select) return select(a, b, c, r, count);
    if (ir::is_mask(node.type)) return logic(node, a, b, r, count);
    floats(node, a, b, c, r, count);
  }

  void floats(const expr::Node& node, const Column<T>& a, const Column<T>& b, const Column<T>& c, Column<T>& r,
              std::size_t count) {
    const auto exponent = static_cast<std::int64_t>(node.imm);
    if (expr::is_step(node.op)) return jumps(node, a, b, r, count);
    if (expr::info(node.op).propagation == Propagation::extreme)
      return extremes(expr::real_op(node.op), a, b, r, count);
    if (node.op == Op::Powi && exponent != 0 && std::abs(exponent) < kFunctionUnits)
      return small_power(exponent, a, r, unit_of(node), count);
    switch (node.op) {
#define X(id, Name, ...)                                                                                         \
  case Op::Name:                                                                                                 \
    if constexpr (has_loop<Tracked<T>>(Op::Name)) return arithmetic<Op::Name>(a, b, c, r, unit_of(node), count); \
    break;
#include "jit/expr/ops.def"
#undef X
    }
    function(node, a, b, c, r, k_, count);
  }

  /// Returns the op's own units for a result, or a sum of magnitudes, of 1.
  [[nodiscard]] double unit_of(const expr::Node& node) const {
    const long double unit = unit_error(node.op, node.type, static_cast<std::int64_t>(node.imm), {1, 0}, {0, 0}, 1);
    return k_ * static_cast<double>(unit) * kLess;
  }

  const expr::Expr& expr_;
  const Samples& samples_;
  double k_;
  std::vector<Column<T>> columns_;
};

/// Returns an ulp of a value of at least this magnitude.
double ulp_at_least(Type type, double magnitude) {
  constexpr std::uint64_t kExponent = 0x7ff0'0000'0000'0000;
  const double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) & kExponent);
  return type == Type::f32 ? std::max(power, 0x1p-126) * 0x1p-23 : std::max(power, 0x1p-1022) * 0x1p-52;
}

/// Findings about an output at a point; the least of them counts for the point.
enum Finding : std::uint8_t {
  kNothing = 0,
  kStrictDecides = 1,  ///< a result is not finite: it holds if the strict one is of its class
  kUndecided = 2,      ///< the bound is infinite around a finite value: any finite result may stand
  kHolds = 3,
};

/// Judges one output.
template <class T>
void judge(Type type, const Column<T>& column, const std::byte* ours, double slack_ulp, std::size_t count,
           std::uint8_t* findings, Screened& found) {
  for (std::size_t i = 0; i < count; ++i) {
    const double got = load_float(type, ours + i * ir::bytes_of(type));
    const double error = (static_cast<double>(std::fabs(static_cast<T>(got) - column.v[i])) + column.e[i]) * kMore;
    const double ulp = ulp_at_least(type, least_size(column.m[i], column.e[i]) * kLess);
    const double most = column.d[i] * kLess + slack_ulp * ulp;
    const bool within = error <= kShareMax * most && most < kUnknown;
    const bool unbounded = column.d[i] == kUnknown && column.e[i] < kUnknown;
    const std::uint8_t finding = !std::isfinite(got) ? kStrictDecides
                                 : within            ? kHolds
                                 : unbounded         ? kUndecided
                                                     : kNothing;
    findings[i] = std::min(findings[i], finding);
    if (finding != kHolds) continue;
    found.share = std::max(found.share, error / most);
    found.ulp = std::max(found.ulp, error / ulp);
  }
}

/// Evaluates the source strictly (rounded.h) at one point. Masks are 0 or 1.
class Strict {
 public:
  Strict(const expr::Expr& expr, const Samples& samples) : expr_(expr), samples_(samples), values_(expr.nodes.size()) {}

  void run(std::uint64_t point) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = value(expr_.nodes[i], point);
  }
  [[nodiscard]] double at(expr::NodeId id) const { return id.valid() ? values_[id.index] : 0; }

 private:
  static double load(Type type, const std::byte* bytes) {
    return ir::is_float(type) ? load_float(type, bytes) : load_integer(type, bytes) != 0 ? 1 : 0;
  }
  [[nodiscard]] double value(const expr::Node& node, std::uint64_t point) const {
    const double a = at(node.a), b = at(node.b), c = at(node.c);
    const expr::Signature signature = expr::info(node.op).signature;
    if (node.op == Op::Constant) return load(node.type, reinterpret_cast<const std::byte*>(&node.imm));
    if (node.op == Op::Variable) return load(node.type, element_of(samples_, expr_, node.imm, point));
    if (signature == expr::Signature::Compare)
      return comparison_holds(node.op, a < b, a == b, !std::isnan(a) && !std::isnan(b)) ? 1 : 0;
    if (signature == expr::Signature::Select) return a != 0 ? b : c;
    if (ir::is_mask(node.type)) return apply_integer(node, a != 0 ? -1 : 0, b != 0 ? -1 : 0) != 0 ? 1 : 0;
    return apply_rounded(node.op, node.type, static_cast<std::int64_t>(node.imm), a, b, c);
  }

  const expr::Expr& expr_;
  const Samples& samples_;
  std::vector<double> values_;
};

bool same_class(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// Returns whether all results of a point that are not finite are as the strict ones.
bool strict_agrees(const expr::Expr& expr, Strict& strict, const CallOutputs& ours, std::uint64_t point,
                   std::uint64_t element) {
  strict.run(point);
  return std::all_of(expr.outputs.begin(), expr.outputs.end(), [&](const expr::Output& output) {
    const Type type = expr.at(output.node).type;
    const auto k = static_cast<std::size_t>(&output - expr.outputs.data());
    const double got = load_float(type, ours[k].data() + static_cast<std::size_t>(element) * ir::bytes_of(type));
    return std::isfinite(got) || same_class(got, strict.at(output.node));
  });
}

/// Screens the elements [at, at + count) of a call.
template <class T>
void screen_block(const expr::Expr& expr, Screen<T>& screen, const Call& call, const CallOutputs& ours,
                  std::uint64_t at, std::size_t count, double slack_ulp, Screened& found) {
  screen.run(call.first + at, count);
  for (std::size_t k = 0; k < expr.outputs.size(); ++k) {
    const Type type = expr.at(expr.outputs[k].node).type;
    const std::byte* const results = ours[k].data() + static_cast<std::size_t>(at) * ir::bytes_of(type);
    judge(type, screen.column(expr.outputs[k].node), results, slack_ulp, count, &found.findings[call.first + at],
          found);
  }
}

template <class T>
Screened screen_in(const expr::Expr& expr, const Samples& samples, const Outputs& ours, const Allowance& allowance) {
  Screened found;
  found.findings.assign(static_cast<std::size_t>(samples.n), kHolds);
  Screen<T> screen(expr, samples, allowance.units);
  Strict strict(expr, samples);
  for (std::size_t c = 0; c < samples.calls.size(); ++c) {
    const Call& call = samples.calls[c];
    for (std::uint64_t at = 0; at < call.n; at += kBlock) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, call.n - at));
      screen_block(expr, screen, call, ours[c], at, count, allowance.slack_ulp, found);
    }
    for (std::uint64_t i = 0; i < call.n; ++i) {
      std::uint8_t& finding = found.findings[call.first + i];
      if (finding != kStrictDecides) continue;
      finding = strict_agrees(expr, strict, ours[c], call.first + i, i) ? kHolds : kNothing;
    }
  }
  const auto count = [&](Finding f) { return std::count(found.findings.begin(), found.findings.end(), f); };
  found.decided = static_cast<std::uint64_t>(count(kHolds));
  found.undecided = static_cast<std::uint64_t>(count(kUndecided));
  return found;
}

bool has_eight_bytes(const expr::Node& node) {
  return ir::bytes_of(node.type) == 8;
}

bool can_screen_node(const expr::Node& node) {
  const expr::Signature signature = expr::info(node.op).signature;
  const bool known = signature == expr::Signature::Leaf || signature == expr::Signature::Same ||
                     signature == expr::Signature::Compare || signature == expr::Signature::Select;
  return known && !is_reduction(node.op) && (ir::is_float(node.type) || ir::is_mask(node.type));
}

}  // namespace

bool can_screen(const expr::Expr& expr) {
  const auto is_float = [&](const expr::Output& output) { return ir::is_float(expr.at(output.node).type); };
  const auto is_table = [](const expr::Variable& variable) { return variable.is_table(); };
  return std::all_of(expr.nodes.begin(), expr.nodes.end(), can_screen_node) &&
         std::all_of(expr.outputs.begin(), expr.outputs.end(), is_float) &&
         std::none_of(expr.variables.begin(), expr.variables.end(), is_table);
}

Screened screen(const expr::Expr& expr, const Samples& samples, const Outputs& ours, const Allowance& allowance) {
  const bool wide = std::any_of(expr.nodes.begin(), expr.nodes.end(), has_eight_bytes);
  return wide ? screen_in<long double>(expr, samples, ours, allowance)
              : screen_in<double>(expr, samples, ours, allowance);
}

Samples without_screened(const expr::Expr& expr, const Samples& samples, const Screened& screened) {
  const SetLayout layout(expr);
  std::vector<Point> points;
  for (std::uint64_t i = 0; i < samples.n; ++i)
    if (screened.findings[i] == kNothing) points.push_back(layout.point(samples, i));
  if (points.empty()) points.push_back(layout.point(samples, 0));
  Samples rest = layout.packed(samples.name.c_str(), points, 1);
  rest.way = samples.way;
  rest.unexplored = samples.unexplored;
  return rest;
}

}  // namespace trident::equiv
