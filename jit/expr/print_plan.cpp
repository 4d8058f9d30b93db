#include "jit/expr/print_plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "jit/expr/builder.h"
#include "jit/expr/lexer.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

// Deeper trees get locals in between: the parsers bound their nesting.
constexpr std::uint32_t kInlineDepthMax = 24;

constexpr std::string_view kReserved[] = {"let",   "in",       "param", "table",   "index",  "pi",    "M_PI",
                                          "inf",   "INFINITY", "nan",   "NAN",     "true",   "True",  "TRUE",
                                          "false", "False",    "FALSE", "outputs", "kernel", "FPCore"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// Returns a name that both parsers read as one: letters and digits, not reserved, not taken.
std::string readable(std::string_view wanted, std::string_view fallback, const std::vector<std::string>& taken) {
  std::string name;
  for (char c : wanted.substr(0, limits::kNameBytesMax - 8)) name += is_letter(c) || (c >= '0' && c <= '9') ? c : '_';
  if (name.empty() || !is_letter(name[0])) name = std::string(fallback) + name;
  const auto clashes = [&](const std::string& n) {
    return std::find(std::begin(kReserved), std::end(kReserved), n) != std::end(kReserved) || type_named(n) ||
           std::find(taken.begin(), taken.end(), n) != taken.end();
  };
  const std::string stem = name;
  for (int i = 1; clashes(name); ++i) name = stem + "_" + std::to_string(i);
  return name;
}

}  // namespace

std::string print_bound(double value) {
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string print_constant(Type type, std::uint64_t bits) {
  if (ir::is_int(type)) return std::to_string(int_of_bits(type, bits));
  const double value = value_of(type, bits);
  if (std::isnan(value)) return "nan";
  if (type == Type::f64) return print_bound(value);
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<float>(value)).ptr;
  // The parsers read a literal as f64 and round it to f32; digits that do not survive that are given in full.
  double back = 0;
  std::from_chars(buffer.data(), end, back);
  if (std::isfinite(value) && static_cast<float>(back) != static_cast<float>(value)) return print_bound(value);
  return {buffer.data(), end};
}

std::string_view function_of(const Node& n) {
  if (n.op != Op::Cast) return info(n.op).text;
  return n.type == Type::b32 ? "bool" : ir::name_of(n.type);
}

std::string_view PrintPlan::name_of(const Expr& expr, NodeId id) const {
  const Node& n = expr.at(id);
  if (n.op == Op::Variable) return variables[n.imm];
  return n.op == Op::Index ? info(n.op).text : names[id.index];
}

PrintPlan::PrintPlan(const Expr& expr) {
  for (const Variable& v : expr.variables) variables.push_back(readable(v.name, "v", variables));
  for (const Output& o : expr.outputs) outputs.push_back(readable(o.name, "out", outputs));
  const std::size_t count = expr.nodes.size();
  std::vector<std::uint32_t> uses(count, 0);
  std::vector<std::uint32_t> depth(count, 0);
  for (const Output& o : expr.outputs) uses[o.node.index] = 1;
  for (std::size_t i = count; i-- > 0;) {
    if (uses[i] == 0) continue;
    const Node& n = expr.nodes[i];
    for (const NodeId operand : {n.a, n.b, n.c}) {
      if (operand.valid()) ++uses[operand.index];
    }
  }
  names.resize(count);
  settled.assign(count, false);
  std::vector<std::string> taken = variables;
  std::uint32_t next = 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Node& n = expr.nodes[i];
    settled[i] = n.op != Op::Constant;  // a tree of constants states the type of its first one
    if (info(n.op).signature == Signature::Leaf || uses[i] == 0) continue;
    for (const NodeId operand : {n.a, n.b, n.c}) {
      if (operand.valid() && names[operand.index].empty()) depth[i] = std::max(depth[i], depth[operand.index] + 1);
    }
    if (uses[i] < 2 && depth[i] < kInlineDepthMax) continue;
    depth[i] = 0;
    std::string name;
    do {
      name = "t" + std::to_string(next++);
    } while (std::find(variables.begin(), variables.end(), name) != variables.end());
    names[i] = std::move(name);
    needed.push_back(i);
  }
}

bool PrintPlan::states_type(const Expr& expr, const Node& user, NodeId operand) const {
  if (expr.at(operand).op != Op::Constant) return false;
  const Signature signature = info(user.op).signature;
  if (signature != Signature::Same && signature != Signature::Compare && signature != Signature::Select &&
      signature != Signature::Reduce2) {
    return true;
  }
  for (const NodeId other : {user.a, user.b, user.c}) {
    const bool condition = signature == Signature::Select && other == user.a;
    if (other.valid() && !condition && settled[other.index]) return false;
  }
  return true;
}

}  // namespace trident::expr
