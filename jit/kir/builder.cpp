#include "jit/kir/builder.h"

#include <algorithm>

#include "jit/kir/interpreter.h"

namespace trident::kir {

namespace {

constexpr std::size_t kFirstTableSize = 256;

std::uint64_t hash_of(Op op, Type type, std::uint8_t flags, Value a, Value b, Value c, std::uint64_t imm) {
  constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15u;
  const std::uint64_t head = std::uint64_t{static_cast<std::uint8_t>(op)} |
                             std::uint64_t{static_cast<std::uint8_t>(type)} << 8 | std::uint64_t{flags} << 16 |
                             std::uint64_t{a.index} << 32;
  std::uint64_t h = (head ^ imm * kOdd) * kOdd;
  h = (h ^ (h >> 32) ^ (std::uint64_t{b.index} << 32 | c.index)) * kOdd;
  return h ^ (h >> 29);
}

/// Ops whose operands a and b may be exchanged without changing a bit (NaN payloads aside).
constexpr bool commutes(Op op) {
  static_assert(kOpCount <= 64);
  constexpr auto bit = [](Op o) { return std::uint64_t{1} << static_cast<unsigned>(o); };
  constexpr std::uint64_t kCommuting =
      bit(Op::Add) | bit(Op::Mul) | bit(Op::And) | bit(Op::Or) | bit(Op::Xor) | bit(Op::Eq) | bit(Op::Ne);
  return (kCommuting >> static_cast<unsigned>(op) & 1) != 0;
}

}  // namespace

Builder::Builder(Kernel& kernel) : kernel_(kernel) {
  kernel_.insts.reserve(kFirstTableSize / 2);
  rehash();
}

void Builder::rehash() {
  std::size_t size = std::max(table_.size(), kFirstTableSize);
  while (size < 2 * kernel_.insts.size()) size *= 2;
  table_.assign(size, 0);
  for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) {
    const Inst& x = kernel_.insts[i];
    std::size_t slot = hash_of(x.op, x.type, x.flags, x.a, x.b, x.c, x.imm) & (size - 1);
    while (table_[slot] != 0) slot = (slot + 1) & (size - 1);
    table_[slot] = i + 1;
  }
}

Value Builder::append(Op op, Type type, Value a, Value b, Value c, std::uint64_t imm, std::uint8_t flags) {
  std::size_t slot = hash_of(op, type, flags, a, b, c, imm) & (table_.size() - 1);
  for (; table_[slot] != 0; slot = (slot + 1) & (table_.size() - 1)) {
    const Inst& x = kernel_.insts[table_[slot] - 1];
    if (x.op == op && x.type == type && x.flags == flags && x.a == a && x.b == b && x.c == c && x.imm == imm)
      return Value(table_[slot] - 1);
  }
  const std::optional<Section> section = section_for(kernel_, op, a, b, c);
  CHECK(section.has_value());  // else body and epilogue values are mixed
  kernel_.insts.push_back({op, type, *section, flags, a, b, c, imm});
  const auto index = static_cast<std::uint32_t>(kernel_.insts.size());
  table_[slot] = index;
  if (2 * kernel_.insts.size() > table_.size()) rehash();
  return Value(index - 1);
}

Value Builder::input(std::uint32_t index) {
  CHECK(index < kernel_.inputs.size());
  return append(Op::Input, kernel_.inputs[index].type, {}, {}, {}, index);
}

Value Builder::param(std::uint32_t index) {
  CHECK(index < kernel_.param_count());
  return append(Op::Param, kernel_.param_type(index), {}, {}, {}, index);
}

Value Builder::count(Type type) {
  return append(Op::Count, type, {}, {}, {}, 0);
}

Value Builder::index(Type type) {
  return append(Op::Index, type, {}, {}, {}, 0);
}

Value Builder::gather(std::uint32_t table_input, Value index) {
  CHECK(table_input < kernel_.inputs.size() && kernel_.inputs[table_input].is_table());
  return append(Op::Gather, kernel_.inputs[table_input].type, index, {}, {}, table_input);
}

Value Builder::strided(std::uint32_t table_input, std::int64_t stride, Value offset) {
  CHECK(table_input < kernel_.inputs.size() && kernel_.inputs[table_input].is_table());
  return append(Op::Strided, kernel_.inputs[table_input].type, constant_int(Type::i64, stride), offset, {},
                table_input);
}

Value Builder::constant_bits(Type type, std::uint64_t bits) {
  if (ir::bytes_of(type) == 4) bits &= 0xFFFF'FFFFu;
  return append(Op::Constant, type, {}, {}, {}, bits);
}

Value Builder::constant(Type type, double value) {
  return constant_bits(type, eval_lane(Op::Convert, type, Type::f64, std::bit_cast<std::uint64_t>(value), 0, 0));
}

Value Builder::constant_int(Type type, std::int64_t value) {
  return constant_bits(type, eval_lane(Op::Convert, type, Type::i64, static_cast<std::uint64_t>(value), 0, 0));
}

Value Builder::op(Op op, Value a, Value b, Value c, std::uint8_t flags) {
  const OpInfo& row = info(op);
  const bool is_select = row.signature == Signature::Select;
  CHECK(is_select || row.signature == Signature::Same || row.signature == Signature::Compare);
  CHECK(a.valid() && b.valid() == (row.arity > 1) && c.valid() == (row.arity > 2));
  const Type operand = type_of(is_select ? b : a);
  CHECK(row.arity < 2 || type_of(b) == operand);
  CHECK(row.arity < 3 || type_of(c) == operand);
  CHECK(!is_select || type_of(a) == ir::mask_of(operand));

  if (is_select && is_constant(a)) return bits_of(a) != 0 ? b : c;
  if (is_select && b == c) return b;
  const Type result = row.signature == Signature::Compare ? ir::mask_of(operand) : operand;
  // Kernels must not depend on the processor that folds them.
  if (!is_estimate(op) && is_constant(a) && (row.arity < 2 || is_constant(b)) && (row.arity < 3 || is_constant(c)))
    return constant_bits(result, eval_lane(op, result, operand, bits_of(a), row.arity > 1 ? bits_of(b) : 0,
                                           row.arity > 2 ? bits_of(c) : 0));
  if (commutes(op) && b < a) std::swap(a, b);
  return append(op, result, a, b, c, 0, flags);
}

Value Builder::convert(Op op, Type type, Value a) {
  CHECK(op == Op::Bitcast || op == Op::Convert || op == Op::ToIntRint);
  if (op != Op::ToIntRint && type_of(a) == type) return a;
  if (is_constant(a)) return constant_bits(type, eval_lane(op, type, type_of(a), bits_of(a), 0, 0));
  if (op == Op::Bitcast && kernel_.at(a).op == Op::Bitcast) return convert(op, type, kernel_.at(a).a);
  return append(op, type, a, {}, {}, 0);
}

Value Builder::lookup(std::uint32_t table, Value index) {
  CHECK(table < kernel_.tables.size());
  const Table& entries = kernel_.tables[table];
  if (is_constant(index)) return constant_bits(entries.type, entries.entries[bits_of(index) % entries.entries.size()]);
  return append(Op::Lookup, entries.type, index, {}, {}, table);
}

std::uint32_t Builder::add_table(Table table) {
  for (std::uint32_t i = 0; i < kernel_.tables.size(); ++i)
    if (kernel_.tables[i].type == table.type && kernel_.tables[i].entries == table.entries) return i;
  kernel_.tables.push_back(std::move(table));
  return static_cast<std::uint32_t>(kernel_.tables.size() - 1);
}

Value Builder::reduce(Op op, Value a, Value b) {
  CHECK(info(op).signature == Signature::Reduce && b.valid() == (info(op).arity == 2));
  if (b.valid() && b.index < a.index) std::swap(a, b);
  return append(op, type_of(a), a, b, {}, 0);
}

}  // namespace trident::kir
