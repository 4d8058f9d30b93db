#include "jit/training/train_guide.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/learn/digest.h"
#include "jit/learn/submitted.h"
#include "jit/nnue/network_guide.h"
#include "jit/nnue/rule_keys.h"
#include "jit/training/calibration.h"
#include "jit/training/guide_trial.h"
#include "jit/training/pretrain.h"
#include "runtime/os/atomic_file.h"

namespace trident::training {
namespace {

// Rows that are stored: features met at least so often in training; others count as never met.
constexpr std::uint64_t kHitsStored = 6, kHitsOwnRow = 200;
constexpr std::size_t kRowsStored = 12'000;
constexpr double kRatioWorst = 10;
constexpr std::uint32_t kUntrainedEpisodes = 60;
// Domains that are left out: samples of their own rules that are wanted, and the turns in which episodes are
// played for them.
constexpr std::size_t kLeftOutSamples = 1'000;
constexpr std::uint64_t kLeftOutTurns = 12;
constexpr std::size_t kFileBytesMax = std::size_t{1} << 32;
constexpr std::uint64_t kReinforcedSeed = std::uint64_t{1} << 50;

bool is_of(const learn::GuideSample& sample, const std::vector<std::string>& themes) {
  const std::string& theme = expr::rewrite::builtin_rules().tags[sample.rule].theme;
  return std::find(themes.begin(), themes.end(), theme) != themes.end();
}

Result<void> check_themes(const std::vector<std::string>& themes) {
  const std::vector<std::string> all = other_themes({});
  for (const std::string& theme : themes) {
    if (std::find(all.begin(), all.end(), theme) != all.end()) continue;
    return make_error(ErrorCode::kInvalidArgument, "--without %s: no such domain; there are %s", theme.c_str(),
                      fmt::format("{}", fmt::join(all, ", ")).c_str());
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> packed_guide(const learn::Network& network, std::vector<std::uint64_t> hits) {
  std::vector<std::uint64_t> most = hits;
  std::sort(most.begin(), most.end(), std::greater<>());
  const std::uint64_t least = std::max(kHitsStored, most[std::min(kRowsStored, most.size() - 1)]);
  for (std::uint64_t& h : hits) h = h < least ? 0 : h;
  learn::Quantised quantised = network.quantise(hits);
  quantised.weights.judge_unit = 0;  // that head was not trained
  quantised.weights.heads[static_cast<std::size_t>(nn::HeadKind::guide)].keys =
      nnue::keys_of(expr::rewrite::builtin_rules().rules, expr::rewrite::op_rows());
  return nn::AccumulatorWeights::pack(quantised.weights);
}

Result<std::vector<std::byte>> untrained_guide(std::uint64_t seed) {
  // Rows are stored for the features that these episodes meet.
  learn::EpisodeOptions play;
  play.seed = seed, play.episodes = kUntrainedEpisodes;
  const std::vector<std::uint64_t> hits = learn::hits_of(learn::play(play));
  learn::NetworkShape shape;
  shape.rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size()) + 1;
  const learn::Network network(shape, expr::rewrite::node_kinds().hash, seed);
  return packed_guide(network, hits);
}

train::Schedule guide_schedule(std::uint64_t epochs, std::size_t samples) {
  return {.peak = 2e-3, .last = 1e-4, .warmup_steps = 50, .steps = epochs * samples / (2 * kSamplesPerShard)};
}

train::RunTerms guide_terms(const TrainGuideOptions& options) {
  const auto list = [](const std::vector<std::string>& all) {
    return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ","));
  };
  // Hashes the files' contents, not their names. Files that cannot be read are reported later, by their reader.
  const auto contents = [](const std::vector<std::string>& files) -> std::string {
    learn::DataDigest digest;
    for (const std::string& file : files)
      if (const auto bytes = os::read_file(file, kFileBytesMax); bytes.ok())
        digest.add(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
    return files.empty() ? "none" : digest.text();
  };
#define X(Name, name, meaning) name,
  constexpr const char* kGainNames[] = {TRIDENT_GAINS(X)};
#undef X
#define X(name, meaning) #name,
  constexpr const char* kTeacherNames[] = {TRIDENT_TEACHERS(X)};
#undef X
  return {
      {"episodes", std::to_string(options.episodes)},
      {"rounds", std::to_string(options.rounds)},
      {"width", std::to_string(options.width)},
      {"depth", std::to_string(options.depth)},
      {"gain", kGainNames[static_cast<std::size_t>(options.gain)]},
      {"teacher", kTeacherNames[static_cast<std::size_t>(options.teacher)]},
      {"pretrain", std::to_string(options.pretrain)},
      {"without", list(options.without)},
      {"only", contents(options.only)},
      {"embedding", contents(options.embedding.empty() ? std::vector<std::string>{} : std::vector{options.embedding})},
      {"frozen", options.frozen ? "yes" : "no"},
      {"delta", options.sight.delta ? "yes" : "no"},
      {"rule", options.sight.rule ? "yes" : "no"}};
}

Result<train::TrainerOptions> guide_trainer(const std::string& folder, std::uint64_t seed, std::uint64_t epochs,
                                            unsigned threads, std::size_t samples) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return make_error(ErrorCode::kOsError, "%s: %s", folder.c_str(), failed.message().c_str());
  train::TrainerOptions options;
  options.folder = folder;
  options.seed = seed, options.epochs = epochs, options.threads = threads;
  options.samples_per_shard = kSamplesPerShard;
  options.schedule = guide_schedule(epochs, samples);
  return options;
}

std::vector<std::uint32_t> features_with_rows(std::span<const std::uint64_t> hits) {
  return learn::features_met(hits, kHitsOwnRow);
}

namespace {

Calibration calibration_of(const learn::Network& network, const learn::GuideSamples& samples, learn::Sight sight) {
  Calibration said;
  std::vector<std::uint32_t> list;
  for (const learn::GuideSample& s : samples.samples) {
    const double logit = network.score(nn::HeadKind::guide, learn::example_of(samples, s, sight, list));
    said.emplace_back(1 / (1 + std::exp(-logit)), s.needed ? 1 : 0);
  }
  return means_of_parts(std::move(said), 10);
}

void note_gains(const learn::GuideSamples& train, TrainedGuide& out) {
  double sum = 0, graphs = 0;
  for (std::size_t i = 0; i < train.samples.size(); ++i) {
    if (i > 0 && train.samples[i].graph == train.samples[i - 1].graph) continue;
    sum += train.samples[i].gain, ++graphs;
    out.gain_most = std::max(out.gain_most, double{train.samples[i].gain});
  }
  out.gain = graphs == 0 ? 0 : sum / graphs;
}

/// A network that was trained.
struct Taught {
  std::unique_ptr<learn::Network> network;
  std::vector<std::byte> block;
  std::size_t features = 0;
  double ratio = kRatioWorst;  ///< in the cases that it was chosen by
};

class GuideSchool {
 public:
  /// `only`, `tests`: the expressions of the files that the options name.
  GuideSchool(const TrainGuideOptions& options, std::vector<expr::Expr> only, std::vector<expr::Expr> tests);
  Result<TrainedGuide> run();

 private:
  learn::GuideSamples episodes(std::uint64_t seed, std::uint32_t count, egraph::Guide* guide);
  Result<void> round(std::uint32_t number);
  /// Trains a network anew on `train_`. The figures of its epochs come to be the last of out_.epochs.
  Result<Taught> taught(std::uint32_t round, const std::string& folder, std::span<const float> labels);
  Result<std::vector<float>> labels(std::uint32_t round, const learn::Network& network, egraph::Guide* guide);
  Result<void> judge();
  Result<void> test();
  bool stopped() { return out_.interrupted = out_.interrupted || (options_.stopped && options_.stopped()); }
  [[nodiscard]] std::uint64_t held_seed() const { return held_out_seed(options_); }
  [[nodiscard]] std::uint32_t held_episodes() const { return held_out_episodes(options_); }
  void show(const char* what, std::size_t done, std::size_t total) {
    if (options_.progress) options_.progress(what, done, total);
  }

  const TrainGuideOptions& options_;
  const nnue::KindTable& kinds_ = expr::rewrite::node_kinds();
  std::vector<expr::Expr> only_, tests_;
  learn::EpisodeOptions play_;
  SearchTrial trial_;
  learn::GuideSamples train_, held_out_;
  std::unique_ptr<learn::Network> pretrained_;  ///< what training begins with; null: random
  /// The last and the best of all rounds: rounds go on from the one, and the other is what comes of it.
  Taught last_, best_;
  TrainedGuide out_;
};

GuideSchool::GuideSchool(const TrainGuideOptions& options, std::vector<expr::Expr> only, std::vector<expr::Expr> tests)
    : options_(options),
      only_(std::move(only)),
      tests_(std::move(tests)),
      play_(episodes_of(options)),
      trial_(only_, play_.scrambles, options.depth,
             [this](std::size_t done, std::size_t total) { show("trying", done, total); }) {}

learn::GuideSamples GuideSchool::episodes(std::uint64_t seed, std::uint32_t count, egraph::Guide* guide) {
  play_.seed = seed, play_.episodes = count, play_.guide = guide;
  play_.progress = [this, count](std::uint32_t done) {
    show(play_.between ? "reinforcing" : "playing", done, count);
    return !stopped();
  };
  return learn::play(play_);
}

Result<Taught> GuideSchool::taught(std::uint32_t round, const std::string& folder, std::span<const float> labels) {
  Taught taught;
  const std::vector<std::uint64_t> hits = learn::hits_of(train_);
  learn::NetworkShape shape;
  shape.width = options_.width, shape.depth = options_.depth;
  shape.rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size()) + 1;
  shape.own_rows = features_with_rows(hits);
  taught.features = shape.own_rows.size();
  taught.network = std::make_unique<learn::Network>(shape, kinds_.hash, options_.seed);
  if (!options_.embedding.empty()) {
    TRY(const std::unique_ptr<learn::Network> other, learn::Network::load(options_.embedding, kinds_.hash));
    TRY_VOID(taught.network->take_embedding(*other));
  }
  if (pretrained_) {
    TRY_VOID(taught.network->take(*pretrained_));
  } else if (options_.pretrain > 0) {
    TRY(out_.pretrained, pretrain(*taught.network, options_, play_.scrambles,
                                  [&](const learn::GuideSample& s) { return is_of(s, options_.without); }));
    out_.interrupted = out_.interrupted || out_.pretrained.interrupted;
    if (out_.interrupted) return taught;
    pretrained_ = std::make_unique<learn::Network>(shape, kinds_.hash, options_.seed);
    TRY_VOID(pretrained_->take(*taught.network));
  }
  learn::GuideTraining how;
  how.frozen = options_.frozen, how.sight = options_.sight, how.labels = labels;
  TRY(how.trainer, guide_trainer(options_.folder + "/" + folder, options_.seed + round, options_.epochs,
                                 options_.threads, train_.samples.size()));
  how.trainer.resume = options_.resume, how.trainer.patience = options_.patience;
  how.trainer.terms = guide_terms(options_);
  // Weights that no search can use are the worst.
  how.judge = [&](double) {
    const auto block = packed_guide(*taught.network, hits);
    const auto ratio = block.ok() ? trial_.ratio(trial_.chosen_by(), *block) : Result<double>(block.error());
    return ratio.ok() ? *ratio : kRatioWorst;
  };
  how.progress = [&](const train::Report& r) {
    if (r.epoch_done && options_.epoch_line)
      options_.epoch_line(fmt::format(
          "{}, epoch {} of {}: loss {:.4f}, AUC held out {:.4f}, searches find {:.4f}{}, {:.0f} s left", folder,
          r.epoch + 1, r.epochs, r.loss, r.beside, r.metric, r.best ? " (best)" : "", r.seconds_left));
    show("training", r.epoch * r.positions + r.position, r.epochs * r.positions);
    return !stopped();
  };
  TRY(const train::TrainingResult result, learn::train_guide(*taught.network, train_, held_out_, how));
  out_.interrupted = out_.interrupted || result.interrupted;
  out_.epochs.resize(round + 1);
  out_.epochs.back().clear();
  for (const train::EpochFigures& e : result.history) out_.epochs.back().push_back({e.loss, e.beside, e.metric});
  taught.ratio = result.best_metric;
  TRY(taught.block, packed_guide(*taught.network, hits));
  return taught;
}

// Labels of the second teacher for the same samples. It sees by the network that the first teacher has taught.
Result<std::vector<float>> GuideSchool::labels(std::uint32_t round, const learn::Network& network,
                                               egraph::Guide* guide) {
  learn::QTeacherOptions how;
  how.seed = options_.seed + round;
  learn::QTeacher teacher(network, kinds_, train_, how);
  const std::uint32_t count = options_.episodes / options_.rounds;
  train::Curriculum curriculum = learn::way_back_curriculum(count);
  play_.curriculum = &curriculum;
  play_.between = [&](egraph::Guide& order, std::uint32_t episode) -> egraph::Guide& {
    return teacher.between(order, episode);
  };
  episodes(kReinforcedSeed + options_.seed * 64 + round, count, guide);
  play_.between = {}, play_.curriculum = nullptr;
  TRY_VOID(teacher.state());
  if (stopped()) return std::vector<float>{};
  const std::vector<float> labels = teacher.labels(train_);
  out_.decisions += teacher.decisions(), out_.learning_steps += teacher.steps();
  out_.scramble = curriculum.difficulty(), out_.way_back = curriculum.success();
  out_.auc_labels = learn::area_under_curve(train_, [&](const learn::GuideSample& s) {
    return double{labels[static_cast<std::size_t>(&s - train_.samples.data())]};
  });
  return options_.teacher == learn::Teacher::q ? labels : learn::mean_of_both(labels, train_);
}

Result<void> GuideSchool::round(std::uint32_t number) {
  std::optional<nn::AccumulatorWeights> weights;
  std::optional<nnue::NetworkGuide> guide;
  if (number > 0) {
    TRY(weights, nn::AccumulatorWeights::copy(last_.block, nnue::feature_space(kinds_.hash, options_.depth)));
    guide.emplace(*weights, kinds_, options_.depth);
  }
  // From the second round on the network that the first rounds have taught guides half of the episodes.
  egraph::Guide* const taught_before = guide ? &*guide : nullptr;
  train_.append(episodes(options_.seed * 64 + number, options_.episodes / options_.rounds, taught_before));
  // Lessons from matches of the domains left out are forgotten too.
  std::erase_if(train_.samples, [&](const learn::GuideSample& s) { return is_of(s, options_.without); });
  if (out_.interrupted) return {};
  if (train_.samples.size() < 2 * kSamplesPerShard)
    return make_error(ErrorCode::kInvalidArgument,
                      "%zu rewrites to learn from do not fill a batch of %zu: raise --episodes, or use expressions "
                      "that rules can improve",
                      train_.samples.size(), 2 * kSamplesPerShard);
  const std::string folder = "round" + std::to_string(number + 1);
  TRY(last_, taught(number, folder, {}));
  if (options_.teacher != learn::Teacher::hindsight && !out_.interrupted) {
    TRY(const std::vector<float> labels, labels(number, *last_.network, taught_before));
    if (out_.interrupted) return {};
    TRY(last_, taught(number, folder + "-again", labels));
  }
  return {};
}

Result<void> GuideSchool::judge() {
  const learn::Network& network = *best_.network;
  out_.samples = train_.samples.size(), out_.graphs = train_.graphs;
  out_.features = best_.features;
  note_gains(train_, out_);
  out_.ratio_chosen = best_.ratio;
  out_.ratio_static_chosen = trial_.static_ratio(trial_.chosen_by());
  out_.ratio_static = trial_.static_ratio(trial_.others());
  out_.ratio_constant_chosen = trial_.constant_ratio(trial_.chosen_by());
  out_.ratio_constant = trial_.constant_ratio(trial_.others());
  TRY(out_.ratio, trial_.ratio(trial_.others(), best_.block));
  out_.figures = learn::figures_of(network, train_, held_out_, options_.sight);
  TRY(const nn::AccumulatorWeights weights,
      nn::AccumulatorWeights::copy(best_.block, nnue::feature_space(kinds_.hash, options_.depth)));
  const std::vector<std::int32_t> scores = learn::integer_scores(weights, held_out_);
  out_.told_apart = learn::told_apart(held_out_, scores);
  out_.auc_integers = learn::area_under_curve(held_out_, [&](const learn::GuideSample& s) {
    return double(scores[static_cast<std::size_t>(&s - held_out_.samples.data())]);
  });
  out_.calibration = calibration_of(network, held_out_, options_.sight);
  if (!options_.without.empty()) {
    play_.scrambles.themes = options_.without;
    learn::GuideSamples other;
    std::size_t own = 0;
    for (std::uint64_t turn = 0; turn < kLeftOutTurns && own < kLeftOutSamples && !out_.interrupted; ++turn) {
      other.append(episodes(held_seed() + kLeftOutTurns * turn + 1, held_episodes(), nullptr));
      own = 0;
      for (learn::GuideSample& s : other.samples) {
        if (s.rule != learn::kNewRule && is_of(s, options_.without)) s.rule = learn::kNewRule;
        own += s.rule == learn::kNewRule ? 1 : 0;
      }
    }
    out_.left_out = learn::figures_of(network, train_, other, options_.sight);
    std::erase_if(other.samples, [](const learn::GuideSample& s) { return s.rule != learn::kNewRule; });
    out_.left_out_rules = learn::figures_of(network, train_, other, options_.sight);
  }
  return {};
}

Result<void> GuideSchool::test() {
  play_.expressions = tests_, play_.composed = false;
  const learn::GuideSamples samples = episodes(held_seed() + 2, held_episodes(), nullptr);
  out_.tested = learn::figures_of(*best_.network, train_, samples, options_.sight);
  const std::vector<expr::Expr> cases = learn::worsened_cases(kCasesChosenBy, tests_, play_.scrambles);
  out_.ratio_static_tested = trial_.static_ratio(cases);
  TRY(out_.ratio_tested, trial_.ratio(cases, best_.block));
  return {};
}

Result<TrainedGuide> GuideSchool::run() {
  play_.expressions = only_, play_.composed = only_.empty();
  held_out_ = episodes(held_seed(), held_episodes(), nullptr);
  for (std::uint32_t number = 0; number < options_.rounds && !out_.interrupted; ++number) {
    TRY_VOID(round(number));
    if (out_.interrupted) break;
    out_.round_chosen = last_.ratio < best_.ratio || number == 0 ? number : out_.round_chosen;
    if (out_.round_chosen == number) {
      // The last one's block is what the next round plays by.
      best_ = Taught{std::move(last_.network), last_.block, last_.features, last_.ratio};
    }
  }
  if (out_.interrupted) return std::move(out_);
  TRY_VOID(judge());
  if (!tests_.empty()) TRY_VOID(test());
  if (out_.interrupted) return std::move(out_);
  out_.block = std::move(best_.block);
  TRY_VOID(best_.network->save(options_.folder + "/guide.safetensors"));
  return std::move(out_);
}

}  // namespace

Result<TrainedGuide> train_guide(const TrainGuideOptions& options) {
  TRY_VOID(check_themes(options.without));
  // Domains that are left out must not be learnt by a back door.
  if (!options.without.empty() && options.teacher != learn::Teacher::hindsight)
    return make_error(ErrorCode::kInvalidArgument,
                      "--without needs --teacher hindsight: the other teachers use all rules");
  if (!options.only.empty() && options.pretrain > 0)
    return make_error(ErrorCode::kInvalidArgument,
                      "--only cannot be combined with --pretrain, whose walks begin with composed expressions");
  TRY(std::vector<expr::Expr> only, expressions_of(options.only));
  TRY(std::vector<expr::Expr> tests, expressions_of(options.tests));
  return GuideSchool(options, std::move(only), std::move(tests)).run();
}

}  // namespace trident::training
