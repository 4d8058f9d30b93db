#include "jit/training/guide_trial.h"

#include <algorithm>
#include <set>

#include "jit/corpus/corpus_reader.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/learn/submitted.h"
#include "jit/nnue/network_guide.h"
#include "runtime/os/regular_file.h"

namespace trident::training {

std::vector<std::string> other_themes(const std::vector<std::string>& without) {
  std::set<std::string> all;
  for (const auto& tags : expr::rewrite::builtin_rules().tags) all.insert(tags.theme);
  for (const std::string& theme : without) all.erase(theme);
  return {all.begin(), all.end()};
}

learn::EpisodeOptions episodes_of(const TrainGuideOptions& options) {
  learn::EpisodeOptions play;
  play.scrambles.dressed = true;
  play.scrambles.themes = options.without.empty() ? std::vector<std::string>{} : other_themes(options.without);
  play.depth = options.depth;
  play.gain = options.gain;
  return play;
}

std::uint64_t held_out_seed(const TrainGuideOptions& options) {
  return options.seed + 1'000'000;
}

std::uint32_t held_out_episodes(const TrainGuideOptions& options) {
  return std::max(options.episodes / 8, 20u);
}

Result<std::vector<expr::Expr>> expressions_of(const std::vector<std::string>& files) {
  std::vector<expr::Expr> all;
  for (const std::string& file : files) {
    TRY([[maybe_unused]] const os::Fd opened, os::open_regular_file(file));
    TRY(std::vector<expr::Expr> some, corpus::read_expressions(file));
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return all;
}

SearchTrial::SearchTrial(const std::vector<expr::Expr>& only, const learn::ScrambleOptions& scrambles, unsigned depth,
                         Progress progress)
    : cases_(only.empty() ? learn::composed_cases(2 * kCasesChosenBy, scrambles)
                          : learn::worsened_cases(2 * kCasesChosenBy, only, scrambles)),
      depth_(depth),
      progress_(std::move(progress)) {}

Result<double> SearchTrial::ratio(std::span<const expr::Expr> cases, std::span<const std::byte> block) const {
  TRY(const nn::AccumulatorWeights weights,
      nn::AccumulatorWeights::copy(block, nnue::feature_space(expr::rewrite::node_kinds().hash, depth_)));
  return ratio(cases, weights);
}

Result<double> SearchTrial::ratio(std::span<const expr::Expr> cases, const nn::AccumulatorWeights& weights) const {
  nnue::NetworkGuide guide(weights, expr::rewrite::node_kinds(), depth_);
  return ratio_by(cases, guide);
}

double SearchTrial::static_ratio(std::span<const expr::Expr> cases) const {
  egraph::StaticGuide guide(egraph::StaticGuide::Order::best_first);
  return ratio_by(cases, guide);
}

double SearchTrial::constant_ratio(std::span<const expr::Expr> cases) const {
  egraph::ConstantGuide guide;
  return ratio_by(cases, guide);
}

double SearchTrial::ratio_by(std::span<const expr::Expr> cases, egraph::Guide& guide) const {
  return learn::found_ratio(cases, guide, learn::kApplicationsJudged,
                            [&](std::size_t done) { progress_(done, cases.size()); });
}

}  // namespace trident::training
