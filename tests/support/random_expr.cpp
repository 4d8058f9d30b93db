#include "tests/support/random_expr.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "jit/expr/builder.h"
#include "jit/expr/shape.h"
#include "runtime/base/check.h"

namespace trident::testing {
namespace {

using expr::Expr;
using expr::NodeId;
using expr::Op;
using expr::Shape;
using expr::Signature;
using expr::Type;
using expr::Types;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Ops that kir has no sequence for without jit/kir/math's larger functions.
bool is_function(Op op) {
  return (op >= Op::Rsqrt && op <= Op::Pow) || (op >= Op::Sin && op <= Op::Erfc) || op == Op::Round || op == Op::Fmod;
}

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomExprOptions& options) : random_(seed), options_(options), builder_(expr_) {}

  Expr run() {
    types();
    variables();
    const std::uint32_t operations = 1 + random_.below(options_.nodes_max);
    for (std::uint32_t made = 0, tries = 0; made < operations && tries < 20 * operations; ++tries) {
      if (operation()) ++made;
    }
    outputs();
    return std::move(expr_);
  }

 private:
  void types() {
    if (options_.f64) types_.push_back(Type::f64);
    if (options_.f32) types_.push_back(Type::f32);
    // One float type per expression most of the time, as in real texts.
    if (types_.size() == 2 && random_.chance(0.7)) types_.erase(types_.begin() + random_.below(2));
    floats_ = types_.size();
    if (options_.integers && random_.chance(0.5)) {
      types_.push_back(Type::i32);
      types_.push_back(Type::i64);
    }
  }

  Type float_type() { return types_[random_.below(static_cast<std::uint32_t>(floats_))]; }
  Type any_type() { return types_[random_.below(static_cast<std::uint32_t>(types_.size()))]; }

  void variables() {
    const std::uint32_t count = 1 + random_.below(options_.variables_max);
    for (std::uint32_t i = 0; i < count; ++i) {
      expr::Variable v;
      v.name = std::string(1, static_cast<char>('a' + i));
      v.type = i == 0 ? float_type() : any_type();
      if (options_.scalars && i > 0 && random_.chance(0.2)) v.kind = expr::VariableKind::scalar;
      if (random_.chance(options_.ranged)) range(v);
      expr_.variables.push_back(v);
      note(builder_.variable(i));
    }
  }

  void range(expr::Variable& v) {
    constexpr std::array<double, 9> kEnds = {-1000, -10, -2, -0.5, 0, 0.001, 1, 5, 100};
    const std::uint32_t lo = random_.below(kEnds.size() - 1);
    v.lo = kEnds[lo];
    v.hi = kEnds[lo + 1 + random_.below(static_cast<std::uint32_t>(kEnds.size()) - lo - 1)];
    if (ir::is_int(v.type)) v.lo = std::ceil(v.lo), v.hi = std::max(v.lo, std::floor(v.hi));
    if (random_.chance(0.1)) v.hi = kInfinity;
    v.or_nan = options_.or_nan > 0 && ir::is_float(v.type) && random_.chance(options_.or_nan);
  }

  // Every node's place, computed as it is made; a node that would take too many passes is never made.
  NodeId note(NodeId id) {
    while (places_.size() < expr_.nodes.size()) {
      places_.push_back(*expr::place_of(expr_.nodes[places_.size()], places_, expr_.variables));
    }
    return id;
  }

  NodeId constant(Type type) {
    if (ir::is_int(type)) {
      if (options_.extremes && random_.chance(0.2)) {
        constexpr std::array<std::int64_t, 8> kEnds = {std::numeric_limits<std::int64_t>::min(),
                                                       std::numeric_limits<std::int64_t>::max(),
                                                       -2147483648,
                                                       2147483647,
                                                       32,
                                                       63,
                                                       64,
                                                       -2};
        return note(builder_.constant_int(type, kEnds[random_.below(kEnds.size())]));
      }
      constexpr std::array<std::int64_t, 8> kInts = {0, 1, -1, 2, 3, 31, 255, -100};
      return note(builder_.constant_int(type, kInts[random_.below(kInts.size())]));
    }
    constexpr std::array<double, 12> kFloats = {0, 1, -1, 2, 0.5, -0.5, 3, 10, 0.1, 1e-6, 3.141592653589793, -2.5};
    if (random_.chance(0.08)) {
      constexpr std::array<double, 10> kRare = {kInfinity, -kInfinity, NAN, 1e300, 1e-310, 1e8, 1e-10, 6e-17, 1e16, 20};
      return note(builder_.constant(type, kRare[random_.below(kRare.size())]));
    }
    return note(builder_.constant(type, kFloats[random_.below(kFloats.size())]));
  }

  // A node of `type`, biased to recent ones so that trees get deep; invalid when there is none (bools at first).
  NodeId pick(Type type) {
    if (type != Type::b32 && random_.chance(0.15)) return constant(type);
    for (int tries = 0; tries < 24; ++tries) {
      const auto size = static_cast<std::uint32_t>(expr_.nodes.size());
      const double skew = random_.unit();
      const std::uint32_t back = static_cast<std::uint32_t>(skew * skew * size);
      const NodeId id(size - 1 - std::min(back, size - 1));
      if (builder_.type_of(id) == type && expr_.at(id).op != Op::Constant) return id;
    }
    return type == Type::b32 ? NodeId() : constant(type);
  }

  bool admitted(Op op) const {
    const Signature signature = expr::info(op).signature;
    if (signature == Signature::Leaf) return false;
    if (signature == Signature::Diff && !options_.derivatives) return false;
    if (expr::makes_total(op) && !options_.reductions) return false;
    return options_.functions || !is_function(op);
  }

  bool operation() {
    if (options_.narrowing > 0 && random_.chance(options_.narrowing)) return narrow_and_widen();
    if (!options_.motifs.empty() && random_.chance(0.33)) return motif();
    constexpr auto kOps = static_cast<std::uint32_t>(Op::Diff) + 1;  // later ones read tables, of which it makes none
    const bool locates = options_.passes_max > 1 && options_.reductions && random_.chance(0.05);
    const Op op = locates ? (random_.chance(0.5) ? Op::ArgMin : Op::ArgMax) : static_cast<Op>(random_.below(kOps));
    if (!admitted(op)) return false;
    const Signature signature = expr::info(op).signature;
    if (expr::makes_total(op) && !random_.chance(0.3)) return false;
    const Types types = expr::info(op).types;
    Type type = any_type();
    if (types == Types::F || signature == Signature::Diff) type = float_type();
    if (types == Types::I && (floats_ == types_.size() || !ir::is_int(type))) return false;
    if (types == Types::B && !ir::is_int(type)) type = Type::b32;
    if (op == Op::Cast) return cast(type);

    expr::Node node{op, type, {}, {}, {}, 0};
    node.a = pick(signature == Signature::Select ? Type::b32 : type);
    if (expr::info(op).arity > 1) node.b = signature == Signature::Diff ? variable() : pick(type);
    if (expr::info(op).arity > 2) node.c = pick(type);
    if (signature == Signature::Compare) node.type = Type::b32;
    if (signature == Signature::Locate) node.type = Type::i64;
    if (op == Op::Powi) node.imm = exponent(type);
    for (std::uint32_t i = 0; i < expr::info(op).arity; ++i) {
      if (!std::array{node.a, node.b, node.c}[i].valid()) return false;
    }
    return append(node);
  }

  // Makes an operand for a variable of a motif, with the property that the motif needs.
  NodeId guarded(Motif::Guard guard, Type type) {
    if (guard == Motif::Guard::truth) return pick(Type::b32);
    if (guard == Motif::Guard::constant) return constant(type);
    const NodeId a = pick(type);
    const auto with = [&](Op op, NodeId left, double right) {
      return note(builder_.op(op, left, note(builder_.constant(type, right))));
    };
    if (!a.valid() || random_.chance(0.2)) return a;
    switch (guard) {
      case Motif::Guard::positive: return with(Op::Add, note(builder_.op(Op::Abs, a)), 0.5);
      case Motif::Guard::negative: return with(Op::Sub, note(builder_.op(Op::Neg, note(builder_.op(Op::Abs, a)))), 0.5);
      case Motif::Guard::whole: return note(builder_.op(Op::Rint, a));
      case Motif::Guard::within_one: return with(Op::Max, with(Op::Min, a, 1), -1);
      case Motif::Guard::at_least_one: return with(Op::Add, note(builder_.op(Op::Abs, a)), 1);
      case Motif::Guard::none:
      case Motif::Guard::truth:
      case Motif::Guard::constant: return a;
    }
    CHECK(false);
  }

  // Bool results and operands that cannot meet end it early: what was made by then stays.
  bool motif() {
    const Motif& m = options_.motifs[random_.below(static_cast<std::uint32_t>(options_.motifs.size()))];
    const Type type = float_type();
    std::vector<NodeId> variables, made;
    for (const Motif::Guard guard : m.guards) variables.push_back(guarded(guard, type));
    for (const Motif::Step& step : m.steps) {
      if (step.kind == Motif::Kind::variable) {
        if (!variables[step.variable].valid()) return false;
        made.push_back(variables[step.variable]);
        continue;
      }
      if (step.kind == Motif::Kind::number) {
        made.push_back(note(builder_.constant(type, step.number)));
        continue;
      }
      if (!admitted(step.op) || step.op == Op::Cast) return false;
      const Signature signature = expr::info(step.op).signature;
      expr::Node node{step.op, type, {}, {}, {}, 0};
      const std::uint32_t arity = expr::info(step.op).arity;
      for (std::uint32_t i = 0; i < arity; ++i) *std::array{&node.a, &node.b, &node.c}[i] = made[step.child[i]];
      if (signature == Signature::Diff) node.b = variable();
      if (!node.a.valid() || (arity > 1 && !node.b.valid()) ||
          (signature == Signature::Diff && node.type != builder_.type_of(node.b)))
        return false;
      if (signature == Signature::Compare) node.type = Type::b32;
      if (signature == Signature::Locate) node.type = Type::i64;
      if (signature == Signature::Same) node.type = builder_.type_of(node.a);
      if (step.op == Op::Powi) node.imm = static_cast<std::uint64_t>(static_cast<std::int64_t>(step.number));
      if (!append(node)) return false;
      made.push_back(last_);
    }
    return true;
  }

  bool cast(Type to) {
    const Type from = random_.chance(0.2) ? Type::b32 : any_type();
    if (from == to) return false;
    if (random_.chance(0.1) && from != Type::b32) to = Type::b32;
    const NodeId a = pick(from);
    return a.valid() && append({Op::Cast, to, a, {}, {}, 0});
  }

  bool narrow_and_widen() {
    if (std::find(types_.begin(), types_.end(), Type::f64) == types_.end()) return false;
    const NodeId a = pick(Type::f64);
    return append({Op::Cast, Type::f32, a, {}, {}, 0}) && append({Op::Cast, Type::f64, last_, {}, {}, 0});
  }

  NodeId variable() {
    const NodeId id = builder_.variable(random_.below(static_cast<std::uint32_t>(expr_.variables.size())));
    return ir::is_float(builder_.type_of(id)) ? id : NodeId();
  }

  std::uint64_t exponent(Type type) {
    if (options_.extremes && random_.chance(0.2)) {
      constexpr std::array<std::int64_t, 7> kHuge = {64, 100, 1000, 1023, 65537, 0x7FFFFFFF, 0x80000000};
      const std::int64_t n = kHuge[random_.below(kHuge.size())];
      return static_cast<std::uint64_t>(ir::is_float(type) && random_.chance(0.5) ? -n : n);
    }
    const auto n = static_cast<std::int64_t>(random_.below(13));
    return static_cast<std::uint64_t>(ir::is_float(type) && random_.chance(0.3) ? -n : n);
  }

  bool append(const expr::Node& node) {
    const std::optional<expr::Place> place = expr::place_of(node, places_, expr_.variables);
    const bool last_pass = place && place->shape == expr::Shape::element;
    if (!place || place->after + (last_pass ? 1u : 0u) > options_.passes_max) return false;
    last_ = note(builder_.add(node));
    return true;
  }

  void outputs() {
    const std::uint32_t wanted = 1 + random_.below(options_.outputs_max);
    for (std::uint32_t tries = 0; tries < 50 && expr_.outputs.size() < wanted; ++tries) {
      const auto size = static_cast<std::uint32_t>(expr_.nodes.size());
      const NodeId id = tries == 0 ? NodeId(size - 1) : pick(any_type());
      if (builder_.type_of(id) == Type::b32) continue;
      expr_.outputs.push_back({"out" + std::to_string(expr_.outputs.size()), id});
    }
    if (expr_.outputs.empty()) expr_.outputs.push_back({"out0", NodeId(0)});
  }

  Random random_;
  const RandomExprOptions& options_;
  Expr expr_;
  expr::Builder builder_;
  std::vector<expr::Place> places_;
  std::vector<Type> types_;  // floats first
  std::size_t floats_ = 0;
  NodeId last_{};
};

double uniform(double lo, double hi, Random& random) {
  lo = std::max(lo, -1e6);
  hi = std::min(std::max(hi, lo), lo == -1e6 ? 1e6 : std::max(lo * 2, 1e6));
  return lo + (hi - lo) * random.unit();
}

}  // namespace

expr::Expr random_expr(std::uint64_t seed, const RandomExprOptions& options) {
  return Generator(seed, options).run();
}

std::vector<std::uint64_t> random_values(const expr::Variable& variable, std::size_t count, Random& random) {
  if (variable.is_scalar()) count = 1;
  std::vector<double> corners = {0.0, -0.0, 1, -1, variable.lo, variable.hi, 0.5, 1e-3};
  const std::vector<double> extremes = {kInfinity, -kInfinity, NAN,    1e-310, -1e-310, 1e-45,       3.4e38,
                                        -3.4e38,   1e300,      -1e300, 1e15,   -1e15,   2147483647.0};
  if (!variable.has_range()) corners.insert(corners.end(), extremes.begin(), extremes.end());
  std::vector<std::uint64_t> bits;
  while (bits.size() < count) {
    if (variable.or_nan && random.chance(0.15)) {
      bits.push_back(expr::bits_of(variable.type, NAN));
      continue;
    }
    double v = random.chance(0.15)
                   ? corners[random.below(static_cast<std::uint32_t>(corners.size()))]
                   : uniform(variable.has_range() ? variable.lo : -20, variable.has_range() ? variable.hi : 20, random);
    if (ir::is_int(variable.type)) {
      if (!variable.has_range() && random.chance(0.2)) {
        bits.push_back(expr::bits_of_int(variable.type, static_cast<std::int64_t>(random.next())));
        continue;
      }
      v = std::isnan(v) ? 0 : std::clamp(std::floor(v), -2147483648.0, 2147483647.0);
    }
    if (variable.type == Type::f32) v = static_cast<float>(v);
    if (variable.has_range() && !(v >= variable.lo && v <= variable.hi)) continue;
    bits.push_back(expr::bits_of(variable.type, v));
  }
  return bits;
}

}  // namespace trident::testing
