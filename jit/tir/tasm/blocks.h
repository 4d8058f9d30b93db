// The straight-line pieces of a program, and putting others in their places.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "jit/tir/tasm/program.h"

namespace trident::tir::tasm {

/// Instructions [begin, end) that run one after the other whenever the first does: no control flow among them, none but
/// the first is reached from elsewhere. In no block are the one behind `skiz`, which must stay one instruction, and an
/// assertion with a number: a run that fails tells its number, so that nothing may be moved past it.
struct Block {
  std::uint32_t begin = 0, end = 0;
  bool operator==(const Block&) const = default;
  [[nodiscard]] std::uint32_t size() const { return end - begin; }
};

/// All that are not empty, in order. Calls must go to where instructions begin, as assemble() and decode() make sure.
std::vector<Block> straight_blocks(const Program& program);

struct Replacement {
  Block block;
  std::vector<Instruction> instructions;
};

/// The program with other instructions in some of its straight_blocks(), by rising place; calls go where they went.
/// Labels and the numbers of assertions stay; hints and breakpoints inside of replaced blocks are dropped, since what
/// they speak of may be gone. An instruction that is new has the offset of the first one
/// that it stands for, as a walk along both finds it: good for messages and profiles.
Program with_blocks(const Program& program, std::span<const Replacement> replacements);

std::uint32_t words(std::span<const Instruction> instructions);

}  // namespace trident::tir::tasm
