// Oracles: what the machine's definition says of each pair, worked out by hand. That an answer "differs" comes with a
// state in which the machine shows it is checked for each.
#include "jit/tir/equiv/equiv.h"

#include <gtest/gtest.h>

namespace trident::tir::equiv {
namespace {

std::vector<Instruction> block(const std::string& text) {
  auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program.ok()) << text;
  return program.ok() ? program->instructions : std::vector<Instruction>();
}

Decision decided(const std::string& a, const std::string& b, std::size_t stack_min = 16) {
  const auto x = block(a), y = block(b);
  Options options;
  options.stack_min = stack_min;
  Decision decision = decide(x, y, options);
  if (decision.answer == Answer::differs) {
    EXPECT_NE(Pair(x, y).difference(decision.witness), "") << a << " / " << b;
    EXPECT_GE(decision.witness.stack.size(), stack_min);
  }
  if (decision.answer == Answer::equal) {
    EXPECT_LT(decision.error_bound, 1e-15) << a << " / " << b;
  }
  return decision;
}

void expect(Answer answer, std::initializer_list<std::pair<const char*, const char*>> pairs, std::size_t stack_min = 16) {
  for (const auto& [a, b] : pairs)
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      const Decision decision = decided(x, y, stack_min);
      EXPECT_EQ(static_cast<int>(decision.answer), static_cast<int>(answer))
          << x << " / " << y << ": " << decision.reason;
    }
}

TEST(Equiv, ArithmeticIsThatOfPolynomials) {
  expect(Answer::equal,
         {{"dup 1 dup 1 add place 2 push -1 mul add mul", "dup 0 mul swap 1 dup 0 mul swap 1 push -1 mul add"},
          {"push 3 mul push 5 mul", "push 15 mul"},
          {"dup 0 push -1 mul add push 1 add", "dup 0 pop 1 push 0 mul addi 1"},
          {"push 3 swap 1 pow", "dup 0 dup 0 mul mul"},
          {"xx_mul", "pick 5 pick 5 pick 5 xx_mul"},
          {"dup 0 invert mul", "invert pop 1 push 1"},
          {"invert invert", "dup 0 invert pop 1"},
          {"addi 1 invert invert", "addi 1 dup 0 invert pop 1"},
          {"x_invert x_invert", "dup 2 dup 2 dup 2 x_invert pop 3"},
          {"dup 1 dup 1 mul invert place 2 mul", "mul dup 0 invert swap 1"},
          {"push 2 swap 1 pow push 2 swap 1 pow", "push 4 swap 1 pow"},
          {"push 0 xb_mul", "push 0 mul pop 1 push 0 mul push 0 mul push 0 swap 1 pop 1 push 0 dup 0 swap 1"}});
  expect(Answer::differs, {{"dup 0 mul", "push 2 mul"},
                           {"dup 0 invert mul", "push 0 mul addi 1"},
                           {"xx_mul", "xx_add"},
                           {"push 3 swap 1 pow", "dup 0 mul"},
                           {"addi 1 invert", "dup 0 invert pop 1 addi 1 invert"}});
}

TEST(Equiv, ComparisonsAndBits) {
  expect(Answer::equal,
         {{"dup 1 dup 1 eq", "dup 0 dup 2 eq"},
          {"eq push 0 eq push 0 eq", "eq"},
          {"eq dup 0 mul", "eq"},
          {"push 5 push -1 mul add push 0 eq", "push 5 eq"},
          {"push 3 mul push 6 eq", "push 2 eq"},
          {"split swap 1 push 4294967296 mul add", "push 0 add"},
          {"split split", "split push 0 swap 1"},
          {"push 2 swap 1 div_mod pop 1", "dup 0 pop_count pop 1 dup 0 push 1 and push -1 mul add push 9223372034707292161 mul"},
          {"dup 1 dup 1 and push -2 mul place 2 add add", "dup 1 dup 1 lt pop 1 xor"},
          {"dup 0 and", "dup 0 pop_count pop 1"},
          {"split pop 1 dup 0 xor", "pop 1 push 0 swap 0 dup 0 pop 1"},
          {"push 4294967295 and", "dup 0 pop_count pop 1"},
          {"push 1 swap 1 lt", "dup 0 pop_count pop 1 push 0 eq push 0 eq push 0 eq pop 1 push 0 swap 0"},
          {"push 16 swap 1 div_mod", "push 16 swap 1 div_mod dup 0 pop_count pop 1"},
          {"push 255 push 170 xor", "push 85"},
          {"lt assert", "lt dup 0 assert pop 1"}}
             );
}

}  // namespace
}  // namespace trident::tir::equiv
