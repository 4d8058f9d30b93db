// Oracle: the machine on the winner and the given program, from inputs that were not in the tournament; proposers
// that are known to be wrong.
#include "jit/tir/tournament/tournament.h"

#include <gtest/gtest.h>

#include "jit/tir/language/program.h"
#include "jit/tir/lowering/lowering.h"
#include "jit/tir/lowering/random_program.h"
#include "jit/tir/superopt/superopt.h"
#include "jit/tir/tournament/proven_peepholes.h"

namespace trident::tir::tournament {
namespace {

using tasm::Element;

tasm::Program assembled(const std::string& text) {
  auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program) << text;
  return std::move(program).value();
}

TEST(Tournament, TheWholeProgramGetsCheaper) {
  const auto program = assembled(
      "read_io 2 call f write_io 1 halt f: dup 1 dup 1 add dup 2 dup 2 add mul swap 2 pop 1 pop 1 push 1 call g return "
      "g: dup 0 push 0 eq skiz return push -1 add swap 1 push 3 add swap 1 recurse");
  const std::vector<Element> input = {Element(3), Element(4)};
  const vm::Inputs sample{input, {}, {}, {}, {}};
  const Proposer proposers[] = {superoptimiser()};
  const auto outcome = optimise(program, std::span(&sample, 1), proposers);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->after < outcome->before);
  EXPECT_LE(outcome->after.words + 10, outcome->before.words);
  EXPECT_GT(outcome->tallies[0].equal, 0u);
}

TEST(Tournament, WrongProposalsNeverWin) {
  const auto program = assembled("read_io 1 push 2 mul write_io 1 halt");
  const std::vector<Element> input = {Element(2)};
  const vm::Inputs sample{input, {}, {}, {}, {}};
  // Right for this sample, wrong for others.
  const Proposer wrong[] = {{"wrong", [](std::span<const tasm::Instruction>, const Stop&) {
                               return std::vector<Instructions>{
                                   assembled("read_io 1 pop 1 push 4 write_io 1").instructions,
                                   assembled("read_io 1 addi 2 write_io 1").instructions,
                                   {}};
                             }}};
  const auto outcome = optimise(program, std::span(&sample, 1), wrong);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(tasm::print(outcome->program), tasm::print(program));
  EXPECT_EQ(outcome->tallies[0].proposed, 3u);
  EXPECT_EQ(outcome->tallies[0].equal, 0u);
}

// A change that is right for the sample and shorter, but wrong elsewhere.
TEST(Tournament, WrongChangesOfSubroutinesArePutAside) {
  const auto program = assembled("read_io 1 skiz call f push 7 write_io 1 halt f: push 8 write_io 1 return");
  const shape::ChangeRow wrong[] = {
      {"drops the branch", "",
       [](const tasm::Program&) { return assembled("read_io 1 pop 1 push 7 write_io 1 halt"); }},
  };
  const std::vector<Element> input = {Element(0)};
  const vm::Inputs sample{input, {}, {}, {}, {}};
  Options options;
  options.changes = wrong;
  options.peepholes = false;
  const auto outcome = optimise(program, std::span(&sample, 1), {}, options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(tasm::print(outcome->program), tasm::print(program));
  EXPECT_EQ(outcome->heights_after, outcome->heights_before);
  ASSERT_EQ(outcome->put_aside.size(), 1u);
  EXPECT_EQ(outcome->put_aside[0], "drops the branch: the outputs differ");
  options.trials = 0;  // without the second check, which refused it
  EXPECT_NE(tasm::print(optimise(program, std::span(&sample, 1), {}, options)->program), tasm::print(program));
}

TEST(Tournament, WhatHasNoTextIsPutAside) {
  const auto program = assembled("nop push 7 write_io 1 halt");
  const shape::ChangeRow wrong[] = {{"names twice", "", [](const tasm::Program&) {
                                       tasm::Program out = assembled("f: push 7 write_io 1 halt");
                                       out.marks.push_back(out.marks[0]);
                                       return out;
                                     }}};
  const vm::Inputs sample;
  Options options;
  options.changes = wrong;
  options.peepholes = false;
  const auto outcome = optimise(program, std::span(&sample, 1), {}, options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(tasm::print(outcome->program), tasm::print(program));
  EXPECT_EQ(outcome->put_aside.size(), 1u);
}

// The passes are sound, so proofs refuse next to nothing; a short block is not cut.
TEST(ProvenPeepholes, AreThePeepholesWhereTheyCanBeProven) {
  ProvenPeepholes proven;
  std::size_t same = 0, shorter = 0;
  constexpr std::size_t kPrograms = 300;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    lowering::RandomProgram random(seed);
    const auto tir = language::parse(ir::SourceText(random.text()));
    ASSERT_TRUE(tir);
    const auto plain = lowering::lower(*tir, {.passes = lowering::PassSet::none()});
    const auto by_proof = proven.of(plain);
    same += tasm::same(by_proof, lowering::peephole(plain)) ? 1 : 0;
    shorter += by_proof.words() < plain.words() ? 1 : 0;
  }
  EXPECT_GT(same, kPrograms * 95 / 100);
  EXPECT_GT(shorter, kPrograms * 8 / 10);
  EXPECT_LT(proven.refused(), 15u);
  // Far longer than a piece: rewritings are missed only at borders, and the second round finds those.
  std::string text;
  for (int i = 0; i < 500; ++i) text += "push 1 pop 1 dup 0 swap 1 pop 1 ";
  EXPECT_EQ(tasm::print(proven.of(assembled(text + "halt"))), "    halt\n");
  const tasm::Program given = assembled("push 1 pop 1 halt");
  EXPECT_TRUE(tasm::same(ProvenPeepholes(std::chrono::milliseconds(0)).of(given), given));
  bool stopped = true;
  const auto stop = [&] { return stopped; };
  EXPECT_TRUE(tasm::same(ProvenPeepholes(std::chrono::hours(1), stop).of(given), given));
  stopped = false;
  EXPECT_EQ(tasm::print(ProvenPeepholes(std::chrono::hours(1), stop).of(given)), "    halt\n");
}

TEST(Tournament, AProgramThatFailsIsAnError) {
  const vm::Inputs sample;
  EXPECT_FALSE(optimise(assembled("read_io 1 halt"), std::span(&sample, 1), {}));
}

TEST(Tournament, WinnersDoTheSameOnOtherInputs) {
  std::size_t better = 0, ended = 0;
  superopt::Options narrow;
  narrow.width = 16;
  narrow.measures.resize(1);
  const Proposer proposers[] = {{"narrow", [&](std::span<const tasm::Instruction> block, const Stop&) {
                                   return superopt::propose(block, narrow);
                                 }}};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    lowering::RandomProgram random(seed);
    const auto tir = language::parse(ir::SourceText(random.text()));
    ASSERT_TRUE(tir);
    const auto program = lowering::lower(*tir);
    const auto stack = random.elements(40), input = random.elements(40), secret = random.elements(40);
    const auto digests = random.digests(8);
    const vm::Inputs sample{input, secret, digests, {}, stack};
    Options options;
    options.budget.cycles = 50'000;
    options.scores_max = 30;
    const auto outcome = optimise(program, std::span(&sample, 1), proposers, options);
    if (!outcome) continue;
    better += outcome->after < outcome->before ? 1 : 0;
    EXPECT_FALSE(outcome->before < outcome->after);
    vm::Code code_before, code_after;
    ASSERT_TRUE(vm::load(program, code_before));
    ASSERT_TRUE(vm::load(outcome->program, code_after));
    vm::Machine a, b;
    for (int other = 0; other < 10; ++other) {
      const auto new_stack = random.elements(20 + static_cast<std::size_t>(other)), new_input = random.elements(40);
      const vm::Inputs inputs{new_input, new_input, digests, {}, new_stack};
      vm::Budget budget;
      budget.cycles = 50'000;
      if (a.run(code_before, inputs, budget) == vm::Failure::kCycleLimit) continue;
      budget.cycles = 100'000;
      b.run(code_after, inputs, budget);
      ASSERT_EQ(a.failure() == vm::Failure::none, b.failure() == vm::Failure::none) << seed;
      if (a.failure() != vm::Failure::none) continue;
      ++ended;
      ASSERT_EQ(a.output(), b.output());
      ASSERT_TRUE(std::equal(a.stack().begin(), a.stack().end(), b.stack().begin(), b.stack().end()));
    }
  }
  EXPECT_GT(better, 15u);
  EXPECT_GT(ended, 50u);
}

}  // namespace
}  // namespace trident::tir::tournament
