#include "jit/tir/tasm/blocks.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/check.h"

namespace trident::tir::tasm {
namespace {

bool controls(const Instruction& instruction) {
  return (row(instruction.op).effects & kControl) != 0;
}

/// Returns the address of every instruction, and of the end.
std::vector<std::uint32_t> addresses(const Program& program) {
  std::vector<std::uint32_t> out{0};
  for (const Instruction& instruction : program.instructions) out.push_back(out.back() + instruction.words());
  return out;
}
std::uint32_t index_of(const std::vector<std::uint32_t>& addresses, Element address) {
  const auto found = std::lower_bound(addresses.begin(), addresses.end(), address.value());
  CHECK(found != addresses.end() && *found == address.value());
  return static_cast<std::uint32_t>(found - addresses.begin());
}

/// Returns for each instruction of `after` its origin in `before`: its partner in a longest common subsequence,
/// else the first removed one. Aligns pieces in stretches, as the time is the product of their lengths.
std::vector<std::uint32_t> origins(std::span<const Instruction> before, std::span<const Instruction> after) {
  constexpr std::size_t kStretch = 256;
  std::vector<std::uint32_t> out;
  std::size_t i = 0;
  const auto stands_for = [&](std::size_t at) {
    out.push_back(static_cast<std::uint32_t>(std::min(at, before.size() - 1)));
  };
  while (out.size() < after.size()) {
    if (i < before.size() && before[i] == after[out.size()]) {
      stands_for(i++);
      continue;
    }
    const std::size_t m = std::min(before.size() - i, kStretch), n = std::min(after.size() - out.size(), kStretch);
    const auto a = before.subspan(i, m), b = after.subspan(out.size(), n);
    // common[k * (n + 1) + l]: common length of a from k on and b from l on.
    std::vector<std::uint16_t> common((m + 1) * (n + 1));
    const auto at = [&](std::size_t k, std::size_t l) -> std::uint16_t& { return common[k * (n + 1) + l]; };
    for (std::size_t k = m; k-- > 0;)
      for (std::size_t l = n; l-- > 0;)
        at(k, l) =
            a[k] == b[l] ? static_cast<std::uint16_t>(at(k + 1, l + 1) + 1) : std::max(at(k + 1, l), at(k, l + 1));
    // Settles only the first half of a full stretch: its end may have its partner in the next.
    const bool last = i + m == before.size() && out.size() + n == after.size();
    const std::size_t settled = last ? n : std::max<std::size_t>(n / 2, 1);
    std::size_t k = 0, first_gone = 0;
    for (std::size_t l = 0; l < settled; ++l) {
      while (k < m && a[k] != b[l] && at(k + 1, l) >= at(k, l + 1) && at(k + 1, l) > 0) ++k;
      const bool alike = k < m && a[k] == b[l];
      stands_for(i + (alike ? k : first_gone));
      if (alike) first_gone = ++k;
    }
    i += first_gone;
  }
  return out;
}

/// Builds a program from pieces of another.
class Rebuilder {
 public:
  explicit Rebuilder(const Program& from) : from_(from), addresses_(addresses(from)) {
    places_.resize(from.instructions.size() + 1);
  }

  void keep_until(std::uint32_t end) {
    for (; at_ < end; ++at_) {
      marks_before(at_);
      places_[at_] = count();
      out_.instructions.push_back(from_.instructions[at_]);
      if (!from_.offsets.empty()) out_.offsets.push_back(from_.offsets[at_]);
    }
  }

  void replace(const Replacement& replacement) {
    const Block& block = replacement.block;
    keep_until(block.begin);
    marks_before(block.begin);
    for (; at_ < block.end; ++at_) places_[at_] = count();
    if (!from_.offsets.empty())
      for (const std::uint32_t origin :
           origins(std::span(from_.instructions).subspan(block.begin, block.size()), replacement.instructions))
        out_.offsets.push_back(from_.offsets[block.begin + origin]);
    out_.instructions.insert(out_.instructions.end(), replacement.instructions.begin(), replacement.instructions.end());
    while (mark_ < from_.marks.size() && from_.marks[mark_].instruction < block.end) ++mark_;
  }

  Program finish() {
    keep_until(static_cast<std::uint32_t>(from_.instructions.size()));
    marks_before(at_);
    places_[at_] = count();
    std::vector<std::uint32_t> moved = addresses(out_);
    for (Instruction& instruction : out_.instructions)
      if (instruction.op == Op::kCall)
        instruction.argument = Element(moved[places_[index_of(addresses_, instruction.argument)]]);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(out_.instructions.size()); }
  void marks_before(std::uint32_t instruction) {
    for (; mark_ < from_.marks.size() && from_.marks[mark_].instruction <= instruction; ++mark_) {
      out_.marks.push_back(from_.marks[mark_]);
      out_.marks.back().instruction = count();
    }
  }
  const Program& from_;
  std::vector<std::uint32_t> addresses_, places_;  ///< places_: new index of each old instruction
  Program out_;
  std::uint32_t at_ = 0;
  std::size_t mark_ = 0;
};

}  // namespace

std::vector<Block> straight_blocks(const Program& program) {
  const auto& all = program.instructions;
  const std::vector<std::uint32_t> addresses = tasm::addresses(program);
  std::vector<bool> begins(all.size() + 2), alone(all.size() + 2);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].op == Op::kCall) begins[index_of(addresses, all[i].argument)] = true;
    if (controls(all[i])) begins[i + 1] = true;
    if (all[i].op == Op::kSkiz) alone[i + 1] = begins[std::min(i + 2, all.size())] = true;
  }
  for (const Mark& mark : program.marks)
    if (mark.kind == Mark::Kind::error_id) alone[mark.instruction - 1] = true;
  std::vector<Block> out;
  Block open{0, 0};
  const auto close = [&](std::uint32_t at) {
    open.end = at;
    if (open.size() > 0) out.push_back(open);
    open.begin = at;
  };
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (begins[i]) close(i);
    if (!alone[i] && !controls(all[i])) continue;
    close(i);
    open.begin = i + 1;
  }
  close(static_cast<std::uint32_t>(all.size()));
  return out;
}

Program with_blocks(const Program& program, std::span<const Replacement> replacements) {
  Rebuilder rebuilder(program);
  for (const Replacement& replacement : replacements) rebuilder.replace(replacement);
  return rebuilder.finish();
}

std::uint32_t words(std::span<const Instruction> instructions) {
  return std::accumulate(instructions.begin(), instructions.end(), 0u,
                         [](std::uint32_t sum, const Instruction& i) { return sum + i.words(); });
}

}  // namespace trident::tir::tasm
