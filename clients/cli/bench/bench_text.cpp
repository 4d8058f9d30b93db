// The benchmark's report for people at a terminal.
#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "clients/cli/bench/bench.h"
#include "jit/corpus/setting_names.h"
#include "runtime/base/counted.h"

namespace trident::cli {
namespace {

[[gnu::format(printf, 2, 3)]] void append(std::string& to, const char* format, ...) {
  char buffer[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  to += buffer;
}

/// Three significant digits in at most 7 columns.
std::string three_digits(double v) {
  char text[32];
  std::snprintf(text, sizeof text, v >= 1000 ? "%.0f" : v >= 100 ? "%.1f" : v >= 10 ? "%.2f" : "%.3f", v);
  return text;
}

void table(const BenchResult& r, std::string& out) {
  std::size_t name_width = 6;
  for (const KernelResult& k : r.kernels) name_width = std::max(name_width, k.name.size());
  const int name = static_cast<int>(std::min<std::size_t>(name_width, 28));
  append(out, "%-*s", name, "kernel");
  for (const Entry& e : r.kernels[0].entries)
    append(out, " %*s", std::max(8, static_cast<int>(e.name.size())), e.name.c_str());
  append(out, "  %-16s %6s %8s %9s\n", "best compiler", "ratio", "max ulp", "roof@512");
  for (const KernelResult& k : r.kernels) {
    append(out, "%-*.*s", name, name, k.name.c_str());
    for (const Entry& e : k.entries)
      append(out, " %*s", std::max(8, static_cast<int>(e.name.size())),
             e.missing.empty() ? three_digits(e.ns / static_cast<double>(r.options.n)).c_str() : "-");
    const std::string share = k.small_roof_share > 0 ? three_digits(k.small_roof_share * 100) + "%" : "-";
    if (k.failure.empty())
      append(out, "  %-16s %6.3f %8s %9s%s\n", k.entries[k.best].name.c_str(), k.ratio,
             three_digits(k.ours().error_ulp).c_str(), share.c_str(),
             k.ratio > kLostRatio ? k.speculates ? "  lost, guarded" : "  lost"
             : k.speculates       ? "  guarded"
                                  : "");
    else
      append(out, "  FAILED: %s\n", k.failure.c_str());
  }
}

void summary_line(const char* what, const Summary& s, const std::string& without, std::string& out) {
  if (s.count == 0) return;
  append(out, "%-15s %3zu kernels  geomean %.3f  median %.3f  worst %.3f  wins %zu/%zu   at 512: geomean %.3f", what,
         s.count, s.geomean, s.median, s.worst, s.wins, s.count, s.small_geomean);
  if (s.small_roof_share_median > 0) append(out, ", roof share median %.0f%%", s.small_roof_share_median * 100);
  if (s.gain > 0) append(out, "   to ours without %s: %.3f", without.c_str(), s.gain);
  out += "\n";
}

/// Says how long the optimised kernels took to make, and how many of them beat the baseline.
void optimise_line(const BenchResult& r, std::string& out) {
  if (r.all.count == 0) return;
  const auto better = std::count_if(r.kernels.begin(), r.kernels.end(), [](const auto& k) { return k.optimised; });
  append(out, "optimised in    median %.2f s  P95 %.2f s  slowest %.2f s; %td of %zu kernels beat the baseline\n",
         r.all.optimise_s_median, r.all.optimise_s_p95, r.all.optimise_s_max, better, r.kernels.size());
  append(out, "first better    median %.2f s  slowest %.2f s\n", r.all.first_s_median, r.all.first_s_max);
}

/// Says how many kernels are for the ranges that their inputs are seen in, and what these cost other data.
void speculation_line(const BenchResult& r, std::string& out) {
  if (r.options.promise_ranges || !r.options.speculate) return;
  append(out, "no ranges       %zu of %zu kernels speculate on those seen", r.all.speculate, r.all.count);
  if (r.all.speculate > 0)
    append(out, "; on data that never fit they take at most %.3f of the general kernel's time", r.all.missing_worst);
  out += "\n";
  for (const KernelResult& k : r.kernels)
    if (!k.why_not_speculating.empty())
      append(out, "  %s does not: %s\n", k.name.c_str(), k.why_not_speculating.c_str());
}

/// Against the compilers that do not count.
void beside_lines(const BenchResult& r, std::string& out) {
  for (std::size_t i = 0; i < r.all.beside.size(); ++i) {
    append(out, "beside: %-18s geomean %.3f", r.all.beside[i].first.c_str(), r.all.beside[i].second);
    if (r.transcendental.count > 0) append(out, ", transcendental %.3f", r.transcendental.beside[i].second);
    if (r.algebraic.count > 0) append(out, ", algebraic %.3f", r.algebraic.beside[i].second);
    out += "\n";
  }
}

void missing_lines(const BenchResult& r, std::string& out) {
  for (std::size_t e = 0; e < r.kernels[0].entries.size(); ++e) {
    std::size_t count = 0;
    const Entry* first = nullptr;
    for (const KernelResult& k : r.kernels) {
      if (k.entries[e].missing.empty()) continue;
      ++count;
      if (first == nullptr) first = &k.entries[e];
    }
    if (first != nullptr)
      append(out, "missing: %s in %s (%s)\n", first->name.c_str(), counted(count, "kernel").c_str(),
             first->missing.c_str());
  }
}

}  // namespace

std::string bench_text(const BenchResult& r) {
  std::string out;
  append(out, "%s, %s, %s, %s, %llu elements a call, one thread, ns per element (medians of %u interleaved rounds)\n",
         r.cpu.c_str(), std::string(codegen::name_of(r.options.isa)).c_str(),
         std::string(ir::name_of(r.options.type)).c_str(), corpus::policy_name(r.options.policy).c_str(),
         static_cast<unsigned long long>(r.options.n), r.options.rounds);
  for (const Compiler& c : r.compilers) {
    std::string flags;
    for (const std::string& f : c.flags) flags += " " + f;
    append(out, "  %-17s %s:%s\n", c.name.c_str(), c.version.c_str(), flags.c_str());
  }
  if (!r.numexpr_version.empty()) append(out, "  %-17s %s, one thread\n", "numexpr", r.numexpr_version.c_str());
  out += "\n";
  if (r.kernels.empty()) return out + "no kernels\n";
  table(r, out);
  append(out, "\nratio = ours / %s; below 1 we are faster\n", pinned_in_words(r).c_str());
  summary_line("all", r.all, r.options.without, out);
  summary_line("transcendental", r.transcendental, r.options.without, out);
  summary_line("algebraic", r.algebraic, r.options.without, out);
  summary_line("derivatives", r.derivatives, r.options.without, out);
  optimise_line(r, out);
  speculation_line(r, out);
  beside_lines(r, out);
  if (!r.options.disabled.empty()) {
    append(out, "without %s: optimised with", r.options.without.c_str());
    for (const std::string& name : r.options.disabled) append(out, " %s", name.c_str());
    out += " switched off; functions' accuracy, loop shapes and tournament are the same\n";
  }
  bool any = false;
  for (const KernelResult& k : r.kernels) {
    if (!k.failure.empty() || k.ratio <= kLostRatio) continue;
    if (!any) append(out, "\nabove %.2f:\n", kLostRatio);
    any = true;
    append(out, "  %-24s %.3f  %s\n", k.name.c_str(), k.ratio, k.reason.c_str());
  }
  missing_lines(r, out);
  return out;
}

}  // namespace trident::cli
