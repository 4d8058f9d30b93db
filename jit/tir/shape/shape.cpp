#include "jit/tir/shape/shape.h"

#include <algorithm>
#include <map>

#include "jit/tir/shape/regions.h"

namespace trident::tir::shape {
namespace {

using tasm::Element;
using tasm::Op;

/// What looks at every call for every region, and at every stretch of instructions, leaves larger programs as they are.
constexpr std::size_t kRegionsMax = 4096, kInstructionsMax = 100'000;

Line make(Op op, std::uint64_t argument = 0) {
  return {{op, Element(argument)}, kNoRegion, 0, {}, ""};
}
bool is(const Line& line, Op op) {
  return line.instruction.op == op;
}
bool is(const Line& line, Op op, std::uint64_t argument) {
  return line.instruction == Instruction{op, Element(argument)};
}
bool controls(const Line& line) {
  return (tasm::row(line.instruction.op).effects & tasm::kControl) != 0;
}
std::size_t words(std::span<const Line> lines) {
  std::size_t sum = 0;
  for (const Line& line : lines) sum += line.instruction.words();
  return sum;
}
bool is_label(const tasm::Mark& mark) {
  return mark.kind == tasm::Mark::Kind::label;
}
/// Of what stands in several places only what is true in all of them.
void keep_error_id(Line& shared, const Line& other) {
  if (shared.error_id != other.error_id) shared.error_id.clear();
}

/// Runs from its first line to a `return` at its end, and comes back nowhere else.
bool plain_subroutine(const Regions& regions, std::size_t r) {
  if (!regions.closed(r)) return false;
  const auto& lines = regions.all[r].lines;
  if (!is(lines.back(), Op::kReturn)) return false;
  return std::none_of(lines.begin(), lines.end() - 1, [&](const Line& line) {
    return is(line, Op::kReturn) || is(line, Op::kRecurse) || is(line, Op::kRecurseOrReturn) || line.callee == r;
  });
}

/// f(region, line) for each call of `callee`, by number; f may change the lines there, and says in `line` where the
/// last of what now stands for the call is.
template <class F>
void each_call(Regions& regions, std::size_t callee, F f) {
  for (std::size_t r = 0; r < regions.all.size(); ++r)
    if (!regions.all[r].removed)
      for (std::size_t i = 0; i < regions.all[r].lines.size(); ++i)
        if (regions.all[r].lines[i].callee == callee) f(r, i);
}

tasm::Program unreachable(const tasm::Program& program) {
  Regions regions = regions_of(program);
  std::vector<bool> reached(regions.all.size());
  std::vector<std::size_t> open = {0};
  while (!open.empty()) {
    const std::size_t r = open.back();
    open.pop_back();
    if (r >= regions.all.size() || reached[r]) continue;
    reached[r] = true;
    if (!regions.ends(r)) open.push_back(r + 1);
    for (const Line& line : regions.all[r].lines)
      if (line.callee != kNoRegion) open.push_back(line.callee);
  }
  for (std::size_t r = 0; r < regions.all.size(); ++r) regions.all[r].removed = !reached[r];
  return program_of(regions);
}

/// Bodies that take no more words where they are called than as subroutines.
tasm::Program inlined(const tasm::Program& program) {
  Regions regions = regions_of(program);
  if (regions.all.size() > kRegionsMax) return program;
  for (std::size_t r = 1; r < regions.all.size(); ++r) {
    if (!plain_subroutine(regions, r)) continue;
    std::vector<Line> body(regions.all[r].lines.begin(), regions.all[r].lines.end() - 1);
    // Nobody calls a label inside of it, and it can be put in several places.
    for (Line& line : body) std::erase_if(line.marks, is_label);
    const std::size_t calls = regions.calls_of(r), size = words(body);
    if (calls == 0 || calls * size > 2 * calls + size + 1) continue;
    bool fits = true;
    each_call(regions, r,
              [&](std::size_t at, std::size_t i) { fits &= !regions.behind_skiz(at, i) || body.size() == 1; });
    if (!fits) continue;
    each_call(regions, r, [&](std::size_t at, std::size_t& i) {
      auto& lines = regions.all[at].lines;
      const auto call = lines.begin() + static_cast<std::ptrdiff_t>(i);
      const std::vector<tasm::Mark> marks = std::move(call->marks);
      lines.insert(lines.erase(call), body.begin(), body.end());
      if (i < lines.size()) lines[i].marks.insert(lines[i].marks.begin(), marks.begin(), marks.end());
      i += body.size() - 1;
    });
    regions.all[r].removed = true;
  }
  return program_of(regions);
}

/// push 1, swap 1, skiz, call A, skiz, call B where A: pop 1, push 0, return, or B: return.
tasm::Program branches(const tasm::Program& program) {
  Regions regions = regions_of(program);
  const auto body_is = [&](std::uint32_t r, std::initializer_list<Line> lines) {
    return r != kNoRegion &&
           std::equal(lines.begin(), lines.end(), regions.all[r].lines.begin(), regions.all[r].lines.end());
  };
  for (std::size_t r = 0; r < regions.all.size(); ++r) {
    Region& region = regions.all[r];
    for (std::size_t i = 0; i + 6 <= region.lines.size(); ++i) {
      const auto at = region.lines.begin() + static_cast<std::ptrdiff_t>(i);
      if (regions.behind_skiz(r, i) || !is(at[0], Op::kPush, 1) || !is(at[1], Op::kSwap, 1) || !is(at[2], Op::kSkiz) ||
          !is(at[3], Op::kCall) || !is(at[4], Op::kSkiz) || !is(at[5], Op::kCall))
        continue;
      const std::uint32_t first = at[3].callee, second = at[5].callee;
      if (body_is(first, {make(Op::kPop, 1), make(Op::kPush, 0), make(Op::kReturn)})) {
        at[0].instruction = make(Op::kPush, 0).instruction, at[1].instruction = make(Op::kEq).instruction;
        region.lines.erase(at + 2, at + 4);
      } else if (body_is(second, {make(Op::kReturn)}) && plain_subroutine(regions, first) &&
                 regions.calls_of(first) == 1 && first != r) {
        auto& body = regions.all[first].lines;
        if (body.size() < 3 || !is(body[0], Op::kPop, 1) || !is(body[body.size() - 2], Op::kPush, 0) ||
            is(body[body.size() - 3], Op::kSkiz))
          continue;
        body.erase(body.end() - 2);
        body.erase(body.begin());
        region.lines.erase(at + 4, at + 6);
        region.lines.erase(at, at + 2);
      }
    }
  }
  return program_of(regions);
}

/// L: dup 0, push 0, eq, skiz, return, BODY, recurse  =>  dup 0, skiz, call L and L: BODY, dup 0, skiz, recurse,
/// return: two cycles less in each turn. Where it is called right behind a constant that is not 0 nothing need be
/// asked.
tasm::Program loops(const tasm::Program& program) {
  Regions regions = regions_of(program);
  if (regions.all.size() > kRegionsMax) return program;
  for (std::size_t r = 1; r < regions.all.size(); ++r) {
    auto& lines = regions.all[r].lines;
    if (!regions.closed(r) || lines.size() < 7 || !is(lines[0], Op::kDup, 0) || !is(lines[1], Op::kPush, 0) ||
        !is(lines[2], Op::kEq) || !is(lines[3], Op::kSkiz) || !is(lines[4], Op::kReturn) ||
        !is(lines.back(), Op::kRecurse))
      continue;
    const bool one_way = std::none_of(lines.begin() + 5, lines.end() - 1, [&](const Line& line) {
      return is(line, Op::kReturn) || is(line, Op::kRecurse) || is(line, Op::kRecurseOrReturn) || line.callee == r;
    });
    bool fits = one_way;
    each_call(regions, r, [&](std::size_t at, std::size_t i) { fits &= !regions.behind_skiz(at, i); });
    if (!fits) continue;
    lines.erase(lines.begin(), lines.begin() + 5);
    lines.pop_back();
    for (const Line& line : {make(Op::kDup, 0), make(Op::kSkiz), make(Op::kRecurse), make(Op::kReturn)})
      lines.push_back(line);
    each_call(regions, r, [&](std::size_t at_region, std::size_t& i) {
      Region& region = regions.all[at_region];
      const bool never_zero = i > 0 && is(region.lines[i - 1], Op::kPush) &&
                              !region.lines[i - 1].instruction.argument.is_zero() &&
                              !regions.behind_skiz(at_region, i - 1);
      if (never_zero) return;
      Line test = make(Op::kDup, 0);
      test.marks = std::move(region.lines[i].marks);
      region.lines[i].marks.clear();
      const auto at = region.lines.insert(region.lines.begin() + static_cast<std::ptrdiff_t>(i), make(Op::kSkiz));
      region.lines.insert(at, std::move(test));
      i += 2;
    });
  }
  return program_of(regions);
}

tasm::Program merged(const tasm::Program& program) {
  Regions regions = regions_of(program);
  if (regions.all.size() > kRegionsMax) return program;
  for (std::size_t r = 1; r < regions.all.size(); ++r)
    for (std::size_t other = 1; other < r && !regions.all[r].removed; ++other) {
      if (!regions.closed(r) || !regions.closed(other) || regions.all[r].lines != regions.all[other].lines) continue;
      each_call(regions, r, [&](std::size_t at, std::size_t i) {
        regions.all[at].lines[i].callee = static_cast<std::uint32_t>(other);
      });
      for (std::size_t i = 0; i < regions.all[r].lines.size(); ++i)
        keep_error_id(regions.all[other].lines[i], regions.all[r].lines[i]);
      regions.all[r].removed = true;
    }
  return program_of(regions);
}

constexpr ChangeRow kChanges[] = {
    {"unreachable", "what no call reaches goes", unreachable},
    {"branches", "a branch with an empty side tests once", branches},
    {"inlined", "a body stands where it is called if that takes no more words", inlined},
    {"merged", "equal subroutines are one", merged},
    {"loops", "a counted loop tests at its end", loops},
};

}  // namespace

std::span<const ChangeRow> changes() {
  return kChanges;
}

tasm::Program outline_one(const tasm::Program& program) {
  constexpr std::size_t kLinesMax = 24;
  if (program.instructions.size() > kInstructionsMax) return program;
  Regions regions = regions_of(program);
  struct Place {
    std::size_t region, line;
  };
  // By what stands there: the places, those that overlap an earlier one left out.
  std::map<std::vector<std::uint64_t>, std::vector<Place>> found;
  for (std::size_t r = 0; r < regions.all.size(); ++r) {
    const auto& lines = regions.all[r].lines;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (regions.behind_skiz(r, i)) continue;
      std::vector<std::uint64_t> key;
      for (std::size_t n = 0; n < kLinesMax && i + n < lines.size() && !controls(lines[i + n]); ++n) {
        key.push_back(static_cast<std::uint64_t>(lines[i + n].instruction.op));
        key.push_back(lines[i + n].instruction.argument.value());
        if (n == 0) continue;
        auto& places = found[key];
        if (places.empty() || places.back().region != r || places.back().line + n < i) places.push_back({r, i});
      }
    }
  }
  long best = 0;
  const std::vector<Place>* best_places = nullptr;
  std::size_t best_size = 0;
  for (const auto& [key, places] : found) {
    const std::size_t size = key.size() / 2;
    const auto text =
        static_cast<long>(words(std::span(regions.all[places[0].region].lines).subspan(places[0].line, size)));
    const auto count = static_cast<long>(places.size());
    const long saved = count * text - 2 * count - text - 1;
    if (saved > best) best = saved, best_places = &places, best_size = size;
  }
  if (best_places == nullptr || !regions.ends(regions.all.size() - 1)) return program;
  Region body;
  body.labels.push_back(regions.free_label("shared__"));
  const Place first = best_places->front();
  const auto from = regions.all[first.region].lines.begin() + static_cast<std::ptrdiff_t>(first.line);
  body.lines.assign(from, from + static_cast<std::ptrdiff_t>(best_size));
  for (Line& line : body.lines) line.marks.clear();
  body.lines.push_back(make(Op::kReturn));
  const auto number = static_cast<std::uint32_t>(regions.all.size());
  for (std::size_t i = best_places->size(); i-- > 0;) {
    const Place place = (*best_places)[i];
    auto& lines = regions.all[place.region].lines;
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(place.line);
    for (std::size_t n = 0; n < best_size; ++n) keep_error_id(body.lines[n], at[static_cast<std::ptrdiff_t>(n)]);
    Line call{{Op::kCall, {}}, number, at->offset, std::move(at->marks), ""};
    lines.insert(lines.erase(at, at + static_cast<std::ptrdiff_t>(best_size)), std::move(call));
  }
  regions.all.push_back(std::move(body));
  return program_of(regions);
}

}  // namespace trident::tir::shape
