#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "clients/cli/loop/loop_reports.h"
#include "jit/loop/aarch64/instruction.h"
#include "runtime/base/counted.h"

namespace trident::cli {
namespace {

constexpr std::size_t kColumns = 100;
/// Instructions of a refused loop that are printed before and behind the one that is the reason.
constexpr std::uint64_t kContextBytes = 32;

std::string outcome_of(const LookedAt& looked) {
  return looked.made ? "compile" : std::string(name_of(looked.refusal.reason));
}

std::string cut(std::string line) {
  if (line.size() > kColumns) line.resize(kColumns);
  return line + "\n";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "none" : text;
}

std::string rate_text(const Rate& rate) {
  if (rate.rounds == 0) return rate.note;
  return fmt::format("{:.3g} ns a round, in runs of {}", rate.ns_per_round, counted(rate.rounds, "round"));
}

/// The loop's instructions; where some are left out, a line says so.
std::string listing(const loop::Loop& loop) {
  std::string text;
  std::uint64_t next = loop.instructions.begin()->first;
  for (const auto& [address, instruction] : loop.instructions) {
    if (address != next) text += "  ...\n";
    next = address + sizeof instruction.word;
    const std::string line = loop::aarch64::print(instruction, address);
    text += cut(fmt::format(
        "  {:>18}  {:08x}  {}{}", hex(address), instruction.word, line,
        address == loop.head ? fmt::format("{:>{}}", "<- head", 40 - std::min<std::size_t>(line.size(), 30)) : ""));
  }
  return text;
}

std::string windows_text(const loop::Description& description) {
  std::string text;
  for (std::size_t w = 0; w < description.windows.size(); ++w) {
    const auto& window = description.windows[w];
    const bool loads = (window.access & TRIDENT_LOOP_LOADS) != 0, stores = (window.access & TRIDENT_LOOP_STORES) != 0;
    text += fmt::format("  {:>2}  {:<3} {}, at most {}\n", w, register_name(window.base),
                        loads && stores ? "loads, stores"
                        : stores        ? "stores"
                                        : "loads",
                        counted(window.widest, "byte", "bytes"));
  }
  return text.empty() ? "  none\n" : text;
}

std::string ways_text(const loop::Loop& loop) {
  std::string text;
  for (const WayOut& way : ways_out(loop)) text += fmt::format("  {} -> {}\n", hex(way.from), hex(way.to));
  return text.empty() ? "  none\n" : text;
}

std::string full_text_of_code(const LookedAt& looked, bool with_region) {
  const pipeline::CompiledLoop& made = *looked.made;
  const auto& counts = looked.description.counts;
  std::string text = listing(made.loop);
  text += "windows: base register, accesses\n" + windows_text(looked.description);
  text += "ways out\n" + ways_text(made.loop);
  text += fmt::format("reads    {}\nwrites   {}\n", joined(register_names(counts.registers_read)),
                      joined(register_names(counts.registers_written)));
  text +=
      fmt::format("class    unknown\ncode     {} from {} in {}\n", counted(made.code.code_size, "byte"),
                  counted(made.region.insts.size(), "region instruction"), counted(made.region.blocks.size(), "block"));
  const auto& trials = made.trials;
  if (trials.runs != 0)
    text += fmt::format("trials   {} as the interpreter's: {} left, {} missed, {} used up the budget\n",
                        counted(trials.runs, "run"), trials.left, trials.missed, trials.spent);
  if (looked.rate) text += "rate     " + rate_text(*looked.rate) + "\n";
  if (with_region) text += "region\n" + print(made.region);
  return text;
}

/// The code around the reason.
std::string full_text_of_refusal(const LookedAt& looked) {
  const std::uint64_t reason = looked.refusal.address;
  const std::uint64_t first = std::max(reason - std::min(reason, kContextBytes), looked.code.address);
  std::string text;
  for (std::uint64_t address = first; address - first <= 2 * kContextBytes; address += 4) {
    const std::string line = instruction_text(looked.code, address);
    if (line.empty()) break;
    text += cut(fmt::format("  {:>18}  {}{}{}", hex(address), line, address == looked.head ? "    <- head" : "",
                            address == reason ? "    <- the reason" : ""));
  }
  return text + "refused  " + looked.refusal.text + "\n";
}

}  // namespace

void Outcomes::add(const LookedAt& looked) {
  ++counts_[outcome_of(looked)];
  ++total_;
}

std::string Outcomes::text() const {
  std::vector<std::pair<std::string, std::size_t>> sorted(counts_.begin(), counts_.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [outcome, count] : sorted)
    text += fmt::format("{:<12} {:>7} {:>5.1f} %\n", outcome, count,
                        100.0 * static_cast<double>(count) / static_cast<double>(total_));
  return text + fmt::format("{:<12} {:>7}\n", "all", total_);
}

std::string header_text(bool with_rate) {
  return fmt::format("{:>18} {:>5} {:>7} {:>4} {:>6} {}outcome\n", "head", "insns", "windows", "outs", "code",
                     with_rate ? fmt::format("{:>9} ", "ns/round") : "");
}

std::string row_text(const LookedAt& looked) {
  if (!looked.made) {
    const auto& refusal = looked.refusal;
    return cut(fmt::format("{:>18} {:>5} {:>7} {:>4} {:>6} {}{}: {} {}", hex(looked.head), "", "", "", "",
                           looked.rate ? fmt::format("{:>9} ", "") : "", name_of(refusal.reason), hex(refusal.address),
                           instruction_text(looked.code, refusal.address)));
  }
  const pipeline::CompiledLoop& made = *looked.made;
  std::string rate;
  if (looked.rate)
    rate = looked.rate->rounds == 0 ? fmt::format("{:>9} ", "-") : fmt::format("{:>9.3g} ", looked.rate->ns_per_round);
  return cut(fmt::format("{:>18} {:>5} {:>7} {:>4} {:>6} {}compile", hex(looked.head), made.loop.instructions.size(),
                         looked.description.windows.size(), ways_out(made.loop).size(), made.code.code_size, rate));
}

std::string full_text(const LookedAt& looked, bool with_region) {
  std::string text = "loop at " + hex(looked.head);
  if (looked.made) text += ": " + counted(looked.made->loop.instructions.size(), "instruction", "instructions");
  std::vector<std::string> jumps;
  for (const std::uint64_t jump : looked.jumps_back) jumps.push_back(hex(jump));
  if (!jumps.empty()) text += ", jumps back at " + joined(jumps);
  return cut(text) + (looked.made ? full_text_of_code(looked, with_region) : full_text_of_refusal(looked));
}

}  // namespace trident::cli
