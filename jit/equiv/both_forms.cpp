#include "jit/equiv/both_forms.h"

#include <algorithm>

namespace trident::equiv {
namespace {

using expr::Expr;
using expr::Node;
using expr::NodeId;
using expr::Op;

bool commutes(Op op) {
  return expr::info(op).commutes == expr::Commutes::in_bits && op != Op::Dot;
}

// Drops variables that no node reads.
void drop_variables(Expr& expr) {
  std::vector<bool> used(expr.variables.size(), false);
  for (const Node& node : expr.nodes)
    if (node.op == Op::Variable) used[static_cast<std::size_t>(node.imm)] = true;
  std::vector<std::uint64_t> place(used.size(), 0);
  std::vector<expr::Variable> kept;
  for (std::size_t v = 0; v < used.size(); ++v) {
    place[v] = kept.size();
    if (used[v]) kept.push_back(std::move(expr.variables[v]));
  }
  for (Node& node : expr.nodes)
    if (node.op == Op::Variable) node.imm = place[static_cast<std::size_t>(node.imm)];
  expr.variables = std::move(kept);
}

}  // namespace

BothForms::BothForms(const Expr& source, const Expr& form, const expr::LowerOptions& how) : builder_(both_) {
  both_.variables = source.variables;
  const std::vector<NodeId> in_source = import(source);
  source_nodes_ = builder_.size();
  const std::vector<NodeId> in_form = import(form);
  for (std::size_t k = 0; k < source.outputs.size(); ++k)
    both_.outputs.push_back({source.outputs[k].name, in_source[source.outputs[k].node.index]});
  for (const expr::Output& o : form.outputs) form_outputs_.push_back(in_form[o.node.index]);
  for (const expr::Variable& v : source.variables) or_nan_ = or_nan_ || v.or_nan;
  for (const Node& n : both_.nodes)
    narrows_ = narrows_ || (n.op == Op::Cast && n.type == expr::Type::f32 && both_.at(n.a).type == expr::Type::f64);
  shapes_ = expr::shapes_of(both_);
  expr::Ranges ranges(both_, how);
  for (std::uint32_t i = 0; i < both_.nodes.size(); ++i) facts_.push_back(ranges.at(NodeId(i)));
  alike_.resize(both_.nodes.size());
  for (std::uint32_t i = 0; i < alike_.size(); ++i) alike_[i] = i;
}

std::vector<NodeId> BothForms::import(const Expr& expr) {
  std::vector<NodeId> place;
  for (Node n : expr.nodes) {
    for (NodeId* operand : {&n.a, &n.b, &n.c})
      if (operand->valid()) *operand = place[operand->index];
    if (commutes(n.op) && n.b.index < n.a.index) std::swap(n.a, n.b);
    place.push_back(builder_.add(n));
  }
  return place;
}

bool BothForms::may_end(std::uint32_t c) const {
  const Node& node = both_.nodes[c];
  if (expr::info(node.op).signature == expr::Signature::Leaf) return false;
  return node.op != Op::Cast || both_.at(node.a).type != expr::Type::b32;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> BothForms::ends() const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> list;
  for (std::size_t k = 0; k < form_outputs_.size(); ++k)
    list.emplace_back(both_.outputs[k].node.index, form_outputs_[k].index);
  return list;
}

std::optional<std::uint32_t> BothForms::find(Node node) const {
  if (commutes(node.op) && node.b.index < node.a.index) std::swap(node.a, node.b);
  for (std::uint32_t n = 0; n < source_nodes_; ++n) {
    const Node& like = both_.nodes[n];
    if (like.op == node.op && like.type == node.type && like.a == node.a && like.b == node.b && like.c == node.c &&
        like.imm == node.imm)
      return n;
  }
  return std::nullopt;
}

std::vector<bool> BothForms::reached(std::uint32_t root, const Cuts& cuts) const {
  std::vector<bool> mark(both_.nodes.size(), false);
  mark[root] = true;
  for (std::uint32_t i = root + 1; i-- > 0;) {
    if (!mark[i] || (i != root && cuts[alike_[i]])) continue;
    for (const NodeId operand : {both_.nodes[i].a, both_.nodes[i].b, both_.nodes[i].c})
      if (operand.valid()) mark[operand.index] = true;
  }
  return mark;
}

std::vector<bool> BothForms::met(std::uint32_t root, const Cuts& cuts) const {
  const std::vector<bool> mark = reached(root, cuts);
  std::vector<bool> list(mark.size(), false);
  for (std::uint32_t i = 0; i < mark.size(); ++i)
    if (mark[i]) list[alike_[i]] = true;
  return list;
}

std::string BothForms::text_of(std::uint32_t node) const {
  constexpr std::size_t kTextMax = 60;
  Expr part = both_;
  part.outputs = {{"part", NodeId(node)}};
  std::string text = expr::print_infix(part);
  if (text.size() > kTextMax) text.resize(kTextMax), text += "...";
  return text;
}

void BothForms::explain(const Pair& pair, Counterexample& e) const {
  for (std::size_t p = 0; p < pair.parts.size(); ++p)
    e.why += (p == 0 ? ", in a part where p" : ", p") + std::to_string(p + 1) + " is " + text_of(pair.parts[p]);
}

std::optional<std::uint32_t> BothForms::made_alike(std::uint32_t m) const {
  Node node = both_.nodes[m];
  for (NodeId* operand : {&node.a, &node.b, &node.c})
    if (operand->valid()) *operand = NodeId(alike_[operand->index]);
  if (const auto same = find(node)) return same;
  if (const auto other = other_spelling(node)) return find(*other);
  if (node.op != Op::Fma) return std::nullopt;
  const Node& a = both_.at(node.a);
  const Node& c = both_.at(node.c);
  const bool negated = a.op == Op::Neg;
  const auto product = find({Op::Mul, node.type, negated ? NodeId(alike_[a.a.index]) : node.a, node.b, {}, 0});
  if (!product) return std::nullopt;
  if (negated) return find({Op::Sub, node.type, node.c, NodeId(*product), {}, 0});
  if (c.op == Op::Neg) return find({Op::Sub, node.type, NodeId(*product), NodeId(alike_[c.a.index]), {}, 0});
  return find({Op::Add, node.type, NodeId(*product), node.c, {}, 0});
}

std::optional<Node> BothForms::other_spelling(Node node) const {
  const auto constant = [&](double value) -> std::optional<NodeId> {
    const auto found = find({Op::Constant, node.type, {}, {}, {}, expr::bits_of(node.type, value)});
    return found ? std::optional(NodeId(*found)) : std::nullopt;
  };
  if (!ir::is_float(node.type)) return std::nullopt;
  if (node.op == Op::Add || node.op == Op::Sub) {
    for (const auto& [number, other] : {std::pair(node.b, node.a), std::pair(node.a, node.b)}) {
      if (both_.at(number).op != Op::Constant || (node.op == Op::Sub && number != node.b)) continue;
      const auto opposite = constant(-expr::value_of(node.type, both_.at(number).imm));
      if (opposite) return Node{node.op == Op::Add ? Op::Sub : Op::Add, node.type, other, *opposite, {}, 0};
    }
  }
  if (node.op == Op::Mul && node.a == node.b) return Node{Op::Powi, node.type, node.a, {}, {}, 2};
  if (node.op == Op::Powi && node.imm == 2) return Node{Op::Mul, node.type, node.a, node.a, {}, 0};
  if (node.op == Op::Recip)
    if (const auto one = constant(1)) return Node{Op::Div, node.type, *one, node.a, {}, 0};
  if (node.op == Op::Div && both_.at(node.a).op == Op::Constant && expr::value_of(node.type, both_.at(node.a).imm) == 1)
    return Node{Op::Recip, node.type, node.b, {}, {}, 0};
  return std::nullopt;
}

BothForms::Pair BothForms::cut(std::uint32_t n, std::uint32_t m, const Cuts& cuts) const {
  Pair pair;
  pair.expr.variables = both_.variables;
  expr::Builder b(pair.expr);
  std::vector<NodeId> stand_in(both_.nodes.size());
  for (const std::uint32_t root : {n, m}) {
    const std::vector<bool> mark = reached(root, cuts);
    std::vector<NodeId> place(both_.nodes.size());
    for (std::uint32_t i = 0; i <= root; ++i) {
      if (!mark[i]) continue;
      const std::uint32_t part = alike_[i];
      if (i != root && cuts[part]) {
        if (!stand_in[part].valid()) {
          stand_in[part] = add_variable(part, pair.expr, [&](const Node& node) { return b.add(node); });
          pair.parts.push_back(part);
        }
        place[i] = stand_in[part];
        continue;
      }
      Node node = both_.nodes[i];
      for (NodeId* operand : {&node.a, &node.b, &node.c})
        if (operand->valid()) *operand = place[operand->index];
      place[i] = b.add(node);
    }
    pair.expr.outputs.push_back({root == n ? "source" : "form", place[root]});
  }
  drop_variables(pair.expr);
  return pair;
}

}  // namespace trident::equiv
