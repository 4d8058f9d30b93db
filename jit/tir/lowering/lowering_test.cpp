// Oracle: the interpreter of TIR, which shares nothing with the machine, against the machine on the lowered program:
// the same end, output, stack and RAM on random programs. TRIDENT_TIR_PROGRAMS sets their number.
#include "jit/tir/lowering/lowering.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "jit/tir/language/interpreter.h"
#include "jit/tir/lowering/random_program.h"
#include "jit/tir/vm/machine.h"

namespace trident::tir::lowering {
namespace {

using field::Element;
using language::Outcome;

language::Program program_of(const std::string& text) {
  auto program = language::parse(ir::SourceText(text));
  EXPECT_TRUE(program) << (program ? "" : program.error().message);
  return program ? std::move(program).value() : language::Program();
}
std::string lowered(const std::string& text, PassSet passes) {
  std::string out = tasm::print(lower(program_of(text), {.passes = passes}));
  std::replace(out.begin(), out.end(), '\n', ' ');
  std::string words;
  for (const char c : out)
    if (c != ' ' || (!words.empty() && words.back() != ' ')) words += c;
  while (!words.empty() && words.back() == ' ') words.pop_back();
  return words;
}

TEST(Lowering, OfBranchesLoopsAndFunctions) {
  EXPECT_EQ(lowered("push 1 if { push 2 } else { push 3 } write_io 1 halt", PassSet::none()),
            "push 1 push 1 swap 1 skiz call then__1 skiz call else__2 write_io 1 halt "
            "then__1: pop 1 push 2 push 0 return else__2: push 3 return");
}

TEST(Lowering, GivesInstructionsThePlacesOfTheirOperations) {
  const std::string text = "push 1\npush 2 sub\nhalt";
  const auto program = lower(program_of(text), {.passes = PassSet::none()});
  EXPECT_EQ(program.offsets, (std::vector<std::uint32_t>{0, 7, 14, 14, 14, 18}));
}

struct Case {
  language::Program program;
  std::vector<Element> stack, input, secret;
  std::vector<field::Digest> digests;
};

/// Describes a difference; empty if both do the same.
std::string difference(const Case& c, const tasm::Program& lowered, bool compare_ram) {
  constexpr std::uint64_t kBudget = 20'000;
  const Outcome expected = language::interpret(c.program, {c.input, c.secret, c.digests, c.stack}, kBudget);
  if (expected.end == Outcome::End::out_of_budget) return "";
  vm::Code code;
  if (const auto loaded = vm::load(lowered, code, vm::Hashing::none); !loaded) return loaded.error().message;
  vm::Machine machine;
  machine.run(code, {c.input, c.secret, c.digests, {}, c.stack});
  const bool failed = machine.failure() != vm::Failure::none;
  if (failed != (expected.end == Outcome::End::failed))
    return failed ? "the machine fails at step " + std::to_string(machine.step()) + ": " + machine.failure_text()
                  : "the machine does not fail";
  if (failed) return "";
  if (machine.output() != expected.output) return "output";
  if (!std::equal(machine.stack().begin(), machine.stack().end(), expected.stack.begin(), expected.stack.end()))
    return "stack";
  for (const auto& [address, word] : machine.ram()) {
    if (!compare_ram || address.value() >= kSpillBase) continue;
    const auto found = expected.ram.find(address.value());
    if ((found == expected.ram.end() ? Element() : found->second) != word) return "RAM";
  }
  if (machine.sponge().has_value() != expected.sponge.has_value()) return "sponge";
  for (std::size_t i = 0; expected.sponge && i < field::kTip5Width; ++i)
    if (machine.sponge()->word(i) != expected.sponge->word(i)) return "sponge";
  return "";
}

std::size_t programs() {
  const char* text = std::getenv("TRIDENT_TIR_PROGRAMS");
  return text == nullptr ? 3'000 : std::strtoul(text, nullptr, 10);
}

TEST(Lowering, RandomProgramsDoOnTheMachineWhatTheyMean) {
  std::size_t ended = 0, deep = 0;
  for (std::size_t seed = 0; seed < programs(); ++seed) {
    RandomProgram random(seed);
    Case c;
    const std::string text = random.text();
    c.program = program_of(text);
    c.stack = random.elements(16 + seed % 24);
    c.input = random.elements(40), c.secret = random.elements(40), c.digests = random.digests(8);
    const Outcome outcome = language::interpret(c.program, {c.input, c.secret, c.digests, c.stack}, 20'000);
    ended += outcome.end == Outcome::End::halted ? 1 : 0;
    deep += text.find("dup 2") != std::string::npos ? 1 : 0;
    for (const bool passes : {false, true}) {
      const auto lowered = lower(c.program, {.passes = passes ? PassSet::all() : PassSet::none()});
      ASSERT_EQ(difference(c, lowered, true), "")
          << "seed " << seed << (passes ? " with passes\n" : "\n") << text << "\n"
          << tasm::print(lowered);
    }
  }
  // Programs that fail early show little.
  EXPECT_GT(ended, programs() / 3);
  EXPECT_GT(deep, programs() / 50);
}

TEST(Lowering, WhatWaitsInRamIsNotInTheProgramsWay) {
  const auto base_of = [](const std::string& text) { return spill_base(program_of(text)).value(); };
  constexpr std::uint64_t kStep = std::uint64_t{1} << 32;
  EXPECT_EQ(base_of("push 5 pop 1 halt"), kSpillBase);
  EXPECT_EQ(base_of("push 1073741824 pop 1 halt"), kSpillBase + kStep);
  EXPECT_EQ(base_of("push 1072693249 pop 1 halt"), kSpillBase + kStep);  // 2^20 - 1 below kSpillBase
  EXPECT_EQ(base_of("push 1074790399 pop 1 halt"), kSpillBase + kStep);
  EXPECT_EQ(base_of("push 1072693248 push 1074790400 push -1 pop 3 halt"), kSpillBase);
  EXPECT_EQ(base_of("push 1 if { push 5368709120 pop 1 } asm 0 { addi 1073741830 } halt"), kSpillBase + 2 * kStep);

  Case c;
  std::string text = "push 99 push 1073741824 write_mem 1 pop 1 ";
  for (int i = 1; i <= 20; ++i) text += "push " + std::to_string(i) + " ";
  c.program = program_of(text + "dup 18 write_io 1 push 1073741824 read_mem 1 pop 1 write_io 1 halt");
  c.stack.resize(16);
  const auto lowered = lower(c.program);
  EXPECT_EQ(difference(c, lowered, false), "");
  EXPECT_NE(tasm::print(lowered).find("push 5368709120"), std::string::npos) << "nothing waits in RAM";
}

// --- passes ---

std::vector<tasm::Instruction> piece(const std::string& text) {
  const auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program) << text;
  return program->instructions;
}
std::string after(const std::string& text, PassSet passes) {
  std::string out;
  for (const tasm::Instruction& i : peephole(piece(text), passes)) out += (out.empty() ? "" : " ") + tasm::print(i);
  return out;
}

struct Shown {
  Pass pass;
  const char *before, *after;
};
constexpr Shown kShown[] = {
    {Pass::nops, "nop swap 0 pick 0 place 0 addi 0 push 1 mul dup 1", "dup 1"},
    {Pass::hints, "divine 2 divine 2 divine 3", "divine 5 divine 2"},
    {Pass::pops, "pop 1 pop 1 pop 5", "pop 5 pop 2"},
    {Pass::batches, "read_io 1 read_io 1 write_io 2 write_io 1 read_mem 1 read_mem 2 write_mem 2 write_mem 2",
     "read_io 2 write_io 3 read_mem 3 write_mem 4"},
    {Pass::forwards, "dup 3 push 9 write_mem 1 pop 1 push 9 read_mem 1 pop 1", "dup 3 push 9 write_mem 1 pop 1 dup 3"},
    {Pass::forwards, "dup 3 push 9 write_mem 1 pop 1 push 8 read_mem 1 pop 1",
     "dup 3 push 9 write_mem 1 pop 1 push 8 read_mem 1 pop 1"},
    {Pass::stores, "push 7 push 5 write_mem 1 pop 1 push 8 push 6 write_mem 1 pop 1",
     "push 8 push 7 push 5 write_mem 2 pop 1"},
    {Pass::stores, "push 7 push 5 write_mem 1 pop 1 push 8 push 7 write_mem 1 pop 1",
     "push 7 push 5 write_mem 1 pop 1 push 8 push 7 write_mem 1 pop 1"},
    {Pass::copies, "dup 4 pop 1 push 3 pop 2 add pop 1 split pop 2 swap 2 pop 3 dup 0 swap 1 pop 1",
     "pop 1 pop 2 pop 1 pop 3"},
    {Pass::copies, "invert pop 1 lt pop 1 swap 2 pop 2 split pop 1", "invert pop 1 lt pop 1 swap 2 pop 2 split pop 1"},
    {Pass::swaps, "swap 4 swap 4 pick 3 place 3 place 2 pick 2 swap 1 swap 2", "swap 1 swap 2"},
    {Pass::chains, "dup 1 dup 1 swap 2 pop 1 swap 2 pop 1 dup 0 swap 1 pop 1", ""},
    {Pass::epilogues, "swap 1 pop 1 swap 1 pop 1 swap 1 pop 1", "swap 3 pop 3"},
    {Pass::epilogues, "swap 2 pop 1 swap 2 pop 1 swap 2 pop 1", "swap 2 pop 1 swap 2 pop 1 swap 2 pop 1"},
    {Pass::epilogues, "swap 3 pop 1 swap 2 pop 1 swap 1 pop 1", "swap 3 pop 1 swap 2 pop 1 swap 1 pop 1"},
    {Pass::additions, "push 5 add addi 6", "addi 11"},
    {Pass::constants, "push 2 push 3 mul addi 4 push 18446744069414584320 mul push 18446744069414584320 mul",
     "push 10"},
    {Pass::commutes, "swap 1 add pick 1 mul place 1 xor swap 1 lt", "add mul xor swap 1 lt"},
    {Pass::orders, "push 1 push 2 swap 1 dup 0 swap 1 swap 1 pick 1", "push 2 push 1 dup 0"},
};

TEST(Peephole, EveryPassDoesWhatItsRowSays) {
  bool seen[kPassCount] = {};
  for (const Shown& shown : kShown) {
    EXPECT_EQ(after(shown.before, PassSet::only(shown.pass)), shown.after) << name_of(shown.pass);
    seen[static_cast<std::size_t>(shown.pass)] = true;
    EXPECT_EQ(pass_named(name_of(shown.pass)), shown.pass);
  }
  for (const bool pass : seen) EXPECT_TRUE(pass);
}

/// Makes random pieces full of patterns that the passes look for.
std::vector<tasm::Instruction> random_piece(std::mt19937_64& random) {
  std::vector<tasm::Instruction> out;
  const auto below = [&](std::uint64_t n) { return random() % n; };
  while (out.size() < 12) {
    if (below(3) == 0) {
      const auto shown = piece(kShown[below(std::size(kShown))].before);
      const std::size_t from = below(shown.size());
      out.insert(out.end(), shown.begin() + static_cast<std::ptrdiff_t>(from), shown.end());
      continue;
    }
    const auto op = static_cast<tasm::Op>(below(tasm::kOpsPerVm));
    const tasm::InstructionRow& row = tasm::row(op);
    if ((row.effects & tasm::kControl) != 0) continue;
    std::uint64_t argument = 0;
    if (row.argument == tasm::Argument::count) argument = 1 + below(tasm::kCountMax);
    if (row.argument == tasm::Argument::index) argument = below(4);
    if (row.argument == tasm::Argument::element) argument = below(12);
    out.push_back({op, Element(argument)});
  }
  return out;
}

TEST(Peephole, ShorterPiecesEndAsLongerOnes) {
  std::mt19937_64 random(20261124);
  std::size_t shorter = 0, succeeded = 0;
  vm::Machine before, after;
  for (int i = 0; i < 20'000; ++i) {
    auto longer = random_piece(random);
    tasm::Program a, b;
    a.instructions = longer;
    b.instructions = peephole(longer);
    shorter += a.instructions.size() > b.instructions.size() ? 1 : 0;
    a.instructions.push_back({tasm::Op::kHalt, {}}), b.instructions.push_back({tasm::Op::kHalt, {}});
    ASSERT_LE(b.words(), a.words());
    vm::Code code_a, code_b;
    ASSERT_TRUE(vm::load(a, code_a, vm::Hashing::none));
    ASSERT_TRUE(vm::load(b, code_b, vm::Hashing::none));
    for (const std::size_t height : {16, 17, 18, 20, 40}) {
      std::vector<Element> stack, input;
      for (std::size_t k = 0; k < height; ++k) stack.emplace_back(random() % 3 == 0 ? random() : random() % 4);
      for (std::size_t k = 0; k < 20; ++k) input.emplace_back(random());
      const std::vector<field::Digest> digests(3);
      const vm::Inputs inputs{input, input, digests, {}, stack};
      before.run(code_a, inputs), after.run(code_b, inputs);
      ASSERT_EQ(before.failure() == vm::Failure::none, after.failure() == vm::Failure::none)
          << tasm::print(a) << "\nbecomes\n"
          << tasm::print(b) << height << before.failure_text() << after.failure_text();
      if (before.failure() != vm::Failure::none) continue;
      ++succeeded;
      ASSERT_TRUE(std::equal(before.stack().begin(), before.stack().end(), after.stack().begin(), after.stack().end()))
          << tasm::print(a) << "\nbecomes\n"
          << tasm::print(b);
      ASSERT_EQ(before.output(), after.output()) << tasm::print(a) << "\nbecomes\n" << tasm::print(b);
      ASSERT_EQ(before.ram(), after.ram()) << tasm::print(a) << "\nbecomes\n" << tasm::print(b);
    }
  }
  EXPECT_GT(shorter, 8'000u);
  EXPECT_GT(succeeded, 10'000u);
}

TEST(Peephole, LongPiecesTakeTimeInProportion) {
  // Passes whose time grows with the square would take minutes here.
  constexpr std::size_t kPairs = 400'000;
  std::vector<tasm::Instruction> pairs, pushes(2 * kPairs, {tasm::Op::kPush, Element(7)});
  for (std::size_t i = 0; i < kPairs; ++i)
    pairs.push_back({tasm::Op::kPush, Element(i)}), pairs.push_back({tasm::Op::kPop, Element(1)});
  EXPECT_TRUE(peephole(pairs).empty());
  EXPECT_EQ(peephole(pushes), pushes);
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "asm 0 { nop }\n";
  EXPECT_EQ(lower(program_of(text + "halt")).instructions.size(), 1u);
}

}  // namespace
}  // namespace trident::tir::lowering
