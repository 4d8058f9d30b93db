#include "clients/cli/bench/c_source.h"

#include <vector>

#include "clients/cli/bench/c_statements.h"
#include "jit/expr/shape.h"

namespace trident::cli {
namespace {

using expr::Expr;
using expr::Node;
using expr::NodeId;
using expr::Op;
using ir::Type;

/// Marks nodes that are, or depend on, a reduction: they are known after the loop only.
std::vector<bool> after_loop(const Expr& e) {
  std::vector<bool> after;
  for (const expr::Shape shape : expr::shapes_of(e)) after.push_back(shape == expr::Shape::total);
  return after;
}

/// Marks nodes that an output needs.
std::vector<bool> live(const Expr& e) {
  std::vector<bool> used(e.nodes.size(), false);
  for (const auto& output : e.outputs) used[output.node.index] = true;
  for (std::size_t i = e.nodes.size(); i-- > 0;) {
    if (!used[i]) continue;
    const Node& n = e.nodes[i];
    const std::uint32_t arity = expr::info(n.op).arity;
    if (arity > 0) used[n.a.index] = true;
    if (arity > 1) used[n.b.index] = true;
    if (arity > 2) used[n.c.index] = true;
  }
  return used;
}

class CLoop {
 public:
  explicit CLoop(const Expr& e) : expr_(e), nodes_(e), after_(after_loop(e)), live_(live(e)) {}
  std::string print();

 private:
  [[nodiscard]] bool reduction(std::size_t i) const;
  /// An output that is one value per call: known after the loop, and an accumulator is in it.
  [[nodiscard]] bool is_scalar(NodeId node) const { return after_[node.index]; }

  /// An accumulator before the loop, its update in it, its final value after it.
  void accumulate(std::size_t index, std::string& loop, std::string& tail);
  [[nodiscard]] std::string assemble(const std::string& loop, const std::string& tail) const;

  const Expr& expr_;
  CStatements nodes_;
  std::vector<bool> after_, live_;
  std::string accumulators_;
};

std::string CLoop::print() {
  std::string loop, tail;
  for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
    if (!live_[i]) continue;
    const Node& n = expr_.nodes[i];
    if (n.op == Op::Constant || n.op == Op::Variable) continue;
    const std::string indent = after_[i] ? "  " : "    ";
    (after_[i] ? tail : loop) += reduction(i) ? "" : indent + nodes_.definition(i) + "\n";
    if (reduction(i)) accumulate(i, loop, tail);
  }
  for (std::size_t k = 0; k < expr_.outputs.size(); ++k) {
    const NodeId node = expr_.outputs[k].node;
    const std::string target = "out" + std::to_string(k);
    if (is_scalar(node))
      tail += "  " + target + "[0] = " + nodes_.stored(node) + ";\n";
    else
      loop += "    " + target + "[i] = " + nodes_.stored(node) + ";\n";
  }
  return assemble(loop, tail);
}

bool CLoop::reduction(std::size_t i) const {
  return expr::info(expr_.nodes[i].op).signature == expr::Signature::Reduce || expr_.nodes[i].op == Op::Dot;
}

void CLoop::accumulate(std::size_t index, std::string& loop, std::string& tail) {
  const Node& n = expr_.nodes[index];
  const std::string name = "acc" + std::to_string(index), type = c_type(n.type);
  const bool wide = n.type == Type::i64;
  std::string start = "0", update;
  const std::string a = nodes_.operand(n.a);
  const auto sum_of = [&](const std::string& term) {
    if (!ir::is_int(n.type)) return name + " += " + term;
    const std::string u = c_unsigned(n.type);
    return name + " = (" + type + ")(" + u + name + " + " + u + "(" + term + "))";
  };
  if (n.op == Op::Dot) {
    const std::string u = c_unsigned(n.type);
    update = sum_of(ir::is_int(n.type) ? u + a + " * " + u + nodes_.operand(n.b) : a + " * " + nodes_.operand(n.b));
  } else if (n.op == Op::Prod) {
    const std::string u = c_unsigned(n.type);
    start = "1";
    update = ir::is_int(n.type) ? name + " = (" + type + ")(" + u + name + " * " + u + a + ")" : name + " *= " + a;
  } else if (n.op == Op::MinOf || n.op == Op::MaxOf) {
    const bool least = n.op == Op::MinOf;
    if (ir::is_int(n.type))
      start = std::string(wide ? "INT64_" : "INT32_") + (least ? "MAX" : "MIN");
    else
      start = least ? "INFINITY" : "-INFINITY";
    update = name + " = " + a + (least ? " < " : " > ") + name + " ? " + a + " : " + name;
  } else {
    update = sum_of(a);
  }
  accumulators_ += "  " + type + " " + name + " = " + start + ";\n";
  loop += "    " + update + ";\n";
  const std::string final_value = n.op == Op::Mean ? name + " / (" + type + ")n" : name;
  tail += "  const " + type + " t" + std::to_string(index) + " = " + final_value + ";\n";
}

std::string CLoop::assemble(const std::string& loop, const std::string& tail) const {
  std::string parameters = "size_t n", arguments = "n";
  std::size_t arrays = 0, scalars = 0;
  std::string unpack;
  for (std::size_t v = 0; v < expr_.variables.size(); ++v) {
    const auto& variable = expr_.variables[v];
    const std::string type = c_type(variable.type), name = "v" + std::to_string(v);
    if (variable.is_scalar()) {
      parameters += ", " + type + " " + name;
      unpack += "  " + type + " " + name + "; memcpy(&" + name + ", &params[" + std::to_string(scalars++) +
                "], sizeof " + name + ");\n";
      arguments += ", " + name;
    } else {
      parameters += ", const " + type + "* __restrict " + name;
      arguments += ", (const " + type + "*)in[" + std::to_string(arrays++) + "]";
    }
  }
  for (std::size_t v = 0; v < expr_.variables.size(); ++v) {
    if (!expr_.variables[v].is_table()) continue;
    const std::string length = "v" + std::to_string(v) + "_length";
    parameters += ", uint64_t " + length;
    unpack += "  uint64_t " + length + " = (int64_t)params[" + std::to_string(scalars) + "] > 0 ? params[" +
              std::to_string(scalars) + "] : 0;\n";
    ++scalars;
    arguments += ", " + length;
  }
  for (std::size_t k = 0; k < expr_.outputs.size(); ++k) {
    const std::string type = c_type(expr_.at(expr_.outputs[k].node).type);
    parameters += ", " + type + "* __restrict out" + std::to_string(k);
    arguments += ", (" + type + "*)out[" + std::to_string(k) + "]";
  }
  std::string names;
  for (std::size_t v = 0; v < expr_.variables.size(); ++v)
    names += " v" + std::to_string(v) + " = " + expr_.variables[v].name;
  return "/*" + names +
         " */\n#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n"
         "static void kernel(" +
         parameters + ") {\n" + accumulators_ + "  for (size_t i = 0; i < n; ++i) {\n" + loop + "  }\n" + tail +
         "}\n\nvoid " + kContestantSymbol +
         "(const void* self, uint64_t n, const void* const* in, void* const* out, const uint64_t* params) {\n"
         "  (void)self, (void)in, (void)params;\n" +
         unpack + "  kernel(" + arguments + ");\n}\n";
}

}  // namespace

std::string c_source(const expr::Expr& expr) {
  return CLoop(expr).print();
}

}  // namespace trident::cli
