#include "jit/expr/rewrite/fixed_parts.h"

#include <array>
#include <utility>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"
#include "jit/expr/ranges.h"
#include "jit/expr/shape.h"

namespace trident::expr::rewrite {
namespace {

bool casts(const Expr& expr, NodeId id, Type from, Type to) {
  const Node& n = expr.at(id);
  return n.op == Op::Cast && n.type == to && expr.at(n.a).type == from;
}

bool is_made_of_widened(const Expr& expr, NodeId id) {
  const Node& n = expr.at(id);
  if (n.op != Op::Cast && (info(n.op).rounding != Rounding::correct || n.op == Op::Fma)) return false;
  if (n.op == Op::Cast) return casts(expr, id, Type::f32, Type::f64);
  return casts(expr, n.a, Type::f32, Type::f64) && (!n.b.valid() || casts(expr, n.b, Type::f32, Type::f64));
}

/// Returns the operands whose value, or its negative, `n` may give as its result.
std::array<NodeId, 2> passed_on(const Node& n) {
  if (has(n.op, kSignOnly)) return {n.a, {}};
  if (n.op == Op::Min || n.op == Op::Max) return {n.a, n.b};
  if (n.op == Op::Select) return {n.b, n.c};
  return {};
}

}  // namespace

std::vector<bool> casts_read_in_f64(const Expr& expr) {
  std::vector<bool> read(expr.nodes.size(), false), found(expr.nodes.size(), false);
  for (std::uint32_t i = static_cast<std::uint32_t>(expr.nodes.size()); i-- > 0;) {
    const Node& n = expr.nodes[i];
    if (casts(expr, NodeId(i), Type::f32, Type::f64)) read[n.a.index] = true;
    if (!read[i]) continue;
    for (const NodeId operand : passed_on(n))
      if (operand.valid()) read[operand.index] = true;
    found[i] = casts(expr, NodeId(i), Type::f64, Type::f32) && !is_made_of_widened(expr, n.a) &&
               info(expr.at(n.a).op).signature != Signature::Leaf;
  }
  return found;
}

FixedParts::FixedParts(const Expr& source, std::vector<bool> fixed) : source_(source), fixed_(std::move(fixed)) {
  open_.variables = source.variables;
  Builder b(open_);
  const std::vector<Shape> shapes = shapes_of(source);
  Ranges ranges(source);
  std::vector<NodeId> moved;
  for (std::uint32_t i = 0; i < source.nodes.size(); ++i) {
    Node n = source.nodes[i];
    if (info(n.op).signature == Signature::Leaf && n.op != Op::Constant) fixed_[i] = false;
    if (fixed_[i]) {
      // A value known after the loop is not known before it, so it counts as an array's element.
      const VariableKind kind = shapes[i] == Shape::uniform ? VariableKind::scalar : VariableKind::array;
      stands_for_.push_back(NodeId(i));
      Variable part{"part" + std::to_string(stands_for_.size()), n.type, kind};
      // The result of a comparison with NaN may be known; the search must assume nothing of floats.
      if (!ir::is_float(n.type)) part.lo = ranges.at(NodeId(i)).lo, part.hi = ranges.at(NodeId(i)).hi;
      open_.variables.push_back(std::move(part));
      n = {Op::Variable, n.type, {}, {}, {}, open_.variables.size() - 1};
    }
    for (NodeId* operand : {&n.a, &n.b, &n.c})
      if (operand->valid()) *operand = moved[operand->index];
    moved.push_back(b.add(n));
  }
  for (const Output& o : source.outputs) open_.outputs.push_back({o.name, moved[o.node.index], o.storage});
  outputs_.assign(source.nodes.size(), 0);
  for (const NodeId id : stands_for_) {
    const Node& n = source.at(id);
    for (const NodeId operand : {n.a, n.b, n.c}) {
      if (!operand.valid() || !is_open(operand) || outputs_[operand.index] != 0) continue;
      outputs_[operand.index] = static_cast<std::uint32_t>(open_.outputs.size());
      open_.outputs.push_back({"", moved[operand.index]});
    }
  }
  drop_unused(open_);
}

// Leaves stay as they are: a table, a stride.
bool FixedParts::is_open(NodeId id) const {
  return !fixed_[id.index] && info(source_.at(id).op).signature != Signature::Leaf;
}

/// Puts nodes of the source in the place of variables, in an order that neither of the two expressions has.
class FixedParts::Closing {
 public:
  Closing(const FixedParts& parts, const Expr& form, bool is_form)
      : parts_(parts), form_(form), is_form_(is_form), b_(made_) {
    made_.variables = parts.source_.variables;
    places_.resize(form.nodes.size() + parts.source_.nodes.size());
    begun_.assign(places_.size(), false);
  }

  std::optional<Expr> run() {
    const std::size_t outputs = is_form_ ? parts_.source_.outputs.size() : form_.outputs.size();
    for (std::size_t k = 0; k < outputs; ++k) {
      const Output& o = form_.outputs[k];
      if (!make(o.node.index)) return std::nullopt;
      made_.outputs.push_back({o.name, places_[o.node.index], o.storage});
    }
    drop_unused(made_);
    return std::move(made_);
  }

 private:
  using Place = std::size_t;  ///< a node of the form, or behind those one of the source

  [[nodiscard]] Place of_source(NodeId id) const { return form_.nodes.size() + id.index; }
  [[nodiscard]] Place operand_of(Place at, NodeId operand) const {
    if (at < form_.nodes.size()) return operand.index;
    const bool searched = is_form_ && parts_.is_open(operand);
    return searched ? form_.outputs[parts_.outputs_[operand.index]].node.index : of_source(operand);
  }
  [[nodiscard]] const Node& node(Place at) const {
    return at < form_.nodes.size() ? form_.nodes[at] : parts_.source_.nodes[at - form_.nodes.size()];
  }
  /// Returns the fixed node that a variable of the form stands for.
  [[nodiscard]] std::optional<Place> stands_for(Place at) const {
    const Node& n = node(at);
    const std::size_t own = parts_.source_.variables.size();
    if (at >= form_.nodes.size() || n.op != Op::Variable || n.imm < own) return std::nullopt;
    return of_source(parts_.stands_for_[n.imm - own]);
  }

  bool make(Place root) {
    std::vector<Place> stack = {root};
    while (!stack.empty()) {
      const Place at = stack.back();
      if (places_[at].valid()) {
        stack.pop_back();
        continue;
      }
      const std::size_t below = stack.size();
      const auto ask = [&](Place operand) {
        if (!places_[operand].valid()) stack.push_back(operand);
      };
      const std::optional<Place> other = stands_for(at);
      Node n = node(at);
      if (other)
        ask(*other);
      else
        for (const NodeId operand : {n.a, n.b, n.c})
          if (operand.valid()) ask(operand_of(at, operand));
      if (stack.size() > below) {
        if (begun_[at]) return false;
        begun_[at] = true;
        continue;
      }
      for (NodeId* operand : {&n.a, &n.b, &n.c})
        if (operand->valid()) *operand = places_[operand_of(at, *operand)];
      places_[at] = other ? places_[*other] : b_.add(n);
      stack.pop_back();
    }
    return true;
  }

  const FixedParts& parts_;
  const Expr& form_;
  bool is_form_;
  Expr made_;
  Builder b_;
  std::vector<NodeId> places_;
  std::vector<bool> begun_;
};

std::optional<Expr> FixedParts::close(const Expr& form) const {
  return Closing(*this, form, true).run();
}

Expr FixedParts::close_others(const Expr& others) const {
  std::optional<Expr> closed = Closing(*this, others, false).run();
  CHECK(closed);  // operands precede their users in both
  return std::move(*closed);
}

}  // namespace trident::expr::rewrite
