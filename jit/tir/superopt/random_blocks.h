// Random straight-line blocks for tests, and their texts.
#pragma once

#include <random>
#include <span>
#include <string>
#include <vector>

#include "jit/tir/tasm/program.h"

namespace trident::tir::superopt {

/// Makes a block of 2 to 15 instructions, mostly moves and additions.
inline std::vector<tasm::Instruction> random_block(std::mt19937_64& random) {
  std::vector<tasm::Instruction> out;
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const std::size_t size = 2 + below(14);
  while (out.size() < size) {
    constexpr tasm::Op kOften[] = {tasm::Op::kDup,     tasm::Op::kSwap,    tasm::Op::kPush, tasm::Op::kPop,
                                   tasm::Op::kPick,    tasm::Op::kAdd,     tasm::Op::kMul,  tasm::Op::kAddI,
                                   tasm::Op::kReadMem, tasm::Op::kWriteMem};
    const auto op = below(3) != 0 ? kOften[below(std::size(kOften))] : static_cast<tasm::Op>(below(tasm::kOpsPerVm));
    const tasm::InstructionRow& row = tasm::row(op);
    if ((row.effects & tasm::kControl) != 0) continue;
    std::uint64_t argument = 0;
    if (row.argument == tasm::Argument::count) argument = 1 + below(3);
    if (row.argument == tasm::Argument::index) argument = below(5);
    if (row.argument == tasm::Argument::element) argument = below(4);
    out.push_back({op, tasm::Element(argument)});
  }
  return out;
}

/// Prints a block in one line, for messages.
inline std::string text_of(std::span<const tasm::Instruction> block) {
  std::string out;
  for (const tasm::Instruction& i : block) out += (out.empty() ? "" : " ") + tasm::print(i);
  return out;
}

}  // namespace trident::tir::superopt
