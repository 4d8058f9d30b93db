#include "jit/learn/pretraining.h"

#include <algorithm>
#include <filesystem>

#include "jit/expr/rewrite/kinds.h"
#include "runtime/train/curriculum.h"

namespace trident::learn {
namespace {

constexpr std::uint32_t kTestedMin = 20;
constexpr std::uint64_t kPatience = 2;
// First seed of test walks: training never uses it.
constexpr std::uint64_t kTestedSeed = 1'000'000;

class Pretraining {
 public:
  Pretraining(Network& network, const PretrainingOptions& options) : network_(network), options_(options) {}

  Result<Pretrained> run() {
    const auto lengths = static_cast<std::uint32_t>(options_.lengths.size());
    const std::uint32_t walks = std::max(options_.walks / lengths, 1u), tested = std::max(walks / 4, kTestedMin);
    std::vector<train::Level> levels;
    for (const auto& length : options_.lengths) levels.push_back({length.steps, length.enough});
    train::Curriculum curriculum(std::move(levels), tested);
    Pretrained out;
    for (bool next = true; next;) {
      const std::size_t level = curriculum.level();
      Pretrained::OfLength& of = out.lengths.emplace_back();
      of.steps = curriculum.difficulty(), of.walks = walks, of.walks_tested = tested;
      TRY(const std::vector<bool> solved, learn(of, level));
      if (solved.empty()) {
        out.interrupted = true;
        return out;
      }
      next = false;
      for (const bool one : solved) next = curriculum.record(level, one) || next;
      of.enough = next || curriculum.success() >= options_.lengths[level].enough;
      if (of.enough) out.reached = of.steps;
    }
    return out;
  }

 private:
  GuideSamples walk(std::uint32_t steps, std::uint64_t seed, std::uint32_t count) {
    WalkOptions how;
    how.seed = seed, how.walks = count, how.steps = steps;
    how.scrambles = options_.scrambles, how.depth = network_.shape().depth;
    how.leaves_out = options_.leaves_out;
    how.progress = [&](std::uint32_t done) {
      if (options_.progress) options_.progress("walking", done, count);
      return !options_.stopped || !options_.stopped();
    };
    return walked(how);
  }

  [[nodiscard]] Score by(const Network& network, const GuideSamples& samples) {
    return [&](const GuideSample& s) {
      return network.score(nn::HeadKind::guide, example_of(samples, s, options_.training.sight, list_));
    };
  }
  [[nodiscard]] Score by_network(const GuideSamples& samples) { return by(network_, samples); }

  static double share(const std::vector<bool>& solved) {
    return static_cast<double>(std::count(solved.begin(), solved.end(), true)) /
           static_cast<double>(std::max<std::size_t>(solved.size(), 1));
  }

  /// Trains on walks of one length. Returns per end of an unseen walk whether the way back comes first; empty if it was
  /// interrupted.
  Result<std::vector<bool>> learn(Pretrained::OfLength& of, std::size_t level) {
    const std::uint64_t seed = options_.seed * 64 + level;
    const GuideSamples train = walk(of.steps, seed, static_cast<std::uint32_t>(of.walks));
    const GuideSamples tested = walk(of.steps, seed + kTestedSeed, static_cast<std::uint32_t>(of.walks_tested));
    if (options_.stopped && options_.stopped()) return std::vector<bool>{};
    of.samples = train.samples.size();
    of.ends_before = share(ends_solved(tested, by_network(tested)));
    GuideTraining how = options_.training;
    how.trainer.folder += "/steps" + std::to_string(of.steps);
    std::error_code failed;
    std::filesystem::create_directories(how.trainer.folder, failed);
    if (failed) return make_error(ErrorCode::kOsError, "%s: %s", how.trainer.folder.c_str(), failed.message().c_str());
    how.trainer.epochs = options_.epochs_max;
    how.trainer.schedule = options_.schedule(options_.epochs_max, train.samples.size());
    how.trainer.enough = 1 - options_.lengths[level].enough;
    how.trainer.patience = kPatience;
    // Trains a copy, so that no length begins with the optimiser's state of another.
    const auto learner = std::make_unique<Network>(network_.shape(), expr::rewrite::node_kinds().hash, options_.seed);
    TRY_VOID(learner->take(network_));
    how.judge = [&](double) { return 1 - share(ends_solved(tested, by(*learner, tested))); };
    how.progress = [&](const train::Report& r) {
      if (options_.progress)
        options_.progress("pretraining", r.epoch * r.positions + r.position, r.epochs * r.positions);
      return !options_.stopped || !options_.stopped();
    };
    // The held-out walks are judged above.
    TRY(const train::TrainingResult result, train_guide(*learner, train, {}, how));
    if (result.interrupted) return std::vector<bool>{};
    TRY_VOID(network_.take(*learner));
    of.epochs = result.best_epoch + 1;
    of.network = rank_ways_back(tested, by_network(tested));
    of.by_cost = rank_ways_back(tested, [](const GuideSample& s) {
      return -static_cast<double>(s.scalars[static_cast<std::size_t>(nnue::Scalar::cost_change)]);
    });
    std::vector<bool> solved = ends_solved(tested, by_network(tested));
    of.ends = share(solved);
    return solved;
  }

  Network& network_;
  const PretrainingOptions& options_;
  std::vector<std::uint32_t> list_;
};

}  // namespace

Result<Pretrained> pretrain(Network& network, const PretrainingOptions& options) {
  return Pretraining(network, options).run();
}

}  // namespace trident::learn
