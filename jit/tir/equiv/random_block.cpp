#include "jit/tir/equiv/random_block.h"

#include <algorithm>

namespace trident::tir::equiv {
namespace {

using tasm::Op;
using Instructions = std::vector<Instruction>;

Instruction with(Op op, std::uint64_t argument = 0) {
  return {op, Element(argument)};
}

Element constant(Random& random) {
  switch (random.below(6)) {
    case 0: return Element(random.below(3));
    case 1: return Element(random.below(20));
    case 2: return -Element(1 + random.below(3));
    case 3: return Element((std::uint64_t{1} << random.below(33)) - random.below(2));
    case 4: return Element(random.next() >> 32);
    default: return Element(random.below(3) == 0 ? random.next() : 100 + random.below(8));
  }
}

/// Theme of a block: few instructions and constants, so that many mutants are the same by chance, not by our
/// rules.
enum class Theme : std::uint8_t { all, bits, ram, conditions };

Instruction of_theme(Random& random, Theme theme) {
  constexpr Op kBits[] = {Op::kAnd,    Op::kAnd,      Op::kXor,   Op::kXor, Op::kLt,
                          Op::kDivMod, Op::kPopCount, Op::kSplit, Op::kMul};
  constexpr Op kRam[] = {Op::kReadMem, Op::kReadMem, Op::kWriteMem, Op::kWriteMem, Op::kAddI, Op::kPop};
  constexpr Op kConditions[] = {Op::kEq, Op::kEq, Op::kAssert, Op::kInvert, Op::kMul, Op::kAdd, Op::kLt, Op::kPow};
  const auto number = [&] { return Element(random.below(4)); };
  if (random.one_in(5)) return {Op::kPush, theme == Theme::bits && random.one_in(2) ? Element(255) : number()};
  if (random.one_in(3)) return with(Op::kDup, random.below(3));
  if (random.one_in(4)) return with(random.one_in(2) ? Op::kSwap : Op::kPick, 1 + random.below(2));
  if (theme == Theme::bits) return with(kBits[random.below(std::size(kBits))]);
  if (theme == Theme::conditions) return with(kConditions[random.below(std::size(kConditions))]);
  const Op op = kRam[random.below(std::size(kRam))];
  if (op == Op::kAddI) return {op, random.one_in(2) ? field::kMinusOne : number()};
  return with(op, random.one_in(3) ? 2 : 1);
}

/// Makes a store or load at one of few addresses.
Instructions access(Random& random) {
  const auto element = [&](std::uint64_t depth) -> Instruction {
    return random.one_in(2) ? with(Op::kDup, depth + random.below(3)) : with(Op::kPush, random.below(3));
  };
  if (random.one_in(3)) return {element(0), with(Op::kReadMem, 1), with(Op::kPop, 1)};
  return {element(0), element(1), with(Op::kWriteMem, 1), with(Op::kPop, 1)};
}

Instruction any(Random& random, Theme theme = Theme::all) {
  if (theme != Theme::all) return of_theme(random, theme);
  while (true) {
    const auto op = static_cast<Op>(random.below(tasm::kOpCount));
    const tasm::InstructionRow& row = tasm::row(op);
    if ((row.effects & tasm::kControl) != 0) continue;
    if (row.hash_rows > 0 && !random.one_in(3)) continue;  // slow, and most are alike
    switch (row.argument) {
      case tasm::Argument::element: return {op, constant(random)};
      case tasm::Argument::count: return with(op, 1 + (random.one_in(2) ? 0 : random.below(5)));
      case tasm::Argument::index: return with(op, random.one_in(4) ? random.below(16) : random.below(4));
      case tasm::Argument::none:
      case tasm::Argument::label: return with(op);
    }
  }
}

/// Makes instructions that often stand together.
Instructions idiom(Random& random) {
  const auto pick = random.below(4);
  switch (random.below(12)) {
    case 0: return {with(Op::kSplit), with(random.one_in(2) ? Op::kAnd : Op::kXor)};
    case 1: return {with(Op::kSplit), with(Op::kPop, 1)};
    case 2: return {with(Op::kDup, pick), with(Op::kSplit), with(Op::kLt)};
    case 3: return {{Op::kPush, constant(random)}, with(Op::kEq)};
    case 4: return {with(Op::kDup, pick), with(Op::kDup, pick + 1), with(Op::kEq), with(Op::kAssert)};
    case 5: return {{Op::kPush, constant(random)}, with(Op::kReadMem, 1), with(Op::kPop, 1)};
    case 6: return {with(Op::kDup, pick), {Op::kPush, constant(random)}, with(Op::kWriteMem, 1), with(Op::kPop, 1)};
    case 7: return {with(Op::kDup, pick), with(Op::kReadMem, 1), with(Op::kPop, 1)};
    case 8: return {with(Op::kDup, 1), with(Op::kDup, 1), with(Op::kWriteMem, 1), with(Op::kPop, 1)};
    case 9: return {with(Op::kDup, pick), with(Op::kInvert), with(Op::kMul)};
    case 10: return {{Op::kPush, constant(random)}, with(Op::kSwap, 1), with(Op::kDivMod)};
    default: return {{Op::kPush, Element(random.below(5))}, with(Op::kSwap, 1), with(Op::kPow)};
  }
}

void insert(Instructions& block, std::size_t at, const Instructions& what) {
  block.insert(block.begin() + static_cast<std::ptrdiff_t>(at), what.begin(), what.end());
}
void replace(Instructions& block, std::size_t at, std::size_t count, const Instructions& by) {
  const auto from = block.begin() + static_cast<std::ptrdiff_t>(at);
  block.erase(from, from + static_cast<std::ptrdiff_t>(count));
  insert(block, at, by);
}

/// Makes instructions that do nothing in any state.
Instructions nothing(Random& random) {
  const std::uint64_t i = random.below(4), j = 1 + random.below(15);
  const Element c = constant(random);
  switch (random.below(13)) {
    case 0: return {with(Op::kNop)};
    case 1: return {{Op::kPush, c}, with(Op::kPop, 1)};
    case 2: return {with(Op::kDup, i), with(Op::kPop, 1)};
    case 3: return {with(Op::kSwap, j), with(Op::kSwap, j)};
    case 4: return {with(Op::kPick, j), with(Op::kPlace, j)};
    case 5: return {with(Op::kPlace, j), with(Op::kPick, j)};
    case 6: return {{Op::kPush, Element()}, with(Op::kAdd)};
    case 7: return {{Op::kPush, field::kOne}, with(Op::kMul)};
    case 8: return {{Op::kAddI, c}, {Op::kAddI, -c}};
    case 9: return {{Op::kPush, -field::kOne}, with(Op::kMul), {Op::kPush, -field::kOne}, with(Op::kMul)};
    case 10: return {with(Op::kDup, i), with(Op::kSplit), with(Op::kPop, 2)};
    case 11:
      return {with(Op::kSplit),
              with(Op::kSwap, 1),
              {Op::kPush, Element(std::uint64_t{1} << 32)},
              with(Op::kMul),
              with(Op::kAdd)};
    default: return {with(Op::kDup, 0), with(Op::kReadMem, 1), with(Op::kPop, 2)};
  }
}

bool splits_in_two(Op op) {
  return op == Op::kPop || op == Op::kReadIo || op == Op::kWriteIo || op == Op::kDivine;
}

/// Rewrites the instruction at `at` to something that does the same; false if no rule applies.
bool rewrite(Random& random, Instructions& block, std::size_t at) {
  const Instruction here = block[at];
  const Op next = at + 1 < block.size() ? block[at + 1].op : Op::kHalt;
  const std::uint64_t n = here.argument.value();
  if (splits_in_two(here.op) && n > 1) {
    const std::uint64_t first = 1 + random.below(n - 1);
    replace(block, at, 1, {with(here.op, first), with(here.op, n - first)});
  } else if (splits_in_two(here.op) && next == here.op && n + block[at + 1].argument.value() <= 5) {
    replace(block, at, 2, {with(here.op, n + block[at + 1].argument.value())});
  } else if (here.op == Op::kPush && next == Op::kAdd) {
    replace(block, at, 2, {{Op::kAddI, here.argument}});
  } else if (here.op == Op::kAddI) {
    replace(block, at, 1, {{Op::kPush, here.argument}, with(Op::kAdd)});
  } else if (here.op == Op::kAdd || here.op == Op::kMul || here.op == Op::kEq || here.op == Op::kAnd ||
             here.op == Op::kXor) {
    replace(block, at, 1, {with(Op::kSwap, 1), here});
  } else if (here.op == Op::kXxAdd || here.op == Op::kXxMul) {
    replace(block, at, 1, {with(Op::kPick, 5), with(Op::kPick, 5), with(Op::kPick, 5), here});
  } else if (here.op == Op::kPush && next == Op::kPush) {
    replace(block, at, 2, {block[at + 1], here, with(Op::kSwap, 1)});
  } else if (here.op == Op::kDup && n < 15 && next == Op::kPush) {
    replace(block, at, 2, {block[at + 1], with(Op::kDup, n + 1), with(Op::kSwap, 1)});
  } else if (here.op == Op::kReadMem && n > 1) {
    replace(block, at, 1, {with(Op::kReadMem, 1), with(Op::kReadMem, n - 1)});
  } else if (here.op == Op::kWriteMem && n > 1) {
    replace(block, at, 1, {with(Op::kWriteMem, 1), with(Op::kWriteMem, n - 1)});
  } else if (here.op == Op::kSwap && n == 1) {
    replace(block, at, 1, {with(random.one_in(2) ? Op::kPick : Op::kPlace, 1)});
  } else if (here.op == Op::kNop) {
    replace(block, at, 1, {});
  } else if (here.op == Op::kInvert) {
    replace(block, at, 1, {here, here, here});
  } else if (here.op == Op::kXor) {
    replace(block, at, 1,
            {with(Op::kDup, 1),
             with(Op::kDup, 1),
             with(Op::kAnd),
             {Op::kPush, -Element(2)},
             with(Op::kMul),
             with(Op::kAdd),
             with(Op::kAdd)});
  } else {
    return false;
  }
  return true;
}

/// Instructions that do almost the same as the first `replaced` ones; none if no rule applies.
struct Temptation {
  std::size_t replaced = 0;
  Instructions by;
};
Temptation temptation(Random& random, const Instruction& here, Op next) {
  const Instruction zero = {Op::kPush, Element()};
  const Op op = here.op;
  if (op == Op::kEq) return {1, {with(Op::kPop, 2), zero}};
  if (op == Op::kAssert) return {1, {with(Op::kPop, 1)}};
  if (op == Op::kAssertVector) return {1, {with(Op::kPop, 5)}};
  if (op == Op::kLt || op == Op::kPow || op == Op::kDivMod) return {1, {with(Op::kSwap, 1), here}};
  if (op == Op::kSplit) return {1, {zero, with(Op::kSwap, 1)}};
  if (op == Op::kAnd) return {1, {with(random.one_in(2) ? Op::kMul : Op::kXor)}};
  if (op == Op::kXor) return {1, {with(Op::kAdd)}};
  if (op == Op::kInvert && next == Op::kInvert) return {2, {}};
  if (op == Op::kInvert && next == Op::kMul) return {2, {with(Op::kPop, 2), {Op::kPush, field::kOne}}};
  if (op == Op::kPush && (next == Op::kEq || (next == Op::kMul && here.argument.is_zero())))
    return {2, {with(Op::kPop, 1), zero}};
  if (op == Op::kDup && (next == Op::kAnd || next == Op::kPopCount)) return {2, {}};
  if (op == Op::kDup && next == Op::kXor) return {2, {with(Op::kPop, 1), zero}};
  return {};
}
bool tempt(Random& random, Instructions& block, std::size_t at) {
  const Temptation t = temptation(random, block[at], at + 1 < block.size() ? block[at + 1].op : Op::kHalt);
  if (t.replaced > 0) replace(block, at, t.replaced, t.by);
  return t.replaced > 0;
}

/// Exchanges two neighbouring stretches that each end in `pop`, as stores and loads do.
void exchange(Random& random, Instructions& block) {
  std::vector<std::ptrdiff_t> ends = {0};
  for (std::size_t i = 0; i < block.size(); ++i)
    if (block[i].op == Op::kPop) ends.push_back(static_cast<std::ptrdiff_t>(i) + 1);
  if (ends.size() < 3) return;
  const std::size_t k = random.below(ends.size() - 2);
  std::rotate(block.begin() + ends[k], block.begin() + ends[k + 1], block.begin() + ends[k + 2]);
}

/// Guesses the theme of a block.
Theme theme_of(const Instructions& block) {
  const auto has = [&](auto... ops) {
    return std::any_of(block.begin(), block.end(), [&](const Instruction& i) { return ((i.op == ops) || ...); });
  };
  const std::size_t length = block.size();
  if (length > 10 || has(Op::kHash, Op::kReadIo, Op::kWriteIo, Op::kDivine, Op::kXxMul, Op::kSpongeInit))
    return Theme::all;
  if (has(Op::kReadMem, Op::kWriteMem)) return Theme::ram;
  return has(Op::kAnd, Op::kXor, Op::kSplit) ? Theme::bits : Theme::conditions;
}

void change_carelessly(Random& random, Instructions& block) {
  const Theme theme = random.one_in(2) ? theme_of(block) : Theme::all;
  const std::size_t at = random.below(block.size());
  Instruction& here = block[at];
  const tasm::Argument argument = tasm::row(here.op).argument;
  switch (random.below(9)) {
    case 5: return exchange(random, block);
    case 6:
    case 7:
      for (std::size_t i = 0; i < block.size(); ++i)
        if (tempt(random, block, (at + i) % block.size())) return;
      return;
    case 0:
      if (block.size() > 1) block.erase(block.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1: return std::swap(here, block[random.below(block.size())]);
    case 2: here = any(random, theme); return;
    case 3:
      if (at + 1 < block.size()) std::swap(here, block[at + 1]);
      return;
    case 4: return insert(block, at, {any(random, theme)});
    default:
      if (argument == tasm::Argument::element) here.argument += random.one_in(2) ? field::kOne : field::kMinusOne;
      if (argument == tasm::Argument::count) here.argument = Element(1 + random.below(5));
      if (argument == tasm::Argument::index) here.argument = Element(random.below(16));
  }
}

}  // namespace

std::vector<Instruction> random_block(Random& random, std::size_t length_max) {
  Instructions block;
  const auto theme = static_cast<Theme>(random.below(6));  // numbers above the last theme mean all
  if (theme == Theme::bits || theme == Theme::ram || theme == Theme::conditions) {
    const std::size_t length = 1 + random.below(std::min<std::size_t>(length_max, 10));
    if (theme == Theme::bits && length > 2 && random.one_in(2)) block = {with(Op::kSplit)};
    while (block.size() < length) {
      if (theme == Theme::ram && !random.one_in(4)) {
        insert(block, block.size(), access(random));
      } else {
        block.push_back(of_theme(random, theme));
      }
    }
    return block;
  }
  const std::size_t length = 1 + random.below(length_max);
  while (block.size() < length) {
    if (random.one_in(3)) {
      insert(block, block.size(), idiom(random));
    } else {
      block.push_back(any(random));
    }
  }
  block.resize(length);
  return block;
}

std::vector<Instruction> changed(Random& random, std::span<const Instruction> block, Change change) {
  Instructions out(block.begin(), block.end());
  for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
    if (change == Change::careless && !random.one_in(3)) {
      change_carelessly(random, out);
    } else if (const std::size_t at = random.below(out.size()); random.one_in(2) || !rewrite(random, out, at)) {
      insert(out, at, nothing(random));
    }
    if (out.empty()) out.push_back(with(Op::kNop));
  }
  return out;
}

std::string text(std::span<const Instruction> block) {
  std::string out;
  for (const Instruction& i : block) out += (out.empty() ? "" : " ") + tasm::print(i);
  return out;
}

}  // namespace trident::tir::equiv
