// How a program ends on an input, for comparison: on the machine, from a stack that shows no digest.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jit/tir/vm/machine.h"

namespace trident::tir::build {

struct Ending {
  bool ended = false, out_of_cycles = false;
  std::string number;  ///< of the assertion that failed; empty if it has none, or something else failed
  std::vector<field::Element> output, stack;
  std::vector<std::pair<field::Element, field::Element>> ram;

  bool operator==(const Ending&) const = default;
};

inline tasm::Program assembled(const std::string& text) {
  auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program) << program.error().message << "\n" << text;
  return program ? std::move(program).value() : tasm::Program();
}

inline std::string number_of(const tasm::Program& program, const vm::Machine& machine) {
  const bool asserted =
      machine.failure() == vm::Failure::kAssertionFailed || machine.failure() == vm::Failure::kVectorAssertionFailed;
  for (const tasm::Mark& mark : program.marks)
    if (asserted && mark.kind == tasm::Mark::Kind::error_id && mark.instruction == machine.step() + 1) return mark.text;
  return "";
}

/// Runs the program. Of a run that fails only the error number is compared, not its state.
inline Ending ending_of(const tasm::Program& program, vm::Inputs inputs, std::uint64_t cycles = 100'000) {
  static const std::vector<field::Element> zeros(tasm::kRegisters);
  inputs.stack = zeros;
  vm::Code code;
  EXPECT_TRUE(vm::load(program, code, vm::Hashing::none));
  vm::Budget budget;
  budget.cycles = cycles;
  vm::Machine machine;
  machine.run(code, inputs, budget);
  Ending out{machine.failure() == vm::Failure::none, machine.failure() == vm::Failure::kCycleLimit, "", {}, {}, {}};
  if (out.ended)
    out.output = machine.output(), out.stack.assign(machine.stack().begin(), machine.stack().end()),
    out.ram = machine.ram();
  else
    out.number = number_of(program, machine);
  return out;
}

}  // namespace trident::tir::build
