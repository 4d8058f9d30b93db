#include "clients/emu/command.h"

#include <algorithm>
#include <cstdio>

#include "clients/emu/emulator.h"
#include "clients/emu/manual_page_text.h"
#include "clients/emu/report.h"
#include "runtime/command_line/command_help.h"
#include "runtime/command_line/usage_error.h"

extern char** environ;

namespace trident::emu {
namespace {

constexpr int kExitUsage = 2;
/// A shell's status for a program that cannot be run.
constexpr int kExitNotStarted = 127;

struct Flags {
  bool stats = false, json = false, manual = false, no_swap = false;
  SwapOptions swap;
  std::string mode = "auto";
  std::vector<std::string> program;
};

const command_line::Title kTitle{"trident-emu", 1, "trident " TRIDENT_VERSION};

void add_options(const command_line::Command& app, Flags& flags) {
  app.add_option("PROGRAM", flags.program, "Program, and what it is called with").expected(-1);
  app.add_flag("--no-swap", flags.no_swap, "Run on Unicorn alone");
  app.add_flag("--verify", flags.swap.verify, "Let the guest run every loop too, and compare; slow");
  app.add_option("--mode", flags.mode, "Compiler of loops: auto, daemon or embedded (in this process)")
      .check(command_line::one_of({"auto", "daemon", "embedded"}))
      .capture_default_str();
  app.add_flag("--stats", flags.stats, "Print figures of the run to standard error at its end");
  app.add_flag("--json", flags.json, "Print these figures as one line of JSON");
  app.add_flag("--manual", flags.manual, "Print the man page in roff, then exit");
}

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

void print_figures(const Flags& flags, const RunReport& report) {
  if (flags.json)
    std::fprintf(stderr, "%s\n", report_json(report).c_str());
  else if (flags.stats)
    std::fputs(report_text(report).c_str(), stderr);
}

std::optional<SwapOptions> swap_options(Flags flags) {
  if (flags.no_swap) return std::nullopt;
  flags.swap.mode = flags.mode == "daemon" ? Mode::daemon : flags.mode == "embedded" ? Mode::embedded : Mode::automatic;
  return flags.swap;
}

int run(const Flags& flags) {
  const auto report = run_program({flags.program, environment(), swap_options(flags)});
  if (!report.ok()) {
    std::fprintf(stderr, "trident-emu: %s\n", report.error().message.c_str());
    return kExitNotStarted;
  }
  if (!report->crash.empty()) std::fprintf(stderr, "trident-emu: %s\n", report->crash.c_str());
  print_figures(flags, *report);
  if (report->swap && report->swap->mismatches > 0)
    std::fputs("trident-emu: native code differed from the guest in a shadow run; the guest's result was kept\n",
               stderr);
  return report->status;
}

/// Puts "--" before the program's name: from there on words are the program's own, whatever they look like.
std::vector<std::string> with_border(const command_line::Command& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  auto word = words.begin();
  bool known = true;
  while (known && word != words.end() && word->starts_with('-') && *word != "--") {
    const auto option = app.find_option(word->substr(0, word->find('=')));
    known = option.has_value();
    const bool value_follows = known && option->takes_value() && word->find('=') == std::string::npos;
    word += value_follows && word + 1 != words.end() ? 2 : 1;
  }
  if (known && (word == words.end() || *word != "--")) words.insert(word, "--");
  return words;
}

int print_manual(const command_line::Command& app, const command_line::Page& page) {
  std::fputs(command_line::man_page(app, kTitle, page).c_str(), stdout);
  return 0;
}

}  // namespace

int run_command(int argc, char** argv) {
  command_line::Application app("Run a static AArch64 Linux program, with its hot loops in native code", "trident-emu");
  Flags flags;
  const command_line::Command command = app.command();
  add_options(command, flags);
  const command_line::Page page = command_line::parse_page(kManualPageText[0].text);
  command_line::add_help(command, kTitle, page);
  if (const auto status = command_line::exit_status(app, app.parse(with_border(command, argc, argv)))) return *status;
  if (flags.manual) return print_manual(command, page);
  if (!flags.program.empty()) return run(flags);
  std::fputs("trident-emu: name a program to run; `trident-emu --help` shows how\n", stderr);
  return kExitUsage;
}

}  // namespace trident::emu
