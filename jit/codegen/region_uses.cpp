#include "jit/codegen/region_uses.h"

#include <algorithm>

namespace trident::codegen {

using region::Block;
using region::Flow;
using region::Inst;
using region::Op;
using region::Value;

namespace {

/// Calls `visit` with each operand of an instruction, until one returns false.
template <class Visit>
bool all_operands(const Inst& inst, const Visit& visit) {
  for (const Value v : {inst.a, inst.b, inst.c})
    if (v.valid() && !visit(v)) return false;
  return true;
}

/// Returns whether the value depends on nothing but its operands.
bool is_pure(Op op) {
  return op != Op::Load && op != Op::Get && op != Op::Access;
}

}  // namespace

bool shares_register(const region::Region& region, const Inst& inst) {
  if (inst.op == Op::Trunc || inst.op == Op::Access) return true;
  // A truncated value may have bits above; a constant is made where it is read.
  return inst.op == Op::Zext32 && region.insts[inst.a.index].op != Op::Trunc &&
         region.insts[inst.a.index].op != Op::Constant;
}

RegionUses::RegionUses(const region::Region& region, std::pmr::memory_resource* arena)
    : region_(region),
      liveness_(region, arena),
      readers_(region.insts.size(), arena),
      last_reader_(region.insts.size(), arena),
      homes_(region.insts.size(), arena),
      late_(region.insts.size(), arena) {
  count_readers();
  for (const Block& block : region.blocks) find_homes(block);
}

void RegionUses::read(Value v, std::uint32_t place, bool as_condition) {
  if (!as_condition || !is_comparison(region_.insts[v.index].op)) ++readers_[v.index];
  extend(v, place);
}

/// A comparison is made of its operands where it is a condition.
void RegionUses::extend(Value v, std::uint32_t place) {
  const Inst& inst = region_.insts[v.index];
  last_reader_[v.index] = std::max(last_reader_[v.index], place);
  if (!shares_register(region_, inst) && !is_comparison(inst.op)) return;
  extend(inst.a, place);
  if (inst.b.valid()) extend(inst.b, place);
}

void RegionUses::count_readers() {
  for (const Block& block : region_.blocks) {
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const Inst& inst = region_.insts[i];
      if (!is_needed(i)) continue;
      if (inst.a.valid()) read(inst.a, i, inst.op == Op::Select);
      if (inst.b.valid()) read(inst.b, i, false);
      if (inst.c.valid()) read(inst.c, i, false);
    }
    if (block.end.flow == Flow::branch) read(block.end.condition, block.last, true);
  }
}

// --- homes -----------------------------------------------------------------------------------------------------------
//
// Where x is set to a value, the value can be made in x's register: at once, if nobody wants what x held until then; or
// only where x is set, if nobody else reads the value.

Value RegionUses::root(Value v) const {
  while (shares_register(region_, region_.insts[v.index])) v = region_.insts[v.index].a;
  return v;
}

bool RegionUses::may_have_home(Value v) const {
  const Op op = region_.insts[v.index].op;
  return op != Op::Constant && op != Op::Get && !homes_[v.index];
}

void RegionUses::find_homes(const Block& block) {
  for (std::uint32_t i = block.first; i < block.last; ++i) {
    const Inst& set = region_.insts[i];
    if (set.op != Op::Set || !is_needed(i)) continue;
    const Inst& from = region_.insts[set.a.index];
    if (from.op == Op::Trunc || from.op == Op::Access) continue;
    const Value v = root(set.a);
    if (!may_have_home(v)) continue;
    if (can_be_early(block, v, i)) {
      homes_[v.index] = static_cast<std::uint32_t>(set.imm);
    } else if (can_be_late(v, i)) {
      homes_[v.index] = static_cast<std::uint32_t>(set.imm);
      make_late(v, i);
    }
  }
}

/// Returns whether `variable` is set in the open range (from, to).
bool RegionUses::is_set_between(std::uint64_t variable, std::uint32_t from, std::uint32_t to) const {
  for (std::uint32_t i = from + 1; i < to; ++i)
    if (region_.insts[i].op == Op::Set && region_.insts[i].imm == variable && is_needed(i)) return true;
  return false;
}

/// Returns whether control may leave between the two places for a block that wants `variable`.
bool RegionUses::leaves_with(std::uint64_t variable, std::uint32_t from, std::uint32_t to) const {
  for (std::uint32_t i = from + 1; i < to; ++i)
    if (region_.insts[i].op == Op::Access && liveness_.wanted_at(region_.insts[i].otherwise)[variable]) return true;
  return false;
}

/// Returns whether what `variable` holds before `set` is read after `place`.
bool RegionUses::is_read_after(const Block& block, std::uint64_t variable, std::uint32_t place,
                               std::uint32_t set) const {
  for (std::uint32_t i = block.first; i < set; ++i) {
    const Inst& inst = region_.insts[i];
    const bool is_there = (inst.op == Op::Get && inst.imm == variable) || homes_[i] == variable;
    if (is_needed(i) && is_there && last_reader_[i] > place) return true;
  }
  return false;
}

bool RegionUses::can_be_early(const Block& block, Value v, std::uint32_t set) const {
  const std::uint64_t variable = region_.insts[set].imm;
  return !is_set_between(variable, v.index, set) && !leaves_with(variable, v.index, set) &&
         !is_read_after(block, variable, v.index, set) && !is_set_between(variable, set, last_reader_[v.index]);
}

bool RegionUses::can_be_late(Value v, std::uint32_t set) const {
  for (Value link = region_.insts[set].a; link != v; link = region_.insts[link.index].a)
    if (readers_[link.index] != 1) return false;
  if (readers_[v.index] != 1 || last_reader_[v.index] != set || !is_pure(region_.insts[v.index].op)) return false;
  return all_operands(region_.insts[v.index], [&](Value operand) {
    const Value r = root(operand);
    const Inst& made = region_.insts[r.index];
    if (is_comparison(made.op)) return false;
    const std::optional<std::uint32_t> variable =
        made.op == Op::Get ? static_cast<std::uint32_t>(made.imm) : homes_[r.index];
    return late_[r.index] == 0 && !(variable && is_set_between(*variable, r.index, set));
  });
}

void RegionUses::make_late(Value v, std::uint32_t set) {
  late_[v.index] = 1;
  all_operands(region_.insts[v.index], [&](Value operand) { return extend(operand, set), true; });
}

}  // namespace trident::codegen
