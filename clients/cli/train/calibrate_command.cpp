// The command line of `trident calibrate` (calibrate.h and calibrate_kernels.h do the work).
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string_view>

#include "clients/cli/train/commands.h"
#include "clients/cli/verb/output_file.h"
#include "clients/cli/verb/verb.h"
#include "jit/calibrate/calibrate.h"
#include "jit/calibrate/calibrate_kernels.h"
#include "jit/calibrate/costs_file.h"
#include "jit/corpus/setting_names.h"
#include "jit/learn/timed_kernels.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"
#include "runtime/os/interrupt.h"
#include "runtime/report/progress_bar.h"

namespace trident::cli {
namespace {

struct CalibrateVerb {
  bool ops = false, quick = false, json = false;
  std::string isa = "auto", output, pack;
  calibrate::CalibrateKernelsOptions kernels;
  std::optional<std::uint32_t> stale_days;
};

constexpr std::uint32_t kQuickRounds = 5;

/// "div.newton", "f32".
std::pair<std::string, std::string> op_and_type(const cost::Row& row) {
  const std::string name = cost::name_of(row);
  const std::size_t blank = name.find(' ');
  return {name.substr(0, blank), name.substr(blank + 1)};
}

std::string as_text(const cost::Table& table) {
  const cost::Table& shipped = cost::shipped(table.isa, table.cpu);
  std::string text = fmt::format("{}, {}\n", table.cpu, table.isa);
  for (const auto& [type, times] : {std::pair{"f32", table.f32}, {"f64", table.f64}})
    text += fmt::format("an fma {} takes {:.3f} ns from operand to result, {:.3f} ns of many; below it is 1\n", type,
                        times.latency_ns, times.throughput_ns);
  text += fmt::format("{:<15} {:<9} {:>8} {:>11} {:>18} {:>11}\n", "op", "type", "latency", "throughput",
                      "shipped: latency", "throughput");
  for (const cost::Row& row : cost::rows()) {
    const auto [op, type] = op_and_type(row);
    const cost::Figures &here = table.at(row), &there = shipped.at(row);
    text += fmt::format("{:<15} {:<9} {:>8.2f} {:>11.2f} {:>18.2f} {:>11.2f}\n", op, type, here.latency,
                        here.throughput, there.latency, there.throughput);
  }
  return text;
}

std::string as_json(const cost::Table& table, const std::string& file) {
  const cost::Table& shipped = cost::shipped(table.isa, table.cpu);
  Json root = {{"cpu", table.cpu}, {"isa", table.isa}, {"build", table.build}, {"date", table.date}};
  root["file"] = file;
  for (const auto& [type, times] : {std::pair{"f32", table.f32}, {"f64", table.f64}})
    root["unit"][type] = {{"latency_ns", times.latency_ns}, {"throughput_ns", times.throughput_ns}};
  root["ops"] = Json::array();
  for (const cost::Row& row : cost::rows()) {
    const auto [op, type] = op_and_type(row);
    const cost::Figures &here = table.at(row), &there = shipped.at(row);
    root["ops"].push_back({{"op", op},
                           {"type", type},
                           {"latency", here.latency},
                           {"throughput", here.throughput},
                           {"shipped_latency", there.latency},
                           {"shipped_throughput", there.throughput}});
  }
  return root.dump(1) + "\n";
}

Result<int> run_kernels(const CalibrateVerb& verb) {
  calibrate::CalibrateKernelsOptions options = verb.kernels;
  TRY(options.isa, corpus::parse_isa(verb.isa));
  if (options.isa == codegen::Isa::neon)
    return make_error(ErrorCode::kUnsupported, "--isa %s: kernels are timed for avx2 and avx512", verb.isa.c_str());
  options.path = verb.output;
  if (options.path == "-")
    return make_error(ErrorCode::kInvalidArgument, "--output -: a cache of kernels must be a file");
  if (options.path.empty()) {
    TRY(options.path, calibrate::user_kernels_path(codegen::name_of(options.isa)));
  }
  if (!verb.pack.empty()) {
    TRY_VOID(can_take_place(verb.pack));
    TRY_VOID(is_none_of(verb.pack, std::array{options.path}));
    TRY(const std::size_t kernels, calibrate::pack_kernels(options.path, options.kernels, verb.pack));
    std::fprintf(stderr, "trident: %s of %s written to %s\n", counted(kernels, "kernel").c_str(), options.path.c_str(),
                 verb.pack.c_str());
    return 0;
  }
  TRY_VOID(can_be_written_in_place(options.path));
  if (verb.quick) options.rounds = kQuickRounds;
  options.stale_days = verb.stale_days;
  os::note_interrupts();
  calibrate::CalibratedKernels done;
  {
    report::ProgressBar bar("calibrating", options.kernels);
    options.progress = [&bar](std::uint64_t kernels, const std::string& what) { bar.update(kernels, what); };
    options.stopped = [] { return !os::check_interrupted().ok(); };
    TRY(done, calibrate::calibrate_kernels(options));
  }
  if (done.kept) {
    std::fprintf(stderr, "trident: %s: %s timed here by this build; kept\n", options.path.c_str(),
                 counted(done.kernels, "kernel").c_str());
    return 0;
  }
  std::fputs((verb.json ? calibrate::calibrated_json(done, options) : calibrate::calibrated_text(done)).c_str(),
             stdout);
  if (done.interrupted) {
    std::fprintf(stderr, "trident: interrupted; %s has %s; run the same command again to continue\n",
                 options.path.c_str(), counted(done.kernels, "kernel").c_str());
    return kExitInterrupted;
  }
  std::fprintf(stderr, "trident: written to %s\n", options.path.c_str());
  return 0;
}

bool is_current(const std::string& path, std::string_view isa, std::uint32_t days) {
  const auto table = calibrate::read_costs(path);
  return table.ok() && calibrate::is_current(*table, isa, days);
}

Result<int> run(const CalibrateVerb& verb) {
  if (verb.ops == (verb.kernels.kernels > 0))
    return make_error(
        ErrorCode::kInvalidArgument,
        "say what to measure: --ops for the costs of kernel operations, or --kernels N for whole kernels");
  if (!verb.ops) return run_kernels(verb);
  calibrate::CalibrateOptions options;
  TRY(options.isa, corpus::parse_isa(verb.isa));
  if (options.isa == codegen::Isa::neon)
    return make_error(ErrorCode::kUnsupported, "--isa %s: costs are measured for avx2 and avx512", verb.isa.c_str());
  std::string path = verb.output;
  if (path.empty()) {
    TRY(path, calibrate::user_costs_path(codegen::name_of(options.isa)));
  }
  if (path == "-" && verb.json)
    return make_error(ErrorCode::kInvalidArgument,
                      "--output - and --json cannot be combined: both print to standard output");
  if (path != "-") TRY_VOID(can_take_place_in_new_folder(path));
  if (verb.stale_days && path != "-" && is_current(path, codegen::name_of(options.isa), *verb.stale_days)) {
    std::fprintf(stderr, "trident: %s: measured here by this build; kept\n", path.c_str());
    return 0;
  }
  if (verb.quick) options.rounds = kQuickRounds;
  os::note_interrupts();
  cost::Table table;
  {
    report::ProgressBar bar("measuring", cost::rows().size());
    options.progress = [&bar](std::size_t done, std::size_t, const std::string& what) { bar.update(done, what); };
    TRY(table, calibrate::calibrate(options));
  }
  if (path == "-") {
    std::fputs(cost::print(table).c_str(), stdout);
    return 0;
  }
  TRY_VOID(calibrate::write_costs(path, table));
  std::fputs((verb.json ? as_json(table, path) : as_text(table)).c_str(), stdout);
  std::fprintf(stderr, "trident: written to %s\n", path.c_str());
  return 0;
}

}  // namespace

void add_calibrate_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("calibrate", "Measure operations or whole kernels on this machine");
  auto state = std::make_shared<CalibrateVerb>();
  verb.add_flag("--ops", state->ops, "Measure latency and throughput of each op of the kernel IR");
  calibrate::CalibrateKernelsOptions& kernels = state->kernels;
  verb.add_option("--kernels", kernels.kernels, "Time kernels until the cache has N of this machine")
      .check(range(std::uint64_t{1}, std::uint64_t{learn::kTimedKernelsMax}));
  verb.add_option("--corpus", kernels.corpora, "With --kernels: begin with the kernels of this file; repeatable")
      .excludes({"--ops"});
  verb.add_option("--seed", kernels.seed, "With --kernels: seed of all random choices")
      .check(range(std::uint64_t{0}, std::uint64_t{1} << 30))
      .capture_default_str()
      .excludes({"--ops"});
  verb.add_option("--pack", state->pack,
                  "Write about N --kernels of the cache to this file, compressed; measure nothing");
  verb.add_option("--threads", kernels.threads, "With --kernels: threads that make kernels; a single thread times them")
      .check(range(1u, 256u))
      .capture_default_str()
      .excludes({"--ops"});
  verb.add_option("--isa", state->isa, "Instruction set: avx2, avx512 or auto (the best of this processor)")
      .capture_default_str();
  verb.add_option("-o,--output", state->output,
                  "File of the table (- for standard output) or of the kernels; default: ISA.costs or ISA.kernels in "
                  "~/.cache/trident");
  verb.add_option("--stale", state->stale_days,
                  "Do nothing if the file fits this processor and build and is at most N days old")
      .check(range(0, 100'000));
  verb.add_flag("--quick", state->quick, "Measure fewer rounds, with coarser figures");
  verb.add_flag("--json", state->json, "Print a JSON object instead of text");
  verb.callback([state, &status] {
    const auto code = run(*state);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
