// Oracle: programs taken apart and put together by hand.
#include "jit/tir/tasm/blocks.h"

#include <gtest/gtest.h>

namespace trident::tir::tasm {
namespace {

Program program_of(const std::string& text) {
  auto program = assemble(ir::SourceText(text));
  EXPECT_TRUE(program) << text;
  return std::move(program).value();
}
std::vector<Instruction> code(const std::string& text) {
  return program_of(text).instructions;
}

TEST(Blocks, EndAtControlFlowAndAtWhatIsCalled) {
  const Program program = program_of(
      "push 1 push 2 add skiz push 3 push 4 call a halt a: nop pop 1 b: dup 0 return c: recurse call b call c");
  //   0      1      2   3    4      5      6      7       8   9        10    11        12
  EXPECT_EQ(straight_blocks(program), (std::vector<Block>{{0, 3}, {5, 6}, {8, 10}, {10, 11}}));
  EXPECT_TRUE(straight_blocks(program_of("")).empty());
  EXPECT_EQ(straight_blocks(program_of("nop")), (std::vector<Block>{{0, 1}}));
  EXPECT_TRUE(straight_blocks(program_of("skiz nop")).empty());
  EXPECT_EQ(straight_blocks(program_of("skiz nop nop")), (std::vector<Block>{{2, 3}}));
}

TEST(Blocks, CallsGoWhereTheyWentAfterReplacements) {
  const Program program = program_of("push 1 push 2 add call a halt a: pop 1 pop 1 return");
  const auto blocks = straight_blocks(program);
  ASSERT_EQ(blocks.size(), 2u);
  const Replacement changed[] = {{blocks[0], code("push 3")}, {blocks[1], code("pop 2")}};
  EXPECT_EQ(print(with_blocks(program, changed)), print(program_of("push 3 call a halt a: pop 2 return")));
  const Replacement emptied[] = {{blocks[1], {}}};
  EXPECT_EQ(print(with_blocks(program, emptied)), print(program_of("push 1 push 2 add call a halt a: return")));
  EXPECT_EQ(print(with_blocks(program, {})), print(program));
}

TEST(Blocks, LabelsAndNumbersOfAssertionsStay) {
  const Program program = program_of(
      "call f halt f: break nop hint x = stack[0] assert error_id 7 nop assert error_id 8 return g: nop call g return");
  const auto blocks = straight_blocks(program);
  ASSERT_EQ(blocks.size(), 2u);
  const Replacement both[] = {{blocks[0], code("assert assert")}, {blocks[1], code("nop nop")}};
  EXPECT_EQ(
      print(with_blocks(program, both)),
      print(program_of("call f halt f: break assert error_id 7 assert error_id 8 return g: nop nop call g return")));
  const Replacement fewer[] = {{blocks[0], code("assert")}};
  EXPECT_EQ(print(with_blocks(program, fewer)),
            print(program_of("call f halt f: break assert return g: nop call g return")));
}

}  // namespace
}  // namespace trident::tir::tasm
