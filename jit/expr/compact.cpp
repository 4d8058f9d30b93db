#include "jit/expr/compact.h"

namespace trident::expr {

void drop_unused(Expr& expr) {
  const std::size_t count = expr.nodes.size();
  std::vector<std::uint32_t> place(count, 0);  // 1 when needed, then the index after compaction
  for (const Output& output : expr.outputs) place[output.node.index] = 1;
  std::size_t needed = 0;
  for (std::size_t i = count; i-- > 0;) {
    if (place[i] == 0) continue;
    ++needed;
    const Node& node = expr.nodes[i];
    if (node.a.valid()) place[node.a.index] = 1;
    if (node.b.valid()) place[node.b.index] = 1;
    if (node.c.valid()) place[node.c.index] = 1;
  }
  if (needed == count) return;
  std::uint32_t next = 0;
  const auto moved = [&](NodeId id) { return id.valid() ? NodeId(place[id.index]) : id; };
  for (std::size_t i = 0; i < count; ++i) {
    if (place[i] == 0) continue;
    Node node = expr.nodes[i];
    node.a = moved(node.a);
    node.b = moved(node.b);
    node.c = moved(node.c);
    place[i] = next;
    expr.nodes[next++] = node;
  }
  expr.nodes.resize(next);
  for (Output& output : expr.outputs) output.node = NodeId(place[output.node.index]);
}

Node moved(Node node, const std::vector<NodeId>& place) {
  for (NodeId* operand : {&node.a, &node.b, &node.c}) {
    if (operand->valid()) *operand = place[operand->index];
  }
  return node;
}

void move_outputs(const Expr& from, Expr& to, const std::vector<NodeId>& place) {
  for (const Output& o : from.outputs) to.outputs.push_back({o.name, place[o.node.index], o.storage});
  drop_unused(to);
}

}  // namespace trident::expr
