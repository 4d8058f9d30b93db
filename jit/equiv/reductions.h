// Reductions over the elements of a call. Strict values are added in the order of jit/kir/kir.h.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "jit/equiv/lanes.h"

namespace trident::equiv {

inline bool is_reduction(expr::Op op) {
  const expr::Signature signature = expr::info(op).signature;
  return signature == expr::Signature::Reduce || signature == expr::Signature::Reduce2;
}

template <class N>
struct Reduction {
  std::uint32_t node = 0;
  std::array<double, 16> s{};
  std::array<std::int64_t, 16> si{};
  Accumulator<N> sum;
  N extreme;
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
      const bool least = op == Op::MinOf;
      const bool extreme = least || op == Op::MaxOf;
      const double infinity = std::numeric_limits<double>::infinity();
      reduction.s.fill(extreme ? (least ? infinity : -infinity) : 0.0);
      const std::int64_t end = extreme ? end_of_range(expr.nodes[i].type, least) : 0;
      reduction.si.fill(end);
      reduction.ci = end;
      set_exact(reduction.extreme, least ? infinity : -infinity);
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
        const std::size_t partial = (at + i) % 16;
        if ((any_unsure(node, lanes, i) & kOpen) != 0) reduction.unsure = true;
        if (ir::is_float(node.type)) {
          feed_float(node, reduction, partial, a, b, i);
        } else {
          reduction.si[partial] = combine_integer(node, reduction.si[partial], a.si[i], b.si[i]);
          reduction.ci = combine_integer(node, reduction.ci, a.ci[i], b.ci[i]);
        }
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

  void feed_float(const expr::Node& node, Reduction<N>& reduction, std::size_t partial, const Lanes<N>& a,
                  const Lanes<N>& b, std::size_t i) {
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

  void finish(const expr::Node& node, Reduction<N>& reduction, Lanes<N>& r, std::uint64_t n) {
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

  std::vector<Reduction<N>> all_;
  N product_;  // scratch
};

}  // namespace trident::equiv
