#include "clients/cli/triton/run_program.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>

#include "clients/cli/verb/verb.h"
#include "jit/tir/lowering/lowering.h"
#include "runtime/json/json.h"
#include "runtime/os/text_file.h"

namespace trident::cli {
namespace {

using field::Element;
using tir::vm::Machine;
using tir::vm::Table;
namespace tasm = tir::tasm;
namespace vm = tir::vm;

constexpr const char* kProgramOptions[] = {"--secret", "--digests", "--ram", "--vm", "--cycles", "--json"};
constexpr std::size_t kStackShown = 16;
constexpr std::string_view kTirEnding = ".tir";

/// An integer in (-p, p), with blanks around it or without: a shell's -1 gets one (command_line.cpp).
std::optional<Element> element_of(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value >= field::kModulus) return {};
  return negative ? -Element(value) : Element(value);
}

/// Reads numbers separated by commas, blanks or lines, from the text itself or from the file that it names. An empty
/// text has none; a comma must have a number on both sides.
Result<std::vector<Element>> elements_of(const char* option, const std::vector<std::string>& texts) {
  constexpr const char *kBlanks = " \t\r\n", *kBetween = ", \t\r\n";
  std::vector<Element> out;
  for (std::string text : texts) {
    const std::string given = text;
    if (text.find_first_not_of("0123456789-, \t") != std::string::npos) {
      TRY(text, os::read_text(text, limits::kTasmTextBytesMax));
    }
    bool wants_number = false;  // after a comma
    for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string::npos;) {
      const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
      const std::string word = text.substr(at, end - at);
      const auto value = element_of(word);
      if (word.empty())
        return make_error(ErrorCode::kInvalidArgument, "%s %s: a number is missing before a comma", option,
                          given.c_str());
      if (!value)
        return make_error(ErrorCode::kInvalidArgument, "%s %s: '%s' is no integer above -p and below p", option,
                          given.c_str(), word.c_str());
      out.push_back(*value);
      at = text.find_first_not_of(kBlanks, end);
      wants_number = at != std::string::npos && text[at] == ',';
      if (wants_number) at = text.find_first_not_of(kBlanks, at + 1);
    }
    if (wants_number)
      return make_error(ErrorCode::kInvalidArgument, "%s %s: a number is missing after the last comma", option,
                        given.c_str());
  }
  return out;
}

Result<std::vector<field::Digest>> digests_of(const std::vector<std::string>& texts) {
  TRY(const std::vector<Element> words, elements_of("--digests", texts));
  if (words.size() % field::kDigestWords != 0)
    return make_error(ErrorCode::kInvalidArgument, "--digests: %zu words, but a digest has %zu", words.size(),
                      field::kDigestWords);
  std::vector<field::Digest> out(words.size() / field::kDigestWords);
  for (std::size_t i = 0; i < words.size(); ++i) out[i / field::kDigestWords][i % field::kDigestWords] = words[i];
  return out;
}

Result<std::vector<std::pair<Element, Element>>> ram_of(const std::vector<std::string>& texts) {
  std::vector<std::pair<Element, Element>> out;
  std::set<std::uint64_t> given;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto address = element_of(text.substr(0, equals));
    if (equals == std::string::npos || !address)
      return make_error(ErrorCode::kInvalidArgument,
                        "--ram %s: expected address=words, as 5=1,2 or -1=7: integers above -p and below p",
                        text.c_str());
    TRY(const std::vector<Element> words, elements_of("--ram", {text.substr(equals + 1)}));
    if (words.empty())
      return make_error(ErrorCode::kInvalidArgument, "--ram %s: no words for the address", text.c_str());
    Element at = *address;
    for (const Element word : words) {
      if (!given.insert(at.value()).second)
        return make_error(ErrorCode::kInvalidArgument, "--ram %s: address %s has a word already", text.c_str(),
                          std::to_string(at.value()).c_str());
      out.emplace_back(at, word), at += field::kOne;
    }
  }
  return out;
}

std::string joined(std::span<const Element> list) {
  std::string out;
  for (const Element e : list) out += " " + std::to_string(e.value());
  return out;
}

void print_text(const Machine& machine, const vm::Code& code) {
  const vm::Heights heights = machine.heights();
  std::vector<Element> stack(machine.stack().rbegin(), machine.stack().rend());
  const std::size_t deeper = stack.size() - std::min(stack.size(), kStackShown);
  stack.resize(stack.size() - deeper);
  std::printf("output%s\nstack %s", joined(machine.output()).c_str(), joined(stack).c_str());
  if (deeper > 0) std::printf(" and %zu below", deeper);
  std::printf("\ncycles %llu, words %u\n\n", static_cast<unsigned long long>(machine.cycles()), code.words());
  if (machine.failure() != vm::Failure::none) return;
  std::printf("table             rows\n");
  for (std::size_t t = 0; t < vm::kTableCount; ++t)
    std::printf("%-11s %10llu%s\n", std::string(vm::kTableNames[t]).c_str(),
                static_cast<unsigned long long>(heights.rows[t]),
                static_cast<Table>(t) == heights.tallest() ? "  decides" : "");
  std::printf("padded      %10llu\n", static_cast<unsigned long long>(heights.padded()));
}

void print_json(const Machine& machine, const vm::Code& code) {
  const auto list = [](const auto& range) {
    auto out = Json::array();
    for (const Element e : range) out.push_back(e.value());
    return out;
  };
  Json json;
  const bool ended = machine.failure() == vm::Failure::none;
  json["failure"] = ended ? Json() : Json(vm::name_of(machine.failure()));
  json["output"] = list(machine.output());
  json["stack"] = list(std::vector<Element>(machine.stack().rbegin(), machine.stack().rend()));
  json["cycles"] = machine.cycles();
  json["words"] = code.words();
  json["digest"] = list(code.digest);
  if (ended) {
    const vm::Heights heights = machine.heights();
    for (std::size_t t = 0; t < vm::kTableCount; ++t)
      json["heights"][std::string(vm::kTableNames[t])] = heights.rows[t];
    json["tallest"] = vm::kTableNames[static_cast<std::size_t>(heights.tallest())];
    json["padded_height"] = heights.padded();
  }
  std::printf("%s\n", json.dump(2).c_str());
}

/// Describes a failure, with the number that the program gives to a failed assertion.
std::string failure_text(const Machine& machine, const tasm::Program& program) {
  std::string out = machine.failure_text();
  const bool assertion =
      machine.failure() == vm::Failure::kAssertionFailed || machine.failure() == vm::Failure::kVectorAssertionFailed;
  for (const tasm::Mark& mark : program.marks)
    if (assertion && mark.kind == tasm::Mark::Kind::error_id && mark.instruction == machine.step() + 1)
      out += " (error_id " + mark.text + ")";
  return out;
}

}  // namespace

bool is_tir(const std::string& file) {
  return file.ends_with(kTirEnding);
}

bool names_program(const std::string& operand) {
  if (operand.ends_with(".tasm") || is_tir(operand)) return true;
  std::error_code code;
  return std::filesystem::exists(operand, code) && !std::filesystem::is_directory(operand, code);
}

tasm::Vm machine_named(const std::string& name) {
  return name == tasm::kVmNames[static_cast<std::size_t>(tasm::Vm::next)] ? tasm::Vm::next : tasm::Vm::released;
}

void add_machine_option(Verb verb, std::string& name) {
  verb.add_option("--vm", name, "Version of Triton VM: 7 (1.0.0 to 7.0.0) or next (main since June 2026)")
      .check(one_of(std::vector<std::string>(std::begin(tasm::kVmNames), std::end(tasm::kVmNames))))
      .capture_default_str();
}

void add_program_options(Verb verb, ProgramRun& run) {
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* description) {
    verb.add_option(name, values, description).take_all().expected(1).allow_extra_args(false);
  };
  list("--secret", run.secret_input, "Secret words, a list or FILE; repeatable");
  list("--digests", run.digests, "Secret digests of five words, a list or FILE; repeatable");
  list("--ram", run.ram, "First contents of RAM, address=words; repeatable");
  verb.add_option("--cycles", run.cycles, "Most cycles to run").check(negative_fault).default_val(limits::kVmCycles);
  add_machine_option(verb, run.vm);
  verb.add_flag("--json", run.json, "Print one JSON object, not text");
}

void group_program_options(Verb verb) {
  for (const char* name : kProgramOptions) verb.option(name).group("Options of programs");
}

Error with_reading(const std::string& operand, Error error) {
  if (!error.message.starts_with(operand + ":") || operand.ends_with(".tasm") || is_tir(operand)) return error;
  error.message += "\ntrident: " + operand + " is a file here, so it was read as a program in TASM; write '(" +
                   operand + ")' for the expression";
  return error;
}

Result<void> check_options_fit(Verb verb, bool program) {
  for (const std::string& name : verb.given()) {
    if (name == "--input") continue;
    const bool of_programs =
        std::find(std::begin(kProgramOptions), std::end(kProgramOptions), name) != std::end(kProgramOptions);
    if (of_programs != program)
      return make_error(ErrorCode::kInvalidArgument, "%s is about %s", name.c_str(),
                        of_programs ? "programs, which are files" : "expressions, not programs");
  }
  return {};
}

Result<ProgramText> read_program(const std::string& file, tasm::Vm machine, tir::lowering::PassSet passes) {
  ProgramText out;
  out.file = file;
  TRY(out.text, os::read_text(file, limits::kTasmTextBytesMax));
  const ir::SourceText source(out.text, out.file);
  if (is_tir(file)) {
    TRY(const tir::language::Program program, tir::language::parse(source, machine));
    out.program = tir::lowering::lower(program, {.passes = passes});
    TRY_VOID(tasm::check_vm(out.program, source, machine));
  } else {
    TRY(out.program, tasm::assemble(source, machine));
  }
  return out;
}

Result<ProgramInputs> read_inputs(const ProgramRun& run) {
  ProgramInputs out;
  TRY(out.public_input, elements_of("--input", run.public_input));
  TRY(out.secret_input, elements_of("--secret", run.secret_input));
  TRY(out.digests, digests_of(run.digests));
  TRY(out.ram, ram_of(run.ram));
  return out;
}

Result<std::unique_ptr<LoadedProgram>> load_program(const ProgramRun& run, tir::lowering::PassSet passes) {
  auto out = std::make_unique<LoadedProgram>();
  TRY(static_cast<ProgramText&>(*out), read_program(run.file, machine_named(run.vm), passes));
  TRY(static_cast<ProgramInputs&>(*out), read_inputs(run));
  TRY_VOID(vm::load(out->program, out->code));
  return out;
}

void LoadedProgram::report_failure(const Machine& machine) const {
  const std::size_t offset = machine.step() < program.offsets.size() ? program.offsets[machine.step()] : text.size();
  std::fprintf(stderr, "trident: %s\n",
               ir::SourceText(text, file).caret_message(offset, failure_text(machine, program)).c_str());
}

Result<int> run_program(const ProgramRun& run) {
  TRY(const auto loaded, load_program(run));
  vm::Budget budget;
  budget.cycles = run.cycles;
  Machine machine;
  machine.run(loaded->code, loaded->inputs(), budget);
  if (run.json)
    print_json(machine, loaded->code);
  else
    print_text(machine, loaded->code);
  if (machine.failure() == vm::Failure::none) return 0;
  loaded->report_failure(machine);
  return kExitWrong;
}

}  // namespace trident::cli
