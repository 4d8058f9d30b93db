// `trident build`: a program of Triton VM made cheaper to prove.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "clients/cli/commands.h"
#include "clients/cli/interrupt.h"
#include "clients/cli/progress_bar.h"
#include "clients/cli/run_program.h"
#include "jit/tir/tournament/tournament.h"

namespace trident::cli {
namespace {

using nlohmann::ordered_json;
using tir::tournament::Outcome;
using tir::vm::Heights;
namespace tournament = tir::tournament;
namespace vm = tir::vm;

struct BuildVerb {
  ProgramRun program;
  std::string output;
  std::vector<std::string> disabled;
  unsigned ms = 10'000;
  std::size_t scores = 600;
  bool explain = false;
};

constexpr const char* kStages[] = {"peepholes", "subroutines", "superoptimiser"};

/// program.tir -> program.tasm, program.tasm -> program.opt.tasm, beside it.
std::string default_output(const std::string& file) {
  const std::size_t dot = file.rfind('.');
  const std::string stem = file.substr(0, dot);
  return stem + (file.substr(dot == std::string::npos ? file.size() : dot) == ".tasm" ? ".opt.tasm" : ".tasm");
}

std::string text_of(std::span<const tir::tasm::Instruction> block) {
  std::string out;
  for (const auto& instruction : block) out += (out.empty() ? "" : " ") + tir::tasm::print(instruction);
  return out.empty() ? "(nothing)" : out;
}

std::string_view tallest(const Heights& heights) {
  return vm::kTableNames[static_cast<std::size_t>(heights.tallest())];
}

void print_heights(const Outcome& outcome) {
  const Heights &before = outcome.heights_before[0], &after = outcome.heights_after[0];
  std::printf("%-11s %12s %12s %9s\n", "table", "before", "after", "");
  for (std::size_t t = 0; t < vm::kTableCount; ++t) {
    std::printf("%-11s %12llu %12llu", std::string(vm::kTableNames[t]).c_str(),
                static_cast<unsigned long long>(before.rows[t]), static_cast<unsigned long long>(after.rows[t]));
    if (before.rows[t] != after.rows[t])
      std::printf(" %+8.1f %%",
                  100 * (static_cast<double>(after.rows[t]) / std::max(1.0, static_cast<double>(before.rows[t])) - 1));
    const bool decided = t == static_cast<std::size_t>(before.tallest());
    const bool decides = t == static_cast<std::size_t>(after.tallest());
    std::printf("%s\n", decided && decides ? "  decides" : decided ? "  decided" : decides ? "  decides now" : "");
  }
  std::printf("%-11s %12llu %12llu\n", "padded", static_cast<unsigned long long>(before.padded()),
              static_cast<unsigned long long>(after.padded()));
  std::printf("%-11s %12u %12u\n", "words", outcome.before.words, outcome.after.words);
}

void explain(const Outcome& outcome, const ProgramText& source) {
  std::printf("\n");
  for (const std::string& change : outcome.subroutine_changes) std::printf("subroutines: %s\n", change.c_str());
  for (const tournament::Change& change : outcome.changes)
    std::printf("%s: %s\n  was     %s\n  becomes %s\n", source.file.c_str(), change.proposer.c_str(),
                text_of(change.before).c_str(), text_of(change.after).c_str());
  for (const tournament::Tally& tally : outcome.tallies)
    std::printf("%s: %zu blocks proposed, %zu proven equal, %zu differ, %zu not decided, %zu won\n", tally.name.c_str(),
                tally.proposed, tally.equal, tally.differ, tally.unknown, tally.won);
  std::printf("whole programs run: %zu\n", outcome.scored);
}

ordered_json heights_json(const Heights& heights) {
  ordered_json out;
  for (std::size_t t = 0; t < vm::kTableCount; ++t) out[std::string(vm::kTableNames[t])] = heights.rows[t];
  out["tallest"] = tallest(heights);
  out["padded"] = heights.padded();
  return out;
}

void print_json(const Outcome& outcome, const std::string& output) {
  ordered_json out;
  out["output"] = output;
  out["before"] = heights_json(outcome.heights_before[0]);
  out["before"]["words"] = outcome.before.words;
  out["after"] = heights_json(outcome.heights_after[0]);
  out["after"]["words"] = outcome.after.words;
  out["subroutine_changes"] = outcome.subroutine_changes;
  out["changes"] = ordered_json::array();
  for (const tournament::Change& change : outcome.changes)
    out["changes"].push_back(
        {{"by", change.proposer}, {"before", text_of(change.before)}, {"after", text_of(change.after)}});
  out["proposers"] = ordered_json::array();
  for (const tournament::Tally& t : outcome.tallies)
    out["proposers"].push_back({{"name", t.name},
                                {"proposed", t.proposed},
                                {"equal", t.equal},
                                {"differ", t.differ},
                                {"unknown", t.unknown},
                                {"won", t.won}});
  out["programs_run"] = outcome.scored;
  std::printf("%s\n", out.dump(2).c_str());
}

Result<int> build(const BuildVerb& verb) {
  const auto enabled = [&](const char* stage) {
    return std::find(verb.disabled.begin(), verb.disabled.end(), stage) == verb.disabled.end();
  };
  const auto passes = enabled(kStages[0]) ? tir::lowering::PassSet::all() : tir::lowering::PassSet::none();
  TRY(const auto loaded, load_program(verb.program, passes));
  tournament::Options options;
  options.budget.cycles = verb.program.cycles;
  options.peepholes = enabled(kStages[0]);
  options.subroutines = enabled(kStages[1]);
  options.time = std::chrono::milliseconds(verb.ms);
  options.scores_max = verb.scores;
  vm::Machine machine;
  if (machine.run(loaded->code, loaded->inputs(), options.budget) != vm::Failure::none) {
    loaded->report_failure(machine);
    std::fprintf(
        stderr,
        "trident: a program is built for inputs with which it ends well: --input, --secret, --digests, --ram\n");
    return kExitWrong;
  }
  note_interrupts();
  std::optional<ProgressBar> bar(std::in_place, "building", std::size_t{1000});
  options.progress = [&](double done) {
    bar->update(static_cast<std::size_t>(1000 * done));
    return check_interrupted().ok();
  };
  std::vector<tournament::Proposer> proposers;
  if (enabled(kStages[2])) proposers.push_back(tournament::superoptimiser());
  const vm::Inputs sample = loaded->inputs();
  TRY(const Outcome outcome, tournament::optimise(loaded->program, std::span(&sample, 1), proposers, options));
  bar.reset();
  TRY_VOID(check_interrupted());
  const std::string output = verb.output.empty() ? default_output(verb.program.file) : verb.output;
  if (output == verb.program.file)
    return make_error(ErrorCode::kInvalidArgument, "%s: the output would take the place of the program",
                      output.c_str());
  TRY_VOID(write_text(output, tir::tasm::print(outcome.program)));
  if (output == "-") return 0;
  if (verb.program.json) {
    print_json(outcome, output);
    return 0;
  }
  print_heights(outcome);
  if (verb.explain) explain(outcome, *loaded);
  std::printf("\n%s\n", output.c_str());
  return 0;
}

}  // namespace

void add_build_command(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("build", "Make a program of Triton VM cheaper to prove");
  auto options = std::make_shared<BuildVerb>();
  verb->add_option("FILE", options->program.file, "TIR in a .tir, or TASM")->required();
  verb->add_option("-o,--output", options->output, "Where to write the TASM, - for standard output and nothing else")
      ->check(file_name_fault, "", "");
  verb->add_option("--input", options->program.public_input, "Public words, a list or FILE; may be repeated")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  add_program_options(*verb, options->program);
  verb->add_option("--disable", options->disabled, "Leave a stage out: peepholes, subroutines or superoptimiser")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kStages), std::end(kStages))))
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  verb->add_option("--ms", options->ms, "Most milliseconds to search")
      ->check(negative_fault, "", "")
      ->capture_default_str();
  verb->add_option("--programs", options->scores, "Most whole programs to run")
      ->check(negative_fault, "", "")
      ->capture_default_str();
  verb->add_flag("--explain", options->explain, "Say what was changed, and what was proposed, proven and won");
  verb->callback([options, &status] {
    const auto code = build(*options);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
