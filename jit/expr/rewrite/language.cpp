#include "jit/expr/rewrite/language.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "jit/expr/builder.h"
#include "jit/expr/ranges.h"
#include "jit/expr/rewrite/fold.h"
#include "jit/expr/shape.h"

namespace trident::expr::rewrite {
namespace {

using egraph::ENode;
using egraph::Facts;
using egraph::OpRow;

constexpr bool commutes(Op op) {
  return info(op).commutes != Commutes::no;
}

// min(-0, 0) and min(0, -0) are zeros of different signs, and hypot treats its operands by their order.
constexpr bool commutes_in_bits(Op op) {
  return info(op).commutes == Commutes::in_bits;
}

constexpr std::array<OpRow, kOpCount> rows_of(bool (*commutes)(Op)) {
  std::array<OpRow, kOpCount> rows;
  for (std::size_t i = 0; i < kOpCount; ++i) {
    rows[i] = {kOpInfos[i].text, kOpInfos[i].arity, commutes(static_cast<Op>(i))};
    const Signature signature = kOpInfos[i].signature;
    if (signature == Signature::Read) rows[i].number_sort = static_cast<std::uint8_t>(Type::i64);
    // A read has the sort of its table; a cast keeps the sort that it was made with.
    if (signature == Signature::Compare) rows[i].sort = static_cast<std::uint8_t>(Type::b32);
    if (static_cast<Op>(i) == Op::Index) rows[i].sort = static_cast<std::uint8_t>(Type::i64);
    if (signature == Signature::Select) rows[i].sort_child = 1;
  }
  return rows;
}
constexpr auto kRows = rows_of(commutes), kRowsInBits = rows_of(commutes_in_bits);

constexpr std::uint8_t kBeforeLoop = 0, kBehindLoop = 2;

constexpr std::uint32_t variable_bit(std::uint32_t index) {
  return 1u << std::min(index, 31u);
}

Fact to_fact(const Facts& f) {
  return {f.lo, f.hi, f.may_be_nan, f.integral};
}

// Holds a constant of f32 as a double until it leaves the graph, so that folding in steps rounds once.
std::uint64_t held_bits(const ENode& leaf) {
  return (std::uint64_t{leaf.child[1]} << 32) | leaf.child[0];
}
double held_by(const ENode& leaf) {
  return std::bit_cast<double>(held_bits(leaf));
}

struct Corner {
  double value = 0;
  bool exact = false;
};
Corner product(double x, double y) {
  return {x * y, std::fma(x, y, -(x * y)) == 0};
}
Corner quotient(double x, double y) {
  return {x / y, std::fma(x / y, y, -x) == 0};
}
Corner sum_of_product(double x, double y, double addend) {
  return {std::fma(x, y, addend), product(x, y).exact && lost_by_sum(x * y, addend, x * y + addend) == 0};
}

// Widens bounds of sums, products and quotients that were rounded: 1 + 1e17 - 1e17 is not zero, and 0.1 * 10 is more
// than 1. Zeros and exact bounds stay.
void widen_rounded(Op op, const Facts& a, const Facts& b, const Facts& c, Facts& made) {
  const auto down = [&](double bound, bool exact) {
    if (std::isfinite(bound)) made.lo = std::min(made.lo, exact ? bound : std::nextafter(bound, -INFINITY));
  };
  const auto up = [&](double bound, bool exact) {
    if (std::isfinite(bound)) made.hi = std::max(made.hi, exact ? bound : std::nextafter(bound, INFINITY));
  };
  const auto exact_sum = [](double x, double y) { return lost_by_sum(x, y, x + y) == 0; };
  const std::array<double, 2> first{a.lo, a.hi}, second{b.lo, b.hi};
  if (op == Op::Add || op == Op::Sub) {
    const double sign = op == Op::Add ? 1 : -1;
    down(made.lo, exact_sum(a.lo, sign * (op == Op::Add ? b.lo : b.hi)));
    up(made.hi, exact_sum(a.hi, sign * (op == Op::Add ? b.hi : b.lo)));
  } else if (op == Op::Fma) {
    const double lo = made.lo, hi = made.hi;
    bool lo_is_known = lo == c.lo, hi_is_known = hi == c.hi;  // of a square, or where there is nothing to add to
    for (const double x : first)
      for (const double y : second) {
        const Corner least = sum_of_product(x, y, c.lo), most = sum_of_product(x, y, c.hi);
        if (x * y + c.lo == lo || least.value == lo) lo_is_known = true, down(least.value, least.exact);
        if (x * y + c.hi == hi || most.value == hi) hi_is_known = true, up(most.value, most.exact);
      }
    if (!lo_is_known) down(lo, false);
    if (!hi_is_known) up(hi, false);
  } else if (op == Op::Mul || op == Op::Div) {
    const double lo = made.lo, hi = made.hi;
    for (const double x : first)
      for (const double y : second) {
        const Corner at = op == Op::Mul ? product(x, y) : quotient(x, y);
        if (at.value == lo) down(lo, at.exact);
        if (at.value == hi) up(hi, at.exact);
      }
  } else if (op == Op::Recip) {
    down(made.lo, std::fma(made.lo, a.hi, -1.0) == 0), up(made.hi, std::fma(made.hi, a.lo, -1.0) == 0);
  } else if (op == Op::Sqrt) {
    down(made.lo, std::fma(made.lo, made.lo, -a.lo) == 0), up(made.hi, std::fma(made.hi, made.hi, -a.hi) == 0);
  }
}

// Widens bounds that may have underflowed or overflowed.
void widen(Op op, const Facts& a, const Facts& b, bool square, Facts& made) {
  constexpr double kGreatest = std::numeric_limits<double>::max();
  if (made.lo > kGreatest) made.lo = kGreatest;
  if (made.hi < -kGreatest) made.hi = -kGreatest;
  const bool small_above = std::fabs(made.hi) < DBL_MIN, small_below = std::fabs(made.lo) < DBL_MIN;
  if ((!small_above && !small_below) || has(op, kKeepsSmall)) return;
  const auto zero = [](const Facts& f) { return f.lo == 0 && f.hi == 0; };
  const bool binary = info(op).arity > 1;
  if (zero(a) || (binary && zero(b))) return;
  if (small_above) made.hi = made.hi < 0 ? 0 : DBL_MIN;
  if (!small_below) return;
  const bool of_positive = made.lo == 0 && !std::signbit(made.lo) && !(a.lo < 0) && (!binary || !(b.lo < 0));
  made.lo = made.lo > 0 || of_positive || square || has(op, kNeverNegative) ? 0 : -DBL_MIN;
}

constexpr bool compares(Op op) {
  return info(op).signature == Signature::Compare;
}

// Returns whether a comparison that the intervals decide holds over the reals, despite rounded bounds: they are well
// apart, or meet at a number of few bits, which is exact, such as zero.
bool decided_by_far(const Facts& a, const Facts& b, bool same) {
  constexpr double kApart = 1e-6;  // relative: also for results folded from f32 constants
  if (same) return true;
  const double low = a.hi < b.lo ? a.hi : b.hi, high = a.hi < b.lo ? b.lo : a.lo;
  if (low < high) return high - low > kApart * std::max(std::fabs(low), std::fabs(high));
  const auto stands_for_itself = [](double x) { return static_cast<double>(static_cast<float>(x)) == x; };
  for (const auto& [x, y] : {std::pair(a.hi, b.lo), std::pair(a.lo, b.hi)})
    if (x == y) return stands_for_itself(x);
  return false;
}

// Returns whether it is nonzero for other reasons than the interval.
bool nonzero(Op op, const Facts& a, const Facts& b, bool same) {
  const Zeros zeros = info(op).zeros;
  if (zeros == Zeros::never) return true;
  if (zeros == Zeros::with_operand) return a.is_nonzero();
  if (op == Op::Mul) return a.is_nonzero() && b.is_nonzero();
  if (op == Op::Hypot) return a.is_nonzero() || b.is_nonzero();
  return op == Op::Add && same && a.is_nonzero();
}

}  // namespace

Values values_of(const Policy& policy) {
  return policy.kind == PolicyKind::exact ? Values::bits : Values::reals;
}

std::span<const OpRow> op_rows(Values values) {
  return values == Values::bits ? kRowsInBits : kRows;
}

Node node_of(const ENode& e) {
  Node n;
  n.op = static_cast<Op>(e.op);
  n.type = static_cast<Type>(e.sort);
  const std::uint8_t arity = kRows[e.op].children;
  if (arity > 0) n.a = NodeId(e.child[0]);
  if (arity > 1) n.b = NodeId(e.child[1]);
  if (arity > 2) n.c = NodeId(e.child[2]);
  if (n.op == Op::Constant) n.imm = n.type == Type::f32 ? bits_of(Type::f32, held_by(e)) : held_bits(e);
  if (n.op == Op::Variable) n.imm = e.child[0];
  if (n.op == Op::Powi) n.imm = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(e.child[1])});
  return n;
}

ENode enode_of(const Node& n) {
  ENode e;
  e.op = static_cast<std::uint8_t>(n.op);
  e.sort = static_cast<std::uint8_t>(n.type);
  const std::array<NodeId, 3> operands{n.a, n.b, n.c};
  for (std::uint8_t i = 0; i < kRows[e.op].children; ++i) e.child[i] = operands[i].index;
  if (n.op == Op::Constant) {
    const std::uint64_t bits = n.type == Type::f32 ? bits_of(Type::f64, value_of(n.type, n.imm)) : n.imm;
    e.child = {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32), 0};
  }
  if (n.op == Op::Variable) e.child[0] = static_cast<std::uint32_t>(n.imm);
  if (n.op == Op::Powi) e.child[1] = static_cast<std::uint32_t>(n.imm);
  return e;
}

Language::Language(std::span<const Variable> variables, bool finite, Values values) : values_(values) {
  for (std::uint32_t i = 0; i < variables.size(); ++i) {
    const Variable& v = variables[i];
    Expr one;
    one.variables = {v};
    one.nodes.resize(1);
    one.nodes[0].op = Op::Variable;
    one.nodes[0].type = v.type;
    const Fact fact = Ranges(one).at(NodeId(0));
    Facts facts{.lo = fact.lo, .hi = fact.hi, .variables = variable_bit(i)};
    facts.sort = static_cast<std::uint8_t>(v.type);
    facts.stage = v.kind == VariableKind::array ? egraph::kStageOfElements : kBeforeLoop;
    facts.may_be_nan = fact.may_be_nan;
    facts.integral = fact.integral;
    if (finite && ir::is_float(v.type)) {
      const double greatest =
          v.type == Type::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
      facts.lo = std::max(facts.lo, -greatest), facts.hi = std::min(facts.hi, greatest);
      facts.may_be_nan = false;
    }
    facts_.push_back(facts);
  }
}

void Language::forget(std::size_t variable) {
  Facts& facts = facts_[variable];
  if (!ir::is_float(static_cast<Type>(facts.sort))) return;
  facts.lo = -std::numeric_limits<double>::infinity(), facts.hi = std::numeric_limits<double>::infinity();
  facts.may_be_nan = true;
}

egraph::Semantics Language::semantics() const {
  return {.context = this, .facts = &facts, .constant = &constant};
}

/// A double holds every integer below, and no sum or product that overflows comes out there.
constexpr double kExactIntegers = 0x1p53;

Facts Language::facts(const void* self, const ENode& e, const std::array<const Facts*, 3>& children) {
  const Node n = node_of(e);
  if (n.op == Op::Variable) return static_cast<const Language*>(self)->facts_[n.imm];
  const Facts &a = *children[0], &b = *children[1], &c = *children[2];
  Facts made;
  const bool bits = static_cast<const Language*>(self)->values_ == Values::bits;
  const Type operand = n.op == Op::Cast ? static_cast<Type>(a.sort) : n.type;
  const bool over_reals = ir::is_float(n.type) && !bits;
  made.sort = e.sort;
  if (n.op != Op::Cast || a.sort != egraph::kNoSort) {
    Node wide = n;
    if (over_reals && n.op != Op::Constant && n.op != Op::Cast) wide.type = Type::f64;
    const Fact fact = fact_of(wide, operand, to_fact(a), to_fact(b), to_fact(c), kir::math::Accuracy::ulp4);
    made.lo = fact.lo, made.hi = fact.hi;
    made.may_be_nan = fact.may_be_nan;
    made.integral = fact.integral;
    if (compares(n.op) && !bits && made.lo == made.hi && !decided_by_far(a, b, n.a == n.b)) made.lo = 0, made.hi = 1;
  }
  made.variables = a.variables | b.variables | c.variables;
  made.stage = stage_of(e, {a.stage, b.stage, c.stage});
  if (n.op == Op::Constant) {
    if (n.type == Type::f32 && !made.may_be_nan) made.lo = made.hi = held_by(e);
    made.constant = made.lo == made.hi && std::isfinite(made.lo);
  } else if (ir::is_int(n.type)) {
    made.constant = made.lo == made.hi && std::fabs(made.lo) < kExactIntegers;  // intervals of integers are exact
    if (made.constant) made.variables = 0, made.stage = kBeforeLoop;
  } else if (over_reals) {
    made.nonzero = nonzero(n.op, a, b, n.a == n.b);
    // A square of one value: a result lost to underflow says nothing of its sign.
    const bool square = (n.op == Op::Mul && n.a == n.b) || (n.op == Op::Fma && n.a == n.b && c.lo >= 0) ||
                        (n.op == Op::Powi && static_cast<std::int64_t>(n.imm) % 2 == 0);
    widen(n.op, a, b, square, made);
    widen_rounded(n.op, a, b, c, made);
    // The angle of any point on the positive axis is 0.
    if (n.op == Op::Atan2 && a.constant && a.lo == 0 && made.lo == 0 && made.hi == 0 && !made.may_be_nan)
      made.constant = true, made.variables = 0, made.stage = kBeforeLoop;
    const std::uint8_t arity = kRows[e.op].children;
    if (a.constant && (arity < 2 || b.constant) && (arity < 3 || c.constant)) {
      if (const auto value = fold(n, a.lo, b.lo, c.lo)) {
        made.lo = made.hi = *value;
        made.constant = true;
        made.may_be_nan = false;
        made.variables = 0;
        made.stage = kBeforeLoop;
      } else if (has(n.op, kCancels)) {
        made.lo = std::nextafter(made.lo, -std::numeric_limits<double>::infinity());
        made.hi = std::nextafter(made.hi, std::numeric_limits<double>::infinity());
      }
    }
  }
  return made;
}

ENode Language::constant(const void* self, std::uint8_t sort, double value) {
  // Over the reals there is one zero. Nodes that see its sign are kept from the search (special_values.h).
  if (value == 0 && static_cast<const Language*>(self)->values_ == Values::reals) value = 0;
  ENode leaf;
  leaf.op = static_cast<std::uint8_t>(Op::Constant);
  // No number is a truth value. A number that only other numbers are compared with, in a rule about truth, is an f64.
  const Type type = ir::is_mask(static_cast<Type>(sort)) ? Type::f64 : static_cast<Type>(sort);
  leaf.sort = static_cast<std::uint8_t>(type);
  const std::uint64_t bits = bits_of(type == Type::f32 ? Type::f64 : type, value);
  leaf.child = {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32), 0};
  return leaf;
}

double constant_value(const ENode& leaf) {
  const Type type = static_cast<Type>(leaf.sort);
  return type == Type::f32 ? held_by(leaf) : value_of(type, held_bits(leaf));
}

std::uint8_t stage_of(const ENode& node, const std::array<std::uint8_t, 3>& children) {
  const Op op = static_cast<Op>(node.op);
  if (op == Op::Variable) return node.child[1] != 0 ? kBeforeLoop : egraph::kStageOfElements;
  if (op == Op::Index || op == Op::Strided) return egraph::kStageOfElements;
  if (makes_total(op)) return kBehindLoop;
  std::uint8_t latest = kBeforeLoop;
  for (std::uint8_t i = 0; i < kRows[node.op].children; ++i) latest = std::max(latest, children[i]);
  return latest;
}

Result<egraph::Term> to_term(const Expr& expr) {
  egraph::Term term;
  term.nodes.reserve(expr.nodes.size());
  for (const Node& n : expr.nodes) {
    if (n.op == Op::Powi && static_cast<std::int64_t>(n.imm) != static_cast<std::int32_t>(n.imm))
      return make_error(ErrorCode::kUnsupported, "an integer power beyond 32 bits");
    term.nodes.push_back(enode_of(n));
    if (n.op == Op::Variable) term.nodes.back().child[1] = expr.variables[n.imm].kind == VariableKind::array ? 0 : 1;
  }
  for (const Output& o : expr.outputs) term.roots.push_back(o.node.index);
  return term;
}

namespace {

enum class Constants : std::uint8_t { as_held, as_typed };

double constant_of(const ENode& e, const Node& n, Constants as) {
  return as == Constants::as_typed ? value_of(n.type, n.imm) : constant_value(e);
}

/// Returns the values of a term's nodes on floats that are made of constants alone, in doubles.
std::vector<std::optional<double>> values_of_constants(const egraph::Term& term, Constants as) {
  std::vector<std::optional<double>> values(term.nodes.size());
  for (std::size_t i = 0; i < term.nodes.size(); ++i) {
    const ENode& e = term.nodes[i];
    const Node n = node_of(e);
    if (!ir::is_float(n.type)) continue;
    if (n.op == Op::Constant) values[i] = constant_of(e, n, as);
    const std::uint8_t arity = kRows[e.op].children;
    std::array<double, 3> operands{};
    bool constant = arity > 0;
    for (std::uint8_t c = 0; c < arity && constant; ++c) {
      constant = values[e.child[c]].has_value();
      if (constant) operands[c] = *values[e.child[c]];
    }
    if (!constant) continue;
    const double value = in_doubles(n, operands[0], operands[1], operands[2]);
    if (!std::isnan(value)) values[i] = value;
  }
  return values;
}

}  // namespace

bool keeps_constants(const egraph::Term& term) {
  // Rounding to f32 leaves an error of 6e-8; a larger one comes from an op, such as 0.5000000001 - 0.5.
  constexpr double kMoved = 1e-4;
  const bool kept = std::all_of(term.nodes.begin(), term.nodes.end(), [](const ENode& e) {
    if (e.op != static_cast<std::uint8_t>(Op::Constant) || e.sort != static_cast<std::uint8_t>(Type::f32)) return true;
    const double held = held_by(e);
    const double rounded = value_of(Type::f32, bits_of(Type::f32, held));
    return rounded == held || std::isnan(held) || (std::fabs(rounded) >= 0x1p-126 && std::isfinite(rounded));
  });
  if (!kept) return false;
  const auto held = values_of_constants(term, Constants::as_held);
  const auto typed = values_of_constants(term, Constants::as_typed);
  for (std::size_t i = 0; i < held.size(); ++i)
    if (held[i] && typed[i] && std::fabs(*held[i] - *typed[i]) > kMoved * std::fabs(*held[i])) return false;
  return true;
}

bool overflows(const egraph::Term& term) {
  const auto values = values_of_constants(term, Constants::as_held);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] && std::isinf(*values[i]) && kRows[term.nodes[i].op].children > 0) return true;
  return false;
}

Expr to_expr(const egraph::Term& term, const Expr& like) {
  Expr expr;
  expr.variables = like.variables;
  for (const ENode& e : term.nodes) expr.nodes.push_back(node_of(e));
  for (std::size_t i = 0; i < term.roots.size(); ++i)
    expr.outputs.push_back({like.outputs[i].name, NodeId(term.roots[i]), like.outputs[i].storage});
  return expr;
}

}  // namespace trident::expr::rewrite
