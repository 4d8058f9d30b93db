#include "clients/cli/top_text.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

namespace trident::cli {
namespace {

enum class Kind { level, counter };

/// A line of the table: a name for people, and the counter's part and name in the daemon's statistics.
struct Line {
  const char* title;
  Kind kind;
  const char* part;
  const char* name;
};
struct Part {
  const char* title;
  std::vector<Line> lines;
};

const std::vector<Part>& parts() {
  static const std::vector<Part> kParts = {{"kernels",
                                            {{"open", Kind::level, "jobs", "open_kernels"},
                                             {"waiting for baseline code", Kind::level, "jobs", "baseline_waiting"},
                                             {"waiting for a search", Kind::level, "jobs", "optimise_waiting"},
                                             {"submitted", Kind::counter, "jobs", "submitted"},
                                             {"answered by another's work", Kind::counter, "jobs", "shared"},
                                             {"baseline code", Kind::counter, "jobs", "baseline_ready"},
                                             {"optimised", Kind::counter, "jobs", "published"},
                                             {"not faster than the baseline", Kind::counter, "jobs", "no_gain"},
                                             {"given up", Kind::counter, "jobs", "failed"},
                                             {"taken back", Kind::counter, "jobs", "revoked"}}},
                                           {"data outside of what code assumes",
                                            {{"kernels that assume ranges", Kind::level, "jobs", "speculating"},
                                             {"misses told", Kind::counter, "jobs", "misses"},
                                             {"ranges widened", Kind::counter, "jobs", "widened"},
                                             {"assumptions dropped", Kind::counter, "jobs", "dropped"}}},
                                           {"programs of Triton VM",
                                            {{"running", Kind::level, "programs", "running"},
                                             {"waiting", Kind::level, "programs", "waiting"},
                                             {"submitted", Kind::counter, "programs", "submitted"},
                                             {"made cheaper", Kind::counter, "programs", "cheaper"}}},
                                           {"loops of emulators",
                                            {{"submitted", Kind::counter, "loops", "submitted"},
                                             {"compiled", Kind::counter, "loops", "compiled"},
                                             {"entries", Kind::counter, "loops", "entries"},
                                             {"rounds in native code", Kind::counter, "loops", "iterations"},
                                             {"nanoseconds saved", Kind::counter, "loops", "saved_ns"}}},
                                           {"functions with loops",
                                            {{"submitted", Kind::counter, "functions", "submitted"},
                                             {"compiled", Kind::counter, "functions", "compiled"},
                                             {"known before", Kind::counter, "functions", "cached"}}},
                                           {"cache",
                                            {{"in memory", Kind::level, "cache", "hot"},
                                             {"found in memory", Kind::counter, "cache", "hot_hits"},
                                             {"found in its file", Kind::counter, "cache", "stored_hits"},
                                             {"not found", Kind::counter, "cache", "misses"},
                                             {"not written", Kind::counter, "cache", "write_failures"}}},
                                           {"processes and connections",
                                            {{"workers", Kind::level, "workers", "alive"},
                                             {"workers that crashed", Kind::counter, "workers", "crashed"},
                                             {"workers stopped at a limit", Kind::counter, "workers", "timed_out"},
                                             {"connections", Kind::level, "sessions", "connections"},
                                             {"users", Kind::level, "sessions", "users"},
                                             {"malformed messages", Kind::counter, "sessions", "malformed"}}}};
  return kParts;
}

double value_of(const Reading& reading, const Line& line) {
  return reading.stats.value(line.part, Json::object()).value(line.name, 0.0);
}

double per_second(const Reading& before, const Reading& now, const Line& line) {
  const double seconds = now.at_s - before.at_s;
  return seconds > 0 ? (value_of(now, line) - value_of(before, line)) / seconds : 0;
}

bool is_used(const Part& part, const Reading& now) {
  return std::any_of(part.lines.begin(), part.lines.end(), [&](const Line& l) { return value_of(now, l) != 0; });
}

std::string formatted(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Returns a whole number with commas: 1,234,567.
std::string grouped(double value) {
  std::string digits = formatted("%.0f", value);
  for (std::size_t end = digits.size(); end > 3 + (digits[0] == '-'); end -= 3) digits.insert(end - 3, ",");
  return digits;
}

std::string row(const std::string& title, const std::string& now, const std::string& rate, const std::string& total) {
  char text[128];
  std::snprintf(text, sizeof text, "%-34s %10s %12s %20s", title.c_str(), now.c_str(), rate.c_str(), total.c_str());
  const std::string line = text;
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string line_text(const Line& line, const Reading& before, const Reading& now) {
  const std::string title = "  " + std::string(line.title);
  if (line.kind == Kind::level) return row(title, grouped(value_of(now, line)), "", "");
  return row(title, "", formatted("%.1f", per_second(before, now, line)), grouped(value_of(now, line)));
}

std::string duration(double seconds) {
  constexpr unsigned kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  const auto whole = static_cast<unsigned long long>(std::max(seconds, 0.0));
  char text[64];
  if (whole >= kDay)
    std::snprintf(text, sizeof text, "%llu d %llu h", whole / kDay, whole % kDay / kHour);
  else if (whole >= kHour)
    std::snprintf(text, sizeof text, "%llu h %llu min", whole / kHour, whole % kHour / kMinute);
  else
    std::snprintf(text, sizeof text, "%llu min %llu s", whole / kMinute, whole % kMinute);
  return text;
}

}  // namespace

std::string top_text(const Reading& before, const Reading& now) {
  std::string text = "tridentd, up " + duration(now.stats.value("uptime_s", 0.0)) + "; rates of the last " +
                     formatted("%.1f", now.at_s - before.at_s) + " s\n" + row("", "now", "a second", "since it began");
  for (const Part& part : parts()) {
    if (!is_used(part, now)) continue;
    text += std::string(part.title) + "\n";
    for (const Line& line : part.lines) text += line_text(line, before, now);
  }
  return text;
}

Json top_json(const Reading& before, const Reading& now) {
  Json all = Json::object();
  for (const Part& part : parts())
    for (const Line& line : part.lines) {
      Json& figures = all[line.part][line.name];
      if (line.kind == Kind::level)
        figures = {{"now", value_of(now, line)}};
      else
        figures = {{"per_second", per_second(before, now, line)}, {"total", value_of(now, line)}};
    }
  return {{"uptime_s", now.stats.value("uptime_s", 0.0)}, {"seconds", now.at_s - before.at_s}, {"parts", all}};
}

}  // namespace trident::cli
