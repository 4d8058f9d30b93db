// Reductions over the elements of a call. Strict values are joined in the order of jit/kir/reduction.h.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "jit/equiv/lanes.h"
#include "jit/kir/reduction.h"

namespace trident::equiv {

inline bool is_reduction(expr::Op op) {
  const expr::Signature signature = expr::info(op).signature;
  return signature == expr::Signature::Reduce || signature == expr::Signature::Reduce2;
}

/// The strict values of a reduction: those of the chunk at hand, and of the chunks before.
template <class T>
struct StrictParts {
  std::array<T, kir::kPartialBytes / 4> partials{};
  kir::ChunkRun<T> chunks;
};

template <class N>
struct Reduction {
  std::uint32_t node = 0;
  StrictParts<double> s;
  StrictParts<std::int64_t> si;
  Accumulator<N> sum;
  N extreme, product;
  std::int64_t ci = 0;
  long double absolute = 0;  ///< sum of absolute values; 0 where there is no float sum
  bool unsure = false;
};

/// All reductions of an expression.
template <class N>
class Reductions {
 public:
  void start(const expr::Expr& expr) {
    all_.clear();
    for (std::uint32_t i = 0; i < expr.nodes.size(); ++i) {
      const Op op = expr.nodes[i].op;
      if (!is_reduction(op)) continue;
      Reduction<N> reduction;
      reduction.node = i;
      const double infinity = std::numeric_limits<double>::infinity();
      start_chunk(expr.nodes[i], reduction);
      reduction.ci = first_integer(expr.nodes[i]);
      set_exact(reduction.extreme, op == Op::MinOf ? infinity : -infinity);
      set_exact(reduction.product, 1);
      all_.push_back(std::move(reduction));
    }
  }

  /// Takes the elements [at, at + count) of the call, whose operands are in `lanes`.
  void feed(const expr::Expr& expr, const std::vector<Lanes<N>>& lanes, std::uint64_t at, std::size_t count) {
    for (auto& reduction : all_) {
      const expr::Node& node = expr.nodes[reduction.node];
      const Lanes<N>& a = lanes[node.a.index];
      const Lanes<N>& b = node.b.valid() ? lanes[node.b.index] : a;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t partial = (at + i) % kir::partials_of(node.type);
        if ((any_unsure(node, lanes, i) & kOpen) != 0) reduction.unsure = true;
        if (ir::is_float(node.type)) {
          feed_float(node, reduction, partial, a, b, i);
        } else {
          std::int64_t& s = reduction.si.partials[partial];
          s = combine_integer(node, s, a.si[i], b.si[i]);
          reduction.ci = combine_integer(node, reduction.ci, a.ci[i], b.ci[i]);
        }
        if ((at + i + 1) % kir::kChunk == 0) end_chunk(node, reduction);
      }
    }
  }

  /// Sets the lanes of the reductions of a call of `n` elements.
  void finish(const expr::Expr& expr, std::vector<Lanes<N>>& lanes, std::uint64_t n) {
    for (auto& reduction : all_) finish(expr.nodes[reduction.node], reduction, lanes[reduction.node], n);
  }

  [[nodiscard]] const std::vector<Reduction<N>>& all() const { return all_; }

 private:
  using Op = expr::Op;

  static bool is_extreme(const expr::Node& node) { return node.op == Op::MinOf || node.op == Op::MaxOf; }

  static std::int64_t first_integer(const expr::Node& node) {
    if (is_extreme(node)) return end_of_range(node.type, node.op == Op::MinOf);
    return node.op == Op::Prod ? 1 : 0;
  }

  static void start_chunk(const expr::Node& node, Reduction<N>& reduction) {
    const double infinity = std::numeric_limits<double>::infinity(), empty = node.op == Op::Prod ? 1 : 0;
    reduction.s.partials.fill(!is_extreme(node) ? empty : node.op == Op::MinOf ? infinity : -infinity);
    reduction.si.partials.fill(first_integer(node));
  }

  static double joined(const expr::Node& node, double earlier, double later) {
    if (node.op == Op::MinOf) return later < earlier ? later : earlier;
    if (node.op == Op::MaxOf) return later > earlier ? later : earlier;
    return apply_rounded(node.op == Op::Prod ? Op::Mul : Op::Add, node.type, 0, earlier, later, 0);
  }

  static auto joiner(const expr::Node& node, double) {
    return [&node](double earlier, double later) { return joined(node, earlier, later); };
  }
  static auto joiner(const expr::Node& node, std::int64_t) {
    return [&node](std::int64_t earlier, std::int64_t later) { return join_integer(node, earlier, later); };
  }

  template <class T>
  static void end_chunk(const expr::Node& node, StrictParts<T>& parts) {
    const auto join = joiner(node, T{});
    parts.chunks.add(kir::joined_partials(parts.partials.data(), kir::partials_of(node.type), join), join);
  }
  static void end_chunk(const expr::Node& node, Reduction<N>& reduction) {
    if (ir::is_float(node.type))
      end_chunk(node, reduction.s);
    else
      end_chunk(node, reduction.si);
    start_chunk(node, reduction);
  }

  void feed_float(const expr::Node& node, Reduction<N>& reduction, std::size_t partial, const Lanes<N>& a,
                  const Lanes<N>& b, std::size_t i) {
    double& s = reduction.s.partials[partial];
    if (is_extreme(node)) {
      const bool least = node.op == Op::MinOf;
      s = joined(node, s, a.s[i]);
      // NaN elements are ignored: by both evaluations or not at all.
      if (std::isnan(a.s[i]) != std::isnan(approximate(a.c[i]))) reduction.unsure = true;
      const N& c = a.c[i];
      if (least ? less(c, reduction.extreme) : less(reduction.extreme, c)) reduction.extreme = c;
    } else if (node.op == Op::Dot) {
      s = apply_rounded(Op::Add, node.type, 0, s, apply_rounded(Op::Mul, node.type, 0, a.s[i], b.s[i], 0), 0);
      apply_to(Op::Mul, 0, a.c[i], b.c[i], b.c[i], product_);
      reduction.sum.add(product_);
    } else if (node.op == Op::Prod) {
      s = joined(node, s, a.s[i]);
      apply_to(Op::Mul, 0, reduction.product, a.c[i], a.c[i], product_);
      std::swap(reduction.product, product_);
    } else {
      s = apply_rounded(Op::Add, node.type, 0, s, a.s[i], 0);
      reduction.sum.add(a.c[i]);
    }
  }

  void finish(const expr::Node& node, Reduction<N>& reduction, Lanes<N>& r, std::uint64_t n) {
    r.unsure[0] = reduction.unsure ? kOpen : 0;
    if (n % kir::kChunk != 0 || n == 0) end_chunk(node, reduction);
    if (!ir::is_float(node.type)) {
      r.si[0] = reduction.si.chunks.result(joiner(node, std::int64_t{}));
      r.ci[0] = reduction.ci;
      return;
    }
    r.s[0] = reduction.s.chunks.result(joiner(node, double{}));
    if (is_extreme(node)) {
      r.c[0] = reduction.extreme;
      return;
    }
    if (node.op == Op::Prod) {
      r.c[0] = reduction.product;
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

  std::vector<Reduction<N>> all_;
  N product_;  // scratch
};

}  // namespace trident::equiv
