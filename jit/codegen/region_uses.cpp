#include "jit/codegen/region_uses.h"

#include <algorithm>

namespace trident::codegen {

using region::Block;
using region::Flow;
using region::Inst;
using region::Op;
using region::Value;

RegionUses::RegionUses(const region::Region& region)
    : region_(region),
      needed_(region.insts.size()),
      readers_(region.insts.size()),
      last_reader_(region.insts.size()),
      wanted_(region.blocks.size()) {
  // The set only grows, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = region.blocks.size(); b-- > 0;) {
      const Variables wanted = look_at(region.blocks[b], wanted_after(region.blocks[b].end));
      changed |= wanted != wanted_[b];
      wanted_[b] = wanted;
    }
  }
  count_readers();
}

RegionUses::Variables RegionUses::wanted_after(const region::Terminator& end) const {
  if (end.flow == Flow::jump) return wanted_[end.then];
  if (end.flow == Flow::branch) return wanted_[end.then] | wanted_[end.otherwise];
  Variables kept;
  for (std::size_t v = 0; v < region_.variables.size(); ++v) kept[v] = !region_.variables[v].scratch;
  return kept;
}

RegionUses::Variables RegionUses::look_at(const Block& block, Variables live) {
  if (block.end.flow == Flow::branch) needed_[block.end.condition.index] = true;
  for (std::uint32_t i = block.last; i-- > block.first;) {
    const Inst& inst = region_.insts[i];
    if (inst.op == Op::Set) {
      needed_[i] = live[inst.imm];
      live[inst.imm] = false;
    }
    if (inst.op == Op::Store || inst.op == Op::Access) needed_[i] = true;
    if (inst.op == Op::Access) live |= wanted_[inst.otherwise];
    if (!needed_[i]) continue;
    if (inst.op == Op::Get) live[inst.imm] = true;
    for (const Value v : {inst.a, inst.b, inst.c})
      if (v.valid()) needed_[v.index] = true;
  }
  return live;
}

void RegionUses::read(Value v, std::uint32_t place, bool as_condition) {
  if (!as_condition || !is_comparison(region_.insts[v.index].op)) ++readers_[v.index];
  extend(v, place);
}

/// A truncated value is in its operand's register; a comparison is made of its operands where it is a condition.
void RegionUses::extend(Value v, std::uint32_t place) {
  const Inst& inst = region_.insts[v.index];
  last_reader_[v.index] = std::max(last_reader_[v.index], place);
  if (inst.op != Op::Trunc && !is_comparison(inst.op)) return;
  extend(inst.a, place);
  if (inst.b.valid()) extend(inst.b, place);
}

void RegionUses::count_readers() {
  for (const Block& block : region_.blocks) {
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const Inst& inst = region_.insts[i];
      if (!needed_[i]) continue;
      if (inst.a.valid()) read(inst.a, i, inst.op == Op::Select);
      if (inst.b.valid()) read(inst.b, i, false);
      if (inst.c.valid()) read(inst.c, i, false);
    }
    if (block.end.flow == Flow::branch) read(block.end.condition, block.last, true);
  }
}

}  // namespace trident::codegen
