#include "jit/tir/language/interpreter.h"
#include "jit/tir/lowering/lowering.h"
#include "jit/tir/oracle/rows.h"

namespace trident::tir::oracle {
namespace {

/// Names of rows that are not operations of TIR, with their text, where $n is the n-th operand.
struct Named {
  std::string_view name, text;
  std::size_t operands;
};
constexpr Named kNamed[] = {
    {"Shl(field)", "shl", 2},
    {"Shl(u32 wrap)", "shl split swap 1 pop 1", 2},
    {"Pow(base,exp)", "pow", 2},
    {"as_u32", "split swap 1 push 0 eq assert 1", 1},
    {"RamWrite1 then RamRead1", "ram_write 1 push $0 ram_read 1", 2},
    {"Spill+Reload", "push 1073741824 write_mem 1 pop 1 push 1073741824 read_mem 1 pop 1", 1},
    {"IfElse", "if { push $then } else { push $else }", 1},
    {"IfOnly", "if { pop 1 push $then }", 2},
    {"Loop", "loop { swap 1 push 3 add swap 1 } pop 1", 2},
};

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

/// Returns the last constant that the subroutine at `label` pushes before it returns; its first is the machine's own.
std::string pushed_by(const tasm::Program& program, std::string_view label, bool first_of_two) {
  std::vector<std::string> pushes;
  for (const tasm::Mark& mark : program.marks) {
    if (mark.kind != tasm::Mark::Kind::label || mark.text != label) continue;
    for (std::size_t i = mark.instruction; program.instructions[i].op != tasm::Op::kReturn; ++i)
      if (program.instructions[i].op == tasm::Op::kPush)
        pushes.push_back(std::to_string(program.instructions[i].argument.value()));
  }
  if (first_of_two && pushes.size() > 1) pushes.pop_back();
  return pushes.empty() ? "0" : pushes.back();
}

/// Returns the operation's text and its number of operands; an empty text if no operation has the name.
std::pair<std::string, std::size_t> operation_named(const std::string& name) {
  for (const Named& named : kNamed)
    if (named.name == name) return {std::string(named.text), named.operands};
  const std::string base = name.substr(0, name.find('('));
  for (std::size_t i = 0; i < language::kOpCount; ++i) {
    const language::OpRow& row = language::row(static_cast<language::Op>(i));
    if (row.name == base && row.form == language::Form::none && row.tier > 0)
      return {std::string(row.text), row.takes.of(0)};
  }
  return {};
}

/// Returns the TIR of a row: its literal operands, the operation, its writes. Empty if the row has another form.
std::string tir_of(const Json& row, const tasm::Program& program) {
  auto [text, operands] = operation_named(row.at("tir_op").get<std::string>());
  const auto& all = program.instructions;
  if (text.empty() || all.size() <= operands) return "";
  std::string out;
  for (std::size_t i = 0; i < operands; ++i) {
    if (all[i].op != tasm::Op::kPush) return "";
    out += "push " + std::to_string(all[i].argument.value()) + " ";
  }
  text = replaced(text, "$0", std::to_string(all[0].argument.value()));
  text = replaced(text, "$then", pushed_by(program, "T", row.at("tir_op").get<std::string>() == "IfElse"));
  text = replaced(text, "$else", pushed_by(program, "E", false));
  out += text;
  // Its writes stand before the first halt.
  std::string writes;
  for (std::size_t i = 0; i < all.size() && all[i].op != tasm::Op::kHalt; ++i)
    if (all[i].op == tasm::Op::kWriteIo) writes += " write_io " + std::to_string(all[i].argument.value());
  return out + writes + " halt";
}

}  // namespace

void check_lowering(const Json& row, vm::Machine& machine, vm::Code& code, Verdict& verdict) {
  const auto source = row.at("program").get<std::string>();
  const auto given = tasm::assemble(ir::SourceText(source, verdict.name));
  if (!given) {
    verdict.wrong.push_back(given.error().message);
    return;
  }
  // Checks the row's own program against all that the row states: heights, stack, digest ...
  check_program(row, machine, code, verdict);
  const std::string text = tir_of(row, *given);
  if (text.empty()) {
    verdict.understood = false;
    return;
  }
  verdict.checked = 1;
  auto program = language::parse(ir::SourceText(text, verdict.name));
  if (!program) {
    verdict.wrong.push_back(program.error().message);
    return;
  }
  // The rows' body of `if` leaves one element more. A text may not do that, but lowering accepts it.
  for (language::Operation& operation : program->operations)
    if (operation.op == language::Op::kIfOnly) operation.body.erase(operation.body.begin());
  const bool fails = row.contains("error");
  const std::vector<Element> expected = elements(row.at("expected_output"));
  const auto compare_end = [&](const std::string& what, bool failed, const std::vector<Element>& output) {
    if (failed != fails) verdict.wrong.push_back(what + (failed ? " fails" : " does not fail"));
    if (!failed && !fails) compare(verdict, what + ": output", expected, output);
  };
  for (const bool passes : {false, true}) {
    const auto lowered =
        lowering::lower(*program, {.passes = passes ? lowering::PassSet::all() : lowering::PassSet::none()});
    if (const auto loaded = vm::load(lowered, code); !loaded) {
      verdict.wrong.push_back(loaded.error().message);
      return;
    }
    machine.run(code, {});
    compare_end(passes ? "lowered and shortened" : "lowered", machine.failure() != vm::Failure::none, machine.output());
  }
  constexpr std::uint64_t kOperationsMax = 1'000'000;
  const std::vector<Element> stack(tasm::kRegisters);
  const auto meant = language::interpret(*program, {{}, {}, {}, stack}, kOperationsMax);
  compare_end("interpreted", meant.end != language::Outcome::End::halted, meant.output);
}

}  // namespace trident::tir::oracle
