// Evaluates an expression node by node over blocks of points, strictly and correctly side by side (reference.h defines
// both). N is the number type of the correct value.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "jit/equiv/intervals.h"
#include "jit/equiv/lanes.h"
#include "jit/equiv/plain_lane.h"
#include "jit/equiv/reductions.h"
#include "jit/equiv/reference.h"
#include "jit/equiv/steps.h"
#include "jit/expr/shape.h"

namespace trident::equiv {

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

/// Returns whether lanes of the op have a loop of their own: floats and no function, whose value takes longer than
/// that.
template <class N>
constexpr bool has_loop(expr::Op op) {
  constexpr bool quick = !std::is_base_of_v<Big, N>;
  return quick && expr::info(op).is_real && !expr::is_step(op) && units_of(op) <= 1;
}

template <class N>
class Evaluator {
 public:
  /// Asks `stop` every few dozen nodes; values computed after it has stopped mean nothing. `k`: the units of the
  /// running error (running_error.h).
  Evaluator(const expr::Expr& expr, const Samples& samples, std::size_t block, Stop* stop = nullptr, double k = 1)
      : expr_(expr),
        samples_(samples),
        places_(expr::places_of(expr)),
        block_(block),
        stop_(stop),
        k_(static_cast<long double>(k)),
        reductions_(k_),
        lanes_(expr.nodes.size()) {
    count_passes();
    for (std::size_t i = 0; i < expr.nodes.size(); ++i) {
      const std::size_t width = is_total(i) && element_passes_ == 1 ? 1 : block;
      lanes_[i].resize(expr.nodes[i].type, width);
      if (expr.nodes[i].op == Op::Constant)
        fill_constant(i, width);
      else
        order_.push_back(i);
    }
  }

  /// Leaves out nodes that no output needs: their lanes mean nothing from now on.
  void keep_to_outputs();

  /// Computes the nodes of elements at points [first, first + count), count <= block. Where they depend on reductions,
  /// the points are a call.
  void run_elements(std::uint64_t first, std::size_t count) {
    call_ = call_of(first);
    if (element_passes_ == 1) return elements(first, count, 0);
    Call points = call_;
    points.first = first;
    points.n = count;
    run_call(points, [](std::uint64_t, std::size_t) {});
  }

  /// Returns whether run_elements() computes each node once, from its operands alone.
  [[nodiscard]] bool has_one_pass() const { return element_passes_ == 1; }
  /// With one pass: computes one node again, like run_elements(), which ran before. Its operands are up to date.
  void run_node(std::size_t i, std::uint64_t first, std::size_t count) {
    if (!is_total(i) && expr_.nodes[i].op != Op::Constant) evaluate(i, first, count);
  }

  /// Computes the nodes of elements at one point of its call.
  void run_point(std::uint64_t point) {
    const Call call = call_of(point);
    if (element_passes_ > 1 && (!has_totals_ || call.first != call_.first || call.n != call_.n))
      run_call(call, [](std::uint64_t, std::size_t) {});
    call_ = call;
    elements(point, 1, element_passes_ - 1);
  }

  /// Evaluates one whole call. Calls `each_block(first, count)` for every block of elements in the last pass; false
  /// ends the call. Afterwards the nodes that depend on reductions alone hold their values in lane 0.
  template <class EachBlock>
  void run_call(const Call& call, EachBlock each_block) {
    reductions_.start(expr_, places_);
    call_ = call;
    for (std::uint32_t pass = 0; pass < passes_; ++pass) {
      const bool last = pass + 1 == element_passes_;
      for (std::uint64_t at = 0; pass < element_passes_ && at < call.n;) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(block_, call.n - at));
        elements(call.first + at, count, pass);
        reductions_.feed(expr_, lanes_, at, count, pass);
        if (last) each_block(call.first + at, count);
        if (stop_ != nullptr && stop_->stopped()) return;
        at += count;
      }
      // Nodes after the reductions may use elements that do not vary (parameters, constants): lane 0 holds them.
      if (call.n == 0) elements(0, samples_.n == 0 ? 0 : 1, pass);
      reductions_.finish(expr_, lanes_, call.n, pass);
      run_totals(pass + 1);
    }
    has_totals_ = true;
  }

  /// Returns whether every computed value in lane 0 is known far better than its type can tell. If a step is undecided
  /// nevertheless, then rounding decides it.
  [[nodiscard]] bool precise() const;

  [[nodiscard]] const Lanes<N>& lanes(expr::NodeId id) const { return lanes_[id.index]; }

 private:
  static bool opens(const Lanes<N>& r, std::size_t i) { return (r.unsure[i] & kOpen) != 0; }

  using Op = expr::Op;
  using Type = expr::Type;

  [[nodiscard]] bool go_on(std::size_t place) const {
    constexpr std::size_t kNodesBetween = 32;
    return stop_ == nullptr || place % kNodesBetween != 0 || !stop_->ask();
  }

  /// Returns the call that point `first` belongs to; all points are one call when the set names none.
  [[nodiscard]] Call call_of(std::uint64_t first) const {
    const auto after = std::upper_bound(samples_.calls.begin(), samples_.calls.end(), first,
                                        [](std::uint64_t point, const Call& call) { return point < call.first; });
    return after == samples_.calls.begin() ? Call{0, samples_.n} : *(after - 1);
  }

  [[nodiscard]] bool is_total(std::size_t i) const { return places_[i].shape == expr::Shape::total; }

  void count_passes() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto later = [&](expr::NodeId id) { return id.valid() ? places_[id.index].after + 1u : 0u; };
      const expr::Node& node = expr_.nodes[i];
      if (!is_total(i)) element_passes_ = std::max(element_passes_, places_[i].after + 1u);
      if (is_reduction(node.op)) element_passes_ = std::max({element_passes_, later(node.a), later(node.b)});
      passes_ = std::max<std::uint32_t>(passes_, places_[i].after);
    }
    passes_ = std::max(passes_, element_passes_);
  }

  /// Computes the nodes of elements that are known in a pass.
  void elements(std::uint64_t first, std::size_t count, std::uint32_t pass) {
    for (std::size_t at = 0; at < order_.size() && go_on(at); ++at)
      if (const std::size_t i = order_[at]; !is_total(i) && places_[i].after <= pass) evaluate(i, first, count);
  }

  void fill_constant(std::size_t index, std::size_t width);
  void evaluate(std::size_t index, std::uint64_t first, std::size_t count);
  void floats(const expr::Node& node, Lanes<N>& r, std::size_t count);
  void float_lanes(const expr::Node& node, Lanes<N>& r, std::size_t count);

  // Reads an element of a table, or 0. Where rounding decides its number, number and element are unsure.
  void read(const expr::Node& node, Lanes<N>& r, std::uint64_t first, std::size_t count);

  // Sets the running error of an element whose number may be one of several.
  void reach_elements(const expr::Node& node, const Whole& numbers, std::uint64_t moved, Lanes<N>& r, std::size_t i);

  [[nodiscard]] const std::byte* table_element(const expr::Node& read, std::int64_t number) const {
    static constexpr std::byte kZero[8] = {};
    const std::uint64_t length = std::min(call_.table_length, samples_.n);
    if (number < 0 || static_cast<std::uint64_t>(number) >= length) return kZero;
    return element_of(samples_, expr_, expr_.at(read.a).imm, static_cast<std::uint64_t>(number));
  }

  void compare(const expr::Node& node, Lanes<N>& r, std::size_t count) {
    const Type type = expr_.nodes[node.a.index].type;
    const Lanes<N>& a = lanes_[node.a.index];
    const Lanes<N>& b = lanes_[node.b.index];
    for (std::size_t i = 0; i < count; ++i) {
      r.unsure[i] = 0;
      compare_lane(node.op, type, a, b, r, i);
      comparison_error(node.op, type, a, b, r, i, opens(r, i));
      r.unsure[i] |= any_unsure(node, lanes_, i);
    }
  }

  void cast(const expr::Node& node, Lanes<N>& r, std::size_t count) {
    const Type from = expr_.nodes[node.a.index].type;
    const Lanes<N>& a = lanes_[node.a.index];
    for (std::size_t i = 0; i < count; ++i) {
      r.unsure[i] = 0;
      cast_lane(node.type, from, a, r, i);
      cast_error(node.type, from, a, r, i, opens(r, i));
      r.unsure[i] |= a.unsure[i];
    }
  }

  void select(const expr::Node& node, Lanes<N>& r, std::size_t count);

  void integers(const expr::Node& node, Lanes<N>& r, std::size_t count) {
    const Lanes<N>& a = lanes_[node.a.index];
    const Lanes<N>& b = node.b.valid() ? lanes_[node.b.index] : a;
    for (std::size_t i = 0; i < count; ++i) {
      r.si[i] = apply_integer(node, a.si[i], b.si[i]);
      r.ci[i] = apply_integer(node, a.ci[i], b.ci[i]);
      r.whole[i] = apply_whole(node, a.whole[i], b.whole[i]);
      r.unsure[i] = any_unsure(node, lanes_, i);
    }
  }

  /// Computes the values that are known after so many passes. Elements of later passes read them in every lane.
  void run_totals(std::uint32_t passes) {
    for (std::size_t at = 0; at < order_.size() && go_on(at); ++at) {
      const std::size_t i = order_[at];
      if (!is_total(i) || places_[i].after != passes) continue;
      evaluate(i, 0, 1);
      if (element_passes_ > 1) lanes_[i].repeat_first();
    }
  }

  const expr::Expr& expr_;
  const Samples& samples_;
  std::vector<expr::Place> places_;
  std::uint32_t passes_ = 1, element_passes_ = 1;  ///< in which anything is computed, and elements are
  bool has_totals_ = false;                        ///< the lanes of totals are those of `call_`
  std::size_t block_;
  Stop* stop_;
  long double k_;
  Reductions<N> reductions_;
  std::vector<Lanes<N>> lanes_;
  std::vector<std::size_t> order_;  ///< the nodes that are computed, constants aside: these have their values
  Call call_;                       ///< being evaluated
};

template <class N>
void Evaluator<N>::keep_to_outputs() {
  if (std::any_of(expr_.nodes.begin(), expr_.nodes.end(), [](const auto& node) { return is_reduction(node.op); }))
    return;  // every reduction is fed
  std::vector<bool> needed(expr_.nodes.size(), false);
  for (const expr::Output& output : expr_.outputs) needed[output.node.index] = true;
  for (std::size_t i = needed.size(); i-- > 0;)
    for (const expr::NodeId id : {expr_.nodes[i].a, expr_.nodes[i].b, expr_.nodes[i].c})
      if (needed[i] && id.valid()) needed[id.index] = true;
  std::erase_if(order_, [&](std::size_t i) { return !needed[i]; });
}

template <class N>
void Evaluator<N>::fill_constant(std::size_t index, std::size_t width) {
  const expr::Node& node = expr_.nodes[index];
  for (std::size_t i = 0; i < width; ++i)
    load_lane(node.type, reinterpret_cast<const std::byte*>(&node.imm), lanes_[index], i);
}

template <class N>
bool Evaluator<N>::precise() const {
  constexpr long double kKnownUlp = 0.001L;
  for (const std::size_t i : order_) {
    const Type type = expr_.nodes[i].type;
    if (!ir::is_float(type)) continue;
    const N& c = lanes_[i].c[0];
    if (!(error_of(c) <= kKnownUlp * ulp_at(type, approximate(c)))) return false;
  }
  return true;
}

template <class N>
void Evaluator<N>::select(const expr::Node& node, Lanes<N>& r, std::size_t count) {
  const Lanes<N>& condition = lanes_[node.a.index];
  const Lanes<N>& b = lanes_[node.b.index];
  const Lanes<N>& c = lanes_[node.c.index];
  for (std::size_t i = 0; i < count; ++i) {
    select_lane(node.type, condition, b, c, r, i);
    selection_error(node.type, condition, b, c, r, i);
  }
}

template <class N>
void Evaluator<N>::evaluate(std::size_t index, std::uint64_t first, std::size_t count) {
  const expr::Node& node = expr_.nodes[index];
  Lanes<N>& r = lanes_[index];
  if (node.op == Op::Variable) {
    for (std::size_t i = 0; i < count; ++i)
      load_lane(node.type, element_of(samples_, expr_, node.imm, first + i), r, i);
    return;
  }
  const expr::Signature signature = expr::info(node.op).signature;
  if (signature == expr::Signature::Compare) return compare(node, r, count);
  if (signature == expr::Signature::Select) return select(node, r, count);
  if (signature == expr::Signature::Convert) return cast(node, r, count);
  if (is_reduction(node.op)) return;  // set by finish()
  if (node.op == Op::Index) {
    for (std::size_t i = 0; i < count; ++i) {
      r.si[i] = r.ci[i] = static_cast<std::int64_t>(first + i - call_.first);
      r.whole[i] = {r.ci[i], r.ci[i]};
    }
    std::fill_n(r.unsure.begin(), count, std::uint8_t{0});
    return;
  }
  if (signature == expr::Signature::Read) return read(node, r, first, count);
  if (!ir::is_float(node.type)) {
    integers(node, r, count);
    return;
  }
  floats(node, r, count);
}

/// Evaluates an op of floats. Checks spend most of their time here, so the lanes of each op of arithmetic have a loop
/// that is compiled for that op alone.
template <class N>
void Evaluator<N>::floats(const expr::Node& node, Lanes<N>& r, std::size_t count) {
  switch (node.op) {
#define X(id, Name, ...)                   \
  case Op::Name:                           \
    if constexpr (has_loop<N>(Op::Name)) { \
      expr::Node same = node;              \
      same.op = Op::Name;                  \
      return float_lanes(same, r, count);  \
    }                                      \
    break;
#include "jit/expr/ops.def"
#undef X
  }
  float_lanes(node, r, count);
}

template <class N>
[[gnu::always_inline]] inline void Evaluator<N>::float_lanes(const expr::Node& node, Lanes<N>& r, std::size_t count) {
  const auto exponent = static_cast<std::int64_t>(node.imm);
  const Lanes<N>& a = lanes_[node.a.index];
  const Lanes<N>& b = node.b.valid() ? lanes_[node.b.index] : a;
  const Lanes<N>& c = node.c.valid() ? lanes_[node.c.index] : a;
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (!std::is_base_of_v<Big, N>)
      if (can_be_plain(node.op) && set_plain_lane(node, a, b, r, i, k_)) continue;
    r.unsure[i] = 0;
    if (expr::is_step(node.op)) {
      r.s[i] = apply_rounded(node.op, node.type, exponent, a.s[i], b.s[i], c.s[i]);
      step_lane(node, a, b, r, i);
    } else {
      apply_to(node.op, exponent, a.c[i], b.c[i], c.c[i], r.c[i]);
      const bool exact = known_exactly(a, i) && known_exactly(b, i) && known_exactly(c, i);
      r.s[i] = strict_value(node.op, node.type, exponent, r.c[i], exact, a.s[i], b.s[i], c.s[i]);
      if (near_edge(node, a, b, i) || picks_a_zero(node.op, a.s[i], b.s[i])) r.unsure[i] |= kOpen;
    }
    float_error(node, a, b, c, r, i, opens(r, i), k_);
    r.unsure[i] = static_cast<std::uint8_t>(r.unsure[i] | a.unsure[i] | b.unsure[i] | c.unsure[i]);
  }
}

template <class N>
void Evaluator<N>::read(const expr::Node& node, Lanes<N>& r, std::uint64_t first, std::size_t count) {
  const Lanes<N>& numbers = lanes_[node.op == Op::Gather ? node.b.index : node.c.index];
  const auto stride = node.op == Op::Strided ? expr_.at(node.b).imm : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t moved = stride * (first + i - call_.first);
    const auto number = [&](std::int64_t n) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(n) + moved);
    };
    load_lane(node.type, table_element(node, number(numbers.si[i])), r, i);
    if (numbers.si[i] != numbers.ci[i]) {
      const std::byte* const correct = table_element(node, number(numbers.ci[i]));
      if (ir::is_float(node.type))
        set_exact(r.c[i], load_float(node.type, correct));
      else
        r.ci[i] = load_integer(node.type, correct);
    }
    r.unsure[i] = numbers.unsure[i];
    reach_elements(node, numbers.whole[i], moved, r, i);
  }
}

template <class N>
void Evaluator<N>::reach_elements(const expr::Node& node, const Whole& numbers, std::uint64_t moved, Lanes<N>& r,
                                  std::size_t i) {
  constexpr std::uint64_t kElementsMax = 64;
  const auto more = static_cast<std::uint64_t>(numbers.hi) - static_cast<std::uint64_t>(numbers.lo);
  const bool is_float = ir::is_float(node.type);
  const long double unknown = std::numeric_limits<long double>::infinity();
  if (is_float) r.d[i] = more < kElementsMax ? 0 : unknown;
  if (!is_float) r.whole[i] = more < kElementsMax ? Whole{r.ci[i], r.ci[i]} : any_of(node.type);
  for (std::uint64_t at = 0; more != 0 && more < kElementsMax && at <= more; ++at) {
    const auto number = static_cast<std::int64_t>(static_cast<std::uint64_t>(numbers.lo) + at + moved);
    const std::byte* const element = table_element(node, number);
    if (!is_float) {
      const std::int64_t value = load_integer(node.type, element);
      r.whole[i] = hull(r.whole[i], {value, value});
      continue;
    }
    const long double apart = std::fabs(load_float(node.type, element) - approximate(r.c[i]));
    r.d[i] = apart >= 0 ? std::max(r.d[i], apart) : unknown;
  }
}

}  // namespace trident::equiv
