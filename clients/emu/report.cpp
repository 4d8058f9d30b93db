#include "clients/emu/report.h"

#include <cstdio>

#include "runtime/json/json.h"

namespace trident::emu {
namespace {

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

}  // namespace

std::string report_text(const RunReport& report) {
  std::string text =
      line("wall time", figure(seconds(report.wall_ns))) + line("CPU time", figure(seconds(report.cpu_ns)));
  for (const auto& [number, times] : report.unknown_calls)
    text += line("unknown system call", std::to_string(number) + ", answered with ENOSYS " + std::to_string(times) +
                                            (times == 1 ? " time" : " times"));
  return text;
}

std::string report_json(const RunReport& report) {
  Json calls = Json::array();
  for (const auto& [number, times] : report.unknown_calls) calls.push_back({{"number", number}, {"times", times}});
  return Json({{"status", report.status},
               {"crash", report.crash},
               {"wall_s", seconds(report.wall_ns)},
               {"cpu_s", seconds(report.cpu_ns)},
               {"unknown_calls", calls}})
      .dump();
}

}  // namespace trident::emu
