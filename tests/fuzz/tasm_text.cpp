// Fuzz target: bytes as a program of Triton VM. Whatever assembles must print to text that assembles to the same
// program, encode to words that decode to the same instructions, and run within its budget, twice alike; its heights
// hang together with the state that it left.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "jit/tir/tasm/program.h"
#include "jit/tir/vm/machine.h"
#include "runtime/base/check.h"

extern "C" {
extern const bool fuzz_is_text = true;
std::uint64_t fuzz_accepted = 0;
}
extern "C" const char* const fuzz_dictionary[] = {
#define X(Name, text, ...) text " ",
#include "jit/tir/tasm/instructions.def"
#undef X
    "1 ",
    "5 ",
    "15 ",
    "-1 ",
    "4294967295 ",
    "18446744069414584320 ",
    "f",
    "f: ",
    "call f ",
    "break ",
    "hint a: T<u> = stack[0..3] ",
    "error_id 7 ",
    "//",
    "/*",
    "*/",
    "\n",
    nullptr};

namespace {

using namespace trident;
using field::Element;
using tir::vm::Machine;
using tir::vm::Table;
namespace tasm = tir::tasm;
namespace vm = tir::vm;

constexpr vm::Budget kBudget{20'000, 500, 300, 200, 200, 300};

void check_text(const tasm::Program& program) {
  const std::string printed = tasm::print(program);
  const auto again = tasm::assemble(ir::SourceText(printed));
  CHECK(again.ok());
  CHECK(tasm::same(program, *again));
  const auto decoded = tasm::decode(tasm::encode(program));
  CHECK(decoded.ok());
  CHECK(decoded->instructions == program.instructions);
}

void check_run(const tasm::Program& program) {
  static Machine machine;  // keeps what earlier inputs left, which must not matter
  std::vector<Element> input;
  for (std::uint64_t i = 0; i < 20; ++i) input.push_back(Element(i * i * i * 0x9e37'79b9 + i));
  const std::vector<field::Digest> digests(3, {input[1], input[2], input[3], input[4], input[5]});
  const std::vector<std::pair<Element, Element>> ram = {{input[0], input[7]}, {input[1], input[9]}};
  const vm::Inputs inputs{input, input, digests, ram, {}};
  vm::Code code;
  CHECK(vm::load(program, code).ok());
  const vm::Failure failure = machine.run(code, inputs, kBudget);
  Machine fresh;
  CHECK(fresh.run(code, inputs, kBudget) == failure);
  CHECK(fresh.heights() == machine.heights());
  CHECK(std::ranges::equal(fresh.stack(), machine.stack()));
  CHECK(fresh.ram() == machine.ram());
  CHECK(fresh.output() == machine.output());

  const vm::Heights heights = machine.heights();
  CHECK(heights.of(Table::processor) <= kBudget.cycles);
  CHECK(heights.of(Table::program) > program.words());
  CHECK(heights.of(Table::cascade) >= 4);  // the program's hash looks up something
  CHECK(heights.of(Table::cascade) <= 65536);
  CHECK(heights.of(Table::u32) <= 33 * machine.u32_entries());
  CHECK(heights.of(Table::u32) >= machine.u32_entries());
  CHECK(heights.padded() >= heights.of(heights.tallest()));
  CHECK(machine.stack().size() <= kBudget.stack_elements + 10);
  CHECK(machine.output().size() <= kBudget.output_words);
  if (failure == vm::Failure::none) CHECK(heights.of(Table::op_stack) + tasm::kRegisters >= machine.stack().size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto program = tasm::assemble(ir::SourceText(text));
  if (!program) return 0;
  ++fuzz_accepted;
  check_text(*program);
  check_run(*program);
  return 0;
}
