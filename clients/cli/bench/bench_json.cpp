// The benchmark's report for programs.
#include <cmath>

#include "clients/cli/bench/bench.h"
#include "jit/corpus/setting_names.h"
#include "runtime/json/json.h"

namespace trident::cli {
namespace {

/// JSON has no infinity and no NaN.
Json number(double v) {
  return std::isfinite(v) ? Json(v) : Json(nullptr);
}

/// A share of a roof or limit; 0 says that none is known.
Json share(double v) {
  return v > 0 ? number(v) : Json(nullptr);
}

Json roof(double its_share, bool bandwidth) {
  return its_share > 0 ? Json(bandwidth ? "bandwidth" : "port") : Json(nullptr);
}

Json loop_json(const LoopProfile& p) {
  return {{"instructions", p.instructions},
          {"arithmetic", p.arithmetic},
          {"multiplies", p.multiplies},
          {"additions", p.additions},
          {"divisions", p.divisions},
          {"roots", p.roots},
          {"loads", p.loads},
          {"stores", p.stores},
          {"spills", p.spills},
          {"calls", p.calls},
          {"vector_bits", p.vector_bits}};
}

Json kernel_json(const KernelResult& k) {
  Json ns = Json::object(), small_ns = Json::object(), errors = Json::object(), missing = Json::object();
  for (const Entry& e : k.entries) {
    if (!e.missing.empty()) {
      missing[e.name] = e.missing;
      continue;
    }
    ns[e.name] = number(e.ns);
    if (e.small_ns > 0) small_ns[e.name] = number(e.small_ns);
    errors[e.name] = number(e.error_ulp);
  }
  Json row = {{"name", k.name}, {"group", k.group}, {"class", k.transcendental ? "transcendental" : "algebraic"}};
  row["ns"] = ns;
  row["best_compiler"] = k.failure.empty() ? Json(k.entries[k.best].name) : Json(nullptr);
  row["ratio"] = k.failure.empty() ? number(k.ratio) : Json(nullptr);
  row["max_error_ulp"] = number(k.ours().error_ulp);
  row["bound_share"] = number(k.ours().bound_share);
  row["error_ulp"] = errors;
  row["ns_512"] = small_ns;
  row["ratio_512"] = k.small_ratio > 0 ? number(k.small_ratio) : Json(nullptr);
  if (k.gain > 0) row["gain"] = number(k.gain);
  row["optimised"] = k.optimised;
  row["first_s"] = number(k.first_s);
  row["optimise_s"] = number(k.optimise_s);
  row["speculates"] = k.speculates;
  if (k.speculates) row["missing_ratio"] = number(k.missing);
  if (!k.why_not_speculating.empty()) row["why_not_speculating"] = k.why_not_speculating;
  row["variant"] = k.variant;
  row["clock_ghz"] = number(k.clock_ghz);
  row["roof_share"] = share(k.roof_share);
  row["roof_share_512"] = share(k.small_roof_share);
  row["roof_share_512_with_divider"] = share(k.small_limit_share);
  row["roof"] = roof(k.roof_share, k.bandwidth_bound);
  row["roof_512"] = roof(k.small_roof_share, k.small_bandwidth_bound);
  if (k.loop) row["loop"] = loop_json(*k.loop);
  if (k.best_loop) row["best_compiler_loop"] = loop_json(*k.best_loop);
  if (missing.size() > 0) row["missing"] = missing;
  if (!k.reason.empty()) row["reason"] = k.reason;
  if (!k.failure.empty()) row["failure"] = k.failure;
  return row;
}

Json summary_json(const Summary& s) {
  Json beside = Json::object();
  for (const auto& [name, ratio] : s.beside) beside[name] = share(ratio);
  return {{"kernels", s.count},
          {"geomean_ratio", number(s.geomean)},
          {"median_ratio", number(s.median)},
          {"worst_ratio", number(s.worst)},
          {"wins", s.wins},
          {"median_first_s", number(s.first_s_median)},
          {"max_first_s", number(s.first_s_max)},
          {"median_optimise_s", number(s.optimise_s_median)},
          {"p95_optimise_s", number(s.optimise_s_p95)},
          {"max_optimise_s", number(s.optimise_s_max)},
          {"speculate", s.speculate},
          {"worst_missing_ratio", share(s.missing_worst)},
          {"geomean_ratio_512", number(s.small_geomean)},
          {"geomean_gain", share(s.gain)},
          {"geomean_ratio_to_others", beside},
          {"median_roof_share", share(s.roof_share_median)},
          {"median_roof_share_512", share(s.small_roof_share_median)},
          {"geomean_roof_share_512", share(s.small_roof_share_geomean)},
          {"median_roof_share_512_with_divider", share(s.small_limit_share_median)}};
}

}  // namespace

std::string bench_json(const BenchResult& r) {
  Json compilers = Json::array();
  for (const Compiler& c : r.compilers)
    compilers.push_back({{"name", c.name}, {"version", c.version}, {"flags", c.flags}, {"pinned", c.pinned}});
  Json root = {{"cpu", r.cpu},
               {"isa", std::string(codegen::name_of(r.options.isa))},
               {"type", std::string(ir::name_of(r.options.type))},
               {"n", r.options.n},
               {"policy", corpus::policy_name(r.options.policy)},
               {"rounds", r.options.rounds},
               {"against", r.options.against == Against::strict ? "strict" : "fast-math"},
               {"disabled", r.options.disabled},
               {"ns_unit", "nanoseconds per call of n elements, median"},
               {"compilers", compilers}};
  if (!r.numexpr_version.empty()) root["numexpr"] = r.numexpr_version;
  root["kernels"] = Json::array();
  for (const KernelResult& k : r.kernels) root["kernels"].push_back(kernel_json(k));
  Json lost = Json::array();
  for (const KernelResult& k : r.kernels)
    if (k.failure.empty() && k.ratio > kLostRatio)
      lost.push_back({{"name", k.name}, {"ratio", k.ratio}, {"reason", k.reason}});
  root["summary"] = {{"all", summary_json(r.all)},
                     {"transcendental", summary_json(r.transcendental)},
                     {"algebraic", summary_json(r.algebraic)},
                     {"derivatives", summary_json(r.derivatives)},
                     {"above_1_15", lost},
                     {"failed", r.failed()}};
  // Names come from files: bytes that are not UTF-8 are replaced rather than thrown about.
  return root.dump(1) + "\n";
}

}  // namespace trident::cli
