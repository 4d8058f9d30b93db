#include "clients/cli/triton/heights_text.h"

#include <algorithm>
#include <cstdio>

namespace trident::cli {
namespace {

namespace vm = tir::vm;

std::string line(std::string_view name, std::uint64_t before, std::uint64_t after) {
  char text[80];
  std::snprintf(text, sizeof text, "%-11s %12llu %12llu", std::string(name).c_str(),
                static_cast<unsigned long long>(before), static_cast<unsigned long long>(after));
  return text;
}

}  // namespace

std::string change_text(std::uint64_t before, std::uint64_t after) {
  if (before == after) return "";
  char text[40];
  std::snprintf(text, sizeof text, "%+.1f %%",
                100 * (static_cast<double>(after) / std::max(1.0, static_cast<double>(before)) - 1));
  return text;
}

std::string heights_text(const ProgramSize& before, const ProgramSize& after) {
  std::string out = "table             before        after\n";
  for (std::size_t t = 0; t < vm::kTableCount; ++t) {
    out += line(vm::kTableNames[t], before.heights.rows[t], after.heights.rows[t]);
    const std::string change = change_text(before.heights.rows[t], after.heights.rows[t]);
    if (!change.empty()) out += std::string(11 - std::min<std::size_t>(change.size(), 10), ' ') + change;
    const bool decided = t == static_cast<std::size_t>(before.heights.tallest());
    const bool decides = t == static_cast<std::size_t>(after.heights.tallest());
    out += decided && decides ? "  decides\n" : decided ? "  decided\n" : decides ? "  decides now\n" : "\n";
  }
  out += line("padded", before.heights.padded(), after.heights.padded()) + "\n";
  return out + line("words", before.words, after.words) + "\n";
}

}  // namespace trident::cli
