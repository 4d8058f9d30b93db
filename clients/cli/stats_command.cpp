// `trident stats`: the counters of the daemon that runs, for people and for collectors.
#include <cstdio>
#include <memory>
#include <string>

#include "clients/cli/commands.h"
#include "clients/cli/daemon_stats.h"
#include "clients/cli/verb/verb.h"
#include "runtime/json/json.h"

namespace trident::cli {
namespace {

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>().empty() ? "-" : value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& one : value) text += (text.empty() ? "" : ", ") + value_text(one);
  return text.empty() ? "-" : text;
}

/// A line for each counter, with the names of the parts of the daemon that it belongs to in front.
std::string as_text(const Json& stats, const std::string& parts = "") {
  std::string text;
  for (const auto& [name, value] : stats.items())
    text += value.is_object() ? as_text(value, parts + name + ".") : parts + name + " " + value_text(value) + "\n";
  return text;
}

struct Stats {
  bool json = false;
  std::string socket;
};

int print(const Stats& stats) {
  const auto counters = daemon_counters(stats.socket);
  if (!counters) return report(counters.error());
  std::fputs(stats.json ? (counters->dump(2) + "\n").c_str() : as_text(*counters).c_str(), stdout);
  return 0;
}

}  // namespace

void add_stats_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("stats", "Show the counters of the running daemon");
  auto stats = std::make_shared<Stats>();
  verb.add_flag("--json", stats->json, "Print a JSON object instead of text");
  verb.add_option("--socket", stats->socket, "Socket of the daemon, if not the standard one");
  verb.callback([stats, &status] { status = print(*stats); });
}

}  // namespace trident::cli
