// Finds the straight-line pieces of a program, and replaces them.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "jit/tir/tasm/program.h"

namespace trident::tir::tasm {

/// Instructions [begin, end) that run one after the other whenever the first does: none is control flow, and only
/// the first is reached from elsewhere. No block contains the instruction behind `skiz`, which must stay one, or an
/// assertion with a number: a failing run reports its number, so that nothing may be moved past it.
struct Block {
  std::uint32_t begin = 0, end = 0;
  bool operator==(const Block&) const = default;
  [[nodiscard]] std::uint32_t size() const { return end - begin; }
};

/// Returns all blocks that are not empty, in order. Calls must go to the start of instructions, as assemble() ensures.
std::vector<Block> straight_blocks(const Program& program);

struct Replacement {
  Block block;
  std::vector<Instruction> instructions;
};

/// Replaces some of its straight_blocks(), given by rising place; calls keep their targets.
/// Labels and the numbers of assertions stay; hints and breakpoints inside of replaced blocks are dropped, since their
/// instructions may be gone. A new instruction has the offset of the first one that it replaces,
/// as an alignment of both finds it: good for messages and profiles.
Program with_blocks(const Program& program, std::span<const Replacement> replacements);

std::uint32_t words(std::span<const Instruction> instructions);

}  // namespace trident::tir::tasm
