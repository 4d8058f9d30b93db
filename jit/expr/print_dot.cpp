// The graph of an expression for Graphviz: operands above their users, outputs as boxes.
#include "jit/expr/print_plan.h"
#include "jit/ir/text.h"

namespace trident::expr {

std::string print_dot(const Expr& expr) {
  std::string out = "digraph expr {\n  node [shape=ellipse, fontname=\"monospace\"];\n";
  const auto name = [](std::uint32_t i) { return "n" + std::to_string(i); };
  for (std::uint32_t i = 0; i < expr.nodes.size(); ++i) {
    const Node& n = expr.nodes[i];
    std::string label(info(n.op).text);
    if (n.op == Op::Constant) label = print_constant(n.type, n.imm);
    if (n.op == Op::Variable) label = expr.variables[n.imm].name;
    if (n.op == Op::Powi) label += " " + std::to_string(static_cast<std::int64_t>(n.imm));
    out += "  " + name(i) + " [label=" + ir::dot_quoted(label + "\n" + std::string(ir::name_of(n.type)));
    if (n.op == Op::Variable) out += ", style=filled, fillcolor=lightblue";
    out += "];\n";
    int slot = 0;
    for (const NodeId operand : {n.a, n.b, n.c}) {
      if (!operand.valid()) continue;
      out += "  " + name(operand.index) + " -> " + name(i);
      out += n.b.valid() ? " [label=\"" + std::string(1, static_cast<char>('a' + slot)) + "\"];\n" : ";\n";
      ++slot;
    }
  }
  for (std::size_t k = 0; k < expr.outputs.size(); ++k) {
    const std::string box = "o" + std::to_string(k);
    out += "  " + box + " [shape=box, label=" + ir::dot_quoted(expr.outputs[k].name) + "];\n";
    out += "  " + name(expr.outputs[k].node.index) + " -> " + box + ";\n";
  }
  return out + "}\n";
}

}  // namespace trident::expr
