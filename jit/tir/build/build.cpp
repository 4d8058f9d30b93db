#include "jit/tir/build/build.h"

#include <array>

#include "jit/tir/lowering/lowering.h"
#include "jit/tir/neural/network.h"
#include "jit/tir/neural/propose.h"
#include "jit/tir/neural/shipped_weights.h"
#include "jit/tir/tasm/blocks.h"
#include "jit/tir/tournament/proven_peepholes.h"
#include "runtime/json/json.h"

namespace trident::tir::build {
namespace {

/// Least time for the lowering of TIR, however little time the search has.
constexpr std::chrono::milliseconds kPeepholesMin{200};

/// A request's program, and the other form in which a text of TIR is lowered.
struct Given {
  tasm::Program program;
  std::vector<tasm::Program> other_starts{};
};

Result<Given> given_by(const Request& request, const std::function<bool()>& stop) {
  const ir::SourceText source(request.text, request.name);
  if (request.form == Form::tasm) {
    TRY(tasm::Program program, tasm::assemble(source, request.machine));
    TRY_VOID(check_size(request, program));
    return Given{std::move(program)};
  }
  TRY(const language::Program tir, language::parse(source, request.machine));
  tasm::Program lowered = lowering::lower(tir, {.passes = lowering::PassSet::none()});
  TRY_VOID(tasm::check_vm(lowered, source, request.machine));
  TRY_VOID(check_size(request, lowered));
  if (!request.has(Stage::peepholes)) return Given{std::move(lowered)};
  const std::chrono::milliseconds time(request.milliseconds);
  tasm::Program shorter = tournament::ProvenPeepholes(std::max(time / 4, kPeepholesMin), stop).of(lowered);
  if (tasm::same(shorter, lowered)) return Given{std::move(lowered)};
  return Given{std::move(shorter), {std::move(lowered)}};
}

std::vector<vm::Inputs> samples_of(const Request& request) {
  std::vector<vm::Inputs> out;
  for (const Run& run : request.runs) out.push_back(run.inputs());
  return out;
}

/// Fails with the place in the program unless every run ends well.
Result<void> try_out(const Request& request, const tasm::Program& program, const vm::Budget& budget) {
  vm::Code code;
  TRY_VOID(vm::load(program, code));
  vm::Machine machine;
  const std::vector<vm::Inputs> samples = samples_of(request);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (machine.run(code, samples[i], budget) == vm::Failure::none) continue;
    const std::size_t step = machine.step();
    const std::size_t offset = step < program.offsets.size() ? program.offsets[step] : request.text.size();
    const std::string which = samples.size() == 1 ? "" : " (run " + std::to_string(i + 1) + ")";
    return ir::SourceText(request.text, request.name)
        .error(offset, machine.failure_text() + which, ErrorCode::kInvalidArgument);
  }
  return {};
}

std::string text_of(std::span<const tasm::Instruction> block) {
  std::string out;
  for (const tasm::Instruction& instruction : block) out += (out.empty() ? "" : " ") + tasm::print(instruction);
  return out;
}

std::string report_of(const tournament::Outcome& outcome) {
  Json out;
  out["subroutine_changes"] = outcome.subroutine_changes;
  out["changes"] = Json::array();
  for (const tournament::Change& change : outcome.changes)
    out["changes"].push_back(
        {{"by", change.proposer}, {"before", text_of(change.before)}, {"after", text_of(change.after)}});
  out["proposers"] = Json::array();
  for (const tournament::Tally& t : outcome.tallies)
    out["proposers"].push_back({{"name", t.name},
                                {"proposed", t.proposed},
                                {"equal", t.equal},
                                {"differ", t.differ},
                                {"unknown", t.unknown},
                                {"won", t.won}});
  out["programs_run"] = outcome.scored;
  out["put_aside"] = outcome.put_aside;
  out["looks_at_digest"] = outcome.looks_at_digest;
  for (std::size_t i = 0; i < outcome.heights_after.size(); ++i)
    out["runs"].push_back({{"before", std::to_array(outcome.heights_before[i].rows)},
                           {"after", std::to_array(outcome.heights_after[i].rows)}});
  return out.dump();
}

}  // namespace

Result<void> check_size(const Request& request, const tasm::Program& program) {
  if (const std::uint32_t words = program.words(); words > limits::kBuildWordsMax)
    return make_error(ErrorCode::kLimitExceeded, "%s: the program has %u words; a program to build has at most %u",
                      request.name.c_str(), words, limits::kBuildWordsMax);
  if (const std::size_t bytes = tasm::print(program).size(); bytes > request.text_max)
    return make_error(ErrorCode::kLimitExceeded, "%s: the program's text takes %zu bytes, more than the limit of %zu",
                      request.name.c_str(), bytes, request.text_max);
  return {};
}

bool Built::cheaper() const {
  const auto score = [](const vm::Heights& heights, std::uint32_t words) {
    tournament::Score out{.words = words};
    out.add(heights);
    return out;
  };
  return score(after, words_after) < score(before, words_before);
}

std::vector<neural::BlockRecord> Built::records() const {
  std::vector<neural::BlockRecord> out;
  for (const tournament::Studied& each : studied)
    out.push_back({each.block, each.best, tasm::words(each.block), tasm::words(each.best)});
  return out;
}

void Built::cut_report() {
  Json out = Json::parse(report);  // our own
  out["subroutine_changes"] = out["changes"] = Json::array();
  out["cut"] = true;
  report = out.dump();
}

Result<Built> build(const Request& request, const std::function<bool(double)>& progress,
                    const neural::Weights* weights) {
  if (request.runs.empty() || request.runs.size() > limits::kBuildRunsMax)
    return make_error(ErrorCode::kLimitExceeded, "%s: expected 1 to %zu runs to measure the program on, not %zu",
                      request.name.c_str(), request.runs.size(), limits::kBuildRunsMax);
  tournament::Options options;
  options.budget.cycles = request.cycles;
  options.peepholes = request.has(Stage::peepholes);
  options.subroutines = request.has(Stage::subroutines);
  options.scores_max = request.programs;
  options.time = std::chrono::milliseconds(request.milliseconds);
  // Lowering tells too; the share that is shown never goes back.
  double shown = 0;
  bool goes_on = true;  // a callback that has returned false is not asked again
  const auto tell = [&](double done) {
    shown = std::max(shown, done);
    goes_on = goes_on && (!progress || progress(shown));
    return goes_on;
  };
  options.progress = tell;
  TRY(const Given given, given_by(request, [&] { return !tell(0); }));
  TRY_VOID(try_out(request, given.program, options.budget));
  options.other_starts = given.other_starts;
  std::vector<tournament::Proposer> proposers;
  if (request.has(Stage::superoptimiser)) proposers.push_back(tournament::superoptimiser());
  std::optional<neural::Network> network;
  if (request.has(Stage::network)) {
    network.emplace(weights != nullptr ? *weights : neural::shipped_weights());
    proposers.push_back({kStageNames[static_cast<std::size_t>(Stage::network)].data(),
                         [&](std::span<const tasm::Instruction> block, const tournament::Stop& stop) {
                           return neural::propose(*network, block, {.stop = stop});
                         }});
  }
  const std::vector<vm::Inputs> samples = samples_of(request);
  TRY(tournament::Outcome outcome, tournament::optimise(given.program, samples, proposers, options));
  std::string text = tasm::print(outcome.program);
  const auto read = tasm::assemble(ir::SourceText(text), request.machine);
  if (!read || read->instructions != outcome.program.instructions)
    return make_error(ErrorCode::kInternal, "%s: the result's printed text assembles to another program",
                      request.name.c_str());
  return Built{.tasm = std::move(text),
               .before = outcome.heights_before[0],
               .after = outcome.heights_after[0],
               .words_before = outcome.before.words,
               .words_after = outcome.after.words,
               .runs = samples.size(),
               .report = report_of(outcome),
               .studied = std::move(outcome.studied)};
}

}  // namespace trident::tir::build
