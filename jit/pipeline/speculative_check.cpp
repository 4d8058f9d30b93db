#include "jit/pipeline/speculative_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "jit/judge/guarded.h"
#include "jit/kir/interpreter.h"
#include "jit/pipeline/speculative_points.h"
#include "jit/pipeline/timed_call.h"

namespace trident::pipeline {
namespace {

/// The first and the last elements of a call each of which lies outside in a call of its own: any step and more.
constexpr std::size_t kPositions = kir::kExitSpan + 22;
/// Elements of a call in which blocks are as long as they may be, with and without chunks.
constexpr std::size_t kLongCall = 3 * codegen::kBlockMax + 77;

/// Says which elements of which calls lie outside: all values of that kind, or one of SpeculativePoints. Elements with
/// a NaN that may come are numbered behind those.
class Layout {
 public:
  static constexpr std::uint32_t kInside = 0, kOutside = 1, kOutsideInOne = 2;

  template <class F>
  void add_call(std::size_t n, F kind_of) {
    calls.push_back({.first = kinds.size(), .n = n, .params = 0, .in_place = mixed(calls.size()) % 2 != 0});
    for (std::size_t i = 0; i < n; ++i) kinds.push_back(kind_of(i));
    elements = kinds.size();
  }
  template <class F>
  void add_mixed_call(std::size_t n, F is_outside) {
    add_call(n, [&](std::size_t i) { return is_outside(i) ? kOutside : kInside; });
  }

  /// Adds the only call: one of n elements, of which a chunk's worth repeats.
  template <class F>
  void add_repeating_call(std::size_t n, F is_outside) {
    add_mixed_call(2 * codegen::kBlockMax, is_outside);
    calls.front().n = elements = n;
  }

  std::vector<judge::GuardedCall> calls;
  /// Say which elements lie outside, from kOutsideInOne on in which value. They repeat up to `elements`.
  std::vector<std::uint32_t> kinds;
  std::size_t elements = 0;
};

void add_short_calls(Layout& layout, std::size_t shortest) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{17}, shortest - (shortest != 0), shortest})
    for (const std::size_t every : {std::size_t{1}, std::size_t{2}, n + 1})
      layout.add_mixed_call(n, [&](std::size_t i) { return (i + 1) % every == 0; });
}

void add_long_calls(Layout& layout, std::size_t n) {
  layout.add_mixed_call(n, [](std::size_t) { return false; });
  layout.add_mixed_call(n, [](std::size_t) { return true; });
  layout.add_mixed_call(n, [&](std::size_t i) { return i == 0 || i + 1 == n; });
  layout.add_mixed_call(n, [](std::size_t i) { return i % codegen::kBlockFirst == codegen::kBlockFirst - 1; });
  layout.add_mixed_call(n, [](std::size_t i) { return mixed(i) % 1000 == 0; });
  layout.add_mixed_call(n, [](std::size_t i) { return mixed(i) % 3 == 0; });
}

/// One element of another kind: each of the first and of the last, with each value of one variable. The kinds of these
/// are `values`, from `first` on.
void add_lone_elements(Layout& layout, std::size_t shortest, std::size_t first, std::size_t values) {
  const std::size_t n = shortest + 2 * kPositions;
  for (std::size_t c = 0; values != 0 && c < std::max(2 * kPositions, values); ++c) {
    const std::size_t place = c % (2 * kPositions), at = place < kPositions ? place : n - 2 * kPositions + place;
    const auto kind = static_cast<std::uint32_t>(first + c % values);
    layout.add_call(n, [&](std::size_t i) { return i == at ? kind : Layout::kInside; });
  }
}

/// NaNs that may come: one in each position, none but these, and few or many among elements inside and outside.
void add_nan(Layout& layout, std::size_t shortest, std::size_t first, std::size_t values) {
  if (values == 0) return;
  add_lone_elements(layout, shortest, first, values);
  const auto nan = [&](std::size_t i) { return static_cast<std::uint32_t>(first + mixed(i) % values); };
  layout.add_call(kLongCall, nan);
  for (const std::size_t every : {std::size_t{3}, std::size_t{1000}}) {
    layout.add_call(kLongCall, [&](std::size_t i) { return mixed(i) % every == 0 ? nan(i + 1) : Layout::kInside; });
    layout.add_call(kLongCall, [&](std::size_t i) {
      const std::size_t draw = mixed(i) % (2 * every);
      return draw == 0 ? nan(i + 1) : draw == 1 ? Layout::kOutside : Layout::kInside;
    });
  }
}

using Columns = std::vector<std::vector<std::byte>>;

/// All calls of a layout with one setting of the scalars.
class Trial {
 public:
  Trial(const SpeculativeQuestion& q, const SpeculativePoints& points, const Layout& layout, Point scalars)
      : q_(q), points_(points), layout_(layout), signature_(judge::signature_of(q.general)) {
    fill(scalars);
    set_params(scalars);
    if (q.whole) return;  // each call by itself
    fast_ = interpreted(q.fast, {.n = layout.kinds.size()});
    general_ = interpreted(q.general, {.n = layout.kinds.size()});
  }

  /// Runs the image, with counters of misses or at the front of its memory.
  Result<std::string> run(bool counts) {
    if (q_.cancelled && q_.cancelled()) return make_error(ErrorCode::kCancelled, "the check as a whole was cut off");
    judge::GuardedRun run{.elements = layout_.elements,
                          .inputs = {},
                          .params = {params_},
                          .calls = layout_.calls,
                          .flush_start = !counts,
                          .counts = counts,
                          .cpu_ns = q_.cpu_ns};
    for (const auto& column : columns_) run.inputs.emplace_back(column);
    TRY(const judge::GuardedResults results, judge::run_guarded(q_.image, signature_, run));
    if (!results.sound()) return "the speculative kernel " + judge::describe(results);
    for (std::size_t c = 0; c < layout_.calls.size(); ++c) {
      if (q_.whole && !is_one_kernels(layout_.calls[c], results.outputs[c]))
        return "the answer of a call of " + std::to_string(layout_.calls[c].n) + " elements, with " +
               std::to_string(missing(layout_.calls[c])) + " outside the assumed ranges, is not the right kernel's";
      for (std::size_t o = 0; o < general_.size(); ++o)
        if (std::string fault = compare(layout_.calls[c], o, results.outputs[c][o]); !fault.empty()) return fault;
      if (counts && !counts_right(layout_.calls[c], results.misses[c]))
        return "a call of " + std::to_string(layout_.calls[c].n) + " elements counted " +
               std::to_string(results.misses[c]) + " misses, with " + std::to_string(missing(layout_.calls[c])) +
               " elements outside the assumed ranges";
    }
    return std::string();
  }

 private:
  [[nodiscard]] Point point(std::size_t e) const {
    const std::uint32_t kind = layout_.kinds[e];
    if (kind == Layout::kOutside) return points_.outside(e);
    Point point = points_.inside(e);
    if (kind == Layout::kInside) return point;
    const std::size_t number = kind - Layout::kOutsideInOne, outside = points_.outside_in_one().size();
    const OneValue& one = number < outside ? points_.outside_in_one()[number] : points_.nan_in_one()[number - outside];
    point[one.variable] = one.bits;
    return point;
  }

  /// Fills the columns of the arrays, and notes which elements lie inside.
  void fill(const Point& scalars) {
    const auto& variables = q_.narrowed.variables;
    for (const expr::Variable& v : variables)
      if (!v.is_scalar()) columns_.emplace_back(layout_.elements * ir::bytes_of(v.type));
    for (std::size_t e = 0; e < layout_.kinds.size(); ++e) {
      const Point at = point(e);
      bool holds = true;
      std::size_t column = 0;
      for (std::size_t v = 0; v < at.size(); ++v) {
        const bool scalar = variables[v].is_scalar();
        holds &= variables[v].is_table() || lies_in(variables[v], scalar ? scalars[v] : at[v]);
        const std::size_t bytes = ir::bytes_of(variables[v].type);
        if (!scalar) std::memcpy(columns_[column++].data() + e * bytes, &at[v], bytes);
      }
      holds_.push_back(holds);
    }
    repeat();
  }

  /// Repeats the elements of all columns up to their ends.
  void repeat() {
    for (std::vector<std::byte>& column : columns_) {
      const std::size_t bytes = column.size() / layout_.elements, period = layout_.kinds.size() * bytes;
      for (std::size_t at = period; at < column.size(); ++at) column[at] = column[at - period];
    }
  }

  /// Returns the number among those that repeat.
  [[nodiscard]] std::size_t element(const judge::GuardedCall& call, std::size_t i) const {
    return (call.first + i) % layout_.kinds.size();
  }

  void set_params(const Point& scalars) {
    for (std::size_t v = 0; v < scalars.size(); ++v)
      if (q_.source.variables[v].is_scalar()) params_.push_back(scalars[v]);
    params_.resize(q_.general.params.size(), layout_.elements);  // the lengths of tables
  }

  [[nodiscard]] Columns interpreted(const kir::Kernel& kernel, const judge::GuardedCall& call) const {
    Columns out;
    std::vector<const void*> in_places;
    std::vector<void*> out_places;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      in_places.push_back(columns_[i].data() + (signature_.is_table(i) ? 0 : call.first * signature_.input_bytes[i]));
    for (const auto& output : signature_.outputs)
      out_places.push_back(out.emplace_back((output.scalar ? 1 : call.n) * output.bytes).data());
    kir::interpret(kernel, call.n, in_places.data(), out_places.data(), params_.data());
    return out;
  }

  [[nodiscard]] bool is_one_kernels(const judge::GuardedCall& call, const Columns& ours) const {
    const bool fast = missing(call) == 0 && call.n != 0 && call.n >= q_.division.shortest && !q_.exact;
    return agree(ours, interpreted(fast ? q_.fast : q_.general, call));
  }

  /// Compares lane by lane; any NaN is like another.
  [[nodiscard]] bool agree(const Columns& a, const Columns& b) const {
    for (std::size_t o = 0; o < signature_.outputs.size(); ++o) {
      const ir::Type type = q_.general.type_of(q_.general.outputs[o].value);
      if (a[o].size() != b[o].size()) return false;
      for (std::size_t i = 0; i < a[o].size() / ir::bytes_of(type); ++i)
        if (!same(type, lane(a[o], i, type), lane(b[o], i, type))) return false;
    }
    return true;
  }

  [[nodiscard]] std::string compare(const judge::GuardedCall& call, std::size_t output,
                                    const std::vector<std::byte>& ours) const {
    const ir::Type type = q_.general.type_of(q_.general.outputs[output].value);
    for (std::size_t i = 0; i < call.n; ++i) {
      const std::size_t e = element(call, i);
      const std::uint64_t have = lane(ours, i, type);
      if (same(type, have, lane(general_[output], e, type))) continue;
      if (!q_.exact && holds_[e] && same(type, have, lane(fast_[output], e, type))) continue;
      return "element " + std::to_string(i) + " of a call of " + std::to_string(call.n) + ", " +
             (holds_[e] ? "inside" : "outside") + " the assumed ranges, is no kernel's";
    }
    return {};
  }

  /// Counts the elements outside in chunks that are not too short for the fast kernel.
  [[nodiscard]] std::uint64_t missing(const judge::GuardedCall& call) const {
    const std::uint64_t chunk = q_.division.chunk != 0 ? q_.division.chunk : std::max<std::uint64_t>(call.n, 1);
    std::uint64_t count = 0;
    for (std::uint64_t first = 0; first < call.n; first += chunk) {
      const std::uint64_t end = std::min(first + chunk, call.n);
      if (end - first < q_.division.shortest) continue;
      for (std::uint64_t i = first; i < end; ++i) count += holds_[element(call, i)] ? 0 : 1;
    }
    return count;
  }

  /// Each miss takes one element outside at least.
  [[nodiscard]] bool counts_right(const judge::GuardedCall& call, std::uint64_t misses) const {
    const std::uint64_t outside = missing(call);
    if (q_.whole) return misses == (outside == 0 ? 0 : codegen::misses_of_call(call.n));
    return misses >= std::min<std::uint64_t>(outside, 1) && misses <= outside;
  }

  static std::uint64_t lane(const std::vector<std::byte>& column, std::size_t i, ir::Type type) {
    const std::size_t bytes = ir::bytes_of(type);
    std::uint64_t bits = 0;
    std::memcpy(&bits, column.data() + i * bytes, bytes);
    return bits;
  }

  static bool same(ir::Type type, std::uint64_t a, std::uint64_t b) {
    return a == b || (ir::is_float(type) && std::isnan(number(type, a)) && std::isnan(number(type, b)));
  }

  static double number(ir::Type type, std::uint64_t bits) {
    return type == ir::Type::f32 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                                 : std::bit_cast<double>(bits);
  }

  const SpeculativeQuestion& q_;
  const SpeculativePoints& points_;
  const Layout& layout_;
  judge::Signature signature_;
  Columns columns_, fast_, general_;
  std::vector<bool> holds_;  ///< by element
  std::vector<std::uint64_t> params_;
};

Result<std::string> try_out(const SpeculativeQuestion& q, const SpeculativePoints& points, const Layout& layout,
                            Point scalars) {
  Trial trial(q, points, layout, std::move(scalars));
  TRY(std::string fault, trial.run(true));
  if (!fault.empty()) return fault;
  return trial.run(false);
}

/// Tries a call that is so long that both kernels stream. Its arrays lie before a boundary, then on one.
Result<std::string> try_streaming(const SpeculativeQuestion& q, const SpeculativePoints& points) {
  constexpr std::size_t kSlack = 500, kBeyondBoundary = 5;
  const auto is_table = [](const expr::Variable& v) { return v.is_table(); };
  if (!q.division.streams || std::any_of(q.source.variables.begin(), q.source.variables.end(), is_table))
    return std::string();  // kernels that read tables do not stream in parts
  Layout layout;
  const std::size_t n = streaming_elements(judge::signature_of(q.general)) + kSlack;
  layout.add_repeating_call(n / 64 * 64 + kBeyondBoundary, [](std::size_t i) { return mixed(i) % 1000 == 0; });
  return try_out(q, points, layout, points.inside(1));
}

/// Tries all calls with scalars inside, and few with each value of a scalar at an end or outside.
Result<std::string> try_all(const SpeculativeQuestion& q, const SpeculativePoints& points) {
  Layout all, few;
  const std::size_t shortest = q.division.shortest, values = points.outside_in_one().size();
  add_short_calls(all, shortest);
  add_lone_elements(all, shortest, Layout::kOutsideInOne, values);
  add_nan(all, shortest, Layout::kOutsideInOne + values, points.nan_in_one().size());
  add_long_calls(all, kLongCall);
  const std::size_t uneven = 2 * std::size_t{q.division.chunk} + shortest + 300;
  add_long_calls(all, uneven);
  add_short_calls(few, shortest);
  few.add_mixed_call(uneven, [](std::size_t) { return false; });
  few.add_mixed_call(uneven, [](std::size_t i) { return mixed(i) % 500 == 0; });
  TRY(std::string fault, try_out(q, points, all, points.inside(1)));
  for (const auto* list : {&points.scalar_ends(), &points.scalars_outside()})
    for (std::size_t i = 0; i < list->size() && fault.empty(); ++i) {
      Point scalars = points.inside(1);
      scalars[(*list)[i].variable] = (*list)[i].bits;
      TRY(fault, try_out(q, points, few, std::move(scalars)));
    }
  if (!fault.empty()) return fault;
  return try_streaming(q, points);
}

}  // namespace

Result<std::string> fault_of_speculative(const SpeculativeQuestion& question) {
  const SpeculativePoints points(question.source, question.narrowed, question.seed);
  if (!points.gap().empty()) return "the assumed range of '" + points.gap() + "' cannot be tried on both sides";
  return try_all(question, points);
}

}  // namespace trident::pipeline
