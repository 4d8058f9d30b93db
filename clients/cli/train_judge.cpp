#include "clients/cli/train_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "clients/cli/line_plot.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/learn/timed_kernels.h"

namespace trident::cli {
namespace {

constexpr std::size_t kGroupsPerShard = 4;
// Rows that are stored: features met at least so often in training; others count as never met.
constexpr std::uint64_t kHitsStored = 8, kHitsOwnRow = 300;
constexpr std::size_t kRowsStored = 12'000;
constexpr const char* kByHand = "corpus";

std::vector<std::pair<double, double>> calibration_of(const learn::Network& network, const learn::JudgeSamples& samples,
                                                      const std::vector<std::uint32_t>& of) {
  std::vector<std::pair<double, double>> said;
  for (const std::uint32_t i : of) {
    const learn::JudgeSample& s = samples.samples[i];
    said.emplace_back(s.static_log + network.score(nn::HeadKind::judge, samples.example_of(s)), s.log_ns);
  }
  std::sort(said.begin(), said.end());
  constexpr std::size_t kParts = 20;
  std::vector<std::pair<double, double>> out;
  for (std::size_t t = 0; t < kParts && said.size() >= kParts; ++t) {
    const std::size_t from = t * said.size() / kParts, to = (t + 1) * said.size() / kParts;
    double guessed = 0, measured = 0;
    for (std::size_t i = from; i < to; ++i) guessed += said[i].first, measured += said[i].second;
    const auto count = static_cast<double>(to - from);
    out.emplace_back(guessed / count, measured / count);
  }
  return out;
}

}  // namespace

std::uint32_t machine_trained_on(const learn::TimedKernels& timed) {
  std::vector<std::size_t> kernels(timed.machines.size() + 1);
  for (const learn::TimedFamily& family : timed.families) kernels[family.machine] += family.end - family.first;
  const std::size_t most = *std::max_element(kernels.begin(), kernels.end());
  auto machine = static_cast<std::uint32_t>(kernels.size());
  while (10 * kernels[--machine] < 9 * most) continue;
  return machine;
}

learn::JudgeSplit judge_split(const learn::JudgeSamples& samples, std::span<const std::string> without) {
  return learn::split_of(samples, kByHand, without);
}

Result<TrainedJudge> train_judge(const TrainJudgeOptions& options) {
  TrainedJudge out;
  TRY(const learn::TimedKernels timed, learn::load_timed_kernels(options.kernels));
  const std::uint32_t machine = machine_trained_on(timed);
  TRY(const learn::JudgeSamples samples, learn::samples_of(timed, machine, options.depth, [&](std::size_t done) {
        if (options.progress) options.progress("reading", done, timed.kernels.size());
      }));
  out.ceiling = learn::ceiling_of(timed, machine);
  if (!timed.machines.empty()) out.machine = timed.machines[machine].cpu + ", " + timed.machines[machine].isa;
  out.kernels = samples.samples.size(), out.families = samples.families.size();
  const learn::JudgeSplit split = judge_split(samples, options.without);
  if (split.train.size() < 100 || split.held_out.size() < 20)
    return make_error(ErrorCode::kInvalidArgument,
                      "%s: %zu kernels to train on and %zu to test on are too few; time some more "
                      "(trident calibrate --kernels N)",
                      options.kernels.c_str(), split.train.size(), split.held_out.size());
  out.trained_on = split.train.size();
  const std::vector<std::uint64_t> hits = learn::hits_of(samples, split.train);
  learn::NetworkShape shape;
  shape.width = options.width, shape.depth = options.depth;
  shape.own_rows = learn::features_met(hits, kHitsOwnRow);
  const std::uint64_t kinds = expr::rewrite::node_kinds().hash;
  learn::Network network(shape, kinds, options.seed);
  learn::JudgeTraining how;
  how.trainer.folder = options.folder;
  std::error_code failed;
  std::filesystem::create_directories(options.folder, failed);
  if (failed) return make_error(ErrorCode::kOsError, "%s: %s", options.folder.c_str(), failed.message().c_str());
  how.trainer.seed = options.seed;
  how.trainer.epochs = options.epochs, how.trainer.patience = options.patience;
  how.trainer.samples_per_shard = kGroupsPerShard;
  how.trainer.threads = options.threads;
  how.trainer.resume = options.resume;
  how.trainer.schedule = {
      .peak = 2e-3,
      .last = 2e-5,
      .warmup_steps = 100,
      .steps = options.epochs * learn::groups_of(samples, split.train).size() / (learn::kShards * kGroupsPerShard)};
  how.progress = [&](const train::Report& r) {
    if (r.epoch_done) out.epochs.push_back({r.loss, r.metric});
    if (options.progress) options.progress("training", r.epoch * r.positions + r.position, r.epochs * r.positions);
    return !options.stopped || !options.stopped();
  };
  TRY(const train::TrainingResult result, learn::train_judge(network, samples, split.train, split.held_out, how));
  out.interrupted = result.interrupted;
  for (const auto& [name, part] : {std::pair{"families held out", &split.held_out},
                                   {"generators left out", &split.left_out},
                                   {"written by hand", &split.by_hand}})
    if (!part->empty()) out.splits.push_back({name, learn::figures_of(network, samples, split.train, *part)});
  out.calibration = calibration_of(network, samples, split.held_out);
  std::vector<std::uint64_t> stored = hits;
  std::sort(stored.begin(), stored.end(), std::greater<>());
  const std::uint64_t least = std::max(kHitsStored, stored[std::min(kRowsStored, stored.size() - 1)]);
  stored = hits;
  for (std::uint64_t& h : stored) h = h < least ? 0 : h;
  TRY(out.block, nn::AccumulatorWeights::pack(network.quantise(stored).weights));
  TRY_VOID(network.save(options.folder + "/judge.safetensors"));
  return out;
}

std::string judge_text(const TrainedJudge& trained) {
  std::string text = fmt::format("{} kernels in {} families, timed on {}; trained on {}\n", trained.kernels,
                                 trained.families, trained.machine, trained.trained_on);
  text +=
      fmt::format("rank correlation of two measurements, the most that there is to reach: {:.4f}\n", trained.ceiling);
  for (const TrainedJudge::Split& split : trained.splits) {
    text += fmt::format("{}: {} kernels in {} families\n", split.name, split.figures.samples, split.figures.families);
    text +=
        fmt::format("  {:<20} {:>9} {:>12} {:>13} {:>8}\n", "", "Spearman", "pairs right", "median error", "regret");
    for (const learn::GuessFigures& g : split.figures.guesses)
      text += fmt::format("  {:<20} {:>9.4f} {:>12.3f} {:>13.3f} {:>8.3f}\n", g.name, g.spearman, g.pairs,
                          g.median_error, g.regret);
  }
  if (!trained.splits.empty()) {
    text += "the form of a family that the network thinks fastest, beside the statically cheapest, as measured\n";
    text +=
        fmt::format("  {:<22} {:>7} {:>7} {:>9} {:>9} {:>9}\n", "", "margin", "gain", "possible", "faster", "slower");
    for (const TrainedJudge::Split& split : trained.splits)
      for (const learn::Extraction& e : split.figures.extraction)
        text += fmt::format("  {:<22} {:>7.2f} {:>7.4f} {:>9.4f} {:>7.1f} % {:>7.1f} %\n", split.name, e.margin, e.gain,
                            e.possible, 100 * e.faster, 100 * e.slower);
  }
  return text;
}

std::string judge_json(const TrainedJudge& trained) {
  nlohmann::ordered_json root = {{"machine", trained.machine},
                                 {"kernels", trained.kernels},
                                 {"families", trained.families},
                                 {"trained_on", trained.trained_on},
                                 {"ceiling", trained.ceiling}};
  root["splits"] = nlohmann::ordered_json::array();
  for (const TrainedJudge::Split& split : trained.splits) {
    nlohmann::ordered_json guesses = nlohmann::ordered_json::array();
    for (const learn::GuessFigures& g : split.figures.guesses)
      guesses.push_back({{"name", g.name},
                         {"spearman", g.spearman},
                         {"pairs", g.pairs},
                         {"median_error", g.median_error},
                         {"regret", g.regret}});
    nlohmann::ordered_json extraction = nlohmann::ordered_json::array();
    for (const learn::Extraction& e : split.figures.extraction)
      extraction.push_back({{"margin", e.margin},
                            {"gain", e.gain},
                            {"possible", e.possible},
                            {"faster", e.faster},
                            {"slower", e.slower}});
    root["splits"].push_back({{"name", split.name},
                              {"extraction", extraction},
                              {"kernels", split.figures.samples},
                              {"families", split.figures.families},
                              {"guesses", guesses}});
  }
  root["epochs"] = nlohmann::ordered_json::array();
  for (const TrainedJudge::Epoch& e : trained.epochs) root["epochs"].push_back({{"loss", e.loss}, {"error", e.error}});
  root["calibration"] = trained.calibration;
  return root.dump(1) + "\n";
}

std::string judge_plot(const TrainedJudge& trained) {
  Panel loss{"loss by epoch", {}, {}}, error{"mean error of logarithms, held out", {}, {}};
  Line l{"training", {}}, e{"network", {}};
  for (std::size_t i = 0; i < trained.epochs.size(); ++i) {
    l.points.emplace_back(static_cast<double>(i + 1), trained.epochs[i].loss);
    e.points.emplace_back(static_cast<double>(i + 1), trained.epochs[i].error);
  }
  loss.lines = {l}, error.lines = {e};
  Panel rank{"rank correlation by split (1: families, 2: others)", {}, {}};
  if (!trained.splits.empty())
    for (std::size_t g = 0; g < trained.splits[0].figures.guesses.size(); ++g) {
      Line line{trained.splits[0].figures.guesses[g].name, {}};
      for (std::size_t s = 0; s < trained.splits.size(); ++s)
        line.points.emplace_back(static_cast<double>(s + 1), trained.splits[s].figures.guesses[g].spearman);
      rank.lines.push_back(std::move(line));
    }
  rank.marks.emplace_back("two measurements", trained.ceiling);
  Panel calibration{"measured, by what is guessed (ln ns)", {}, {}};
  Line said{"network", {}}, right{"as it should be", {}};
  for (const auto& [guessed, measured] : trained.calibration) {
    said.points.emplace_back(guessed, measured);
    right.points.emplace_back(guessed, guessed);
  }
  calibration.lines = {said, right};
  return line_plot({loss, error, rank, calibration});
}

}  // namespace trident::cli
