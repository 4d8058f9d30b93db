#include "jit/region/liveness.h"

namespace trident::region {

Liveness::Liveness(const Region& region, std::pmr::memory_resource* arena)
    : region_(region),
      needed_(region.insts.size(), arena),
      wanted_(region.blocks.size(), arena),
      after_(region.blocks.size(), arena),
      may_change_(region.blocks.size(), 1, arena) {
  for (const Inst& inst : region.insts)
    if (inst.op == Op::Set && !region.variables[inst.imm].scratch) written_[inst.imm] = true;
  // The set only grows, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = region.blocks.size(); b-- > 0;) {
      const Variables after = wanted_after(region.blocks[b].end);
      if (may_change_[b] == 0 && after == after_[b]) continue;
      after_[b] = after;
      const Variables wanted = look_at(b, after);
      changed |= wanted != wanted_[b];
      wanted_[b] = wanted;
    }
  }
}

Liveness::Variables Liveness::wanted_after(const Terminator& end) const {
  if (end.flow == Flow::jump) return wanted_[end.then];
  if (end.flow == Flow::branch) return wanted_[end.then] | wanted_[end.otherwise];
  return written_;
}

Liveness::Variables Liveness::look_at(std::size_t number, Variables live) {
  const Block& block = region_.blocks[number];
  may_change_[number] = 0;
  if (block.end.flow == Flow::branch) needed_[block.end.condition.index] = true;
  for (std::uint32_t i = block.last; i-- > block.first;) {
    const Inst& inst = region_.insts[i];
    if (inst.op == Op::Set) {
      needed_[i] = live[inst.imm];
      live[inst.imm] = false;
    }
    if (inst.op == Op::Store || inst.op == Op::Access) needed_[i] = true;
    if (inst.op == Op::Access) {
      live |= wanted_[inst.otherwise];
      if (inst.otherwise <= number || region_.blocks[inst.otherwise].end.flow != Flow::exit) may_change_[number] = 1;
    }
    if (!needed_[i]) continue;
    if (inst.op == Op::Get) live[inst.imm] = true;
    for (const Value v : {inst.a, inst.b, inst.c})
      if (v.valid()) needed_[v.index] = true;
  }
  return live;
}

}  // namespace trident::region
