#include "jit/tir/oracle/rows.h"

namespace trident::tir::oracle {
namespace {

using vm::Failure;

/// Returns an error's variant: "OpStackError(TooShallow)" for itself and for "OpStackError(TooShallow(3))",
/// "AssertionFailed" for "AssertionFailed(AssertionError {..})". Errors of the stack keep their inner name.
std::string variant(const std::string& error) {
  constexpr std::string_view kNested = "OpStackError(";
  const std::size_t from = error.starts_with(kNested) ? kNested.size() : 0;
  return error.substr(0, std::min(error.find_first_of("({ )", from), error.size()));
}

std::vector<Element> top_first(std::span<const Element> stack) {
  return {stack.rbegin(), stack.rend()};
}

std::vector<Element> flat(const std::vector<std::pair<Element, Element>>& pairs) {
  std::vector<Element> out;
  for (const auto& [address, word] : pairs) out.push_back(address), out.push_back(word);
  return out;
}

std::vector<std::pair<Element, Element>> memory(const Json& list) {
  std::vector<std::pair<Element, Element>> out;
  for (const Json& pair : list) {
    const auto both = element_array<2>(pair);
    out.emplace_back(both[0], both[1]);
  }
  return out;
}

void check_text(const Json& row, const tasm::Program& program, const vm::Code& code, Verdict& verdict) {
  if (row.contains("program_words"))
    compare(verdict, "words", row.at("program_words").get<std::uint64_t>(), program.words());
  if (row.contains("program_encoding"))
    compare(verdict, "encoding", elements(row.at("program_encoding")), tasm::encode(program));
  if (row.contains("program_digest"))
    compare(verdict, "digest", elements(row.at("program_digest")), listed(code.digest));
}

/// Compares the heights with the row's.
void check_heights(const Json& row, const vm::Machine& machine, const vm::Code& code, Verdict& verdict) {
  const vm::Heights heights = machine.heights();
  if (row.contains("heights")) {
    std::size_t named = 0;
    for (std::size_t t = 0; t < vm::kTableCount; ++t) {
      const std::string name(vm::kTableNames[t]);
      if (!row.at("heights").contains(name)) continue;
      ++named;
      compare(verdict, "height of " + name, row.at("heights").at(name).get<std::uint64_t>(), heights.rows[t]);
    }
    if (named == 0) verdict.wrong.emplace_back("heights: none of the nine tables is named");
  }
  if (row.contains("padded_height") && !row.at("padded_height").is_null())
    compare(verdict, "padded height", row.at("padded_height").get<std::uint64_t>(), heights.padded());
  if (row.contains("u32_entries"))
    compare(verdict, "u32 entries", row.at("u32_entries").get<std::uint64_t>(), machine.u32_entries());
  if (!row.contains("hash_rows")) return;
  std::uint64_t hash = 0, sponge = 0;
  for (std::size_t i = 0; i < code.steps.size(); ++i) {
    const tasm::InstructionRow& r = tasm::row(code.steps[i].op);
    ((r.effects & tasm::kSponge) != 0 ? sponge : hash) += machine.executions()[i] * r.hash_rows;
  }
  compare(verdict, "hash rows of hash", row.at("hash_rows").at("hash").get<std::uint64_t>(), hash);
  compare(verdict, "hash rows of the sponge", row.at("hash_rows").at("sponge").get<std::uint64_t>(), sponge);
  compare(verdict, "hash rows of the program", row.at("hash_rows").at("program_hash").get<std::uint64_t>(),
          heights.of(vm::Table::hash) - hash - sponge);
}

void check_end(const Json& row, const vm::Machine& machine, Verdict& verdict) {
  if (row.contains("final_ram")) {
    auto expected = memory(row.at("final_ram"));
    std::sort(expected.begin(), expected.end(),
              [](const auto& a, const auto& b) { return a.first.value() < b.first.value(); });
    compare(verdict, "RAM", flat(expected), flat(machine.ram()));
  }
  if (!row.contains("sponge_state")) return;
  std::vector<Element> expected, found;
  if (!row.at("sponge_state").is_null()) expected = elements(row.at("sponge_state"));
  if (machine.sponge())
    for (std::size_t i = 0; i < field::kTip5Width; ++i) found.push_back(machine.sponge()->word(i));
  compare(verdict, "sponge", expected, found);
}

}  // namespace

void check_program(const Json& row, vm::Machine& machine, vm::Code& code, Verdict& verdict) {
  verdict.checked = 1;
  const auto source = row.at("program").get<std::string>();
  const std::string error = row.contains("error") ? row.at("error").get<std::string>() : "";
  const auto program = tasm::assemble(ir::SourceText(source, verdict.name));
  if (!program || error == "parse_error") {
    if (program)
      verdict.wrong.push_back("the real machine refuses this text");
    else if (error != "parse_error")
      verdict.wrong.push_back(program.error().message);
    return;
  }
  if (const auto loaded = vm::load(*program, code); !loaded) {
    verdict.wrong.push_back(loaded.error().message);
    return;
  }
  const auto list = [&](const char* key) { return row.contains(key) ? elements(row.at(key)) : std::vector<Element>(); };
  const std::vector<Element> public_input = list("public_input"), secret_input = list("secret_input");
  std::vector<field::Digest> digests;
  if (row.contains("secret_digests"))
    for (const Json& digest : row.at("secret_digests")) digests.push_back(element_array<field::kDigestWords>(digest));
  const auto ram = row.contains("ram") ? memory(row.at("ram")) : std::vector<std::pair<Element, Element>>();
  machine.run(code, {public_input, secret_input, digests, ram, {}});

  const std::string failure(vm::name_of(machine.failure()));
  const std::string expected = variant(error), found = variant(failure);
  // "OpStackError" alone does not say which one.
  if (expected != (expected.find('(') == std::string::npos ? found.substr(0, found.find('(')) : found))
    verdict.wrong.push_back("failure: expected " + (error.empty() ? "none" : error) + ", found " +
                            (failure.empty() ? "none" : machine.failure_text()));
  check_text(row, *program, code, verdict);
  if (row.contains("cycle_count"))
    compare(verdict, "cycles", row.at("cycle_count").get<std::uint64_t>(), machine.cycles());
  if (row.contains("expected_output"))
    compare(verdict, "output", elements(row.at("expected_output")), machine.output());
  if (row.contains("final_stack"))
    compare(verdict, "stack", elements(row.at("final_stack")), top_first(machine.stack()));
  if (row.contains("instruction_pointer"))
    compare(verdict, "instruction pointer", row.at("instruction_pointer").get<std::uint64_t>(), machine.address());
  check_end(row, machine, verdict);
  check_heights(row, machine, code, verdict);
}

}  // namespace trident::tir::oracle
