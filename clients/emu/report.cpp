#include "clients/emu/report.h"

#include <cstdio>

#include "runtime/json/json.h"

namespace trident::emu {
namespace {

const char* call_name(std::uint64_t number) {
  switch (number) {
#define X(number, name) \
  case number:          \
    return #name;
#include "clients/emu/unanswered_calls.def"
#undef X
  }
  return "";
}

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

std::string line(const char* name, const std::string& value) {
  char text[128];
  std::snprintf(text, sizeof text, "trident-emu: %-22s ", name);
  return text + value + "\n";
}

std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", value);
  return text;
}

std::string count(std::uint64_t number, const char* what) {
  return std::to_string(number) + " " + what;
}

std::string loop_text(const LoopReport& loop) {
  char head[32], times[64] = "";
  std::snprintf(head, sizeof head, "loop 0x%llx", static_cast<unsigned long long>(loop.head));
  if (loop.guest_ns > 0 && loop.native_ns > 0)
    std::snprintf(times, sizeof times, ", %.2f ns a round before, %.2f after", loop.guest_ns, loop.native_ns);
  return line(head, loop.state + (loop.note.empty() ? "" : ": " + loop.note) +
                        (loop.entries + loop.shadows == 0
                             ? ""
                             : ", " + count(loop.entries, "entries, ") + count(loop.iterations, "iterations, ") +
                                   count(loop.shadows, "shadow runs")) +
                        times);
}

std::string swap_text(const SwapReport& swap) {
  std::string text = line("loops", count(swap.submitted, "submitted, ") + count(swap.installed, "installed, ") +
                                       count(swap.refused, "refused, ") + count(swap.unhooked, "given up")) +
                     line("native runs", count(swap.entries, "entries, ") + count(swap.iterations, "iterations, ") +
                                             count(swap.misses, "misses, ") + count(swap.shadows, "shadow runs, ") +
                                             count(swap.mismatches, "mismatches"));
  for (const LoopReport& loop : swap.loops) text += loop_text(loop);
  return text;
}

Json loop_json(const LoopReport& loop) {
  return {{"head", loop.head},          {"state", loop.state},           {"note", loop.note},
          {"entries", loop.entries},    {"iterations", loop.iterations}, {"misses", loop.misses},
          {"shadows", loop.shadows},    {"mismatches", loop.mismatches}, {"guest_ns", loop.guest_ns},
          {"native_ns", loop.native_ns}};
}

Json swap_json(const SwapReport& swap) {
  Json loops = Json::array();
  for (const LoopReport& loop : swap.loops) loops.push_back(loop_json(loop));
  return {{"submitted", swap.submitted},   {"installed", swap.installed},
          {"refused", swap.refused},       {"unhooked", swap.unhooked},
          {"entries", swap.entries},       {"iterations", swap.iterations},
          {"misses", swap.misses},         {"shadows", swap.shadows},
          {"mismatches", swap.mismatches}, {"loops", loops}};
}

}  // namespace

std::string report_text(const RunReport& report) {
  std::string text =
      line("wall time", figure(seconds(report.wall_ns))) + line("CPU time", figure(seconds(report.cpu_ns)));
  for (const auto& [number, times] : report.unknown_calls)
    text += line("unknown system call", std::to_string(number) + " " + call_name(number) + ", answered with ENOSYS " +
                                            std::to_string(times) + (times == 1 ? " time" : " times"));
  return report.swap ? text + swap_text(*report.swap) : text;
}

std::string report_json(const RunReport& report) {
  Json calls = Json::array();
  for (const auto& [number, times] : report.unknown_calls)
    calls.push_back({{"number", number}, {"name", call_name(number)}, {"times", times}});
  return Json({{"status", report.status},
               {"crash", report.crash},
               {"wall_s", seconds(report.wall_ns)},
               {"cpu_s", seconds(report.cpu_ns)},
               {"unknown_calls", calls},
               {"swap", report.swap ? swap_json(*report.swap) : Json()}})
      .dump();
}

}  // namespace trident::emu
