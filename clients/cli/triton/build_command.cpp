// `trident build`: a program of Triton VM made cheaper to prove.
#include <cstdio>
#include <filesystem>
#include <optional>

#include "clients/c/peer.h"
#include "clients/c/program.h"
#include "clients/cli/triton/commands.h"
#include "clients/cli/triton/heights_text.h"
#include "clients/cli/triton/program_runs.h"
#include "clients/cli/triton/run_program.h"
#include "clients/cli/verb/verb.h"
#include "jit/tir/build/runs.h"
#include "jit/tir/neural/left_blocks.h"
#include "runtime/json/json.h"
#include "runtime/os/interrupt.h"
#include "runtime/report/progress_bar.h"
#include "runtime/store/state_folder.h"

namespace trident::cli {
namespace {

using tir::build::Built;
using tir::vm::Heights;
namespace build = tir::build;
namespace vm = tir::vm;

struct BuildVerb {
  ProgramRun program;
  std::vector<std::string> runs, run_files;
  std::string output, mode = "auto", socket;
  std::vector<std::string> disabled;
  unsigned ms = 10'000, programs = 600;
  bool explain = false;
};

/// program.tir -> program.tasm, program.tasm -> program.opt.tasm, beside it.
std::string default_output(const std::string& file) {
  const std::filesystem::path path(file);
  return std::filesystem::path(path).replace_extension(path.extension() == ".tasm" ? ".opt.tasm" : ".tasm").string();
}

std::string_view tallest(const Heights& heights) {
  return vm::kTableNames[static_cast<std::size_t>(heights.tallest())];
}

/// The report of jit/tir/build for people.
void explain(const Json& report) {
  const auto text = [](const Json& block) {
    const std::string words = block.get<std::string>();
    return words.empty() ? "(nothing)" : words;
  };
  std::printf("\n");
  for (const auto& change : report.at("subroutine_changes"))
    std::printf("subroutines: %s\n", change.get<std::string>().c_str());
  for (const auto& change : report.at("changes"))
    std::printf("%s\n  was     %s\n  becomes %s\n", change.at("by").get<std::string>().c_str(),
                text(change.at("before")).c_str(), text(change.at("after")).c_str());
  if (report.value("cut", false)) std::printf("the list of changes does not fit into a message of the daemon\n");
  for (const auto& by : report.at("proposers"))
    std::printf("%s: %zu blocks proposed, %zu proven equal, %zu differ, %zu not decided, %zu won\n",
                by.at("name").get<std::string>().c_str(), by.at("proposed").get<std::size_t>(),
                by.at("equal").get<std::size_t>(), by.at("differ").get<std::size_t>(),
                by.at("unknown").get<std::size_t>(), by.at("won").get<std::size_t>());
  std::printf("whole programs run: %zu\n", report.at("programs_run").get<std::size_t>());
}

/// Prints the report's warnings to standard error.
void warn(const Json& report) {
  if (report.value("looks_at_digest", false))
    std::fprintf(stderr,
                 "trident: note: this program's output depends on its own digest, and the result has another digest: "
                 "its output can differ\n");
  for (const auto& fault : report.value("put_aside", Json::array()))
    std::fprintf(stderr, "trident: note: a wrong change was found and discarded, which is a bug in Trident: %s\n",
                 fault.get<std::string>().c_str());
}

/// The rows of one run in the report, on one side.
Heights heights_of(const Json& run, const char* side) {
  Heights out;
  const Json& rows = run.at(side);
  for (std::size_t t = 0; t < vm::kTableCount; ++t) out.rows[t] = rows.at(t).get<std::uint64_t>();
  return out;
}

/// A line for each run, where there are several.
void print_runs(const Json& report) {
  const auto& runs = report.at("runs");
  if (runs.size() < 2) return;
  std::printf("\nrun              tallest        after       padded        after\n");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Heights before = heights_of(runs.at(i), "before"), after = heights_of(runs.at(i), "after");
    std::printf("%-11zu %12llu %12llu %12llu %12llu\n", i + 1, (unsigned long long)before.of(before.tallest()),
                (unsigned long long)after.of(after.tallest()), (unsigned long long)before.padded(),
                (unsigned long long)after.padded());
  }
}

Json heights_json(const Heights& heights, std::uint32_t words) {
  Json out;
  for (std::size_t t = 0; t < vm::kTableCount; ++t) out[std::string(vm::kTableNames[t])] = heights.rows[t];
  out["tallest"] = tallest(heights);
  out["padded"] = heights.padded();
  out["words"] = words;
  return out;
}

void print_json(const Built& built, const Json& report, const std::string& output, bool by_daemon) {
  Json out;
  out["output"] = output;
  out["built_by"] = by_daemon ? "daemon" : "embedded";
  out["before"] = heights_json(built.before, built.words_before);
  out["after"] = heights_json(built.after, built.words_after);
  out.update(report);
  out["runs"] = Json::array();
  for (const auto& run : report.at("runs"))
    out["runs"].push_back({{"before", heights_json(heights_of(run, "before"), built.words_before)},
                           {"after", heights_json(heights_of(run, "after"), built.words_after)}});
  std::printf("%s\n", out.dump(2).c_str());
}

/// The runs that the program is measured on: that of --input and its like, unless only other runs are given.
Result<std::vector<ProgramInputs>> runs_of(const BuildVerb& verb, const ProgramInputs& loaded) {
  const ProgramRun& own = verb.program;
  const bool has_own =
      !own.public_input.empty() || !own.secret_input.empty() || !own.digests.empty() || !own.ram.empty();
  std::vector<ProgramInputs> out;
  if (has_own || (verb.runs.empty() && verb.run_files.empty())) out.push_back(loaded);
  for (const std::string& text : verb.runs) {
    TRY(ProgramInputs run, parse_run(text));
    out.push_back(std::move(run));
  }
  for (const std::string& file : verb.run_files) {
    TRY(std::vector<ProgramInputs> runs, read_runs(file));
    std::move(runs.begin(), runs.end(), std::back_inserter(out));
  }
  if (out.size() > limits::kBuildRunsMax)
    return make_error(ErrorCode::kLimitExceeded, "%zu runs; a program is built for at most %zu", out.size(),
                      limits::kBuildRunsMax);
  return out;
}

build::Request request_of(const BuildVerb& verb, const LoadedProgram& loaded, const std::vector<ProgramInputs>& runs) {
  build::Request out;
  out.form = is_tir(verb.program.file) ? build::Form::tir : build::Form::tasm;
  out.machine = machine_named(verb.program.vm);
  out.name = loaded.file;
  out.text = loaded.text;
  out.runs.clear();
  for (const ProgramInputs& run : runs) out.runs.push_back({run.public_input, run.secret_input, run.digests, run.ram});
  out.cycles = verb.program.cycles;
  out.milliseconds = verb.ms;
  out.programs = verb.programs;
  for (std::size_t i = 0; i < std::size(build::kStageNames); ++i)
    if (std::find(verb.disabled.begin(), verb.disabled.end(), build::kStageNames[i]) != verb.disabled.end())
      out.left_out |= static_cast<std::uint8_t>(1u << i);
  return out;
}

Result<Built> by_daemon(const std::string& socket, const build::Request& request, report::ProgressBar& bar) {
  const auto numbers = [](const std::vector<field::Element>& list) {
    std::vector<std::uint64_t> out;
    for (const field::Element e : list) out.push_back(e.value());
    return out;
  };
  client::wire::SubmitProgram program{.tir = request.form == build::Form::tir, .text = request.text};
  const build::Run& run = request.runs.front();
  program.public_input = numbers(run.public_input);
  program.secret_input = numbers(run.secret_input);
  for (const field::Digest& digest : run.secret_digests)
    for (const field::Element e : digest) program.secret_digests.push_back(e.value());
  for (const auto& [address, word] : run.ram)
    program.ram.push_back(address.value()), program.ram.push_back(word.value());
  program.runs = build::words_of(std::span(request.runs).subspan(1));
  program.cycles = request.cycles;
  program.milliseconds = request.milliseconds;
  program.programs = request.programs;
  program.left_out = request.left_out;
  TRY(client::wire::ProgramReady ready,
      client::build_program(socket, program, [&](std::uint32_t done, std::uint32_t total) {
        bar.update(done, std::max(total, 1u), "by the daemon");
        return os::check_interrupted().ok();
      }));
  Built out{.tasm = std::move(ready.text),
            .before = {},
            .after = {},
            .words_before = ready.words_before,
            .words_after = ready.words_after,
            .runs = ready.runs,
            .report = std::move(ready.report),
            .studied = {}};
  std::copy_n(ready.heights_before.begin(), vm::kTableCount, out.before.rows);
  std::copy_n(ready.heights_after.begin(), vm::kTableCount, out.after.rows);
  return out;
}

/// The daemon if there is one, else here. Whether it was the daemon stands in `daemon`.
Result<Built> built(const BuildVerb& verb, const build::Request& request, bool& daemon) {
  report::ProgressBar bar("building", std::size_t{1000});
  const bool released = request.machine == tir::tasm::Vm::released;
  if (verb.mode == "daemon" && !released)
    return make_error(ErrorCode::kUnsupported,
                      "--vm next: the daemon builds for Triton VM 1.0.0 to 7.0.0; --mode embedded builds for the next");
  daemon = true;
  if (verb.mode != "embedded" && released) {
    const std::string socket = client::daemon_socket_path(verb.socket.empty() ? nullptr : verb.socket.c_str());
    auto answered = by_daemon(socket, request, bar);
    if (verb.mode == "daemon" && !answered.ok() && answered.error().code == ErrorCode::kLimitExceeded)
      return make_error(ErrorCode::kLimitExceeded, "%s: %s; --mode embedded takes programs of up to %u words",
                        verb.program.file.c_str(), answered.error().message.c_str(), limits::kBuildWordsMax);
    if (verb.mode == "daemon" || answered.ok() || !client::nobody_builds(answered.error())) return answered;
  }
  daemon = false;
  return build::build(request, [&](double done) {
    bar.update(static_cast<std::size_t>(1000 * done));
    return os::check_interrupted().ok();
  });
}

/// Returns true when the program ends well on every run; else reports the failing run, the place and the reason.
bool ends_well(const LoadedProgram& loaded, const std::vector<ProgramInputs>& runs, std::uint64_t cycles) {
  vm::Budget budget;
  budget.cycles = cycles;
  vm::Machine machine;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (machine.run(loaded.code, runs[i].inputs(), budget) == vm::Failure::none) continue;
    loaded.report_failure(machine);
    if (runs.size() > 1) std::fprintf(stderr, "trident: this is run %zu of %zu\n", i + 1, runs.size());
    std::fprintf(stderr,
                 "trident: give inputs with which the program ends without an error: --input, --secret, --digests, "
                 "--ram, --run, --runs\n");
    return false;
  }
  return true;
}

/// Leaves the result for the daemon's learning when it was built without the daemon.
void leave_for_learning(const Built& result) {
  const auto state = store::state_folder("");
  const Result<void> left = state.ok() ? tir::neural::leave_blocks(store::programs_folder(*state), result.records())
                                       : Result<void>(state.error());
  if (!left.ok())
    std::fprintf(stderr, "trident: note: could not save blocks for the daemon to learn from: %s\n",
                 left.error().message.c_str());
}

Result<int> run_build(const BuildVerb& verb) {
  TRY(const auto loaded, load_program(verb.program));
  TRY(const std::vector<ProgramInputs> runs, runs_of(verb, *loaded));
  const build::Request request = request_of(verb, *loaded, runs);
  TRY_VOID(build::check_size(request, loaded->program));
  if (!ends_well(*loaded, runs, request.cycles)) return kExitWrong;
  const std::string output = verb.output.empty() ? default_output(verb.program.file) : verb.output;
  if (output == verb.program.file)
    return make_error(ErrorCode::kInvalidArgument,
                      "%s: the output would overwrite the program; name another file with -o", output.c_str());
  os::note_interrupts();
  bool daemon = false;
  TRY(const Built result, built(verb, request, daemon));
  TRY_VOID(os::check_interrupted());
  TRY_VOID(write_text(output, result.tasm));
  if (!daemon) leave_for_learning(result);
  try {  // Json speaks through exceptions; they end here
    const Json report = Json::parse(result.report);
    if (!report.is_object()) throw Json::Fault("it is not a JSON object");
    warn(report);
    if (output == "-") return 0;
    if (verb.program.json) {
      print_json(result, report, output, daemon);
      return 0;
    }
    std::fputs(heights_text({result.before, result.words_before}, {result.after, result.words_after}).c_str(), stdout);
    print_runs(report);
    if (verb.explain) explain(report);
  } catch (const Json::Fault& error) {
    return make_error(ErrorCode::kInternal, "%s report cannot be read: %s", daemon ? "the daemon's" : "this build's",
                      error.what());
  }
  std::printf("\n%s%s\n", output.c_str(), daemon ? " (by the daemon, which goes on learning)" : "");
  return 0;
}

}  // namespace

void add_build_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("build", "Make a program of Triton VM cheaper to prove");
  auto options = std::make_shared<BuildVerb>();
  verb.add_option("FILE", options->program.file, "TIR in a .tir, else TASM").required();
  verb.add_option("-o,--output", options->output, "Write the TASM to this file; - for standard output alone")
      .check(file_name_fault);
  verb.add_option("--input", options->program.public_input, "Public words, a list or FILE; repeatable")
      .take_all()
      .expected(1)
      .allow_extra_args(false);
  add_program_options(verb, options->program);
  verb.add_option("--run", options->runs,
                  "One more run to measure on: in=1,2 secret=3 digests=.. ram=address=words; repeatable")
      .take_all()
      .expected(1)
      .allow_extra_args(false);
  verb.add_option("--runs", options->run_files, "File of such runs, one a line; the result is never taller on any run")
      .take_all()
      .expected(1)
      .allow_extra_args(false);
  verb.add_option("--disable", options->disabled,
                  "Leave out a stage: peepholes, subroutines, superoptimiser or network")
      .check(one_of(std::vector<std::string>(std::begin(build::kStageNames), std::end(build::kStageNames))))
      .take_all()
      .expected(1)
      .allow_extra_args(false);
  verb.add_option("--ms", options->ms, "Most milliseconds to search").check(negative_fault).capture_default_str();
  verb.add_option("--programs", options->programs, "Most candidate programs to run")
      .check(negative_fault)
      .capture_default_str();
  verb.add_option("--mode", options->mode, "Who builds: auto (the daemon if there is one), daemon or embedded")
      .check(one_of({"auto", "daemon", "embedded"}))
      .capture_default_str();
  verb.add_option("--socket", options->socket, "Socket of the daemon, if not the standard one");
  verb.add_flag("--explain", options->explain, "Print the changes, and what was proposed, proven and chosen");
  verb.callback([options, &status] {
    const auto code = run_build(*options);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
