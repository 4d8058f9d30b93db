// The passes of simplify(), each a rebuild of the expression in order:
//
//   identities    bottom-up through the constructors of Simplifier; literal subexpressions rounded once
//   strength      integer powers as shared products, chains of quotients as one, quotients by one divisor through
//                 its reciprocal
//   divisions     where asked for, those by two divisors as one (joined_divisions.h)
//   constants     factors that sums with constants take up (absorbed_constants.h)
//   contraction   products that only a sum needs become part of it (fma); exact ones in any case
#include "jit/expr/simplify.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "jit/expr/absorbed_constants.h"
#include "jit/expr/amplification.h"
#include "jit/expr/compact.h"
#include "jit/expr/constants.h"
#include "jit/expr/joined_divisions.h"
#include "jit/expr/powers.h"
#include "jit/expr/simplifier.h"
#include "jit/expr/zero_signs.h"

namespace trident::expr {
namespace {

std::vector<std::uint32_t> use_counts(const Expr& expr) {
  std::vector<std::uint32_t> uses(expr.nodes.size(), 0);
  for (const Node& n : expr.nodes) {
    for (const NodeId operand : {n.a, n.b, n.c}) {
      if (operand.valid()) ++uses[operand.index];
    }
  }
  for (const Output& o : expr.outputs) ++uses[o.node.index];
  return uses;
}

Expr identities(const Expr& expr, const LowerOptions& options, bool keep_roundings = false) {
  Expr out;
  out.variables = expr.variables;
  Simplifier simplifier(out, options, keep_roundings);
  std::vector<std::optional<long double>> literals;
  if (simplifier.real()) literals = literal_values(expr);
  literals.resize(expr.nodes.size());
  const std::vector<bool> signed_zeros = zero_signs_that_matter(expr, options);
  std::vector<NodeId> place(expr.nodes.size());
  for (std::size_t i = 0; i < expr.nodes.size(); ++i) {
    const Node& n = expr.nodes[i];
    const bool literal = literals[i] && !(signed_zeros[i] && *literals[i] == 0);
    place[i] = literal ? simplifier.builder().constant(n.type, round_to(n.type, *literals[i]))
                       : simplifier.make(moved(n, place), signed_zeros[i]);
  }
  move_outputs(expr, out, place);
  return out;
}

// Seeds the chain with x^2 and an x^3 that is rounded once: later links multiply their errors.
void seed(PowerChain<NodeId>& chain, Builder& builder, NodeId x, const std::vector<std::int64_t>& exponents) {
  if (*std::max_element(exponents.begin(), exponents.end()) < 5) return;
  const NodeId square = builder.op(Op::Mul, x, x);
  const NodeId rest = builder.op(Op::Fma, x, x, builder.op(Op::Neg, square));
  chain.add(2, square);
  chain.add(3, builder.op(Op::Fma, square, x, builder.op(Op::Mul, rest, x)));
}

// Expands powers that a chain of products is accurate enough for; per base by rising exponent, so that they share.
Expr expand_powers(const Expr& expr, const LowerOptions& options) {
  const std::vector<bool> accurate = accurate_chains(expr, options);
  const std::vector<bool> worse = amplified_errors(expr, options);
  std::vector<bool> amplified(expr.nodes.size(), false);  // per base: whether one of its powers is
  std::vector<bool> overflows(expr.nodes.size(), false);  // per base: whether one of its powers may
  Ranges ranges(expr, options);
  std::map<std::uint32_t, std::vector<std::int64_t>> wanted;
  for (std::size_t i = 0; i < expr.nodes.size(); ++i) {
    const Node& n = expr.nodes[i];
    if (!accurate[i] || !ir::is_float(n.type)) continue;
    wanted[n.a.index].push_back(std::abs(static_cast<std::int64_t>(n.imm)));
    amplified[n.a.index] = amplified[n.a.index] || worse[i];
    overflows[n.a.index] = overflows[n.a.index] || !ranges.at(NodeId(static_cast<std::uint32_t>(i))).finite();
  }
  if (wanted.empty()) return expr;
  Expr out;
  out.variables = expr.variables;
  Builder builder(out);
  std::vector<NodeId> place(expr.nodes.size());
  std::map<std::uint32_t, PowerChain<NodeId>> chains;
  const auto multiply = [&](NodeId a, NodeId b) { return builder.op(Op::Mul, std::min(a, b), std::max(a, b)); };
  for (std::uint32_t i = 0; i < expr.nodes.size(); ++i) {
    const Node& n = expr.nodes[i];
    if (!accurate[i] || !ir::is_float(n.type)) {
      place[i] = builder.add(moved(n, place));
      continue;
    }
    auto [chain, first] = chains.try_emplace(n.a.index, place[n.a.index]);
    if (first) {
      if (amplified[n.a.index] && !overflows[n.a.index])
        seed(chain->second, builder, place[n.a.index], wanted[n.a.index]);
      std::vector<std::int64_t>& exponents = wanted[n.a.index];
      std::sort(exponents.begin(), exponents.end());
      for (const std::int64_t e : exponents) chain->second.power(static_cast<std::uint64_t>(e), multiply);
    }
    const auto exponent = static_cast<std::int64_t>(n.imm);
    const NodeId power = chain->second.power(static_cast<std::uint64_t>(std::abs(exponent)), multiply);
    place[i] = exponent < 0 ? builder.op(Op::Div, builder.constant(n.type, 1), power) : power;
  }
  move_outputs(expr, out, place);
  return out;
}

// Finds nodes whose only user divides them, or multiplies them by a quotient or into such a node: a quotient there
// meets another one.
std::vector<bool> meets_quotient(const Expr& expr, const std::vector<std::uint32_t>& uses) {
  std::vector<bool> meets(expr.nodes.size(), false);
  for (std::size_t i = expr.nodes.size(); i-- > 0;) {
    const Node& n = expr.nodes[i];
    const auto own = [&](NodeId id) { return uses[id.index] == 1; };
    if (n.op == Op::Div && own(n.a)) meets[n.a.index] = true;
    if (n.op != Op::Mul) continue;
    if (own(n.a) && (meets[i] || (expr.at(n.b).op == Op::Div && own(n.b)))) meets[n.a.index] = true;
    if (own(n.b) && (meets[i] || (expr.at(n.a).op == Op::Div && own(n.a)))) meets[n.b.index] = true;
  }
  return meets;
}

// Quotients that nothing else needs move outwards to where they meet another, so that one division remains:
// (x / y) z = (x z) / y and (x / y) / z = x / (y z); a reciprocal of that kind becomes the quotient that it stands for.
Expr join_quotients(const Expr& expr, const LowerOptions& options) {
  const std::vector<std::uint32_t> uses = use_counts(expr);
  const std::vector<bool> meets = meets_quotient(expr, uses);
  Expr out;
  out.variables = expr.variables;
  Simplifier simplifier(out, options);
  Builder& builder = simplifier.builder();
  std::vector<NodeId> place(expr.nodes.size());
  for (std::size_t i = 0; i < expr.nodes.size(); ++i) {
    const Node& source = expr.nodes[i];
    const Node n = moved(source, place);
    place[i] = builder.add(n);
    if ((source.op != Op::Mul && source.op != Op::Div) || !ir::is_float(source.type)) continue;
    // Copies: the builder may move its nodes while they are in use.
    const Node a = builder.at(n.a);
    const Node b = builder.at(n.b);
    const auto joins = [&](const Node& q, NodeId from) {
      double one = 0;
      const bool reciprocal = q.op == Op::Div && simplifier.constant(q.a, one) && one == 1;
      return q.op == Op::Div && uses[from.index] == 1 && simplifier.shape(q.b) != Shape::uniform &&
             (meets[from.index] || reciprocal);
    };
    const bool joins_a = joins(a, source.a);
    const bool joins_b = source.op == Op::Mul && joins(b, source.b);
    if (source.op == Op::Mul && (joins_a || joins_b)) {
      const NodeId above = joins_a ? simplifier.mul(a.a, n.b) : simplifier.mul(n.a, b.a);
      if (simplifier.tame(above)) place[i] = builder.op(Op::Div, above, joins_a ? a.b : b.b);
    } else if (source.op == Op::Div && joins_a) {
      const NodeId below = simplifier.mul(a.b, n.b);
      if (simplifier.central(below)) place[i] = builder.op(Op::Div, a.a, below);
    }
  }
  move_outputs(expr, out, place);
  return out;
}

// Shares reciprocals: x / d, y / d become x r, y r with r = 1 / d; so does x / (d e) for another such e. A quotient
// whose divisor is used once stays: it is rounded once.
class ReciprocalSharing {
 public:
  ReciprocalSharing(const Expr& expr, const LowerOptions& options)
      : expr_(expr),
        simplifier_(out_, options),
        quotients_(expr.nodes.size(), 0),
        amplified_(amplified_errors(expr, options)),
        signed_zeros_(zero_signs_that_matter(expr, options)) {
    out_.variables = expr.variables;
  }

  Expr run() {
    for (const Node& n : expr_.nodes) {
      if (n.op == Op::Div) ++quotients_[n.b.index];
    }
    direct_ = quotients_;
    // A divisor that is a product of two others counts for them.
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
      const Node& n = expr_.nodes[i];
      if (n.op != Op::Div || amplified_[i] || !factors(n.b)) continue;
      ++quotients_[expr_.at(n.b).a.index];
      ++quotients_[expr_.at(n.b).b.index];
    }
    if (std::none_of(quotients_.begin(), quotients_.end(), [](std::uint32_t q) { return q > 1; })) return expr_;
    place_.resize(expr_.nodes.size());
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
      const Node& n = expr_.nodes[i];
      place_[i] = simplifier_.builder().add(moved(n, place_));
      if (n.op == Op::Div) place_[i] = quotient(i, n, place_[i]);
    }
    move_outputs(expr_, out_, place_);
    return std::move(out_);
  }

 private:
  // Returns whether `divisor` is a product of nodes that other quotients divide by.
  [[nodiscard]] bool factors(NodeId divisor) const {
    const Node& d = expr_.at(divisor);
    return d.op == Op::Mul && quotients_[divisor.index] == 1 && quotients_[d.a.index] > 0 && quotients_[d.b.index] > 0;
  }
  // Returns whether quotients by `divisor` share its reciprocal, in any order with other factors.
  bool shared(NodeId divisor) { return quotients_[divisor.index] > 1 && simplifier_.central(place_[divisor.index]); }
  // Returns whether they share it where the ranges tell nothing: the reciprocal of a root is normal, or infinite or
  // zero where the quotient is. The two roundings are no more than two units of the quotient's own.
  [[nodiscard]] bool shared_root(NodeId divisor) const {
    return expr_.at(divisor).op == Op::Sqrt && direct_[divisor.index] > 1;
  }
  NodeId times_reciprocal(NodeId x, NodeId divisor) {
    Builder& b = simplifier_.builder();
    double one = 0;
    const NodeId r = b.op(Op::Div, b.constant(b.type_of(divisor), 1), divisor);
    if (simplifier_.constant(x, one) && one == 1) return r;
    return simplifier_.constant(x, one) ? b.op(Op::Mul, r, x) : b.op(Op::Mul, x, r);
  }
  NodeId corrected(NodeId x, NodeId divisor) {
    Builder& b = simplifier_.builder();
    const NodeId r = b.op(Op::Div, b.constant(b.type_of(divisor), 1), divisor);
    const NodeId q = b.op(Op::Mul, x, r);
    const NodeId rest = b.op(Op::Fma, b.op(Op::Neg, q), divisor, x);
    return b.op(Op::Fma, rest, r, q);
  }
  NodeId quotient(std::size_t i, const Node& n, NodeId plain) {
    const Node& d = expr_.at(n.b);
    const NodeId x = place_[n.a.index];
    double v = 0;
    if (shared(n.b)) {
      const bool reciprocal = simplifier_.constant(x, v) && v == 1;
      if (reciprocal || !amplified_[i]) return times_reciprocal(x, place_[n.b.index]);
      return signed_zeros_[i] || !simplifier_.tame(x) ? plain : corrected(x, place_[n.b.index]);
    }
    if (shared_root(n.b)) return times_reciprocal(x, place_[n.b.index]);
    if (!amplified_[i] && d.op == Op::Mul && quotients_[n.b.index] == 1 && shared(d.a) && shared(d.b)) {
      return times_reciprocal(times_reciprocal(x, place_[d.a.index]), place_[d.b.index]);
    }
    return plain;
  }

  const Expr& expr_;
  Expr out_;
  Simplifier simplifier_;
  std::vector<std::uint32_t> quotients_;  // by each node, products of two divisors counted for both
  std::vector<std::uint32_t> direct_;     // by the node itself
  std::vector<bool> amplified_;
  std::vector<bool> signed_zeros_;
  std::vector<NodeId> place_;
};

// A product with a power of two is exact. Where the other factor is made of products with constants that nothing else
// needs, the constants absorb it: 4 (x * 6 - y * 12) = x * 24 - y * 48.
class PowersOfTwo {
 public:
  PowersOfTwo(const Expr& expr, const LowerOptions& options)
      : expr_(expr), ranges_(expr, options), builder_(out_), uses_(use_counts(expr)) {
    out_.variables = expr.variables;
  }

  Expr run() {
    place_.resize(expr_.nodes.size());
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
      const Node& n = expr_.nodes[i];
      place_[i] = taken_up(n) ? scaled(n.a) : builder_.add(moved(n, place_));
    }
    move_outputs(expr_, out_, place_);
    return std::move(out_);
  }

 private:
  // Returns whether `n` is such a product; factor_ is its power of two then.
  bool taken_up(const Node& n) {
    if (n.op != Op::Mul || !ir::is_float(n.type) || expr_.at(n.b).op != Op::Constant) return false;
    factor_ = value_of(n.type, expr_.at(n.b).imm);
    constexpr double kLargest = 0x1p20;
    return is_power_of_two(factor_) && std::fabs(factor_) <= kLargest && std::fabs(factor_) >= 1 / kLargest &&
           expr_.at(n.a).op != Op::Constant && can_scale(n.a);
  }

  bool can_scale(NodeId id) {
    const Node& n = expr_.at(id);
    if (n.op == Op::Constant) return true;
    const Fact f = ranges_.at(id);
    const double limit = n.type == Type::f32 ? 0x1p80 : 0x1p700;
    if (uses_[id.index] != 1 || !f.finite() || f.lo < -limit || f.hi > limit) return false;
    if (n.op == Op::Neg || n.op == Op::Div) return can_scale(n.a);
    if (n.op == Op::Mul) return can_scale(n.b) || can_scale(n.a);
    return (n.op == Op::Add || n.op == Op::Sub) && can_scale(n.a) && can_scale(n.b);
  }

  NodeId scaled(NodeId id) {
    const Node& n = expr_.at(id);
    const auto at = [&](NodeId operand) { return place_[operand.index]; };
    if (n.op == Op::Constant) return builder_.constant(n.type, value_of(n.type, n.imm) * factor_);
    if (n.op == Op::Neg) return builder_.op(Op::Neg, scaled(n.a));
    if (n.op == Op::Div) return builder_.op(Op::Div, scaled(n.a), at(n.b));
    if (n.op != Op::Mul) return builder_.op(n.op, scaled(n.a), scaled(n.b));
    return can_scale(n.b) ? builder_.op(Op::Mul, at(n.a), scaled(n.b)) : builder_.op(Op::Mul, scaled(n.a), at(n.b));
  }

  const Expr& expr_;
  Ranges ranges_;
  Expr out_;
  Builder builder_;
  std::vector<std::uint32_t> uses_;
  std::vector<NodeId> place_;
  double factor_ = 1;
};

// Finds the nodes below an operand whose zero or sign an operation shows: divisors, and operands of roots and
// logarithms. Those that ranges keep away from zero do not count.
std::vector<bool> below_poles(const Expr& expr, Ranges& ranges) {
  std::vector<bool> below(expr.nodes.size(), false);
  for (std::size_t i = expr.nodes.size(); i-- > 0;) {
    const Node& n = expr.nodes[i];
    const OpInfo& row = info(n.op);
    const bool power = n.op == Op::Powi && static_cast<std::int64_t>(n.imm) < 0;
    const bool first = row.at_zero != AtZero::regular || row.domain != Domain::all || power ||
                       row.zero_sign_read == ZeroSignRead::first || row.zero_sign_read == ZeroSignRead::both;
    const bool second = row.zero_sign_read == ZeroSignRead::second || row.zero_sign_read == ZeroSignRead::both;
    for (const auto& [operand, shown] : {std::pair(n.a, first), std::pair(n.b, second), std::pair(n.c, false)})
      if (operand.valid() && (below[i] || (shown && !ranges.at(operand).positive()))) below[operand.index] = true;
  }
  return below;
}

class Contraction {
 public:
  /// `careful`: but for sums that may cancel below a pole. x y - z w is zero where both products are equal, and after
  /// contraction the rounding error of one of them: a quotient by it is no longer infinite.
  enum class Which : std::uint8_t { all, careful, exact };
  Contraction(const Expr& expr, const LowerOptions& options, Which which)
      : expr_(expr), ranges_(expr, options), which_(which), builder_(out_), uses_(use_counts(expr)) {
    out_.variables = expr.variables;
    if (which == Which::careful) below_poles_ = below_poles(expr, ranges_);
  }

  Expr run() {
    place_.resize(expr_.nodes.size());
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
      const Node& n = expr_.nodes[i];
      NodeId fused;
      if ((n.op == Op::Add || n.op == Op::Sub) && ir::is_float(n.type) && may_fuse(i)) fused = sum(n);
      if (n.op == Op::Neg && ir::is_float(n.type) && which_ != Which::exact) fused = negated(n);
      place_[i] = fused.valid() ? fused : builder_.add(moved(n, place_));
    }
    move_outputs(expr_, out_, place_);
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool may_fuse(std::size_t sum) {
    if (which_ != Which::careful || !below_poles_[sum]) return true;
    const Node& n = expr_.nodes[sum];
    const Fact a = ranges_.at(n.a), b = ranges_.at(n.b);
    return a.nonnegative() && (n.op == Op::Add ? b.nonnegative() : b.hi <= 0);
  }
  // With care for poles, squares are products too: powers are not expanded before.
  [[nodiscard]] bool is_product(NodeId id) const {
    const Node& n = expr_.at(id);
    return n.op == Op::Mul || (which_ == Which::careful && n.op == Op::Powi && static_cast<std::int64_t>(n.imm) == 2);
  }
  [[nodiscard]] bool own(NodeId id) const { return uses_[id.index] == 1; }

  // Returns whether the value of `from` depends on `on`.
  [[nodiscard]] bool depends(NodeId from, NodeId on) const {
    std::vector<bool> needed(from.index + 1, false);
    needed[from.index] = true;
    for (std::uint32_t i = from.index + 1; i-- > 0 && i >= on.index;) {
      if (!needed[i]) continue;
      if (i == on.index) return true;
      for (const NodeId operand : {expr_.nodes[i].a, expr_.nodes[i].b, expr_.nodes[i].c}) {
        if (operand.valid()) needed[operand.index] = true;
      }
    }
    return false;
  }

  // Returns whether `product` may lose its rounding in a sum with `other`. Not where `other` contains the same rounded
  // product: x y - f(x y) may be zero, and the rounding error would be the whole result.
  [[nodiscard]] bool fusible(NodeId product, NodeId other) {
    if (which_ == Which::exact) return is_exact(product);
    return is_product(product) && (own(product) || !depends(other, product));
  }

  // A product with a power of two that does not overflow has no rounding to lose.
  [[nodiscard]] bool is_exact(NodeId product) {
    const Node& p = expr_.at(product);
    if (p.op != Op::Mul || !ranges_.at(product).finite()) return false;
    const Node& factor = expr_.at(p.b);
    return factor.op == Op::Constant && is_power_of_two(value_of(factor.type, factor.imm));
  }

  NodeId sum(const Node& n) {
    // If both are products, one that is needed elsewhere stays; one used by sums only is fused into each.
    NodeId product;
    if (fusible(n.a, n.b)) product = n.a;
    if (fusible(n.b, n.a) && (!product.valid() || (own(n.b) && !own(n.a)))) product = n.b;
    if (!product.valid()) return {};
    const Node& p = expr_.at(product);
    const NodeId other = product == n.a ? n.b : n.a;
    NodeId x = place_[p.a.index];
    NodeId z = place_[other.index];
    if (n.op == Op::Sub && product == n.b) x = builder_.op(Op::Neg, x);
    if (n.op == Op::Sub && product == n.a) z = builder_.op(Op::Neg, z);
    return builder_.op(Op::Fma, x, place_[(p.b.valid() ? p.b : p.a).index], z);
  }

  // -((x y) / d) = (-(x y)) / d, where lowering makes one operation of the negated product.
  NodeId negated(const Node& n) {
    const Node& q = expr_.at(n.a);
    if (q.op != Op::Div || !own(n.a) || expr_.at(q.a).op != Op::Mul || !own(q.a)) return {};
    return builder_.op(Op::Div, builder_.op(Op::Neg, place_[q.a.index]), place_[q.b.index]);
  }

  const Expr& expr_;
  Ranges ranges_;
  Which which_;
  Expr out_;
  Builder builder_;
  std::vector<std::uint32_t> uses_;
  std::vector<bool> below_poles_;
  std::vector<NodeId> place_;
};

// Quotients by constants without a division, and all but as accurate: x / c = x h + x l, where h + l is 1 / c to twice
// the digits of the type. h is cut off, so that l has its sign: an infinite or zero x gives what the quotient is.
//
// The roundings of l and x l are 2^-23 ulp each of an f32, far below the last one. Where x l is subnormal, its rounding
// is half the least number at most. One product by 1 / c, which simplify() takes, costs half as much, but it is rounded
// twice. Where the last bit decides whether a later product overflows, its result may be NaN where the text has a
// number, so that the form is refused.
struct Inverse {
  double high = 0, low = 0;
};

/// Returns 1 / c in two parts of one sign, or nothing where that is one number, or may underflow.
std::optional<Inverse> inverse_of(Type type, double c) {
  const double limit = type == Type::f32 ? 0x1p60 : 0x1p500, size = std::fabs(c);
  if (!(size >= 1 / limit && size <= limit) || is_power_of_two(c)) return std::nullopt;
  const bool single = type == Type::f32;
  double high = round_to(type, 1.0L / size);
  if (std::fma(high, size, -1.0) > 0)
    high = single ? std::nextafter(static_cast<float>(high), 0.0F) : std::nextafter(high, 0.0);
  const double low = round_to(type, static_cast<long double>(-std::fma(high, size, -1.0)) / size);
  return Inverse{std::copysign(high, c), std::copysign(low, c)};
}

}  // namespace

Expr simplify(const Expr& expr, const LowerOptions& options) {
  Expr out = identities(expr, options);
  if (options.policy.kind == PolicyKind::exact) return out;
  // A second round sees through operations that the first one removed above its operands.
  out = identities(out, options);
  out = expand_powers(out, options);
  out = join_quotients(out, options);
  const bool rounds_more = options.policy.kind == PolicyKind::fast || options.policy.k >= 2;
  if (rounds_more) out = ReciprocalSharing(out, options).run();
  if (options.join_divisions) out = join_divisions(out, options);
  if (rounds_more) out = absorb_constants(out, options);
  return Contraction(out, options, Contraction::Which::all).run();
}

Expr drop_idle_operations(const Expr& expr, const LowerOptions& options) {
  const Expr once = PowersOfTwo(identities(expr, options, true), options).run();
  return Contraction(identities(once, options, true), options, Contraction::Which::exact).run();
}

Expr contract(const Expr& expr) {
  return Contraction(expr, {}, Contraction::Which::all).run();
}

Expr contract_carefully(const Expr& expr) {
  return Contraction(expr, {}, Contraction::Which::careful).run();
}

Expr multiply_constant_quotients(const Expr& expr) {
  Expr out;
  out.variables = expr.variables;
  Builder builder(out);
  std::vector<NodeId> place(expr.nodes.size());
  for (std::size_t i = 0; i < expr.nodes.size(); ++i) {
    const Node& n = expr.nodes[i];
    std::optional<Inverse> inverse;
    if (n.op == Op::Div && ir::is_float(n.type) && expr.at(n.b).op == Op::Constant && expr.at(n.a).op != Op::Constant)
      inverse = inverse_of(n.type, value_of(n.type, expr.at(n.b).imm));
    if (!inverse) {
      place[i] = builder.add(moved(n, place));
      continue;
    }
    const NodeId x = place[n.a.index];
    const NodeId rest = builder.op(Op::Mul, x, builder.constant(n.type, inverse->low));
    place[i] = builder.op(Op::Fma, x, builder.constant(n.type, inverse->high), rest);
  }
  move_outputs(expr, out, place);
  return out;
}

}  // namespace trident::expr
