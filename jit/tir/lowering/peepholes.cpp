#include "jit/tir/lowering/peepholes.h"

#include <algorithm>

#include "jit/tir/tasm/blocks.h"
#include "runtime/base/check.h"

namespace trident::tir::lowering {
namespace {

using field::Element;
using tasm::Instruction;
using tasm::kCountMax;
using tasm::Op;
using Piece = std::vector<Instruction>;

/// Replaces the first `taken` instructions by `given`.
struct Rewrite {
  std::size_t taken;
  Piece given;
};
using Found = std::optional<Rewrite>;

/// Instructions from one place of a piece on; beyond the end it reads `halt`, which no pass matches.
class Window {
 public:
  explicit Window(std::span<const Instruction> rest) : rest_(rest) {}
  [[nodiscard]] Instruction at(std::size_t i) const { return i < rest_.size() ? rest_[i] : Instruction{Op::kHalt, {}}; }
  [[nodiscard]] bool is(std::size_t i, Op op) const { return at(i).op == op; }
  [[nodiscard]] bool is(std::size_t i, Op op, std::uint64_t argument) const {
    return at(i) == Instruction{op, Element(argument)};
  }
  [[nodiscard]] std::uint64_t number(std::size_t i) const { return at(i).argument.value(); }

 private:
  std::span<const Instruction> rest_;
};

Instruction make(Op op, std::uint64_t argument = 0) {
  return {op, Element(argument)};
}
/// Joins two instructions of a and b words into one, or into one of five and one of the rest.
Found batch(const Window& w, Op op) {
  if (!w.is(0, op) || !w.is(1, op)) return {};
  const std::uint64_t a = w.number(0), b = w.number(1);
  if (a == kCountMax) return {};
  if (a + b <= kCountMax) return Rewrite{2, {make(op, a + b)}};
  return Rewrite{2, {make(op, kCountMax), make(op, a + b - kCountMax)}};
}

Found nops(const Window& w) {
  if (w.is(0, Op::kNop) || w.is(0, Op::kSwap, 0) || w.is(0, Op::kPick, 0) || w.is(0, Op::kPlace, 0) ||
      w.is(0, Op::kAddI, 0))
    return Rewrite{1, {}};
  if (w.is(0, Op::kPush, 1) && w.is(1, Op::kMul)) return Rewrite{2, {}};
  return {};
}
Found hints(const Window& w) {
  return batch(w, Op::kDivine);
}
Found pops(const Window& w) {
  return batch(w, Op::kPop);
}
Found batches(const Window& w) {
  for (const Op op : {Op::kReadIo, Op::kWriteIo, Op::kReadMem, Op::kWriteMem})
    if (auto found = batch(w, op)) return found;
  return {};
}

Found forwards(const Window& w) {
  // A pushed or duplicated word can be pushed again. A word from before would need a copy first, which also works on a
  // stack with one element less, where the longer piece fails.
  if (!w.is(0, Op::kPush) && !w.is(0, Op::kDup)) return {};
  const bool store = w.is(1, Op::kPush) && w.is(2, Op::kWriteMem, 1) && w.is(3, Op::kPop, 1);
  if (!store || w.at(4) != w.at(1) || !w.is(5, Op::kReadMem, 1) || !w.is(6, Op::kPop, 1)) return {};
  return Rewrite{7, {w.at(0), w.at(1), w.at(2), w.at(3), w.at(0)}};
}

Found stores(const Window& w) {
  // push v, push a, write_mem 1, pop 1, twice, the second to a + 1; or n words and one more behind them.
  // If there are more pushes, a later window begins at the last ones and finds them.
  std::size_t values = 0;
  while (values <= kCountMax && w.is(values, Op::kPush)) ++values;
  if (values < 2) return {};
  const std::size_t n = values - 1;  // the last is the address
  const auto ends = [&](std::size_t at) { return w.is(at, Op::kWriteMem) && w.is(at + 1, Op::kPop, 1); };
  if (!ends(values)) return {};
  const std::uint64_t count = w.number(values);
  if (count > n || count == kCountMax) return {};
  const std::size_t next = values + 2;
  if (!w.is(next, Op::kPush) || !w.is(next + 1, Op::kPush) || !w.is(next + 2, Op::kWriteMem, 1) ||
      !w.is(next + 3, Op::kPop, 1))
    return {};
  if (w.at(next + 1).argument != w.at(n).argument + Element(count)) return {};
  Piece given;
  for (std::size_t i = 0; i < n - count; ++i) given.push_back(w.at(i));
  given.push_back(w.at(next));
  for (std::size_t i = n - count; i < n; ++i) given.push_back(w.at(i));
  given.insert(given.end(), {w.at(n), make(Op::kWriteMem, count + 1), make(Op::kPop, 1)});
  return Rewrite{next + 4, given};
}

/// Returns `pop n`, nothing for 0.
Piece popped(std::uint64_t n) {
  return n == 0 ? Piece{} : Piece{make(Op::kPop, n)};
}
Found copies(const Window& w) {
  if (w.is(0, Op::kDup, 0) && w.is(1, Op::kSwap, 1) && w.is(2, Op::kPop, 1)) return Rewrite{3, {}};
  if (!w.is(1, Op::kPop)) return {};
  const std::uint64_t n = w.number(1), k = w.number(0);
  const auto is = [&](std::initializer_list<Op> ops) {
    return std::find(ops.begin(), ops.end(), w.at(0).op) != ops.end();
  };
  if (is({Op::kPush, Op::kDup})) return Rewrite{2, popped(n - 1)};
  if (is({Op::kAddI})) return Rewrite{2, popped(n)};
  if (is({Op::kAdd, Op::kMul, Op::kEq}) && n < kCountMax) return Rewrite{2, popped(n + 1)};
  if (is({Op::kSplit}) && n >= 2) return Rewrite{2, popped(n - 1)};
  if (is({Op::kSwap, Op::kPick, Op::kPlace}) && n > k) return Rewrite{2, popped(n)};
  return {};
}

Found swaps(const Window& w) {
  if (w.at(0) == w.at(1) && w.is(0, Op::kSwap)) return Rewrite{2, {}};
  const bool back = (w.is(0, Op::kPick) && w.is(1, Op::kPlace)) || (w.is(0, Op::kPlace) && w.is(1, Op::kPick));
  if (back && w.number(0) == w.number(1)) return Rewrite{2, {}};
  return {};
}

Found chains(const Window& w) {
  const std::uint64_t n = w.number(0) + 1;
  if (!w.is(0, Op::kDup) || n > tasm::kIndexMax) return {};
  for (std::uint64_t i = 0; i < n; ++i)
    if (!w.is(i, Op::kDup, n - 1) || !w.is(n + 2 * i, Op::kSwap, n) || !w.is(n + 2 * i + 1, Op::kPop, 1)) return {};
  return Rewrite{3 * n, {}};
}

Found epilogues(const Window& w) {
  std::uint64_t n = 0;
  while (n < tasm::kIndexMax && w.is(2 * n, Op::kSwap, 1) && w.is(2 * n + 1, Op::kPop, 1)) ++n;
  if (n < 2) return {};
  Piece given{make(Op::kSwap, n)};
  for (std::uint64_t left = n; left > 0; left -= std::min(left, kCountMax))
    given.push_back(make(Op::kPop, std::min(left, kCountMax)));
  return Rewrite{2 * n, given};
}

Found additions(const Window& w) {
  if (w.is(0, Op::kPush) && w.is(1, Op::kAdd)) return Rewrite{2, {{Op::kAddI, w.at(0).argument}}};
  if (w.is(0, Op::kAddI) && w.is(1, Op::kAddI)) return Rewrite{2, {{Op::kAddI, w.at(0).argument + w.at(1).argument}}};
  return {};
}

Found constants(const Window& w) {
  const auto negates = [&](std::size_t i) {
    return w.at(i) == Instruction{Op::kPush, field::kMinusOne} && w.is(i + 1, Op::kMul);
  };
  if (negates(0) && negates(2)) return Rewrite{4, {}};
  if (!w.is(0, Op::kPush)) return {};
  const Element a = w.at(0).argument, b = w.at(1).argument;
  if (w.is(1, Op::kAddI)) return Rewrite{2, {{Op::kPush, a + b}}};
  if (!w.is(1, Op::kPush)) return {};
  if (w.is(2, Op::kAdd)) return Rewrite{3, {{Op::kPush, a + b}}};
  if (w.is(2, Op::kMul)) return Rewrite{3, {{Op::kPush, a * b}}};
  return {};
}

Found commutes(const Window& w) {
  if (!w.is(0, Op::kSwap, 1) && !w.is(0, Op::kPick, 1) && !w.is(0, Op::kPlace, 1)) return {};
  for (const Op op : {Op::kAdd, Op::kMul, Op::kEq, Op::kAnd, Op::kXor})
    if (w.is(1, op)) return Rewrite{2, {w.at(1)}};
  return {};
}

Found orders(const Window& w) {
  if (w.is(0, Op::kPush) && w.is(1, Op::kPush) && w.is(2, Op::kSwap, 1)) return Rewrite{3, {w.at(1), w.at(0)}};

  const auto exchanges = [&](std::size_t i) {
    return w.is(i, Op::kSwap, 1) || w.is(i, Op::kPick, 1) || w.is(i, Op::kPlace, 1);
  };
  if (w.is(0, Op::kDup, 0) && exchanges(1)) return Rewrite{2, {w.at(0)}};
  if (exchanges(0) && exchanges(1)) return Rewrite{2, {}};
  return {};
}

struct PassRow {
  std::string_view name, meaning;
  Found (*at)(const Window&);
};
constexpr PassRow kPasses[] = {
#define X(name, meaning) {#name, meaning, name},
#include "jit/tir/lowering/peepholes.def"
#undef X
};

/// Number of earlier instructions from which on a rewriting may enable another.
constexpr std::size_t kReachBack = 3 * (tasm::kIndexMax + 1);

Found first_found(const Window& window, PassSet passes) {
  for (std::size_t p = 0; p < kPassCount; ++p)
    if (passes.has(static_cast<Pass>(p)))
      if (auto found = kPasses[p].at(window)) return found;
  return {};
}

}  // namespace

std::string_view name_of(Pass pass) {
  return kPasses[static_cast<std::size_t>(pass)].name;
}
std::string_view meaning_of(Pass pass) {
  return kPasses[static_cast<std::size_t>(pass)].meaning;
}
std::optional<Pass> pass_named(std::string_view name) {
  for (std::size_t p = 0; p < kPassCount; ++p)
    if (kPasses[p].name == name) return static_cast<Pass>(p);
  return {};
}

std::vector<Instruction> peephole(std::span<const Instruction> piece, PassSet passes) {
  // Finished instructions are in `done`, the others in `rest` from `at` on. A rewriting touches only the ends of both,
  // so the time is linear in the length. Nothing grows, so instructions moved back to `rest` fit before `at`.
  Piece done, rest(piece.begin(), piece.end());
  const auto place = [&](std::size_t i) { return rest.begin() + static_cast<std::ptrdiff_t>(i); };
  for (std::size_t at = 0; at < rest.size();) {
    const auto found = first_found(Window(std::span(rest).subspan(at)), passes);
    if (!found) {
      done.push_back(rest[at++]);
      continue;
    }
    CHECK(found->given.size() <= found->taken);
    at += found->taken - found->given.size();
    std::copy(found->given.begin(), found->given.end(), place(at));
    const std::size_t back = std::min(done.size(), kReachBack);
    at -= back;
    std::copy(done.end() - static_cast<std::ptrdiff_t>(back), done.end(), place(at));
    done.resize(done.size() - back);
  }
  return done;
}

tasm::Program peephole(const tasm::Program& program, PassSet passes) {
  std::vector<tasm::Replacement> replacements;
  for (const tasm::Block& block : tasm::straight_blocks(program)) {
    const auto piece = std::span(program.instructions).subspan(block.begin, block.size());
    auto shorter = peephole(piece, passes);
    if (!std::equal(piece.begin(), piece.end(), shorter.begin(), shorter.end()))
      replacements.push_back({block, std::move(shorter)});
  }
  return with_blocks(program, replacements);
}

}  // namespace trident::tir::lowering
