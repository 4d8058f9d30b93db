// Oracle: a proposal must be smaller and end as the block does at another random point too, and on the machine.
#include "jit/tir/neural/propose.h"

#include <gtest/gtest.h>

#include "jit/tir/neural/sample_blocks.h"
#include "jit/tir/neural/shipped_weights.h"
#include "jit/tir/neural/warm_start.h"
#include "jit/tir/tasm/blocks.h"
#include "jit/tir/vm/machine.h"

namespace trident::tir::neural {
namespace {

using tasm::Op;

std::optional<std::vector<Element>> stack_after(const std::vector<Instruction>& block, std::uint64_t seed) {
  tensor::Generator random(seed);
  std::vector<Element> start;
  for (int i = 0; i < 48; ++i) start.emplace_back(random.next());
  tasm::Program program;
  program.instructions = block;
  program.instructions.push_back({Op::kHalt, {}});
  vm::Code code;
  CHECK(vm::load(program, code, vm::Hashing::none).ok());
  vm::Machine machine;
  if (machine.run(code, {.public_input = {}, .secret_input = {}, .secret_digests = {}, .ram = {}, .stack = start}) !=
      vm::Failure::none)
    return {};
  return std::vector<Element>(machine.stack().begin(), machine.stack().end());
}

/// Makes blocks with `push C add` between other arithmetic.
std::vector<Instruction> block_with_sums(tensor::Generator& random, std::size_t length) {
  constexpr Op kPlain[] = {Op::kAdd, Op::kMul, Op::kSplit, Op::kEq};
  std::vector<Instruction> block;
  while (block.size() < length) {
    if (random.below(2) == 0) {
      block.push_back({Op::kPush, Element(1000 + random.below(100000))});
      block.push_back({Op::kAdd, {}});
    } else {
      block.push_back({kPlain[random.below(std::size(kPlain))], {}});
      block.push_back({Op::kDup, Element(random.below(3))});
    }
  }
  return block;
}

std::vector<Instruction> with_addi(const std::vector<Instruction>& block) {
  std::vector<Instruction> out;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool sum = block[i].op == Op::kPush && i + 1 < block.size() && block[i + 1].op == Op::kAdd;
    out.push_back(sum ? Instruction{Op::kAddI, block[i].argument} : block[i]);
    if (sum) ++i;
  }
  return out;
}

// Counting changes nothing, and the counts add up.
TEST(Propose, EveryDraftIsCountedOnce) {
  tensor::Generator random(9);
  Network network(shipped_weights());
  std::size_t refused = 0, proposed = 0;
  for (int i = 0; i < 12; ++i) {
    const auto block = block_with_sums(random, i % 3 == 0 ? 40 : 12);
    ProposeCounts counts;
    const auto counted = propose(network, block, {.counts = &counts});
    EXPECT_EQ(counted, propose(network, block));
    const DecodeCounts& d = counts.decoded;
    EXPECT_EQ(d.ended, counts.not_smaller + counts.repeated + counts.beyond + counts.merged + counted.size());
    EXPECT_LE(d.ended + d.lost + d.repeated + d.too_long, d.looked_at);
    refused += d.ends_refused, proposed += counted.size();

    // Without AbstractState no draft is refused, lost or left out for being at the point of another.
    const auto original = Original::of(std::span(block).first(10));
    ASSERT_TRUE(original.ok());
    DecodeCounts free;
    const auto candidates = decode(network, *original, {.width = 4, .counts = &free});
    EXPECT_EQ(free.ended, candidates.size());
    EXPECT_EQ(free.lost + free.repeated + free.ends_refused + free.too_long, 0u);
  }
  EXPECT_GT(proposed, 0u);
  EXPECT_GT(refused, 0u);
}

TEST(Propose, ProposesSmallerBlocksThatEndAlike) {
  tensor::Generator random(5);
  std::vector<Pair> pairs;
  for (int i = 0; i < 1500; ++i) {
    const auto block = block_with_sums(random, 2 + 2 * random.below(6));
    pairs.push_back({block, with_addi(block)});
  }
  const auto taught = warm_start(pairs, initial_weights(1), {.steps = 250, .lessons_per_step = 16, .threads = 2});
  ASSERT_TRUE(taught.ok());
  Network network(taught->weights);
  int improved = 0;
  constexpr int kBlocks = 40;
  for (int i = 0; i < kBlocks; ++i) {
    const auto block = block_with_sums(random, i % 4 == 0 ? 50 : 10);
    const auto proposals = propose(network, block, {.width = 8});
    const bool possible = with_addi(block) != block;
    improved += !proposals.empty() || !possible ? 1 : 0;
    for (const auto& proposal : proposals) {
      EXPECT_LE(tasm::words(proposal), tasm::words(block));
      EXPECT_TRUE(tasm::words(proposal) < tasm::words(block) || proposal.size() < block.size());
      for (std::uint64_t seed = 0; seed < 3; ++seed) EXPECT_EQ(stack_after(proposal, seed), stack_after(block, seed));
    }
  }
  EXPECT_GE(improved, kBlocks * 3 / 4);
}

TEST(Propose, ShippedWeightsKnowTheCommonRewrites) {
  EXPECT_EQ(weights_in(file_of(shipped_weights())).value(), shipped_weights());
  Network network(shipped_weights());
  int found = 0;
  for (const char* text : {"push 3 add", "pop 1 pop 1", "swap 1 add mul", "dup 0 pop 1 hash", "read_io 1 read_io 1",
                           "push 0 add mul", "swap 2 swap 2 mul"}) {
    const auto block = tasm::assemble(ir::SourceText(text))->instructions;
    const auto proposals = propose(network, block);
    for (const auto& p : proposals) EXPECT_EQ(stack_after(p, 1), stack_after(block, 1)) << text;
    found += proposals.empty() ? 0 : 1;
  }
  EXPECT_GE(found, 5);
  EXPECT_EQ(network.saturated(), 0u);
}

TEST(Propose, HasNothingToSayOfWhatIsNoBlock) {
  Network network(initial_weights(1));
  EXPECT_TRUE(propose(network, std::vector<Instruction>{{Op::kSkiz, {}}}).empty());
  EXPECT_TRUE(propose(network, {}).empty());
}

TEST(Propose, EndsWithinABlockWhenItIsToldTo) {
  Network network(shipped_weights());
  tensor::Generator random(9);
  for (const std::size_t length : {12u, 200u}) {  // a piece, and windows over a long block
    const auto block = block_with_sums(random, length);
    std::size_t asked = 0;
    const std::size_t asked_to_the_end = [&] {
      propose(network, block, {.stop = [&] { return ++asked, false; }});
      return asked;
    }();
    EXPECT_GT(asked_to_the_end, 4u);
    asked = 0;
    propose(network, block, {.stop = [&] { return ++asked >= 3; }});
    EXPECT_LE(asked, 5u);
    EXPECT_TRUE(propose(network, block, {.stop = [] { return true; }}).empty());
  }
}

}  // namespace
}  // namespace trident::tir::neural
