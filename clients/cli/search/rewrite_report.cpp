// The reports of `trident rewrite`, for people and for programs.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "clients/cli/search/rewrite.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"

namespace trident::cli {
namespace {

using expr::rewrite::Differentiated;
using expr::rewrite::TermCost;

double ms(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-6;
}

Json case_json(const RewriteCase& c) {
  Json row = {{"name", c.name}, {"group", c.group}};
  if (!c.failure.empty()) {
    row["failure"] = c.failure;
    return row;
  }
  row["tree_before"] = c.before.tree;
  row["tree_after"] = c.after.tree;
  row["tree_ratio"] = cost_ratio(c, &TermCost::tree);
  row["dag_before"] = c.before.dag;
  row["dag_after"] = c.after.dag;
  row["dag_ratio"] = cost_ratio(c, &TermCost::dag);
  row["nodes"] = c.stats.nodes;
  row["graphs"] = c.stats.graphs;
  row["applications"] = c.stats.applications;
  row["matches"] = c.stats.matches;
  row["ms"] = ms(c.stats.nanoseconds);
  row["bytes_max"] = c.stats.bytes_max;
  row["stop"] = egraph::name_of(c.stats.stop);
  row["result"] = c.result;
  const auto figure = [&](double x) { return c.derivative_left || !std::isfinite(x) ? Json(nullptr) : Json(x); };
  row["max_error_ulp"] = figure(c.error.ulp);
  row["max_error_ulp_before"] = figure(c.error_before.ulp);
  row["bound_share"] = figure(c.error.bound_share);
  row["bound_share_before"] = figure(c.error_before.bound_share);
  row["compared_points"] = c.compared;
  row["not_finite_share"] = c.derivative_left ? Json(nullptr) : Json(c.not_finite_share);
  row["not_finite_at"] = c.not_finite_at.empty() ? Json(nullptr) : Json(c.not_finite_at);
  row["passed_over"] = c.passed_over;
  row["derivative_left"] = c.derivative_left;
  if (c.differentiated != Differentiated::none) row["differentiated_by"] = expr::rewrite::text_of(c.differentiated);
  row["wrong"] = c.wrong.empty() ? Json(nullptr) : Json(c.wrong);
  if (c.derivation.empty()) return row;
  Json steps = Json::array();
  for (const DerivationLine& step : c.derivation)
    steps.push_back({{"rule", step.rule}, {"left", step.left}, {"right", step.right}, {"rounded", step.rounded}});
  row["derivation"] = std::move(steps);
  row["replay_fault"] = c.replay_fault.empty() ? Json(nullptr) : Json(c.replay_fault);
  return row;
}

/// An equation, but "~=" where it holds only up to the rounding of constants, which are named.
std::string step_text(const DerivationLine& step) {
  std::string text = "      " + step.rule + ": " + step.left + (step.rounded.empty() ? "  =  " : "  ~=  ") + step.right;
  if (!step.rounded.empty()) text += "  (" + rounded_text(step) + ")";
  return text + "\n";
}

/// Rates of the search, over all cases.
struct Rates {
  double search_ns = 0, match_share = 0, apply_share = 0, extract_share = 0;
  double nodes_per_second = 0;           ///< added by rules, of applying: ordering, adding, merging, rebuilding
  double matches_per_second = 0;         ///< found, of matching
  double search_nodes_per_second = 0;    ///< added by rules, of the whole search
  double search_matches_per_second = 0;  ///< found, of the whole search
  double bytes_per_node = 0;             ///< memory for each node that there is room for, the median over the cases
  double bytes_per_live_node = 0;        ///< ... of those that are no duplicates
};

Rates rates_of(const RewriteReport& report) {
  double nodes = 0, matches = 0, match_ns = 0, apply_ns = 0, extract_ns = 0;
  std::vector<double> bytes, live_bytes;
  Rates rates;
  for (const RewriteCase& c : report.cases) {
    if (!c.failure.empty()) continue;
    nodes += static_cast<double>(c.stats.nodes_applied), matches += static_cast<double>(c.stats.matches);
    match_ns += static_cast<double>(c.stats.match_ns), apply_ns += static_cast<double>(c.stats.apply_ns);
    extract_ns += static_cast<double>(c.stats.extract_ns);
    rates.search_ns += static_cast<double>(c.stats.nanoseconds);
    bytes.push_back(c.stats.bytes_per_node);
    live_bytes.push_back(c.stats.bytes_per_live_node);
  }
  if (rates.search_ns == 0) return rates;
  rates.match_share = match_ns / rates.search_ns, rates.apply_share = apply_ns / rates.search_ns;
  rates.extract_share = extract_ns / rates.search_ns;
  rates.nodes_per_second = apply_ns > 0 ? nodes / apply_ns * 1e9 : 0;
  rates.matches_per_second = match_ns > 0 ? matches / match_ns * 1e9 : 0;
  rates.search_nodes_per_second = nodes / rates.search_ns * 1e9;
  rates.search_matches_per_second = matches / rates.search_ns * 1e9;
  const auto median = [](std::vector<double>& of) {
    std::sort(of.begin(), of.end());
    return of[of.size() / 2];
  };
  rates.bytes_per_node = median(bytes), rates.bytes_per_live_node = median(live_bytes);
  return rates;
}

}  // namespace

std::string rounded_text(const DerivationLine& step) {
  std::string text;
  for (std::size_t i = 0; i < step.rounded.size(); ++i)
    text += (i == 0 ? "" : i + 1 == step.rounded.size() ? " and " : ", ") + step.rounded[i];
  return text + (text.empty() ? "" : step.rounded.size() == 1 ? " is rounded" : " are rounded");
}

std::string rewrite_text(const RewriteReport& report) {
  std::size_t width = 4;
  for (const RewriteCase& c : report.cases) width = std::max(width, c.name.size());
  const int name = static_cast<int>(std::min<std::size_t>(width, 28));
  std::string out;
  char line[512];
  std::snprintf(line, sizeof line, "%-*s %15s %6s %15s %6s %8s %7s %7s  %-13s %8s %8s\n", name, "case", "tree", "ratio",
                "dag", "ratio", "nodes", "applied", "ms", "stop", "max ulp", "before");
  out += line;
  for (const RewriteCase& c : report.cases) {
    if (!c.failure.empty()) {
      std::snprintf(line, sizeof line, "%-*.*s FAILED: ", name, name, c.name.c_str());
      out += line + c.failure + "\n";
      continue;
    }
    char tree[48], dag[48];
    std::snprintf(tree, sizeof tree, "%g > %g", c.before.tree, c.after.tree);
    std::snprintf(dag, sizeof dag, "%g > %g", c.before.dag, c.after.dag);
    std::snprintf(line, sizeof line, "%-*.*s %15s %6.3f %15s %6.3f %8llu %7llu %7.2f  %-13s %8.3g %8.3g\n", name, name,
                  c.name.c_str(), tree, cost_ratio(c, &TermCost::tree), dag, cost_ratio(c, &TermCost::dag),
                  static_cast<unsigned long long>(c.stats.nodes), static_cast<unsigned long long>(c.stats.applications),
                  ms(c.stats.nanoseconds), std::string(egraph::name_of(c.stats.stop)).c_str(), c.error.ulp,
                  c.error_before.ulp);
    out += line;
    out += "    " + c.result + "\n";
    if (c.differentiated != Differentiated::none)
      out += "    differentiated by " + std::string(expr::rewrite::text_of(c.differentiated)) + "\n";
    if (c.passed_over > 0)
      out += fmt::format("    passed over: {}, wrong, less accurate, or different where a zero's sign or NaN decides\n",
                         counted(c.passed_over, "cheaper form"));
    if (!c.not_finite_at.empty())
      out += fmt::format("    not finite at {:.2g} % of points of any magnitude where the source is: {}\n",
                         100 * c.not_finite_share, c.not_finite_at);
    if (c.derivative_left) out += "    a derivative is left: the ratio counts as 1\n";
    if (!c.wrong.empty()) out += "    WRONG: " + c.wrong + "\n";
    for (const DerivationLine& step : c.derivation) out += step_text(step);
    if (!c.replay_fault.empty()) out += "    THE DERIVATION DOES NOT HOLD: " + c.replay_fault + "\n";
  }
  std::snprintf(line, sizeof line, "geomean over %s: tree %.3f, dag %.3f\n",
                counted(report.cases.size(), "case").c_str(), report.tree_geomean, report.dag_geomean);
  out += line;
  const Rates rates = rates_of(report);
  if (rates.search_ns > 0) {
    std::snprintf(
        line, sizeof line,
        "%.1f M e-nodes a second of applying, %.1f M matches a second of matching, %.0f bytes an e-node (%.0f one "
        "that is no duplicate)\n"
        "%.1f M and %.1f M a second of the search: matching takes %.0f %%, applying %.0f %%, extraction %.0f "
        "%%\n",
        rates.nodes_per_second * 1e-6, rates.matches_per_second * 1e-6, rates.bytes_per_node, rates.bytes_per_live_node,
        rates.search_nodes_per_second * 1e-6, rates.search_matches_per_second * 1e-6, 100 * rates.match_share,
        100 * rates.apply_share, 100 * rates.extract_share);
    out += line;
  }
  return out;
}

std::string rewrite_json(const RewriteReport& report) {
  Json cases = Json::array();
  for (const RewriteCase& c : report.cases) cases.push_back(case_json(c));
  const Rates rates = rates_of(report);
  const Json all = {{"cases", cases},
                    {"summary",
                     {{"cases", report.cases.size()},
                      {"geomean_tree_ratio", report.tree_geomean},
                      {"geomean_dag_ratio", report.dag_geomean},
                      {"nodes_per_second", rates.nodes_per_second},
                      {"matches_per_second", rates.matches_per_second},
                      {"search_nodes_per_second", rates.search_nodes_per_second},
                      {"search_matches_per_second", rates.search_matches_per_second},
                      {"bytes_per_node", rates.bytes_per_node},
                      {"bytes_per_live_node", rates.bytes_per_live_node}}}};
  return all.dump(2) + "\n";
}

}  // namespace trident::cli
