#include "jit/training/train_daemon.h"

#include <chrono>
#include <ctime>

#include "jit/expr/rewrite/guides.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/training/train_daemon_judge.h"
#include "jit/training/train_guide.h"
#include "runtime/json/json.h"
#include "runtime/os/clock.h"
#include "runtime/store/state_folder.h"

namespace trident::training {
namespace {

/// Rounds whose samples are trained on: every round trains anew on all of them.
constexpr std::size_t kRoundsKept = 8;
constexpr std::size_t kCasesMin = 64, kCasesMax = 200;
constexpr std::uint32_t kHeldOutEpisodes = 80;

std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm broken{};
  ::gmtime_r(&now, &broken);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &broken);
  return text;
}

/// The weights that are chosen; those that come with the program where none are, or they cannot be used.
Result<nn::AccumulatorWeights> weights_of(const store::Versions& versions, const std::string& name) {
  return expr::rewrite::guide_weights(name == store::Versions::kNone ? std::string() : versions.path_of(name));
}

/// Figures that are stored with weights.
Json figures_of(const TrainedRound& round) {
  return {{"date", now_text()},    {"held_out", round.held_out}, {"ratio_before", round.ratio_before},
          {"ratio", round.ratio},  {"samples", round.samples},   {"auc", round.auc},
          {"before", round.before}};
}

}  // namespace

bool improves(double before, double after) {
  return after < before * (1 - kPromotionGain);
}

Result<void> promote_if_better(store::Versions& versions, std::span<const std::byte> block,
                               std::span<const expr::Expr> held_out, TrainedRound& round) {
  TRY(round.before, versions.chosen());
  auto before = weights_of(versions, round.before);
  // When these cannot be used, the daemon uses the built-in weights, which have no judge behind them.
  if (!before.ok()) before = expr::rewrite::guide_weights("");
  TRY(const nn::AccumulatorWeights candidate,
      nn::AccumulatorWeights::copy(block, nnue::feature_space(expr::rewrite::node_kinds().hash, nnue::kDefaultDepth)));
  round.held_out = held_out.size();
  round.ratio = learn::found_ratio(held_out, candidate, learn::kApplicationsJudged);
  if (!before.ok()) return before.error();
  round.ratio_before = learn::found_ratio(held_out, *before, learn::kApplicationsJudged);
  if (!improves(round.ratio_before, round.ratio)) return {};
  // The judge that is in use, if it is not the program's, stays.
  TRY(round.candidate, versions.add(guide_and_judge(block, before->behind()), figures_of(round).dump()));
  const Result<void> chosen = versions.choose(round.candidate, round.before);
  round.promoted = chosen.ok();
  return chosen;
}

// All that is held out, and where that is little, as many composed ones as make it enough to judge by.
std::vector<expr::Expr> DaemonTrainer::cases(const learn::Submitted& submitted) const {
  std::vector<expr::Expr> all = submitted.held_out;
  if (all.size() > kCasesMax) all.resize(kCasesMax);
  if (all.size() >= kCasesMin) return all;
  for (expr::Expr& one : learn::composed_cases(kCasesMin - all.size())) all.push_back(std::move(one));
  return all;
}

Result<learn::GuideSamples> DaemonTrainer::play(const learn::Submitted& submitted, std::uint64_t seed,
                                                std::uint32_t episodes, const nn::AccumulatorWeights& weights) const {
  const auto guide = expr::rewrite::AnyGuide::make(expr::rewrite::GuideKind::network, weights);
  learn::EpisodeOptions play;
  play.seed = seed, play.episodes = episodes, play.guide = guide.get();
  play.expressions = submitted.train;
  bool stopped = false;
  play.progress = [&](std::uint32_t done) {
    if (options_.progress) options_.progress("playing", done, episodes);
    stopped = stopped || (options_.stopped && options_.stopped());
    return !stopped;
  };
  learn::GuideSamples samples = learn::play(play);
  if (stopped) return make_error(ErrorCode::kCancelled, "interrupted");
  return samples;
}

learn::GuideSamples DaemonTrainer::pool() const {
  learn::GuideSamples all;
  for (const learn::GuideSamples& one : played_) all.append(one);
  return all;
}

Result<TrainedRound> DaemonTrainer::round() {
  const std::uint64_t began = os::monotonic_ns();
  TrainedRound round;
  const std::string journal[] = {store::journal_path(options_.state) + ".before", store::journal_path(options_.state)};
  TRY(const learn::Submitted submitted, learn::read_submitted(journal));
  round.submitted = submitted.train.size() + submitted.held_out.size();
  round.passed_over = submitted.passed_over;
  round.enough = round.submitted >= options_.least && !submitted.train.empty();
  if (!round.enough) return round;
  round.round = ++rounds_;
  TRY(store::Versions versions, store::weight_versions(options_.state));
  TRY(const std::string chosen, versions.chosen());
  auto weights = weights_of(versions, chosen);
  if (!weights.ok()) {  // mend it by promoting others; until then play by the program's own
    TRY(weights, expr::rewrite::guide_weights(std::string()));
  }
  if (held_out_.samples.empty()) {
    learn::EpisodeOptions composed;
    composed.seed = options_.seed + 1'000'000, composed.episodes = kHeldOutEpisodes;
    held_out_ = learn::play(composed);
  }
  TRY(learn::GuideSamples samples, play(submitted, options_.seed * 64 + rounds_, options_.episodes, *weights));
  played_.push_back(std::move(samples));
  if (played_.size() > kRoundsKept) played_.erase(played_.begin());
  const learn::GuideSamples all = pool();
  round.samples = all.samples.size();

  const std::vector<std::uint64_t> hits = learn::hits_of(all);
  learn::NetworkShape shape;
  shape.rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size()) + 1;
  shape.own_rows = features_with_rows(hits);
  learn::Network network(shape, expr::rewrite::node_kinds().hash, options_.seed + rounds_);
  learn::GuideTraining how;
  TRY(how.trainer, guide_trainer(options_.state + "/training", options_.seed + rounds_, options_.epochs,
                                 options_.threads, all.samples.size()));
  how.progress = [&](const train::Report& r) {
    if (r.epoch_done) round.auc = 1 - r.best_metric;
    if (options_.progress) options_.progress("training", r.epoch * r.positions + r.position, r.epochs * r.positions);
    return !options_.stopped || !options_.stopped();
  };
  TRY(const train::TrainingResult result, learn::train_guide(network, all, held_out_, how));
  round.interrupted = result.interrupted;
  if (round.interrupted) return round;
  TRY(const std::vector<std::byte> block, packed_guide(network, hits));
  const Result<void> judged = promote_if_better(versions, block, cases(submitted), round);
  if (!judged.ok() && judged.error().code != ErrorCode::kCancelled) return judged.error();
  round.seconds = static_cast<double>(os::monotonic_ns() - began) / 1e9;
  return round;
}

std::string round_json(const TrainedRound& round) {
  Json root = figures_of(round);
  root["round"] = round.round;
  root["submitted"] = round.submitted;
  root["candidate"] = round.candidate;
  root["promoted"] = round.promoted;
  root["seconds"] = round.seconds;
  return root.dump();
}

}  // namespace trident::training
