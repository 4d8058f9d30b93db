// Oracles: the answer by the machine's definition for each pair, worked out by hand. Each "differs" must come with a
// state in which the machine shows the difference.
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
    EXPECT_FALSE(prove(x, y, options).equal) << a << " / " << b;  // the normal forms alone must not say equal either
    EXPECT_NE(Pair(x, y).difference(decision.witness), "") << a << " / " << b;
    EXPECT_GE(decision.witness.stack.size(), stack_min);
  }
  if (decision.answer == Answer::equal) {
    EXPECT_LT(decision.error_bound, 1e-15) << a << " / " << b;
  }
  return decision;
}

void expect_blocks(Answer answer, std::initializer_list<std::pair<const char*, const char*>> pairs,
                   std::size_t stack_min = 16) {
  for (const auto& [a, b] : pairs)
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      const Decision decision = decided(x, y, stack_min);
      EXPECT_EQ(static_cast<int>(decision.answer), static_cast<int>(answer))
          << x << " / " << y << ": " << decision.reason;
    }
}

constexpr std::size_t kDeep = 40;  // deep enough that the stack's floor does not matter

TEST(Equiv, ArithmeticIsThatOfPolynomials) {
  expect_blocks(Answer::equal,
                {{"dup 1 dup 1 add place 2 push -1 mul add mul", "dup 0 mul swap 1 dup 0 mul swap 1 push -1 mul add"},
                 {"push 3 mul push 5 mul", "push 15 mul"},
                 {"push 3 swap 1 pow", "push 3 pick 1 pow"},
                 {"push 3 place 1 pow", "dup 0 dup 0 mul mul"},
                 {"push 20 place 1 pow", "dup 0 mul dup 0 mul dup 0 dup 0 mul dup 0 mul mul"},
                 {"addi 7 push 20 place 1 pow", "addi 7 dup 0 mul dup 0 mul dup 0 dup 0 mul dup 0 mul mul"},
                 {"xx_mul", "pick 5 pick 5 pick 5 xx_mul"},
                 {"xx_add", "pick 5 pick 5 pick 5 xx_add"},
                 {"dup 0 invert mul", "invert pop 1 push 1"},
                 {"invert invert", "dup 0 invert pop 1"},
                 {"addi 1 invert invert", "addi 1 dup 0 invert pop 1"},
                 {"x_invert x_invert", "dup 2 dup 2 dup 2 x_invert pop 3"},
                 {"dup 2 dup 2 dup 2 x_invert xx_mul", "x_invert pop 3 push 0 push 0 push 1"},
                 {"dup 1 dup 1 mul invert mul", "invert pop 1 dup 0 invert"},
                 {"push 0 xb_mul", "pop 3 push 0 push 0 push 0"},
                 {"push 0 invert", "push 3 assert"}},
                kDeep);
  expect_blocks(Answer::differs,
                {{"dup 0 mul", "push 2 mul"},
                 {"dup 0 invert mul", "push 0 mul addi 1"},
                 {"x_invert x_invert", "nop"},  // where all three words are 0
                 {"xx_mul", "xx_add"},
                 {"push 3 place 1 pow", "dup 0 mul"},
                 {"addi 1 invert", "dup 0 invert pop 1 addi 1 invert"},
                 {"push 20 place 1 pow", "dup 0 mul dup 0 mul dup 0 dup 0 mul dup 0 mul mul addi 1"},
                 {"push 0 invert", "push 1 assert"}},
                kDeep);
}

TEST(Equiv, ComparisonsAndBits) {
  expect_blocks(
      Answer::equal,
      {{"dup 1 dup 1 eq", "dup 0 dup 2 eq"},
       {"eq push 0 eq push 0 eq", "eq"},
       {"eq dup 0 mul", "eq"},
       {"push 5 push -1 mul add push 0 eq", "push 5 eq"},
       {"push 3 mul push 6 eq", "push 2 eq"},
       {"split swap 1 push 4294967296 mul add", "push 0 add"},
       {"split split", "split push 0 swap 1"},
       {"split lt", "split dup 1 pop_count pop 1 lt"},
       {"push 8 swap 1 div_mod swap 1 pop 1", "push 7 and"},
       {"dup 1 dup 1 and push -2 mul add add", "xor"},
       {"dup 0 and", "dup 0 pop_count pop 1"},
       {"split pop 1 dup 0 xor", "split pop 2 push 0"},
       {"push 4294967295 and", "dup 0 pop_count pop 1"},
       {"push 1 swap 1 lt", "dup 0 pop_count pop 1 push 0 eq"},
       {"push 0 lt", "dup 0 pop_count pop 1 push 0 eq push 0 eq"},
       {"push 16 swap 1 div_mod", "push 16 swap 1 div_mod dup 0 pop_count pop 1"},
       {"dup 1 dup 1 div_mod pop 1 pick 2 mul swap 1 pop 1", "dup 1 dup 1 div_mod pop 1 place 2 pop 1 mul"},
       {"dup 1 dup 1 div_mod swap 1 pick 3 mul add swap 1 pop 1", "dup 1 dup 1 div_mod pop 2 swap 1 pop 1"},
       {"push 255 push 170 xor", "push 85"},
       {"xor xor", "pick 2 xor xor"},
       {"and and", "pick 2 and and"},
       {"xor xor xor", "pick 3 xor pick 2 xor xor"},
       {"dup 1 xor xor", "dup 0 pop_count pop 1 swap 1 pop_count pop 1"},
       {"place 2 xor and", "dup 0 pick 3 and place 2 and xor"},
       {"xor push 255 and", "push 255 and swap 1 push 255 and xor"},
       {"push 255 and push 15 and", "push 15 and"},
       {"dup 0 push 255 and xor push 255 and", "dup 0 pop_count pop 2 push 0"},
       {"dup 2 dup 2 xor dup 2 dup 2 xor and", "dup 2 dup 2 xor dup 2 dup 2 xor and dup 0 pop_count pop 1"},
       {"push 7 push 2 pow pop_count", "push 1"},
       {"lt assert", "lt dup 0 assert pop 1"},
       {"push 2 swap 1 div_mod pop 1 push 2 swap 1 div_mod pop 1", "push 4 swap 1 div_mod pop 1"},
       {"push 2 swap 1 div_mod pop 1 push 2 swap 1 div_mod pop 1 push 2 swap 1 div_mod pop 1",
        "push 8 swap 1 div_mod pop 1"},
       {"push 16 swap 1 div_mod pop 1 push 8 swap 1 div_mod", "push 128 swap 1 div_mod push 16 swap 1 div_mod pop 1"},
       {"push 4 swap 1 div_mod pop 1 push 3 and", "push 15 and push 4 swap 1 div_mod pop 1"},
       {"push 4 swap 1 div_mod pop 1 push 6 and", "push 24 and push 4 swap 1 div_mod pop 1"},
       {"push 65536 swap 1 div_mod pop 1 push 65535 and", "push 65536 swap 1 div_mod pop 1"},
       {"push 1073741824 swap 1 div_mod pop 1 push 4 swap 1 div_mod pop 1", "dup 0 pop_count pop 2 push 0"},
       {"dup 1 dup 1 lt place 2 swap 1 lt mul", "dup 1 dup 1 lt pop 3 push 0"},
       {"dup 1 dup 1 lt place 2 eq mul", "dup 1 dup 1 lt pop 3 push 0"},
       {"dup 0 push 15 and push -1 mul add", "push 4294967280 and"},
       {"push 16 swap 1 div_mod pop 1 push 16 mul", "push 4294967280 and"},
       {"push 16 swap 1 div_mod swap 1 pop 1", "push 15 and"},
       {"dup 0 push 16 swap 1 div_mod pop 1 push -16 mul add", "push 15 and"},
       {"dup 0 push 12 and swap 1 push 3 and add", "push 15 and"},
       {"dup 0 push 240 and swap 1 push 15 and xor", "push 255 and"},
       {"dup 0 push 240 and swap 1 push 15 and and", "push 0 and"},
       {"push 240 and and", "and push 240 and"},
       {"push 240 and xor push 240 and", "xor push 240 and"},
       {"push 3855 and push 255 and", "push 15 and"},
       {"push 3855 and swap 1 push 3855 and xor", "xor push 3855 and"},
       {"push 252645135 and push 4278190080 and", "push 251658240 and"},
       {"push 255 and push 4294967280 and", "push 240 and"},
       {"lt dup 0 pow", "lt pop 1 push 1"},
       {"log_2_floor dup 0 log_2_floor pop 1", "log_2_floor dup 0 invert pop 1"}},
      kDeep);
  expect_blocks(Answer::differs,
                {{"lt", "swap 1 lt"},
                 {"push 2 swap 1 div_mod pop 1 push 2 swap 1 div_mod pop 1", "push 8 swap 1 div_mod pop 1"},
                 {"push 2 swap 1 div_mod pop 1 push 3 swap 1 div_mod pop 1", "push 5 swap 1 div_mod pop 1"},
                 {"push 4 swap 1 div_mod pop 1 push 3 and", "push 7 and push 4 swap 1 div_mod pop 1"},
                 {"push 9223372034707292161 mul push 3 and", "push 2 swap 1 div_mod pop 1 push 3 and"},
                 {"dup 1 dup 1 lt place 2 lt mul", "dup 1 dup 1 lt pop 3 push 0"},
                 {"dup 1 dup 1 lt place 2 swap 1 lt mul", "pop 2 push 0"},
                 {"dup 0 push 15 and push -1 mul add", "push 4294967281 and"},
                 {"dup 0 push 15 and push -1 mul add", "push 240 and"},
                 {"push 240 and", "push 256 swap 1 div_mod swap 1 pop 1"},
                 {"push 240 and xor", "xor push 240 and"},
                 {"push 2 xor push 10 and", "push 10 and"},
                 {"push 5 xor push 4 swap 1 div_mod pop 1", "push 4 swap 1 div_mod pop 1"},
                 {"push 5 xor push 5 xor", ""},
                 {"dup 0 push 1 and push 1 eq assert push 9 xor push 2 and",
                  "dup 0 push 1 and push 1 eq assert push 2 and push 2 add"},
                 {"dup 0 push 240 and swap 1 push 31 and xor", "push 255 and"},
                 {"dup 0 push 240 and swap 1 push 31 and add", "push 255 and"},
                 {"xor xor", "xor and"},
                 {"dup 1 xor xor", "pop 1"},
                 {"xor push 255 and", "push 255 and xor"},
                 {"add push 255 and", "push 255 and swap 1 push 255 and add"},
                 {"push 2 mul and", "and push 2 mul"},
                 {"and", "mul"},
                 {"dup 1 dup 1 and push -1 mul add add", "xor"},
                 {"split", "split swap 1"},
                 {"split pop 1 dup 0 xor", "dup 0 xor"},
                 {"dup 0 and", ""},
                 {"dup 0 pop_count pop 1", ""},
                 {"split swap 1 push 4294967295 mul add", "push 0 add"},
                 {"push 1 swap 1 lt", "push 0 eq"},
                 {"push 1 swap 1 div_mod pop 1", ""},
                 {"log_2_floor", "pop_count"},
                 {"push 2 pow", "push 2 pow dup 0 pop_count pop 1"},
                 {"push 0 div_mod", "div_mod"},
                 {"dup 1 push 0 eq pop 1 div_mod", "dup 0 pop_count pop 1 dup 1 invert pop 1 div_mod pop 1 push 0"}},
                kDeep);
}

/// Random stacks practically never show these differences.
TEST(Equiv, RareDifferencesAreNoEquality) {
  expect_blocks(Answer::differs,
                {{"eq", "pop 2 push 0"},
                 {"push 123456789123 eq", "pop 1 push 0"},
                 {"dup 0 push 987654321987 eq mul", "push 0 mul"},
                 {"dup 0 push 7777777 add push 0 eq add", ""},
                 {"dup 0 invert mul", "pop 1 push 1"},
                 {"dup 1 dup 1 eq pop 1", "dup 1 dup 1 push -1 mul add invert pop 1"},
                 {"dup 0 push 3 eq assert", "dup 0 push 1 lt assert"}},
                kDeep);
  // Found in a state made so that a tested value is 0.
  expect_blocks(Answer::differs,
                {{"push 1234567890123 mul push 99 add push 4567890123456 eq", "pop 1 push 0"},
                 {"push 1234567890123 addi 98765432198 eq", "pop 1 push 0"},
                 {"push 3 mul swap 1 push 5 mul add addi 1234567890123 push 0 eq", "pop 2 push 0"},
                 {"dup 1 mul add push 7777777777777 eq", "pop 2 push 0"},
                 {"dup 2 invert mul add push 7777777777777 eq", "dup 2 invert pop 3 push 0"},
                 {"read_io 1 push 3 mul push 7777777777777 eq", "read_io 1 pop 1 push 0"},
                 {"read_io 2 divine 1 mul add push 7777777777777 eq", "read_io 2 divine 1 pop 3 push 0"},
                 {"dup 0 push 3 mul addi 987654321987 invert pop 1", ""},
                 {"push 3 mul addi 987654321987 push 0 eq assert", "push 5 mul addi 987654321987 push 0 eq assert"}},
                kDeep);
  for (const auto& [a, b] : {std::pair("hash pop 4 push 5 eq", "pop 5 pop 5 push 0")})
    EXPECT_NE(static_cast<int>(decided(a, b, kDeep).answer), static_cast<int>(Answer::equal)) << a;
}

TEST(Equiv, FailuresAreASet) {
  expect_blocks(Answer::equal,
                {{"dup 0 assert", "assert push 1"},
                 {"dup 0 push 1 eq assert", "dup 0 assert"},
                 {"eq assert", "push -1 mul add push 0 eq assert"},
                 {"dup 1 dup 1 eq assert pop 1", "dup 1 dup 1 eq assert swap 1 pop 1"},
                 {"push 0 eq push 0 eq assert", "invert pop 1"},
                 {"mul invert pop 1", "invert swap 1 invert pop 2"},
                 {"dup 1 pop_count dup 1 pop_count pop 2", "dup 0 pop_count dup 2 pop_count pop 2"},
                 {"dup 1 dup 1 and pop 1 split pop 2", "dup 1 dup 1 xor pop 2"},
                 {"dup 0 pop_count pop 1 split", "dup 0 pop_count pop 1 push 0 swap 1"},
                 {"assert_vector assert_vector", "dup 9 pop 1 assert_vector assert_vector"},
                 {"push 2 assert", "push 0 invert write_io 5"},
                 {"dup 0 push 3 eq assert dup 0 write_io 1", "push 3 eq assert push 3 push 3 write_io 1"},
                 {"push 5 eq push 0 eq assert push 1 add", "addi -5 invert pop 1 addi 1"}},
                kDeep);
  expect_blocks(Answer::differs,
                {{"assert", "pop 1"},
                 {"dup 0 assert", ""},
                 {"assert assert", "assert pop 1"},
                 {"assert assert", "add push 2 eq assert"},
                 {"assert_vector", "pop 5"},
                 {"dup 0 invert pop 1", ""},
                 {"dup 0 assert dup 0 invert pop 1", "dup 0 invert pop 1"},
                 {"assert write_io 1", "write_io 1 pop 1"},
                 {"dup 0 pop_count pop 1", "dup 0 split pop 2"},
                 {"mul invert pop 1", "invert pop 1 pop 1"}},
                kDeep);
}

TEST(Equiv, TheFloorOfTheStack) {
  // "pop 1" fails with 16 elements, "push 0 mul" does not.
  EXPECT_EQ(static_cast<int>(decided("push 0 mul", "pop 1 push 0").answer), static_cast<int>(Answer::differs));
  EXPECT_EQ(decided("pop 1 push 0", "push 0 mul").witness.stack.size(), 16u);
  EXPECT_EQ(static_cast<int>(decided("push 0 mul", "pop 1 push 0", 17).answer), static_cast<int>(Answer::equal));
  expect_blocks(Answer::differs, {{"pop 2 push 1 push 2", "push 1 swap 2 pop 1 push 2 swap 1 pop 1 swap 1 swap 1"},
                                  {"hash", "pop 5 pop 5 push 1 push 2 push 3 push 4 push 5"},
                                  {"", "pop 5 push 1 push 1 push 1 push 1 push 1"}});
  expect_blocks(
      Answer::equal,
      {{"push 1 pop 1", ""}, {"dup 15 pop 1", ""}, {"pop 1 pop 1", "pop 2"}, {"swap 1 pop 1", "pick 1 pop 1"}});
}

/// Decides about two blocks assembled with the instructions of the next machine.
Decision decided_on_next(const std::string& a, const std::string& b) {
  const auto x = tasm::assemble(ir::SourceText(a), tasm::Vm::next),
             y = tasm::assemble(ir::SourceText(b), tasm::Vm::next);
  EXPECT_TRUE(x.ok() && y.ok()) << a << " / " << b;
  return decide(x->instructions, y->instructions, {.stack_min = kDeep});
}

TEST(Equiv, HornerStepsAreProductsSumsAndLoads) {
  // From the machine's manual: st7..9 times st0..2 plus the words at st5, which goes down.
  const std::string by_hand =
      "dup 9 dup 9 dup 9 dup 5 dup 5 dup 5 xx_mul dup 8 read_mem 1 pop 1 add "
      "swap 10 pop 1 swap 10 pop 1 swap 10 pop 1 pick 5 addi -1 place 5";
  EXPECT_EQ(static_cast<int>(decided_on_next("b_horner_step", by_hand).answer), static_cast<int>(Answer::equal))
      << decided_on_next("b_horner_step", by_hand).reason;
  const std::string extension =
      "dup 9 dup 9 dup 9 dup 5 dup 5 dup 5 xx_mul dup 8 read_mem 3 pop 1 xx_add "
      "swap 10 pop 1 swap 10 pop 1 swap 10 pop 1 pick 5 addi -3 place 5";
  EXPECT_EQ(static_cast<int>(decided_on_next("x_horner_step", extension).answer), static_cast<int>(Answer::equal))
      << decided_on_next("x_horner_step", extension).reason;
  for (const auto& [a, b] : {std::pair<std::string, std::string>{"b_horner_step", "x_horner_step"},
                             {"b_horner_step", "b_horner_step b_horner_step"},
                             {"x_horner_step", "pick 5 addi -3 place 5"},
                             {"x_horner_step", by_hand}})
    EXPECT_EQ(static_cast<int>(decided_on_next(a, b).answer), static_cast<int>(Answer::differs)) << a << " / " << b;
}

TEST(Equiv, StoresAndLoads) {
  expect_blocks(
      Answer::equal,
      {{"push 7 push 5 write_mem 1 pop 1 push 8 push 6 write_mem 1 pop 1", "push 8 push 7 push 5 write_mem 2 pop 1"},
       {"push 8 push 6 write_mem 1 pop 1 push 7 push 5 write_mem 1 pop 1", "push 8 push 7 push 5 write_mem 2 pop 1"},
       {"push 1 push 5 write_mem 1 pop 1 push 2 push 5 write_mem 1 pop 1", "push 2 push 5 write_mem 1 pop 1"},
       {"push 5 read_mem 1 pop 1 push 5 write_mem 1 pop 1", ""},
       {"push 5 read_mem 1 pop 1 push 5 read_mem 1 pop 1", "push 5 read_mem 1 pop 1 dup 0"},
       {"dup 0 read_mem 1 pop 1 dup 1 addi 1 read_mem 1 pop 1", "dup 0 addi 1 read_mem 2 pop 1 swap 1"},
       {"dup 1 dup 1 write_mem 1 addi -1 read_mem 1 pop 1", "dup 1 dup 1 write_mem 1 pop 1 dup 1"},
       {"dup 1 dup 1 write_mem 1 addi 5 read_mem 1 pop 1",
        "dup 0 addi 6 read_mem 1 pop 1 dup 2 dup 2 write_mem 1 pop 1"},
       {"push 9 dup 1 write_mem 1 pop 1 push 9 dup 2 write_mem 1 pop 1",
        "push 9 dup 2 write_mem 1 pop 1 push 9 dup 1 write_mem 1 pop 1"},
       {"push 100 push 90 xx_dot_step pop 2", "push 90 push 100 xx_dot_step pop 2"},
       {"push 5 push 4 push 3 push 2 push 1 push 10 write_mem 5 pop 1 push 14 read_mem 5 pop 1",
        "push 5 push 4 push 3 push 2 push 1 push 10 write_mem 5 pop 1 push 5 push 4 push 3 push 2 push 1"}},
      kDeep);
  expect_blocks(Answer::differs,
                {{"push 1 dup 1 write_mem 1 pop 1 push 2 dup 2 write_mem 1 pop 1",
                  "push 2 dup 2 write_mem 1 pop 1 push 1 dup 1 write_mem 1 pop 1"},
                 {"dup 0 read_mem 1 pop 1 push 3 dup 3 write_mem 1 pop 1 dup 1 read_mem 1 pop 1",
                  "dup 0 read_mem 1 pop 1 push 3 dup 3 write_mem 1 pop 1 dup 0"},
                 {"push 1 push 5 write_mem 1 pop 1", ""},
                 {"push 0 push 5 write_mem 1 pop 1", ""},
                 {"push 5 read_mem 1 pop 1", "push 0"},
                 {"push 5 read_mem 1 pop 1 push 6 write_mem 1 pop 1", ""},
                 {"push 100 read_mem 2 pop 1", "push 101 read_mem 2 pop 1"}},
                kDeep);
}

TEST(Equiv, InputsOutputAndSpongeInOrder) {
  expect_blocks(Answer::equal,
                {{"read_io 1 read_io 1", "read_io 2"},
                 {"read_io 1 divine 1", "divine 1 read_io 1 swap 1"},
                 {"read_io 1 pop 1", "read_io 1 push 0 mul pop 1"},
                 {"swap 1 write_io 1 write_io 1", "swap 1 write_io 2"},
                 {"write_io 1 read_io 1", "read_io 1 swap 1 write_io 1"},
                 {"sponge_init sponge_init", "sponge_init"},
                 {"sponge_squeeze pop 5 pop 5 sponge_init", "sponge_squeeze pop 5 pop 5 sponge_init push 1 pop 1"},
                 {"sponge_init push 0 push 0 push 0 push 0 push 0 push 0 push 0 push 0 push 0 push 0 sponge_absorb",
                  "sponge_init sponge_squeeze pop 5 pop 5"},
                 {"swap 1 swap 1 hash", "hash"},
                 {"merkle_step", "nop merkle_step"},
                 {"pop 1 read_mem 1 pop 1 halt pop 5", "pop 1 read_mem 1 pop 1 halt"}},
                kDeep);
  expect_blocks(Answer::differs,
                {{"read_io 1 read_io 1", "read_io 2 swap 1"},
                 {"read_io 1 pop 1", ""},
                 {"divine 1 pop 1", ""},
                 {"read_io 1", "divine 1"},
                 {"write_io 2", "swap 1 write_io 2"},
                 {"write_io 1", "pop 1"},
                 {"sponge_init", ""},
                 {"sponge_init", "sponge_squeeze pop 5 pop 5 sponge_init"},
                 {"sponge_absorb", "sponge_init sponge_absorb"},
                 {"sponge_squeeze pop 5 pop 5", ""},
                 {"swap 1 hash", "hash"},
                 {"merkle_step", "pop 1 push 3"},
                 {"halt", ""},
                 {"push 1 halt", "push 1"},
                 {"dup 3", "pick 3"}},
                kDeep);
}

TEST(Equiv, WhatIsNoStraightBlock) {
  EXPECT_EQ(decided("skiz nop", "skiz nop").reason, "there is control flow in a block");
  EXPECT_EQ(static_cast<int>(decided("skiz push 1", "pop 1").answer), static_cast<int>(Answer::differs));
  const std::vector<Instruction> bad = {{tasm::Op::kPop, Element(6)}};
  EXPECT_EQ(static_cast<int>(decide(bad, bad).answer), static_cast<int>(Answer::unknown));
  const std::vector<Instruction> astray = {{tasm::Op::kCall, Element(1)}};
  EXPECT_EQ(static_cast<int>(decide(astray, {}).answer), static_cast<int>(Answer::unknown));
  const std::vector<Instruction> empty;
  EXPECT_EQ(static_cast<int>(decide(empty, empty).answer), static_cast<int>(Answer::equal));
}

TEST(Equiv, ABlockMadeForKnownPointsIsNotEqual) {
  // Four values that are zero nearly everywhere, with factors that made their sum zero at the points that followed
  // from the seed alone. The blocks differ where the top of the stack is 7120802376426177315.
  const char* const made =
      "push 0 dup 1 addi 4712128852136459333 addi 6613812840851947673 push 0 eq push 8921842272229582803 mul "
      "add dup 2 addi 12736496262939004471 addi 15523137368101252074 push 0 eq push 1558705139059267393 mul "
      "add dup 3 addi 12027861843233603113 addi 9777509567454608800 push 0 eq push 7004298206613015406 mul add "
      "dup 4 addi 15501686781378355951 addi 14313909076419087323 push 0 eq push 1 mul add";
  EXPECT_NE(static_cast<int>(decided(made, "push 0 dup 1 pop 1 dup 2 pop 1 dup 3 pop 1 dup 4 pop 1").answer),
            static_cast<int>(Answer::equal));
}

TEST(Equiv, TheErrorBoundIsStated) {
  EXPECT_EQ(decided("push 3 mul push 5 mul", "push 15 mul").error_bound, 0);
  // (x+1)^20 is too large to be expanded.
  const Decision large =
      decided("addi 1 push 20 place 1 pow", "addi 1 dup 0 mul dup 0 mul dup 0 dup 0 mul dup 0 mul mul");
  EXPECT_GT(large.error_bound, 0);
  EXPECT_LT(large.error_bound, 1e-25);
}

}  // namespace
}  // namespace trident::tir::equiv
