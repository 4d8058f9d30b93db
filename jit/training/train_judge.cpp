#include "jit/training/train_judge.h"

#include <fmt/format.h>
#include <set>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "jit/expr/rewrite/kinds.h"
#include "jit/learn/digest.h"
#include "jit/learn/shipped_kernels.h"
#include "jit/learn/timed_kernels.h"
#include "jit/training/calibration.h"

namespace trident::training {
namespace {

constexpr std::size_t kGroupsPerShard = 4;
// Rows that are stored: features met at least so often in training; others count as never met.
constexpr std::uint64_t kJudgeHitsStored = 8, kJudgeHitsOwnRow = 300;
constexpr std::size_t kJudgeRowsStored = 12'000;
constexpr const char* kByHand = "corpus";

Calibration calibration_of(const learn::Network& network, const learn::JudgeSamples& samples,
                           const std::vector<std::uint32_t>& of) {
  Calibration said;
  for (const std::uint32_t i : of) {
    const learn::JudgeSample& s = samples.samples[i];
    said.emplace_back(learn::guess_of(network, samples, s), s.log_ns);
  }
  return means_of_parts(std::move(said), 20);
}

/// Digest of the samples that are trained on and of those that choose the epoch.
std::string digest_of(const learn::JudgeSamples& samples, std::span<const std::uint32_t> train,
                      std::span<const std::uint32_t> held_out) {
  learn::DataDigest digest;
  for (const std::span<const std::uint32_t> part : {train, held_out}) {
    digest.add(part.size());
    for (const std::uint32_t i : part) {
      const learn::JudgeSample& s = samples.samples[i];
      digest.add(std::span(samples.features).subspan(s.first, s.end - s.first));
      digest.add(s.nodes), digest.add(s.family), digest.add(s.log_ns), digest.add(s.static_log);
      digest.add(std::span<const std::int16_t>(s.scalars));
    }
  }
  return digest.text();
}

train::RunTerms terms_of(const TrainJudgeOptions& options, const JudgeKernels& kernels,
                         std::span<const std::uint32_t> train, std::span<const std::uint32_t> held_out) {
  return {{"width", std::to_string(options.width)},
          {"depth", std::to_string(options.depth)},
          {"without", options.without.empty() ? "none" : fmt::format("{}", fmt::join(options.without, ","))},
          {"kernels", fmt::format("{} ({})", train.size(), digest_of(kernels.samples, train, held_out))}};
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

Result<JudgeKernels> judge_kernels(const TrainJudgeOptions& options) {
  JudgeKernels out;
  out.name = options.kernels.empty() ? learn::kShippedKernels : options.kernels;
  TRY(const learn::TimedKernels timed,
      options.kernels.empty() ? learn::shipped_kernels() : learn::load_timed_kernels(options.kernels));
  const std::uint32_t machine = machine_trained_on(timed);
  TRY(out.samples, learn::samples_of(timed, machine, options.depth, [&](std::size_t done) {
        if (options.progress) options.progress("reading", done, timed.kernels.size());
      }));
  out.ceiling = learn::ceiling_of(timed, machine);
  if (!timed.machines.empty()) out.machine = timed.machines[machine].cpu + ", " + timed.machines[machine].isa;
  return out;
}

Result<TaughtJudge> teach_judge(const TrainJudgeOptions& options, const JudgeKernels& kernels,
                                std::span<const std::uint32_t> train, std::span<const std::uint32_t> validation,
                                const std::string& folder, const std::string& name) {
  if (train.size() < 100 || validation.size() < 10)
    return make_error(
        ErrorCode::kInvalidArgument,
        "%s: %zu training kernels and %zu validation kernels are too few; time more (trident calibrate --kernels N)",
        kernels.name.c_str(), train.size(), validation.size());
  TaughtJudge taught;
  taught.hits = learn::hits_of(kernels.samples, train);
  learn::NetworkShape shape;
  shape.width = options.width, shape.depth = options.depth;
  shape.own_rows = learn::features_met(taught.hits, kJudgeHitsOwnRow);
  taught.network = std::make_unique<learn::Network>(shape, expr::rewrite::node_kinds().hash, options.seed);
  learn::JudgeTraining how;
  how.trainer.folder = folder;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return make_error(ErrorCode::kOsError, "%s: %s", folder.c_str(), failed.message().c_str());
  how.trainer.seed = options.seed;
  how.trainer.epochs = options.epochs, how.trainer.patience = options.patience;
  how.trainer.samples_per_shard = kGroupsPerShard;
  how.trainer.threads = options.threads;
  how.trainer.resume = options.resume;
  how.trainer.terms = terms_of(options, kernels, train, validation);
  how.trainer.schedule = {
      .peak = 1e-3,
      .last = 2e-5,
      .warmup_steps = 100,
      .steps = options.epochs * learn::groups_of(kernels.samples, train).size() / (learn::kShards * kGroupsPerShard)};
  how.progress = [&](const train::Report& r) {
    if (r.epoch_done && options.epoch_line)
      options.epoch_line(
          fmt::format("{}epoch {} of {}: loss {:.4f}, 1 - mean of rank correlation and pairs {:.4f}{}, {:.0f} s left",
                      name, r.epoch + 1, r.epochs, r.loss, r.metric, r.best ? " (best)" : "", r.seconds_left));
    if (options.progress) options.progress("training", r.epoch * r.positions + r.position, r.epochs * r.positions);
    return !options.stopped || !options.stopped();
  };
  TRY(taught.result, learn::train_judge(*taught.network, kernels.samples, train, validation, how));
  return taught;
}

Result<TrainedJudge> train_judge(const TrainJudgeOptions& options) {
  TrainedJudge out;
  TRY(const JudgeKernels kernels, judge_kernels(options));
  const learn::JudgeSamples& samples = kernels.samples;
  out.ceiling = kernels.ceiling, out.machine = kernels.machine;
  out.kernels = samples.samples.size(), out.families = samples.families.size();
  for (const std::string& name : options.without) {
    std::set<std::string> known;
    for (const auto& family : samples.families) known.insert(family.generator);
    if (!known.contains(name))
      return make_error(ErrorCode::kInvalidArgument, "--without %s: no kernels come from that generator; there are %s",
                        name.c_str(), fmt::format("{}", fmt::join(known, ", ")).c_str());
  }
  const learn::JudgeSplit split = judge_split(samples, options.without);
  out.trained_on = split.train.size();
  TRY(const TaughtJudge taught, teach_judge(options, kernels, split.train, split.validation, options.folder, ""));
  for (const train::EpochFigures& e : taught.result.history) out.epochs.push_back({e.loss, e.metric});
  out.interrupted = taught.result.interrupted;
  if (out.interrupted) return out;
  for (const auto& [name, part] : {std::pair{"families that validate", &split.validation},
                                   {"families held out", &split.held_out},
                                   {"generators left out", &split.left_out},
                                   {"written by hand", &split.by_hand}})
    if (!part->empty()) out.splits.push_back({name, learn::figures_of(*taught.network, samples, split.train, *part)});
  out.calibration = calibration_of(*taught.network, samples, split.held_out);
  std::vector<std::uint64_t> stored = taught.hits;
  std::sort(stored.begin(), stored.end(), std::greater<>());
  const std::uint64_t least = std::max(kJudgeHitsStored, stored[std::min(kJudgeRowsStored, stored.size() - 1)]);
  stored = taught.hits;
  for (std::uint64_t& h : stored) h = h < least ? 0 : h;
  TRY(out.block, nn::AccumulatorWeights::pack(taught.network->quantise(stored).weights));
  TRY_VOID(taught.network->save(options.folder + "/judge.safetensors"));
  return out;
}

}  // namespace trident::training
