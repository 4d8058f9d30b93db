// The trial of a guide, trained here or read from a file: episodes that training never plays, and cases that
// searches are tried on.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jit/training/train_guide.h"

namespace trident::training {

/// How episodes are played for a training: what they are composed of, and how deep is seen.
learn::EpisodeOptions episodes_of(const TrainGuideOptions& options);
/// Domains of rules but those of `without`.
std::vector<std::string> other_themes(const std::vector<std::string>& without);
/// Seed of held-out episodes, which is never a seed of training.
std::uint64_t held_out_seed(const TrainGuideOptions& options);
std::uint32_t held_out_episodes(const TrainGuideOptions& options);
/// All expressions of files. InvalidArgument for what is no regular file; errors of read_expressions().
Result<std::vector<expr::Expr>> expressions_of(const std::vector<std::string>& files);

/// Tries weights in searches over cases that no episode plays.
class SearchTrial {
 public:
  using Progress = std::function<void(std::size_t done, std::size_t total)>;
  /// Cases composed by `scrambles`, or worsened forms of `only`, if there are any.
  SearchTrial(const std::vector<expr::Expr>& only, const learn::ScrambleOptions& scrambles, unsigned depth,
              Progress progress);
  /// The cases that choose the epoch, and those that its report is about.
  [[nodiscard]] std::span<const expr::Expr> chosen_by() const { return std::span(cases_).first(kCasesChosenBy); }
  [[nodiscard]] std::span<const expr::Expr> others() const { return std::span(cases_).subspan(kCasesChosenBy); }

  /// learn::found_ratio(), by a packed network.
  Result<double> ratio(std::span<const expr::Expr> cases, std::span<const std::byte> block) const;
  Result<double> ratio(std::span<const expr::Expr> cases, const nn::AccumulatorWeights& weights) const;
  /// ... by the static cost that a rule saves; by no preference.
  [[nodiscard]] double static_ratio(std::span<const expr::Expr> cases) const;
  [[nodiscard]] double constant_ratio(std::span<const expr::Expr> cases) const;

 private:
  [[nodiscard]] double ratio_by(std::span<const expr::Expr> cases, egraph::Guide& guide) const;
  std::vector<expr::Expr> cases_;
  unsigned depth_;
  Progress progress_;
};

}  // namespace trident::training
