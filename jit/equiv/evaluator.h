// Evaluates an expression node by node over blocks of points, strictly and correctly side by side (reference.h defines
// both). N is the number type of the correct value.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/equiv/integers.h"
#include "jit/equiv/numbers.h"
#include "jit/equiv/reference.h"
#include "jit/equiv/rounded.h"
#include "jit/expr/powers.h"
#include "jit/expr/shape.h"

namespace trident::equiv {

inline bool is_reduction(expr::Op op) {
  const expr::Signature signature = expr::info(op).signature;
  return signature == expr::Signature::Reduce || signature == expr::Signature::Reduce2;
}

inline const std::byte* element_of(const Samples& samples, const expr::Expr& expr, std::uint64_t variable,
                                   std::uint64_t index) {
  return samples.columns[variable].data() + index * ir::bytes_of(expr.variables[variable].type);
}

/// Returns whether to end early; stays true once `cancelled` was true.
class Stop {
 public:
  explicit Stop(std::function<bool()> cancelled) : cancelled_(std::move(cancelled)) {}
  bool ask() { return stopped_ = stopped_ || (cancelled_ && cancelled_()); }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  std::function<bool()> cancelled_;
  bool stopped_ = false;
};

template <class N>
class Evaluator {
 public:
  /// Bits of `unsure`.
  static constexpr std::uint8_t kOpen = 1;              ///< rounding decides a step on the way
  static constexpr std::uint8_t kMayBeNextInteger = 2;  ///< by one unit, no more than a rounding
  /// The values of one node at the points of a block. Floats use s and c; integers and bools si and ci (bools 0 or -1).
  struct Lanes {
    std::vector<double> s;
    std::vector<N> c;
    std::vector<std::int64_t> si, ci;
    std::vector<std::uint8_t> unsure;
  };

  /// Asks `stop` every few dozen nodes; values computed after it has stopped mean nothing.
  Evaluator(const expr::Expr& expr, const Samples& samples, std::size_t block, Stop* stop = nullptr)
      : expr_(expr),
        samples_(samples),
        shapes_(expr::shapes_of(expr)),
        block_(block),
        stop_(stop),
        lanes_(expr.nodes.size()) {
    for (std::size_t i = 0; i < expr.nodes.size(); ++i) {
      const std::size_t width = shapes_[i] == expr::Shape::total ? 1 : block;
      if (ir::is_float(expr.nodes[i].type)) {
        lanes_[i].s.resize(width);
        lanes_[i].c.resize(width);
      } else {
        lanes_[i].si.resize(width);
        lanes_[i].ci.resize(width);
      }
      lanes_[i].unsure.resize(width);
    }
  }

  /// Computes the nodes that do not depend on a reduction at points [first, first + count), count <= block.
  void run_elements(std::uint64_t first, std::size_t count) {
    call_ = call_of(first);
    elements(first, count);
  }

  /// Evaluates one whole call. Calls `each_block(first, count)` for every block of elements; false ends the call.
  /// Afterwards the nodes that depend on reductions hold their values in lane 0.
  template <class EachBlock>
  void run_call(const Call& call, EachBlock each_block) {
    start_reductions();
    call_ = call;
    for (std::uint64_t at = 0; at < call.n;) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(block_, call.n - at));
      elements(call.first + at, count);
      feed_reductions(at, count);
      each_block(call.first + at, count);
      if (stop_ != nullptr && stop_->stopped()) return;
      at += count;
    }
    // Nodes after the reductions may use elements that do not vary (parameters, constants): lane 0 holds them.
    if (call.n == 0) elements(0, samples_.n == 0 ? 0 : 1);
    for (auto& reduction : reductions_) finish(reduction, call.n);
    run_totals();
  }

  /// Returns how much output `node` changes when each sum of the last call moves by the sum of its absolute values
  /// (linearly extrapolated): the scale on which errors of its terms count. 0 when no float sum reaches it.
  long double sensitivity(std::uint32_t node) {
    constexpr int kStepBits = 16;
    if (!ir::is_float(expr_.nodes[node].type)) return 0;
    const long double base = approximate(lanes_[node].c[0]);
    long double total = 0;
    for (auto& reduction : reductions_) {
      if (reduction.absolute == 0 || !std::isfinite(reduction.absolute)) continue;
      Lanes& lanes = lanes_[reduction.node];
      const N kept = lanes.c[0];
      const long double moved = approximate(kept) + std::ldexp(reduction.absolute, -kStepBits);
      set_exact(lanes.c[0], static_cast<double>(moved));
      run_totals();
      const long double change = std::fabs(approximate(lanes_[node].c[0]) - base);
      if (std::isfinite(change)) total = std::max(total, std::ldexp(change, kStepBits));
      lanes.c[0] = kept;
    }
    run_totals();
    return total;
  }

  /// From now on moves the strict value of every op that rounds by up to an ulp, at random. With `chains` powers may be
  /// made of rounded products, as a kernel makes them.
  void wobble(Random* random, bool chains) {
    wobble_ = random;
    chains_ = chains;
    last_wobbled_.clear();
  }

  /// Returns whether every value in lane 0 is known far better than its type can tell. If a step is undecided
  /// nevertheless, then rounding decides it.
  [[nodiscard]] bool precise() const {
    constexpr long double kKnownUlp = 0.001L;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const Type type = expr_.nodes[i].type;
      if (!ir::is_float(type)) continue;
      const N& c = lanes_[i].c[0];
      if (!(error_of(c) <= kKnownUlp * ulp_at(type, approximate(c)))) return false;
    }
    return true;
  }

  [[nodiscard]] const Lanes& lanes(expr::NodeId id) const { return lanes_[id.index]; }

 private:
  using Op = expr::Op;
  using Type = expr::Type;

  [[nodiscard]] bool go_on(std::size_t node) const {
    constexpr std::size_t kNodesBetween = 32;
    return stop_ == nullptr || node % kNodesBetween != 0 || !stop_->ask();
  }

  struct Reduction {
    std::uint32_t node = 0;
    std::array<double, 16> s{};
    std::array<std::int64_t, 16> si{};
    Accumulator<N> sum;
    N extreme;
    std::int64_t ci = 0;
    long double absolute = 0;
    bool unsure = false;
    bool any = false;
  };

  /// Returns the call that point `first` belongs to; all points are one call when the set names none.
  [[nodiscard]] Call call_of(std::uint64_t first) const {
    const auto after = std::upper_bound(samples_.calls.begin(), samples_.calls.end(), first,
                                        [](std::uint64_t point, const Call& call) { return point < call.first; });
    return after == samples_.calls.begin() ? Call{0, samples_.n} : *(after - 1);
  }

  void elements(std::uint64_t first, std::size_t count) {
    for (std::size_t i = 0; i < expr_.nodes.size() && go_on(i); ++i)
      if (shapes_[i] != expr::Shape::total) evaluate(i, first, count);
  }

  // --- steps ---

  // Returns how near to a step the correct value may be for rounding to decide the side.
  static long double tolerance(Type type, double strict, const N& correct) {
    const long double c = approximate(correct);
    const long double off = std::fabs(static_cast<long double>(strict) - c);
    return 8 * off + 2 * error_of(correct) + 16 * ulp_at(type, c);
  }

  // Returns whether a value is exact. An integer chosen by rounding may be the correct one, but is not exact.
  static bool exactly(const Lanes& a, std::size_t i) {
    return is_exactly(a.c[i], a.s[i]) && (a.unsure[i] & kMayBeNextInteger) == 0;
  }

  static bool near(Type type, const Lanes& a, std::size_t i, long double step) {
    if (exactly(a, i)) return false;
    const long double c = approximate(a.c[i]);
    if (std::isnan(a.s[i]) && std::isnan(c)) return false;
    return !(std::fabs(c - step) > tolerance(type, a.s[i], a.c[i]));
  }

  static bool near_zero(Type type, const Lanes& a, std::size_t i) { return near(type, a, i, 0); }

  // True if an operand is so near to its domain's edge that rounding decides whether the result is NaN.
  bool near_edge(const expr::Node& node, std::size_t i) const {
    const Op op = node.op;
    const Lanes& a = lanes_[node.a.index];
    const Lanes& b = node.b.valid() ? lanes_[node.b.index] : a;
    const auto near_a = [&](long double edge) { return near(node.type, a, i, edge); };
    if (op == Op::Recip) return near_a(0);
    if (op == Op::Div) return near_zero(node.type, b, i);
    if (op == Op::Pow) return near_a(0) || (a.s[i] < 0 && !exactly(b, i));
    if (op == Op::Atan2) return near_a(0) && near_or_below_zero(node.type, b, i);
    switch (expr::info(op).domain) {
      case expr::Domain::all: return false;
      case expr::Domain::from_zero: return near_a(0);
      case expr::Domain::from_minus_one: return near_a(-1);
      case expr::Domain::within_one: return near_a(1) || near_a(-1);
      case expr::Domain::from_one: return near_a(1);
    }
    CHECK(false);
  }
  // For zeros of both signs min and max may give either.
  static bool picks_a_zero(Op op, double a, double b) {
    return (op == Op::Min || op == Op::Max) && a == 0 && b == 0 && std::signbit(a) != std::signbit(b);
  }
  static bool near_or_below_zero(Type type, const Lanes& a, std::size_t i) {
    return approximate(a.c[i]) < 0 || near_zero(type, a, i);
  }

  // Evaluates floor and the like: integers that jump where the operand meets an integer or (rounding) a half.
  void round_lane(const expr::Node& node, Lanes& r, std::size_t i) {
    const Lanes& a = lanes_[node.a.index];
    const long double c = approximate(a.c[i]);
    const bool halves = node.op == Op::Round || node.op == Op::Rint;
    const long double step = halves ? std::floor(c) + 0.5L : std::nearbyint(c);
    if (std::isfinite(c) && near(node.type, a, i, step)) {
      // Here the type holds integers only, so steps are as small as its rounding; deciding ops see steps.
      const bool all_integers = ulp_at(node.type, c) >= 0.5L;
      r.unsure[i] |= all_integers ? kMayBeNextInteger : kOpen;
      if (!all_integers) return set_exact(r.c[i], r.s[i]);
    }
    apply_to(node.op, 0, a.c[i], a.c[i], a.c[i], r.c[i]);
    const long double error = error_of(a.c[i]);  // an error that reaches a step adds one
    if (error > 0 && !(std::fabs(c - step) > error)) widen(r.c[i], error + 1);
  }

  void step_lane(const expr::Node& node, Lanes& r, std::size_t i) {
    const Lanes& a = lanes_[node.a.index];
    const Lanes& b = node.b.valid() ? lanes_[node.b.index] : a;
    if (node.op == Op::Fmod) {
      fmod_lane(node, a, b, r, i);
    } else if (node.op == Op::Copysign || node.op == Op::Sign) {
      const Lanes& signed_by = node.op == Op::Sign ? a : b;
      // The sign of a NaN is unspecified: machines may differ.
      if (near_zero(node.type, signed_by, i) || std::isnan(signed_by.s[i])) r.unsure[i] |= kOpen;
      apply_to(node.op, 0, a.c[i], b.c[i], b.c[i], r.c[i]);
    } else {
      round_lane(node, r, i);
    }
  }

  // fmod jumps by |b| where a is a multiple of b.
  void fmod_lane(const expr::Node& node, const Lanes& a, const Lanes& b, Lanes& r, std::size_t i) {
    const bool exact = exactly(a, i) && exactly(b, i);
    apply_to(node.op, 0, a.c[i], b.c[i], b.c[i], r.c[i]);
    if (exact) return;
    const long double rest = std::fabs(approximate(r.c[i]));
    const long double whole = std::fabs(approximate(b.c[i]));
    const long double slack = tolerance(node.type, a.s[i], a.c[i]) +
                              tolerance(node.type, b.s[i], b.c[i]) * (1 + std::fabs(approximate(a.c[i])) / whole);
    if (!(rest > slack) || !(whole - rest > slack)) r.unsure[i] |= kOpen;
  }

  // --- nodes ---

  [[nodiscard]] std::uint8_t any_unsure(const expr::Node& node, std::size_t i) const {
    std::uint8_t unsure = 0;
    for (const expr::NodeId id : {node.a, node.b, node.c})
      if (id.valid()) unsure |= lanes_[id.index].unsure[i];
    return unsure;
  }

  void evaluate(std::size_t index, std::uint64_t first, std::size_t count) {
    const expr::Node& node = expr_.nodes[index];
    Lanes& r = lanes_[index];
    if (node.op == Op::Constant) {
      for (std::size_t i = 0; i < count; ++i) load(node.type, reinterpret_cast<const std::byte*>(&node.imm), r, i);
      return;
    }
    if (node.op == Op::Variable) {
      for (std::size_t i = 0; i < count; ++i) load(node.type, element_of(samples_, expr_, node.imm, first + i), r, i);
      return;
    }
    const expr::Signature signature = expr::info(node.op).signature;
    if (signature == expr::Signature::Compare) return compare(node, r, count);
    if (signature == expr::Signature::Select) return select(node, r, count);
    if (signature == expr::Signature::Convert) return cast(node, r, count);
    if (is_reduction(node.op)) return;  // set by finish()
    if (node.op == Op::Index) {
      for (std::size_t i = 0; i < count; ++i) r.si[i] = r.ci[i] = static_cast<std::int64_t>(first + i - call_.first);
      std::fill_n(r.unsure.begin(), count, std::uint8_t{0});
      return;
    }
    if (signature == expr::Signature::Read) return read(node, r, first, count);
    if (!ir::is_float(node.type)) {
      integers(node, r, count);
      return;
    }
    const auto exponent = static_cast<std::int64_t>(node.imm);
    const Lanes& a = lanes_[node.a.index];
    const Lanes& b = node.b.valid() ? lanes_[node.b.index] : a;
    const Lanes& c = node.c.valid() ? lanes_[node.c.index] : a;
    for (std::size_t i = 0; i < count; ++i) {
      r.s[i] = apply_rounded(node.op, node.type, exponent, a.s[i], b.s[i], c.s[i]);
      if (wobble_ != nullptr)
        r.s[i] = wobbled(node, static_cast<std::uint32_t>(index), {a.s[i], b.s[i], c.s[i]}, r.s[i]);
      r.unsure[i] = any_unsure(node, i);
      if (expr::is_step(node.op)) {
        step_lane(node, r, i);
        continue;
      }
      apply_to(node.op, exponent, a.c[i], b.c[i], c.c[i], r.c[i]);
      if (near_edge(node, i) || picks_a_zero(node.op, a.s[i], b.s[i])) r.unsure[i] |= kOpen;
    }
  }

  /// A node's perturbation, which repeats for equal operands: in a sum of like terms such errors do not cancel.
  struct Wobbled {
    std::array<double, 3> operands{};
    double result = 0;
  };

  double wobbled(const expr::Node& node, std::uint32_t index, const std::array<double, 3>& operands, double value) {
    const auto [last, first_time] = last_wobbled_.try_emplace(index);
    if (first_time || last->second.operands != operands) {
      if (chains_ && node.op == Op::Powi) value = chain_of_products(node, operands[0], value);
      last->second = {operands, moved(node, value)};
    }
    return last->second.result;
  }

  double moved(const expr::Node& node, double value) {
    const bool exact = expr::info(node.op).rounding == expr::Rounding::exact;
    if (exact || value == 0 || !std::isfinite(value)) return value;
    const std::uint64_t way = wobble_->below(3);
    if (way == 0) return value;
    const double towards = way == 1 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), value);
    if (node.type == Type::f64) return std::nextafter(value, towards);
    return static_cast<double>(std::nextafter(static_cast<float>(value), static_cast<float>(towards)));
  }

  // Multiplies the power out, rounding each product, as a kernel does; or returns `value`, at random.
  double chain_of_products(const expr::Node& node, double base, double value) {
    const auto exponent = static_cast<std::int64_t>(node.imm);
    const std::int64_t size = std::min(std::abs(exponent), expr::kPowerChainMax + 1);
    if (size < 2 || size > expr::kPowerChainMax || wobble_->below(2) == 0) return value;
    expr::PowerChain<double> chain(base);
    const double product = chain.power(static_cast<std::uint64_t>(size), [&](double x, double y) {
      return apply_rounded(Op::Mul, node.type, 0, x, y, 0);
    });
    return exponent > 0 ? product : apply_rounded(Op::Div, node.type, 0, 1, product, 0);
  }

  static void load(Type type, const std::byte* bytes, Lanes& r, std::size_t i) {
    r.unsure[i] = 0;
    if (ir::is_float(type)) {
      r.s[i] = load_float(type, bytes);
      set_exact(r.c[i], r.s[i]);
    } else {
      r.si[i] = r.ci[i] = load_integer(type, bytes);
    }
  }

  // Reads an element of a table, or 0. Where rounding decides its number, number and element are unsure.
  void read(const expr::Node& node, Lanes& r, std::uint64_t first, std::size_t count) {
    const Lanes& numbers = lanes_[node.op == Op::Gather ? node.b.index : node.c.index];
    const auto stride = node.op == Op::Strided ? expr_.at(node.b).imm : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t moved = stride * (first + i - call_.first);
      const auto number = [&](std::int64_t n) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(n) + moved);
      };
      load(node.type, table_element(node, number(numbers.si[i])), r, i);
      if (numbers.si[i] != numbers.ci[i]) {
        const std::byte* const correct = table_element(node, number(numbers.ci[i]));
        if (ir::is_float(node.type))
          set_exact(r.c[i], load_float(node.type, correct));
        else
          r.ci[i] = load_integer(node.type, correct);
      }
      r.unsure[i] = numbers.unsure[i];
    }
  }

  [[nodiscard]] const std::byte* table_element(const expr::Node& read, std::int64_t number) const {
    static constexpr std::byte kZero[8] = {};
    const std::uint64_t length = std::min(call_.table_length, samples_.n);
    if (number < 0 || static_cast<std::uint64_t>(number) >= length) return kZero;
    return element_of(samples_, expr_, expr_.at(read.a).imm, static_cast<std::uint64_t>(number));
  }

  void compare(const expr::Node& node, Lanes& r, std::size_t count) {
    const Lanes& a = lanes_[node.a.index];
    const Lanes& b = lanes_[node.b.index];
    const Type type = expr_.nodes[node.a.index].type;
    for (std::size_t i = 0; i < count; ++i) {
      r.unsure[i] = any_unsure(node, i);
      if (!ir::is_float(type)) {
        r.si[i] = holds(node.op, a.si[i] < b.si[i], a.si[i] == b.si[i], true) ? -1 : 0;
        r.ci[i] = holds(node.op, a.ci[i] < b.ci[i], a.ci[i] == b.ci[i], true) ? -1 : 0;
        continue;
      }
      const bool ordered_s = !std::isnan(a.s[i]) && !std::isnan(b.s[i]);
      const bool ordered_c = !std::isnan(approximate(a.c[i])) && !std::isnan(approximate(b.c[i]));
      r.si[i] = holds(node.op, a.s[i] < b.s[i], a.s[i] == b.s[i], ordered_s) ? -1 : 0;
      r.ci[i] = holds(node.op, less(a.c[i], b.c[i]), equal(a.c[i], b.c[i]), ordered_c) ? -1 : 0;
      if (ordered_s != ordered_c) r.unsure[i] |= kOpen;
      if (!ordered_s || !ordered_c || (exactly(a, i) && exactly(b, i))) continue;
      const long double margin = std::fabs(approximate(a.c[i]) - approximate(b.c[i]));
      if (!(margin > tolerance(type, a.s[i], a.c[i]) + tolerance(type, b.s[i], b.c[i]))) r.unsure[i] |= kOpen;
    }
  }

  static bool holds(Op op, bool is_less, bool is_equal, bool ordered) {
    // The checker has its own list: the optimiser decides comparisons of constants by the table of ops.
    if (op == Op::Lt) return is_less;
    if (op == Op::Le) return is_less || is_equal;
    if (op == Op::Gt) return ordered && !is_less && !is_equal;
    if (op == Op::Ge) return ordered && !is_less;
    return (op == Op::Eq) == is_equal;
  }

  void select(const expr::Node& node, Lanes& r, std::size_t count) {
    const Lanes& condition = lanes_[node.a.index];
    const Lanes& b = lanes_[node.b.index];
    const Lanes& c = lanes_[node.c.index];
    for (std::size_t i = 0; i < count; ++i) {
      const Lanes& taken_s = condition.si[i] != 0 ? b : c;
      const Lanes& taken_c = condition.ci[i] != 0 ? b : c;
      if (ir::is_float(node.type)) {
        r.s[i] = taken_s.s[i];
        r.c[i] = taken_c.c[i];
      } else {
        r.si[i] = taken_s.si[i];
        r.ci[i] = taken_c.ci[i];
      }
      r.unsure[i] = (condition.unsure[i] & kOpen) | taken_s.unsure[i] | taken_c.unsure[i];
    }
  }

  void cast(const expr::Node& node, Lanes& r, std::size_t count) {
    const Lanes& a = lanes_[node.a.index];
    const Type from = expr_.nodes[node.a.index].type;
    for (std::size_t i = 0; i < count; ++i) {
      r.unsure[i] = a.unsure[i];
      if (ir::is_float(from) && ir::is_float(node.type)) {
        if (node.type == Type::f32 && from == Type::f64) {
          narrow_lane(a, r, i);
        } else {
          r.s[i] = a.s[i];
          r.c[i] = a.c[i];
        }
      } else if (ir::is_float(from)) {
        cast_to_integer(node.type, from, a, r, i);
      } else if (ir::is_float(node.type)) {
        const bool truth = ir::is_mask(from);
        r.s[i] = int_to_float(node.type, truth ? -a.si[i] : a.si[i]);
        set_exact(r.c[i], int_to_float(node.type, truth ? -a.ci[i] : a.ci[i]));
      } else {
        r.si[i] = cast_integer(node.type, from, a.si[i]);
        r.ci[i] = cast_integer(node.type, from, a.ci[i]);
      }
    }
  }

  // f32(x) of an f64 x is, by its meaning, the rounded value; it jumps at the middle between two floats.
  static void narrow_lane(const Lanes& a, Lanes& r, std::size_t i) {
    r.s[i] = static_cast<double>(static_cast<float>(a.s[i]));
    round_to_f32(a.c[i], r.c[i]);
    const long double s = a.s[i], c = approximate(a.c[i]);
    if (exactly(a, i) || (std::isnan(s) && std::isnan(c))) return;
    // A value beyond f64 is an infinity of f32 long before.
    constexpr long double kFarBeyond = 0x1p129L;
    const bool beyond = std::isinf(s) && c * std::copysign(1.0L, s) > kFarBeyond;
    if (beyond && error_of(a.c[i]) < std::fabs(c) / 4) return;
    const long double slack = tolerance(Type::f64, a.s[i], a.c[i]);
    if (static_cast<float>(c - slack) == static_cast<float>(c + slack)) return;
    r.unsure[i] |= kOpen;
    set_exact(r.c[i], r.s[i]);
  }

  static void cast_to_integer(Type to, Type from, const Lanes& a, Lanes& r, std::size_t i) {
    const long double c = approximate(a.c[i]);
    if (ir::is_mask(to)) {
      r.si[i] = a.s[i] != 0 ? -1 : 0;
      r.ci[i] = c != 0 ? -1 : 0;
      if (near_zero(from, a, i)) r.unsure[i] |= kOpen;
      return;
    }
    r.si[i] = truncate(to, static_cast<long double>(a.s[i]));
    r.ci[i] = truncate(to, c);
    // Every integer is a step, the ends of the range among them.
    if (std::isfinite(c) && near(from, a, i, std::nearbyint(c))) r.unsure[i] |= kOpen;
  }

  void integers(const expr::Node& node, Lanes& r, std::size_t count) {
    const Lanes& a = lanes_[node.a.index];
    const Lanes& b = node.b.valid() ? lanes_[node.b.index] : a;
    for (std::size_t i = 0; i < count; ++i) {
      r.si[i] = apply_integer(node, a.si[i], b.si[i]);
      r.ci[i] = apply_integer(node, a.ci[i], b.ci[i]);
      r.unsure[i] = any_unsure(node, i);
    }
  }

  // --- reductions (the order of jit/kir/kir.h for strict values) ---

  void start_reductions() {
    reductions_.clear();
    for (std::uint32_t i = 0; i < expr_.nodes.size(); ++i) {
      const Op op = expr_.nodes[i].op;
      if (!is_reduction(op)) continue;
      Reduction reduction;
      reduction.node = i;
      const bool least = op == Op::MinOf;
      const bool extreme = least || op == Op::MaxOf;
      const double infinity = std::numeric_limits<double>::infinity();
      reduction.s.fill(extreme ? (least ? infinity : -infinity) : 0.0);
      const std::int64_t end = extreme ? end_of_range(expr_.nodes[i].type, least) : 0;
      reduction.si.fill(end);
      reduction.ci = end;
      set_exact(reduction.extreme, least ? infinity : -infinity);
      reductions_.push_back(std::move(reduction));
    }
  }

  void feed_reductions(std::uint64_t at, std::size_t count) {
    for (auto& reduction : reductions_) {
      const expr::Node& node = expr_.nodes[reduction.node];
      const Lanes& a = lanes_[node.a.index];
      const Lanes& b = node.b.valid() ? lanes_[node.b.index] : a;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t partial = (at + i) % 16;
        if ((any_unsure(node, i) & kOpen) != 0) reduction.unsure = true;
        if (ir::is_float(node.type)) {
          feed_float(node, reduction, partial, a, b, i);
        } else {
          reduction.si[partial] = combine_integer(node, reduction.si[partial], a.si[i], b.si[i]);
          reduction.ci = combine_integer(node, reduction.ci, a.ci[i], b.ci[i]);
        }
      }
    }
  }

  void feed_float(const expr::Node& node, Reduction& reduction, std::size_t partial, const Lanes& a, const Lanes& b,
                  std::size_t i) {
    double& s = reduction.s[partial];
    if (node.op == Op::MinOf || node.op == Op::MaxOf) {
      const bool least = node.op == Op::MinOf;
      if (!std::isnan(a.s[i])) s = (least ? s < a.s[i] : s > a.s[i]) ? s : a.s[i];
      // NaN elements are ignored: by both evaluations or not at all.
      if (std::isnan(a.s[i]) != std::isnan(approximate(a.c[i]))) reduction.unsure = true;
      const N& c = a.c[i];
      if (least ? less(c, reduction.extreme) : less(reduction.extreme, c)) reduction.extreme = c;
    } else if (node.op == Op::Dot) {
      s = apply_rounded(Op::Add, node.type, 0, s, apply_rounded(Op::Mul, node.type, 0, a.s[i], b.s[i], 0), 0);
      apply_to(Op::Mul, 0, a.c[i], b.c[i], b.c[i], product_);
      reduction.sum.add(product_);
    } else {
      s = apply_rounded(Op::Add, node.type, 0, s, a.s[i], 0);
      reduction.sum.add(a.c[i]);
    }
  }

  void finish(Reduction& reduction, std::uint64_t n) {
    const expr::Node& node = expr_.nodes[reduction.node];
    Lanes& r = lanes_[reduction.node];
    r.unsure[0] = reduction.unsure ? kOpen : 0;
    for (std::size_t s = 8; s >= 1; s /= 2) {
      for (std::size_t j = 0; j < s; ++j) {
        if (!ir::is_float(node.type)) {
          reduction.si[j] = join_integer(node, reduction.si[j], reduction.si[j + s]);
        } else if (node.op == Op::MinOf || node.op == Op::MaxOf) {
          const double x = reduction.s[j];
          const double y = reduction.s[j + s];
          reduction.s[j] = (node.op == Op::MinOf ? x < y : x > y) ? x : y;
        } else {
          reduction.s[j] = apply_rounded(Op::Add, node.type, 0, reduction.s[j], reduction.s[j + s], 0);
        }
      }
    }
    if (!ir::is_float(node.type)) {
      r.si[0] = reduction.si[0];
      r.ci[0] = reduction.ci;
      return;
    }
    r.s[0] = reduction.s[0];
    if (node.op == Op::MinOf || node.op == Op::MaxOf) {
      r.c[0] = reduction.extreme;
      return;
    }
    r.c[0] = reduction.sum.value();
    reduction.absolute = reduction.sum.absolute();
    if (node.op != Op::Mean) return;
    const double n_rounded = int_to_float(node.type, static_cast<std::int64_t>(n));
    r.s[0] = apply_rounded(Op::Div, node.type, 0, r.s[0], n_rounded, 0);
    N divisor;
    set_int(divisor, static_cast<std::int64_t>(n));
    N sum = r.c[0];
    apply_to(Op::Div, 0, sum, divisor, divisor, r.c[0]);
    reduction.absolute /= static_cast<long double>(n);
  }

  void run_totals() {
    for (std::size_t i = 0; i < expr_.nodes.size() && go_on(i); ++i)
      if (shapes_[i] == expr::Shape::total) evaluate(i, 0, 1);
  }

  const expr::Expr& expr_;
  const Samples& samples_;
  std::vector<expr::Shape> shapes_;
  std::size_t block_;
  Stop* stop_;
  std::vector<Lanes> lanes_;
  std::vector<Reduction> reductions_;
  N product_;
  Call call_;  ///< being evaluated
  Random* wobble_ = nullptr;
  bool chains_ = false;
  std::unordered_map<std::uint32_t, Wobbled> last_wobbled_;  ///< by node
};

}  // namespace trident::equiv
