// The command line of `trident bench` (bench.h does the work).
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <regex>

#include "clients/cli/bench/bench.h"
#include "clients/cli/bench/commands.h"
#include "clients/cli/library/file_program.h"
#include "clients/cli/library/function_story.h"
#include "clients/cli/verb/kernel_options.h"
#include "clients/cli/verb/output_file.h"
#include "clients/cli/verb/user_rules.h"
#include "clients/cli/verb/verb.h"
#include "jit/corpus/setting_names.h"
#include "jit/pipeline/pass_scope.h"
#include "runtime/os/regular_file.h"

namespace trident::cli {
namespace {

/// A bar: an option of the command line, and the figure that must not be above it, or below it.
struct Bar {
  const char* option;
  const char* meaning;
  const char* figure;
  bool at_most;
  std::optional<double> (*value)(const BenchResult& result);  ///< none: there are no such kernels
};

std::optional<double> geomean_of(const Summary& group) {
  return group.count > 0 ? std::optional(group.geomean) : std::nullopt;
}

constexpr Bar kBars[] = {
    {"--geomean-max", "Exit 1 if the geomean ratio is above this", "geomean ratio", true,
     [](const BenchResult& r) { return std::optional(r.all.geomean); }},
    {"--transcendental-max", "Exit 1 if that of kernels with transcendental functions is above this",
     "geomean ratio of transcendental kernels", true,
     [](const BenchResult& r) { return geomean_of(r.transcendental); }},
    {"--algebraic-max", "Exit 1 if that of kernels without them is above this", "geomean ratio of algebraic kernels",
     true, [](const BenchResult& r) { return geomean_of(r.algebraic); }},
    {"--derivatives-max", "Exit 1 if that of kernels named d and a digit is above this", "geomean ratio of derivatives",
     true, [](const BenchResult& r) { return geomean_of(r.derivatives); }},
    {"--worst-max", "Exit 1 if the ratio of any kernel is above this", "worst ratio", true,
     [](const BenchResult& r) { return std::optional(r.all.worst); }},
    {"--search-gain-max", "Exit 1 if ours divided by ours under --disable search is above this",
     "ours to ours without what is disabled", true, [](const BenchResult& r) { return std::optional(r.all.gain); }},
    {"--roof-min", "Exit 1 if the median share of the roof at 512 elements is below this",
     "median share of the roof at 512 elements", false,
     [](const BenchResult& r) { return std::optional(r.all.small_roof_share_median); }},
    {"--won-min", "Exit 1 if the share of kernels with a ratio below 1 is below this", "share of kernels won", false,
     [](const BenchResult& r) { return std::optional(r.all.wins_share()); }},
    {"--missing-max", "Exit 1 if a speculative kernel takes more than this of the general one's time on data that miss",
     "worst time of a speculative kernel on data that never fit, over the general one's", true,
     [](const BenchResult& r) { return r.all.speculate > 0 ? std::optional(r.all.missing_worst) : std::nullopt; }},
    {"--optimise-median-max", "Exit 1 if the median time to an optimised kernel is above this, in seconds",
     "median seconds to an optimised kernel", true,
     [](const BenchResult& r) { return std::optional(r.all.optimise_s_median); }},
    {"--optimise-p95-max", "Exit 1 if the 95th percentile of that time is above this",
     "P95 of seconds to an optimised kernel", true,
     [](const BenchResult& r) { return std::optional(r.all.optimise_s_p95); }},
    {"--optimise-max", "Exit 1 if that time of any kernel is above this", "most seconds to an optimised kernel", true,
     [](const BenchResult& r) { return std::optional(r.all.optimise_s_max); }},
};

constexpr double kLeastBar = 1e-6, kGreatestBar = 1e6;

struct BenchVerb {
  KernelOptions kernel;
  std::vector<std::string> inputs;
  std::string filter, html, library;
  bool json = false, quick = false, no_numexpr = false, no_ranges = false, no_speculation = false;
  std::uint64_t n = 4096, seed = 1, points = 0;
  unsigned rounds = 101, jobs = 2;
  bool text_options = false;  ///< the command line says something about the text of an expression
  std::string against = "auto";
  std::vector<std::string> disabled, rule_files;
  std::array<double, std::size(kBars)> bounds{};  ///< per bar; 0: not asked for, since a bar is above 0
  [[nodiscard]] double bound_of(std::string_view option) const {
    for (std::size_t i = 0; i < std::size(kBars); ++i)
      if (option == kBars[i].option) return bounds[i];
    CHECK(false);
  }
};

/// Says that a text which could be a file's name is taken for an expression: a name, or names with slashes.
void note_expression(const std::string& input) {
  const auto in_a_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '/'; };
  if (!input.empty() && std::isalpha(static_cast<unsigned char>(input.front())) &&
      std::all_of(input.begin(), input.end(), in_a_name))
    std::fprintf(stderr, "trident: %s: there is no such file, so this is an expression; write ./%s for a file\n",
                 input.c_str(), input.c_str());
}

bool is_file(const std::string& input) {
  std::error_code code;
  return std::filesystem::exists(input, code) && !std::filesystem::is_directory(input, code);
}

/// The kernels of all files.
Result<std::vector<corpus::CorpusKernel>> kernels_of_files(const BenchVerb& verb) {
  if (verb.text_options)
    return make_error(ErrorCode::kInvalidArgument,
                      "--syntax, --range and --scalar apply to an expression; a corpus file declares its own");
  std::vector<corpus::CorpusKernel> kernels;
  for (const std::string& input : verb.inputs) {
    TRY(std::vector<corpus::CorpusKernel> more, corpus::read_corpus(input));
    std::move(more.begin(), more.end(), std::back_inserter(kernels));
  }
  return kernels;
}

/// The kernels of files, or the expression itself as the only one.
Result<std::vector<corpus::CorpusKernel>> kernels_of(const BenchVerb& verb) {
  const auto expression = std::find_if_not(verb.inputs.begin(), verb.inputs.end(), is_file);
  if (expression == verb.inputs.end()) return kernels_of_files(verb);
  const std::string& input = *expression;
  std::error_code code;
  if (std::filesystem::is_directory(input, code)) return os::folder_error(input);
  TRY_VOID(check_no_lost_file(input));
  if (verb.inputs.size() > 1)
    return make_error(ErrorCode::kInvalidArgument, "%s is no file: give several corpus files, or one expression alone",
                      input.c_str());
  note_expression(input);
  TRY(const ir::Type type, corpus::parse_float_type(verb.kernel.type));
  corpus::CorpusKernel k;
  k.name = input.size() <= 24 ? input : input.substr(0, 21) + "...";
  k.definition = input;
  k.place = "<expression>";
  k.syntax = verb.kernel.syntax;
  TRY(k.variables, declared_variables(verb.kernel, type));
  TRY_VOID(corpus::to_expr(k, type));  // a mistake in the command line, not a failed kernel of a corpus
  return std::vector<corpus::CorpusKernel>{k};
}

Result<void> filter_kernels(const std::string& pattern, std::vector<corpus::CorpusKernel>& kernels) {
  if (pattern.empty()) return {};
  std::regex wanted;
  try {
    wanted = std::regex(pattern, std::regex::extended);
  } catch (const std::regex_error& error) {
    return make_error(ErrorCode::kInvalidArgument, "--kernels %s: %s", pattern.c_str(), error.what());
  }
  std::erase_if(kernels, [&](const corpus::CorpusKernel& k) { return !std::regex_search(k.name, wanted); });
  if (kernels.empty())
    return make_error(ErrorCode::kInvalidArgument, "--kernels %s: no kernel's name matches", pattern.c_str());
  return {};
}

Result<Against> parse_against(const std::string& text, const expr::Policy& policy) {
  if (text == "fast-math") return Against::fast_math;
  if (text == "strict") return Against::strict;
  if (text == "auto") return policy.kind == expr::PolicyKind::exact ? Against::strict : Against::fast_math;
  return make_error(ErrorCode::kInvalidArgument, "--against %s: expected auto, fast-math or strict", text.c_str());
}

/// Sets the candidates that the contestant is optimised without.
Result<void> parse_disabled(const std::vector<std::string>& names, BenchOptions& o) {
  o.disabled = pipeline::candidates_named(names);
  for (const std::string& name : names) o.without += (o.without.empty() ? "" : ", ") + name;
  if (const auto known = pipeline::check_names({.disabled = o.disabled}, {}); !known)
    return make_error(ErrorCode::kInvalidArgument, "--disable: %s; `trident explain --help` names what can",
                      known.error().message.c_str());
  return {};
}

Result<BenchOptions> options_of(const BenchVerb& verb) {
  BenchOptions o;
  TRY(o.type, corpus::parse_float_type(verb.kernel.type));
  TRY(o.policy, corpus::parse_policy(verb.kernel.policy));
  TRY(o.isa, corpus::parse_isa(verb.kernel.isa));
  o.n = verb.n;
  o.check_points = verb.points;
  o.rounds = verb.quick ? 15 : verb.rounds;
  o.jobs = verb.jobs;
  o.seed = verb.seed;
  o.numexpr = !verb.no_numexpr;
  o.promise_ranges = !verb.no_ranges;
  o.speculate = !verb.no_speculation;
  TRY(o.against, parse_against(verb.against, o.policy));
  TRY_VOID(parse_disabled(verb.disabled, o));
  if (verb.bound_of("--search-gain-max") > 0 && o.disabled.empty())
    return make_error(ErrorCode::kInvalidArgument,
                      "--search-gain-max needs the contestant without search: say --disable search too");
  return o;
}

/// The bars asked for on the command line, one line each; false when one is missed.
bool bars_hold(const BenchVerb& verb, const BenchResult& r) {
  bool hold = true;
  for (std::size_t i = 0; i < std::size(kBars); ++i) {
    const Bar& bar = kBars[i];
    const std::optional<double> value = bar.value(r);
    if (verb.bounds[i] == 0) continue;
    if (!value) {
      std::fprintf(stderr, "bar: %s: there are no such kernels: MISSED\n", bar.figure);
      hold = false;
      continue;
    }
    const bool ok = bar.at_most ? *value <= verb.bounds[i] : *value >= verb.bounds[i];
    std::fprintf(stderr, "bar: %s %.3f, %s %.3f: %s\n", bar.figure, *value, bar.at_most ? "at most" : "at least",
                 verb.bounds[i], ok ? "held" : "MISSED");
    hold = hold && ok;
  }
  return hold;
}

Result<int> bench(const BenchVerb& verb) {
  TRY(std::vector<corpus::CorpusKernel> kernels, kernels_of(verb));
  TRY_VOID(filter_kernels(verb.filter, kernels));
  TRY(BenchOptions options, options_of(verb));
  TRY(const std::optional<pipeline::SearchRules> rules, load_search_rules(verb.rule_files));
  options.rules = rules ? &*rules : nullptr;
  TRY_VOID(can_be_written(verb.html));
  TRY(const BenchResult result, run_bench(kernels, options));
  std::fputs((verb.json ? bench_json(result) : bench_text(result)).c_str(), stdout);
  std::fflush(stdout);
  if (!verb.html.empty()) {
    TRY_VOID(write_text(verb.html, bench_html(result)));
    std::fprintf(stderr, "report: %s\n", verb.html.c_str());
  }
  for (const KernelResult& k : result.kernels)
    if (!k.failure.empty()) std::fprintf(stderr, "trident: %s: %s\n", k.name.c_str(), k.failure.c_str());
  const bool held = bars_hold(verb, result);
  return result.failed() || !held ? kExitWrong : 0;
}

/// A function is timed on the arguments of its tests.
Result<int> bench_any(const BenchVerb& state, Verb verb) {
  if (state.inputs.size() != 1 || !names_function(state.inputs[0])) {
    TRY_VOID(check_library_fits(verb));
    return bench(state);
  }
  for (const std::string& option : verb.given())
    if (option != "--json" && option != "--library")
      return make_error(ErrorCode::kInvalidArgument, "%s is a function: only --json and --library apply to it",
                        state.inputs[0].c_str());
  TRY_VOID(bench_function({state.inputs[0], state.library}, state.json));
  return 0;
}

}  // namespace

void add_bench_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("bench", "Time kernels against compilers, the interpreter and numexpr");
  auto state = std::make_shared<BenchVerb>();
  verb.add_option("FILE|EXPR", state->inputs,
                  "Corpora (.tsv, .sexp, rewrite.txt), one expression, or one function NAME.fn")
      .required()
      .take_all();
  state->kernel.add_text_options(verb);
  state->kernel.add_code_options(verb);
  verb.add_option("-n,--n", state->n, "Elements per call").check(range(16, 1 << 26)).capture_default_str();
  verb.add_option("--points", state->points, "Least number of points to check answers at; default: the timed ones")
      .check(range(0, 1 << 24));
  verb.add_option("--kernels", state->filter, "Time only kernels whose names match this regular expression");
  const Option rounds = verb.add_option("--rounds,--runs", state->rounds, "Interleaved rounds")
                            .check(range(15, 10001))
                            .capture_default_str();
  verb.add_flag("--quick", state->quick, "Time 15 rounds").excludes(rounds);
  verb.add_option("--seed", state->seed, "Seed of the sampled inputs and of the search")
      .check(negative_fault)
      .capture_default_str();
  verb.add_option("-j,--jobs", state->jobs, "Compilers that run at once").check(range(1, 64)).capture_default_str();
  verb.add_flag("--json", state->json, "Print a JSON object instead of the table");
  add_library_option(verb, state->library);
  verb.add_option("--html", state->html, "Write a report with charts to this file").check(file_name_fault);
  verb.add_flag("--no-numexpr", state->no_numexpr, "Leave numexpr out");
  verb.add_flag("--no-ranges", state->no_ranges, "Draw inputs from the declared ranges, but do not promise these");
  verb.add_flag("--no-speculation", state->no_speculation,
                "With --no-ranges: make no kernels that assume the ranges of the inputs");
  verb.add_option("--against", state->against,
                  "Compilers to beat: fast-math (four), strict (clang-19 without it) or auto (by policy)")
      .capture_default_str();
  verb.add_option("--disable", state->disabled,
                  "Time Trident's kernels again without this candidate; search leaves out all rewriting; repeatable")
      .take_all();
  add_load_rules(verb, state->rule_files);
  for (std::size_t i = 0; i < std::size(kBars); ++i)
    verb.add_option(kBars[i].option, state->bounds[i], kBars[i].meaning).check(range(kLeastBar, kGreatestBar));
  verb.callback([state, verb, &status] {
    for (const char* name : {"--syntax", "--range", "--scalar"})
      state->text_options = state->text_options || verb.count(name) > 0;
    const auto code = bench_any(*state, verb);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
