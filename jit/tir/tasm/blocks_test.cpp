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
      "call f halt f: break nop hint x = stack[0] nop assert error_id 7 nop nop assert_vector error_id 8 return g: nop "
      "assert call g return");
  const auto blocks = straight_blocks(program);
  EXPECT_EQ(blocks, (std::vector<Block>{{2, 4}, {5, 7}, {9, 11}}));
  const Replacement all[] = {{blocks[0], code("swap 1")}, {blocks[1], {}}, {blocks[2], code("assert nop")}};
  EXPECT_EQ(print(with_blocks(program, all)),
            print(program_of("call f halt f: break swap 1 assert error_id 7 assert_vector error_id 8 return g: assert "
                             "nop call g return")));
  const Replacement last[] = {{blocks[1], code("swap 2")}};
  EXPECT_EQ(print(with_blocks(program, last)),
            print(program_of("call f halt f: break nop hint x = stack[0] nop assert error_id 7 swap 2 assert_vector "
                             "error_id 8 return g: nop assert call g return")));
}

TEST(Blocks, WhatIsNewHasThePlaceOfWhatItStandsFor) {
  const std::string text = "read_io 1 push 1 add dup 0 mul swap 1 pop 1 swap 1 pop 1 invert halt";
  const auto places_of = [&](const std::string& instead) {
    const Program program = program_of(text);
    const Replacement changed[] = {{straight_blocks(program)[0], code(instead)}};
    std::vector<std::string> out;
    for (const std::uint32_t offset : with_blocks(program, changed).offsets)
      out.push_back(text.substr(offset, text.find(' ', offset) - offset));
    return out;
  };
  using Places = std::vector<std::string>;
  EXPECT_EQ(places_of("read_io 1 addi 1 dup 0 mul swap 2 pop 2 invert"),
            (Places{"read_io", "push", "dup", "mul", "swap", "swap", "invert", "halt"}));
  EXPECT_EQ(places_of("read_io 1 invert"), (Places{"read_io", "invert", "halt"}));
  EXPECT_EQ(places_of("read_io 1 nop push 1 add dup 0 mul swap 1 pop 1 swap 1 pop 1 invert nop nop"),
            (Places{"read_io", "push", "push", "add", "dup", "mul", "swap", "pop", "swap", "pop", "invert", "invert",
                    "invert", "halt"}));
  EXPECT_EQ(places_of(""), (Places{"halt"}));
}

}  // namespace
}  // namespace trident::tir::tasm
