#include "jit/tir/native/expression.h"

#include <bit>

#include "runtime/base/check.h"

namespace trident::tir::native {

using kir::Op;
using kir::Value;

namespace {

std::string name_of(Value v) {
  return "v" + std::to_string(v.index);
}

/// Writes a constant. Words above 2^63 are negative in i64, and the grammar has no literal for the least of them.
std::string literal(const kir::Inst& inst) {
  if (is_mask(inst.type)) return inst.imm != 0 ? "(0i64 == 0i64)" : "(0i64 != 0i64)";
  if (inst.type == ir::Type::f64) {  // a divisor, which is u32
    const auto value = std::bit_cast<double>(inst.imm);
    CHECK(value >= 0 && value <= 0xffff'ffff);
    return std::to_string(static_cast<std::uint32_t>(value)) + "f64";
  }
  CHECK(inst.type == ir::Type::i64);
  const auto value = static_cast<std::int64_t>(inst.imm);
  if (inst.imm == std::uint64_t{1} << 63) return "(1i64 << 63i64)";
  return value < 0 ? "(" + std::to_string(value) + "i64)" : std::to_string(value) + "i64";
}

std::string operand(const kir::Kernel& kernel, Value v) {
  const kir::Inst& inst = kernel.at(v);
  if (inst.op == Op::Constant) return literal(inst);
  return inst.op == Op::Input ? kernel.inputs[inst.imm].name : name_of(v);
}

/// Returns the infix sign of an op that arithmetic.cpp uses.
const char* sign_of(const kir::Inst& inst) {
  if (inst.op == Op::Add) return " + ";
  if (inst.op == Op::Sub) return " - ";
  if (inst.op == Op::Mul) return " * ";
  if (inst.op == Op::Div) return " / ";
  if (inst.op == Op::And) return " & ";
  if (inst.op == Op::Or) return is_mask(inst.type) ? " || " : " | ";
  if (inst.op == Op::Xor) return " ^^ ";
  if (inst.op == Op::Shl) return " << ";
  if (inst.op == Op::Shr) return " >>> ";
  if (inst.op == Op::Lt) return " < ";
  if (inst.op == Op::Eq) return " == ";
  CHECK(inst.op == Op::Ne);
  return " != ";
}

std::string right_side(const kir::Kernel& kernel, const kir::Inst& inst) {
  const std::string a = operand(kernel, inst.a);
  if (inst.op == Op::Convert) return (inst.type == ir::Type::f64 ? "f64(" : "i64(") + a + ")";
  const std::string b = operand(kernel, inst.b);
  if (inst.op == Op::Select) return a + " ? " + b + " : " + operand(kernel, inst.c);
  return a + sign_of(inst) + b;
}

}  // namespace

std::string expression_of(const Translation& translation) {
  const kir::Kernel& kernel = translation.kernel;
  std::vector<bool> live(kernel.insts.size());
  for (const kir::Output& output : kernel.outputs) live[output.value.index] = true;
  for (std::size_t i = kernel.insts.size(); i-- > 0;)
    for (const Value v : {kernel.insts[i].a, kernel.insts[i].b, kernel.insts[i].c})
      if (live[i] && v.valid()) live[v.index] = true;
  std::string text;
  for (const kir::Input& input : kernel.inputs) text += (text.empty() ? "" : ", ") + input.name + ": i64";
  if (!text.empty()) text += ";\n";
  for (std::uint32_t i = 0; i < kernel.insts.size(); ++i) {
    const kir::Inst& inst = kernel.insts[i];
    if (live[i] && inst.op != Op::Constant && inst.op != Op::Input)
      text += name_of(Value(i)) + " = " + right_side(kernel, inst) + ";\n";
  }
  text += "(";
  for (const kir::Output& output : kernel.outputs)
    text +=
        (&output == kernel.outputs.data() ? "" : ", ") + ("new_" + output.name) + " = " + operand(kernel, output.value);
  return text + ")";
}

}  // namespace trident::tir::native
