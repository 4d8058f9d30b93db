// The campaign of searches: random expressions through every strategy of the search and the code generator, held to
// their policies (search_case.h). `make campaign NAME=fuzz-search` runs the long one; ctest a few seconds of it. Exit 1
// when there are findings: each is made small and left as a file that --case takes.
//
// Case number i of a seed is the same everywhere, so a campaign can be stopped and go on where it was (--state), and a
// case that ends the process is known by its number.
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "runtime/command_line/usage_error.h"
#include "runtime/os/clock.h"
#include "runtime/report/progress_bar.h"
#include "tests/fuzz/search_case.h"

namespace trident::fuzz {
namespace {

struct Settings {
  std::uint64_t runs = 2'000, seed = 1, seconds = 0;
  std::uint32_t nodes = 200;
  unsigned threads = 2, findings_max = 20, tries = 400;
  std::string state, folder = ".";
  std::vector<std::string> files;
  std::uint64_t replay = 0;
  bool show = false;
};

/// Case `i` of a campaign.
std::uint64_t case_seed(std::uint64_t seed, std::uint64_t i) {
  return seed * 1'000'000'007u + i;
}

constexpr unsigned kThreadsMax = 64;
/// Current case of each thread, for the message when it is the last.
volatile std::uint64_t g_current[kThreadsMax];
thread_local unsigned t_thread = 0;

void name_current(int signal) {
  char text[128];
  const int size = std::snprintf(text, sizeof text, "fuzz-search: signal %d in the case --replay %llu\n", signal,
                                 static_cast<unsigned long long>(g_current[t_thread]));
  if (::write(2, text, static_cast<std::size_t>(size)) < 0) ::_exit(98);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Cases below `done` were held, with these counts. `next` is the first that nobody has begun.
struct Campaign {
  std::mutex mutex;
  std::uint64_t next = 0, done = 0;
  std::set<std::uint64_t> ahead;  ///< that are done behind one that is not
  SearchCounts counts;
  std::map<std::string, std::uint64_t> findings;
  double slowest = 0;
  std::uint64_t slowest_case = 0;
};

/// `done` and the counts of a campaign with this seed and size, from an earlier run.
bool read_state(const Settings& s, Campaign& c) {
  std::ifstream in(s.state);
  std::uint64_t seed = 0, nodes = 0, findings = 0;
  if (!(in >> seed >> nodes >> c.done)) return in.eof() || !in.is_open();
  SearchCounts& n = c.counts;
  in >> n.cases >> n.forms >> n.kept >> n.refused >> n.unasked >> n.accepted >> n.codes >> findings;
  if (!in || seed != s.seed || nodes != s.nodes) {
    std::fprintf(stderr, "fuzz-search: %s is of another campaign (seed %llu, %llu nodes): remove it or say these\n",
                 s.state.c_str(), static_cast<unsigned long long>(seed), static_cast<unsigned long long>(nodes));
    return false;
  }
  if (findings > 0) c.findings["earlier"] = findings;
  c.next = c.done;
  return true;
}

void write_state(const Settings& s, const Campaign& c) {
  if (s.state.empty()) return;
  std::uint64_t findings = 0;
  for (const auto& [kind, count] : c.findings) findings += count;
  const std::string part = s.state + ".part";
  {
    std::ofstream out(part);
    const SearchCounts& n = c.counts;
    out << s.seed << ' ' << s.nodes << ' ' << c.done << '\n'
        << n.cases << ' ' << n.forms << ' ' << n.kept << ' ' << n.refused << ' ' << n.unasked << ' ' << n.accepted
        << ' ' << n.codes << ' ' << findings << '\n';
  }
  std::rename(part.c_str(), s.state.c_str());
}

void report(const Settings& s, const SearchCase& c, const Finding& finding) {
  const SearchCase small = minimise(c, finding.kind, s.tries);
  SearchCounts ignored;
  const Finding again = check_search_case(small, ignored);
  const std::string path = s.folder + "/fuzz-search-" + std::to_string(c.seed) + ".case";
  std::ofstream(path) << print(small);
  std::printf("FINDING %s (case %llu)\n%s\n%s  kept in %s\n\n", finding.kind.c_str(),
              static_cast<unsigned long long>(c.seed), again.what.c_str(), print(small).c_str(), path.c_str());
  std::fflush(stdout);
}

void work(const Settings& s, Campaign& c, unsigned thread, std::uint64_t end_ns, report::ProgressBar& bar) {
  t_thread = thread;
  std::unique_lock lock(c.mutex);
  std::uint64_t saved_ns = os::monotonic_ns();
  while (c.next < s.runs && os::monotonic_ns() < end_ns) {
    std::uint64_t count = 0;
    for (const auto& [kind, n] : c.findings) count += n;
    if (count >= s.findings_max) break;
    const std::uint64_t i = c.next++;
    lock.unlock();
    g_current[thread] = case_seed(s.seed, i);
    const double start = thread_seconds();
    const SearchCase one = make_search_case(case_seed(s.seed, i), s.nodes);
    SearchCounts counts;
    const Finding finding = check_search_case(one, counts);
    const double took = thread_seconds() - start;
    if (!finding.kind.empty()) report(s, one, finding);
    lock.lock();
    if (!finding.kind.empty()) ++c.findings[finding.kind];
    c.counts.add(counts);
    if (took > c.slowest) c.slowest = took, c.slowest_case = one.seed;
    c.ahead.insert(i);
    while (c.ahead.erase(c.done) > 0) ++c.done;
    bar.update(c.done, std::to_string(c.findings.size()) + " kinds of findings");
    constexpr std::uint64_t kSaveNs = 5'000'000'000;
    if (os::monotonic_ns() - saved_ns < kSaveNs) continue;
    saved_ns = os::monotonic_ns();
    write_state(s, c);
  }
}

int run(const Settings& s) {
  Campaign c;
  if (!s.state.empty() && !read_state(s, c)) return 2;
  const std::uint64_t start_ns = os::monotonic_ns(), first = c.done;
  const std::uint64_t end_ns = s.seconds == 0 ? ~std::uint64_t{0} : start_ns + s.seconds * 1'000'000'000;
  {
    report::ProgressBar bar("searching", s.runs);
    std::vector<std::thread> threads;
    for (unsigned t = 1; t < std::min(s.threads, kThreadsMax); ++t)
      threads.emplace_back([&, t] { work(s, c, t, end_ns, bar); });
    work(s, c, 0, end_ns, bar);
    for (std::thread& thread : threads) thread.join();
  }
  write_state(s, c);
  const double seconds = static_cast<double>(os::monotonic_ns() - start_ns) * 1e-9;
  std::uint64_t findings = 0;
  for (const auto& [kind, count] : c.findings) {
    std::printf("  %s: %llu\n", kind.c_str(), static_cast<unsigned long long>(count));
    findings += count;
  }
  const auto n = [](std::uint64_t v) { return static_cast<unsigned long long>(v); };
  std::printf(
      "fuzz-search: %llu of %llu expressions (seed %llu), %llu forms: %llu within the policy at once, %llu refused by "
      "the "
      "optimiser's check, %llu accepted and confirmed, %llu not asked; %llu codes of forms; %.0f expressions a second; "
      "the slowest "
      "took "
      "%.1f s (--replay %llu): %llu findings\n",
      n(c.done), n(s.runs), n(s.seed), n(c.counts.forms), n(c.counts.kept), n(c.counts.refused), n(c.counts.accepted),
      n(c.counts.unasked), n(c.counts.codes), static_cast<double>(c.done - first) / seconds, c.slowest,
      n(c.slowest_case), n(findings));
  return findings == 0 ? 0 : 1;
}

int one(const Settings& s, const SearchCase& c) {
  std::printf("%s\n", print(c).c_str());
  if (s.show) return 0;
  SearchCounts counts;
  g_current[0] = c.seed;
  const Finding finding = check_search_case(c, counts);
  if (finding.kind.empty()) {
    std::printf("all is well: %llu forms\n", static_cast<unsigned long long>(counts.forms));
    return 0;
  }
  std::printf("%s\n%s\n", finding.kind.c_str(), finding.what.c_str());
  return 1;
}

}  // namespace
}  // namespace trident::fuzz

int main(int argc, char** argv) {
  using namespace trident;
  fuzz::Settings s;
  command_line::Application program(
      "Random expressions through the search and the code generator, held to their policies.", "search_campaign");
  const command_line::Command app = program.command();
  app.add_option("--runs", s.runs, "expressions").capture_default_str();
  app.add_option("--seed", s.seed, "of the campaign").capture_default_str();
  app.add_option("--seconds", s.seconds, "begin no case later than this; 0: all").capture_default_str();
  app.add_option("--nodes", s.nodes, "operations of the largest expressions").capture_default_str();
  app.add_option("--threads", s.threads, "cases at once")
      .check(command_line::range(1u, fuzz::kThreadsMax))
      .capture_default_str();
  app.add_option("--state", s.state, "a file that says how far it is: a campaign that was stopped goes on");
  app.add_option("--findings", s.findings_max, "stop after this many").capture_default_str();
  app.add_option("--tries", s.tries, "checks spent on making a finding small").capture_default_str();
  app.add_option("--folder", s.folder, "where findings are left, as files for --case").capture_default_str();
  const auto replay = app.add_option("--replay", s.replay, "one case by its number");
  app.add_option("--case", s.files, "cases from files").excludes(replay);
  app.add_flag("--show", s.show, "print the case, do not check it");
  if (const auto status = command_line::exit_status(program, program.parse(argc, argv))) return *status;
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(signal, fuzz::name_current);
  if (app.count("--replay") > 0) return fuzz::one(s, fuzz::make_search_case(s.replay, s.nodes));
  if (s.files.empty()) return fuzz::run(s);
  int status = 0;
  for (const std::string& file : s.files) {
    std::ifstream in(file);
    const auto c = fuzz::read_search_case({std::istreambuf_iterator<char>(in), {}});
    if (!c.ok()) return std::fprintf(stderr, "%s: %s\n", file.c_str(), c.error().message.c_str()), 2;
    status = std::max(status, fuzz::one(s, *c));
  }
  return status;
}
