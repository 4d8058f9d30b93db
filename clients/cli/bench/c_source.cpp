#include "clients/cli/bench/c_source.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include "jit/expr/builder.h"
#include "jit/expr/shape.h"

namespace trident::cli {
namespace {

using expr::Expr;
using expr::Node;
using expr::NodeId;
using expr::Op;
using ir::Type;

std::string c_type(Type t) {
  switch (t) {
    case Type::f32: return "float";
    case Type::f64: return "double";
    case Type::i32: return "int32_t";
    case Type::i64: return "int64_t";
    case Type::b32:
    case Type::b64: return "int";
  }
  CHECK(false);
}

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  std::string s = text;
  if (s.find_first_of(".en") == std::string::npos) s += ".0";
  return s;
}

std::string c_literal(const Node& node) {
  switch (node.type) {
    case Type::f32:
    case Type::f64: {
      const double v = expr::value_of(node.type, node.imm);
      if (std::isnan(v)) return "NAN";
      if (std::isinf(v)) return v > 0 ? "INFINITY" : "(-INFINITY)";
      const std::string text = node.type == Type::f32 ? decimal(v, 9) + "f" : decimal(v, 17);
      return std::signbit(v) ? "(" + text + ")" : text;
    }
    // Through the unsigned bits, because the least integer has no literal.
    case Type::i32: return "(int32_t)" + std::to_string(static_cast<std::uint32_t>(node.imm)) + "u";
    case Type::i64: return "(int64_t)" + std::to_string(node.imm) + "ull";
    case Type::b32:
    case Type::b64: return node.imm != 0 ? "1" : "0";
  }
  CHECK(false);
}

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

class CPrinter {
 public:
  explicit CPrinter(const Expr& e) : expr_(e), after_(after_loop(e)), live_(live(e)) {}

  std::string print() {
    std::string loop, tail;
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
      if (!live_[i]) continue;
      const Node& n = expr_.nodes[i];
      if (n.op == Op::Constant || n.op == Op::Variable) continue;
      const std::string indent = after_[i] ? "  " : "    ";
      (after_[i] ? tail : loop) += reduction(i) ? "" : indent + statement(i) + "\n";
      if (reduction(i)) accumulate(i, loop, tail);
    }
    for (std::size_t k = 0; k < expr_.outputs.size(); ++k) {
      const NodeId node = expr_.outputs[k].node;
      const std::string target = "out" + std::to_string(k);
      if (is_scalar(node))
        tail += "  " + target + "[0] = " + stored(node) + ";\n";
      else
        loop += "    " + target + "[i] = " + stored(node) + ";\n";
    }
    return assemble(loop, tail);
  }

 private:
  [[nodiscard]] bool reduction(std::size_t i) const {
    return expr::info(expr_.nodes[i].op).signature == expr::Signature::Reduce || expr_.nodes[i].op == Op::Dot;
  }
  /// An output that is one value per call: known after the loop, and an accumulator is in it.
  [[nodiscard]] bool is_scalar(NodeId node) const { return after_[node.index]; }

  [[nodiscard]] std::string operand(NodeId id) const {
    const Node& n = expr_.at(id);
    if (n.op == Op::Constant) return c_literal(n);
    if (n.op != Op::Variable) return "t" + std::to_string(id.index);
    const std::size_t v = static_cast<std::size_t>(n.imm);
    return "v" + std::to_string(v) + (expr_.variables[v].kind == expr::VariableKind::array ? "[i]" : "");
  }

  /// A truth value is stored as all ones or zeros.
  [[nodiscard]] std::string stored(NodeId id) const {
    return (ir::is_mask(expr_.at(id).type) ? "-" : "") + operand(id);
  }

  /// The libm call of the node's type: "sinf(t1)".
  [[nodiscard]] std::string call(const char* function, const Node& n) const {
    std::string text = function;
    if (n.type == Type::f32) text += "f";
    text += "(" + operand(n.a);
    if (expr::info(n.op).arity > 1) text += ", " + operand(n.b);
    if (expr::info(n.op).arity > 2) text += ", " + operand(n.c);
    return text + ")";
  }
  [[nodiscard]] std::string infix(const char* symbol, const Node& n) const {
    const std::string a = operand(n.a), b = operand(n.b);
    if (!ir::is_int(n.type)) return a + " " + symbol + " " + b;
    // Integers wrap, which C defines for unsigned ones only.
    const std::string u = n.type == Type::i32 ? "(uint32_t)" : "(uint64_t)";
    return "(" + c_type(n.type) + ")(" + u + a + " " + symbol + " " + u + b + ")";
  }
  [[nodiscard]] std::string shift(const char* symbol, bool arithmetic, const Node& n) const {
    const bool wide = n.type == Type::i64;
    const std::string width = wide ? "63" : "31";
    const std::string value = (arithmetic ? "" : wide ? "(uint64_t)" : "(uint32_t)") + operand(n.a);
    return "(" + c_type(n.type) + ")(" + value + " " + symbol + " (" + operand(n.b) + " & " + width + "))";
  }
  [[nodiscard]] std::string lesser(const char* function, const char* symbol, const Node& n) const {
    if (ir::is_float(n.type)) return call(function, n);
    return operand(n.a) + " " + symbol + " " + operand(n.b) + " ? " + operand(n.a) + " : " + operand(n.b);
  }
  [[nodiscard]] std::string one(const Node& n) const { return n.type == Type::f32 ? "1.0f" : "1.0"; }

  [[nodiscard]] std::string cast(const Node& n) const {
    const Type from = expr_.at(n.a).type;
    if (ir::is_mask(n.type)) return operand(n.a) + " != 0";
    if (ir::is_float(from) && ir::is_int(n.type)) {
      // Out of range and NaN give the least integer, as the hardware does; C leaves it undefined.
      const bool wide = n.type == Type::i64;
      const std::string bound = wide ? "9223372036854775808.0" : "2147483648.0";
      const std::string least = wide ? "INT64_MIN" : "INT32_MIN";
      const std::string a = operand(n.a);
      return "(" + a + " >= -" + bound + " && " + a + " < " + bound + ") ? (" + c_type(n.type) + ")" + a + " : " +
             least;
    }
    return "(" + c_type(n.type) + ")" + operand(n.a);
  }

  /// x^n by squaring. The names of the powers are shared, as a programmer would share them.
  [[nodiscard]] std::string power(std::size_t index, std::string& before) const {
    const Node& n = expr_.nodes[index];
    const std::int64_t exponent = static_cast<std::int64_t>(n.imm);
    std::uint64_t left = exponent < 0 ? 0 - static_cast<std::uint64_t>(exponent) : static_cast<std::uint64_t>(exponent);
    if (left == 0) return n.type == Type::f32 || n.type == Type::f64 ? one(n) : "1";
    const auto product = [&](const std::string& a, const std::string& b) {
      if (!ir::is_int(n.type)) return a + " * " + b;
      const std::string u = n.type == Type::i32 ? "(uint32_t)" : "(uint64_t)";
      return "(" + c_type(n.type) + ")(" + u + a + " * " + u + b + ")";
    };
    const std::string prefix = "p" + std::to_string(index) + "_";
    std::string square = operand(n.a), result;
    for (std::uint64_t bit = 1;; bit *= 2) {
      if ((left & 1) != 0)
        result = result.empty() ? square : [&] {
          const std::string name = prefix + "r" + std::to_string(bit);
          before += "const " + c_type(n.type) + " " + name + " = " + product(result, square) + "; ";
          return name;
        }();
      left >>= 1;
      if (left == 0) break;
      const std::string name = prefix + std::to_string(bit * 2);
      before += "const " + c_type(n.type) + " " + name + " = " + product(square, square) + "; ";
      square = name;
    }
    return exponent < 0 ? one(n) + " / " + result : result;
  }

  [[nodiscard]] std::string statement(std::size_t index) const {
    std::string before;
    const std::string value = expression(index, before);
    return before + "const " + c_type(expr_.nodes[index].type) + " t" + std::to_string(index) + " = " + value + ";";
  }

  [[nodiscard]] std::string expression(std::size_t index, std::string& before) const {
    const Node& n = expr_.nodes[index];
    switch (n.op) {
      case Op::Constant:
      case Op::Variable: return operand(NodeId{static_cast<std::uint32_t>(index)});
      case Op::Add: return infix("+", n);
      case Op::Sub: return infix("-", n);
      case Op::Mul: return infix("*", n);
      case Op::Div: return infix("/", n);
      case Op::Neg:
        return ir::is_int(n.type) ? "(" + c_type(n.type) + ")(0u - (" +
                                        (n.type == Type::i32 ? "uint32_t)" : "uint64_t)") + operand(n.a) + ")"
                                  : "-" + operand(n.a);
      case Op::Abs:
        if (ir::is_float(n.type)) return call("fabs", n);
        return operand(n.a) + " < 0 ? (" + c_type(n.type) + ")(0u - (" +
               (n.type == Type::i32 ? "uint32_t)" : "uint64_t)") + operand(n.a) + ") : " + operand(n.a);
      case Op::Min: return lesser("fmin", "<", n);
      case Op::Max: return lesser("fmax", ">", n);
      case Op::Fma: return call("fma", n);
      case Op::Recip: return one(n) + " / " + operand(n.a);
      case Op::Sqrt: return call("sqrt", n);
      case Op::Rsqrt: return one(n) + " / " + call("sqrt", n);
      case Op::Cbrt: return call("cbrt", n);
      case Op::Hypot: return call("hypot", n);
      case Op::Exp: return call("exp", n);
      case Op::Exp2: return call("exp2", n);
      case Op::Expm1: return call("expm1", n);
      case Op::Log: return call("log", n);
      case Op::Log2: return call("log2", n);
      case Op::Log10: return call("log10", n);
      case Op::Log1p: return call("log1p", n);
      case Op::Pow: return call("pow", n);
      case Op::Powi: return power(index, before);
      case Op::Sin: return call("sin", n);
      case Op::Cos: return call("cos", n);
      case Op::Tan: return call("tan", n);
      case Op::Asin: return call("asin", n);
      case Op::Acos: return call("acos", n);
      case Op::Atan: return call("atan", n);
      case Op::Atan2: return call("atan2", n);
      case Op::Sinh: return call("sinh", n);
      case Op::Cosh: return call("cosh", n);
      case Op::Tanh: return call("tanh", n);
      case Op::Asinh: return call("asinh", n);
      case Op::Acosh: return call("acosh", n);
      case Op::Atanh: return call("atanh", n);
      case Op::Erf: return call("erf", n);
      case Op::Erfc: return call("erfc", n);
      case Op::Floor: return call("floor", n);
      case Op::Ceil: return call("ceil", n);
      case Op::Round: return call("round", n);
      case Op::Rint: return call("rint", n);
      case Op::Trunc: return call("trunc", n);
      case Op::Fmod: return call("fmod", n);
      case Op::Copysign: return call("copysign", n);
      case Op::Sign: return "(" + c_type(n.type) + ")((" + operand(n.a) + " > 0) - (" + operand(n.a) + " < 0))";
      case Op::Lt: return operand(n.a) + " < " + operand(n.b);
      case Op::Le: return operand(n.a) + " <= " + operand(n.b);
      case Op::Gt: return operand(n.a) + " > " + operand(n.b);
      case Op::Ge: return operand(n.a) + " >= " + operand(n.b);
      case Op::Eq: return operand(n.a) + " == " + operand(n.b);
      case Op::Ne: return operand(n.a) + " != " + operand(n.b);
      case Op::And: return operand(n.a) + " & " + operand(n.b);
      case Op::Or: return operand(n.a) + " | " + operand(n.b);
      case Op::Xor: return operand(n.a) + " ^ " + operand(n.b);
      case Op::Not: return (ir::is_mask(n.type) ? "!" : "~") + operand(n.a);
      case Op::Shl: return shift("<<", false, n);
      case Op::Shr: return shift(">>", false, n);
      case Op::Sar: return shift(">>", true, n);
      case Op::Select: return operand(n.a) + " ? " + operand(n.b) + " : " + operand(n.c);
      case Op::Cast: return cast(n);
      case Op::Index: return "(int64_t)i";
      case Op::Gather: return read(n, "(int64_t)" + operand(n.b));
      case Op::Strided:
        return read(n, "(int64_t)((uint64_t)" + operand(n.b) + " * (uint64_t)i + (uint64_t)" + operand(n.c) + ")");
      case Op::Sum:
      case Op::MinOf:
      case Op::MaxOf:
      case Op::Mean:
      case Op::Dot:
      case Op::Diff: break;
    }
    CHECK(false);
  }

  /// Lengths are what the caller says, 0 when negative: an unsigned comparison has both ends.
  [[nodiscard]] std::string read(const Node& n, const std::string& number) const {
    const std::string table = operand(n.a);
    return "(uint64_t)(" + number + ") < " + table + "_length ? " + table + "[" + number + "] : 0";
  }

  /// An accumulator before the loop, its update in it, its final value after it.
  void accumulate(std::size_t index, std::string& loop, std::string& tail) {
    const Node& n = expr_.nodes[index];
    const std::string name = "acc" + std::to_string(index), type = c_type(n.type);
    const bool wide = n.type == Type::i64;
    std::string start = "0", update;
    const std::string a = operand(n.a);
    const auto sum_of = [&](const std::string& term) {
      if (!ir::is_int(n.type)) return name + " += " + term;
      const std::string u = wide ? "(uint64_t)" : "(uint32_t)";
      return name + " = (" + type + ")(" + u + name + " + " + u + "(" + term + "))";
    };
    if (n.op == Op::Dot) {
      const std::string u = wide ? "(uint64_t)" : "(uint32_t)";
      update = sum_of(ir::is_int(n.type) ? u + a + " * " + u + operand(n.b) : a + " * " + operand(n.b));
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

  [[nodiscard]] std::string assemble(const std::string& loop, const std::string& tail) const {
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

  const Expr& expr_;
  std::vector<bool> after_, live_;
  std::string accumulators_;
};

}  // namespace

std::string c_source(const expr::Expr& expr) {
  return CPrinter(expr).print();
}

}  // namespace trident::cli
