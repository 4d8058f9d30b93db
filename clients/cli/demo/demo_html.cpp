// The demo's report as one HTML file.
#include <algorithm>
#include <string>
#include <vector>

#include "clients/cli/demo/demo_text.h"
#include "runtime/os/cpu.h"
#include "runtime/report/html_page.h"

namespace trident::cli {
namespace html = report::html;
namespace {

std::string milliseconds(std::uint64_t ns) {
  return ns == 0 ? "-" : figure(static_cast<double>(ns) * 1e-6, ns < 10'000'000 ? "%.2f" : "%.0f");
}

/// Time lines of one pass: which code answered when, on a common clock from each kernel's submission.
std::string time_lines(const DemoPass& pass) {
  const std::vector<html::Series> series = {{"interpreter", 2}, {"baseline", 1}, {"optimised", 0}};
  std::uint64_t end = 0;
  for (const DemoKernel& k : pass.kernels) end = std::max(end, k.done_ns);
  end += end / 3;  // the last swap's code shows too
  std::vector<html::BandRow> rows;
  for (const DemoKernel& k : pass.kernels) {
    html::BandRow row{k.name, {}, !k.failure.empty() ? "FAILED" : k.late ? "not done in time" : ""};
    double from = 0;
    for (std::size_t t = 0; t < kTiers; ++t) {
      double to = static_cast<double>(end) * 1e-9;
      for (std::size_t later = t + 1; later < kTiers; ++later)
        if (k.tiers[later].first_ns > 0) to = std::min(to, static_cast<double>(k.tiers[later].first_ns) * 1e-9);
      if (t > 0 && k.tiers[t].first_ns == 0) continue;
      row.spans.push_back({from, to, series[t].colour,
                           k.name + ", " + series[t].name + ": from " + duration_text(from) + " to " +
                               duration_text(to) + ", " + std::to_string(k.tiers[t].calls) + " calls"});
      from = to;
    }
    if (k.tiers[2].first_ns > 0)
      row.note = "optimised: " + duration_text(static_cast<double>(k.tiers[2].first_ns) * 1e-9);
    else if (row.note.empty())
      row.note = "baseline kept";
    rows.push_back(std::move(row));
  }
  return html::band_chart(series, rows, "time since the kernel was submitted, logarithmic");
}

std::string throughput(const DemoPass& pass, std::uint64_t n) {
  const std::vector<html::Series> series = {{"optimised", 0}, {"baseline", 1}, {"interpreter", 2}};
  std::vector<html::DotRow> rows;
  for (const DemoKernel& k : pass.kernels) {
    html::DotRow row{k.name, {}, k.speedup() > 0 ? figure(k.speedup(), "%.1f") + "\xC3\x97 faster" : ""};
    for (std::size_t t = kTiers; t-- > 0;) row.values.push_back(k.tiers[t].call_ns / static_cast<double>(n));
    rows.push_back(std::move(row));
  }
  return html::dot_chart(series, rows, "ns per element");
}

std::string figures_table(const DemoPass& pass, std::uint64_t n) {
  std::vector<std::vector<std::string>> rows;
  for (const DemoKernel& k : pass.kernels) {
    std::uint64_t calls = 0;
    for (const TierResult& t : k.tiers) calls += t.calls;
    rows.push_back({k.name, element_time(k, 0, n), element_time(k, 1, n), element_time(k, 2, n),
                    k.speedup() > 0 ? figure(k.speedup(), "%.1f") : "-",
                    figure(static_cast<double>(k.submit_ns) * 1e-3, "%.1f"), milliseconds(k.tiers[1].first_ns),
                    milliseconds(k.tiers[2].first_ns), std::to_string(calls),
                    k.bound_share() ? figure(*k.bound_share(), "%.2f") : "-", state_text(k)});
  }
  return html::table({"kernel", "interpreter ns", "baseline ns", "optimised ns", "speed-up", "submit us",
                      "baseline after ms", "optimised after ms", "calls checked", "of the bound", "state"},
                     rows);
}

}  // namespace

std::string demo_html(const std::vector<DemoPass>& passes, const DemoProgram& program, const DemoGuest& guest,
                      const DemoOptions& options) {
  std::vector<html::Tile> tiles;
  std::string body;
  bool right = true;
  std::size_t late = 0;
  std::uint64_t calls = 0;
  for (const DemoPass& pass : passes) {
    const std::string type(ir::name_of(pass.type));
    right = right && !pass.failed();
    late += pass.late();
    std::vector<double> baseline_ms;
    for (const DemoKernel& k : pass.kernels)
      for (const TierResult& t : k.tiers) calls += t.calls;
    tiles.push_back({figure(pass.geomean_speedup(), "%.1fx"), type + ": speed-up over the interpreter", true});
    body += html::section(type + ": which code answered when",
                          "The client called all kernels in turn the whole time; each answered at every moment, and "
                          "switched to better code while calls went on. The daemon works on one kernel after another.",
                          time_lines(pass));
    body += html::section(type + ": time per element at each tier",
                          "On the right: the last tier against the interpreter, which answers when there is no daemon.",
                          throughput(pass, options.n));
    body += html::section(type + ": all figures",
                          "Nanoseconds per element, median call of each tier; click a heading to sort.",
                          figures_table(pass, options.n));
  }
  tiles.insert(tiles.begin(), {right ? "all right" : "WRONG", "answers against MPFR, every tier", right});
  tiles.push_back({std::to_string(calls), "calls, every answer checked", true});
  if (late > 0)
    tiles.push_back({std::to_string(late), "kernels that the daemon had not done with when the time was over", false});
  tiles.push_back(
      {std::to_string(program.before.heights.padded()) + " \u2192 " + std::to_string(program.after.heights.padded()),
       "Triton VM: padded height of " + program.name, !program.failed()});
  if (guest.skipped.empty())
    tiles.push_back({figure(guest.ratio(), "%.1fx"), "a guest program, its loops swapped", !guest.failed()});
  body += demo_program_html(program) + demo_guest_html(guest);
  const std::string lead = right && !program.failed() && !guest.failed()
                               ? "Every answer of every call was right: the first of each tier against MPFR, all "
                                 "later ones by their 128-bit "
                                 "digest against that one, and again after the daemon was killed."
                               : "Something went wrong: see the states in the tables below.";
  return html::page(
      "Trident demo",
      os::cpu_name() +
          ". Kernels of a corpus, submitted to a private daemon by a real client: answered by the "
          "interpreter at once, by baseline code next, by optimised code swapped in while calls go on. And a "
          "program of Triton VM, made cheaper to prove; and a guest program in an emulator, its loops swapped.",
      html::lead(lead) + html::tiles(tiles) + body);
}

}  // namespace trident::cli
