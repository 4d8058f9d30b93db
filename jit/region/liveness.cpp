#include "jit/region/liveness.h"

namespace trident::region {

Liveness::Liveness(const Region& region)
    : region_(region), needed_(region.insts.size()), wanted_(region.blocks.size()) {
  for (const Inst& inst : region.insts)
    if (inst.op == Op::Set && !region.variables[inst.imm].scratch) written_[inst.imm] = true;
  // The set only grows, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = region.blocks.size(); b-- > 0;) {
      const Variables wanted = look_at(region.blocks[b], wanted_after(region.blocks[b].end));
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

Liveness::Variables Liveness::look_at(const Block& block, Variables live) {
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

}  // namespace trident::region
