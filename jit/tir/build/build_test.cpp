// Oracle: the machine, run on the requested program and on the built one.
#include "jit/tir/build/runs.h"

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
  Request request{.form = Form::tir, .text = kSquares, .runs = {{.public_input = {Element(100)}}}};
  const auto built = build(request);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_TRUE(built->cheaper());
  EXPECT_LT(built->words_after, built->words_before);
  EXPECT_EQ(output_of(built->tasm, {Element(100)}), std::vector<Element>{Element(328'350)});
  EXPECT_EQ(output_of(built->tasm, {Element(3)}), std::vector<Element>{Element(5)});
  EXPECT_TRUE(nlohmann::json::parse(built->report).contains("proposers"));
  Request again{.form = Form::tasm, .text = built->tasm, .runs = {{.public_input = {Element(100)}}}};
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

TEST(Build, LargeProgramsAreRefusedAtOnce) {
  std::string halts;
  for (std::uint32_t i = 0; i <= limits::kBuildWordsMax; ++i) halts += "halt\n";
  const auto large = build({.name = "p.tasm", .text = halts});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(large.error().message, "p.tasm: the program has 524289 words; a program to build has at most 524288");
  halts.resize(std::size_t{5} * 20'000);
  const auto built = build({.text = halts});
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->tasm, "    halt\n");
}

TEST(Build, RunsAreWordsAndBack) {
  const std::vector<build::Run> runs = {
      {.public_input = {Element(1), Element(2)}, .ram = {{Element(5), Element(6)}}},
      {},
      {.secret_input = {Element(3)}, .secret_digests = {{Element(4), Element(), Element(), Element(), Element(9)}}}};
  const std::vector<std::uint64_t> words = {2, 0, 0, 1, 1, 2, 5, 6, 0, 0, 0, 0, 0, 1, 1, 0, 3, 4, 0, 0, 0, 9};
  EXPECT_EQ(words_of(runs), words);
  const auto read = runs_of(words);
  ASSERT_TRUE(read);
  EXPECT_EQ(words_of(*read), words);
  for (std::size_t size = 1; size < words.size(); ++size) {
    const bool whole = size == 8 || size == 12;
    EXPECT_EQ(runs_of(std::span(words).first(size)).ok(), whole) << size;
  }
  EXPECT_FALSE(runs_of(std::vector<std::uint64_t>{1, 0, 0, 0, field::kModulus}));
  EXPECT_FALSE(runs_of(std::vector<std::uint64_t>{UINT64_MAX, 0, 0, 0}));
  EXPECT_FALSE(runs_of(std::vector<std::uint64_t>{0, 0, field::kModulus / 5 + 1, 0, 1, 2, 3, 4, 5}));
}

TEST(Build, NoRunGetsTaller) {
  // The text's length decides for 2 turns, the cycles for 100: a gain on one run may not make the other taller.
  Request request{.form = Form::tir, .text = kSquares};
  for (const std::uint64_t n : {2, 30, 57, 100, 230}) request.runs.push_back({.public_input = {Element(n)}});
  request.runs.erase(request.runs.begin());
  const auto built = build(request);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->runs, 5u);
  const auto rows = nlohmann::json::parse(built->report).at("runs");
  ASSERT_EQ(rows.size(), 5u);
  bool lower = false;
  for (const auto& row : rows) {
    vm::Heights before, after;
    for (std::size_t t = 0; t < vm::kTableCount; ++t)
      before.rows[t] = row["before"][t], after.rows[t] = row["after"][t];
    EXPECT_LE(after.padded(), before.padded());
    lower |= after.padded() < before.padded();
  }
  EXPECT_TRUE(lower);
  request.runs.push_back({});
  const auto failing = build(request);
  ASSERT_FALSE(failing);
  EXPECT_NE(failing.error().message.find("(run 6)"), std::string::npos) << failing.error().message;
}

TEST(Build, StagesCanBeLeftOutAndTheSearchEnded) {
  Request request{.form = Form::tir, .text = kSquares, .runs = {{.public_input = {Element(9)}}}, .left_out = 15};
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
