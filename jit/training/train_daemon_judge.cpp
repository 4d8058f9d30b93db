#include "jit/training/train_daemon_judge.h"

#include <filesystem>

#include "jit/expr/rewrite/guides.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/nnue/shipped_weights.h"
#include "jit/training/train_judge.h"
#include "runtime/json/json.h"
#include "runtime/os/cpu.h"
#include "runtime/os/mapped_file.h"
#include "runtime/os/regular_file.h"
#include "runtime/stats/robust.h"
#include "runtime/store/state_folder.h"

namespace trident::training {
namespace {

constexpr std::size_t kAlignment = 64;

/// Weights of the chosen version, or the program's own.
struct InUse {
  os::Mapping mapping;
  std::span<const std::byte> guide, judge;  ///< guide: as a version begins, a judge behind it or not
};

Result<InUse> in_use(const store::Versions& versions, const std::string& name) {
  InUse found;
  found.guide = nnue::shipped_weights(), found.judge = nnue::shipped_judge();
  if (name == store::Versions::kNone) return found;
  TRY(found.mapping, versions.map(name));
  const auto weights = expr::rewrite::guide_weights(found.mapping.bytes());
  if (!weights.ok()) return found;  // what no search can use
  found.guide = found.mapping.bytes();
  if (const auto behind = weights->behind(); !behind.empty()) {
    found.judge = behind;
    found.guide = found.guide.first(static_cast<std::size_t>(behind.data() - found.guide.data()));
  }
  return found;
}

struct KernelsHere {
  std::size_t count = 0;
  std::uint64_t families = 0;  ///< other ones have another number
};
/// Kernels of the machine that is trained on, if that is this one.
KernelsHere kernels_of_this_machine(const learn::TimedKernels& timed) {
  KernelsHere here;
  if (timed.machines.empty()) return here;
  const std::uint32_t machine = machine_trained_on(timed);
  if (timed.machines[machine].cpu != os::cpu_model()) return here;
  for (const learn::TimedFamily& family : timed.families)
    if (family.machine == machine) {
      here.count += family.end - family.first;
      here.families = here.families * 0x9E37'79B9'7F4A'7C15u + std::hash<std::string>()(family.name);
    }
  return here;
}

}  // namespace

std::string kernels_path(const std::string& state) {
  return state + "/kernels";
}

double judge_rank(const expr::rewrite::TimeModel& judge, const learn::JudgeSamples& samples,
                  std::span<const std::uint32_t> of) {
  std::vector<double> guessed, measured;
  for (const std::uint32_t i : of) {
    const learn::JudgeSample& s = samples.samples[i];
    const std::span features(samples.features.data() + s.first, s.end - s.first);
    guessed.push_back(judge.log_ns(features, s.nodes, s.scalars));
    measured.push_back(s.log_ns);
  }
  return stats::rank_correlation(guessed, measured);
}

std::vector<std::byte> guide_and_judge(std::span<const std::byte> guide, std::span<const std::byte> judge) {
  std::vector<std::byte> both(guide.begin(), guide.end());
  if (judge.empty()) return both;
  both.resize((both.size() + kAlignment - 1) / kAlignment * kAlignment);
  both.insert(both.end(), judge.begin(), judge.end());
  return both;
}

Result<void> promote_judge_if_better(store::Versions& versions, std::span<const std::byte> judge,
                                     const learn::JudgeSamples& samples, std::span<const std::uint32_t> validation,
                                     TrainedJudgeRound& round) {
  TRY(round.before, versions.chosen());
  TRY(const InUse before, in_use(versions, round.before));
  const auto space = nnue::feature_space(expr::rewrite::node_kinds().hash, nnue::kDefaultDepth);
  TRY(const nn::AccumulatorWeights candidate, nn::AccumulatorWeights::copy(judge, space));
  const auto old = nn::AccumulatorWeights::copy(before.judge, space);
  round.validation = validation.size();
  round.rank = judge_rank(expr::rewrite::TimeModel(candidate), samples, validation);
  round.rank_before = old.ok() ? judge_rank(expr::rewrite::TimeModel(*old), samples, validation) : -1;
  if (!(round.rank > round.rank_before + kJudgePromotionGain)) return {};
  TRY(round.candidate, versions.add(guide_and_judge(before.guide, judge), judge_round_json(round)));
  const Result<void> chosen = versions.choose(round.candidate, round.before);
  round.promoted = chosen.ok();
  return chosen;
}

Result<TrainedJudgeRound> DaemonJudgeTrainer::round() {
  TrainedJudgeRound round;
  const std::string path = kernels_path(options_.state);
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return round;
  TRY([[maybe_unused]] const os::Fd regular, os::open_regular_file(path));
  TRY(const learn::TimedKernels timed, learn::load_timed_kernels(path));
  const KernelsHere here = kernels_of_this_machine(timed);
  if (here.count < options_.least || here.families == trained_on_) return round;
  round.enough = true;
  TrainJudgeOptions how;
  how.kernels = path;
  how.seed = options_.seed, how.epochs = options_.epochs, how.threads = options_.threads;
  how.folder = options_.state + "/training-judge";
  how.progress = options_.progress, how.stopped = options_.stopped;
  TRY(const TrainedJudge trained, train_judge(how));
  round.kernels = trained.kernels;
  round.interrupted = trained.interrupted;
  if (round.interrupted) return round;
  trained_on_ = here.families;
  TRY(const learn::JudgeSamples samples, learn::samples_of(timed, machine_trained_on(timed)));
  TRY(store::Versions versions, store::weight_versions(options_.state));
  const Result<void> judged =
      promote_judge_if_better(versions, trained.block, samples, judge_split(samples, {}).validation, round);
  if (!judged.ok() && judged.error().code != ErrorCode::kCancelled) return judged.error();
  return round;
}

std::string judge_round_json(const TrainedJudgeRound& round) {
  const Json root = {{"judge", true},
                     {"kernels", round.kernels},
                     {"validation", round.validation},
                     {"rank_before", round.rank_before},
                     {"rank", round.rank},
                     {"before", round.before},
                     {"candidate", round.candidate},
                     {"promoted", round.promoted}};
  return root.dump();
}

}  // namespace trident::training
