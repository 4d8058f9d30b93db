#include "jit/tir/shape/shape.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "jit/tir/shape/reachable.h"
#include "jit/tir/shape/regions.h"

namespace trident::tir::shape {
namespace {

using tasm::Element;
using tasm::Op;

/// Limits for changes that look at every call for every region, or at every stretch of instructions.
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
/// Keeps the assertion's number only if the lines that share it agree.
void keep_error_id(Line& shared, const Line& other) {
  if (shared.error_id != other.error_id) shared.error_id.clear();
}

/// True if it runs from its first line to a `return` at its end and returns nowhere else.
bool plain_subroutine(const Regions& regions, std::size_t r) {
  if (!regions.closed(r)) return false;
  const auto& lines = regions.all[r].lines;
  if (!is(lines.back(), Op::kReturn)) return false;
  return std::none_of(lines.begin(), lines.end() - 1, [&](const Line& line) {
    return is(line, Op::kReturn) || is(line, Op::kRecurse) || is(line, Op::kRecurseOrReturn) || line.callee == r;
  });
}

/// Calls f(region, line) for each call of `callee`; f may change the lines there, and sets `line` to the last line that
/// replaces the call.
template <class F>
void each_call(Regions& regions, std::size_t callee, F f) {
  for (std::size_t r = 0; r < regions.all.size(); ++r)
    if (!regions.all[r].removed)
      for (std::size_t i = 0; i < regions.all[r].lines.size(); ++i)
        if (regions.all[r].lines[i].callee == callee) f(r, i);
}

/// Inlines subroutines whose bodies take no more words at their calls than as subroutines.
tasm::Program inlined(const tasm::Program& program) {
  Regions regions = regions_of(program);
  if (regions.all.size() > kRegionsMax) return program;
  for (std::size_t r = 1; r < regions.all.size(); ++r) {
    if (!plain_subroutine(regions, r)) continue;
    std::vector<Line> body(regions.all[r].lines.begin(), regions.all[r].lines.end() - 1);
    // No line calls a label inside the body, so it can be put in several places.
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

/// Shortens push 1, swap 1, skiz, call A, skiz, call B with A: pop 1, push 0, return, or B: return.
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

/// Most lines in a loop's test, since they are put where the loop is called too.
constexpr std::size_t kTestMax = 6;

/// Test before each turn of a loop of the form TEST, push 0, eq, skiz, return, BODY, recurse.
struct LoopTest {
  std::vector<Line> lines;  ///< TEST: pushes 0 to end the loop
  std::size_t taken = 0;    ///< lines at the start of the loop, with `return`
};

/// Finds the test; none if the lines begin otherwise. `push 0, dup d + 1, eq` is `dup d, push 0, eq`.
std::optional<LoopTest> loop_test(const std::vector<Line>& lines) {
  std::size_t eq = 0;
  while (eq < lines.size() && eq < kTestMax + 2 && !is(lines[eq], Op::kEq) && !controls(lines[eq])) ++eq;
  if (eq == 0 || eq + 2 >= lines.size() || !is(lines[eq], Op::kEq) || !is(lines[eq + 1], Op::kSkiz) ||
      !is(lines[eq + 2], Op::kReturn))
    return {};
  LoopTest test{{lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(eq - 1)}, eq + 3};
  for (Line& line : test.lines) line.marks.clear();
  if (is(lines[eq - 1], Op::kPush, 0)) return test;
  const std::uint64_t depth = lines[eq - 1].instruction.argument.value();
  if (!is(lines[eq - 1], Op::kDup) || depth == 0 || eq < 2 || !is(lines[eq - 2], Op::kPush, 0)) return {};
  test.lines.back() = make(Op::kDup, depth - 1);
  return test;
}

/// True if the test, right before line i, is known not to push 0: it copies a constant that was just pushed.
bool never_zero(const Regions& regions, std::size_t r, std::size_t i, const LoopTest& test) {
  if (test.lines.size() != 1 || !is(test.lines[0], Op::kDup)) return false;
  const std::uint64_t depth = test.lines[0].instruction.argument.value();
  if (i <= depth) return false;
  const auto& lines = regions.all[r].lines;
  for (std::size_t back = 1; back <= depth + 1; ++back)
    if (!is(lines[i - back], Op::kPush) || regions.behind_skiz(r, i - back)) return false;
  return !lines[i - depth - 1].instruction.argument.is_zero();
}

/// Puts `TEST, skiz` before the call, line i of region r, and moves i to the call.
void test_before_call(Regions& regions, std::size_t r, std::size_t& i, const LoopTest& test) {
  if (never_zero(regions, r, i, test)) return;
  auto& lines = regions.all[r].lines;
  std::vector<Line> before = test.lines;
  before.push_back(make(Op::kSkiz));
  before.front().marks = std::exchange(lines[i].marks, {});
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), before.begin(), before.end());
  i += before.size();
}

/// Rewrites L: TEST, push 0, eq, skiz, return, BODY, recurse to TEST, skiz, call L and L: BODY, TEST, skiz, recurse,
/// return: two cycles less per turn. If TEST is known not to push 0 at a call, it is left out there. BODY may return.
tasm::Program loops(const tasm::Program& program) {
  Regions regions = regions_of(program);
  if (regions.all.size() > kRegionsMax) return program;
  for (std::size_t r = 1; r < regions.all.size(); ++r) {
    auto& lines = regions.all[r].lines;
    if (!regions.closed(r) || !is(lines.back(), Op::kRecurse)) continue;
    const auto test = loop_test(lines);
    if (!test || test->taken + 2 > lines.size()) continue;
    const auto body = lines.begin() + static_cast<std::ptrdiff_t>(test->taken);
    bool fits = std::none_of(body, lines.end() - 1, [&](const Line& line) {
      return is(line, Op::kRecurse) || is(line, Op::kRecurseOrReturn) || line.callee == r;
    });
    each_call(regions, r, [&](std::size_t at, std::size_t i) { fits &= !regions.behind_skiz(at, i); });
    if (!fits) continue;
    lines.erase(lines.begin(), body);
    lines.pop_back();
    lines.insert(lines.end(), test->lines.begin(), test->lines.end());
    for (const Op op : {Op::kSkiz, Op::kRecurse, Op::kReturn}) lines.push_back(make(op));
    each_call(regions, r, [&](std::size_t at, std::size_t& i) { test_before_call(regions, at, i, *test); });
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
    {"unreachable", "removes code that no run reaches", reachable},
    {"branches", "tests once for a branch with an empty side", branches},
    {"inlined", "inlines a body where it is called if that takes no more words", inlined},
    {"merged", "merges equal subroutines", merged},
    {"loops", "moves the test of a loop that ends at a 0 to its end", loops},
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
  // Groups equal stretches: their places, without those that overlap an earlier one.
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
