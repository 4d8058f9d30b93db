#include "jit/tir/shape/reachable.h"

#include "jit/tir/shape/regions.h"

namespace trident::tir::shape {
namespace {

using tasm::Op;

/// Tells for each line whether it can run, all regions one after the other.
std::vector<bool> reached_lines(const Regions& regions) {
  std::vector<const Line*> lines;
  std::vector<std::size_t> first;  // per region
  for (const Region& region : regions.all) {
    first.push_back(lines.size());
    for (const Line& line : region.lines) lines.push_back(&line);
  }
  std::vector<bool> reached(lines.size());
  std::vector<std::size_t> open = {0};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (at >= lines.size() || reached[at]) continue;
    reached[at] = true;
    const Line& line = *lines[at];
    if (line.callee != kNoRegion) open.push_back(first[line.callee]);
    if (leaves(line.instruction.op)) continue;
    open.push_back(at + 1);
    if (line.instruction.op == Op::kSkiz) open.push_back(at + 2);
  }
  return reached;
}

}  // namespace

tasm::Program reachable(const tasm::Program& program) {
  Regions regions = regions_of(program);
  const std::vector<bool> reached = reached_lines(regions);
  std::vector<bool> called(regions.all.size());
  std::size_t at = 0;
  for (Region& region : regions.all) {
    std::vector<Line> kept;
    for (Line& line : region.lines) {
      if (!reached[at++]) continue;
      if (line.callee != kNoRegion) called[line.callee] = true;
      kept.push_back(std::move(line));
    }
    region.lines = std::move(kept);
  }
  // A region without lines can be called: it is the end of the program, where a run fails.
  for (std::size_t r = 0; r < regions.all.size(); ++r)
    regions.all[r].removed = regions.all[r].lines.empty() && !called[r];
  return program_of(regions);
}

}  // namespace trident::tir::shape
