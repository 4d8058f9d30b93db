#include "clients/cli/train/weights_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <vector>

#include "jit/tir/neural/apprentice.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"
#include "runtime/store/state_folder.h"

namespace trident::cli {
namespace {

namespace neural = tir::neural;

constexpr std::size_t kRoundsShown = 20;

/// The oldest first; a line that is no object is passed over.
std::vector<Json> rounds_of(const std::string& state) {
  std::vector<Json> out;
  const std::string path = neural::Apprentice::rounds_path(store::programs_folder(state));
  for (const std::string& name : {path + ".before", path}) {
    std::ifstream in(name);
    for (std::string line; std::getline(in, line);)
      if (auto round = Json::parse(line); round.is_object()) out.push_back(std::move(round));
  }
  return out;
}

std::size_t blocks_in(const std::string& path) {
  const auto buffer = neural::BlockBuffer::load(path);
  return buffer.ok() ? buffer->records().size() : 0;
}

std::string date_of(const Json& round) {
  const std::time_t time = round.value("seconds_since_1970", std::int64_t{0});
  std::tm broken{};
  ::gmtime_r(&time, &broken);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &broken);
  return text;
}

std::string outcome_of(const Json& round) {
  if (round.value("promoted", false)) return "promoted " + round.value("chosen", std::string()).substr(0, 12);
  return round.value("dropped", false) ? "the version in use was dropped" : "not promoted";
}

std::string text_of(const Json& round) {
  return fmt::format("{}  {}, gain of the candidate {:.4f} of {} held out ({:.4f} before): {}", date_of(round),
                     counted(round.value("learned_from", std::uint64_t{0}), "block"), round.value("gain", 0.0),
                     round.value("held_out", 0), round.value("gain_before", 0.0), outcome_of(round));
}

}  // namespace

std::string programs_line(const std::string& state) {
  const std::vector<Json> rounds = rounds_of(state);
  if (rounds.empty()) return "";
  const auto promoted =
      std::count_if(rounds.begin(), rounds.end(), [](const Json& round) { return round.value("promoted", false); });
  return fmt::format("programs of Triton VM: {}, {} promoted, the last {} (`trident weights programs`)",
                     counted(rounds.size(), "round"), promoted, date_of(rounds.back()));
}

Result<int> show_programs(const std::string& state, bool json) {
  const std::string folder = store::programs_folder(state);
  const std::vector<Json> rounds = rounds_of(state);
  const std::size_t blocks = blocks_in(folder + "/blocks"), left = blocks_in(folder + "/left");
  const auto versions = store::Versions::at(folder + "/weights");
  TRY(const auto all, versions.list());
  if (json) {
    Json root = {{"blocks", blocks}, {"left", left}, {"rounds", rounds}, {"versions", Json::array()}};
    for (const auto& version : all) root["versions"].push_back({{"name", version.name}, {"chosen", version.chosen}});
    std::puts(root.dump(1).c_str());
    return 0;
  }
  std::printf("%s to learn from, %zu left by builds since the last round\n", counted(blocks, "block").c_str(), left);
  if (rounds.empty())
    std::printf("no round yet: one needs %zu blocks to learn from and as many held out, a quarter of all\n",
                neural::RoundOptions{}.blocks_min);
  for (std::size_t i = rounds.size() - std::min(rounds.size(), kRoundsShown); i < rounds.size(); ++i)
    std::printf("%s\n", text_of(rounds[i]).c_str());
  for (const auto& version : all) std::printf("%c %s\n", version.chosen ? '*' : ' ', version.name.c_str());
  return 0;
}

}  // namespace trident::cli
