#include "clients/cli/demo/demo_text.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace trident::cli {
namespace {

std::string arrival(const TierResult& tier) {
  return tier.first_ns == 0 ? "-" : duration_text(static_cast<double>(tier.first_ns) * 1e-9);
}

struct Column {
  const char* title;
  int width;
  int rank;  ///< the greatest goes first where there is no room
  std::string (*cell)(const DemoKernel&, std::uint64_t n);
};
constexpr Column kColumns[] = {
    {"interpreter", 11, 3, [](const DemoKernel& k, std::uint64_t n) { return element_time(k, 0, n); }},
    {"baseline", 9, 2, [](const DemoKernel& k, std::uint64_t n) { return element_time(k, 1, n); }},
    {"optimised", 9, 1, [](const DemoKernel& k, std::uint64_t n) { return element_time(k, 2, n); }},
    {"speed-up", 8, 0,
     [](const DemoKernel& k, std::uint64_t) { return k.speedup() > 0 ? figure(k.speedup(), "%.1fx") : "-"; }},
    {"baseline at", 11, 6, [](const DemoKernel& k, std::uint64_t) { return arrival(k.tiers[1]); }},
    {"optimised at", 12, 4, [](const DemoKernel& k, std::uint64_t) { return arrival(k.tiers[2]); }},
    {"error", 9, 5,
     [](const DemoKernel& k, std::uint64_t) {
       return k.bound_share() ? figure(100 * *k.bound_share(), "%.0f%%") : "-";
     }},
};
constexpr int kNameWidth = 18;
/// Room for what a kernel is at: "baseline, judge".
constexpr std::size_t kStateWidth = 16;

bool shown(const Column& column, std::size_t columns) {
  if (columns == 0) return true;
  std::size_t width = kNameWidth + 2 + kStateWidth;
  for (const Column& c : kColumns)
    if (c.rank <= column.rank) width += 1 + static_cast<std::size_t>(c.width);
  return width <= columns;
}

std::string padded(const std::string& text, int width) {
  char cell[64];
  std::snprintf(cell, sizeof cell, "%*s", width, text.c_str());
  return cell;
}

template <class Cell>
std::string line_of(const std::string& name, std::size_t columns, const std::string& state, Cell&& cell) {
  std::string line = padded(name.substr(0, kNameWidth), -kNameWidth);
  for (const Column& column : kColumns)
    if (shown(column, columns)) line += " " + padded(cell(column), column.width);
  return fitted(line + "  " + state, columns);
}

}  // namespace

std::string figure(double value, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string duration_text(double seconds) {
  return seconds < 1e-3 ? figure(seconds * 1e6, "%.0f us")
         : seconds < 1  ? figure(seconds * 1e3, "%.3g ms")
                        : figure(seconds, "%.3g s");
}

std::string element_time(const DemoKernel& k, std::size_t tier, std::uint64_t n) {
  const double ns = k.tiers[tier].call_ns;
  return ns > 0 ? figure(ns / static_cast<double>(n)) : "-";
}

std::string state_text(const DemoKernel& k) {
  if (!k.failure.empty()) return "FAILED: " + k.failure;
  static const char* const kNames[] = {"interpreter", "baseline", "optimised"};
  if (k.late) return std::string(kNames[k.tier]) + ", NOT DONE IN TIME";
  if (k.done) return std::string(kNames[k.tier]) + (k.tier == 2 ? ", done" : ", done (baseline kept)");
  return std::string(kNames[k.tier]) + (k.stage.empty() ? " ..." : ", " + k.stage);
}

std::string demo_heading(std::size_t columns) {
  return line_of("kernel", columns, "now", [](const Column& c) { return std::string(c.title); });
}

std::string demo_row(const DemoKernel& k, std::uint64_t n, std::size_t columns) {
  return line_of(k.name, columns, state_text(k), [&](const Column& c) { return c.cell(k, n); });
}

std::string demo_summary(const DemoPass& pass, std::uint32_t timeout_ms) {
  std::string text = std::string(ir::name_of(pass.type)) + ": " + figure(pass.geomean_speedup(), "%.1f") +
                     "x faster than the interpreter (geomean), " +
                     (pass.failed() ? "WRONG ANSWERS OR ERRORS" : "every answer right") +
                     "; after kill -9 of the daemon all kernels " +
                     (pass.right_without_daemon ? "still answer right" : "do NOT answer right");
  if (const std::size_t late = pass.late(); late > 0)
    text += "; NOT DONE IN TIME: " + std::to_string(late) + " of " + std::to_string(pass.kernels.size()) +
            " kernels after " + std::to_string(timeout_ms) + " ms (--timeout-ms)";
  return text;
}

std::string fitted(std::string line, std::size_t columns) {
  if (columns == 0 || line.size() <= columns) return line;
  const std::size_t space = line.find_last_of(' ', columns);
  line.resize(space == std::string::npos ? columns : space);
  while (!line.empty() && (line.back() == ' ' || line.back() == ',')) line.pop_back();
  return line;
}

}  // namespace trident::cli
