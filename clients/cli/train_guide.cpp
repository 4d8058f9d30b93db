#include "clients/cli/train_guide.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "clients/cli/line_plot.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/learn/submitted.h"
#include "jit/nnue/network_guide.h"
#include "jit/nnue/rule_keys.h"

namespace trident::cli {
namespace {

// Rows that are stored: features met at least so often in training; others count as never met.
constexpr std::uint64_t kHitsStored = 6, kHitsOwnRow = 200;
constexpr std::size_t kRowsStored = 12'000;
constexpr double kRatioWorst = 10;
constexpr std::uint32_t kUntrainedEpisodes = 60;

std::vector<std::string> other_themes(const std::vector<std::string>& without) {
  std::set<std::string> all;
  for (const auto& tags : expr::rewrite::builtin_rules().tags) all.insert(tags.theme);
  for (const std::string& theme : without) all.erase(theme);
  return {all.begin(), all.end()};
}

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
  // Rows are stored of what is met at all.
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

std::vector<std::uint32_t> features_with_rows(std::span<const std::uint64_t> hits) {
  return learn::features_met(hits, kHitsOwnRow);
}

namespace {

std::vector<std::pair<double, double>> calibration_of(const learn::Network& network, const learn::GuideSamples& samples,
                                                      learn::Sight sight) {
  std::vector<std::pair<double, bool>> said;
  std::vector<std::uint32_t> list;
  for (const learn::GuideSample& s : samples.samples) {
    const double logit = network.score(nn::HeadKind::guide, learn::example_of(samples, s, sight, list));
    said.emplace_back(1 / (1 + std::exp(-logit)), s.needed);
  }
  std::sort(said.begin(), said.end());
  constexpr std::size_t kTenths = 10;
  std::vector<std::pair<double, double>> out;
  for (std::size_t t = 0; t < kTenths && said.size() >= kTenths; ++t) {
    const std::size_t from = t * said.size() / kTenths, to = (t + 1) * said.size() / kTenths;
    double mean = 0, needed = 0;
    for (std::size_t i = from; i < to; ++i) mean += said[i].first, needed += said[i].second ? 1 : 0;
    out.emplace_back(mean / static_cast<double>(to - from), needed / static_cast<double>(to - from));
  }
  return out;
}

/// Tries weights in searches over cases that no episode plays.
class SearchTrial {
 public:
  SearchTrial(const learn::ScrambleOptions& scrambles, unsigned depth)
      : cases_(learn::composed_cases(2 * kCasesChosenBy, scrambles)), depth_(depth) {}
  [[nodiscard]] std::span<const expr::Expr> chosen_by() const { return std::span(cases_).first(kCasesChosenBy); }
  [[nodiscard]] std::span<const expr::Expr> others() const { return std::span(cases_).subspan(kCasesChosenBy); }

  Result<double> ratio(std::span<const expr::Expr> cases, std::span<const std::byte> block) const {
    const nnue::KindTable& kinds = expr::rewrite::node_kinds();
    TRY(const nn::AccumulatorWeights weights,
        nn::AccumulatorWeights::copy(block, nnue::feature_space(kinds.hash, depth_)));
    nnue::NetworkGuide guide(weights, kinds, depth_);
    return learn::found_ratio(cases, guide, learn::kApplicationsJudged);
  }
  static double static_ratio(std::span<const expr::Expr> cases) {
    egraph::StaticGuide guide(egraph::StaticGuide::Order::best_first);
    return learn::found_ratio(cases, guide, learn::kApplicationsJudged);
  }

 private:
  std::vector<expr::Expr> cases_;
  unsigned depth_;
};

void note_gains(const learn::GuideSamples& train, TrainedGuide& out) {
  double sum = 0, graphs = 0;
  for (std::size_t i = 0; i < train.samples.size(); ++i) {
    if (i > 0 && train.samples[i].graph == train.samples[i - 1].graph) continue;
    sum += train.samples[i].gain, ++graphs;
    out.gain_most = std::max(out.gain_most, double{train.samples[i].gain});
  }
  out.gain = graphs == 0 ? 0 : sum / graphs;
}

}  // namespace

Result<TrainedGuide> train_guide(const TrainGuideOptions& options) {
  TRY_VOID(check_themes(options.without));
  TrainedGuide out;
  const nnue::KindTable& kinds = expr::rewrite::node_kinds();
  learn::EpisodeOptions play;
  play.scrambles.themes = options.without.empty() ? std::vector<std::string>{} : other_themes(options.without);
  play.depth = options.depth;
  play.gain = options.gain;
  const auto episodes = [&](std::uint64_t seed, std::uint32_t count, egraph::Guide* guide) {
    play.seed = seed, play.episodes = count, play.guide = guide;
    play.progress = [&, count](std::uint32_t done) {
      if (options.progress) options.progress("playing", done, count);
      return true;
    };
    return learn::play(play);
  };
  // Seeds of what is held out are never those of training.
  const std::uint64_t held_seed = options.seed + 1'000'000;
  const learn::GuideSamples held_out = episodes(held_seed, std::max(options.episodes / 8, 20u), nullptr);
  const SearchTrial trial(play.scrambles, options.depth);
  learn::GuideSamples train;
  std::unique_ptr<learn::Network> network;
  std::optional<nn::AccumulatorWeights> weights;
  std::optional<nnue::NetworkGuide> guide;
  for (std::uint32_t round = 0; round < options.rounds && !out.interrupted; ++round) {
    // From the second round on half of the episodes go by what the first ones have taught.
    train.append(episodes(options.seed * 64 + round, options.episodes / options.rounds, guide ? &*guide : nullptr));
    // What matches of the domains left out taught is forgotten too.
    std::erase_if(train.samples, [&](const learn::GuideSample& s) { return is_of(s, options.without); });
    const std::vector<std::uint64_t> hits = learn::hits_of(train);
    learn::NetworkShape shape;
    shape.width = options.width, shape.depth = options.depth;
    shape.rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size()) + 1;
    shape.own_rows = features_with_rows(hits);
    network = std::make_unique<learn::Network>(shape, kinds.hash, options.seed);
    if (!options.embedding.empty()) {
      TRY(const std::unique_ptr<learn::Network> other, learn::Network::load(options.embedding, kinds.hash));
      TRY_VOID(network->take_embedding(*other));
    }
    learn::GuideTraining how;
    how.frozen = options.frozen, how.sight = options.sight;
    how.trainer.folder = options.folder + "/round" + std::to_string(round + 1);
    std::error_code failed;
    std::filesystem::create_directories(how.trainer.folder, failed);
    if (failed) return make_error(ErrorCode::kOsError, "%s: %s", how.trainer.folder.c_str(), failed.message().c_str());
    how.trainer.seed = options.seed + round;
    how.trainer.epochs = options.epochs;
    how.trainer.samples_per_shard = kSamplesPerShard;
    how.trainer.threads = options.threads;
    how.trainer.resume = options.resume;
    how.trainer.schedule = guide_schedule(options.epochs, train.samples.size());
    out.epochs.emplace_back();
    double auc = 0.5;
    // Weights that no search can use are the worst.
    how.judge = [&](double held_out_auc) {
      auc = held_out_auc;
      const auto block = packed_guide(*network, hits);
      const auto ratio = block.ok() ? trial.ratio(trial.chosen_by(), *block) : Result<double>(block.error());
      return ratio.ok() ? *ratio : kRatioWorst;
    };
    how.progress = [&](const train::Report& r) {
      if (r.epoch_done) out.epochs.back().push_back({r.loss, auc, r.metric});
      if (options.progress) options.progress("training", r.epoch * r.positions + r.position, r.epochs * r.positions);
      return !options.stopped || !options.stopped();
    };
    TRY(const train::TrainingResult result, learn::train_guide(*network, train, held_out, how));
    out.interrupted = result.interrupted;
    out.ratio_chosen = result.best_metric;
    TRY(out.block, packed_guide(*network, hits));
    out.features = shape.own_rows.size();
    guide.reset();
    TRY(weights, nn::AccumulatorWeights::copy(out.block, nnue::feature_space(kinds.hash, options.depth)));
    guide.emplace(*weights, kinds, options.depth);
  }
  out.samples = train.samples.size(), out.graphs = train.graphs;
  note_gains(train, out);
  out.ratio_static_chosen = SearchTrial::static_ratio(trial.chosen_by());
  out.ratio_static = SearchTrial::static_ratio(trial.others());
  TRY(out.ratio, trial.ratio(trial.others(), out.block));
  out.figures = learn::figures_of(*network, train, held_out, options.sight);
  const std::vector<std::int32_t> scores = learn::integer_scores(*weights, held_out);
  out.told_apart = learn::told_apart(held_out, scores);
  out.auc_integers = learn::area_under_curve(held_out, [&](const learn::GuideSample& s) {
    return double(scores[static_cast<std::size_t>(&s - held_out.samples.data())]);
  });
  out.calibration = calibration_of(*network, held_out, options.sight);
  if (!options.without.empty() && !out.interrupted) {
    play.scrambles.themes = options.without;
    learn::GuideSamples other = episodes(held_seed + 1, std::max(options.episodes / 8, 20u), nullptr);
    for (learn::GuideSample& s : other.samples)
      if (is_of(s, options.without)) s.rule = learn::kNewRule;
    out.left_out = learn::figures_of(*network, train, other, options.sight);
  }
  TRY_VOID(network->save(options.folder + "/guide.safetensors"));
  return out;
}

namespace {

void add_figures(std::string& text, const char* what, const learn::GuideFigures& f) {
  if (f.samples == 0) return;
  text += fmt::format("{}: {} rewrites, of which the best term needs {}\n", what, f.samples, f.needed);
  for (const auto& [name, auc] : {std::pair{"network", f.auc},
                                  {"network, without the change that a rewrite makes", f.auc_no_delta},
                                  {"network, among rewrites of one graph", f.within},
                                  {"... without the change that a rewrite makes", f.within_no_delta},
                                  {"change of static cost", f.auc_static},
                                  {"how often the rule was needed in training", f.auc_rule}})
    text += fmt::format("  {:<50} AUC {:.4f}\n", name, auc);
}

nlohmann::ordered_json json_of(const learn::GuideFigures& f) {
  return {{"samples", f.samples},           {"needed", f.needed},    {"auc", f.auc},
          {"auc_no_delta", f.auc_no_delta}, {"within", f.within},    {"within_no_delta", f.within_no_delta},
          {"auc_static", f.auc_static},     {"auc_rule", f.auc_rule}};
}

}  // namespace

std::string guide_text(const TrainedGuide& trained) {
  std::string text = fmt::format("trained on {} rewrites of {} graphs\n", trained.samples, trained.graphs);
  if (trained.gain_most > 0)
    text += fmt::format("log gain of a graph: {:.3f} on average, {:.3f} at most\n", trained.gain, trained.gain_most);
  add_figures(text, "held out", trained.figures);
  text += fmt::format("  {:<50} AUC {:.4f}\n", "network, in integers", trained.auc_integers);
  text += fmt::format("  different rewrites of one state that it tells apart: {:.2f} %\n", 100 * trained.told_apart);
  text += fmt::format("what searches find, as a share of what they began with (epochs are chosen by the first)\n");
  for (const auto& [name, chosen, other] :
       {std::tuple{"network", trained.ratio_chosen, trained.ratio},
        std::tuple{"change of static cost", trained.ratio_static_chosen, trained.ratio_static}})
    text += fmt::format("  {:<50} {:.4f}, in other cases {:.4f}\n", name, chosen, other);
  add_figures(text, "domains left out of training", trained.left_out);
  return text;
}

std::string guide_json(const TrainedGuide& trained) {
  nlohmann::ordered_json root = {{"samples", trained.samples},
                                 {"graphs", trained.graphs},
                                 {"gain", trained.gain},
                                 {"gain_most", trained.gain_most}};
  root["held_out"] = json_of(trained.figures);
  root["held_out"]["auc_integers"] = trained.auc_integers;
  root["held_out"]["told_apart"] = trained.told_apart;
  root["ratio"] = {{"chosen_by", trained.ratio_chosen},
                   {"others", trained.ratio},
                   {"static_chosen_by", trained.ratio_static_chosen},
                   {"static_others", trained.ratio_static}};
  if (trained.left_out.samples > 0) root["left_out"] = json_of(trained.left_out);
  root["rounds"] = nlohmann::ordered_json::array();
  for (const auto& round : trained.epochs) {
    nlohmann::ordered_json epochs = nlohmann::ordered_json::array();
    for (const TrainedGuide::Epoch& e : round) epochs.push_back({{"loss", e.loss}, {"auc", e.auc}, {"ratio", e.ratio}});
    root["rounds"].push_back(epochs);
  }
  root["calibration"] = trained.calibration;
  return root.dump(1) + "\n";
}

std::string guide_plot(const TrainedGuide& trained) {
  Panel loss{"loss by epoch", {}, {}}, auc{"area under the curve, held out", {}, {}};
  for (std::size_t r = 0; r < trained.epochs.size(); ++r) {
    const std::string name = fmt::format("round {}", r + 1);
    Line l{name, {}}, a{name, {}};
    for (std::size_t e = 0; e < trained.epochs[r].size(); ++e) {
      l.points.emplace_back(static_cast<double>(e + 1), trained.epochs[r][e].loss);
      a.points.emplace_back(static_cast<double>(e + 1), trained.epochs[r][e].auc);
    }
    loss.lines.push_back(std::move(l)), auc.lines.push_back(std::move(a));
  }
  for (const auto& [name, value] :
       {std::pair{"static cost", trained.figures.auc_static}, {"rule alone", trained.figures.auc_rule}})
    auc.marks.emplace_back(name, value);
  Panel calibration{"needed, by what the network says", {}, {}};
  Line said{"network", {}}, right{"as it should be", {}};
  for (const auto& [mean, share] : trained.calibration) {
    said.points.emplace_back(mean, share);
    right.points.emplace_back(mean, mean);
  }
  calibration.lines = {said, right};
  return line_plot({loss, auc, calibration});
}

}  // namespace trident::cli
