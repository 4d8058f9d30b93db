// Blocks to test and measure with: of a text, and random ones with all instructions that may stand in a block,
// constants of every size.
#pragma once

#include <string>
#include <vector>

#include "jit/tir/tasm/program.h"
#include "runtime/base/check.h"
#include "runtime/tensor/generator.h"

namespace trident::tir::neural {

inline std::vector<tasm::Instruction> block_of(const std::string& text) {
  auto program = tasm::assemble(ir::SourceText(text));
  CHECK(program.ok());
  return program->instructions;
}

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
