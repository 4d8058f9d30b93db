// Appends instructions to a kir kernel: folds constants exactly (through the interpreter's own scalar functions),
// shares equal instructions (hash-consing; operands of commuting ops are put in order of their index first) and places
// each in its section. Wrong operand types or a mix of body and epilogue operands are bugs of the caller.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "jit/kir/kir.h"

namespace trident::kir {

class Builder {
 public:
  /// Appends to `kernel`, sharing the instructions that it has already. `kernel` must outlive the builder, and no one
  /// else may append meanwhile.
  explicit Builder(Kernel& kernel);

  Value input(std::uint32_t index);  ///< index into kernel.inputs
  Value param(std::uint32_t index);  ///< number of a parameter, or of a result of the pass before
  Value count(Type type);
  Value index(Type type);                                ///< the element's number
  Value gather(std::uint32_t table_input, Value index);  ///< index into kernel.inputs
  /// Element number stride * i + offset; `offset` is an invariant i64.
  Value strided(std::uint32_t table_input, std::int64_t stride, Value offset);
  Value constant_bits(Type type, std::uint64_t bits);
  /// `value` rounded to `type` (f32 or f64), or converted exactly (i32, i64).
  Value constant(Type type, double value);
  Value constant_int(Type type, std::int64_t value);

  /// Op of signature Same, Compare or Select; the type follows from the operands.
  Value op(Op op, Value a, Value b = {}, Value c = {}, std::uint8_t flags = 0);
  /// Bitcast, Convert, ToIntRint to `type`.
  Value convert(Op op, Type type, Value a);
  Value lookup(std::uint32_t table, Value index);
  std::uint32_t add_table(Table table);  ///< shares equal tables
  Value reduce(Op op, Value a, Value b = {});

  // Short names for the ops that math functions use.
  Value add(Value a, Value b) { return op(Op::Add, a, b); }
  Value sub(Value a, Value b) { return op(Op::Sub, a, b); }
  Value mul(Value a, Value b) { return op(Op::Mul, a, b); }
  Value div(Value a, Value b, std::uint8_t flags = 0) { return op(Op::Div, a, b, {}, flags); }
  Value neg(Value a) { return op(Op::Neg, a); }
  Value abs(Value a) { return op(Op::Abs, a); }
  Value min(Value a, Value b) { return op(Op::Min, a, b); }
  Value max(Value a, Value b) { return op(Op::Max, a, b); }
  Value sqrt(Value a, std::uint8_t flags = 0) { return op(Op::Sqrt, a, {}, {}, flags); }
  Value fma(Value a, Value b, Value c) { return op(Op::Fma, a, b, c); }
  Value fms(Value a, Value b, Value c) { return op(Op::Fms, a, b, c); }
  Value fnma(Value a, Value b, Value c) { return op(Op::Fnma, a, b, c); }
  Value fnms(Value a, Value b, Value c) { return op(Op::Fnms, a, b, c); }
  Value rint(Value a) { return op(Op::Rint, a); }
  Value lt(Value a, Value b) { return op(Op::Lt, a, b); }
  Value le(Value a, Value b) { return op(Op::Le, a, b); }
  Value eq(Value a, Value b) { return op(Op::Eq, a, b); }
  Value ne(Value a, Value b) { return op(Op::Ne, a, b); }
  Value select(Value mask, Value a, Value b) { return op(Op::Select, mask, a, b); }
  Value as_int(Value a) { return convert(Op::Bitcast, ir::int_of(type_of(a)), a); }
  Value as_float(Value a) { return convert(Op::Bitcast, ir::bytes_of(type_of(a)) == 4 ? Type::f32 : Type::f64, a); }

  [[nodiscard]] Type type_of(Value v) const { return kernel_.insts[v.index].type; }
  [[nodiscard]] bool is_constant(Value v) const { return kernel_.insts[v.index].op == Op::Constant; }
  [[nodiscard]] std::uint64_t bits_of(Value v) const { return kernel_.insts[v.index].imm; }
  [[nodiscard]] Kernel& kernel() { return kernel_; }

 private:
  // Fields in registers: an Inst passed in memory costs more than all the rest of this (stores that are reloaded
  // wider).
  Value append(Op op, Type type, Value a, Value b, Value c, std::uint64_t imm, std::uint8_t flags = 0);
  void rehash();

  Kernel& kernel_;
  std::vector<std::uint32_t> table_;  // open-addressing hash-cons over kernel_.insts (index + 1; 0 is free)
};

}  // namespace trident::kir
