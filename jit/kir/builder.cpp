#include "jit/kir/builder.h"

#include "jit/kir/interpreter.h"

namespace trident::kir {

namespace {

constexpr std::size_t kFirstTableSize = 256;

std::uint64_t hash_of(const Inst& inst) {
  constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15u;
  const std::uint64_t head = std::uint64_t{static_cast<std::uint8_t>(inst.op)} |
                             std::uint64_t{static_cast<std::uint8_t>(inst.type)} << 8 |
                             std::uint64_t{inst.flags} << 16 | std::uint64_t{inst.a.index} << 32;
  std::uint64_t h = (head ^ inst.imm * kOdd) * kOdd;
  h = (h ^ (h >> 32) ^ (std::uint64_t{inst.b.index} << 32 | inst.c.index)) * kOdd;
  return h ^ (h >> 29);
}

bool same(const Inst& x, const Inst& y) {
  return x.op == y.op && x.type == y.type && x.flags == y.flags && x.a == y.a && x.b == y.b && x.c == y.c &&
         x.imm == y.imm;
}

/// Ops whose operands a and b may be exchanged without changing a bit (NaN payloads aside).
bool commutes(Op op) {
  return op == Op::Add || op == Op::Mul || op == Op::And || op == Op::Or || op == Op::Xor || op == Op::Eq ||
         op == Op::Ne;
}

}  // namespace

Builder::Builder(Kernel& kernel) : kernel_(kernel) {
  table_.resize(kFirstTableSize);
  kernel_.insts.reserve(kFirstTableSize / 2);
  rehash();
}

void Builder::rehash() {
  std::size_t size = table_.size();
  while (size < 2 * kernel_.insts.size()) size *= 2;
  table_.assign(size, 0);
  for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) {
    std::size_t slot = hash_of(kernel_.insts[i]) & (size - 1);
    while (table_[slot] != 0) slot = (slot + 1) & (size - 1);
    table_[slot] = i + 1;
  }
}

Value Builder::append(Inst inst) {
  std::size_t slot = hash_of(inst) & (table_.size() - 1);
  for (; table_[slot] != 0; slot = (slot + 1) & (table_.size() - 1))
    if (same(kernel_.insts[table_[slot] - 1], inst)) return Value(table_[slot] - 1);

  const std::optional<Section> section = section_for(kernel_, inst);
  CHECK(section.has_value());  // else body and epilogue values are mixed
  inst.section = *section;
  kernel_.insts.push_back(inst);
  const auto index = static_cast<std::uint32_t>(kernel_.insts.size());
  table_[slot] = index;
  if (2 * kernel_.insts.size() > table_.size()) rehash();
  return Value(index - 1);
}

Value Builder::input(std::uint32_t index) {
  CHECK(index < kernel_.inputs.size());
  return append({.op = Op::Input, .type = kernel_.inputs[index].type, .imm = index});
}

Value Builder::param(std::uint32_t index) {
  CHECK(index < kernel_.params.size());
  return append({.op = Op::Param, .type = kernel_.params[index].type, .imm = index});
}

Value Builder::count(Type type) {
  return append({.op = Op::Count, .type = type});
}

Value Builder::constant_bits(Type type, std::uint64_t bits) {
  if (ir::bytes_of(type) == 4) bits &= 0xFFFF'FFFFu;
  return append({.op = Op::Constant, .type = type, .imm = bits});
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
  if (is_constant(a) && (row.arity < 2 || is_constant(b)) && (row.arity < 3 || is_constant(c)))
    return constant_bits(result, eval_lane(op, result, operand, bits_of(a), row.arity > 1 ? bits_of(b) : 0,
                                           row.arity > 2 ? bits_of(c) : 0));
  if (commutes(op) && b < a) std::swap(a, b);
  return append({.op = op, .type = result, .flags = flags, .a = a, .b = b, .c = c});
}

Value Builder::convert(Op op, Type type, Value a) {
  CHECK(op == Op::Bitcast || op == Op::Convert || op == Op::ToIntRint);
  if (op != Op::ToIntRint && type_of(a) == type) return a;
  if (is_constant(a)) return constant_bits(type, eval_lane(op, type, type_of(a), bits_of(a), 0, 0));
  if (op == Op::Bitcast && kernel_.at(a).op == Op::Bitcast) return convert(op, type, kernel_.at(a).a);
  return append({.op = op, .type = type, .a = a});
}

Value Builder::lookup(std::uint32_t table, Value index) {
  CHECK(table < kernel_.tables.size());
  const Table& entries = kernel_.tables[table];
  if (is_constant(index)) return constant_bits(entries.type, entries.entries[bits_of(index) % entries.entries.size()]);
  return append({.op = Op::Lookup, .type = entries.type, .a = index, .imm = table});
}

std::uint32_t Builder::add_table(Table table) {
  for (std::uint32_t i = 0; i < kernel_.tables.size(); ++i)
    if (kernel_.tables[i].type == table.type && kernel_.tables[i].entries == table.entries) return i;
  kernel_.tables.push_back(std::move(table));
  return static_cast<std::uint32_t>(kernel_.tables.size() - 1);
}

Value Builder::reduce(Op op, Value a) {
  CHECK(info(op).signature == Signature::Reduce);
  return append({.op = op, .type = type_of(a), .a = a});
}

}  // namespace trident::kir
