// The benchmark's report as a page with charts.
#include <algorithm>
#include <cstdio>

#include "clients/cli/bench/bench.h"
#include "jit/corpus/setting_names.h"
#include "runtime/report/html_page.h"

namespace trident::cli {
namespace html = report::html;
namespace {

std::string figure(double v, const char* format = "%.3f") {
  char text[48];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

std::vector<const KernelResult*> by_ratio(const BenchResult& r) {
  std::vector<const KernelResult*> sorted;
  for (const KernelResult& k : r.kernels)
    if (k.failure.empty()) sorted.push_back(&k);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->ratio < b->ratio; });
  return sorted;
}

std::string ratio_section(const BenchResult& r, const std::vector<const KernelResult*>& kernels) {
  std::vector<html::RatioRow> rows;
  for (const KernelResult* k : kernels)
    rows.push_back({k->name, k->ratio,
                    k->name + ": " + figure(k->ratio) + " of " + k->entries[k->best].name + " (" +
                        (k->transcendental ? "transcendental" : "algebraic") + ")"});
  return html::section(
      "Time against the best compiler, per kernel",
      "Bars to the left of 1 are kernels on which Trident is faster than the " + pinned_in_words(r) +
          "; median of the ratio over interleaved rounds.",
      html::ratio_chart(rows, "our time / best compiler's time, logarithmic; \xE2\x86\x90 further left is faster"));
}

/// The section on the switched-off candidates: our time divided by that of the same code generation without them.
std::string gain_section(const BenchResult& r, std::vector<const KernelResult*> kernels) {
  std::erase_if(kernels, [](const KernelResult* k) { return k->gain <= 0; });
  if (kernels.empty()) return "";
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto* a, const auto* b) { return a->gain < b->gain; });
  std::vector<html::RatioRow> rows;
  for (const KernelResult* k : kernels) rows.push_back({k->name, k->gain, k->name + ": " + figure(k->gain)});
  std::string off;
  for (const std::string& name : r.options.disabled) off += (off.empty() ? "" : ", ") + name;
  return html::section("Time against ours without " + r.options.without + ", per kernel",
                       "The other contestant has the same code generator, loop shapes, accuracies of functions and "
                       "tournament; switched off: " +
                           off + ". Geometric mean " + figure(r.all.gain) + ".",
                       html::ratio_chart(rows, "our time / our time without, logarithmic"));
}

std::string dots_section(const BenchResult& r, const std::vector<const KernelResult*>& kernels) {
  std::vector<html::Series> series;
  for (std::size_t e = 0; e < r.kernels[0].entries.size(); ++e)
    series.push_back({e == 0   ? "Trident"
                      : e == 1 ? "Trident, baseline tier"
                               : r.kernels[0].entries[e].name,
                      static_cast<unsigned>(e % 10)});
  std::vector<html::DotRow> rows;
  for (const KernelResult* k : kernels) {
    html::DotRow row{k->name, {}, ""};
    for (const Entry& e : k->entries)
      row.values.push_back(e.missing.empty() ? e.ns / static_cast<double>(r.options.n) : 0);
    rows.push_back(std::move(row));
  }
  return html::section("Nanoseconds per element, all contestants",
                       "One row per kernel, in the order of the chart above; point at a dot for its figure.",
                       html::dot_chart(series, rows, "ns per element"));
}

std::string roof_section(const std::vector<const KernelResult*>& kernels) {
  std::vector<html::ShareRow> rows;
  for (const KernelResult* k : kernels) {
    if (k->small_roof_share <= 0) continue;
    std::string hint = k->small_bandwidth_bound ? "bandwidth roof" : "port roof";
    if (k->loop)
      hint += ": " + std::to_string(k->loop->arithmetic) + " vector instructions, " + std::to_string(k->loop->loads) +
              " loads, " + std::to_string(k->loop->stores) + " stores, " + std::to_string(k->loop->divisions) +
              " divisions or roots per iteration";
    rows.push_back({k->name, k->small_roof_share, k->small_limit_share, hint});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  return html::section(
      "Share of the machine's limit at 512 elements",
      "Limit: the larger of the port roof (vector instructions, multiplications, additions, loads and stores of the "
      "main loop, each at the rate measured in the same rounds) and a measured copy of the same shape; what a kernel "
      "beats by more than the error of measurement is no limit of it. Paler: with the time that the divider is busy "
      "with divisions and roots, which the roof's definition leaves out. The dashed line is the goal.",
      html::share_chart({{"of the port or bandwidth roof", 0}, {"of the divider, where that is nearer", 4}}, rows, 0.70,
                        "share of the limit; 100% is as fast as this code can go on this machine"));
}

std::string table_section(const BenchResult& r) {
  std::vector<std::string> headings = {"kernel",  "class",        "ratio",           "best compiler",
                                       "max ulp", "of the bound", "first better, s", "last better, s"};
  for (const Entry& e : r.kernels[0].entries) headings.push_back(e.name);
  headings.insert(headings.end(), {"variant", "note"});
  std::vector<std::vector<std::string>> rows;
  for (const KernelResult& k : r.kernels) {
    std::vector<std::string> row = {k.name, k.transcendental ? "transcendental" : "algebraic"};
    const bool ok = k.failure.empty();
    row.push_back(ok ? figure(k.ratio) : "-");
    row.push_back(ok ? k.entries[k.best].name : "-");
    row.push_back(figure(k.ours().error_ulp, "%.2f"));
    row.push_back(figure(k.ours().bound_share, "%.2f"));
    row.push_back(figure(k.first_s, "%.2f"));
    row.push_back(figure(k.optimise_s, "%.2f"));
    for (const Entry& e : k.entries)
      row.push_back(e.missing.empty() ? figure(e.ns / static_cast<double>(r.options.n)) : "-");
    row.push_back(k.variant);
    row.push_back(ok ? k.reason : "FAILED: " + k.failure);
    rows.push_back(std::move(row));
  }
  return html::section("All figures", "ns per element; click a heading to sort.", html::table(headings, rows));
}

std::string compilers_section(const BenchResult& r) {
  std::vector<std::vector<std::string>> rows;
  for (const Compiler& c : r.compilers) {
    std::string flags;
    for (const std::string& f : c.flags) flags += (flags.empty() ? "" : " ") + f;
    rows.push_back({c.name, c.version, flags, c.pinned ? "pinned" : "shown only"});
  }
  return html::section("Compilers", "The fastest of the pinned ones counts, per kernel.",
                       html::table({"contestant", "version", "flags", "role"}, rows));
}

}  // namespace

std::string bench_html(const BenchResult& r) {
  const auto kernels = by_ratio(r);
  std::vector<html::Tile> tiles = {
      {figure(r.all.geomean), "geomean ratio, " + std::to_string(r.all.count) + " kernels", r.all.geomean <= 1},
      {figure(r.transcendental.geomean), "transcendental (" + std::to_string(r.transcendental.count) + ")",
       r.transcendental.geomean <= 1},
      {figure(r.algebraic.geomean), "algebraic (" + std::to_string(r.algebraic.count) + ")", r.algebraic.geomean <= 1},
      {figure(r.all.median), "median ratio", r.all.median <= 1},
      {figure(r.all.worst), "worst ratio", r.all.worst <= 1},
      {std::to_string(r.all.wins) + "/" + std::to_string(r.all.count), "kernels won", 2 * r.all.wins > r.all.count},
  };
  if (r.all.gain > 0) tiles.push_back({figure(r.all.gain), "to ours without " + r.options.without, r.all.gain < 1});
  if (r.derivatives.count > 0)
    tiles.push_back({figure(r.derivatives.geomean), "derivatives (" + std::to_string(r.derivatives.count) + ")",
                     r.derivatives.geomean <= 1});
  if (r.all.small_roof_share_median > 0)
    tiles.push_back({figure(100 * r.all.small_roof_share_median, "%.0f%%"), "median share of the roof at 512",
                     r.all.small_roof_share_median >= 0.70});
  std::size_t failures = 0;
  for (const KernelResult& k : r.kernels) failures += k.failure.empty() ? 0 : 1;
  if (failures > 0) tiles.insert(tiles.begin(), {std::to_string(failures), "kernels FAILED", false});
  const std::string subtitle = r.cpu + ", " + std::string(codegen::name_of(r.options.isa)) + ", " +
                               std::string(ir::name_of(r.options.type)) + ", " + corpus::policy_name(r.options.policy) +
                               ", " + std::to_string(r.options.n) + " elements a call, one thread, medians of " +
                               std::to_string(r.options.rounds) +
                               " interleaved rounds.\nRatio: our time over that of the best "
                               "pinned compiler; answers were checked against MPFR first.";
  std::string body;
  if (!kernels.empty()) {
    body = html::lead("Trident runs these kernels " + html::times_faster(r.all.geomean) +
                      " than the best compiler of each (geometric mean), from " +
                      html::times_faster(kernels.front()->ratio) + " (" + kernels.front()->name + ") to " +
                      html::times_faster(kernels.back()->ratio) + " (" + kernels.back()->name + ").");
  }
  body += html::tiles(tiles);
  if (!kernels.empty())
    body += ratio_section(r, kernels) + gain_section(r, kernels) + dots_section(r, kernels) + roof_section(kernels);
  if (!r.kernels.empty()) body += table_section(r);
  return html::page("Trident benchmark: " + std::string(ir::name_of(r.options.type)), subtitle,
                    body + compilers_section(r));
}

}  // namespace trident::cli
