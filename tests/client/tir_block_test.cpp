// A block of Triton VM as a kernel of a client: submitted as the text that jit/tir/native makes of it, right at once
// and after it has been swapped for machine code. Oracle: the machine of jit/tir/vm, stack by stack.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "clients/c/trident.h"
#include "jit/tir/native/expression.h"
#include "jit/tir/tasm/program.h"
#include "jit/tir/vm/machine.h"

namespace trident {
namespace {

using field::Element;
namespace native = tir::native;
namespace tasm = tir::tasm;
namespace vm = tir::vm;

constexpr std::uint32_t kPatienceMs = 60'000;
constexpr std::size_t kStacks = 1003;  // with a tail at every vector length
constexpr const char* kBlock = "dup 2 mul split lt swap 1 dup 2 add push -3 mul dup 1 eq pick 2 push 10 swap 1 div_mod";

/// Words of cells, by cell; every stack has its own.
std::vector<std::vector<std::uint64_t>> words(const native::Translation& t) {
  std::vector<std::vector<std::uint64_t>> cells(std::max(t.reach, t.height), std::vector<std::uint64_t>(kStacks));
  std::uint64_t state = 1;
  for (auto& cell : cells)
    for (std::uint64_t& word : cell) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      word = Element(state % 3 == 0 ? state >> 60 : state).value();
    }
  return cells;
}

void expect_right(const trident_kernel* kernel, const native::Translation& t, const vm::Code& code) {
  const auto before = words(t);
  auto after = before;
  std::vector<std::uint64_t> failed(kStacks, 7);
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const std::uint32_t cell : t.reads) in.push_back(before[cell].data());
  for (const std::uint32_t cell : t.writes) out.push_back(after[cell].data());
  out.push_back(failed.data());
  trident_call(kernel, kStacks, in.data(), out.data(), nullptr);
  vm::Machine machine;
  std::size_t lives = 0;
  for (std::size_t i = 0; i < kStacks; ++i) {
    std::vector<Element> stack(t.size_min - std::min<std::size_t>(t.size_min, t.reach));
    for (std::size_t cell = 0; cell < t.reach; ++cell) stack.push_back(Element::canonical(before[cell][i]));
    vm::Inputs inputs;
    inputs.stack = stack;
    const bool ends_well = machine.run(code, inputs) == vm::Failure::none;
    ASSERT_EQ(failed[i], ends_well ? 0u : 1u) << "stack " << i;
    if (!ends_well) continue;
    ++lives;
    const auto expected = machine.stack();
    for (std::size_t cell = 0; cell < t.height; ++cell)
      ASSERT_EQ(expected[expected.size() - t.height + cell].value(), after[cell][i])
          << "stack " << i << " cell " << cell;
  }
  EXPECT_GT(lives, kStacks / 4);
  EXPECT_LT(lives, kStacks);
}

TEST(TirBlock, IsSwappedLikeAnyExpression) {
  auto program = tasm::assemble(ir::SourceText(kBlock));
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto t = native::translate(program->instructions);
  ASSERT_TRUE(t.ok()) << t.error().message;
  program->instructions.push_back({tasm::Op::kHalt, {}});
  vm::Code code;
  ASSERT_TRUE(vm::load(*program, code, vm::Hashing::none).ok());

  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_EMBEDDED;
  trident_ctx* ctx = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  trident_submit_options submit = TRIDENT_SUBMIT_OPTIONS_INIT;
  submit.policy = TRIDENT_EXACT;
  trident_kernel* kernel = nullptr;
  ASSERT_EQ(TRIDENT_OK, trident_submit(ctx, native::expression_of(*t).c_str(), &submit, &kernel))
      << trident_last_error();
  expect_right(kernel, *t, code);
  ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, 1, kPatienceMs)) << trident_last_error();
  trident_kernel_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(TRIDENT_OK, trident_info(kernel, &info));
  EXPECT_GE(info.tier, 1u);
  EXPECT_GE(info.swaps, 1u);
  expect_right(kernel, *t, code);
  ASSERT_EQ(TRIDENT_OK, trident_wait(kernel, 2, kPatienceMs)) << trident_last_error();
  expect_right(kernel, *t, code);
  trident_close_kernel(kernel);
  trident_close(ctx);
}

}  // namespace
}  // namespace trident
