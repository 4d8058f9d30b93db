// Oracle: the machine on the block and on its proposals, from random states; blocks whose shortest form was
// worked out by hand.
#include "jit/tir/superopt/superopt.h"

#include <gtest/gtest.h>

#include <random>

#include "jit/tir/equiv/equiv.h"
#include "jit/tir/superopt/random_blocks.h"
#include "jit/tir/superopt/random_ordering.h"
#include "jit/tir/tasm/blocks.h"
#include "jit/tir/vm/machine.h"

namespace trident::tir::superopt {
namespace {

std::vector<Instruction> piece(const std::string& text) {
  const auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program) << text;
  return program->instructions;
}
std::uint32_t best_words(const std::string& text) {
  const auto block = piece(text);
  const auto found = propose(block);
  return found.empty() ? tasm::words(block) : std::min(tasm::words(block), tasm::words(found[0]));
}

TEST(Superopt, FindsShortestForms) {
  const std::pair<const char*, std::uint32_t> cases[] = {
      {"push 0 add", 0},
      {"pick 2 pick 2 pick 2", 0},
      {"dup 1 mul swap 1 dup 2 pop 1 pop 1", 1},
      {"push 5 push 6 add write_io 1", 4},
      {"push 7 push 5 write_mem 1 pop 1 push 8 push 6 write_mem 1 pop 1", 10},
      {"dup 0 push 9 write_mem 1 pop 1 push 9 read_mem 1 pop 1", 10},
      {"push 100 read_mem 1 pop 1 push 101 read_mem 1 pop 1 add", 7},
      {"dup 1 dup 1 add dup 2 dup 2 add mul swap 2 pop 2", 4},
      {"dup 0 split swap 1 pop 1 swap 1 split swap 1 pop 1 add", 8},
      {"swap 1 pop 1 swap 1 pop 1", 4},
  };
  for (const auto& [text, words] : cases) EXPECT_LE(best_words(text), words) << text;
}

TEST(Superopt, WhatHasEffectsOrCanFailStays) {
  for (const char* text : {"read_io 1", "write_io 1", "divine 1", "sponge_init", "assert", "invert", "lt", "dup 0 xor",
                           "push 5 push 6 write_mem 1 pop 1", "merkle_step", "sponge_squeeze", "pop 1"}) {
    for (const auto& found : propose(piece(text))) {
      bool kept = false;
      for (const Instruction& i : found) kept |= i.op == piece(text).back().op || i.op == piece(text)[0].op;
      EXPECT_TRUE(kept) << text << " became " << text_of(found);
    }
  }
}

TEST(Superopt, WhatIsProposedGetsAsLowAsTheBlock) {
  // These fail with 16 elements on the stack, and succeed with some more: so must their replacements.
  std::size_t proposed = 0;
  for (const char* text : {"addi 0 pick 2 pop 1 dup 4", "push 3 dup 4 pop 2 swap 4 pop 3 push 2", "pop 2 push 1 push 1",
                           "pop 1 dup 3", "pop 3 push 2 push 0 add dup 0 push 0 add"}) {
    const auto block = piece(text);
    for (const auto& found : propose(block)) {
      ++proposed;
      EXPECT_EQ(equiv::Answer::equal, equiv::decide(block, found).answer) << text << " became " << text_of(found);
    }
  }
  EXPECT_GE(proposed, 3u);
}

struct Tried {
  std::size_t proposed = 0, succeeded = 0;
};

/// Runs random blocks and their proposals.
void try_proposals(const nn::AccumulatorWeights* network, int rounds, std::uint64_t seed, Tried& tried) {
  std::mt19937_64 random(seed);
  auto& [proposed, succeeded] = tried;
  vm::Machine before, after;
  Options options;
  options.width = 40;
  options.network = network;
  for (int round = 0; round < rounds; ++round) {
    const auto block = random_block(random);
    for (const auto& found : propose(block, options)) {
      ++proposed;
      tasm::Program a, b;
      a.instructions = block, b.instructions = found;
      a.instructions.push_back({tasm::Op::kHalt, {}}), b.instructions.push_back({tasm::Op::kHalt, {}});
      vm::Code code_a, code_b;
      ASSERT_TRUE(vm::load(a, code_a, vm::Hashing::none));
      ASSERT_TRUE(vm::load(b, code_b, vm::Hashing::none));
      for (int sample = 0; sample < 12; ++sample) {
        std::vector<Element> stack, input;
        for (std::size_t k = 0; k < 60; ++k)
          stack.emplace_back(random() % 3 == 0 ? random() : random() % 3 == 0 ? random() >> 32 : random() % 4);
        for (std::size_t k = 0; k < 20; ++k) input.emplace_back(random());
        const std::vector<field::Digest> digests(20);
        std::vector<std::pair<Element, Element>> ram;
        for (std::uint64_t k = 0; k < 20; ++k) ram.emplace_back(Element(k) - Element(8), Element(random()));
        const vm::Inputs inputs{input, input, digests, ram, stack};
        before.run(code_a, inputs), after.run(code_b, inputs);
        const std::string both = text_of(block) + "\nbecomes\n" + text_of(found);
        ASSERT_EQ(before.failure() == vm::Failure::none, after.failure() == vm::Failure::none)
            << both << before.failure_text() << after.failure_text();
        if (before.failure() != vm::Failure::none) continue;
        ++succeeded;
        ASSERT_TRUE(
            std::equal(before.stack().begin(), before.stack().end(), after.stack().begin(), after.stack().end()))
            << both;
        ASSERT_EQ(before.output(), after.output()) << both;
        for (const auto& [address, word] : before.ram())
          for (const auto& [other, found_word] : after.ram())
            ASSERT_TRUE(address != other || word == found_word) << both;
      }
    }
  }
}

TEST(Superopt, ProposalsEndAsTheirBlocks) {
  Tried tried;
  try_proposals(nullptr, 400, 20261124, tried);
  try_proposals(&shipped_ordering(), 400, 20261125, tried);
  EXPECT_GT(tried.proposed, 400u);
  EXPECT_GT(tried.succeeded, 2'000u);
}

TEST(Superopt, ProposalsEndAsTheirBlocksWhateverOrdersThem) {
  const auto network = nn::AccumulatorWeights::make(random_weights(3));
  ASSERT_TRUE(network.ok());
  Tried tried;
  try_proposals(&*network, 200, 7, tried);
  EXPECT_GT(tried.proposed, 30u);
  EXPECT_GT(tried.succeeded, 200u);
}

}  // namespace
}  // namespace trident::tir::superopt
