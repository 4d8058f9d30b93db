// Reductions over the elements of a call. Strict values are joined in the order of jit/kir/reduction.h.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "jit/equiv/intervals.h"
#include "jit/equiv/lanes.h"
#include "jit/equiv/located.h"
#include "jit/expr/shape.h"
#include "jit/kir/reduction.h"

namespace trident::equiv {

inline bool is_reduction(expr::Op op) {
  return expr::makes_total(op);
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
  std::uint32_t pass = 0;  ///< passes that have ended before its elements are known
  StrictParts<double> s;
  StrictParts<std::int64_t> si;
  Accumulator<N> sum;
  N extreme, product;
  std::int64_t ci = 0;
  long double d = 0;           ///< sum of the elements' running errors, products' own ones too
  long double lo = 0, hi = 0;  ///< of a least or greatest element, with these errors
  long double doublings = 0;   ///< of a product: binary logarithm of the product of all factors above 1
  Whole whole;
  std::uint8_t unsure = 0;
  Located<N> located;
};

/// Notes that a part of a sum overflows, in the one order that there is, where the whole is a number.
template <class N>
void note_overflow_in_part(Lanes<N>& r) {
  if (!std::isfinite(approximate(r.c[0]))) return;
  if (!std::isfinite(r.s[0])) r.unsure[0] |= kOverflows;
  if (std::isnan(r.s[0])) r.unsure[0] |= kMayBeNan;
}

/// All reductions of an expression.
template <class N>
class Reductions {
 public:
  /// `k`: units of the running error.
  explicit Reductions(long double k) : k_(k) {}

  void start(const expr::Expr& expr, const std::vector<expr::Place>& places) {
    all_.clear();
    for (std::uint32_t i = 0; i < expr.nodes.size(); ++i) {
      const Op op = expr.nodes[i].op;
      if (!is_reduction(op)) continue;
      Reduction<N> reduction;
      reduction.node = i;
      reduction.pass = places[expr.nodes[i].a.index].after;
      if (expr.nodes[i].b.valid())
        reduction.pass = std::max<std::uint32_t>(reduction.pass, places[expr.nodes[i].b.index].after);
      if (is_located(expr.nodes[i])) {
        reduction.located = Located<N>(op == Op::ArgMin);
        all_.push_back(std::move(reduction));
        continue;
      }
      const double infinity = std::numeric_limits<double>::infinity();
      start_chunk(expr.nodes[i], reduction);
      reduction.ci = first_integer(expr.nodes[i]);
      reduction.whole = {reduction.ci, reduction.ci};
      set_exact(reduction.extreme, op == Op::MinOf ? infinity : -infinity);
      reduction.lo = reduction.hi = static_cast<long double>(op == Op::MinOf ? infinity : -infinity);
      set_exact(reduction.product, 1);
      all_.push_back(std::move(reduction));
    }
  }

  /// Takes the elements [at, at + count) of the call, whose operands are in `lanes`, in a pass.
  void feed(const expr::Expr& expr, const std::vector<Lanes<N>>& lanes, std::uint64_t at, std::size_t count,
            std::uint32_t pass) {
    for (auto& reduction : all_) {
      if (reduction.pass != pass) continue;
      const expr::Node& node = expr.nodes[reduction.node];
      const Lanes<N>& a = lanes[node.a.index];
      const Lanes<N>& b = node.b.valid() ? lanes[node.b.index] : a;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t partial = (at + i) % kir::partials_of(node.type);
        reduction.unsure |= any_unsure(node, lanes, i);
        if (is_located(node)) {
          reduction.located.add(expr.at(node.a).type, a, i);
          continue;
        }
        if (ir::is_float(node.type)) {
          feed_float(node, reduction, partial, a, b, i);
        } else {
          std::int64_t& s = reduction.si.partials[partial];
          s = combine_integer(node, s, a.si[i], b.si[i]);
          reduction.ci = combine_integer(node, reduction.ci, a.ci[i], b.ci[i]);
          feed_whole(node, reduction, a.whole[i], b.whole[i]);
        }
        if ((at + i + 1) % kir::kChunk == 0) end_chunk(node, reduction);
      }
    }
  }

  /// Sets the lanes of the reductions of a pass of a call of `n` elements.
  void finish(const expr::Expr& expr, std::vector<Lanes<N>>& lanes, std::uint64_t n, std::uint32_t pass) {
    for (auto& reduction : all_)
      if (reduction.pass == pass) finish(expr.nodes[reduction.node], reduction, lanes[reduction.node], n);
  }

 private:
  using Op = expr::Op;

  static bool is_located(const expr::Node& node) { return expr::info(node.op).signature == expr::Signature::Locate; }
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
      if (std::isnan(a.s[i]) != std::isnan(approximate(a.c[i]))) reduction.unsure |= kOpen;
      const N& c = a.c[i];
      feed_ends(least, reduction, around(a, i));
      if (least ? less(c, reduction.extreme) : less(reduction.extreme, c)) reduction.extreme = c;
    } else if (node.op == Op::Dot) {
      s = apply_rounded(Op::Add, node.type, 0, s, apply_rounded(Op::Mul, node.type, 0, a.s[i], b.s[i], 0), 0);
      apply_to(Op::Mul, 0, a.c[i], b.c[i], b.c[i], product_);
      reduction.sum.add(product_);
      const long double product = approximate(product_);
      const long double moved = carried(expr::RealOp::Mul, 0, around(a, i), around(b, i), {}, product);
      reduction.d += moved + k_ * unit_error(Op::Mul, node.type, 0, {}, {}, std::fabs(product) + moved);
    } else if (node.op == Op::Prod) {
      s = joined(node, s, a.s[i]);
      apply_to(Op::Mul, 0, reduction.product, a.c[i], a.c[i], product_);
      feed_product_error(node.type, reduction, around(a, i));
      std::swap(reduction.product, product_);
    } else {
      s = apply_rounded(Op::Add, node.type, 0, s, a.s[i], 0);
      reduction.sum.add(a.c[i]);
      reduction.d += a.d[i];
    }
  }

  // Sets `d` to the error of the product so far, in `product_`, of the factors before and this one.
  void feed_product_error(expr::Type type, Reduction<N>& reduction, const Around& factor);
  void finish_product(expr::Type type, const Reduction<N>& reduction, Lanes<N>& r, std::uint64_t n) const;

  static void feed_ends(bool least, Reduction<N>& reduction, const Around& x) {
    if (std::isnan(x.v)) return;
    const long double lo = x.v - x.d, hi = x.v + x.d;
    reduction.lo = least ? std::fmin(reduction.lo, lo) : std::fmax(reduction.lo, lo);
    reduction.hi = least ? std::fmin(reduction.hi, hi) : std::fmax(reduction.hi, hi);
  }

  static void feed_whole(const expr::Node& node, Reduction<N>& reduction, const Whole& a, const Whole& b) {
    expr::Node step = node;
    step.op = node.op == Op::MinOf ? Op::Min : node.op == Op::MaxOf ? Op::Max : Op::Add;
    if (node.op == Op::Prod) step.op = Op::Mul;
    expr::Node times = node;
    times.op = Op::Mul;
    reduction.whole = apply_whole(step, reduction.whole, node.op == Op::Dot ? apply_whole(times, a, b) : a);
  }

  void finish(const expr::Node& node, Reduction<N>& reduction, Lanes<N>& r, std::uint64_t n) {
    r.unsure[0] = reduction.unsure;
    if (is_located(node)) return reduction.located.finish(r);
    if (n % kir::kChunk != 0 || n == 0) end_chunk(node, reduction);
    if (!ir::is_float(node.type)) {
      r.si[0] = reduction.si.chunks.result(joiner(node, std::int64_t{}));
      r.ci[0] = reduction.ci;
      r.whole[0] = reduction.whole;
      return;
    }
    r.s[0] = reduction.s.chunks.result(joiner(node, double{}));
    if (is_extreme(node)) {
      r.c[0] = reduction.extreme;
      if ((r.unsure[0] & kMayBeNan) != 0) r.unsure[0] |= kMayOverflow;  // NaN elements are ignored
      const long double extreme = approximate(reduction.extreme);
      const long double d = std::max(reduction.hi - extreme, extreme - reduction.lo);
      r.d[0] = reduction.lo == reduction.hi ? 0 : d >= 0 ? d : std::numeric_limits<long double>::infinity();
      return;
    }
    if (node.op == Op::Prod) return finish_product(node.type, reduction, r, n);
    r.c[0] = reduction.sum.value();
    // Elements may be as far from their correct values as their errors say, on the other side of a step above all.
    r.d[0] = reduction.d + k_ * reduction_error(node.type, n, reduction.sum.absolute() + reduction.d);
    if (!(r.d[0] >= 0)) r.d[0] = std::numeric_limits<long double>::infinity();
    note_overflow(node.type, r, 0);
    note_overflow_in_part(r);
    if (node.op != Op::Mean) return;
    const double n_rounded = int_to_float(node.type, static_cast<std::int64_t>(n));
    r.s[0] = apply_rounded(Op::Div, node.type, 0, r.s[0], n_rounded, 0);
    N divisor;
    set_int(divisor, static_cast<std::int64_t>(n));
    N sum = r.c[0];
    apply_to(Op::Div, 0, sum, divisor, divisor, r.c[0]);
    r.d[0] = r.d[0] / static_cast<long double>(n);
    r.d[0] += k_ * unit_error(Op::Div, node.type, 0, {}, {}, std::fabs(approximate(r.c[0])) + r.d[0]);
  }

  long double k_;
  std::vector<Reduction<N>> all_;
  N product_;  // scratch
};

template <class N>
void Reductions<N>::feed_product_error(expr::Type type, Reduction<N>& reduction, const Around& factor) {
  const long double product = approximate(product_), size = std::fabs(factor.v) + factor.d;
  const Around before{approximate(reduction.product), reduction.d};
  const long double moved = carried(expr::RealOp::Mul, 0, before, factor, {}, product);
  reduction.d = moved + k_ * unit_error(Op::Mul, type, 0, {}, {}, std::fabs(product) + moved);
  if (size > 1) reduction.doublings += std::log2(size);
}

// A part of the factors may overflow where all together do not, or underflow, and the others multiply what it lost.
template <class N>
void Reductions<N>::finish_product(expr::Type type, const Reduction<N>& reduction, Lanes<N>& r, std::uint64_t n) const {
  r.c[0] = reduction.product;
  const long double lost = k_ * static_cast<long double>(n) * unit_error(Op::Mul, type, 0, {}, {}, 0);
  r.d[0] = reduction.d + lost * std::exp2(reduction.doublings);
  if (!(r.d[0] >= 0)) r.d[0] = std::numeric_limits<long double>::infinity();
  note_overflow(type, r, 0);
  if (!(reduction.doublings < std::log2(greatest_finite(type)))) r.unsure[0] |= kOverflows | kMayOverflow;
}

}  // namespace trident::equiv
