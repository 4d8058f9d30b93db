// Expr -> kir. Every op has one strict translation. Known ranges of its operands only remove work that cannot matter
// (NaN handling of min and max, range reductions of math functions). The kir Builder's sections do the rest: values of
// parameters and constants land before the loop, values of reductions after it.
//
// Comparisons are masks as wide as the compared values; they change width only where they meet another width.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <unordered_map>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"
#include "jit/expr/expr.h"
#include "jit/expr/nan_sets.h"
#include "jit/expr/passes.h"
#include "jit/expr/powers.h"
#include "jit/expr/ranges.h"
#include "jit/expr/shape.h"
#include "jit/expr/shared_divisors.h"
#include "jit/expr/simplify.h"
#include "jit/kir/builder.h"
#include "jit/kir/early_end.h"
#include "jit/kir/narrow.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

using kir::Value;
using kir::math::Function;
using kir::math::Range;
using KOp = kir::Op;

// Room that one more node may take: the longest expansion of a math function is far below it.
constexpr std::size_t kNodeInstsMax = 2048;

// Holds a kernel as far as it is lowered, with the values of the expression's nodes.
class NodeValues {
 protected:
  NodeValues(const Expr& expr, const LowerOptions& options)
      : expr_(expr), options_(options), b_(kernel_), ranges_(expr, options) {}
  NodeValues(const NodeValues&) = delete;  // b_ points to kernel_

  [[nodiscard]] Value at(NodeId id) const { return values_[id.index]; }

  Fact fact(NodeId id) { return ranges_.at(id); }

  // Returns the range that a math function may assume of its argument: none under the exact policy, whose bits must not
  // depend on how much was proven.
  Range range(NodeId id) { return options_.policy.kind == PolicyKind::exact ? Range{} : fact(id).range(); }

  Value one(Type type) { return ir::is_int(type) ? b_.constant_int(type, 1) : b_.constant(type, 1); }
  Value zero(Type type) { return ir::is_int(type) ? b_.constant_int(type, 0) : b_.constant(type, 0); }

  const Expr& expr_;
  const LowerOptions& options_;
  kir::Kernel kernel_;
  kir::Builder b_;
  Ranges ranges_;
  std::vector<Value> values_;
};

// Returns whether a sum of products may take their factors: one operation an element less, and one rounding. `bounded`
// tells a product that overflows from one that does not: with an infinite sum of the other sign it is NaN.
bool joins_factors(const Fact& product, const Policy& policy) {
  const bool same_class = product.finite() || product.lo >= 0 || product.hi <= 0;
  return policy.kind == PolicyKind::fast || (policy.kind == PolicyKind::bounded && same_class);
}

// Returns the products of which every use is a sum over all elements that may take the factors.
std::vector<bool> summed_products(const Expr& expr, const LowerOptions& options, Ranges& ranges) {
  std::vector<bool> summed(expr.nodes.size(), false);
  if (options.policy.kind == PolicyKind::exact || !has_reductions(expr)) return summed;
  for (std::uint32_t i = 0; i < summed.size(); ++i) {
    const Node& n = expr.nodes[i];
    const bool multiplies = n.op == Op::Mul || (n.op == Op::Powi && n.imm == 2);
    summed[i] = ir::is_float(n.type) && multiplies && joins_factors(ranges.at(NodeId(i)), options.policy);
  }
  for (const Node& n : expr.nodes)
    for (const NodeId operand : {n.a, n.b, n.c})
      if (operand.valid() && n.op != Op::Sum && n.op != Op::Mean) summed[operand.index] = false;
  for (const Output& output : expr.outputs) summed[output.node.index] = false;
  return summed;
}

// Returns the nodes that a root depends on.
std::vector<bool> below_roots(const Expr& expr) {
  std::vector<bool> below(expr.nodes.size(), false);
  for (std::size_t i = expr.nodes.size(); i-- > 0;) {
    const Node& n = expr.nodes[i];
    if (!below[i] && n.op != Op::Sqrt && n.op != Op::Rsqrt) continue;
    for (const NodeId operand : {n.a, n.b, n.c})
      if (operand.valid()) below[operand.index] = true;
  }
  return below;
}

// Lowers quotients, some of them by estimates.
class Quotients : protected NodeValues {
 protected:
  Quotients(const Expr& expr, const LowerOptions& options)
      : NodeValues(expr, options),
        below_roots_(options.estimates.which == Estimates::Which::last ? below_roots(expr) : std::vector<bool>()) {}

  // Returns whether a node whose operand is `operand` may be estimated.
  [[nodiscard]] bool estimates(const Node& n, Value operand) const {
    if (!options_.estimates.any() || n.type != Type::f32 || b_.is_constant(operand)) return false;
    const auto index = static_cast<std::size_t>(&n - expr_.nodes.data());
    return below_roots_.empty() || !below_roots_[index];
  }

  // Returns a / b, the value of `n`. What is computed once needs no estimate.
  Value quotient(const Node& n, Value a, Value b, const Fact& of_a, const Fact& of_b) {
    const auto in_body = [&](Value v) { return kernel_.at(v).section == kir::Section::body; };
    if (!estimates(n, b) || !(in_body(a) || in_body(b)) || !spends_share())
      return b_.div(a, b, division_flags(n.type, of_a, of_b));
    const KOp op = options_.estimates.bits == 14 ? KOp::Div14 : KOp::Div12;
    return b_.op(op, a, b, {}, estimated_division_flags(of_a, of_b));
  }
  Value reciprocal(const Node& n, Value b, const Fact& of_b) {
    return quotient(n, one(n.type), b, {1, 1, false, true}, of_b);
  }

 private:
  bool spends_share() {
    share_ += options_.estimates.quotients;
    if (share_ < Estimates::kAllQuotients) return false;
    share_ -= Estimates::kAllQuotients;
    return true;
  }

  std::vector<bool> below_roots_;
  unsigned share_ = 0;
};

// Lowers powers with whole exponents.
class Powers : protected Quotients {
 protected:
  Powers(const Expr& expr, const LowerOptions& options, std::vector<bool>&& plain_powers)
      : Quotients(expr, options), plain_powers_(std::move(plain_powers)) {}

  Value powi(const Node& n);

  // 1 / a^size, where `product` is a^size. Where that overflows, or is denormal and has lost bits, the inverse may
  // still be a number of the type: there the inverse of one half of the power is divided by the other half.
  Value inverse_power(const Node& n, std::uint64_t size, Value product) {
    const Value inverse = reciprocal(n, product, options_.estimates.any() ? fact_of_power(n, size) : Fact{});
    if (size == 1 || ir::is_int(n.type) || inverse_is_tame(n)) return inverse;
    PowerChain<Value> chain(at(n.a));
    const auto part = [&](std::uint64_t m) { return chain.power(m, [&](Value x, Value y) { return b_.mul(x, y); }); };
    const Value halves = b_.div(b_.div(one(n.type), part(size / 2)), part(size - size / 2));
    const Value magnitude = b_.abs(product);
    const Value finite = b_.lt(magnitude, b_.constant(n.type, std::numeric_limits<double>::infinity()));
    const Value normal = b_.le(b_.constant(n.type, n.type == Type::f32 ? 0x1p-126 : 0x1p-1022), magnitude);
    return b_.select(finite, b_.select(normal, inverse, halves), halves);
  }

  Value plain_power(Value a, std::uint64_t n) {
    return PowerChain<Value>(a).power(n, [&](Value x, Value y) { return b_.mul(x, y); });
  }

  // Integers have exponents of any size.
  Value binary_power(Value square, std::uint64_t n) {
    Value product;
    for (; n != 0; n >>= 1) {
      if ((n & 1) != 0) product = product.valid() ? b_.mul(product, square) : square;
      if (n > 1) square = b_.mul(square, square);
    }
    return product;
  }

  Fact fact_of_power(const Node& n, std::uint64_t size) {
    return fact_of({Op::Powi, n.type, n.a, {}, {}, size}, n.type, fact(n.a), {}, {}, options_.accuracy);
  }

  // All products below a^|n| are finite.
  bool power_is_tame(const Node& n) {
    const Fact a = fact(n.a);
    const double size = std::fabs(static_cast<double>(static_cast<std::int64_t>(n.imm)));
    const double most = std::pow(std::max(std::fabs(a.lo), std::fabs(a.hi)), size);
    return !a.may_be_nan && most < (n.type == Type::f32 ? 0x1p120 : 0x1p1000);
  }

  // a^|n| neither overflows nor underflows.
  bool inverse_is_tame(const Node& n) {
    const Fact a = fact(n.a);
    const double size = std::fabs(static_cast<double>(static_cast<std::int64_t>(n.imm)));
    const double nearest = a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0;
    return power_is_tame(n) && std::pow(nearest, size) > (n.type == Type::f32 ? 0x1p-120 : 0x1p-1000);
  }

  // a^n with the error of each product carried along (high + low), and one rounding at the end.
  Value paired_power(Value a, std::uint64_t n);

  // Computes the power by the function pow. An f32 does not hold every exponent. The part that it cannot hold, such as
  // the last bit of an odd one, becomes a factor of its own, on the same side of one.
  Value large_power(const Node& n, std::int64_t exponent) {
    constexpr std::int64_t kLowBits = 0xFF;
    static_assert((std::int64_t{1} << 31) / (kLowBits + 1) <= 1 << 24);  // the largest exponent there is: checker.cpp
    if (n.type == Type::f64 || static_cast<double>(static_cast<float>(exponent)) == static_cast<double>(exponent))
      return power_by_function(n, exponent);
    const std::int64_t low = std::abs(exponent) & kLowBits;
    const std::int64_t sign = exponent < 0 ? -1 : 1;
    return b_.mul(power_by_function(n, exponent - sign * low), power_by_function(n, sign * low));
  }

  Value power_by_function(const Node& n, std::int64_t exponent) {
    const auto whole = static_cast<double>(exponent);
    const std::array<Value, 2> args = {at(n.a), b_.constant(n.type, whole)};
    const std::array<Range, 2> ranges = {range(n.a), Range{whole, whole, false}};
    return kir::math::emit(b_, Function::Pow, args, ranges, options_.accuracy);
  }

  std::vector<bool> plain_powers_;  // see accurate_chains
};

Value Powers::powi(const Node& n) {
  const auto exponent = static_cast<std::int64_t>(n.imm);
  const std::uint64_t size =
      exponent < 0 ? -static_cast<std::uint64_t>(exponent) : static_cast<std::uint64_t>(exponent);
  if (size == 0) return one(n.type);
  const bool exact = options_.policy.kind == PolicyKind::exact;
  Value product;
  if (ir::is_int(n.type)) {
    product = binary_power(at(n.a), size);
  } else if (size > kPowerChainMax) {
    return large_power(n, exponent);
  } else if (plain_powers_[values_.size()] || exact) {
    product = plain_power(at(n.a), size);
  } else {
    product = paired_power(at(n.a), size);
    // Where a product overflows its error is NaN, and the plain chain is right.
    if (!power_is_tame(n)) {
      const Value infinity = b_.constant(n.type, std::numeric_limits<double>::infinity());
      product = b_.select(b_.lt(b_.abs(product), infinity), product, plain_power(at(n.a), size));
    }
  }
  return exponent < 0 ? inverse_power(n, size, product) : product;
}

Value Powers::paired_power(Value a, std::uint64_t n) {
  Value high = a;
  Value low;
  for (int bit = 62 - std::countl_zero(n); bit >= 0; --bit) {
    const bool odd = (n >> bit & 1) != 0;
    const Value twice = low.valid() ? b_.add(high, high) : Value{};
    if (bit == 0 && !odd) return low.valid() ? b_.fma(high, high, b_.mul(twice, low)) : b_.mul(high, high);
    const Value square = b_.mul(high, high);
    const Value rest = b_.fms(high, high, square);
    low = low.valid() ? b_.fma(twice, low, rest) : rest;
    high = square;
    if (!odd) continue;
    if (bit == 0) return b_.fma(high, a, b_.mul(low, a));
    const Value product = b_.mul(high, a);
    low = b_.fma(low, a, b_.fms(high, a, product));
    high = product;
  }
  return high;
}

// Lowers roots of floats, some of them by estimates.
class Roots : protected Powers {
 protected:
  using Powers::Powers;

  // Returns 1 / sqrt(x) by an estimate, or nothing: it is one operation, and no root comes before it. `root` is
  // sqrt(x).
  Value estimated_inverse(NodeId root) {
    const Node& n = expr_.at(root);
    return n.op == Op::Sqrt && estimates(n, at(n.a)) ? estimated_inverse_root(n.a) : Value{};
  }
  Value estimated_inverse_root(NodeId of) {
    return options_.estimates.bits == 14 ? b_.op(KOp::Rsqrt14, at(of))
                                         : b_.op(KOp::Rsqrt12, at(of), {}, {}, root_flags(of));
  }
  // Returns the flag of a root with doubtful operands.
  std::uint8_t root_flags(NodeId of) { return sqrt_is_normal(Type::f32, fact(of)) ? kir::kNormal : 0; }

  Value root(const Node& n) {
    if (!estimates(n, at(n.a))) return b_.sqrt(at(n.a), sqrt_flags(n.type, fact(n.a)));
    const Value of_quotient = estimated_root_of_quotient(expr_.at(n.a));
    if (of_quotient.valid()) return of_quotient;
    return options_.estimates.bits == 14 ? b_.op(KOp::Sqrt14, at(n.a))
                                         : b_.op(KOp::Sqrt12, at(n.a), {}, {}, root_flags(n.a));
  }

  // Returns sqrt(c / x) as sqrt(c) / sqrt(x), or nothing. At -0 only the first is NaN, so x must not be that.
  Value estimated_root_of_quotient(const Node& n) {
    if (n.op != Op::Div || expr_.at(n.a).op != Op::Constant || !never_minus_zero(n.b)) return {};
    const double c = value_of(n.type, expr_.at(n.a).imm);
    if (!(c >= kLeastNumerator && c <= 1 / kLeastNumerator)) return {};
    return b_.mul(b_.constant(n.type, std::sqrt(c)), estimated_inverse_root(n.b));
  }
  static constexpr double kLeastNumerator = 0x1p-60;

  // A sum is -0 only where both operands are zeros.
  bool never_minus_zero(NodeId id) {
    const Node& n = expr_.at(id);
    const auto is_number = [&](NodeId c) {
      return c.valid() && expr_.at(c).op == Op::Constant && value_of(n.type, expr_.at(c).imm) != 0;
    };
    const Fact f = fact(id);
    if (f.lo > 0 || f.hi < 0) return true;
    return (n.op == Op::Add && (is_number(n.a) || is_number(n.b))) || (n.op == Op::Fma && is_number(n.c));
  }
};

// Lowers min and max.
class Extrema : protected Roots {
 protected:
  using Roots::Roots;

  // C's fmin and fmax give the number when one operand is NaN. kir's min gives b when either is NaN, so only a NaN in b
  // needs care, and none where a is NaN too. Which of two zeros wins depends on the order, so that stays under the
  // exact policy.
  Value extremum(KOp op, const Node& n) {
    const Value a = at(n.a), b = at(n.b);
    if (ir::is_int(n.type) || !fact(n.b).may_be_nan) return b_.op(op, a, b);
    const bool may_swap = options_.policy.kind != PolicyKind::exact;
    if (!fact(n.a).may_be_nan && may_swap) return b_.op(op, b, a);
    nans_.join(NodeId(static_cast<std::uint32_t>(values_.size())), n.a, n.b);
    if (nans_.implies(n.b, n.a)) return b_.op(op, a, b);
    if (may_swap && nans_.implies(n.a, n.b)) return b_.op(op, b, a);
    const bool swaps = may_swap && nan_masks_.contains(nans_.of(n.a)) && !nan_masks_.contains(nans_.of(n.b));
    return swaps ? b_.op(op, b, number_or(n.a, b)) : b_.op(op, a, number_or(n.b, a));
  }

  // Returns the value of a node, or `other` where it is NaN: a mask for all nodes that are NaN together.
  Value number_or(NodeId id, Value other) {
    const Value value = at(id);
    const std::uint64_t set = nans_.of(id);
    if (set == 0) return b_.select(b_.ne(value, value), other, value);
    Value& mask = nan_masks_[set];
    if (!mask.valid()) mask = b_.ne(value, value);
    return b_.select(mask, other, value);
  }

 private:
  NanSets nans_{expr_.nodes.size()};
  std::unordered_map<std::uint64_t, Value> nan_masks_;  // of nodes, by their set
};

class Lowering : private Extrema {
 public:
  Lowering(const Expr& expr, const LowerOptions& options, std::vector<bool>&& plain_powers)
      : Extrema(expr, options, std::move(plain_powers)), summed_products_(summed_products(expr, options, ranges_)) {}

  /// `kinds` of the outputs follow from the expression as submitted: a total may have become a constant since. The last
  /// variables are the outputs of the pass `before`, if there is one.
  Result<kir::Kernel> run(const std::vector<kir::OutputKind>& kinds, std::vector<kir::Kernel>&& before) {
    kernel_.before = std::move(before);
    declare();
    values_.reserve(expr_.nodes.size());
    for (const Node& node : expr_.nodes) {
      if (summed_products_[values_.size()]) {
        values_.push_back({});  // its sums take the factors
        continue;
      }
      if (kernel_.insts.size() + kNodeInstsMax > limits::kKirInstsMax) {
        return make_error(ErrorCode::kLimitExceeded, "the kernel would have more than %u instructions",
                          limits::kKirInstsMax);
      }
      values_.push_back(lower(node));
    }
    for (std::size_t i = 0; i < expr_.outputs.size(); ++i) {
      const Output& o = expr_.outputs[i];
      kernel_.outputs.push_back({o.name, values_[o.node.index], kinds[i], o.storage});
    }
    kir::Kernel kernel = options_.narrow ? kir::narrow(kernel_, known(), options_.converts_longs) : std::move(kernel_);
    kir::end_early(kernel);
    return kernel;
  }

 private:
  // Returns known facts for every kernel value that is the value of a node.
  std::vector<kir::Known> known() {
    std::vector<kir::Known> known(kernel_.insts.size());
    for (std::uint32_t i = 0; i < expr_.nodes.size(); ++i) {
      if (!values_[i].valid() || ir::is_mask(expr_.nodes[i].type)) continue;
      const Fact f = fact(NodeId(i));
      kir::Known& k = known[values_[i].index];
      k = {std::max(k.lo, f.lo), std::min(k.hi, f.hi), k.may_be_nan && f.may_be_nan};
    }
    return known;
  }

  void declare() {
    place_.reserve(expr_.variables.size());
    kernel_.inputs.reserve(expr_.variables.size());
    const std::size_t results = kernel_.before.empty() ? 0 : kernel_.before.front().outputs.size();
    const std::span<const Variable> variables = std::span(expr_.variables).first(expr_.variables.size() - results);
    std::uint32_t scalars = 0;
    for (const Variable& v : variables) {
      if (v.is_scalar()) {
        place_.push_back(scalars++);
        continue;
      }
      place_.push_back(static_cast<std::uint32_t>(kernel_.inputs.size()));
      kernel_.inputs.push_back({v.name, v.type, {}, v.storage});
    }
    if (!std::ranges::all_of(variables, [](const Variable& v) { return v.kind == VariableKind::array; }))
      for (const Variable& v : parameters_of({variables.begin(), variables.end()}))
        kernel_.params.push_back({v.name, v.type});
    std::uint32_t length = scalars;
    for (std::size_t i = 0; i < variables.size(); ++i)
      if (variables[i].is_table()) kernel_.inputs[place_[i]].length = length++;
    for (std::size_t r = 0; r < results; ++r) place_.push_back(static_cast<std::uint32_t>(kernel_.params.size() + r));
  }

  // Returns a comparison as a mask for lanes of `type`.
  Value mask(NodeId id, Type type) { return b_.convert(KOp::Convert, ir::mask_of(type), at(id)); }

  Value math(Function f, const Node& n) {
    const std::array<Value, 2> args = {at(n.a), n.b.valid() ? at(n.b) : Value{}};
    const std::array<Range, 2> ranges = {range(n.a), n.b.valid() ? range(n.b) : Range{}};
    const std::size_t count = n.b.valid() ? 2 : 1;
    if (f == Function::Rsqrt && estimates(n, args[0])) return estimated_inverse_root(n.a);
    return kir::math::emit(b_, f, std::span(args.data(), count), std::span(ranges.data(), count), options_.accuracy);
  }

  // Writes 2 x as x + x, which has the same bits; where sums have ports of their own, this saves a product.
  Value product(const Node& n) {
    const auto is_two = [&](NodeId id) {
      const Node& c = expr_.at(id);
      return c.op == Op::Constant && ir::is_float(c.type) && value_of(c.type, c.imm) == 2;
    };
    if (is_two(n.a)) return b_.add(at(n.b), at(n.b));
    if (is_two(n.b)) return b_.add(at(n.a), at(n.a));
    return b_.mul(at(n.a), at(n.b));
  }

  Value lower(const Node& n);

  // Skips tables, which are no values.
  Value variable(const Node& n) {
    const Variable& v = expr_.variables[n.imm];
    return v.is_table() ? Value{} : v.is_scalar() ? b_.param(place_[n.imm]) : b_.input(place_[n.imm]);
  }
  // Returns an element's number before it is widened: vectors of narrow ones hold twice as many.
  [[nodiscard]] NodeId unwidened(NodeId number) const {
    const Node& n = expr_.at(number);
    return n.op == Op::Cast && expr_.at(n.a).type == Type::i32 ? n.a : number;
  }
  [[nodiscard]] std::uint32_t table(const Node& read) const { return place_[expr_.at(read.a).imm]; }

  // -(x y) is one operation: -(x y) - 0 has its bits, signs of zeros included.
  Value neg(const Node& n) {
    const Node& product = expr_.at(n.a);
    if (product.op != Op::Mul || !ir::is_float(n.type)) return b_.neg(at(n.a));
    return b_.op(KOp::Fnms, at(product.a), at(product.b), zero(n.type));
  }

  Value quotient(const Node& n) {
    if (const Value inverse = estimated_inverse(n.b); inverse.valid())
      return at(n.a) == one(n.type) ? inverse : b_.mul(at(n.a), inverse);
    return Quotients::quotient(n, at(n.a), at(n.b), fact(n.a), fact(n.b));
  }

  Value recip(const Node& n) {
    if (const Value inverse = estimated_inverse(n.a); inverse.valid()) return inverse;
    return reciprocal(n, at(n.a), fact(n.a));
  }

  // a * b + c with the signs of its operands taken into the op.
  Value fma(const Node& n) {
    const auto negated = [&](NodeId id) { return expr_.at(id).op == Op::Neg; };
    const auto bare = [&](NodeId id) { return at(negated(id) ? expr_.at(id).a : id); };
    const bool product = negated(n.a) != negated(n.b);
    const KOp op = product ? (negated(n.c) ? KOp::Fnms : KOp::Fnma) : (negated(n.c) ? KOp::Fms : KOp::Fma);
    return b_.op(op, bare(n.a), bare(n.b), bare(n.c));
  }

  Value copysign(const Node& n) {
    const Type bits = ir::int_of(n.type);
    const Value sign = b_.constant_bits(bits, ir::bytes_of(bits) == 4 ? 0x8000'0000u : std::uint64_t{1} << 63);
    const Value size = b_.as_int(b_.abs(at(n.a)));
    Value from = at(n.b);
    if (fact(n.b).may_be_nan) from = b_.select(b_.eq(from, from), from, zero(n.type));
    return b_.as_float(b_.op(KOp::Or, size, b_.op(KOp::And, b_.as_int(from), sign)));
  }

  Value sign(const Node& n) {
    const Value a = at(n.a);
    const Value negative = b_.select(b_.lt(a, zero(n.type)), b_.neg(one(n.type)), a);
    return b_.select(b_.lt(zero(n.type), a), one(n.type), negative);
  }

  Value bitwise(KOp op, const Node& n) {
    const Value a = at(n.a);
    const Value b = at(n.b);
    return b_.op(op, a, ir::is_mask(b_.type_of(a)) ? b_.convert(KOp::Convert, b_.type_of(a), b) : b);
  }

  // A sum of ones over integers is the number of elements.
  Value sum(const Node& n) {
    const Node& a = expr_.at(n.a);
    const bool counts = ir::is_int(n.type) && a.op == Op::Constant && a.imm == 1;
    return counts ? b_.count(n.type) : total(n.a);
  }

  // Returns the sum of a value over all elements.
  Value total(NodeId id) {
    if (!summed_products_[id.index]) return b_.reduce(KOp::Sum, at(id));
    const Node& product = expr_.at(id);
    return b_.reduce(KOp::Dot, at(product.a), at(product.op == Op::Mul ? product.b : product.a));
  }

  Value dot(const Node& n) {
    const Node times{Op::Mul, n.type, n.a, n.b, {}};
    const Fact product = fact_of(times, n.type, fact(n.a), fact(n.b), {}, options_.accuracy);
    const bool joins = ir::is_float(n.type) && joins_factors(product, options_.policy);
    return joins ? b_.reduce(KOp::Dot, at(n.a), at(n.b)) : b_.reduce(KOp::Sum, b_.mul(at(n.a), at(n.b)));
  }

  Value shift(KOp op, const Node& n) {
    const Value width = b_.constant_int(n.type, 8 * static_cast<std::int64_t>(ir::bytes_of(n.type)) - 1);
    return b_.op(op, at(n.a), b_.op(KOp::And, at(n.b), width));
  }

  Value cast(const Node& n) {
    const Value a = at(n.a);
    const Type from = expr_.at(n.a).type;
    if (from == Type::b32) return n.type == Type::b32 ? a : b_.select(mask(n.a, n.type), one(n.type), zero(n.type));
    if (n.type == Type::b32) return b_.ne(a, zero(from));
    if (expr_.at(n.a).op == Op::Rint && ir::is_int(n.type) && ir::bytes_of(from) == ir::bytes_of(n.type))
      return b_.convert(KOp::ToIntRint, n.type, at(expr_.at(n.a).a));
    return b_.convert(KOp::Convert, n.type, a);
  }

  std::vector<bool> summed_products_;
  std::vector<std::uint32_t> place_;  // of a variable among the inputs or the parameters
};

Value Lowering::lower(const Node& n) {
  switch (n.op) {
#define X(Name, ...) \
  case Op::Name:     \
    return math(Function::Name, n);
#include "jit/kir/math/functions.def"
#undef X
    case Op::Constant: return b_.constant_bits(n.type, n.imm);
    case Op::Variable: return variable(n);
    case Op::Add: return b_.add(at(n.a), at(n.b));
    case Op::Sub: return b_.sub(at(n.a), at(n.b));
    case Op::Mul: return product(n);
    case Op::Div: return quotient(n);
    case Op::Neg: return neg(n);
    case Op::Abs: return b_.abs(at(n.a));
    case Op::Min: return extremum(KOp::Min, n);
    case Op::Max: return extremum(KOp::Max, n);
    case Op::Fma: return fma(n);
    case Op::Recip: return recip(n);
    case Op::Sqrt: return root(n);
    case Op::Powi: return powi(n);
    case Op::Floor: return b_.op(KOp::Floor, at(n.a));
    case Op::Ceil: return b_.op(KOp::Ceil, at(n.a));
    case Op::Rint: return b_.op(KOp::Rint, at(n.a));
    case Op::Trunc: return b_.op(KOp::Trunc, at(n.a));
    case Op::Copysign: return copysign(n);
    case Op::Sign: return sign(n);
    case Op::Lt: return b_.lt(at(n.a), at(n.b));
    case Op::Le: return b_.le(at(n.a), at(n.b));
    case Op::Gt: return b_.lt(at(n.b), at(n.a));
    case Op::Ge: return b_.le(at(n.b), at(n.a));
    case Op::Eq: return b_.eq(at(n.a), at(n.b));
    case Op::Ne: return b_.ne(at(n.a), at(n.b));
    case Op::And: return bitwise(KOp::And, n);
    case Op::Or: return bitwise(KOp::Or, n);
    case Op::Xor: return bitwise(KOp::Xor, n);
    case Op::Not: return b_.op(KOp::Not, at(n.a));
    case Op::Shl: return shift(KOp::Shl, n);
    case Op::Shr: return shift(KOp::Shr, n);
    case Op::Sar: return shift(KOp::Sar, n);
    case Op::Select: return b_.select(mask(n.a, n.type), at(n.b), at(n.c));
    case Op::Cast: return cast(n);
    case Op::Sum: return sum(n);
    case Op::Prod: return b_.reduce(KOp::Prod, at(n.a));
    case Op::MinOf: return b_.reduce(KOp::MinOf, at(n.a));
    case Op::MaxOf: return b_.reduce(KOp::MaxOf, at(n.a));
    case Op::Mean: return b_.div(total(n.a), b_.count(n.type));
    case Op::Dot: return dot(n);
    case Op::Index: return b_.index(n.type);
    case Op::Gather: return b_.gather(table(n), at(unwidened(n.b)));
    case Op::Strided: return b_.strided(table(n), int_of_bits(Type::i64, expr_.at(n.b).imm), at(n.c));
    case Op::ArgMin:
    case Op::ArgMax:
    case Op::Diff: break;  // eliminated before
  }
  CHECK(false);
}

std::vector<kir::OutputKind> output_kinds(const Expr& expr) {
  std::vector<kir::OutputKind> kinds(expr.outputs.size(), kir::OutputKind::array);
  if (!has_reductions(expr)) return kinds;
  const std::vector<Shape> shapes = shapes_of(expr);
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = output_kind(shapes[expr.outputs[i].node.index]);
  return kinds;
}

Result<kir::Kernel> lower_passes(const Expr& expr, const LowerOptions& options,
                                 const std::vector<kir::OutputKind>& kinds) {
  if (locates(expr)) return lower_passes(without_locating(expr, options), options, kinds);
  std::vector<bool> plain_powers = accurate_chains(expr, options);
  if (is_one_pass(expr, kinds)) return Lowering(expr, options, std::move(plain_powers)).run(kinds, {});
  TRY(const std::vector<Pass> passes, passes_in(expr, kinds));
  std::vector<kir::Kernel> before;
  for (const Pass& pass : passes) {
    std::vector<bool> plain;  // by the whole: it decides by the users of a power, which are others in each pass
    for (const NodeId id : pass.origin) plain.push_back(plain_powers[id.index]);
    const bool last = &pass == &passes.back();
    const std::vector<kir::OutputKind> scalars(pass.expr.outputs.size(), kir::OutputKind::scalar);
    TRY(kir::Kernel kernel,
        Lowering(pass.expr, options, std::move(plain)).run(last ? kinds : scalars, std::move(before)));
    before.clear();
    before.push_back(std::move(kernel));
  }
  return std::move(before.front());
}

}  // namespace

Result<kir::Kernel> lower(const Expr& expr, const LowerOptions& options) {
  if (!options.checked) TRY_VOID(check(expr));
  const std::vector<kir::OutputKind> kinds = output_kinds(expr);
  // Each step leaves the expression as it is when it has nothing to do.
  const Expr* current = &expr;
  Expr plain;
  if (std::any_of(expr.nodes.begin(), expr.nodes.end(), [](const Node& n) { return n.op == Op::Diff; })) {
    TRY(plain, eliminate_derivatives(expr));
    current = &plain;
  }
  Expr simple;
  if (options.simplify) {
    simple = simplify(*current, options);
    current = &simple;
  }
  std::optional<Expr> shared;
  if (options.share_divisors && (shared = share_divisors(*current, options))) current = &*shared;
  return lower_passes(*current, options, kinds);
}

}  // namespace trident::expr
