// Oracle: texts that the machine's own parser is known to accept or refuse (its rules, read in its source; the real
// machine's answers in tests/tir go through jit/tir/oracle), words written by hand, and that printing and reading are
// inverse.
#include "jit/tir/tasm/program.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/base/limits.h"

namespace trident::tir::tasm {
namespace {

Result<Program> read(const std::string& text) {
  return assemble(ir::SourceText(text, "t"));
}
std::vector<std::uint64_t> words(const std::string& text) {
  const auto program = read(text);
  EXPECT_TRUE(program) << text << "\n" << program.error().message;
  std::vector<std::uint64_t> out;
  if (program)
    for (const Element e : encode(*program)) out.push_back(e.value());
  return out;
}
/// Returns the first line of the error.
std::string fault(const std::string& text) {
  const auto program = read(text);
  if (program) return "none";
  return program.error().message.substr(0, program.error().message.find('\n'));
}

using Words = std::vector<std::uint64_t>;

TEST(Assembler, MakesWords) {
  EXPECT_EQ(words(""), Words{});
  EXPECT_EQ(words("  \n\t// nothing\n/* at all */ "), Words{});
  EXPECT_EQ(words("halt"), Words{0});
  EXPECT_EQ(words("push 5 push -1 addi -18446744069414584320 pop 5"),
            (Words{1, 5, 1, field::kModulus - 1, 65, 1, 3, 5}));
  EXPECT_EQ(words("push +7 push 007 push -0"), (Words{1, 7, 1, 7, 1, 0}));
  EXPECT_EQ(words("dup 0 swap 15 pick 10 place 1"), (Words{33, 0, 41, 15, 17, 10, 25, 1}));
  EXPECT_EQ(words("call f halt f: nop call g g: return"), (Words{49, 3, 0, 8, 49, 6, 16}));
  EXPECT_EQ(words("a:b:_c-1: \n call a call b call _c-1"), (Words{49, 0, 49, 0, 49, 0}));
  EXPECT_EQ(words("nop//x\nnop/**/halt"), (Words{8, 8, 0}));
  EXPECT_EQ(words("f :nop break break\n nop"), (Words{8, 8}));
  EXPECT_EQ(words("recurse recurse_or_return add addi 1 assert assert_vector"), (Words{24, 32, 42, 65, 1, 10, 26}));
  EXPECT_EQ(words("call end end:"), (Words{49, 2}));
  EXPECT_EQ(words("nop\u00a0nop\u3000halt"), (Words{8, 8, 0}));
  EXPECT_EQ(words("\u00e4b: call \u00e4b"), (Words{49, 0}));
  EXPECT_EQ(words("hints: breaks: call hints call breaks"), (Words{49, 0, 49, 0}));
  EXPECT_EQ(words("break: call break"), (Words{49, 0}));  // not a keyword of the machine
}

TEST(Assembler, TakesWhatDoesNothing) {
  const auto program = read(
      "hint a = stack[0] hint b_2: *Vec<u32, Pair< *a, b<c>, > > = stack [3]"
      "halt");
  EXPECT_FALSE(program);  // no blank before [
  const auto good = read(
      "hint a = stack[0]nop hint b_2 : Vec< *u32 ,Pair<a,b<c>,> > = stack[ 3 .. 7 ] hint c: T< > =stack[1..2]\n"
      "assert error_id -5 assert_vector /* x */ error_id 00340282366920938463463374607431768211455 halt");
  EXPECT_FALSE(good);  // the number has 128 bits, and no bit for a sign
  const auto fine = read(
      "hint a = stack[0]nop hint b_2 : Vec< *u32 ,Pair<a,b<c>,> > = stack[ 3 .. 7 ] hint c: T< > =stack[1..2]\n"
      "assert error_id -5 assert_vector /* x */ error_id 0170141183460469231731687303715884105727 halt");
  ASSERT_TRUE(fine) << fine.error().message;
  ASSERT_EQ(fine->marks.size(), 5u);
  EXPECT_EQ(fine->marks[1].type, "Vec<*u32, Pair<a, b<c>>>");
  EXPECT_EQ(fine->marks[1].start, 3u);
  EXPECT_EQ(fine->marks[1].length, 4u);
  EXPECT_EQ(fine->marks[2].type, "T");
  EXPECT_EQ(fine->marks[3].text, "-5");
  EXPECT_EQ(fine->marks[4].text, "170141183460469231731687303715884105727");
  EXPECT_EQ(fine->words(), 4u);
}

TEST(Assembler, SaysWhichMachineHasAnInstruction) {
  const auto fault_of = [](const char* text, Vm vm) {
    const auto program = assemble(ir::SourceText(text, "t"), vm);
    return program ? std::string() : program.error().message;
  };
  for (const std::string name : {"b_horner_step", "x_horner_step"}) {
    EXPECT_EQ(
        fault_of(("nop " + name).c_str(), Vm::released)
            .find("t:1:5: '" + name + "' is an instruction of a Triton VM after 7.0.0; this speaks 1.0.0 to 7.0.0"),
        0u);
    EXPECT_EQ(fault_of(name.c_str(), Vm::next), "");
    EXPECT_EQ(fault_of((name + ": halt").c_str(), Vm::released), "");  // a label like others
    EXPECT_NE(fault_of((name + ": halt").c_str(), Vm::next), "");
  }
  for (const char* name : {"xx_dot_step", "xb_dot_step"}) {
    EXPECT_NE(fault_of(name, Vm::next).find("is an instruction of Triton VM 1.0.0 to 7.0.0"), std::string::npos);
    EXPECT_EQ(fault_of(name, Vm::released), "");
  }
  const auto next = assemble(ir::SourceText("b_horner_step x_horner_step halt"), Vm::next);
  ASSERT_TRUE(next);
  EXPECT_EQ(encode(*next), (std::vector<Element>{Element(80), Element(88), Element(0)}));
  EXPECT_EQ(decode(encode(*next), Vm::next)->instructions, next->instructions);
  EXPECT_EQ(print(*decode(encode(*next))), "    xx_dot_step\n    xb_dot_step\n    halt\n");
  EXPECT_EQ(vm_of(*next), Vm::next);
  EXPECT_EQ(vm_of(*decode(encode(*next))), Vm::released);
}

TEST(Assembler, SaysWhereAndWhy) {
  const std::pair<const char*, const char*> faults[] = {
      {"nop\n  pop 6", "t:2:7: a number of words is 1 to 5"},
      {"pop 0", "t:1:5: a number of words is 1 to 5"},
      {"pop 01", "t:1:5: a number of words is 1 to 5"},
      {"pop", "t:1:4: a number of words is 1 to 5"},
      {"pop -1", "t:1:5: a number of words is 1 to 5"},
      {"dup 16", "t:1:5: a register is 0 to 15"},
      {"dup 1x", "t:1:6: expected a blank or a comment here"},
      {"push 18446744069414584321", "t:1:6: a constant is above -p and below p, p = 2^64 - 2^32 + 1"},
      {"push -18446744069414584321", "t:1:6: a constant is above -p and below p, p = 2^64 - 2^32 + 1"},
      {"push 999999999999999999999999999999999999999999", "t:1:6: this integer has more than 128 bits"},
      {"push x", "t:1:6: expected an integer"},
      {"push - 1", "t:1:6: expected an integer"},
      {"push 0x10", "t:1:6: expected a decimal integer, found '0x10'"},
      {"push 1.5", "t:1:6: expected a decimal integer, found '1.5'"},
      {"push -.5", "t:1:6: expected an integer"},
      {"push -2.5// half", "t:1:6: expected a decimal integer, found '-2.5'"},
      {"push 1e3 halt", "t:1:6: expected a decimal integer, found '1e3'"},
      {"sub", "t:1:1: there is no instruction 'sub': push -1 mul add does it"},
      {"nop halt2", "t:1:5: there is no instruction 'halt2'"},
      {"Halt", "t:1:1: there is no instruction 'Halt'"},
      {"nop;halt", "t:1:4: expected a blank or a comment here"},
      {"call", "t:1:5: expected a label"},
      {"call 1a", "t:1:6: expected a label"},
      {"nop call f", "t:1:10: there is no label 'f'"},
      {"a: nop\na: nop", "t:2:1: the label 'a' is defined twice"},
      {"nop: nop", "t:1:1: a label may not have the name of an instruction or keyword"},
      {"hint : nop", "t:1:1: a label may not have the name of an instruction or keyword"},
      {"x: call pop halt", "t:1:9: a label may not have the name of an instruction or keyword"},
      {"nop //\nhalt", "t:1:5: this comment is empty: Triton VM needs at least one character after //"},
      {"nop /* halt", "t:1:5: this comment has no closing */"},
      {"nop /*/ halt", "t:1:5: this comment has no closing */"},
      {"nop error_id 3", "t:1:5: error_id can stand only after assert or assert_vector"},
      {"assert break error_id 3", "t:1:14: error_id can stand only after assert or assert_vector"},
      {"assert error_id 3 error_id 4", "t:1:19: error_id can stand only after assert or assert_vector"},
      {"assert error_id", "t:1:16: expected an integer"},
      {"hint A = stack[0]", "t:1:6: expected the name of a hint, of lowercase letters"},
      {"hint a stack[0]", "t:1:8: expected ="},
      {"hint a: = stack[0]", "t:1:9: expected a type"},
      {"hint a: V<> = stack[0]", "t:1:11: expected a type"},
      {"hint a: V<b c> = stack[0]", "t:1:13: expected , or >"},
      {"hint a = heap[0]", "t:1:10: expected stack["},
      {"hint a = stack[]", "t:1:16: expected a position on the stack"},
      {"hint a = stack[0..]", "t:1:19: expected a position on the stack"},
      {"hint a = stack[3..3]", "t:1:17: this range of the stack is empty"},
      {"hint a = stack[0", "t:1:17: expected ]"},
      {"hint a = stack[99999999999999999999]", "t:1:16: this position has more than 64 bits"},
      {": nop", "t:1:1: expected a label, an instruction or the end"},
      {"\xff", "t:1:1: this is not UTF-8"},
  };
  for (const auto& [text, expected] : faults) EXPECT_EQ(fault(text), expected) << text;
  EXPECT_NE(fault("hint a: " + std::string(1000, '*') + "a = stack[0]"), "");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a<";
  EXPECT_NE(fault("hint a: " + deep).find("this type is nested too deeply"), std::string::npos);
}

TEST(Assembler, RefusesTextsThatAreTooLong) {
  const auto program = read(std::string(limits::kTasmTextBytesMax + 1, ' '));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::kLimitExceeded);
}

TEST(Words, AreDecodedOrRefused) {
  const auto decoded = [](std::vector<std::uint64_t> raw) {
    std::vector<Element> list;
    for (const std::uint64_t w : raw) list.push_back(Element(w));
    return decode(list);
  };
  const auto program = decoded({1, 5, 49, 2, 8, 0});
  ASSERT_TRUE(program);
  EXPECT_EQ(print(*program), "    push 5\nat_2:\n    call at_2\n    nop\n    halt\n");
  EXPECT_EQ(words(print(*program)), (Words{1, 5, 49, 2, 8, 0}));
  for (const Words& bad : {Words{5}, Words{1}, Words{3, 6}, Words{33, 16}, Words{49, 1}, Words{49, 3},
                           Words{49, ~0ull >> 1}, Words{~0ull >> 1}})
    EXPECT_FALSE(decoded(bad));
  EXPECT_TRUE(decoded({49, 2}));  // the end may be called
  EXPECT_TRUE(decoded({}));
}

/// Joins tokens at random: most texts are refused, many are not.
std::string soup(std::mt19937_64& random) {
  constexpr const char* kTokens[] = {"push ",
                                     "-1 ",
                                     "5 ",
                                     "call ",
                                     "f",
                                     "f:",
                                     " g: ",
                                     "g ",
                                     "nop ",
                                     "halt\n",
                                     "dup ",
                                     "15 ",
                                     "pop ",
                                     "assert ",
                                     "error_id ",
                                     "hint ",
                                     "a ",
                                     "= ",
                                     "stack[",
                                     "0",
                                     "]",
                                     "..",
                                     ": ",
                                     "T",
                                     "<",
                                     ">",
                                     ",",
                                     "//",
                                     "/*",
                                     "*/",
                                     "\n",
                                     " ",
                                     "break ",
                                     "\xc3\xa4",
                                     "\xc2\xa0",
                                     "\xff",
                                     "18446744069414584321 ",
                                     "recurse ",
                                     "addi ",
                                     "read_mem 3 ",
                                     "write_io 2 ",
                                     "hint x: *u<v, w> = stack[1..3] ",
                                     "-"};
  std::string out;
  for (auto n = random() % 12; n > 0; --n) {
    if (random() % 4 == 0)  // so that some are well-formed
      out += print(Instruction{static_cast<Op>(random() % kOpCount), Element(1 + random() % 5)}) + " ";
    else
      out += kTokens[random() % std::size(kTokens)];
  }
  return out;
}

TEST(Assembler, NeverBreaksAndPrintsWhatItReads) {
  std::mt19937_64 random(1);
  std::size_t good = 0;
  for (int i = 0; i < 60000; ++i) {
    const std::string text = soup(random);
    const auto program = read(text);
    if (!program) continue;
    ++good;
    const std::string printed = print(*program);
    const auto again = read(printed);
    ASSERT_TRUE(again) << text << "\n" << printed << again.error().message;
    ASSERT_TRUE(same(*program, *again)) << text << "\n" << printed;
    ASSERT_EQ(print(*again), printed);
    const auto decoded = decode(encode(*program));
    ASSERT_TRUE(decoded) << text;
    ASSERT_EQ(decoded->instructions, program->instructions) << text;
  }
  EXPECT_GT(good, 3000u);
}

}  // namespace
}  // namespace trident::tir::tasm
