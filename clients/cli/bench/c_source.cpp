#include "clients/cli/bench/c_source.h"

#include <algorithm>
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

/// One loop over the elements, and what follows it.
struct CPass {
  std::string loop, tail;
};

class CLoop {
 public:
  explicit CLoop(const Expr& e)
      : expr_(e), nodes_(e), places_(expr::places_of(e)), live_(live(e)), passes_(expr::passes_of(e, places_)) {}
  std::string print();

 private:
  /// A node that is, or depends on, a reduction and no element: one value per call, known after a loop.
  [[nodiscard]] bool is_scalar(NodeId node) const { return places_[node.index].shape == expr::Shape::total; }

  void define(std::size_t index);
  /// An accumulator before the loops, its update in one, its final value after it.
  void accumulate(std::size_t index);
  [[nodiscard]] std::string update(const Node& n, const std::string& name, std::string& start) const;
  [[nodiscard]] std::string assemble() const;

  const Expr& expr_;
  CStatements nodes_;
  std::vector<expr::Place> places_;
  std::vector<bool> live_;
  std::vector<CPass> passes_;
  std::string before_, accumulators_;
};

std::string CLoop::print() {
  for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
    const Op op = expr_.nodes[i].op;
    if (live_[i] && op != Op::Constant && op != Op::Variable) expr::makes_total(op) ? accumulate(i) : define(i);
  }
  for (std::size_t k = 0; k < expr_.outputs.size(); ++k) {
    const NodeId node = expr_.outputs[k].node;
    const std::string target = "out" + std::to_string(k);
    if (is_scalar(node))
      passes_.back().tail += "  " + target + "[0] = " + nodes_.stored(node) + ";\n";
    else
      passes_.back().loop += "    " + target + "[i] = " + nodes_.stored(node) + ";\n";
  }
  return assemble();
}

/// Defines a value of elements in each loop from the one on where it is known, and one known before all of them there,
/// as what follows a loop may need it too.
void CLoop::define(std::size_t index) {
  const std::string definition = nodes_.definition(index) + "\n";
  const std::uint8_t after = places_[index].after;
  if (places_[index].shape == expr::Shape::uniform) {
    before_ += "  " + definition;
    return;
  }
  if (is_scalar(NodeId(static_cast<std::uint32_t>(index)))) {
    passes_[after - 1].tail += "  " + definition;
    return;
  }
  for (std::size_t pass = after; pass < passes_.size(); ++pass) passes_[pass].loop += "    " + definition;
}

std::string CLoop::update(const Node& n, const std::string& name, std::string& start) const {
  const std::string a = nodes_.operand(n.a), type = c_type(n.type), u = ir::is_int(n.type) ? c_unsigned(n.type) : "";
  const auto sum_of = [&](const std::string& term) {
    if (!ir::is_int(n.type)) return name + " += " + term;
    return name + " = (" + type + ")(" + u + name + " + " + u + "(" + term + "))";
  };
  if (n.op == Op::Dot)
    return sum_of(ir::is_int(n.type) ? u + a + " * " + u + nodes_.operand(n.b) : a + " * " + nodes_.operand(n.b));
  if (n.op == Op::Prod) {
    start = "1";
    return ir::is_int(n.type) ? name + " = (" + type + ")(" + u + name + " * " + u + a + ")" : name + " *= " + a;
  }
  if (n.op == Op::ArgMin || n.op == Op::ArgMax) {
    start = "-1";
    return "if (" + name + " < 0 || " + a + (n.op == Op::ArgMin ? " < " : " > ") + name + "_best) " + name +
           "_best = " + a + ", " + name + " = (int64_t)i";
  }
  if (n.op != Op::MinOf && n.op != Op::MaxOf) return sum_of(a);
  const bool least = n.op == Op::MinOf, wide = n.type == Type::i64;
  start = ir::is_int(n.type) ? std::string(wide ? "INT64_" : "INT32_") + (least ? "MAX" : "MIN")
                             : std::string(least ? "INFINITY" : "-INFINITY");
  return name + " = " + a + (least ? " < " : " > ") + name + " ? " + a + " : " + name;
}

void CLoop::accumulate(std::size_t index) {
  const Node& n = expr_.nodes[index];
  const std::string name = "acc" + std::to_string(index), type = c_type(n.type);
  std::size_t pass = places_[n.a.index].after;
  if (n.b.valid()) pass = std::max<std::size_t>(pass, places_[n.b.index].after);
  std::string start = "0";
  passes_[pass].loop += "    " + update(n, name, start) + ";\n";
  accumulators_ += "  " + type + " " + name + " = " + start + ";\n";
  if (expr::info(n.op).signature == expr::Signature::Locate)
    accumulators_ += "  " + c_type(expr_.at(n.a).type) + " " + name + "_best = 0;\n";
  const std::string final_value = n.op == Op::Mean ? name + " / (" + type + ")n" : name;
  passes_[pass].tail += "  const " + type + " t" + std::to_string(index) + " = " + final_value + ";\n";
}

std::string CLoop::assemble() const {
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
  std::string body = before_ + accumulators_;
  for (const CPass& pass : passes_) body += "  for (size_t i = 0; i < n; ++i) {\n" + pass.loop + "  }\n" + pass.tail;
  return "/*" + names +
         " */\n#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n"
         "static void kernel(" +
         parameters + ") {\n" + body + "}\n\nvoid " + kContestantSymbol +
         "(const void* self, uint64_t n, const void* const* in, void* const* out, const uint64_t* params) {\n"
         "  (void)self, (void)in, (void)params;\n" +
         unpack + "  kernel(" + arguments + ");\n}\n";
}

}  // namespace

std::string c_source(const expr::Expr& expr) {
  return CLoop(expr).print();
}

}  // namespace trident::cli
