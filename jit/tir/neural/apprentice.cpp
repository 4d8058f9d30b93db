#include "jit/tir/neural/apprentice.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "jit/tir/neural/left_blocks.h"
#include "jit/tir/neural/propose.h"
#include "jit/tir/neural/warm_start.h"
#include "runtime/json/json.h"
#include "runtime/os/directory.h"
#include "runtime/os/priority.h"

namespace trident::tir::neural {
namespace {

constexpr std::uintmax_t kRoundsBytesMax = 1u << 18;  ///< about a thousand rounds

/// Encoded blocks of the training side or of the held-out side.
struct Side {
  std::vector<Original> originals;
  std::vector<Pair> pairs;  ///< for blocks with an answer better than themselves
};

Side side_of(const std::vector<BlockRecord>& records, bool held) {
  Side side;
  for (const BlockRecord& record : records) {
    if (held_out(record.block) != held) continue;
    side.originals.push_back(*Original::of(record.block));
    if (record.answer_cost < record.block_cost) side.pairs.push_back({record.block, record.answer});
  }
  return side;
}

std::int64_t fitness_on(const Side& side, std::span<const std::int32_t> weights, const BlockJudge& judge) {
  const Judge by_index = [&](std::size_t i, std::span<const Instruction> written) {
    return judge(side.originals[i].block(), written);
  };
  return fitness(weights, side.originals, by_index, {});
}

/// Quality of weights on a side: first the compiler's gain, then the nearness of the drafts.
struct Standing {
  double gain = 0;  ///< summed over the blocks
  std::int64_t fitness = 0;

  friend bool operator<(const Standing& a, const Standing& b) {
    return a.gain != b.gain ? a.gain < b.gain : a.fitness < b.fitness;
  }
};
Standing standing_on(const Side& side, const Weights& weights, const BlockJudge& judge) {
  Standing out{0, fitness_on(side, weights, judge)};
  Network network(weights);
  for (const Original& original : side.originals) {
    double best = 0;
    for (const std::vector<Instruction>& written : propose(network, original.block()))
      best = std::max(best, judge(original.block(), written).value_or(0));
    out.gain += best;
  }
  return out;
}

double mean_fitness(const Standing& standing, std::size_t blocks) {
  return static_cast<double>(standing.fitness) / static_cast<double>(kRight) / static_cast<double>(blocks);
}

std::string hexadecimal(const field::ContentAddress& address) {
  std::string text;
  for (const std::uint8_t byte : address)
    for (const int nibble : {byte >> 4, byte & 15}) text += "0123456789abcdef"[nibble];
  return text;
}

}  // namespace

Apprentice::Apprentice(std::string folder, store::Versions versions)
    : folder_(std::move(folder)), versions_(std::move(versions)), mutex_(std::make_unique<std::mutex>()) {}

Result<Apprentice> Apprentice::open(const std::string& folder, std::optional<Weights> shipped) {
  TRY_VOID(os::make_private_directory_of(folder + "/blocks"));
  TRY(store::Versions versions, store::Versions::open(folder + "/weights"));
  Apprentice apprentice(folder, std::move(versions));
  apprentice.shipped_ = std::move(shipped);
  if (auto buffer = BlockBuffer::load(folder + "/blocks"); buffer.ok()) apprentice.buffer_ = *std::move(buffer);
  return apprentice;
}

Result<void> Apprentice::add(BlockRecord record) {
  const std::lock_guard lock(*mutex_);
  return buffer_.add(std::move(record));
}

std::size_t Apprentice::blocks() const {
  const std::lock_guard lock(*mutex_);
  return buffer_.records().size();
}

Result<std::optional<Weights>> Apprentice::chosen() const {
  TRY(const std::string name, versions_.chosen());
  if (name == store::Versions::kNone) return std::optional<Weights>();
  TRY(const os::Mapping file, versions_.map(name));
  TRY(Weights weights, weights_in({static_cast<const std::byte*>(file.base()), file.size()}));
  return std::optional<Weights>(std::move(weights));
}

/// Loads the population, with the first founder in place of its last; a new one if the file cannot be read.
Evolution Apprentice::population(std::span<const Weights> founders, const RoundOptions& options) const {
  auto saved = Evolution::load(folder_ + "/population", options.threads);
  if (!saved.ok()) return {{.seed = options.seed, .threads = options.threads}, founders};
  saved->replace_last(founders);
  return *std::move(saved);
}

Result<void> Apprentice::promote(const Weights& weights, const RoundReport& report, const std::string& instead_of) {
  const std::string figures =
      "{\"held_out\": " + std::to_string(report.held_out) + ", \"gain_before\": " + std::to_string(report.gain_before) +
      ", \"gain_after\": " + std::to_string(report.gain_after) + ", \"before\": " + std::to_string(report.before) +
      ", \"after\": " + std::to_string(report.after) + ", \"poseidon2\": \"" + hexadecimal(address_of(weights)) +
      "\"}\n";
  TRY(const std::string name, versions_.add(file_of(weights), figures));
  return versions_.choose(name, instead_of);
}

/// Adds the blocks that other processes have left. Unreadable ones are lost; there will be others.
void Apprentice::take_in_left() {
  auto left = take_left_blocks(folder_);
  if (!left.ok()) return;
  for (BlockRecord& record : *left) (void)add(std::move(record)).ok();
}

Result<void> Apprentice::note(const RoundReport& report) const {
  const std::string path = rounds_path(folder_);
  std::error_code code;
  if (const auto bytes = std::filesystem::file_size(path, code); !code && bytes > kRoundsBytesMax)
    std::filesystem::rename(path, path + ".before", code);
  Json line;
  line["seconds_since_1970"] =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  line["learned_from"] = report.learned_from, line["held_out"] = report.held_out;
  line["gain_before"] = report.gain_before, line["gain"] = report.gain_after;
  line["drafts_before"] = report.before, line["drafts"] = report.after;
  line["promoted"] = report.promoted, line["dropped"] = report.dropped, line["chosen"] = report.chosen;
  std::ofstream out(path, std::ios::app);
  out << line.dump() + "\n" << std::flush;
  if (!out) return make_error(ErrorCode::kOsError, "%s: cannot be written", path.c_str());
  return {};
}

Result<RoundReport> Apprentice::round(const BlockJudge& judge, const RoundOptions& options) {
  take_in_left();
  TRY(RoundReport report, learned_round(judge, options));
  if (report.enough) TRY_VOID(note(report));
  return report;
}

Result<RoundReport> Apprentice::learned_round(const BlockJudge& judge, const RoundOptions& options) {
  std::vector<BlockRecord> records;
  {
    const std::lock_guard lock(*mutex_);
    records.assign(buffer_.records().begin(), buffer_.records().end());
    TRY_VOID(buffer_.save(folder_ + "/blocks"));
  }
  const Side learned = side_of(records, false), held = side_of(records, true);
  RoundReport report;
  report.learned_from = learned.originals.size(), report.held_out = held.originals.size();
  TRY(std::string chosen_name, versions_.chosen());
  report.chosen = chosen_name;
  report.enough = std::min(report.learned_from, report.held_out) >= options.blocks_min;
  if (!report.enough) return report;

  // Finds the weights to beat.
  TRY(const std::optional<Weights> chosen, this->chosen());
  Weights in_use = chosen ? *chosen : shipped_ ? *shipped_ : initial_weights(options.seed);
  Standing before = standing_on(held, in_use, judge);
  if (chosen && shipped_) {
    const Standing of_shipped = standing_on(held, *shipped_, judge);
    if (before < of_shipped) {
      TRY_VOID(versions_.choose(store::Versions::kNone, chosen_name));
      report.dropped = true;
      report.chosen = chosen_name = store::Versions::kNone;
      in_use = *shipped_, before = of_shipped;
    }
  }

  std::vector<Weights> founders{in_use};
  if (options.warm_start_steps > 0 && !learned.pairs.empty()) {
    auto taught = warm_start(learned.pairs, in_use,
                             {.seed = options.seed,
                              .steps = options.warm_start_steps,
                              .rate = options.warm_start_rate,
                              .threads = options.threads});
    if (taught.ok()) founders.insert(founders.begin(), std::move(taught->weights));
  }
  Evolution evolution = population(founders, options);
  evolution.forget_fitness();  // the blocks differ from last time
  for (std::uint64_t g = 0; g < options.generations; ++g)
    evolution.generation([&](std::span<const std::int32_t> weights) { return fitness_on(learned, weights, judge); });
  TRY_VOID(evolution.save(folder_ + "/population"));
  const Weights& best = evolution.population()[0].weights;
  const Standing after = standing_on(held, best, judge);
  report.before = mean_fitness(before, report.held_out), report.after = mean_fitness(after, report.held_out);
  report.gain_before = before.gain / static_cast<double>(report.held_out);
  report.gain_after = after.gain / static_cast<double>(report.held_out);
  if (!(before < after)) return report;
  TRY_VOID(promote(best, report, chosen_name));
  report.promoted = true;
  TRY(report.chosen, versions_.chosen());
  return report;
}

BackgroundLearning::BackgroundLearning(Apprentice& apprentice, BlockJudge judge, RoundOptions options,
                                       std::uint64_t rounds, std::function<void(const Result<RoundReport>&)> report)
    : thread_([this, &apprentice, judge = std::move(judge), options, rounds, report = std::move(report)]() mutable {
        // Threads that a round starts are children of this one and as idle. A system that refuses is no reason not to
        // learn.
        (void)os::run_when_idle().ok();
        for (std::uint64_t i = 0; i < rounds && !stopped_; ++i) {
          const auto result = apprentice.round(judge, options);
          if (report) report(result);
          ++options.seed;
        }
        finished_ = true;
      }) {}

BackgroundLearning::~BackgroundLearning() {
  stop();
  thread_.join();
}

}  // namespace trident::tir::neural
