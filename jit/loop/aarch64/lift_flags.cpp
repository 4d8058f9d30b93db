#include "jit/loop/aarch64/lifter.h"

namespace trident::loop::aarch64 {
namespace {

/// NZCV's place in the guest's register, and in the variable.
constexpr unsigned kN = 31, kZ = 30, kC = 29, kV = 28;

bool is64(Flags kind) {
  return kind == Flags::add64 || kind == Flags::sub64 || kind == Flags::logic64 || kind == Flags::count64;
}
bool is_count(Flags kind) {
  return kind == Flags::count32 || kind == Flags::count64;
}
bool is_difference(Flags kind) {
  return kind == Flags::sub32 || kind == Flags::sub64;
}

}  // namespace

std::uint32_t Lifter::flag_operand(unsigned number) {
  return variable(number == 0 ? "flags.a" : "flags.b", Type::i64, kFlagOperandsSlot + 8 * number, true);
}

void Lifter::keep_flags(Flags kind, Value a, Value b) {
  builder_.set(flag_operand(0), as_flag_operand(a));
  if (b.valid()) builder_.set(flag_operand(1), as_flag_operand(b));
  flags_ = kind;
}

/// Bits above a narrow operand do not matter, and a register that is kept whole is no more than a copy.
Lifter::Value Lifter::as_flag_operand(Value v) {
  const region::Inst& inst = region_.insts[v.index];
  return inst.op == Op::Trunc ? inst.a : wide(v);
}

Lifter::Value Lifter::operand(unsigned number, bool is64) {
  return low(builder_.get(flag_operand(number)), is64);
}

Lifter::FourFlags Lifter::flags_of_nzcv() {
  const Value nzcv = builder_.get(variable("nzcv", Type::i32, kNzcvSlot));
  const auto bit = [&](unsigned place) { return op_with(Op::And, op_with(Op::Shr, nzcv, place), 1); };
  return {bit(kN), bit(kZ), bit(kC), bit(kV)};
}

Lifter::FourFlags Lifter::flags_of_sum(Value a, Value b) {
  const Value sum = op(Op::Add, a, b), zero = builder_.constant(builder_.type_of(a), 0);
  // Both operands differ in sign from the sum.
  const Value overflow = op(Op::And, op(Op::Xor, a, sum), op(Op::Xor, b, sum));
  return {op(Op::SLt, sum, zero), op(Op::Eq, sum, zero), op(Op::ULt, sum, a), op(Op::SLt, overflow, zero)};
}

Lifter::FourFlags Lifter::flags_of_difference(Value a, Value b) {
  const Value difference = op(Op::Sub, a, b), zero = builder_.constant(builder_.type_of(a), 0);
  // The operands differ in sign, and so do the first and the result.
  const Value overflow = op(Op::And, op(Op::Xor, a, b), op(Op::Xor, a, difference));
  return {op(Op::SLt, difference, zero), op(Op::Eq, a, b), op(Op::ULe, b, a), op(Op::SLt, overflow, zero)};
}

Lifter::FourFlags Lifter::flags_of_logic(Value result) {
  const Value zero = builder_.constant(builder_.type_of(result), 0), clear = builder_.constant(Type::i32, 0);
  return {op(Op::SLt, result, zero), op(Op::Eq, result, zero), clear, clear};
}

Lifter::FourFlags Lifter::four_flags() {
  const bool wide_operands = is64(flags_);
  switch (flags_) {
    case Flags::nzcv: return flags_of_nzcv();
    case Flags::add32:
    case Flags::add64: return flags_of_sum(operand(0, wide_operands), operand(1, wide_operands));
    case Flags::sub32:
    case Flags::sub64: return flags_of_difference(operand(0, wide_operands), operand(1, wide_operands));
    case Flags::logic32:
    case Flags::logic64: return flags_of_logic(operand(0, wide_operands));
    case Flags::count32:
    case Flags::count64: {
      const Value b = operand(1, wide_operands);
      return flags_of_difference(op(Op::Add, operand(0, wide_operands), b), b);
    }
  }
  return {};
}

Lifter::Value Lifter::packed(const FourFlags& flags) {
  const auto at = [&](Value flag, unsigned place) { return op_with(Op::Shl, flag, place); };
  return op(Op::Or, op(Op::Or, at(flags.n, kN), at(flags.z, kZ)), op(Op::Or, at(flags.c, kC), at(flags.v, kV)));
}

void Lifter::settle_flags() {
  if (flags_ == Flags::nzcv) return;
  const Value nzcv = packed(four_flags());
  builder_.set(variable("nzcv", Type::i32, kNzcvSlot), nzcv);
  flags_ = Flags::nzcv;
}

/// The opposite of a comparison is a comparison.
Lifter::Value Lifter::inverted(Value condition) {
  const region::Inst inst = region_.insts[condition.index];
  if (inst.op == Op::Eq) return op(Op::Ne, inst.a, inst.b);
  if (inst.op == Op::ULt) return op(Op::ULe, inst.b, inst.a);
  if (inst.op == Op::ULe) return op(Op::ULt, inst.b, inst.a);
  if (inst.op == Op::SLt) return op(Op::SLe, inst.b, inst.a);
  if (inst.op == Op::SLe) return op(Op::SLt, inst.b, inst.a);
  return op_with(Op::Xor, condition, 1);
}

Lifter::Value Lifter::condition_of_difference(unsigned code, Value a, Value b) {
  const Value zero = builder_.constant(builder_.type_of(a), 0);
  switch (code >> 1) {
    case 0: return op(Op::Eq, a, b);
    case 1: return op(Op::ULe, b, a);
    case 2: return op(Op::SLt, op(Op::Sub, a, b), zero);
    case 3: return flags_of_difference(a, b).v;
    case 4: return op(Op::ULt, b, a);
    case 5: return op(Op::SLe, b, a);
    default: return op(Op::SLt, b, a);
  }
}

Lifter::Value Lifter::condition_of(unsigned code, const FourFlags& f) {
  switch (code >> 1) {
    case 0: return f.z;
    case 1: return f.c;
    case 2: return f.n;
    case 3: return f.v;
    case 4: return op(Op::And, f.c, inverted(f.z));
    case 5: return op(Op::Eq, f.n, f.v);
    default: return op(Op::And, op(Op::Eq, f.n, f.v), inverted(f.z));
  }
}

/// Whether the result is 0 or negative shows in itself; for all else the first operand is made anew.
Lifter::Value Lifter::condition_of_count(unsigned code) {
  const Value result = operand(0, is64(flags_));
  if (code >> 1 == 0) return op_with(Op::Eq, result, 0);
  if (code >> 1 == 2) return op_with(Op::SLt, result, 0);
  const Value b = operand(1, is64(flags_));
  return condition_of_difference(code, op(Op::Add, result, b), b);
}

Lifter::Value Lifter::condition(unsigned code) {
  constexpr unsigned kAlways = 7;  // 1110 and 1111 alike
  if (code >> 1 == kAlways) return builder_.constant(Type::i32, 1);
  const Value holds = is_difference(flags_)
                          ? condition_of_difference(code, operand(0, is64(flags_)), operand(1, is64(flags_)))
                      : is_count(flags_) ? condition_of_count(code)
                                         : condition_of(code, four_flags());
  return (code & 1) != 0 ? inverted(holds) : holds;
}

}  // namespace trident::loop::aarch64
