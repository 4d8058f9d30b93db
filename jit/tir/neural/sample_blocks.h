// Makes random blocks to test and measure with: all instructions that may stand in a block, constants of every size.
#pragma once

#include <vector>

#include "jit/tir/tasm/instruction.h"
#include "runtime/tensor/generator.h"

namespace trident::tir::neural {

inline std::vector<tasm::Instruction> sample_block(tensor::Generator& random, std::size_t length) {
  std::vector<tasm::Instruction> block;
  while (block.size() < length) {
    const auto op = static_cast<tasm::Op>(random.below(tasm::kOpsPerVm));
    const tasm::InstructionRow& row = tasm::row(op);
    if (row.effects & tasm::kControl) continue;
    std::uint64_t argument = 0;
    if (row.argument == tasm::Argument::count) argument = 1 + random.below(tasm::kCountMax);
    if (row.argument == tasm::Argument::index) argument = random.below(tasm::kIndexMax + 1);
    if (row.argument == tasm::Argument::element) argument = random.next() >> random.below(64);
    block.push_back({op, tasm::Element(argument)});
  }
  return block;
}

}  // namespace trident::tir::neural
