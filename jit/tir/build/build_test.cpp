// Oracle: the machine on the program that was asked for and on the one that comes of it.
#include "jit/tir/build/build.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace trident::tir::build {
namespace {

constexpr const char* kSquares =
    "read_io 1\ncall sum\nwrite_io 1\nhalt\nfn sum {\n  push 0\n  swap 1\n  loop {\n    dup 0 dup 0 mul\n    dup 2 "
    "add\n"
    "    swap 2 pop 1\n  }\n  pop 1\n  return\n}\n";

std::vector<Element> output_of(const std::string& tasm, const std::vector<Element>& input) {
  const auto program = tasm::assemble(ir::SourceText(tasm));
  EXPECT_TRUE(program);
  vm::Code code;
  EXPECT_TRUE(vm::load(*program, code));
  vm::Machine machine;
  EXPECT_EQ(machine.run(code, {input, {}, {}, {}, {}}), vm::Failure::none);
  return machine.output();
}

TEST(Build, TirAndTasmBecomeCheaperPrograms) {
  Request request{.form = Form::tir, .text = kSquares, .public_input = {Element(100)}};
  const auto built = build(request);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_TRUE(built->cheaper());
  EXPECT_LT(built->words_after, built->words_before);
  EXPECT_EQ(output_of(built->tasm, {Element(100)}), std::vector<Element>{Element(328'350)});
  EXPECT_EQ(output_of(built->tasm, {Element(3)}), std::vector<Element>{Element(5)});
  EXPECT_TRUE(nlohmann::json::parse(built->report).contains("proposers"));
  Request again{.form = Form::tasm, .text = built->tasm, .public_input = {Element(100)}};
  const auto twice = build(again);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->before, built->after);
}

TEST(Build, ErrorsHaveAPlace) {
  const auto syntax = build({.form = Form::tir, .name = "p.tir", .text = "push 1\nfrob"});
  ASSERT_FALSE(syntax);
  EXPECT_EQ(syntax.error().message.substr(0, 9), "p.tir:2:1");
  const auto failing = build({.form = Form::tir, .name = "p.tir", .text = kSquares});
  ASSERT_FALSE(failing);
  EXPECT_EQ(failing.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(failing.error().message.substr(0, 9), "p.tir:1:1");
}

TEST(Build, StagesCanBeLeftOutAndTheSearchEnded) {
  Request request{.form = Form::tir, .text = kSquares, .public_input = {Element(9)}, .left_out = 15};
  const auto plain = build(request);
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->cheaper());
  EXPECT_EQ(plain->before, plain->after);
  request.left_out = 0;
  std::size_t told = 0;
  const auto ended = build(request, [&](double) { return ++told < 3; });
  ASSERT_TRUE(ended);
  EXPECT_EQ(told, 3u);
}

}  // namespace
}  // namespace trident::tir::build
