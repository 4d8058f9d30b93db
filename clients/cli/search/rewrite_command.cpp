// The command line of `trident rewrite` (rewrite.h does the work).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "clients/cli/search/commands.h"
#include "clients/cli/search/rewrite.h"
#include "clients/cli/verb/user_rules.h"
#include "clients/cli/verb/verb.h"
#include "jit/calibrate/costs_file.h"
#include "jit/corpus/setting_names.h"
#include "jit/expr/rewrite/guides.h"

namespace trident::cli {
namespace {

struct RewriteVerb {
  std::string input, strategy = "best_first", rules = "all", cost = "default", objective = "dag", policy = "fast";
  std::string guide = "network", weights;
  std::uint32_t nodes = 5'000;
  std::string bytes = "256M";
  double ms = 10, dag_max = 0, tree_max = 0;
  std::uint64_t applications = 0, all_nodes = 0;
  std::uint64_t points = 100'000, seed = 1;
  std::vector<std::string> rule_files;
  std::string only, html, dot;
  bool json = false, explain = false;
};

template <class T>
struct Choice {
  const char* text;
  T value;
};

template <class T, std::size_t N>
Result<T> choose(const char* option, const std::string& given, const Choice<T> (&choices)[N]) {
  std::string known;
  for (const Choice<T>& c : choices) {
    if (given == c.text) return c.value;
    known += (known.empty() ? "" : ", ") + std::string(c.text);
  }
  return make_error(ErrorCode::kInvalidArgument, "%s %s: expected one of %s", option, given.c_str(), known.c_str());
}

constexpr std::uint32_t kNodesMin = 16, kNodesMax = 10'000'000;

#define X(name, meaning) {#name, expr::rewrite::GuideKind::name},
constexpr Choice<expr::rewrite::GuideKind> kGuides[] = {TRIDENT_GUIDES(X)};
#undef X

constexpr std::size_t kBytesMin = std::size_t{4} << 20, kBytesMax = std::size_t{1} << 40;

/// A number of bytes, or of KiB, MiB or GiB with K, M or G behind it.
Result<std::size_t> parse_bytes(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  std::size_t value = 0;
  const char* const last = text.data() + text.size();
  auto [end, code] = std::from_chars(text.data(), last, value);
  constexpr std::string_view kUnits = "KMG";
  unsigned shift = 0;
  if (end != last && kUnits.find(*end) != std::string_view::npos)
    shift = 10 * (static_cast<unsigned>(kUnits.find(*end++)) + 1);
  if (code != std::errc() || end != last || value > kBytesMax >> shift || value << shift < kBytesMin)
    return make_error(ErrorCode::kInvalidArgument,
                      "--bytes %s: expected a number of bytes, such as 64M (K, M and G stand for 2^10, 2^20 and 2^30), "
                      "from 4M to 1024G",
                      text.c_str());
  return value << shift;
}

/// Returns the fault of a number, for an option's check(); CLI11 itself reports text that is no number.
template <class Right>
std::string fault_of(const std::string& text, const char* expected, const Right& right) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  double value = 0;
  const auto [end, code] = std::from_chars(text.data() + first, text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || right(value)) return "";
  return std::string("expected ") + expected + ", found " + text.substr(first);
}
/// Less than a microsecond is no time.
std::string ms_fault(const std::string& text) {
  return fault_of(text, "0 (no limit), or 0.001 to 1000000",
                  [](double ms) { return ms == 0 || (ms >= 1e-3 && ms <= 1e6); });
}
std::string nodes_fault(const std::string& text) {
  return fault_of(text, "a number of e-nodes, at least 16 and at most 10000000",
                  [](double nodes) { return nodes >= kNodesMin && nodes <= kNodesMax; });
}
std::string ratio_fault(const std::string& text) {
  return fault_of(text, "a ratio above 0", [](double ratio) { return ratio > 0 && std::isfinite(ratio); });
}

Result<RewriteSettings> settings_of(const RewriteVerb& verb) {
  using egraph::Objective, egraph::Strategy;
  RewriteSettings s;
  constexpr Choice<Strategy> kStrategies[] = {{"saturate", Strategy::saturate},     {"pulse", Strategy::pulse},
                                              {"best_first", Strategy::best_first}, {"random", Strategy::random},
                                              {"hostile", Strategy::hostile},       {"guided", Strategy::guided}};
  constexpr Choice<Objective> kObjectives[] = {{"dag", Objective::dag}, {"tree", Objective::tree}};
  const Choice<egraph::CostModel> costs[] = {
      {"default", expr::rewrite::default_costs()}, {"host", {}}, {"reference", expr::rewrite::reference_costs()}};
  TRY(s.search.strategy, choose("--strategy", verb.strategy, kStrategies));
  TRY(s.search.objective, choose("--objective", verb.objective, kObjectives));
  TRY(s.search.costs, choose("--cost", verb.cost, costs));
  TRY(s.search.policy, corpus::parse_policy(verb.policy));
  if (verb.rules != "all") {
    const auto [end, code] =
        std::from_chars(verb.rules.data(), verb.rules.data() + verb.rules.size(), s.search.rules_max);
    if (code != std::errc() || end != verb.rules.data() + verb.rules.size())
      return make_error(ErrorCode::kInvalidArgument, "--rules %s: expected a number or all", verb.rules.c_str());
  }
  TRY(const std::size_t bytes, parse_bytes(verb.bytes));
  s.search.budget = {.nodes = verb.nodes,
                     .nanoseconds = static_cast<std::uint64_t>(verb.ms * 1e6),
                     .applications = verb.applications == 0 ? UINT64_MAX : verb.applications,
                     .graph_nodes = verb.all_nodes,
                     .bytes = bytes};
  s.search.seed = verb.seed;
  s.search.explain = verb.explain || !verb.html.empty();
  s.view = !verb.html.empty() || !verb.dot.empty();
  s.points = verb.points;
  return s;
}

/// The rules of a user's files, and behind them the built-in ones; --rules counts only these.
Result<expr::rewrite::RuleSet> with_user_rules(const RewriteVerb& verb, RewriteSettings& settings) {
  TRY(rulecheck::UserRules own_rules, load_rules(verb.rule_files));
  const std::vector<bool> fire = allowed(own_rules.set, settings.search.policy);
  const auto own = static_cast<std::size_t>(std::count(fire.begin(), fire.end(), true));
  settings.search.rules_max += std::min(own, std::numeric_limits<std::size_t>::max() - settings.search.rules_max);
  return expr::rewrite::with_builtin_rules(std::move(own_rules.set));
}

Result<int> rewrite(const RewriteVerb& verb) {
  TRY(RewriteSettings settings, settings_of(verb));
  TRY(std::vector<corpus::CorpusKernel> cases, corpus::read_corpus(verb.input));
  if (!verb.only.empty()) {
    std::erase_if(cases, [&](const corpus::CorpusKernel& c) { return c.name != verb.only; });
    if (cases.empty())
      return make_error(ErrorCode::kInvalidArgument, "--case %s: %s has no such case", verb.only.c_str(),
                        verb.input.c_str());
  }
  if (settings.view && cases.size() != 1)
    return make_error(ErrorCode::kInvalidArgument, "--html and --dot show one case: choose it with --case NAME");
  std::optional<expr::rewrite::OpCosts> measured;
  if (verb.cost == "host") {
    TRY(const codegen::Isa isa, corpus::parse_isa("auto"));
    TRY(cost::Table table, calibrate::host_costs(codegen::name_of(isa)));
    settings.search.costs = measured.emplace(std::move(table)).model();
  }
  std::optional<expr::rewrite::CompiledRules> rules;
  if (!verb.rule_files.empty()) {
    TRY(expr::rewrite::RuleSet set, with_user_rules(verb, settings));
    settings.search.rules = &rules.emplace(std::move(set));
  }
  std::optional<expr::rewrite::AnyGuide> guide;
  if (settings.search.strategy == egraph::Strategy::guided) {
    TRY(const expr::rewrite::GuideKind kind, choose("--guide", verb.guide, kGuides));
    TRY(guide, expr::rewrite::AnyGuide::make(kind, verb.weights));
    settings.search.guide = guide->get();
  } else if (!verb.weights.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "--weights needs a guided search: add --strategy guided");
  }
  const RewriteReport report = rewrite_cases(cases, settings);
  if (!verb.html.empty()) TRY_VOID(write_text(verb.html, rewrite_html(report.cases[0])));
  if (!verb.dot.empty()) TRY_VOID(write_text(verb.dot, egraph::print_dot(report.cases[0].graph)));
  std::fputs((verb.json ? rewrite_json(report) : rewrite_text(report)).c_str(), stdout);
  std::fflush(stdout);
  bool held = true;
  const auto bar = [&](const char* what, double value, double most) {
    if (most <= 0) return;
    std::fprintf(stderr, "bar: geomean %s ratio %.3f, at most %.3f: %s\n", what, value, most,
                 value <= most ? "held" : "MISSED");
    held = held && value <= most;
  };
  bar("dag", report.dag_geomean, verb.dag_max);
  bar("tree", report.tree_geomean, verb.tree_max);
  return report.failed() || !held ? kExitWrong : 0;
}

}  // namespace

void add_rewrite_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("rewrite", "Search for cheaper forms of the expressions in a file");
  auto state = std::make_shared<RewriteVerb>();
  verb.add_option("FILE", state->input, "Cases as in bench/corpus/rewrite.txt; kernels.tsv and .sexp too").required();
  verb.add_option("--strategy", state->strategy, "saturate, pulse, best_first, random, hostile or guided")
      .capture_default_str();
  verb.add_option("--guide", state->guide,
                  "Guide of strategy guided: network (trained), cost, constant, random or hostile")
      .capture_default_str();
  verb.add_option("--weights", state->weights, "Weights file of `trident train guide`; default: the shipped weights");
  verb.add_option("--rules", state->rules, "Use the N most useful built-in rules, or all").capture_default_str();
  add_load_rules(verb, state->rule_files);
  verb.add_option("--nodes", state->nodes, "Most e-nodes of one graph, at least 16; graphs grow while that helps")
      .check(nodes_fault)
      .capture_default_str();
  verb.add_option("--all-nodes", state->all_nodes, "Most e-nodes of all graphs of a case together; 0: no limit")
      .check(negative_fault)
      .capture_default_str();
  verb.add_option("--ms", state->ms, "CPU time for each case in milliseconds; 0: no limit")
      .check(ms_fault)
      .capture_default_str();
  verb.add_option("--bytes", state->bytes,
                  "Memory for the search of a case, at least 4M; K, M and G stand for 2^10, 2^20, 2^30")
      .capture_default_str();
  verb.add_option("--applications", state->applications, "Most applications of rules for each case; 0: no limit")
      .check(negative_fault)
      .capture_default_str();
  verb.add_option("--cost", state->cost,
                  "Costs of ops: default, host (measured by `trident calibrate`) or reference (published)")
      .capture_default_str();
  verb.add_option("--objective", state->objective, "dag: count shared parts once; tree: as often as they are used")
      .capture_default_str();
  verb.add_option("-p,--policy", state->policy, "Rules that may fire: exact, bounded[:k] or fast (finite inputs)")
      .capture_default_str();
  verb.add_option("--points", state->points, "Points at which each result is compared with its source")
      .check(range(1, 100'000'000))
      .capture_default_str();
  verb.add_option("--seed", state->seed, "Seed of the search").check(negative_fault).capture_default_str();
  verb.add_option("--dag-max", state->dag_max, "Exit 1 if the geomean of the DAG ratios is above this")
      .check(ratio_fault);
  verb.add_option("--tree-max", state->tree_max, "Exit 1 if the geomean of the tree ratios is above this")
      .check(ratio_fault);
  verb.add_option("--case", state->only, "Run only the case of this name");
  verb.add_option("--html", state->html, "Write a page about one case: result, derivation, e-graph")
      .check(file_name_fault);
  verb.add_option("--dot", state->dot, "Write the e-graph of one case for Graphviz; - for standard output")
      .check(file_name_fault);
  verb.add_flag("--explain", state->explain, "Show the rule instances from which each result follows");
  verb.add_flag("--json", state->json, "Print a JSON object instead of the table");
  verb.callback([state, &status] {
    const auto code = rewrite(*state);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
