#include "jit/training/score_guide.h"

#include "jit/expr/rewrite/guides.h"
#include "jit/expr/rewrite/language.h"
#include "jit/training/guide_trial.h"

namespace trident::training {
namespace {

/// Plays, and says so; of less where it was stopped.
learn::GuideSamples played(const TrainGuideOptions& options, std::span<const expr::Expr> only, std::uint64_t seed,
                           std::uint32_t episodes) {
  learn::EpisodeOptions play = episodes_of(options);
  play.expressions = only, play.composed = only.empty();
  play.seed = seed, play.episodes = episodes;
  play.progress = [&](std::uint32_t done) {
    if (options.progress) options.progress("playing", done, episodes);
    return !options.stopped || !options.stopped();
  };
  return learn::play(play);
}

/// AUC by how often a rule was needed in training; a rule that was never met has the same share as any other.
double auc_of_rules(const learn::GuideSamples& train, const learn::GuideSamples& held_out) {
  const std::size_t rules = expr::rewrite::builtin_rules().rules.size();
  std::vector<double> share(rules), count(rules);
  for (const learn::GuideSample& s : train.samples) ++count[s.rule], share[s.rule] += s.needed ? 1 : 0;
  return learn::area_under_curve(
      held_out, [&](const learn::GuideSample& s) { return (share[s.rule] + 0.1) / (count[s.rule] + 1); });
}

}  // namespace

Result<GuideScore> score_guide(const std::string& file, const TrainGuideOptions& options) {
  GuideScore out;
  out.weights = file;
  TRY(const nn::AccumulatorWeights weights, expr::rewrite::guide_weights(file));
  TRY(const std::vector<expr::Expr> only, expressions_of(options.only));
  const auto stopped = [&] { return out.interrupted = out.interrupted || (options.stopped && options.stopped()); };
  const learn::GuideSamples held_out = played(options, only, held_out_seed(options), held_out_episodes(options));
  // The first round's, which need no weights of an earlier one.
  const learn::GuideSamples train =
      stopped() ? learn::GuideSamples() : played(options, only, options.seed * 64, options.episodes / options.rounds);
  if (stopped()) return out;
  out.samples = held_out.samples.size();
  for (const learn::GuideSample& s : held_out.samples) out.needed += s.needed ? 1 : 0;
  struct Shown {
    learn::Sight sight;
    double *auc, *within;
  };
  for (const Shown& shown : {Shown{{}, &out.auc, &out.within},
                             {{.delta = false}, &out.auc_no_delta, &out.within_no_delta},
                             {{.rule = false}, &out.auc_no_rule, &out.within_no_rule}}) {
    const std::vector<std::int32_t> scores = learn::integer_scores(weights, held_out, shown.sight);
    const auto score = [&](const learn::GuideSample& s) {
      return static_cast<double>(scores[static_cast<std::size_t>(&s - held_out.samples.data())]);
    };
    *shown.auc = learn::area_under_curve(held_out, score);
    *shown.within = learn::area_within_graphs(held_out, score);
    if (shown.auc == &out.auc) out.told_apart = learn::told_apart(held_out, scores);
  }
  out.auc_static = learn::area_under_curve(held_out, [](const learn::GuideSample& s) {
    return -static_cast<double>(s.scalars[static_cast<std::size_t>(nnue::Scalar::cost_change)]);
  });
  out.auc_rule = auc_of_rules(train, held_out);
  const SearchTrial trial(only, episodes_of(options).scrambles, options.depth,
                          [&](std::size_t done, std::size_t total) {
                            if (options.progress) options.progress("trying", done, total);
                          });
  TRY(out.ratio, trial.ratio(trial.others(), weights));
  TRY(out.ratio_chosen, trial.ratio(trial.chosen_by(), weights));
  out.ratio_static = trial.static_ratio(trial.others()), out.ratio_constant = trial.constant_ratio(trial.others());
  out.ratio_static_chosen = trial.static_ratio(trial.chosen_by());
  out.ratio_constant_chosen = trial.constant_ratio(trial.chosen_by());
  stopped();
  return out;
}

}  // namespace trident::training
