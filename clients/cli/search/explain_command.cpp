// `trident explain` shows every stage between an expression and its machine code; `trident disasm` shows the code of a
// stored image or of an expression.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "clients/cli/bench/loop_profile.h"
#include "clients/cli/library/file_program.h"
#include "clients/cli/library/function_story.h"
#include "clients/cli/search/commands.h"
#include "clients/cli/search/search_story.h"
#include "clients/cli/verb/kernel_options.h"
#include "clients/cli/verb/user_rules.h"
#include "clients/cli/verb/verb.h"
#include "jit/corpus/setting_names.h"
#include "jit/image/image.h"
#include "jit/kir/early_end.h"
#include "jit/kir/reduction.h"
#include "jit/pipeline/pass_scope.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/base/counted.h"
#include "runtime/base/limits.h"
#include "runtime/os/atomic_file.h"
#include "runtime/os/regular_file.h"
#include "runtime/report/progress_bar.h"
#include "runtime/stats/robust.h"

namespace trident::cli {
namespace {

/// The stages in order, by the names that --stop-after takes and the letters that --dump takes.
struct Stage {
  const char* name;
  char letter;
  const char* description;
};
constexpr Stage kStages[] = {{"parse", 'i', "the expression, its variables and ranges"},
                             {"dot", 'd', "the expression as a Graphviz graph"},
                             {"search", 's', "the chain of rules to the cheapest form, with costs and times"},
                             {"lower", 'k', "kernel IR"},
                             {"emit", 'm', "machine code"},
                             {"cost", 'c', "what the main loop is made of, and what was measured"}};

/// Names for --disable, beside `search` for several of them: the rows of passes.def that may be switched off.
constexpr const char* kCandidates[] = {
#define TRIDENT_pass(name)
#define TRIDENT_candidate(name) #name,
#define X(name, kind, what) TRIDENT_##kind(name)
#include "jit/pipeline/passes.def"
#undef X
#undef TRIDENT_candidate
#undef TRIDENT_pass
};

std::string names_of_candidates() {
  std::string names = "search";
  for (const char* name : kCandidates) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

struct ExplainVerb {
  KernelOptions kernel;
  std::string input, library, tier = "optimised", stop_after = "cost", svg;
  std::vector<std::string> dump = {"i", "s", "k", "m", "c"}, disabled, rule_files, assumed;
  std::uint64_t n = 4096, seed = 1;
  bool prove_error = false;
  std::vector<std::string> given;  ///< options on the command line

  [[nodiscard]] bool wants(char letter) const {
    bool stopped = false;
    for (const Stage& stage : kStages) {
      if (stage.letter == letter) break;
      stopped = stopped || stage.name == stop_after;
    }
    return !stopped && std::find(dump.begin(), dump.end(), std::string(1, letter)) != dump.end();
  }
  /// Returns true when the output shows the search.
  [[nodiscard]] bool tells() const {
    const bool searches = tier != "baseline" && kernel.policy != "exact" &&
                          std::find(disabled.begin(), disabled.end(), "search") == disabled.end();
    return searches && (wants('s') || !svg.empty());
  }
  [[nodiscard]] Result<void> check() const {
    TRY_VOID(corpus::parse_policy(kernel.policy));
    TRY_VOID(corpus::parse_isa(kernel.isa));
    const auto known = [](const auto& matches) { return std::any_of(std::begin(kStages), std::end(kStages), matches); };
    for (const std::string& letter : dump)
      if (!known([&](const Stage& s) { return letter == std::string(1, s.letter); }))
        return make_error(ErrorCode::kInvalidArgument, "--dump %s: expected letters of i,d,s,k,m,c", letter.c_str());
    if (!known([&](const Stage& s) { return stop_after == s.name; }))
      return make_error(ErrorCode::kInvalidArgument,
                        "--stop-after %s: expected parse, dot, search, lower, emit or cost", stop_after.c_str());
    if (!svg.empty() && !tells())
      return make_error(ErrorCode::kInvalidArgument,
                        "--svg %s draws the search, and there is none: leave out --tier baseline, --policy exact and "
                        "--disable search",
                        svg.c_str());
    if (svg.empty() && std::none_of(dump.begin(), dump.end(), [&](const std::string& d) { return wants(d[0]); }))
      return make_error(ErrorCode::kInvalidArgument,
                        "--stop-after %s ends before the stages of --dump: nothing is left", stop_after.c_str());
    if (prove_error && tier == "baseline")
      return make_error(ErrorCode::kInvalidArgument,
                        "--prove-error needs the search's result: leave out --tier baseline");
    if (!assumed.empty() && tier == "baseline")
      return make_error(ErrorCode::kInvalidArgument, "--assume needs the search: leave out --tier baseline");
    if (!rule_files.empty() && tier == "baseline")
      return make_error(ErrorCode::kInvalidArgument, "--load-rules needs the search: leave out --tier baseline");
    if (tier != "baseline" && tier != "optimised")
      return make_error(ErrorCode::kInvalidArgument, "--tier %s: expected baseline or optimised", tier.c_str());
    for (const std::string& name : pipeline::candidates_named(disabled))
      if (std::find(std::begin(kCandidates), std::end(kCandidates), name) == std::end(kCandidates))
        return make_error(ErrorCode::kInvalidArgument, "--disable %s: expected one of %s", name.c_str(),
                          names_of_candidates().c_str());
    return {};
  }
};

std::string nine_digits(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

std::string expression_text(const expr::Expr& e) {
  std::string out = "; expression: " + counted(e.nodes.size(), "node") + "\n" + expr::print_infix(e) + "\n";
  for (const expr::Variable& v : e.variables)
    out += "; " +
           std::string(v.is_table()    ? "table "
                       : v.is_scalar() ? "scalar "
                                       : "array ") +
           v.name + ": " + std::string(ir::name_of(v.type)) +
           (v.has_range() ? " in [" + nine_digits(v.lo) + ", " + nine_digits(v.hi) + "]" : ", any value") + "\n";
  return out + "\n";
}

std::string code_text(const codegen::MachineCode& code, const codegen::Variant& variant, codegen::Isa isa) {
  std::string out = "; machine code: " + std::string(codegen::name_of(isa)) + ", " + counted(code.code_size, "byte") +
                    ", " + counted(code.bytes.size() - code.pool_offset, "byte") + " of constants, frame " +
                    counted(code.frame_bytes, "byte") + "\n; variant: " + counted(variant.vectors, "vector") +
                    " per iteration, " + (variant.schedule ? "scheduled" : "source order") +
                    (variant.lockstep ? ", in step" : "") + (variant.underflow_apart ? ", underflow apart" : "") +
                    (variant.non_temporal ? ", non-temporal stores" : "") + ", " + counted(code.spills, "spill") + "\n";
  const auto text = codegen::disassemble(code, isa);
  return out + (text ? *text : "; " + text.error().message + "\n") + "\n";
}

/// Least nanoseconds of an iteration, by the measured rates of the ports: the median of a few samples.
double port_roof_ns(const LoopProfile& p, ir::Type type) {
  constexpr int kSamples = 31;
  std::vector<double> ns;
  for (int i = 0; i < kSamples; ++i) ns.push_back(p.port_ns(sample_rates(p.vector_bits >= 512 ? 512 : 256, type)));
  return stats::median(ns);
}

std::string cost_text(const codegen::MachineCode& code, codegen::Isa isa, ir::Type type, unsigned bytes_per_element) {
  const auto text = codegen::disassemble(code, isa);
  if (!text) return "; cost: " + text.error().message + "\n";
  const auto p = profile_main_loop(*text);
  if (!p) return "; cost: " + p.error().message + "\n";
  std::string out = "; main loop: " + counted(p->instructions, "instruction") + ", " + std::to_string(p->arithmetic) +
                    " vector arithmetic (" + counted(p->divisions, "division or root", "divisions or roots") + "), " +
                    counted(p->loads, "load") + ", " + counted(p->stores, "store") + ", " + std::to_string(p->spills) +
                    " of them " + (p->spills == 1 ? "a spill\n" : "spills\n");
  const double elements = p->elements(bytes_per_element);
  if (elements > 0 && sample_rates(256, type).known())
    out += "; port roof: " + nine_digits(port_roof_ns(*p, type) / elements) + " ns an element, " +
           nine_digits(elements) + " elements an iteration\n";
  return out;
}

std::string early_end_text(const kir::Kernel& kernel) {
  if (!kir::ends_early(kernel)) return {};
  return "; ends early: behind the chunk of " + counted(kir::kChunk, "element") + " that decides every result\n";
}

/// Names the ranges that a guard tests.
std::string assumed_text(const std::vector<expr::Variable>& assumed) {
  std::string out;
  for (const expr::Variable& v : assumed)
    if (std::isfinite(v.lo) || std::isfinite(v.hi))
      out += (out.empty() ? "; assumed: " : ", ") + v.name + " from " + nine_digits(v.lo) + " to " + nine_digits(v.hi) +
             (v.or_nan ? " or NaN" : "");
  return out.empty() ? out : out + "\n";
}

std::string speculation_text(const pipeline::Speculation& s) {
  std::string out = s.published ? "; speculation: published\n" : "; speculation: not published, " + s.refused + "\n";
  for (const pipeline::SpeculationTime& t : s.times) {
    out += ";   " + counted(t.elements, "element") + ": the general kernel takes " + nine_digits(t.general_ns) +
           " ns, this " + nine_digits(t.matching) + " of that; " + nine_digits(t.missing) + " where none fits";
    out += t.few > 0 ? ", " + nine_digits(t.few) + " where few do not\n" : "\n";
  }
  if (s.shortest != 0)
    out += ";   calls of fewer than " + std::to_string(s.shortest) + " elements run the general one\n";
  return s.guard.empty() ? out : out + "; kernel with its guard\n" + s.guard;
}

Result<pipeline::Compiled> compile(const ExplainVerb& verb, const expr::Expr& e,
                                   const std::vector<expr::Variable>& assumed, codegen::Isa isa, std::string& cost) {
  pipeline::Options options;
  TRY(const expr::Policy policy, corpus::parse_policy(verb.kernel.policy));
  options.target = {.isa = isa, .policy = policy, .elements = verb.n};
  options.search = {.seed = verb.seed, .disabled = pipeline::candidates_named(verb.disabled)};
  options.trace.prove_error = verb.prove_error;
  if (verb.tier == "baseline") return pipeline::compile_baseline(e, options);
  TRY(const std::optional<pipeline::SearchRules> rules, load_search_rules(verb.rule_files));
  options.search.rules = rules ? &*rules : nullptr;
  if (!verb.assumed.empty())
    for (const expr::Variable& v : assumed) options.target.assumed.push_back({v.lo, v.hi, v.or_nan});
  std::optional<report::ProgressBar> bar(std::in_place, "optimising", 0);
  TRY(pipeline::Optimised best, pipeline::optimise(e, options, [&](const pipeline::Progress& p) {
        bar->update(p.done, p.total, report::stage_text(name_of(p.stage), p.best_ratio));
      }));
  bar.reset();
  for (const pipeline::CandidateReport& c : best.candidates) {
    char line[160];
    std::snprintf(line, sizeof line, "; candidate %-12s %u vectors%s%s%s%s  %s\n", c.form.c_str(), c.variant.vectors,
                  c.variant.schedule ? "" : ", source order", c.variant.lockstep ? ", in step" : "",
                  c.variant.underflow_apart ? ", underflow apart" : "", c.variant.non_temporal ? ", streaming" : "",
                  c.ratio > 0 ? ("ratio " + nine_digits(c.ratio)).c_str() : "not timed");
    cost += line;
    if (!c.same) cost += ";   " + c.verdict + "\n";
  }
  if (best.speculation) cost += assumed_text(assumed) + speculation_text(*best.speculation);
  for (const equiv::ErrorBound& bound : best.bounds) cost += "; proven error of " + equiv::print(bound) + "\n";
  const bool by_bound = policy.kind != expr::PolicyKind::exact && best.errors.same() && best.errors.points != 0;
  if (by_bound) cost += "; " + equiv::print(best.errors) + "\n";
  switch (best.outcome) {
    case pipeline::Outcome::published:
      cost += "; measured: " + nine_digits(best.winner_ns) + " ns against " + nine_digits(best.baseline_ns) +
              " ns of the baseline per call of " + counted(verb.n, "element") + "\n";
      return std::move(best.winner);
    case pipeline::Outcome::no_gain:
    case pipeline::Outcome::budget_spent: cost += "; " + best.note + ": the baseline stands\n"; break;
    case pipeline::Outcome::not_equivalent:
      return make_error(ErrorCode::kNotEquivalent,
                        "the baseline kernel differs from the reference, which is a bug in Trident: %s",
                        equiv::print(best.errors).c_str());
  }
  return pipeline::compile_baseline(e, options);
}

Result<void> tell_story(const ExplainVerb& verb, const expr::Expr& e, codegen::Isa isa) {
  StoryOptions options;
  TRY(options.policy, corpus::parse_policy(verb.kernel.policy));
  options.isa = isa, options.seed = verb.seed, options.elements = verb.n;
  options.curves = !verb.svg.empty();
  TRY(const std::optional<pipeline::SearchRules> rules, load_search_rules(verb.rule_files));
  options.rules = rules ? &*rules : nullptr;
  TRY(const SearchStory story, tell(e, options));
  if (verb.wants('s')) std::fputs(story_text(story).c_str(), stdout);
  return verb.svg.empty() ? Result<void>() : write_text(verb.svg, story_svg(story));
}

Result<void> explain(const ExplainVerb& verb) {
  TRY_VOID(verb.check());
  TRY(const SourceText source, source_of(verb.input));
  TRY(const expr::Expr parsed, parse_expression(source, verb.kernel));
  TRY(const expr::Expr e, expr::eliminate_derivatives(parsed));
  // Faults of options are told before anything is printed.
  TRY(const std::vector<expr::Variable> assumed, assumed_variables(verb.assumed, parsed));
  TRY([[maybe_unused]] const expr::Policy policy, corpus::parse_policy(verb.kernel.policy));
  if (verb.wants('i')) std::fputs(expression_text(e).c_str(), stdout);
  if (verb.wants('d')) std::fputs((expr::print_dot(e) + "\n").c_str(), stdout);
  if (!verb.wants('s') && !verb.wants('k') && !verb.wants('m') && !verb.wants('c') && verb.svg.empty()) return {};
  TRY(const codegen::Isa isa, corpus::parse_isa(verb.kernel.isa));
  if (verb.tells()) TRY_VOID(tell_story(verb, e, isa));
  if (!verb.wants('k') && !verb.wants('m') && !verb.wants('c')) return {};
  TRY(const ir::Type type, corpus::parse_float_type(verb.kernel.type));
  std::string cost;
  TRY(const pipeline::Compiled compiled, compile(verb, parsed, assumed, isa, cost));
  if (verb.wants('k')) std::fputs(("; kernel IR\n" + kir::print(compiled.kernel) + "\n").c_str(), stdout);
  if (verb.wants('m')) std::fputs(code_text(compiled.code, compiled.variant, isa).c_str(), stdout);
  unsigned bytes_per_element = 0;
  for (const kir::Output& o : compiled.kernel.outputs)
    if (o.kind == kir::OutputKind::array) bytes_per_element += ir::bytes_of(compiled.kernel.type_of(o.value));
  if (verb.wants('c')) {
    cost = cost_text(compiled.code, isa, type, bytes_per_element) + early_end_text(compiled.kernel) + cost;
    std::fputs(cost.c_str(), stdout);
  }
  return {};
}

/// The code of an image file: what the daemon's cache or a client's dump holds.
Result<std::string> disassemble_image(const std::string& path) {
  TRY(const std::vector<std::byte> bytes, os::read_file(path, limits::kImageBytesMax));
  image::ImageBytes image;
  image.bytes.assign(bytes.begin(), bytes.end());
  TRY_VOID(image::validate(image.bytes));
  const trident_image_header& header = image.header();
  codegen::MachineCode code;
  code.bytes.assign(image.bytes.begin() + header.code_offset,
                    image.bytes.begin() + header.code_offset + header.code_size);
  code.code_size = code.pool_offset = header.code_size;
  TRY(const codegen::Isa isa, image::isa_of(header.isa));
  TRY(const std::string listing, codegen::disassemble(code, isa));
  return "; " + std::string(codegen::name_of(isa)) + ", tier " + std::to_string(header.tier) + ", " +
         counted(header.inputs, "input") + ", " + counted(header.outputs, "output") + ", " +
         counted(header.code_size, "byte") + " of code\n" + listing;
}

bool is_image(const std::string& path) {
  const auto file = os::open_regular_file(path);  // a pipe could not be read a second time
  std::uint32_t magic = 0;
  return file && ::read(file->get(), &magic, sizeof magic) == sizeof magic && magic == TRIDENT_IMAGE_MAGIC;
}

Result<void> explain_function(const ExplainVerb& verb, const FunctionStages& stages) {
  for (const std::string& name : verb.given)
    if (name != "--tier" && name != "--isa" && name != "--library")
      return make_error(ErrorCode::kInvalidArgument, "%s is a function: %s applies to expressions only",
                        verb.input.c_str(), name.c_str());
  TRY_VOID(verb.check());
  TRY(const codegen::Isa isa, corpus::parse_isa(verb.kernel.isa));
  return explain_function({verb.input, verb.library}, stages,
                          verb.tier == "baseline" ? std::nullopt : std::optional(isa));
}

Result<void> disasm(const ExplainVerb& verb) {
  if (names_function(verb.input)) return explain_function(verb, {.text = false, .region = false});
  if (is_image(verb.input)) {
    if (!verb.given.empty())
      return make_error(ErrorCode::kInvalidArgument, "%s is a kernel image: these options apply to expressions only",
                        verb.input.c_str());
    TRY(const std::string text, disassemble_image(verb.input));
    std::fputs(text.c_str(), stdout);
    return {};
  }
  ExplainVerb only_code = verb;
  only_code.dump = {"m"};
  return explain(only_code);
}

Result<void> explain_any(const ExplainVerb& verb) {
  return names_function(verb.input) ? explain_function(verb, {}) : explain(verb);
}

void add_tier_options(Verb verb, ExplainVerb& state) {
  state.kernel.add_text_options(verb);
  state.kernel.add_code_options(verb);
  add_library_option(verb, state.library);
  verb.add_option("--tier", state.tier, "baseline (as written, at once) or optimised (searched and measured)")
      .capture_default_str();
  verb.add_option("-n,--n", state.n, "Elements of the calls that the search measures")
      .check(range(16, 1 << 26))
      .capture_default_str();
  verb.add_option("--seed", state.seed, "Seed of the search").check(negative_fault).capture_default_str();
  verb.add_option("--disable", state.disabled,
                  "Leave a candidate out; repeatable: " + names_of_candidates() +
                      "; search stands for narrowed, identities, simplified, searched, guided and careful")
      .take_all();
  add_load_rules(verb, state.rule_files);
}

}  // namespace

void add_explain_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("explain", "Show each stage from an expression to its machine code");
  auto state = std::make_shared<ExplainVerb>();
  verb.add_option("EXPR|FILE", state->input,
                  "Expression, file with an expression, - for standard input, or function NAME.fn")
      .required();
  add_tier_options(verb, *state);
  verb.add_flag("--prove-error", state->prove_error, "Prove an error bound of the kernel over the declared ranges");
  verb.add_option("--assume", state->assumed,
                  "Range seen in a variable's data, name:lo:hi[:nan], but not promised: make a kernel that assumes it; "
                  "repeatable")
      .take_all()
      .expected(1)
      .allow_extra_args(false);
  verb.add_option("--dump", state->dump,
                  "Stages to print: i expression, d Graphviz, s search, k kernel IR, m machine code, c cost")
      .delimiter(',')
      .capture_default_str();
  verb.add_option("--stop-after", state->stop_after, "Last stage: parse, dot, search, lower, emit or cost")
      .capture_default_str();
  verb.add_option("--svg", state->svg,
                  "Draw the search to this file: forms, their costs and times, progress of strategies");
  verb.callback([state, verb, &status] {
    state->given = verb.given();
    const auto fits = names_function(state->input) ? Result<void>() : check_library_fits(verb);
    const auto done = fits.ok() ? explain_any(*state) : fits;
    status = done ? 0 : report(done.error());
  });
}

void add_disasm_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("disasm", "Disassemble a kernel image, or the kernel of an expression");
  auto state = std::make_shared<ExplainVerb>();
  verb.add_option("FILE|EXPR", state->input, "Kernel image, expression, file with an expression, or function NAME.fn")
      .required();
  add_tier_options(verb, *state);
  verb.callback([state, verb, &status] {
    state->given = verb.given();
    const auto fits = names_function(state->input) ? Result<void>() : check_library_fits(verb);
    const auto done = fits.ok() ? disasm(*state) : fits;
    status = done ? 0 : report(done.error());
  });
}

}  // namespace trident::cli
