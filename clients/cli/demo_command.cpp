// The command line, the live table and the report of `trident demo` (demo.h does the work).
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "clients/cli/commands.h"
#include "clients/cli/demo.h"
#include "clients/cli/html_page.h"
#include "clients/cli/kernel_options.h"
#include "runtime/os/cpu.h"

namespace trident::cli {
namespace {

namespace fs = std::filesystem;

struct DemoVerb {
  std::string corpus, report, type = "both", daemon;
  DemoOptions options;
};

std::string figure(double v, const char* format = "%.3f") {
  char text[40];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

std::string element_time(const DemoKernel& k, std::size_t tier, std::uint64_t n) {
  const double ns = k.tiers[tier].best_call_ns;
  return ns > 0 ? figure(ns / static_cast<double>(n)) : "-";
}

std::string seconds(double s) {
  return s < 1e-3 ? figure(s * 1e6, "%.0f us") : s < 1 ? figure(s * 1e3, "%.3g ms") : figure(s, "%.3g s");
}

std::string milliseconds(std::uint64_t ns) {
  return ns == 0 ? "-" : figure(static_cast<double>(ns) * 1e-6, ns < 10'000'000 ? "%.2f" : "%.0f");
}

double best_tier_ns(const DemoKernel& k) {
  for (std::size_t t = kTiers; t-- > 0;)
    if (k.tiers[t].best_call_ns > 0) return k.tiers[t].best_call_ns;
  return 0;
}

double worst_ulp(const DemoKernel& k) {
  double worst = 0;
  for (const TierResult& t : k.tiers) worst = std::max(worst, t.max_ulp);
  return worst;
}

std::string arrival(const TierResult& tier) {
  return tier.first_ns == 0 ? "-" : seconds(static_cast<double>(tier.first_ns) * 1e-9);
}

/// The greatest error of any tier as a share of what the policy allows.
std::string share_of_error(const DemoKernel& k) {
  return k.allowed_ulp > 0 ? figure(100 * worst_ulp(k) / k.allowed_ulp, "%.0f%%") : "-";
}

std::string state_of(const DemoKernel& k) {
  if (!k.failure.empty()) return "FAILED: " + k.failure;
  static const char* const kNames[] = {"interpreter", "baseline", "optimised"};
  if (k.done) return std::string(kNames[k.tier]) + (k.tier == 2 ? ", done" : ", done (baseline kept)");
  return std::string(kNames[k.tier]) + (k.stage.empty() ? " ..." : ", " + k.stage);
}

std::size_t done_count(const DemoPass& pass) {
  std::size_t done = 0;
  for (const DemoKernel& k : pass.kernels) done += k.done || !k.failure.empty() ? 1 : 0;
  return done;
}

/// Draws the table in place on a terminal; on anything else prints a line when a kernel is finished.
class Display {
 public:
  Display(std::uint64_t n) : n_(n), terminal_(os::terminal_size(STDOUT_FILENO).columns > 0) {}

  void show(const DemoPass& pass) {
    reported_.resize(pass.kernels.size(), false);
    if (!terminal_) {
      for (std::size_t i = 0; i < pass.kernels.size(); ++i)
        if ((pass.kernels[i].done || !pass.kernels[i].failure.empty()) && !reported_[i]) {
          reported_[i] = true;
          std::printf("%s\n", row(pass.kernels[i]).c_str());
        }
      std::fflush(stdout);
      return;
    }
    if (finished_) return;  // the whole table stands there, perhaps scrolled
    finished_ = done_count(pass) == pass.kernels.size();
    const os::TerminalSize size = os::terminal_size(STDOUT_FILENO);
    // A resized terminal has wrapped or unwrapped what stands there: start on a clean screen.
    if (lines_ > 0 && size != size_)
      std::fputs("\033[2J\033[H", stdout);
    else if (lines_ > 0)
      std::printf("\033[%zuA", lines_);
    size_ = size;
    const unsigned columns = size.columns;
    std::string text = heading() + "\n";
    const auto [first, last] = window(pass, size.rows);
    for (std::size_t i = first; i < last; ++i) text += row(pass.kernels[i]) + "\n";
    const std::size_t cells = 30, full = pass.kernels.empty() ? 0 : done_count(pass) * cells / pass.kernels.size();
    text += "[" + std::string(full, '#') + std::string(cells - full, '-') + "] " + std::to_string(done_count(pass)) +
            "/" + std::to_string(pass.kernels.size()) + " kernels done" +
            (last - first < pass.kernels.size() ? " (" + std::to_string(last - first) + " of them shown)" : "") + "\n";
    lines_ = 0;
    std::size_t start = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos; start = end + 1, end = text.find('\n', start)) {
      std::string line = text.substr(start, end - start);
      if (columns > 1 && line.size() >= columns) line.resize(columns - 1);
      std::printf("\033[K%s\n", line.c_str());
      ++lines_;
    }
    std::fflush(stdout);
  }

  void begin(const char* type) {
    std::printf("\n%s, %llu elements a call, ns per element; error: of what bounded(2) allows\n", type,
                static_cast<unsigned long long>(n_));
    lines_ = 0;
    finished_ = false;
    reported_.clear();
    if (!terminal_) std::printf("%s\n", heading().c_str());
  }

 private:
  /// The kernels that fit on a screen of `rows`: those around the first that is not done.
  [[nodiscard]] static std::pair<std::size_t, std::size_t> window(const DemoPass& pass, unsigned rows) {
    constexpr unsigned kOtherLines = 3;  // heading, bar, cursor
    const std::size_t all = pass.kernels.size(), room = rows > kOtherLines + 1 ? rows - kOtherLines : 1;
    if (all <= room || done_count(pass) == all) return {0, all};
    std::size_t now = 0;
    while (now < all && (pass.kernels[now].done || !pass.kernels[now].failure.empty())) ++now;
    const std::size_t first = std::min(now - std::min(now, room / 2), all - room);
    return {first, first + room};
  }
  [[nodiscard]] static std::string heading() {
    char line[160];
    std::snprintf(line, sizeof line, "%-18s %11s %9s %9s %8s %11s %12s %9s  %s", "kernel", "interpreter", "baseline",
                  "optimised", "speed-up", "baseline at", "optimised at", "error", "now");
    return line;
  }
  [[nodiscard]] std::string row(const DemoKernel& k) const {
    const double slow = k.tiers[0].best_call_ns, quick = best_tier_ns(k);
    char line[240];
    std::snprintf(line, sizeof line, "%-18.18s %11s %9s %9s %8s %11s %12s %9s  ", k.name.c_str(),
                  element_time(k, 0, n_).c_str(), element_time(k, 1, n_).c_str(), element_time(k, 2, n_).c_str(),
                  slow > 0 && quick > 0 ? (figure(slow / quick, "%.1f") + "x").c_str() : "-",
                  arrival(k.tiers[1]).c_str(), arrival(k.tiers[2]).c_str(), share_of_error(k).c_str());
    return line + state_of(k);
  }
  std::uint64_t n_;
  bool terminal_;
  os::TerminalSize size_;
  bool finished_ = false;
  std::size_t lines_ = 0;
  std::vector<bool> reported_;
};

double geomean_speedup(const DemoPass& pass) {
  double sum = 0;
  std::size_t count = 0;
  for (const DemoKernel& k : pass.kernels) {
    const double quick = best_tier_ns(k);
    if (k.tiers[0].best_call_ns <= 0 || quick <= 0) continue;
    sum += std::log(k.tiers[0].best_call_ns / quick);
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / static_cast<double>(count));
}

/// Time lines of one pass: which code answered when, on a common clock from each kernel's submission.
std::string time_lines(const DemoPass& pass) {
  const std::vector<html::Series> series = {{"interpreter", 2}, {"baseline", 1}, {"optimised", 0}};
  std::uint64_t end = 0;
  for (const DemoKernel& k : pass.kernels) end = std::max(end, k.done_ns);
  end += end / 3;  // the last swap's code shows too
  std::vector<html::BandRow> rows;
  for (const DemoKernel& k : pass.kernels) {
    html::BandRow row{k.name, {}, k.failure.empty() ? "" : "FAILED"};
    double from = 0;
    for (std::size_t t = 0; t < kTiers; ++t) {
      double to = static_cast<double>(end) * 1e-9;
      for (std::size_t later = t + 1; later < kTiers; ++later)
        if (k.tiers[later].first_ns > 0) to = std::min(to, static_cast<double>(k.tiers[later].first_ns) * 1e-9);
      if (t > 0 && k.tiers[t].first_ns == 0) continue;
      row.spans.push_back({from, to, series[t].colour,
                           k.name + ", " + series[t].name + ": from " + seconds(from) + " to " + seconds(to) + ", " +
                               std::to_string(k.tiers[t].calls) + " calls"});
      from = to;
    }
    if (k.tiers[2].first_ns > 0)
      row.note = "optimised: " + seconds(static_cast<double>(k.tiers[2].first_ns) * 1e-9);
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
    const double slow = k.tiers[0].best_call_ns, quick = best_tier_ns(k);
    html::DotRow row{k.name, {}, slow > 0 && quick > 0 ? figure(slow / quick, "%.1f") + "\xC3\x97 faster" : ""};
    for (std::size_t t = kTiers; t-- > 0;) row.values.push_back(k.tiers[t].best_call_ns / static_cast<double>(n));
    rows.push_back(std::move(row));
  }
  return html::dot_chart(series, rows, "ns per element");
}

std::string figures_table(const DemoPass& pass, std::uint64_t n) {
  std::vector<std::vector<std::string>> rows;
  for (const DemoKernel& k : pass.kernels) {
    const double slow = k.tiers[0].best_call_ns, quick = best_tier_ns(k);
    std::uint64_t calls = 0;
    for (const TierResult& t : k.tiers) calls += t.calls;
    rows.push_back({k.name, element_time(k, 0, n), element_time(k, 1, n), element_time(k, 2, n),
                    slow > 0 && quick > 0 ? figure(slow / quick, "%.1f") : "-",
                    figure(static_cast<double>(k.submit_ns) * 1e-3, "%.1f"), milliseconds(k.tiers[1].first_ns),
                    milliseconds(k.tiers[2].first_ns), std::to_string(calls), figure(worst_ulp(k), "%.2f"),
                    figure(k.allowed_ulp, "%.2f"), state_of(k)});
  }
  return html::table({"kernel", "interpreter ns", "baseline ns", "optimised ns", "speed-up", "submit us",
                      "baseline after ms", "optimised after ms", "calls checked", "max ulp", "allowed ulp", "state"},
                     rows);
}

/// The program beside this one, else whatever PATH has.
std::string find_daemon() {
  std::error_code code;
  const fs::path self = fs::read_symlink("/proc/self/exe", code);
  const fs::path beside = self.parent_path() / "tridentd";
  return fs::exists(beside, code) ? beside.string() : "tridentd";
}

Result<std::string> find_corpus() {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code).parent_path();
  for (const fs::path& candidate : {fs::path("bench/corpus/kernels.tsv"), program / "../../bench/corpus/kernels.tsv",
                                    program / "../share/trident/corpus/kernels.tsv"})
    if (fs::exists(candidate, code)) return candidate.string();
  return make_error(ErrorCode::kInvalidArgument, "no corpus found: name one with --corpus");
}

Result<int> demo(DemoVerb verb) {
  if (verb.corpus.empty()) {
    TRY(verb.corpus, find_corpus());
  }
  TRY(const std::vector<CorpusKernel> kernels, read_corpus(verb.corpus));
  std::vector<ir::Type> types = {ir::Type::f32, ir::Type::f64};
  if (verb.type != "both") {
    TRY(const ir::Type type, parse_float_type(verb.type));
    types = {type};
  }
  verb.options.daemon_program = verb.daemon.empty() ? find_daemon() : verb.daemon;
  std::printf("%s: %zu kernels through a private daemon (%s)\n", verb.corpus.c_str(), kernels.size(),
              verb.options.daemon_program.c_str());
  Display display(verb.options.n);
  std::vector<DemoPass> passes;
  bool failed = false;
  for (const ir::Type type : types) {
    display.begin(std::string(ir::name_of(type)).c_str());
    TRY(DemoPass pass, run_demo(kernels, type, verb.options, [&](const DemoPass& p) { display.show(p); }));
    std::printf("%s: %.1fx faster than the interpreter (geomean), %s; after kill -9 of the daemon all kernels %s\n",
                std::string(ir::name_of(type)).c_str(), geomean_speedup(pass),
                pass.failed() ? "WRONG ANSWERS OR ERRORS" : "every answer right",
                pass.right_without_daemon ? "still answer right" : "do NOT answer right");
    failed = failed || pass.failed();
    passes.push_back(std::move(pass));
  }
  if (!verb.report.empty()) {
    TRY_VOID(write_text(verb.report, demo_html(passes, verb.options)));
    std::printf("report: %s\n", verb.report.c_str());
  }
  return failed ? kExitWrong : 0;
}

}  // namespace

std::string demo_html(const std::vector<DemoPass>& passes, const DemoOptions& options) {
  std::vector<html::Tile> tiles;
  std::string body;
  bool right = true;
  std::uint64_t calls = 0;
  for (const DemoPass& pass : passes) {
    const std::string type(ir::name_of(pass.type));
    right = right && !pass.failed();
    std::vector<double> baseline_ms;
    for (const DemoKernel& k : pass.kernels)
      for (const TierResult& t : k.tiers) calls += t.calls;
    tiles.push_back({figure(geomean_speedup(pass), "%.1fx"), type + ": speed-up over the interpreter", true});
    body += html::section(type + ": which code answered when",
                          "The client called all kernels in turn the whole time; each answered at every moment, and "
                          "switched to better code while calls went on. The daemon works on one kernel after another.",
                          time_lines(pass));
    body += html::section(type + ": time per element at each tier",
                          "On the right: the last tier against the interpreter, which answers when there is no daemon.",
                          throughput(pass, options.n));
    body += html::section(type + ": all figures",
                          "Nanoseconds per element, quickest call of each tier; click a heading to sort.",
                          figures_table(pass, options.n));
  }
  tiles.insert(tiles.begin(), {right ? "all right" : "WRONG", "answers against MPFR, every tier", right});
  tiles.push_back({std::to_string(calls), "calls, every answer checked", true});
  const std::string lead = right ? "Every answer of every call was right: the first of each tier against MPFR, all "
                                   "later ones by their 128-bit "
                                   "digest against that one, and again after the daemon was killed."
                                 : "Something went wrong: see the states in the tables below.";
  return html::page("Trident demo",
                    os::cpu_name() +
                        ". Kernels of a corpus, submitted to a private daemon by a real client: answered by the "
                        "interpreter at once, by baseline code next, by optimised code swapped in while calls go on.",
                    html::lead(lead) + html::tiles(tiles) + body);
}

void add_demo_command(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand(
      "demo", "Run a corpus through a private daemon: interpreter, baseline, optimised, every answer checked");
  auto state = std::make_shared<DemoVerb>();
  verb->add_option("--corpus", state->corpus, "A corpus file; default: bench/corpus/kernels.tsv");
  verb->add_option("--report", state->report, "Write an HTML report with charts to this file");
  verb->add_option("-t,--type", state->type, "f32, f64 or both")->capture_default_str();
  verb->add_option("-n,--n", state->options.n, "Elements of a call")
      ->check(CLI::Range(16, 1 << 22))
      ->capture_default_str();
  verb->add_option("--timeout-ms", state->options.timeout_ms, "Longest time for the kernels of one type")
      ->capture_default_str();
  verb->add_option("--daemon", state->daemon, "The daemon's program; default: tridentd beside this program");
  verb->callback([state, &status] {
    const auto code = demo(*state);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
