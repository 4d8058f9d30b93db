#include "clients/cli/bench/c_statements.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

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

std::string one(Type type) {
  return type == Type::f32 ? "1.0f" : "1.0";
}

/// Returns how C writes an op: OpInfo::c says what stands in for what.
std::string pattern_of(Op op, Type type) {
  const expr::OpInfo& row = expr::info(op);
  if (ir::is_int(type) && !row.c_of_integers.empty()) return std::string(row.c_of_integers);
  if (!row.c.empty()) return std::string(row.c);
  constexpr const char* kArguments[] = {"()", "($a)", "($a, $b)", "($a, $b, $c)"};
  if (!row.c_function.empty()) return std::string(row.c_function) + "$f" + kArguments[row.arity];
  CHECK(!row.symbol.empty() && row.arity == 2);
  return "$a " + std::string(row.symbol) + " $b";
}

/// Returns a pattern with its operands: the letters from a on.
std::string filled(const std::string& pattern, Type type, std::span<const std::string> operands) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      text += pattern[i];
      continue;
    }
    switch (const char letter = pattern[++i]) {
      case 't': text += c_type(type); break;
      case 'u': text += c_unsigned(type); break;
      case 'w': text += type == Type::i64 ? "63" : "31"; break;
      case '1': text += one(type); break;
      case 'f': text += type == Type::f32 ? "f" : ""; break;
      default: text += operands[static_cast<std::size_t>(letter - 'a')];
    }
  }
  return text;
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

std::string CStatements::filled_with(const std::string& pattern, const Node& n) const {
  std::vector<std::string> operands;
  for (const NodeId id : {n.a, n.b, n.c}) operands.push_back(id.valid() ? operand(id) : "");
  return filled(pattern, n.type, operands);
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
  if (left == 0) return ir::is_float(n.type) ? one(n.type) : "1";
  const auto product = [&](const std::string& a, const std::string& b) {
    return filled(pattern_of(Op::Mul, n.type), n.type, std::array{a, b});
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
  return exponent < 0 ? one(n.type) + " / " + result : result;
}

std::string CStatements::definition(std::size_t index) const {
  std::string before;
  const std::string value = expression(index, before);
  return before + "const " + c_type(expr_.nodes[index].type) + " t" + std::to_string(index) + " = " + value + ";";
}

std::string CStatements::expression(std::size_t index, std::string& before) const {
  const Node& n = expr_.nodes[index];
  const expr::Signature signature = expr::info(n.op).signature;
  if (n.op == Op::Powi) return power(index, before);
  if (signature == expr::Signature::Convert) return cast(n);
  if (signature == expr::Signature::Read) return read(n);
  return filled_with(pattern_of(n.op, n.type), n);
}

std::string CStatements::read(const Node& n) const {
  const std::string number =
      n.op == Op::Gather ? "(int64_t)$b" : "(int64_t)((uint64_t)$b * (uint64_t)i + (uint64_t)$c)";
  return filled_with("(uint64_t)(" + number + ") < $a_length ? $a[" + number + "] : 0", n);
}

}  // namespace trident::cli
