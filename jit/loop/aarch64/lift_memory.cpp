// Loads and stores: one access comes first, and covers all bytes of the instruction, so that nothing has changed where
// it misses.
#include "jit/loop/aarch64/lifter.h"

namespace trident::loop::aarch64 {
namespace {

bool has_index(Format format) {
  return format == Format::RegisterOffset;
}
bool is_post_index(Format format) {
  return format == Format::PostIndex || format == Format::PairPostIndex;
}
bool writes_back(Format format) {
  return is_post_index(format) || format == Format::PreIndex || format == Format::PairPreIndex;
}

}  // namespace

std::optional<MemoryUse> memory_use(const Instruction& i) {
  const Lift lift = i.row->lift;
  const bool is_pair = lift == Lift::load_pair || lift == Lift::store_pair;
  const bool stores = lift == Lift::store || lift == Lift::store_pair;
  if (!is_pair && !stores && lift != Lift::load) return {};
  const std::uint8_t base = i.row->format == Format::Literal ? kPcBase : i.n;
  return MemoryUse{base, static_cast<std::uint8_t>(is_pair ? 2 * i.bytes : i.bytes), stores};
}

Lifter::Access Lifter::access(const Instruction& i, unsigned bytes) {
  const Format format = i.row->format;
  const Value base = x_or_sp(i.n);
  Value moved = base;
  if (has_index(format)) {
    moved = op(Op::Add, base, extended(x(i.m), i.extend, i.amount, true));
  } else if (i.imm != 0) {
    moved = op_with(Op::Add, base, static_cast<std::uint64_t>(i.imm));
  }
  const Value address = is_post_index(format) ? base : moved;
  return {builder_.access(address, bytes, targets_.window(i.n), targets_.miss()), moved};
}

void Lifter::write_back(const Instruction& i, const Access& access) {
  if (writes_back(i.row->format)) write_or_sp(i.n, access.next_base);
}

Lifter::Value Lifter::loaded(const Instruction& i, Value place, unsigned displacement) {
  return builder_.load(i.is64 ? Type::i64 : Type::i32, i.bytes, i.is_signed, place, displacement);
}

void Lifter::load(const Instruction& i, std::uint64_t at) {
  if (i.row->format == Format::Literal) {
    const Value address = address_of(at + static_cast<std::uint64_t>(i.imm));
    const Value place = builder_.access(address, i.bytes, targets_.window(kPcBase), targets_.miss());
    return write(i.d, loaded(i, place, 0));
  }
  const Access place = access(i, i.bytes);
  const Value value = loaded(i, place.place, 0);
  write_back(i, place);
  write(i.d, value);
}

void Lifter::store(const Instruction& i) {
  const Access place = access(i, i.bytes);
  builder_.store(i.bytes, place.place, read(i.d, i.bytes == 8));
  write_back(i, place);
}

void Lifter::load_pair(const Instruction& i) {
  const Access place = access(i, 2u * i.bytes);
  const Value first = loaded(i, place.place, 0), second = loaded(i, place.place, i.bytes);
  write_back(i, place);
  write(i.d, first);
  write(i.a, second);
}

void Lifter::store_pair(const Instruction& i) {
  const Access place = access(i, 2u * i.bytes);
  builder_.store(i.bytes, place.place, read(i.d, i.bytes == 8), 0);
  builder_.store(i.bytes, place.place, read(i.a, i.bytes == 8), i.bytes);
  write_back(i, place);
}

}  // namespace trident::loop::aarch64
