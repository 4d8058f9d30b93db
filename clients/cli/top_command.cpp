// `trident top`: what the daemon does now, drawn anew every few seconds.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "clients/cli/commands.h"
#include "clients/cli/daemon_stats.h"
#include "clients/cli/top_text.h"
#include "clients/cli/verb/verb.h"
#include "runtime/os/process.h"

namespace trident::cli {
namespace {

struct Top {
  double interval_s = 2;
  std::uint64_t count = 0;
  bool json = false;
  std::string socket;
};

Result<Reading> read(const Top& top) {
  TRY(Json counters, daemon_counters(top.socket));
  const double at_s = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return Reading{std::move(counters), at_s};
}

/// Clears the lines of the last drawing as it writes the new ones, so that nothing flickers.
std::string drawn_over(const std::string& text) {
  std::string out = "\033[H";
  for (const char c : text) out += c == '\n' ? "\033[K\n" : std::string(1, c);
  return out + "\033[J";
}

Result<void> show(const Top& top) {
  const bool draws = !top.json && os::terminal_size(STDOUT_FILENO).columns > 0;
  const std::uint64_t count = top.count != 0 || draws || top.json ? top.count : 1;
  TRY(Reading before, read(top));
  for (std::uint64_t shown = 0; count == 0 || shown < count; ++shown) {
    std::this_thread::sleep_for(std::chrono::duration<double>(top.interval_s));
    TRY(Reading now, read(top));
    const std::string text = top.json ? top_json(before, now).dump() + "\n" : top_text(before, now);
    std::fputs(draws ? drawn_over(text).c_str() : text.c_str(), stdout);
    if (std::fflush(stdout) != 0) return {};  // the reader is gone; what runs verbs tells of it
    before = std::move(now);
  }
  return {};
}

}  // namespace

void add_top_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("top", "Watch what the running daemon does");
  auto top = std::make_shared<Top>();
  constexpr double kShortest = 0.1, kLongest = 3600;
  verb.add_option("-d,--interval", top->interval_s, "Seconds between two readings")
      .check(range(kShortest, kLongest))
      .capture_default_str();
  verb.add_option("-n,--count", top->count, "Number of tables to show; 0: until Ctrl-C on a terminal, else one")
      .check(negative_fault)
      .capture_default_str();
  verb.add_flag("--json", top->json, "Print a JSON object for each reading, one a line");
  verb.add_option("--socket", top->socket, "Socket of the daemon, if not the standard one");
  verb.callback([top, &status] {
    const auto done = show(*top);
    status = done ? 0 : report(done.error());
  });
}

}  // namespace trident::cli
