// Fuzz target: bytes as a program of TIR. Whatever parses and passes the checks must print to text that parses to the
// same program, be lowered to TASM that assembles again, and do on the machine, with and without peephole passes, what
// the interpreter of TIR says that it means.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "jit/tir/language/interpreter.h"
#include "jit/tir/lowering/lowering.h"
#include "jit/tir/vm/machine.h"
#include "runtime/base/check.h"

extern "C" {
extern const bool fuzz_is_text = true;
std::uint64_t fuzz_accepted = 0;
}
extern "C" const char* const fuzz_dictionary[] = {
#define X(Name, code, tier, text, ...) text " ",
#include "jit/tir/language/ops.def"
#undef X
    "1 ",
    "5 ",
    "16 ",
    "255 ",
    "-1 ",
    "4294967295 ",
    "18446744069414584320 ",
    "fn f { ",
    "call f ",
    "return } ",
    "else { ",
    "{ ",
    "asm 1 { push 3 } ",
    "asm -1 { pop 1 } ",
    "asm 0 { pick 3 place 2 } ",
    "reveal e 7 2 ",
    "seal e 7 2 ",
    "\n",
    nullptr};

namespace {

using namespace trident;
using field::Element;
using tir::language::Outcome;
using tir::lowering::PassSet;
namespace language = tir::language;
namespace lowering = tir::lowering;
namespace tasm = tir::tasm;
namespace vm = tir::vm;

constexpr std::uint64_t kOperationsMax = 2'000;

struct Given {
  std::vector<Element> stack, words;
  std::vector<field::Digest> digests;
  std::vector<std::pair<Element, Element>> ram;

  Given() {
    // Small numbers and large ones in turn: most operations want 32 bits, some want more.
    for (std::uint64_t i = 0; i < 24; ++i) stack.push_back(Element(i % 3 == 0 ? i * 0x9e37'79b9'7f4a : i));
    for (std::uint64_t i = 0; i < 20; ++i) words.push_back(Element(i % 4 == 3 ? i * i * 0x1234'5678'9abc : i));
    digests.assign(3, {words[1], words[2], words[3], words[7], words[5]});
    for (std::uint64_t i = 0; i < 8; ++i) ram.emplace_back(Element(i), Element(i * i));
  }
};

void check_text(const language::Program& program) {
  const std::string printed = language::print(program);
  const auto again = language::parse(ir::SourceText(printed));
  CHECK(again.ok());
  CHECK(language::same(program, *again));
  CHECK(language::print(*again) == printed);
}

/// Elements that are out of the registers' reach wait there, and a program must leave those words alone.
bool looks_at_spilled(const Outcome& outcome) {
  const std::uint64_t base = lowering::kSpillBase;
  return std::ranges::any_of(outcome.ram, [&](const auto& word) { return word.first >= base; });
}

void check_end(const Outcome& expected, const vm::Machine& machine) {
  const bool fails = expected.end == Outcome::End::failed;
  CHECK((machine.failure() != vm::Failure::none) == fails);
  if (fails) return;
  CHECK(machine.output() == expected.output);
  CHECK(std::ranges::equal(machine.stack(), expected.stack));
  CHECK(machine.sponge().has_value() == expected.sponge.has_value());
  for (std::size_t i = 0; expected.sponge && i < field::kTip5Width; ++i)
    CHECK(machine.sponge()->word(i) == expected.sponge->word(i));
  for (const auto& [address, word] : machine.ram()) {
    if (address.value() >= lowering::kSpillBase) continue;
    const auto found = expected.ram.find(address.value());
    CHECK((found == expected.ram.end() ? Element() : found->second) == word);
  }
}

void check_run(const language::Program& program) {
  static const Given given;
  static vm::Machine machine;
  const Outcome expected =
      language::interpret(program, {given.words, given.words, given.digests, given.stack, given.ram}, kOperationsMax);
  const bool comparable = expected.end != Outcome::End::out_of_budget && !looks_at_spilled(expected);
  for (const PassSet passes : {PassSet::none(), PassSet::all()}) {
    const tasm::Program lowered = lowering::lower(program, {.passes = passes});
    CHECK(lowered.offsets.size() == lowered.instructions.size());
    const std::string text = tasm::print(lowered);
    const auto assembled = tasm::assemble(ir::SourceText(text));
    CHECK(assembled.ok());
    CHECK(tasm::same(lowered, *assembled));
    vm::Code code;
    CHECK(vm::load(lowered, code, vm::Hashing::none).ok());
    if (!comparable) continue;
    machine.run(code, {given.words, given.words, given.digests, given.ram, given.stack});
    check_end(expected, machine);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto program = language::parse(ir::SourceText(text));
  if (!program) return 0;
  ++fuzz_accepted;
  check_text(*program);
  check_run(*program);
  return 0;
}
