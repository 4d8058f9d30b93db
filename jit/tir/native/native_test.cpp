// Oracle: the machine of jit/tir/vm, stack by stack: the same failures, the same elements where nothing fails. Runs at
// every instruction set that this machine has, in several shapes of the loop, and on kir's interpreter.
#include "jit/tir/native/native.h"

#include <gtest/gtest.h>

#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "jit/tir/equiv/random_block.h"
#include "jit/tir/native/expression.h"
#include "jit/tir/tasm/program.h"
#include "jit/tir/vm/machine.h"
#include "runtime/os/cpu.h"

namespace trident::tir::native {
namespace {

using equiv::Random;
using field::Element;
using tasm::Instruction;
using tasm::Op;
using Columns = std::vector<std::vector<std::uint64_t>>;

constexpr std::uint64_t kU32Max = 0xffff'ffff, kModulus = field::kModulus;
/// Numbers on both sides of each limit where arithmetic changes its path.
constexpr std::uint64_t kCorners[] = {0,
                                      1,
                                      2,
                                      3,
                                      31,
                                      32,
                                      63,
                                      64,
                                      0x8000'0000,
                                      kU32Max - 1,
                                      kU32Max,
                                      kU32Max + 1,
                                      kU32Max + 2,
                                      std::uint64_t{1} << 63,
                                      (std::uint64_t{1} << 63) - 1,
                                      (std::uint64_t{1} << 63) + 1,
                                      kModulus - kU32Max - 1,
                                      kModulus - kU32Max,
                                      kModulus / 2,
                                      kModulus - 2,
                                      kModulus - 1,
                                      0xffff'fffe'0000'0000,
                                      0xffff'fffe'0000'0001,
                                      0xffff'fffe'ffff'ffff};

std::vector<codegen::Isa> isas() {
  std::vector<codegen::Isa> out;
  if (os::cpu_features().avx2_fma) out.push_back(codegen::Isa::avx2);
  if (os::cpu_features().avx512) out.push_back(codegen::Isa::avx512);
  return out;
}

std::vector<Instruction> assembled(const std::string& text) {
  auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program.ok()) << program.error().message;
  return program->instructions;
}

std::string text_of(std::span<const Instruction> block) {
  std::string text;
  for (const Instruction& instruction : block) text += tasm::print(instruction) + " ";
  return text;
}

std::uint64_t word(Random& random) {
  switch (random.below(5)) {
    case 0: return kCorners[random.below(std::size(kCorners))];
    case 1: return random.below(40);
    case 2: return random.next() >> 32;
    case 3: return kModulus - 1 - random.below(40);
    default: return Element(random.next()).value();
  }
}

/// Runs the machine on one stack: returns its elements bottom first, none if it fails.
class Reference {
 public:
  explicit Reference(std::span<const Instruction> block) {
    tasm::Program program;
    program.instructions.assign(block.begin(), block.end());
    program.instructions.push_back({Op::kHalt, {}});
    EXPECT_TRUE(vm::load(program, code_, vm::Hashing::none).ok());
  }
  std::span<const Element> run(std::span<const Element> stack) {
    vm::Inputs inputs;
    inputs.stack = stack;
    if (machine_.run(code_, inputs) != vm::Failure::none) return {};
    return machine_.stack();
  }

 private:
  vm::Code code_;
  vm::Machine machine_;
};

/// Fills columns of the cells of `block` for `stacks` stacks. `fill` makes a word; with_small: some stacks have words
/// of one kind only, so that several u32 operands are fit at once.
Columns random_columns(const Translation& t, std::size_t stacks, Random& random) {
  Columns columns(std::max(t.reach, t.height), std::vector<std::uint64_t>(stacks));
  for (std::size_t i = 0; i < stacks; ++i) {
    const std::uint64_t kind = random.below(4), repeated = random.below(2);
    for (auto& column : columns) {
      if (kind == 0) column[i] = word(random);
      if (kind == 1) column[i] = random.next() >> 32;
      if (kind == 2) column[i] = random.below(20);
      if (kind == 3) column[i] = repeated;
    }
  }
  return columns;
}

struct Ran {
  Columns columns;
  std::vector<std::uint64_t> failed;
};

Ran run_native(const NativeBlock& native, Columns columns, std::size_t stacks) {
  Ran ran{std::move(columns), std::vector<std::uint64_t>(stacks, 77)};
  std::vector<std::uint64_t*> pointers;
  for (auto& column : ran.columns) pointers.push_back(column.data());
  native.run(stacks, pointers.data(), ran.failed.data());
  return ran;
}

Ran run_interpreted(const kir::Kernel& kernel, const Translation& t, Columns columns, std::size_t stacks) {
  Ran ran{std::move(columns), std::vector<std::uint64_t>(stacks, 77)};
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const std::uint32_t cell : t.reads) in.push_back(ran.columns[cell].data());
  for (const std::uint32_t cell : t.writes) out.push_back(ran.columns[cell].data());
  out.push_back(ran.failed.data());
  kir::interpret(kernel, stacks, in.data(), out.data(), nullptr);
  return ran;
}

/// Submits the block's text as a client does; none if it is larger than expressions may be.
std::optional<kir::Kernel> submitted(const Translation& t, bool simplify) {
  const auto expr = expr::parse_infix(expression_of(t));
  if (!expr.ok() && expr.error().code == ErrorCode::kLimitExceeded) return std::nullopt;
  EXPECT_TRUE(expr.ok()) << expr.error().message;
  if (!expr.ok()) return std::nullopt;
  auto kernel = expr::lower(*expr, {.policy = {expr::PolicyKind::exact}, .simplify = simplify});
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ(kernel->inputs.size(), t.reads.size());
  EXPECT_EQ(kernel->outputs.size(), t.writes.size() + 1);
  return *std::move(kernel);
}

/// Runs the machine on `before`. Entries of failed are 0 or 1; cells of failing stacks are left unchanged.
Ran expected_of(std::span<const Instruction> block, const Translation& t, const Columns& before) {
  Reference reference(block);
  const std::size_t stacks = before.empty() ? 8 : before[0].size();
  Ran ran{before, std::vector<std::uint64_t>(stacks)};
  std::vector<Element> stack;
  const std::size_t below = std::max<std::size_t>(t.size_min, t.reach) - t.reach;
  for (std::size_t i = 0; i < stacks; ++i) {
    stack.clear();
    for (std::size_t k = 0; k < below; ++k) stack.emplace_back(1000 + k);
    for (std::size_t c = 0; c < t.reach; ++c) stack.push_back(Element::canonical(before[c][i]));
    const std::span<const Element> after = reference.run(stack);
    ran.failed[i] = after.empty() ? 1 : 0;
    if (after.empty()) continue;
    EXPECT_EQ(after.size(), below + t.height);
    for (std::size_t k = 0; k < below; ++k) EXPECT_EQ(after[k].value(), 1000 + k);
    for (std::size_t c = 0; c < t.height; ++c) ran.columns[c][i] = after[below + c].value();
  }
  return ran;
}

void expect_alike(const Ran& expected, const Ran& actual, std::uint32_t height, const std::string& what) {
  ASSERT_EQ(expected.failed, actual.failed) << what;
  for (std::size_t c = 0; c < height; ++c)
    for (std::size_t i = 0; i < expected.failed.size(); ++i)
      if (expected.failed[i] == 0) {
        ASSERT_EQ(expected.columns[c][i], actual.columns[c][i]) << what << ", cell " << c << ", stack " << i;
      }
}

/// Compares on `before` and returns how many stacks did not fail.
std::size_t compare(std::span<const Instruction> block, const Columns& before, std::uint64_t seed) {
  const auto t = translate(block);
  EXPECT_TRUE(t.ok()) << t.error().message;
  if (!t.ok()) return 0;
  const Ran expected = expected_of(block, *t, before);
  const std::size_t stacks = expected.failed.size();
  expect_alike(expected, run_interpreted(t->kernel, *t, before, stacks), t->height, "kir: " + text_of(block));
  const auto unsigned_too = translate(block, Target::avx512);
  EXPECT_TRUE(unsigned_too.ok());
  expect_alike(expected, run_interpreted(unsigned_too->kernel, *t, before, stacks), t->height,
               "kir, unsigned: " + text_of(block));
  if (const auto kernel = submitted(*t, seed % 2 == 0))
    expect_alike(expected, run_interpreted(*kernel, *t, before, stacks), t->height, "text: " + text_of(block));
  const codegen::Variant variants[] = {
      {.vectors = 1, .schedule = false}, {.vectors = 2}, {.vectors = 1, .vector_bits = 256}};
  for (const codegen::Isa isa : isas())
    for (const codegen::Variant& variant : {variant_of(isa), variants[seed % 3]}) {
      const auto native = NativeBlock::compile(block, isa, variant);
      EXPECT_TRUE(native.ok()) << native.error().message;
      expect_alike(expected, run_native(*native, before, stacks), t->height,
                   std::string(name_of(isa)) + ": " + text_of(block));
    }
  return static_cast<std::size_t>(std::ranges::count(expected.failed, std::uint64_t{0}));
}

std::size_t compare_at_random(std::span<const Instruction> block, std::size_t stacks, std::uint64_t seed) {
  const auto t = translate(block);
  EXPECT_TRUE(t.ok()) << t.error().message;
  Random random(seed);
  return compare(block, random_columns(*t, stacks, random), seed);
}

/// Fills the two topmost cells with all pairs of corners, and the cells below with random words.
Columns corner_columns(const Translation& t) {
  Random random(5);
  constexpr std::size_t n = std::size(kCorners);
  Columns columns(std::max(t.reach, t.height), std::vector<std::uint64_t>(n * n));
  for (std::size_t i = 0; i < n * n; ++i) {
    for (auto& column : columns) column[i] = word(random);
    if (t.reach > 0) columns[t.reach - 1][i] = kCorners[i % n];
    if (t.reach > 1) columns[t.reach - 2][i] = kCorners[i / n];
  }
  return columns;
}

TEST(Native, EveryInstruction) {
  std::size_t count = 0;
  for (std::size_t o = 0; o < tasm::kOpCount; ++o) {
    const auto op = static_cast<Op>(o);
    if (!is_supported(op)) continue;
    ++count;
    std::vector<std::uint64_t> arguments = {0};
    if (tasm::row(op).argument == tasm::Argument::count) arguments = {1, 2, 5};
    if (tasm::row(op).argument == tasm::Argument::index) arguments = {0, 1, 2, 15};
    if (tasm::row(op).argument == tasm::Argument::element) arguments = {0, 1, kU32Max, kU32Max + 1, kModulus - 1};
    for (const std::uint64_t argument : arguments) {
      const Instruction block[] = {{op, Element(argument)}};
      const auto t = translate(block);
      ASSERT_TRUE(t.ok()) << t.error().message;
      const std::size_t alive = compare(block, corner_columns(*t), argument) + compare_at_random(block, 67, 3);
      EXPECT_GT(alive, 0u) << text_of(block);
    }
  }
  EXPECT_EQ(count, 26u);
}

// Operands that are constants or known to be small take other paths than arbitrary words.
TEST(Native, ConstantsAndSmallOperands) {
  const char* const kTexts[] = {"push 3 mul",
                                "push -1 mul",
                                "push 1 mul",
                                "push 0 mul",
                                "push 4294967295 mul",
                                "push 4294967296 mul",
                                "push -4294967295 mul",
                                "push 5 push -7 mul add",
                                "split mul",
                                "split add",
                                "split lt",
                                "split and",
                                "split xor pop_count",
                                "split pick 2 mul",
                                "push 0 pow",
                                "push 2 pow",
                                "push 7 pow",
                                "push 10 push 3 pow mul",
                                "push 5 swap 1 pow",
                                "push 31 swap 1 pow add",
                                "split push 2 pow mul",
                                "push 31 and push 2 pow mul",
                                "push 255 and push 2 pow mul",
                                "push 10 swap 1 div_mod",
                                "push 16 swap 1 div_mod",
                                "push 1 swap 1 div_mod",
                                "push 0 swap 1 div_mod",
                                "split div_mod",
                                "push 1000 div_mod",
                                "split log_2_floor",
                                "push 7 lt",
                                "push -7 lt",
                                "push 255 and push 15 xor",
                                "dup 0 mul",
                                "dup 0 eq assert",
                                "push -1 mul add",
                                "dup 1 push -1 mul add push 0 eq",
                                "push 5 push 6 lt",
                                "push 0 assert",
                                "push 1 assert",
                                "push 9 invert mul",
                                "push 4294967295 and push 4294967295 and mul",
                                "addi 7 addi -7",
                                "addi -1",
                                "push 1 push 2 push 3 xx_mul",
                                "push 3 push 0 push 0 x_invert pop 2",
                                "push 6 xb_mul",
                                "split push 2 pow swap 1 div_mod pop 1",
                                "swap 1 swap 1",
                                "pick 3 place 3",
                                "swap 3 swap 2 swap 1",
                                "pop 5 dup 0",
                                "nop",
                                ""};
  for (const char* const text : kTexts) {
    const auto block = assembled(text);
    const auto t = translate(block);
    ASSERT_TRUE(t.ok()) << t.error().message;
    compare(block, corner_columns(*t), 1);
    compare_at_random(block, 130, 2);
  }
}

TEST(Native, RandomBlocks) {
  std::size_t alive = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    std::vector<Instruction> block;
    for (const Instruction& instruction : equiv::random_block(random, 24)) {
      // Operations that are chains of thousands of ops have tests of their own.
      if (!is_supported(instruction.op)) continue;
      if ((instruction.op == Op::kInvert || instruction.op == Op::kXInvert || instruction.op == Op::kPow) &&
          seed % 10 != 0)
        continue;
      block.push_back(instruction);
    }
    alive += compare_at_random(block, 64 + seed % 9, seed);
    all += 64 + seed % 9;
  }
  EXPECT_GT(alive, all / 4);
}

// Blocks cut at their inversions: failures before, at and after an inversion, in each order; stacks that are highest
// between two of them; cells under the cut; words of failed stacks that would spoil the common product.
TEST(Native, Inversions) {
  const char* const kTexts[] = {"invert",
                                "invert invert",
                                "x_invert",
                                "x_invert x_invert",
                                "dup 0 invert mul",
                                "invert swap 1 invert swap 2 invert add add",
                                "x_invert pop 1 invert swap 1 x_invert",
                                "dup 1 dup 1 dup 1 invert place 2 x_invert pop 5 pop 1",
                                "swap 1 split lt invert",
                                "dup 0 push 0 eq push 0 eq assert invert",
                                "invert dup 0 split lt dup 1 push 1 eq assert",
                                "push 9 invert mul invert",
                                "push 0 invert",
                                "invert push 0 invert",
                                "dup 1 dup 1 div_mod invert swap 1 invert",
                                "push 0 push 0 x_invert",
                                "dup 1 push -1 mul add invert",
                                "dup 3 dup 3 dup 3 xx_mul x_invert dup 0 dup 2 xor invert",
                                "and invert pop_count"};
  for (const char* const text : kTexts) {
    const auto block = assembled(text);
    const auto t = translate(block);
    ASSERT_TRUE(t.ok()) << t.error().message;
    compare(block, corner_columns(*t), 1);
    compare_at_random(block, 130, 2);
  }
  // More stacks than go through the stages together.
  const auto block = assembled("dup 1 invert mul swap 1 dup 2 x_invert");
  for (const std::size_t stacks : {15, 16, 17, 1023, 1024, 1025, 2500})
    EXPECT_GT(compare_at_random(block, stacks, stacks), 0u);
}

// A cut takes arrays of its own: with too many the block stays whole.
TEST(Native, InversionsUnderTooManyCells) {
  std::string text;
  for (int i = 0; i < 70; ++i) text += "push " + std::to_string(i) + " swap 1 ";
  text += "invert ";
  for (int i = 0; i < 70; ++i) text += "add ";
  const auto block = assembled(text);
  EXPECT_EQ(translate_stages(block, Target::any).error().code, ErrorCode::kLimitExceeded);
  compare_at_random(block, 100, 1);
}

// Numbers of stacks around the vector's width; words beyond the last stack are not touched.
TEST(Native, AnyNumberOfStacks) {
  for (const char* const text :
       {"dup 2 mul add swap 1 split lt dup 1 addi 3 mul", "dup 2 mul invert swap 1 invert dup 0 x_invert"})
    for (const codegen::Isa isa : isas()) {
      const auto block = assembled(text);
      const auto t = translate(block);
      ASSERT_TRUE(t.ok());
      const auto native = NativeBlock::compile(block, isa);
      ASSERT_TRUE(native.ok());
      for (std::size_t stacks = 1; stacks <= 20; ++stacks) {
        Random random(stacks);
        Columns columns = random_columns(*t, 24, random);
        Columns cut = columns;
        for (auto& column : cut) column.resize(stacks);
        const Ran ran = run_native(*native, columns, stacks);
        expect_alike(expected_of(block, *t, cut),
                     {[&] {
                        Columns head = ran.columns;
                        for (auto& column : head) column.resize(stacks);
                        return head;
                      }(),
                      ran.failed},
                     t->height, std::to_string(stacks));
        for (std::size_t c = 0; c < columns.size(); ++c)
          for (std::size_t i = stacks; i < 24; ++i) ASSERT_EQ(ran.columns[c][i], columns[c][i]);
      }
    }
}

TEST(Native, StacksThatAreTooShallow) {
  for (const char* const text :
       {"pop 1", "dup 0 pop 5 pop 1", "push 1 push 2 add", "add add mul", "push 1 assert", "nop"}) {
    const auto block = assembled(text);
    const auto t = translate(block);
    ASSERT_TRUE(t.ok());
    Reference reference(block);
    const std::vector<Element> enough(t->size_min, field::kOne);
    EXPECT_FALSE(reference.run(enough).empty()) << text;
    if (t->size_min > tasm::kRegisters) {
      EXPECT_TRUE(reference.run(std::span(enough).subspan(1)).empty()) << text;
    }
  }
}

TEST(Native, WhatIsNotSupported) {
  for (std::size_t o = 0; o < tasm::kOpCount; ++o) {
    const auto op = static_cast<Op>(o);
    if (is_supported(op)) continue;
    const Instruction block[] = {{Op::kPush, field::kOne}, {op, field::kOne}};
    const auto t = translate(block);
    ASSERT_FALSE(t.ok());
    EXPECT_EQ(t.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(t.error().message.find("'" + std::string(tasm::row(op).text) + "'"), std::string::npos);
  }
  const Instruction wrong[] = {{Op::kDup, Element(16)}};
  EXPECT_EQ(translate(wrong).error().code, ErrorCode::kInvalidArgument);
  std::vector<Instruction> deep;
  for (int i = 0; i < 80; ++i) deep.push_back({Op::kAdd, {}});
  EXPECT_EQ(translate(deep).error().code, ErrorCode::kLimitExceeded);
}

}  // namespace
}  // namespace trident::tir::native
