#include "jit/loop/aarch64/lifter.h"

namespace trident::loop::aarch64 {

Lifter::Lifter(region::Region& region, region::Builder& builder, std::uint64_t head, Targets targets)
    : region_(region), builder_(builder), head_(head), targets_(std::move(targets)) {}

std::uint32_t Lifter::variable(std::string name, Type type, std::uint32_t slot, bool scratch) {
  for (std::uint32_t v = 0; v < region_.variables.size(); ++v)
    if (region_.variables[v].slot == slot) return v;
  return builder_.variable(std::move(name), type, slot, scratch);
}

std::uint32_t Lifter::register_variable(unsigned number) {
  return variable(number == kRegister31 ? "sp" : "x" + std::to_string(number), Type::i64, kXSlot + 8 * number);
}

Lifter::Value Lifter::x_or_sp(unsigned number) {
  return builder_.get(register_variable(number));
}
Lifter::Value Lifter::x(unsigned number) {
  return number == kRegister31 ? builder_.constant(Type::i64, 0) : x_or_sp(number);
}
Lifter::Value Lifter::read(unsigned number, bool is64) {
  return low(x(number), is64);
}
Lifter::Value Lifter::read_or_sp(unsigned number, bool is64) {
  return low(x_or_sp(number), is64);
}
Lifter::Value Lifter::wide(Value v) {
  return builder_.type_of(v) == Type::i32 ? op(Op::Zext32, v) : v;
}
void Lifter::write_or_sp(unsigned number, Value value) {
  builder_.set(register_variable(number), wide(value));
}
void Lifter::write(unsigned number, Value value) {
  if (number != kRegister31) write_or_sp(number, value);
}

Lifter::Value Lifter::address_of(std::uint64_t address) {
  const Value head = builder_.get(variable("pc", Type::i64, kPcSlot));
  return address == head_ ? head : op_with(Op::Add, head, address - head_);
}

void Lifter::set_pc(std::uint64_t address) {
  if (address != head_) builder_.set(variable("pc", Type::i64, kPcSlot), address_of(address));
}

Lifter::Value Lifter::spend() {
  const std::uint32_t budget = variable("budget", Type::i64, 0);
  const Value left = op_with(Op::Sub, builder_.get(budget), 1);
  builder_.set(budget, left);
  return op_with(Op::Ne, left, 0);
}

void Lifter::lift(const Instruction& i, std::uint64_t at) {
  switch (i.row->lift) {
    case Lift::nothing:
    case Lift::branch: return;
    case Lift::address: return address(i, at);
    case Lift::add:
    case Lift::subtract: return add(i);
    case Lift::logic_and:
    case Lift::logic_or:
    case Lift::logic_xor: return logic(i);
    case Lift::move_wide: return move_wide(i);
    case Lift::bitfield: return bitfield(i);
    case Lift::extract: return extract(i);
    case Lift::add_carry: return add_carry(i);
    case Lift::conditional_compare: return conditional_compare(i);
    case Lift::conditional_select: return conditional_select(i);
    case Lift::divide: return divide(i);
    case Lift::shift: return shift(i);
    case Lift::reverse: return reverse(i);
    case Lift::count_bits: return count_bits(i);
    case Lift::multiply: return multiply(i);
    case Lift::multiply_long: return multiply_long(i);
    case Lift::multiply_high: return multiply_high(i);
    case Lift::load: return load(i, at);
    case Lift::store: return store(i);
    case Lift::load_pair: return load_pair(i);
    case Lift::store_pair: return store_pair(i);
  }
}

void Lifter::address(const Instruction& i, std::uint64_t at) {
  constexpr std::uint64_t kPage = ~std::uint64_t{0xFFF};
  const auto distance = static_cast<std::uint64_t>(i.imm);
  if (i.op() != aarch64::Op::Adrp) return write(i.d, address_of(at + distance));
  write(i.d, op_with(Op::Add, op_with(Op::And, address_of(at), kPage), distance));
}

/// The register m, shifted.
Lifter::Value Lifter::shifted(const Instruction& i) {
  const Value value = read(i.m, i.is64);
  if (i.amount == 0) return value;
  constexpr Op kShifts[] = {Op::Shl, Op::Shr, Op::Sar, Op::Rotr};
  return op_with(kShifts[static_cast<unsigned>(i.shift)], value, i.amount);
}

Lifter::Value Lifter::extended(Value value, Extend extend, unsigned amount, bool is64) {
  const auto from_word = [&](Op widen) { return is64 ? op(widen, op(Op::Trunc, value)) : op(Op::Trunc, value); };
  Value result = value;
  switch (extend) {
    case Extend::uxtb: result = low(op_with(Op::And, value, 0xFF), is64); break;
    case Extend::uxth: result = low(op_with(Op::And, value, 0xFFFF), is64); break;
    case Extend::uxtw: result = from_word(Op::Zext32); break;
    case Extend::sxtb: result = op(Op::Sext8, low(value, is64)); break;
    case Extend::sxth: result = op(Op::Sext16, low(value, is64)); break;
    case Extend::sxtw: result = from_word(Op::Sext32); break;
    case Extend::uxtx:
    case Extend::sxtx: result = low(value, is64); break;
  }
  return amount == 0 ? result : op_with(Op::Shl, result, amount);
}

/// The second operand of an addition or a logical op.
Lifter::Value Lifter::second_operand(const Instruction& i) {
  if (i.row->format == Format::AddImmediate || i.row->format == Format::LogicalImmediate)
    return constant(i.is64, static_cast<std::uint64_t>(i.imm));
  return i.row->format == Format::ExtendedAdd ? extended(x(i.m), i.extend, i.amount, i.is64) : shifted(i);
}

void Lifter::add(const Instruction& i) {
  const bool subtracts = i.row->lift == Lift::subtract;
  const bool names_sp = i.row->format != Format::ShiftedAdd;
  const Value a = names_sp ? read_or_sp(i.n, i.is64) : read(i.n, i.is64), b = second_operand(i);
  const Value result = op(subtracts ? Op::Sub : Op::Add, a, b);
  if (i.sets_flags) {
    write(i.d, result);
    const auto kind = [&](Flags narrow, Flags wide_kind) { return i.is64 ? wide_kind : narrow; };
    if (!subtracts)
      keep_flags(kind(Flags::add32, Flags::add64), a, b);
    else if (i.d == i.n && i.d != kRegister31)
      keep_flags(kind(Flags::count32, Flags::count64), result, b);
    else
      keep_flags(kind(Flags::sub32, Flags::sub64), a, b);
  } else if (names_sp) {
    write_or_sp(i.d, result);
  } else {
    write(i.d, result);
  }
}

void Lifter::logic(const Instruction& i) {
  const std::string_view name = i.row->mnemonic;
  const bool inverts = name == "bic" || name == "bics" || name == "orn" || name == "eon";
  const Value a = read(i.n, i.is64);
  Value b = second_operand(i);
  if (inverts) b = op(Op::Not, b);
  const Op kind = i.row->lift == Lift::logic_and ? Op::And : i.row->lift == Lift::logic_or ? Op::Or : Op::Xor;
  const Value result = op(kind, a, b);
  if (i.row->format == Format::LogicalImmediate && !i.sets_flags) return write_or_sp(i.d, result);
  write(i.d, result);
  if (i.sets_flags) keep_flags(i.is64 ? Flags::logic64 : Flags::logic32, result, {});
}

void Lifter::move_wide(const Instruction& i) {
  const std::uint64_t bits = static_cast<std::uint64_t>(i.imm) << i.amount;
  if (i.op() != aarch64::Op::Movk) return write(i.d, constant(i.is64, i.op() == aarch64::Op::Movn ? ~bits : bits));
  const Value kept = op_with(Op::And, read(i.d, i.is64), ~(std::uint64_t{0xFFFF} << i.amount));
  write(i.d, op_with(Op::Or, kept, bits));
}

/// Source: the manual's SBFM, BFM and UBFM. Bits immr..imms go to the bottom, or bits 0..imms to where immr says.
void Lifter::bitfield(const Instruction& i) {
  const unsigned width = i.width();
  const bool extracts = i.imms >= i.immr;
  const unsigned length = extracts ? i.imms - i.immr + 1u : i.imms + 1u;
  const unsigned place = extracts ? 0 : width - i.immr, from = extracts ? i.immr : 0;
  const std::uint64_t ones = length == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << length) - 1;
  const Value source = read(i.n, i.is64);
  if (i.op() == aarch64::Op::Sbfm) {
    // To the top, then down with copies of the sign.
    const Value top = op_with(Op::Shl, source, width - length - from);
    const Value field = op_with(Op::Sar, top, width - length);
    return write(i.d, op_with(Op::Shl, field, place));
  }
  const Value field = op_with(Op::Shl, op_with(Op::And, op_with(Op::Shr, source, from), ones), place);
  if (i.op() == aarch64::Op::Ubfm) return write(i.d, field);
  write(i.d, op(Op::Or, op_with(Op::And, read(i.d, i.is64), ~(ones << place)), field));
}

void Lifter::extract(const Instruction& i) {
  const Value low_part = read(i.m, i.is64);
  if (i.imms == 0) return write(i.d, low_part);
  const Value high_part = read(i.n, i.is64);
  write(i.d, op(Op::Or, op_with(Op::Shr, low_part, i.imms), op_with(Op::Shl, high_part, i.width() - i.imms)));
}

/// A difference is the sum of a, the complement of b, and the carry.
void Lifter::add_carry(const Instruction& i) {
  const bool subtracts = i.row->mnemonic.starts_with("sbc");
  const Value carry = four_flags().c, carry_in = i.is64 ? op(Op::Zext32, carry) : carry;
  const Value a = read(i.n, i.is64);
  const Value b = subtracts ? op(Op::Not, read(i.m, i.is64)) : read(i.m, i.is64);
  const FourFlags first = flags_of_sum(a, b);
  const Value partial = op(Op::Add, a, b), sum = op(Op::Add, partial, carry_in);
  if (i.sets_flags) {
    const Value zero = constant(i.is64, 0);
    const Value carries = op(Op::Or, first.c, op(Op::ULt, sum, partial));
    const Value overflow = op(Op::And, op(Op::Xor, a, sum), op(Op::Xor, b, sum));
    const Value nzcv = packed({op(Op::SLt, sum, zero), op(Op::Eq, sum, zero), carries, op(Op::SLt, overflow, zero)});
    builder_.set(variable("nzcv", Type::i32, kNzcvSlot), nzcv);
    flags_ = Flags::nzcv;
  }
  write(i.d, sum);
}

void Lifter::conditional_compare(const Instruction& i) {
  const Value holds = condition(i.condition);
  const Value a = read(i.n, i.is64);
  const Value b = i.row->format == Format::CompareImmediate ? constant(i.is64, static_cast<std::uint64_t>(i.imm))
                                                            : read(i.m, i.is64);
  const Value compared = packed(i.row->mnemonic == "ccmp" ? flags_of_difference(a, b) : flags_of_sum(a, b));
  const Value given = builder_.constant(Type::i32, std::uint64_t{i.nzcv} << 28);
  builder_.set(variable("nzcv", Type::i32, kNzcvSlot), op(Op::Select, holds, compared, given));
  flags_ = Flags::nzcv;
}

void Lifter::conditional_select(const Instruction& i) {
  const Value holds = condition(i.condition);
  const Value a = read(i.n, i.is64), m = read(i.m, i.is64);
  Value b = m;
  if (i.op() == aarch64::Op::Csinc) b = op_with(Op::Add, m, 1);
  if (i.op() == aarch64::Op::Csinv) b = op(Op::Not, m);
  if (i.op() == aarch64::Op::Csneg) b = op(Op::Neg, m);
  write(i.d, op(Op::Select, holds, a, b));
}

void Lifter::divide(const Instruction& i) {
  write(i.d, op(i.op() == aarch64::Op::Udiv ? Op::UDiv : Op::SDiv, read(i.n, i.is64), read(i.m, i.is64)));
}

void Lifter::shift(const Instruction& i) {
  const std::string_view name = i.row->mnemonic;
  const Op kind = name == "lsl" ? Op::Shl : name == "lsr" ? Op::Shr : name == "asr" ? Op::Sar : Op::Rotr;
  write(i.d, op(kind, read(i.n, i.is64), read(i.m, i.is64)));
}

/// The two bytes of every halfword in reverse order.
Lifter::Value Lifter::swapped_bytes_of_halves(Value v, bool is64) {
  const std::uint64_t low_bytes = is64 ? 0x00FF'00FF'00FF'00FF : 0x00FF'00FF;
  return op(Op::Or, op_with(Op::And, op_with(Op::Shr, v, 8), low_bytes),
            op_with(Op::Shl, op_with(Op::And, v, low_bytes), 8));
}

void Lifter::reverse(const Instruction& i) {
  const Value source = read(i.n, i.is64);
  if (i.op() == aarch64::Op::Rbit) return write(i.d, op(Op::BitSwap, source));
  if (i.op() == aarch64::Op::Rev16) return write(i.d, swapped_bytes_of_halves(source, i.is64));
  const Value swapped = op(Op::ByteSwap, source);
  write(i.d, i.op() == aarch64::Op::Rev32 ? op_with(Op::Rotr, swapped, 32) : swapped);
}

/// Leading copies of the sign are leading zeros of the number xored with itself shifted by one.
void Lifter::count_bits(const Instruction& i) {
  const Value source = read(i.n, i.is64);
  if (i.op() == aarch64::Op::Clz) return write(i.d, op(Op::Clz, source));
  const Value differs = op(Op::Xor, source, op_with(Op::Shl, source, 1));
  write(i.d, op(Op::Clz, op_with(Op::Or, differs, 1)));
}

void Lifter::multiply(const Instruction& i) {
  const Value product = op(Op::Mul, read(i.n, i.is64), read(i.m, i.is64));
  write(i.d, op(i.op() == aarch64::Op::Madd ? Op::Add : Op::Sub, read(i.a, i.is64), product));
}

void Lifter::multiply_long(const Instruction& i) {
  const Op widen = i.row->mnemonic.front() == 's' ? Op::Sext32 : Op::Zext32;
  const Value product = op(Op::Mul, op(widen, read(i.n, false)), op(widen, read(i.m, false)));
  write(i.d, op(i.row->mnemonic.ends_with("addl") ? Op::Add : Op::Sub, x(i.a), product));
}

void Lifter::multiply_high(const Instruction& i) {
  write(i.d, op(i.op() == aarch64::Op::Smulh ? Op::SMulHigh : Op::UMulHigh, x(i.n), x(i.m)));
}

region::Value Lifter::taken(const Instruction& branch) {
  if (branch.row->format == Format::ConditionalJump) return condition(branch.condition);
  const bool wants_zero = branch.row->mnemonic == "cbz" || branch.row->mnemonic == "tbz";
  const Value tested = branch.row->format == Format::TestJump
                           ? op_with(Op::And, x(branch.d), std::uint64_t{1} << branch.bit)
                           : read(branch.d, branch.is64);
  return op_with(wants_zero ? Op::Eq : Op::Ne, tested, 0);
}

}  // namespace trident::loop::aarch64
