#include "jit/tir/equiv/equiv.h"
#include "jit/tir/oracle/rows.h"

namespace trident::tir::oracle {
namespace {

/// Height of the stack when the real machine judged pairs: 14 elements above the 16 at the start.
constexpr std::size_t kStackMin = 16 + 14;

std::string name_of(equiv::Answer answer) {
  if (answer == equiv::Answer::equal) return "equal";
  return answer == equiv::Answer::differs ? "differs" : "unknown";
}

Result<std::vector<tasm::Instruction>> block_of(const Json& row, const char* key) {
  const auto text = row.at(key).get<std::string>();
  TRY(tasm::Program program, tasm::assemble(ir::SourceText(text, key)));
  return std::move(program.instructions);
}

/// Checks the difference that the real machine saw, if the row has its state.
void check_witness(const Json& row, equiv::Pair& pair, Verdict& verdict) {
  if (!row.contains("witness_stack_bottom_first")) return;
  equiv::State state;
  state.stack = elements(row.at("witness_stack_bottom_first"));
  state.stack.insert(state.stack.begin(), tasm::kRegisters, Element());
  if (row.contains("public_input")) state.public_input = elements(row.at("public_input"));
  if (row.contains("secret_input")) state.secret_input = elements(row.at("secret_input"));
  if (pair.difference(state).empty()) verdict.wrong.emplace_back("witness: expected a difference, found none");
}

}  // namespace

void check_pair(const Json& row, Verdict& verdict) {
  const bool equivalent = row.at("equivalent").get<bool>();
  const auto baseline = block_of(row, "baseline"), candidate = block_of(row, "candidate");
  verdict.checked = 1;
  for (const auto* block : {&baseline, &candidate})
    if (!block->ok()) {
      verdict.wrong.push_back(block->error().message);
      return;
    }
  equiv::Options options;
  options.stack_min = kStackMin;
  const equiv::Decision decision = equiv::decide(*baseline, *candidate, options);
  if (decision.answer != (equivalent ? equiv::Answer::equal : equiv::Answer::differs))
    verdict.wrong.push_back(std::string("expected ") + (equivalent ? "equal" : "differs") + ", found " +
                            name_of(decision.answer) + (decision.reason.empty() ? "" : ": " + decision.reason));
  equiv::Pair pair(*baseline, *candidate);
  if (pair.runnable()) check_witness(row, pair, verdict);
}

}  // namespace trident::tir::oracle
