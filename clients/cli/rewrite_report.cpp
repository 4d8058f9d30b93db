// The reports of `trident rewrite`, for people and for programs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "clients/cli/rewrite.h"

namespace trident::cli {
namespace {

using Json = nlohmann::ordered_json;
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
  row["max_error_ulp"] = c.derivative_left || !std::isfinite(c.max_error_ulp) ? Json(nullptr) : Json(c.max_error_ulp);
  row["compared_points"] = c.compared;
  row["derivative_left"] = c.derivative_left;
  row["wrong"] = c.wrong.empty() ? Json(nullptr) : Json(c.wrong);
  return row;
}

}  // namespace

std::string rewrite_text(const RewriteReport& report) {
  std::size_t width = 4;
  for (const RewriteCase& c : report.cases) width = std::max(width, c.name.size());
  const int name = static_cast<int>(std::min<std::size_t>(width, 28));
  std::string out;
  char line[512];
  std::snprintf(line, sizeof line, "%-*s %15s %6s %15s %6s %8s %7s %7s  %-12s %8s\n", name, "case", "tree", "ratio",
                "dag", "ratio", "nodes", "applied", "ms", "stop", "max ulp");
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
    std::snprintf(line, sizeof line, "%-*.*s %15s %6.3f %15s %6.3f %8llu %7llu %7.2f  %-12s %8.3g\n", name, name,
                  c.name.c_str(), tree, cost_ratio(c, &TermCost::tree), dag, cost_ratio(c, &TermCost::dag),
                  static_cast<unsigned long long>(c.stats.nodes), static_cast<unsigned long long>(c.stats.applications),
                  ms(c.stats.nanoseconds), std::string(egraph::name_of(c.stats.stop)).c_str(), c.max_error_ulp);
    out += line;
    out += "    " + c.result + "\n";
    if (c.derivative_left) out += "    a derivative is left: the ratio counts as 1\n";
    if (!c.wrong.empty()) out += "    WRONG: " + c.wrong + "\n";
  }
  double nodes = 0, matches = 0, all_ns = 0, match_ns = 0, apply_ns = 0, extract_ns = 0;
  for (const RewriteCase& c : report.cases) {
    nodes += static_cast<double>(c.stats.nodes), matches += static_cast<double>(c.stats.matches);
    all_ns += static_cast<double>(c.stats.nanoseconds), match_ns += static_cast<double>(c.stats.match_ns);
    apply_ns += static_cast<double>(c.stats.apply_ns), extract_ns += static_cast<double>(c.stats.extract_ns);
  }
  std::snprintf(line, sizeof line, "geomean over %zu cases: tree %.3f, dag %.3f\n", report.cases.size(),
                report.tree_geomean, report.dag_geomean);
  out += line;
  if (all_ns > 0) {
    std::snprintf(line, sizeof line,
                  "%.2f M e-nodes added a second of search, %.1f M matches a second of matching; matching takes %.0f "
                  "%%, applying "
                  "%.0f %%, extraction %.0f %%\n",
                  nodes / all_ns * 1e3, matches / match_ns * 1e3, 100 * match_ns / all_ns, 100 * apply_ns / all_ns,
                  100 * extract_ns / all_ns);
    out += line;
  }
  return out;
}

std::string rewrite_json(const RewriteReport& report) {
  Json cases = Json::array();
  for (const RewriteCase& c : report.cases) cases.push_back(case_json(c));
  const Json all = {{"cases", cases},
                    {"summary",
                     {{"cases", report.cases.size()},
                      {"geomean_tree_ratio", report.tree_geomean},
                      {"geomean_dag_ratio", report.dag_geomean}}}};
  return all.dump(2) + "\n";
}

}  // namespace trident::cli
