#include "jit/expr/passes.h"

#include <algorithm>
#include <limits>
#include <string>

#include "jit/expr/builder.h"
#include "jit/expr/ranges.h"
#include "jit/expr/shape.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

class Locating {
 public:
  Locating(const Expr& from, const LowerOptions& options) : from_(from), ranges_(from, options), b_(to_) {}

  Expr run() {
    to_.variables = from_.variables;
    for (Node node : from_.nodes) {
      const bool may_be_nan = info(node.op).signature == Signature::Locate && ranges_.at(node.a).may_be_nan;
      for (NodeId* operand : {&node.a, &node.b, &node.c})
        if (operand->valid()) *operand = moved_[operand->index];
      moved_.push_back(info(node.op).signature == Signature::Locate ? located(node, may_be_nan) : b_.add(node));
    }
    for (const Output& o : from_.outputs) to_.outputs.push_back({o.name, moved_[o.node.index], o.storage});
    return std::move(to_);
  }

 private:
  NodeId located(const Node& n, bool may_be_nan) {
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    const NodeId none = b_.constant_int(Type::i64, kNone);
    NodeId sought = b_.op(n.op == Op::ArgMin ? Op::MinOf : Op::MaxOf, n.a), is_sought{};
    if (ir::is_float(b_.type_of(n.a)) && may_be_nan) {
      const NodeId nan = b_.op(Op::Ne, n.a, n.a);
      sought = b_.op(Op::Select, any(nan, b_.type_of(n.a)), not_a_number(b_.type_of(n.a)), sought);
      is_sought = b_.op(Op::Or, b_.op(Op::Eq, n.a, sought), nan);
    } else {
      is_sought = b_.op(Op::Eq, n.a, sought);
    }
    const NodeId least = b_.op(Op::MinOf, b_.op(Op::Select, is_sought, b_.index(), none));
    return b_.op(Op::Select, b_.op(Op::Eq, least, none), b_.constant_int(Type::i64, -1), least);
  }

  /// Returns whether a truth value of elements holds for any; counted in `type`, so that lanes stay as wide.
  NodeId any(NodeId condition, Type type) {
    const NodeId zero = b_.constant(type, 0), one = b_.constant(type, 1);
    return b_.op(Op::Gt, b_.op(Op::MaxOf, b_.op(Op::Select, condition, one, zero)), zero);
  }
  NodeId not_a_number(Type type) { return b_.constant(type, std::numeric_limits<double>::quiet_NaN()); }

  const Expr& from_;
  Ranges ranges_;
  Expr to_;
  Builder b_;
  std::vector<NodeId> moved_;
};

/// Returns whether an output is an array of a value that is known after a pass: an identity has left the elements out.
bool fills_array(const Expr& expr, const std::vector<Place>& places, const std::vector<kir::OutputKind>& kinds,
                 std::size_t output) {
  return kinds[output] == kir::OutputKind::array && places[expr.outputs[output].node.index].shape == Shape::total;
}

class Division {
 public:
  Division(const Expr& whole, const std::vector<kir::OutputKind>& kinds)
      : whole_(whole), places_(places_of(whole)), passes_(passes_of(whole, places_)) {
    for (std::size_t k = 0; k < kinds.size(); ++k)
      if (fills_array(whole, places_, kinds, k))
        passes_ = std::max(passes_, places_[whole.outputs[k].node.index].after + 1u);
  }

  Result<std::vector<Pass>> run() {
    std::vector<NodeId> wanted;
    for (const Output& o : whole_.outputs) wanted.push_back(o.node);
    std::vector<Pass> list;
    for (std::uint32_t number = passes_; number > 0; --number) {
      const std::vector<bool> needed = reached(wanted, number);
      const std::vector<NodeId> known = known_before(needed, number);
      if (known.size() > limits::kOutputsMax)
        return make_error(ErrorCode::kLimitExceeded, "more than %u results of reductions meet elements",
                          limits::kOutputsMax);
      list.push_back(pass(needed, wanted, known, number == passes_));
      wanted = known;
    }
    std::reverse(list.begin(), list.end());
    return list;
  }

 private:
  /// Returns whether a value is a result of an earlier pass when pass `number` begins, from 1 on. Truth values are
  /// none: they are computed again from results.
  [[nodiscard]] bool is_known(NodeId id, std::uint32_t number) const {
    const Place& place = places_[id.index];
    return place.shape == Shape::total && place.after < number && !ir::is_mask(whole_.at(id).type);
  }

  [[nodiscard]] std::vector<bool> reached(const std::vector<NodeId>& wanted, std::uint32_t number) const {
    std::vector<bool> needed(whole_.nodes.size(), false);
    for (const NodeId id : wanted) needed[id.index] = true;
    for (std::uint32_t i = static_cast<std::uint32_t>(needed.size()); i-- > 0;) {
      if (!needed[i] || is_known(NodeId(i), number)) continue;
      const Node& n = whole_.nodes[i];
      for (const NodeId operand : {n.a, n.b, n.c})
        if (operand.valid()) needed[operand.index] = true;
    }
    return needed;
  }

  [[nodiscard]] std::vector<NodeId> known_before(const std::vector<bool>& needed, std::uint32_t number) const {
    std::vector<NodeId> known;
    for (std::uint32_t i = 0; i < needed.size(); ++i)
      if (needed[i] && is_known(NodeId(i), number)) known.emplace_back(i);
    return known;
  }

  [[nodiscard]] Pass pass(const std::vector<bool>& needed, const std::vector<NodeId>& wanted,
                          const std::vector<NodeId>& known, bool last) const {
    Pass made;
    made.results = known.size();
    made.expr.variables = whole_.variables;
    std::vector<NodeId> place(whole_.nodes.size());
    for (std::uint32_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      Node node = whole_.nodes[i];
      for (NodeId* operand : {&node.a, &node.b, &node.c})
        if (operand->valid()) *operand = place[operand->index];
      if (std::binary_search(known.begin(), known.end(), NodeId(i), by_index)) {
        node = {Op::Variable, node.type, {}, {}, {}, made.expr.variables.size()};
        const std::string name = "r" + std::to_string(made.expr.variables.size() - whole_.variables.size() + 1);
        made.expr.variables.push_back({name, node.type, VariableKind::scalar});
      }
      place[i] = NodeId(static_cast<std::uint32_t>(made.expr.nodes.size()));
      made.expr.nodes.push_back(node);
      made.origin.emplace_back(i);
    }
    for (std::size_t k = 0; k < wanted.size(); ++k)
      made.expr.outputs.push_back({last ? whole_.outputs[k].name : "r" + std::to_string(k + 1), place[wanted[k].index],
                                   last ? whole_.outputs[k].storage : Storage::own});
    return made;
  }

  static bool by_index(NodeId a, NodeId b) { return a.index < b.index; }

  const Expr& whole_;
  std::vector<Place> places_;
  std::uint32_t passes_;
};

}  // namespace

bool locates(const Expr& expr) {
  return std::any_of(expr.nodes.begin(), expr.nodes.end(),
                     [](const Node& n) { return info(n.op).signature == Signature::Locate; });
}

bool is_one_pass(const Expr& expr, const std::vector<kir::OutputKind>& kinds) {
  if (!has_reductions(expr)) return true;
  const std::vector<Place> places = places_of(expr);
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (fills_array(expr, places, kinds, k)) return false;
  return std::all_of(places.begin(), places.end(),
                     [](const Place& place) { return place.after <= (place.shape == Shape::total ? 1 : 0); });
}

Expr without_locating(const Expr& expr, const LowerOptions& options) {
  return Locating(expr, options).run();
}

Result<std::vector<Pass>> passes_in(const Expr& expr, const std::vector<kir::OutputKind>& kinds) {
  return Division(expr, kinds).run();
}

}  // namespace trident::expr
