// Oracle: texts with faults written by hand; programs with results worked out by hand.
#include "jit/tir/language/program.h"

#include <gtest/gtest.h>

#include "jit/tir/language/interpreter.h"

namespace trident::tir::language {
namespace {

Program program_of(const std::string& text) {
  auto program = parse(ir::SourceText(text, "t.tir"));
  EXPECT_TRUE(program) << (program ? "" : program.error().message);
  return program ? std::move(program).value() : Program();
}

TEST(Language, HasTheOperationsOfFourTiers) {
  int tiers[4] = {};
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const OpRow& r = row(static_cast<Op>(i));
    EXPECT_EQ(r.code, i) << r.text;
    ++tiers[r.tier];
  }
  EXPECT_EQ(tiers[0], 11);
  EXPECT_EQ(tiers[1], 31);
  EXPECT_EQ(tiers[2], 7);
  EXPECT_EQ(tiers[3], 5);
}

TEST(Language, PrintsWhatItParses) {
  const std::string text =
      "// a program\n"
      "push 5\n"
      "if {\n"
      "  push 18446744069414584320\n"
      "  pop 1\n"
      "} else {\n"
      "  loop count {\n"
      "    dup 200\n"
      "    pop 1\n"
      "  }\n"
      "}\n"
      "if {\n"
      "  swap 3\n"
      "}\n"
      "reveal Paid 7 2\n"
      "seal Note 8 0\n"
      "asm -1 { push 3 mul pop 1 }\n"
      "proof p1 {\n"
      "  ext_mul\n"
      "}\n"
      "hash 10\n"
      "entry main\n"
      "fn main {\n"
      "  assert 5\n"
      "  // done\n"
      "  return\n"
      "}\n";
  const Program program = program_of(text);
  EXPECT_EQ(print(program), text);
  EXPECT_TRUE(same(program, program_of("// a program\npush 5 if{push -1 pop 1}else{loop count{dup 200 pop 1}}if{swap 3}"
                                       "reveal Paid 7 2 seal Note 8 0 asm -1{push 3 mul pop 1}proof p1{ext_mul}hash "
                                       "entry main fn main{assert 5 // done\nreturn}")));
  EXPECT_EQ(tier(program), 3u);
  EXPECT_EQ(tier(program_of("push 1 halt")), 1u);
  EXPECT_EQ(tier(program_of("halt")), 0u);
}

TEST(Language, ErrorsNameTheirPlace) {
  const std::pair<const char*, const char*> faults[] = {
      {"push 1\n  foo\nhalt", "t.tir:2:3: there is no operation 'foo'"},
      {"divine 1 halt", "TIR has 'hint'"},
      {"pick 3 halt", "asm CHANGE { pick .. }"},
      {"push x halt", "t.tir:1:6: expected an integer above -p"},
      {"push 18446744069414584321 halt", "expected an integer above -p"},
      {"pop 0 halt", "1 to 255"},
      {"dup 256 halt", "0 to 255"},
      {"ram_write 16 halt", "1 to 15"},
      {"assert 2 halt", "assert 1 or assert 5"},
      {"seal X 1 10 halt", "seal has 0 to 9 fields"},
      {"} halt", "there is no { to this }"},
      {"if { push 1", "t.tir:1:1: this has no end"},
      {"fn f { return", "this has no end"},
      {"if { fn f { return } } halt", "a function can stand at the top level only"},
      {"push 1 if { push 1 } halt",
       "t.tir:1:8: the body of this operation must not change the stack's height, but changes it by 1"},
      {"push 1 if { push 1 } else { } halt", "change the stack's height by 1 and 0"},
      {"push 1 loop { pop 1 } halt", "changes it by -1"},
      {"call f halt", "there is no function 'f'"},
      {"halt fn f { return } fn f { return }", "is defined twice"},
      {"halt fn f { push 1 }", "must end with return or halt"},
      {"push 1", "end in halt or entry"},
      {"", "end in halt or entry"},
      {"halt push 1", "nothing after return, halt or entry runs"},
      {"halt fn f { return } push 1", "comes after a function"},
      {"push 1 if { return } halt", "return cannot stand in a body"},
      {"return", "return stands outside of any function"},
      {"asm 0 { push 1 } halt", "t.tir:1:5: this TASM changes the stack's height by 1"},
      {"asm 0 {\n a: nop } halt", "asm has no labels"},
      {"asm 0 {\n  nop return } halt", "t.tir:2:7: asm has no control flow"},
      {"asm 0 {\n  nop bogus } halt", "t.tir:2:7: there is no instruction 'bogus'"},
      {"asm 0 { nop", "this has no end"},
      {"push 1 if { call f } halt fn f { push 2 return }", "changes it by 1"},
      {"push \xff halt", "this is not UTF-8"},
      {"\x1b[31m halt", "there is no operation '?[31m'"},
      {"push 1\nasm 0 { nop }\nasm 0 {\n  nop\n skiz }\nhalt", "t.tir:5:2: asm has no control flow"},
  };
  for (const auto& [text, message] : faults) {
    const auto program = parse(ir::SourceText(text, "t.tir"));
    ASSERT_FALSE(program) << text;
    EXPECT_NE(program.error().message.find(message), std::string::npos) << text << "\n" << program.error().message;
  }
  const auto long_word = parse(ir::SourceText(std::string(1'000'000, 'x') + " halt", "t.tir"));
  ASSERT_FALSE(long_word);
  EXPECT_LT(long_word.error().message.size(), 1000u);
  std::string deep = "halt";
  for (unsigned i = 0; i <= kNestingMax; ++i) deep = "if { " + deep + " }";
  const auto program = parse(ir::SourceText(deep));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::kLimitExceeded);
}

struct Ran {
  Outcome outcome;
  std::vector<std::uint64_t> output;
};
Ran ran(const std::string& text, std::vector<std::uint64_t> input = {}) {
  const Program program = program_of(text);
  std::vector<Element> elements;
  for (const auto v : input) elements.emplace_back(v);
  const std::vector<Element> stack(16);
  Ran out{interpret(program, {elements, {}, {}, stack}, 100'000), {}};
  for (const Element e : out.outcome.output) out.output.push_back(e.value());
  return out;
}
using Values = std::vector<std::uint64_t>;

TEST(Interpreter, EndlessRecursionIsOutOfBudget) {
  for (const char* body : {"call f", "push 1 if { push 1 loop { call f } pop 1 }"})
    EXPECT_EQ(ran("call f halt fn f { " + std::string(body) + " return }").outcome.end, Outcome::End::out_of_budget);
}

TEST(Interpreter, DoesWhatTheTableSays) {
  EXPECT_EQ(ran("push 17 push 5 div_mod write_io 2 halt").output, (Values{2, 3}));
  EXPECT_EQ(ran("push 100 push 3 shr write_io 1 halt").output, (Values{12}));
  EXPECT_EQ(ran("push 3 push 5 lt push 5 push 3 lt write_io 2 halt").output, (Values{0, 1}));
  EXPECT_EQ(ran("push 2 push 10 pow write_io 1 halt").output, (Values{1024}));
  EXPECT_EQ(ran("push 7 push 9 sub write_io 1 halt").output, (Values{field::kModulus - 2}));
  EXPECT_EQ(ran("push 12 push 3 or write_io 1 halt").output, (Values{15}));
  EXPECT_EQ(ran("push 500 push 42 ram_write 1 push 500 ram_read 1 write_io 1 halt").output, (Values{42}));
  EXPECT_EQ(ran("push 500 push 2 push 1 ram_write 2 push 500 ram_read 2 write_io 2 push 501 ram_read 1 write_io 1 halt")
                .output,
            (Values{1, 2, 2}));
  EXPECT_EQ(ran("push 2 push 1 reveal Sent 9 2 halt").output, (Values{9, 1, 2}));
  EXPECT_EQ(ran("read_io 2 add write_io 1 halt", {30, 12}).output, (Values{42}));
  EXPECT_EQ(ran("push 0 push 4 loop { swap 1 push 3 add swap 1 } pop 1 write_io 1 halt").output, (Values{12}));
  EXPECT_EQ(ran("push 0 if { push 1 write_io 1 } push 5 if { push 2 write_io 1 } halt").output, (Values{2}));
  EXPECT_EQ(ran("push 6 call twice write_io 1 halt fn twice { dup 0 add return }").output, (Values{12}));
  EXPECT_EQ(ran("entry main fn main { push 3 write_io 1 return }").output, (Values{3}));
}

TEST(Interpreter, EndsWhereItMust) {
  EXPECT_EQ(ran("halt").outcome.end, Outcome::End::halted);
  EXPECT_EQ(ran("pop 1 halt").outcome.end, Outcome::End::failed);
  EXPECT_EQ(ran("push 1 add halt").outcome.end, Outcome::End::halted);
  EXPECT_EQ(ran("add halt").outcome.end, Outcome::End::failed);
  EXPECT_EQ(ran("push 1 dup 17 halt").outcome.end, Outcome::End::failed);
  EXPECT_EQ(ran("push 1 dup 16 halt").outcome.end, Outcome::End::halted);
  EXPECT_EQ(ran("push 0 invert halt").outcome.end, Outcome::End::failed);
  EXPECT_EQ(ran("push 4294967296 push 1 lt halt").outcome.end, Outcome::End::failed);
  EXPECT_EQ(ran("push 1 push 0 div_mod halt").outcome.end, Outcome::End::failed);
  EXPECT_EQ(ran("read_io 1 halt").outcome.end, Outcome::End::failed);
  EXPECT_EQ(ran("sponge_squeeze halt").outcome.end, Outcome::End::failed);
  EXPECT_EQ(ran("push -1 loop { } halt").outcome.end, Outcome::End::out_of_budget);
  EXPECT_EQ(ran("call f halt fn f { call f return }").outcome.end, Outcome::End::out_of_budget);
}

}  // namespace
}  // namespace trident::tir::language
