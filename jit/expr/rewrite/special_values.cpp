#include "jit/expr/rewrite/special_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "jit/expr/builder.h"
#include "jit/expr/op_values.h"
#include "jit/expr/rewrite/fold.h"
#include "jit/expr/shape.h"
#include "runtime/base/split_mix.h"

namespace trident::expr::rewrite {
namespace {

// Most values that are computed for one expression, unless it is very large: some 20 ns each.
constexpr std::size_t kValuesMax = 8'192;
constexpr std::size_t kLanesMin = 2;
// Magnitudes that are drawn where no range is declared.
constexpr double kLeast = 0.01, kGreatest = 10;

double comparison(Op op, double a, double b) {
  return holds(op, outcome_of(a<b, a == b, a> b)) ? 1 : 0;
}

// Evaluates ops on integers and truth values; nothing for other ops.
std::optional<double> bitwise(const Node& n, double a, double b) {
  const auto whole = [](double x) { return std::fabs(x) < 0x1p62 ? static_cast<std::int64_t>(x) : 0; };
  const std::int64_t x = whole(a), y = whole(b);
  const auto shift = static_cast<unsigned>(y & 31);
  if (n.op == Op::And) return static_cast<double>(x & y);
  if (n.op == Op::Or) return static_cast<double>(x | y);
  if (n.op == Op::Xor) return static_cast<double>(x ^ y);
  if (n.op == Op::Not) return n.type == Type::b32 ? (x == 0 ? 1 : 0) : static_cast<double>(~x);
  if (n.op == Op::Shl) return static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << shift));
  if (n.op == Op::Shr || n.op == Op::Sar) return static_cast<double>(x >> shift);
  return std::nullopt;
}

double cast_to(Type type, double a) {
  if (type == Type::b32) return a != 0 ? 1 : 0;  // NaN too
  if (!ir::is_int(type)) return a;
  if (std::isnan(a) || std::fabs(a) >= 0x1p62) return -0x1p31;
  return std::trunc(a);
}

/// Evaluates the op in doubles. For equal zeros min and max take the second.
double value_of_op(const Node& n, double a, double b, double c) {
  // Most nodes are one of these.
  if (n.op == Op::Mul && ir::is_float(n.type)) return a * b;
  if (n.op == Op::Add && ir::is_float(n.type)) return a + b;
  if (n.op == Op::Sub && ir::is_float(n.type)) return a - b;
  const Signature signature = info(n.op).signature;
  if (signature == Signature::Compare) return comparison(n.op, a, b);
  if (signature == Signature::Select) return a != 0 ? b : c;
  if (const std::optional<double> bits = bitwise(n, a, b)) return *bits;
  if (n.op == Op::Cast) return cast_to(n.type, a);
  if (n.op == Op::Min) return std::isnan(b) || a < b ? a : b;
  if (n.op == Op::Max) return std::isnan(b) || a > b ? a : b;
  if (is_step(n.op)) return evaluate(real_op(n.op), 0, a, b, c);
  return in_doubles(n, a, b, c);
}

bool is_special(double x) {
  return x == 0 || !std::isfinite(x);
}

bool equal_values(double x, double y) {
  return x == y || (std::isnan(x) && std::isnan(y));
}

class Look {
 public:
  Look(const Expr& expr, std::span<const LaneValues> columns, std::size_t count)
      : expr_(expr),
        columns_(columns),
        count_(count),
        all_(count == kLanes ? ~std::uint64_t{0} : (1ull << count) - 1) {}

  SpecialValues run() {
    const std::size_t size = expr_.nodes.size();
    values_.resize(size * count_);
    for (std::size_t i = 0; i < size; ++i) evaluate(i);
    seen_.assign(size, 0), carries_.assign(size, 0);
    for (const Output& o : expr_.outputs) seen_[o.node.index] = all_;
    SpecialValues found;
    found.nodes.assign(size, false);
    for (std::size_t i = size; i-- > 0;) {
      const Node& n = expr_.nodes[i];
      if (is_never_a_number(n, i)) found.nodes[i] = true;
      if (seen_[i] == 0) continue;
      const std::uint64_t reads = look(n, i);
      for (int k = 0; k < 3; ++k) hand_down(n, i, k);
      if ((reads | carries_[i]) != 0) found.nodes[i] = true;
      found.lanes |= reads | carries_[i];
    }
    return found;
  }

 private:
  static NodeId operand(const Node& n, int k) { return k == 0 ? n.a : k == 1 ? n.b : n.c; }
  [[nodiscard]] double value_at(NodeId id, std::size_t lane) const { return values_[id.index * count_ + lane]; }
  [[nodiscard]] std::array<double, 3> operands(const Node& n, std::size_t lane) const {
    std::array<double, 3> x{};
    for (int k = 0; k < 3; ++k)
      if (const NodeId id = operand(n, k); id.valid()) x[static_cast<std::size_t>(k)] = value_at(id, lane);
    return x;
  }

  void evaluate(std::size_t i) {
    const Node& n = expr_.nodes[i];
    const std::span to = std::span(values_).subspan(i * count_, count_);
    if (makes_total(n.op)) return std::fill(to.begin(), to.end(), total(n));
    for (std::size_t lane = 0; lane < count_; ++lane) {
      const auto [a, b, c] = operands(n, lane);
      double value = 0;
      if (n.op == Op::Variable)
        value = columns_[n.imm][lane];
      else if (n.op == Op::Constant)
        value = n.type == Type::b32 ? (n.imm != 0 ? 1 : 0) : trident::expr::value_of(n.type, n.imm);
      else if (n.op == Op::Index)
        value = static_cast<double>(lane);
      else
        value = info(n.op).signature == Signature::Read ? a : value_of_op(n, a, b, c);
      to[lane] = n.type == Type::f32 ? static_cast<double>(static_cast<float>(value)) : value;
    }
  }

  [[nodiscard]] double total(const Node& n) const {
    double sum = 0, product = 1, least = std::numeric_limits<double>::infinity(), greatest = -least;
    for (std::size_t lane = 0; lane < count_; ++lane) {
      const auto [a, b, c] = operands(n, lane);
      sum += n.op == Op::Dot ? a * b : a;
      product *= a;
      least = std::fmin(least, a), greatest = std::fmax(greatest, a);
    }
    if (n.op == Op::MinOf) return least;
    if (n.op == Op::MaxOf) return greatest;
    if (n.op == Op::Prod) return product;
    return n.op == Op::Mean ? sum / static_cast<double>(count_) : sum;
  }

  // Returns whether `n` is NaN or a pole at every point: a value that overflows everywhere is a number.
  [[nodiscard]] bool is_never_a_number(const Node& n, std::size_t i) const {
    if (!ir::is_float(n.type)) return false;
    const std::span values = std::span(values_).subspan(i * count_, count_);
    for (std::size_t lane = 0; lane < count_; ++lane)
      if (!std::isnan(values[lane]) && !(std::isinf(values[lane]) && is_pole(n, operands(n, lane)))) return false;
    return true;
  }
  static bool is_pole(const Node& n, const std::array<double, 3>& x) {
    if (n.op == Op::Div) return x[1] == 0 && std::isfinite(x[0]);
    if (n.op == Op::Pow) return x[0] == 0;
    if (n.op == Op::Powi) return x[0] == 0 && static_cast<std::int64_t>(n.imm) < 0;
    return info(n.op).at_zero == AtZero::pole && x[0] == 0;
  }

  /// Returns whether the result of `n` changes when all operands that are node `id` become `other`.
  [[nodiscard]] bool depends(const Node& n, std::array<double, 3> x, NodeId id, double other, double value) const {
    for (int k = 0; k < 3; ++k)
      if (operand(n, k) == id) x[static_cast<std::size_t>(k)] = other;
    return !equal_values(value_of_op(n, x[0], x[1], x[2]), value);
  }

  /// Returns whether `n` depends on a zero's sign or on NaN in a way that no identity over the reals keeps.
  [[nodiscard]] bool reads(const Node& n, const std::array<double, 3>& x, NodeId id, double from) const {
    const double value = value_of_op(n, x[0], x[1], x[2]);
    if (from == 0) return depends(n, x, id, -from, value);
    if (std::isnan(value)) return false;
    if (n.op == Op::Pow && std::isnan(x[1])) return true;  // 1^NaN is 1, as 1^x is of every number
    constexpr double kOthers[] = {-1e300, -1, 0, 1, 1e300};
    return std::any_of(std::begin(kOthers), std::end(kOthers),
                       [&](double other) { return depends(n, x, id, other, value); });
  }

  // Returns the points at which `n` reads the special value of an operand, which is then marked. Covers all operands.
  std::uint64_t look(const Node& n, std::size_t i) {
    std::uint64_t at = 0;
    for (int k = 0; k < 3; ++k) {
      const NodeId id = operand(n, k);
      if (!id.valid()) continue;
      for (std::uint64_t left = seen_[i]; left != 0; left &= left - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(left));
        const std::uint64_t bit = std::uint64_t{1} << lane;
        const bool chooses = n.op == Op::Select && k > 0;
        if (chooses && (value_at(n.a, lane) != 0) != (k == 1)) continue;
        seen_[id.index] |= makes_total(n.op) ? all_ : bit;
        if (!ir::is_float(expr_.at(id).type) || info(n.op).signature == Signature::Read) continue;
        const double from = value_at(id, lane);
        if (from != 0 && !std::isnan(from)) continue;
        const bool extreme = n.op == Op::MinOf || n.op == Op::MaxOf;
        if (makes_total(n.op) ? !extreme || from == 0 : !reads(n, operands(n, lane), id, from)) continue;
        at |= bit, carries_[id.index] |= bit;
      }
    }
    return at;
  }

  // Marks the operands that a zero, NaN or infinity that is read comes from.
  void hand_down(const Node& n, std::size_t i, int k) {
    const NodeId id = operand(n, k);
    if (!id.valid() || !ir::is_float(expr_.at(id).type)) return;
    for (std::uint64_t left = carries_[i]; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      const std::uint64_t bit = std::uint64_t{1} << lane;
      if ((seen_[id.index] & bit) != 0 && is_special(value_at(id, lane))) carries_[id.index] |= bit;
    }
  }

  const Expr& expr_;
  std::span<const LaneValues> columns_;
  std::size_t count_;
  std::uint64_t all_;
  std::vector<double> values_;          ///< per node `count_` of them
  std::vector<std::uint64_t> seen_;     ///< per node: the points at which an output may depend on it
  std::vector<std::uint64_t> carries_;  ///< per node: the points at which a read special value comes from it
};

// Draws log-uniformly in magnitude between the ends, where these are ordinary. At the first point values are positive
// where they can be: else at none of a few points might roots, logarithms and powers be numbers.
double draw(const Variable& v, bool first, SplitMix64& random) {
  const double place = random.unit(), turn = random.unit();
  const bool negative = v.lo < 0 && (!(v.hi > 0) || (turn < 0.5 && !first));
  const double near = negative ? std::max(-v.hi, 0.0) : std::max(v.lo, 0.0), far = negative ? -v.lo : v.hi;
  const double most = std::isfinite(far) ? far : std::max(kGreatest, near * kGreatest / kLeast);
  if (most == 0) return 0;
  const double least = std::max(near, most * kLeast / kGreatest);
  const double x = std::isfinite(most) ? least * std::exp(place * std::log(most / least)) : least;
  const double value = std::clamp(negative ? -x : x, v.lo, v.hi);
  return ir::is_float(v.type) ? value : std::trunc(value);
}

}  // namespace

SpecialValues special_values(const Expr& expr, std::span<const LaneValues> columns, std::size_t count) {
  return Look(expr, columns, count).run();
}

SpecialValues special_values(const Expr& expr) {
  const std::size_t nodes = std::max<std::size_t>(expr.nodes.size(), 1);
  const std::size_t count = std::clamp(kValuesMax / nodes, kLanesMin, kLanes);
  SplitMix64 random(0x5EED);
  std::vector<LaneValues> columns(expr.variables.size());
  for (std::size_t v = 0; v < columns.size(); ++v)
    for (std::size_t lane = 0; lane < count; ++lane) columns[v][lane] = draw(expr.variables[v], lane == 0, random);
  return special_values(expr, columns, count);
}

}  // namespace trident::expr::rewrite
