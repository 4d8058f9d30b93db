#include "clients/cli/demo/demo_program.h"

#include <algorithm>
#include <chrono>

#include "clients/cli/demo/demo_program_texts.h"
#include "clients/cli/demo/demo_text.h"
#include "jit/tir/build/build.h"
#include "jit/tir/lowering/lowering.h"
#include "runtime/base/counted.h"
#include "runtime/report/html_page.h"

namespace trident::cli {
namespace html = report::html;
namespace {

namespace language = tir::language;
namespace tasm = tir::tasm;
namespace vm = tir::vm;

/// F(n) modulo 2^128, by additions; F(186) is the last that is below.
Words fibonacci_words(const Words& input) {
  unsigned __int128 a = 0, b = 1;
  for (std::uint64_t i = 0; i < input.at(0).value(); ++i) {
    const unsigned __int128 next = a + b;
    a = b, b = next;
  }
  Words out;
  for (unsigned limb = 0; limb < 4; ++limb) out.emplace_back(static_cast<std::uint32_t>(a >> (32 * limb)));
  return out;
}

struct Run {
  bool right = false;
  vm::Heights heights;
};

Run run(const vm::Code& code, const Words& input, const Words& expected) {
  vm::Machine machine;
  const bool ended = machine.run(code, {input, {}, {}, {}, {}}) == vm::Failure::none;
  return {ended && machine.output() == expected, machine.heights()};
}

std::string listed(const Words& words) {
  std::string out;
  for (const auto word : words) out += (out.empty() ? "" : " ") + std::to_string(word.value());
  return out;
}

std::string sentence(const DemoProgram& program) {
  const std::string padded =
      std::to_string(program.before.heights.padded()) + " to " + std::to_string(program.after.heights.padded());
  return "padded height " + padded + (program.halved() ? "" : ", WHICH IS NOT HALF OF IT") + " in " +
         duration_text(program.seconds) + "; " +
         (program.right() ? "both programs answer right on all of " : "WRONG ANSWERS among ") +
         counted(program.checks.size(), "input");
}

}  // namespace

ProgramProblem fibonacci_problem() {
  ProgramProblem out{
      "fibonacci_big", "The Fibonacci number F(n) in four words of 32 bits, lowest first", {}, {}, {}, {}};
  out.text = kDemoProgramTexts[0].text;
  out.built_for = {vm::Element(100)};
  for (const std::uint64_t n : {0, 1, 2, 40, 47, 48, 93, 94, 100, 150, 186}) out.checked.push_back({vm::Element(n)});
  out.answer = fibonacci_words;
  return out;
}

bool DemoProgram::right() const {
  return std::all_of(checks.begin(), checks.end(), [](const ProgramCheck& c) { return c.right(); });
}

Result<DemoProgram> run_demo_program(const ProgramProblem& problem) {
  DemoProgram out{problem.name, problem.meaning, {}, {}, {}, 0};
  const auto begin = std::chrono::steady_clock::now();
  TRY(const language::Program source, language::parse(ir::SourceText(problem.text, problem.name + ".tir")));
  const tasm::Program lowered = tir::lowering::lower(source);
  TRY(const tir::build::Built built, tir::build::build({.form = tir::build::Form::tir,
                                                        .name = problem.name + ".tir",
                                                        .text = problem.text,
                                                        .runs = {{.public_input = problem.built_for}}}));
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  vm::Code before, after;
  TRY_VOID(vm::load(lowered, before));
  TRY(const tasm::Program cheaper, tasm::assemble(ir::SourceText(built.tasm, problem.name + ".tasm")));
  TRY_VOID(vm::load(cheaper, after));
  // Measures the written text again; the figures of the search do not count.
  out.before = {run(before, problem.built_for, {}).heights, before.words()};
  out.after = {run(after, problem.built_for, {}).heights, after.words()};
  for (const Words& input : problem.checked) {
    ProgramCheck check{input, problem.answer(input)};
    const Run first = run(before, input, check.expected), second = run(after, input, check.expected);
    check.right_before = first.right, check.right_after = second.right;
    check.padded_before = first.heights.padded(), check.padded_after = second.heights.padded();
    out.checks.push_back(std::move(check));
  }
  return out;
}

std::string demo_program_text(const DemoProgram& program) {
  return "Triton VM, " + program.name + ": " + program.meaning + "\n" + heights_text(program.before, program.after) +
         program.name + ": " + sentence(program) + "\n";
}

std::string demo_program_html(const DemoProgram& program) {
  const std::vector<html::Series> series = {{"as lowered", 2}, {"made cheaper", 0}};
  std::vector<html::DotRow> rows;
  const auto add = [&](std::string_view name, std::uint64_t before, std::uint64_t after) {
    rows.push_back(
        {std::string(name), {static_cast<double>(before), static_cast<double>(after)}, change_text(before, after)});
  };
  for (std::size_t t = 0; t < vm::kTableCount; ++t)
    add(vm::kTableNames[t], program.before.heights.rows[t], program.after.heights.rows[t]);
  add("padded", program.before.heights.padded(), program.after.heights.padded());
  std::vector<std::vector<std::string>> cells;
  for (const ProgramCheck& check : program.checks)
    cells.push_back({listed(check.input), listed(check.expected), check.right_before ? "right" : "WRONG",
                     check.right_after ? "right" : "WRONG", std::to_string(check.padded_before),
                     std::to_string(check.padded_after)});
  return html::section("Triton VM: the nine tables of a program before and after",
                       program.meaning + ". A proof costs what the tallest table, padded to a power of two, costs: " +
                           sentence(program) + ".",
                       html::dot_chart(series, rows, "rows")) +
         html::section(
             "Triton VM: answers on other inputs",
             "The same two programs, held to plain C++; heights differ from input to input.",
             html::table({"input", "answer", "as lowered", "made cheaper", "padded as lowered", "padded made cheaper"},
                         cells));
}

}  // namespace trident::cli
