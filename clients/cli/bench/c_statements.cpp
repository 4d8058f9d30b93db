#include "clients/cli/bench/c_statements.h"

#include <cmath>
#include <cstdio>

#include "jit/expr/builder.h"

namespace trident::cli {
namespace {

using expr::NodeId;
using expr::Op;
using ir::Type;

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  std::string s = text;
  if (s.find_first_of(".en") == std::string::npos) s += ".0";
  return s;
}

std::string c_literal(const expr::Node& node) {
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

/// Returns the operation on two operands of a type, which wraps if it is an integer's.
std::string operation(Type type, const std::string& a, const char* symbol, const std::string& b) {
  if (!ir::is_int(type)) return a + " " + symbol + " " + b;
  const std::string u = c_unsigned(type);
  return "(" + c_type(type) + ")(" + u + a + " " + symbol + " " + u + b + ")";
}

}  // namespace

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

std::string c_unsigned(Type type) {
  return type == Type::i32 ? "(uint32_t)" : "(uint64_t)";
}

std::string CStatements::operand(NodeId id) const {
  const Node& n = expr_.at(id);
  if (n.op == Op::Constant) return c_literal(n);
  if (n.op != Op::Variable) return "t" + std::to_string(id.index);
  const std::size_t v = static_cast<std::size_t>(n.imm);
  return "v" + std::to_string(v) + (expr_.variables[v].kind == expr::VariableKind::array ? "[i]" : "");
}

std::string CStatements::stored(NodeId id) const {
  return (ir::is_mask(expr_.at(id).type) ? "-" : "") + operand(id);
}

std::string CStatements::call(const char* function, const Node& n) const {
  std::string text = function;
  if (n.type == Type::f32) text += "f";
  text += "(" + operand(n.a);
  if (expr::info(n.op).arity > 1) text += ", " + operand(n.b);
  if (expr::info(n.op).arity > 2) text += ", " + operand(n.c);
  return text + ")";
}

std::string CStatements::infix(const char* symbol, const Node& n) const {
  return operation(n.type, operand(n.a), symbol, operand(n.b));
}

std::string CStatements::shift(const char* symbol, bool arithmetic, const Node& n) const {
  const bool wide = n.type == Type::i64;
  const std::string width = wide ? "63" : "31";
  const std::string value = (arithmetic ? "" : c_unsigned(n.type)) + operand(n.a);
  return "(" + c_type(n.type) + ")(" + value + " " + symbol + " (" + operand(n.b) + " & " + width + "))";
}

std::string CStatements::lesser(const char* function, const char* symbol, const Node& n) const {
  if (ir::is_float(n.type)) return call(function, n);
  return operand(n.a) + " " + symbol + " " + operand(n.b) + " ? " + operand(n.a) + " : " + operand(n.b);
}

std::string CStatements::negated(const Node& n) const {
  if (!ir::is_int(n.type)) return "-" + operand(n.a);
  return "(" + c_type(n.type) + ")(0u - " + c_unsigned(n.type) + operand(n.a) + ")";
}

std::string CStatements::cast(const Node& n) const {
  const Type from = expr_.at(n.a).type;
  if (ir::is_mask(n.type)) return operand(n.a) + " != 0";
  if (ir::is_float(from) && ir::is_int(n.type)) {
    // Out of range and NaN give the least integer, as the hardware does; C leaves it undefined.
    const bool wide = n.type == Type::i64;
    const std::string bound = wide ? "9223372036854775808.0" : "2147483648.0";
    const std::string least = wide ? "INT64_MIN" : "INT32_MIN";
    const std::string a = operand(n.a);
    return "(" + a + " >= -" + bound + " && " + a + " < " + bound + ") ? (" + c_type(n.type) + ")" + a + " : " + least;
  }
  return "(" + c_type(n.type) + ")" + operand(n.a);
}

std::string CStatements::power(std::size_t index, std::string& before) const {
  const Node& n = expr_.nodes[index];
  const std::int64_t exponent = static_cast<std::int64_t>(n.imm);
  std::uint64_t left = exponent < 0 ? 0 - static_cast<std::uint64_t>(exponent) : static_cast<std::uint64_t>(exponent);
  if (left == 0) return n.type == Type::f32 || n.type == Type::f64 ? one(n) : "1";
  const auto product = [&](const std::string& a, const std::string& b) { return operation(n.type, a, "*", b); };
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

std::string CStatements::definition(std::size_t index) const {
  std::string before;
  const std::string value = expression(index, before);
  return before + "const " + c_type(expr_.nodes[index].type) + " t" + std::to_string(index) + " = " + value + ";";
}

std::string CStatements::expression(std::size_t index, std::string& before) const {
  const Node& n = expr_.nodes[index];
  switch (n.op) {
    case Op::Constant:
    case Op::Variable: return operand(NodeId{static_cast<std::uint32_t>(index)});
    case Op::Add: return infix("+", n);
    case Op::Sub: return infix("-", n);
    case Op::Mul: return infix("*", n);
    case Op::Div: return infix("/", n);
    case Op::Neg: return negated(n);
    case Op::Abs:
      if (ir::is_float(n.type)) return call("fabs", n);
      return operand(n.a) + " < 0 ? " + negated(n) + " : " + operand(n.a);
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
    case Op::Prod:
    case Op::ArgMin:
    case Op::ArgMax:
    case Op::Diff: break;
  }
  CHECK(false);
}

std::string CStatements::read(const Node& n, const std::string& number) const {
  const std::string table = operand(n.a);
  return "(uint64_t)(" + number + ") < " + table + "_length ? " + table + "[" + number + "] : 0";
}

}  // namespace trident::cli
