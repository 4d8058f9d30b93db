// Makes a program ready to run: checks arguments, finds the targets of calls, and hashes the text.
#include <algorithm>

#include "jit/tir/vm/machine.h"

namespace trident::tir::vm {

using field::kTip5Rate;
using tasm::Op;

namespace {

constexpr std::uint64_t kHashRows = 6;
/// Target of a call that goes nowhere: never executed, because load() refuses it.
constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

Result<void> wrong_call(const tasm::Instruction& instruction, std::size_t index) {
  return make_error(ErrorCode::kInvalidArgument, "instruction %zu: '%s' goes to where no instruction begins", index,
                    tasm::print(instruction).c_str());
}

void hash_program(const tasm::Program& program, Code& code) {
  // Hashes the words as they are made: ten at a time, then a 1 and zeros.
  field::Tip5 sponge;
  field::Tip5Lookups lookups;
  std::size_t filled = 0;
  const auto absorb = [&](Element word) {
    sponge.set_word(filled++, word);
    if (filled < kTip5Rate) return;
    sponge.permute(lookups);
    code.cascade.insert(lookups);
    filled = 0;
  };
  for (const tasm::Instruction& instruction : program.instructions) {
    const tasm::InstructionRow& row = tasm::row(instruction.op);
    absorb(Element::canonical(row.opcode));
    if (row.words() == 2) absorb(instruction.argument);
  }
  absorb(field::kOne);
  while (filled != 0) absorb(field::kZero);
  code.digest = sponge.digest();
}

}  // namespace

Result<void> load(const tasm::Program& program, Code& code, Hashing hashing) {
  code.steps.clear();
  code.addresses.clear();
  code.cascade.clear();
  std::uint32_t address = 0;
  for (const tasm::Instruction& instruction : program.instructions) {
    const tasm::InstructionRow& row = tasm::row(instruction.op);
    if (!tasm::legal_argument(row.argument, instruction.argument))
      return make_error(ErrorCode::kInvalidArgument, "instruction %zu: '%s' has an argument out of range",
                        code.steps.size(), tasm::print(instruction).c_str());
    const std::uint64_t n = instruction.argument_of_amounts();
    const int change = row.stack_change(n);
    code.addresses.push_back(address);
    address += row.words();
    code.steps.push_back({instruction.op, static_cast<std::uint8_t>(change < 0 ? -change : change),
                          static_cast<std::uint8_t>(row.ram.of(n)), row.hash_rows,
                          std::uint32_t{tasm::kRegisters} + static_cast<std::uint32_t>(change < 0 ? -change : 0),
                          kNowhere, instruction.argument});
  }
  code.addresses.push_back(address);
  for (std::size_t i = 0; i < code.steps.size(); ++i) {
    if (code.steps[i].op != Op::kCall) continue;
    const std::uint64_t to = code.steps[i].argument.value();
    const auto found = std::lower_bound(code.addresses.begin(), code.addresses.end(), to);
    if (found == code.addresses.end() || *found != to) return wrong_call(program.instructions[i], i);
    code.steps[i].target = static_cast<std::uint32_t>(found - code.addresses.begin());
  }
  code.hashed = hashing == Hashing::whole_program;
  if (code.hashed)
    hash_program(program, code);
  else
    code.digest = {};
  return {};
}

Heights Code::text_rows() const {
  Heights h;
  h.of(Table::lookup) = kLookupRows;
  h.of(Table::cascade) = cascade.size();
  if (hashed) {
    const std::uint64_t pieces = words() / kTip5Rate + 1;
    h.of(Table::program) = pieces * kTip5Rate;
    h.of(Table::hash) = pieces * kHashRows;
  }
  return h;
}

}  // namespace trident::tir::vm
