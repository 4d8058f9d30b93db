// The command line and the live table of `trident demo` (demo.h does the work).
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "clients/cli/demo/commands.h"
#include "clients/cli/demo/demo.h"
#include "clients/cli/demo/demo_text.h"
#include "clients/cli/verb/output_file.h"
#include "clients/cli/verb/verb.h"
#include "jit/corpus/setting_names.h"
#include "runtime/base/counted.h"

namespace trident::cli {
namespace {

namespace fs = std::filesystem;

struct DemoVerb {
  std::string corpus, report, type = "both", daemon, busybox;
  DemoOptions options;
};

/// Returns true when nothing more will be reported of the kernel.
bool is_over(const DemoKernel& k) {
  return k.done || k.late || !k.failure.empty();
}

std::size_t done_count(const DemoPass& pass) {
  std::size_t done = 0;
  for (const DemoKernel& k : pass.kernels) done += is_over(k) ? 1 : 0;
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
        if (is_over(pass.kernels[i]) && !reported_[i]) {
          reported_[i] = true;
          std::printf("%s\n", demo_row(pass.kernels[i], n_, 0).c_str());
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
    const std::size_t columns = size.columns > 1 ? size.columns - 1 : 1;  // the last one may wrap
    std::string text = demo_heading(columns) + "\n";
    const auto [first, last] = window(pass, size.rows);
    for (std::size_t i = first; i < last; ++i) text += demo_row(pass.kernels[i], n_, columns) + "\n";
    const std::size_t cells = 30, full = pass.kernels.empty() ? 0 : done_count(pass) * cells / pass.kernels.size();
    text += "[" + std::string(full, '#') + std::string(cells - full, '-') + "] " + std::to_string(done_count(pass)) +
            "/" + std::to_string(pass.kernels.size()) + " kernels done" +
            (last - first < pass.kernels.size() ? " (" + std::to_string(last - first) + " of them shown)" : "") + "\n";
    lines_ = 0;
    std::size_t start = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos; start = end + 1, end = text.find('\n', start)) {
      std::printf("\033[K%s\n", fitted(text.substr(start, end - start), columns).c_str());
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
    if (!terminal_) std::printf("%s\n", demo_heading(0).c_str());
  }

 private:
  /// The kernels that fit on a screen of `rows`: those around the first that is not done.
  [[nodiscard]] static std::pair<std::size_t, std::size_t> window(const DemoPass& pass, unsigned rows) {
    constexpr unsigned kOtherLines = 3;  // heading, bar, cursor
    const std::size_t all = pass.kernels.size(), room = rows > kOtherLines + 1 ? rows - kOtherLines : 1;
    if (all <= room || done_count(pass) == all) return {0, all};
    std::size_t now = 0;
    while (now < all && is_over(pass.kernels[now])) ++now;
    const std::size_t first = std::min(now - std::min(now, room / 2), all - room);
    return {first, first + room};
  }
  std::uint64_t n_;
  bool terminal_;
  os::TerminalSize size_;
  bool finished_ = false;
  std::size_t lines_ = 0;
  std::vector<bool> reported_;
};

std::string beside_this(const char* name) {
  std::error_code code;
  return (fs::read_symlink("/proc/self/exe", code).parent_path() / name).string();
}

/// The program beside this one, else whatever PATH has.
std::string find_daemon() {
  std::error_code code;
  const std::string beside = beside_this("tridentd");
  return fs::exists(beside, code) ? beside : "tridentd";
}

Result<std::string> find_corpus() {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code).parent_path();
  for (const fs::path& candidate : {fs::path("bench/corpus/kernels.tsv"), program / "../../bench/corpus/kernels.tsv",
                                    program / "../share/trident/corpus/kernels.tsv"})
    if (fs::exists(candidate, code)) return candidate.string();
  return make_error(ErrorCode::kInvalidArgument, "no corpus file found: name one with --corpus");
}

Result<int> demo(DemoVerb verb) {
  TRY_VOID(can_be_written(verb.report));
  if (verb.corpus.empty()) {
    TRY(verb.corpus, find_corpus());
  }
  TRY(const std::vector<corpus::CorpusKernel> kernels, corpus::read_corpus(verb.corpus));
  std::vector<ir::Type> types = {ir::Type::f32, ir::Type::f64};
  if (verb.type != "both") {
    TRY(const ir::Type type, corpus::parse_float_type(verb.type));
    types = {type};
  }
  verb.options.daemon_program = verb.daemon.empty() ? find_daemon() : verb.daemon;
  std::printf("%s: %s through a private daemon (%s)\n", verb.corpus.c_str(), counted(kernels.size(), "kernel").c_str(),
              verb.options.daemon_program.c_str());
  Display display(verb.options.n);
  std::vector<DemoPass> passes;
  bool failed = false;
  for (const ir::Type type : types) {
    display.begin(std::string(ir::name_of(type)).c_str());
    TRY(DemoPass pass, run_demo(kernels, type, verb.options, [&](const DemoPass& p) { display.show(p); }));
    std::printf("%s\n", demo_summary(pass, verb.options.timeout_ms).c_str());
    failed = failed || pass.failed() || pass.late() > 0;
    passes.push_back(std::move(pass));
  }
  TRY(const DemoProgram program, run_demo_program(fibonacci_problem()));
  std::printf("\n%s", demo_program_text(program).c_str());
  TRY(const DemoGuest guest, run_demo_guest({beside_this("trident-emu"), verb.busybox, verb.options.daemon_program}));
  std::printf("\n%s", demo_guest_text(guest).c_str());
  failed = failed || program.failed() || guest.failed();
  if (!verb.report.empty()) {
    TRY_VOID(write_text(verb.report, demo_html(passes, program, guest, verb.options)));
    std::printf("report: %s\n", verb.report.c_str());
  }
  return failed ? kExitWrong : 0;
}

}  // namespace

void add_demo_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("demo", "Run a corpus through a private daemon and check every answer");
  auto state = std::make_shared<DemoVerb>();
  verb.add_option("--corpus", state->corpus, "Corpus file; default: bench/corpus/kernels.tsv").check(file_name_fault);
  verb.add_option("--report", state->report, "Write an HTML report with charts to this file").check(file_name_fault);
  verb.add_option("-t,--type", state->type, "f32, f64 or both").capture_default_str();
  verb.add_option("-n,--n", state->options.n, "Elements per call").check(range(16, 1 << 22)).capture_default_str();
  verb.add_option("--timeout-ms", state->options.timeout_ms, "Longest time for the kernels of one type")
      .check(negative_fault)
      .capture_default_str();
  verb.add_option("--daemon", state->daemon, "Program of the daemon; default: tridentd beside this program")
      .check(file_name_fault);
  verb.add_option("--busybox", state->busybox, "busybox for arm64, static; default: a guest program of our own")
      .check(file_name_fault);
  verb.callback([state, &status] {
    const auto code = demo(*state);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
