#include "jit/tir/shape/regions.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/check.h"

namespace trident::tir::shape {

using tasm::Element;
using tasm::Mark;
using tasm::Op;

bool leaves(Op op) {
  return op == Op::kReturn || op == Op::kHalt || op == Op::kRecurse || op == Op::kRecurseOrReturn;
}

bool Regions::behind_skiz(std::size_t region, std::size_t line) const {
  while (line == 0) {
    do {
      if (region == 0) return false;
      --region;
    } while (all[region].removed);
    line = all[region].lines.size();
  }
  return all[region].lines[line - 1].instruction.op == Op::kSkiz;
}

bool Regions::ends(std::size_t region) const {
  const auto& lines = all[region].lines;
  if (lines.empty()) return false;
  return leaves(lines.back().instruction.op) && !behind_skiz(region, lines.size() - 1);
}

bool Regions::closed(std::size_t region) const {
  if (region == 0 || all[region].removed || !ends(region)) return false;
  std::size_t before = region - 1;
  while (before > 0 && all[before].removed) --before;
  return ends(before);
}

std::size_t Regions::calls_of(std::size_t region) const {
  std::size_t count = 0;
  for (const Region& r : all)
    if (!r.removed)
      count += static_cast<std::size_t>(
          std::count_if(r.lines.begin(), r.lines.end(), [&](const Line& line) { return line.callee == region; }));
  return count;
}

std::string Regions::free_label(const std::string& stem) const {
  std::set<std::string> taken;
  const auto take = [&](const std::vector<Mark>& marks) {
    for (const Mark& mark : marks)
      if (mark.kind == Mark::Kind::label) taken.insert(mark.text);
  };
  for (const Region& region : all) {
    taken.insert(region.labels.begin(), region.labels.end());
    for (const Line& line : region.lines) take(line.marks);
  }
  take(marks_behind);
  for (std::size_t number = all.size();; ++number)
    if (std::string name = stem + std::to_string(number); !taken.contains(name)) return name;
}

Regions regions_of(const tasm::Program& program) {
  const auto& instructions = program.instructions;
  std::map<std::uint64_t, std::size_t> index_at;  // by address
  std::uint64_t address = 0;
  for (std::size_t i = 0; i < instructions.size(); ++i) index_at[address] = i, address += instructions[i].words();
  index_at[address] = instructions.size();
  std::map<std::size_t, std::uint32_t> region_at = {{0, 0}};
  for (const Instruction& instruction : instructions)
    if (instruction.op == Op::kCall) region_at[index_at.at(instruction.argument.value())] = 0;
  std::uint32_t number = 0;
  for (auto& [index, region] : region_at) region = number++;

  Regions out;
  out.has_offsets = !program.offsets.empty();
  out.all.resize(region_at.size());
  std::size_t mark = 0;
  Region* region = nullptr;
  std::vector<Mark> waiting;
  for (std::size_t i = 0; i <= instructions.size(); ++i) {
    const auto starts = region_at.find(i);
    for (; mark < program.marks.size() && program.marks[mark].instruction <= i; ++mark) {
      const Mark& m = program.marks[mark];
      if (m.kind == Mark::Kind::error_id && region != nullptr)
        region->lines.back().error_id = m.text;  // keeps its number with the assertion before it
      else if (m.kind == Mark::Kind::label && starts != region_at.end())
        out.all[starts->second].labels.push_back(m.text);
      else
        waiting.push_back(m);
    }
    if (starts != region_at.end()) region = &out.all[starts->second];
    if (i == instructions.size()) break;
    Line line{instructions[i], kNoRegion, out.has_offsets ? program.offsets[i] : 0, std::move(waiting), ""};
    waiting.clear();
    if (line.instruction.op == Op::kCall) line.callee = region_at.at(index_at.at(line.instruction.argument.value()));
    region->lines.push_back(std::move(line));
  }
  out.marks_behind = std::move(waiting);
  return out;
}

tasm::Program program_of(const Regions& regions) {
  tasm::Program out;
  std::vector<std::uint32_t> starts(regions.all.size());
  std::uint32_t address = 0;
  const auto put = [&](Mark mark) {
    mark.instruction = static_cast<std::uint32_t>(out.instructions.size());
    out.marks.push_back(std::move(mark));
  };
  for (std::size_t r = 0; r < regions.all.size(); ++r) {
    const Region& region = regions.all[r];
    starts[r] = address;
    if (region.removed) continue;
    for (const std::string& label : region.labels) put({Mark::Kind::label, 0, label, "", 0, 0});
    for (const Line& line : region.lines) {
      for (const Mark& mark : line.marks) put(mark);
      out.instructions.push_back(line.instruction);
      if (line.callee != kNoRegion) out.instructions.back().argument = Element(line.callee);
      if (regions.has_offsets) out.offsets.push_back(line.offset);
      address += line.instruction.words();
      if (!line.error_id.empty()) put({Mark::Kind::error_id, 0, line.error_id, "", 0, 0});
    }
  }
  for (const Mark& mark : regions.marks_behind) put(mark);
  for (Instruction& instruction : out.instructions) {
    if (instruction.op != Op::kCall) continue;
    const auto callee = static_cast<std::size_t>(instruction.argument.value());
    CHECK(!regions.all[callee].removed);
    instruction.argument = Element(starts[callee]);
  }
  return out;
}

}  // namespace trident::tir::shape
