#include "jit/learn/guide_trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/learn/digest.h"
#include "jit/learn/walks.h"
#include "jit/nnue/rule_keys.h"
#include "runtime/autodiff/ops.h"
#include "runtime/nn/accumulator/accumulator.h"

namespace trident::learn {
namespace {

using nn::HeadKind;

// Limits features: samples with more are left out, as a batch has memory for so many each.
constexpr std::size_t kFeaturesMax = 2'000;
constexpr std::size_t kGuideShards = 2;

expr::Expr episode_source(const EpisodeOptions& options, std::uint32_t episode, std::uint64_t& seed) {
  const std::size_t own = options.expressions.size();
  if (own != 0 && (!options.composed || episode / 2 % 2 == 0)) {  // each kind with and without the guide (play)
    const std::uint64_t turn = options.seed * 131 + (options.composed ? episode / 4 * 2 + episode % 2 : episode);
    const expr::Expr& one = options.expressions[turn % own];
    if (turn / own % 2 == 0) return one;
    auto worse = worsened(one, seed++, options.scrambles);
    return worse ? std::move(worse->expr) : one;
  }
  std::optional<Scramble> scramble;
  while (!scramble) scramble = scrambled(seed++, options.scrambles);
  return std::move(scramble->expr);
}

/// One episode of a curriculum.
struct WayBack {
  expr::Expr good, source;
  std::size_t level = 0;
};

WayBack way_back(const EpisodeOptions& options, std::uint32_t episode, const egraph::CostModel& costs,
                 tensor::Generator& levels, std::uint64_t& seed) {
  WayBack out;
  out.level = options.curriculum->draw(levels);
  ScrambleOptions scrambles = options.scrambles;
  scrambles.steps_min = scrambles.steps_max = options.curriculum->difficulty(out.level);
  EpisodeOptions unscrambled = options;
  unscrambled.scrambles.steps_min = unscrambled.scrambles.steps_max = 0;
  for (std::optional<Scramble> worse; !worse;) {
    out.good = good_form(episode_source(unscrambled, episode, seed), costs);
    worse = worsened(out.good, seed++, scrambles);
    if (worse) out.source = std::move(worse->expr);
    ++episode;  // takes another one if this is too large
  }
  return out;
}

/// True if a search has found a form as cheap as the good one.
bool is_back(const Result<expr::rewrite::Rewritten>& found, const WayBack& way, const egraph::CostModel& costs) {
  const expr::Expr& form = found.ok() && !found->forms.empty() ? found->forms.front() : way.source;
  const auto reached = expr::rewrite::cost_of(form, costs), good = expr::rewrite::cost_of(way.good, costs);
  constexpr double kSlack = 1e-9;
  return reached.ok() && good.ok() && reached->dag <= good->dag * (1 + kSlack);
}

}  // namespace

Example example_of(const GuideSamples& samples, const GuideSample& s, Sight sight, std::vector<std::uint32_t>& list) {
  samples.features_of(s, sight.delta, list);
  return {list, sight.delta ? s.nodes : samples.states[s.state].nodes, GuideSamples::scalars_of(s, sight.delta),
          sight.rule && s.rule != kNewRule ? s.rule + 1u : 0u};
}

GuideSamples play(const EpisodeOptions& options) {
  GuideSamples out;
  const nnue::KindTable& kinds = expr::rewrite::node_kinds();
  const auto rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size());
  const nn::AccumulatorWeights& weights = counting_weights(kinds, options.depth, rules);
  egraph::StaticGuide by_cost(egraph::StaticGuide::Order::best_first);
  egraph::RandomGuide random;
  std::uint64_t seed = options.seed * 1'000'003;
  tensor::Generator levels(options.seed);
  for (std::uint32_t episode = 0; episode < options.episodes; ++episode) {
    const egraph::CostModel costs =
        episode % 2 == 0 ? expr::rewrite::reference_costs() : expr::rewrite::default_costs();
    std::optional<WayBack> way;
    if (options.curriculum != nullptr) way = way_back(options, episode, costs, levels, seed);
    const expr::Expr source = way ? way->source : episode_source(options, episode, seed);
    egraph::Guide* const policy = options.guide != nullptr && episode % 2 == 0 ? options.guide
                                  : episode % 4 == 3                           ? static_cast<egraph::Guide*>(&random)
                                                                               : &by_cost;
    expr::rewrite::RewriteOptions how;
    how.policy.kind = expr::PolicyKind::fast;
    how.strategy = egraph::Strategy::guided;
    how.seed = options.seed * 7919 + episode;
    how.costs = costs;
    how.budget = {.nodes = options.nodes,
                  .nanoseconds = 0,
                  .applications = options.applications,
                  .graph_nodes = 2 * options.nodes};
    how.explain = true;
    const Witness::Options watching{
        .episode = episode, .depth = options.depth, .log_cost = log_cost_by(options.gain, source, how.costs)};
    Witness witness(options.between ? options.between(*policy, episode) : *policy, weights, kinds, watching, out);
    how.guide = &witness, how.guide_alone = true;
    const auto found = expr::rewrite::rewrite(source, how);
    if (way) options.curriculum->record(way->level, is_back(found, *way, costs));
    if (options.progress && !options.progress(episode + 1)) break;
  }
  return out;
}

namespace {

/// Counts of pairs in the right order, and of all pairs.
struct Pairs {
  double right = 0, all = 0;
  [[nodiscard]] double share() const { return all == 0 ? 0.5 : right / all; }
};

Pairs pairs_of(std::span<const double> scores, std::span<const bool> needed) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // A score that is NaN has no place in an order: it goes before all others.
  const auto score = [&](std::size_t i) {
    return std::isnan(scores[i]) ? -std::numeric_limits<double>::infinity() : scores[i];
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score(a) < score(b); });
  double right = 0, below = 0;
  std::size_t positives = 0;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i, p = 0, n = 0;
    for (; j < order.size() && score(order[j]) == score(order[i]); ++j) (needed[order[j]] ? p : n) += 1;
    right += static_cast<double>(p) * (below + static_cast<double>(n) / 2);
    below += static_cast<double>(n);
    positives += p;
    i = j;
  }
  return {right, static_cast<double>(positives) * below};
}

}  // namespace

double area_under_curve(std::span<const double> scores, std::span<const bool> needed) {
  return pairs_of(scores, needed).share();
}

double area_under_curve(const GuideSamples& samples, const std::function<double(const GuideSample&)>& score) {
  std::vector<double> scores;
  const auto needed = std::make_unique<bool[]>(samples.samples.size());
  for (const GuideSample& s : samples.samples) {
    needed[scores.size()] = s.needed;
    scores.push_back(score(s));
  }
  return area_under_curve(scores, {needed.get(), scores.size()});
}

double area_within_graphs(const GuideSamples& samples, const std::function<double(const GuideSample&)>& score) {
  Pairs sum;
  const auto needed = std::make_unique<bool[]>(samples.samples.size());
  std::vector<double> scores;
  for (std::size_t i = 0; i < samples.samples.size();) {
    scores.clear();
    const std::uint32_t graph = samples.samples[i].graph;
    for (; i < samples.samples.size() && samples.samples[i].graph == graph; ++i) {
      needed[scores.size()] = samples.samples[i].needed;
      scores.push_back(score(samples.samples[i]));
    }
    const Pairs pairs = pairs_of(scores, {needed.get(), scores.size()});
    sum.right += pairs.right, sum.all += pairs.all;
  }
  return sum.share();
}

GuideFigures figures_of(const Network& network, const GuideSamples& train, const GuideSamples& held_out, Sight sight) {
  GuideFigures f;
  f.samples = held_out.samples.size();
  std::vector<std::uint32_t> list;
  for (const bool delta : {true, false}) {
    const Sight shown{sight.delta && delta, sight.rule};
    std::vector<double> scores;
    for (const GuideSample& s : held_out.samples)
      scores.push_back(network.score(HeadKind::guide, example_of(held_out, s, shown, list)));
    const auto score = [&](const GuideSample& s) {
      return scores[static_cast<std::size_t>(&s - held_out.samples.data())];
    };
    (delta ? f.auc : f.auc_no_delta) = area_under_curve(held_out, score);
    (delta ? f.within : f.within_no_delta) = area_within_graphs(held_out, score);
  }
  f.auc_static = area_under_curve(held_out, [](const GuideSample& s) {
    return -static_cast<double>(s.scalars[static_cast<std::size_t>(nnue::Scalar::cost_change)]);
  });
  std::vector<double> share(network.shape().rules), count(network.shape().rules);
  for (const GuideSample& s : train.samples) ++count[s.rule], share[s.rule] += s.needed ? 1 : 0;
  f.auc_rule = area_under_curve(held_out, [&](const GuideSample& s) {
    const std::size_t rule = s.rule == kNewRule ? share.size() - 1 : s.rule;  // the last row has no rule
    return (share[rule] + 0.1) / (count[rule] + 1);
  });
  for (const GuideSample& s : held_out.samples) f.needed += s.needed ? 1 : 0;
  return f;
}

std::vector<std::int32_t> integer_scores(const nn::AccumulatorWeights& weights, const GuideSamples& samples,
                                         Sight sight) {
  const std::vector<std::uint32_t> rows =
      nnue::rows_of(expr::rewrite::builtin_rules().rules, expr::rewrite::op_rows(), weights.keys());
  std::vector<std::int32_t> scores;
  std::vector<std::uint32_t> list;
  nn::Movement movement(weights);
  for (const GuideSample& s : samples.samples) {
    const Example example = example_of(samples, s, sight, list);
    const std::uint32_t row = sight.rule && s.rule != kNewRule ? rows[s.rule] : 0;
    movement.clear();
    movement.add_all(list.size(), [&](std::size_t i) { return list[i]; });
    nn::Accumulator accumulator = weights.bias();
    movement.apply(accumulator);
    alignas(32) const std::array<std::int16_t, nn::kScalars> scalars = example.scalars;
    const simd::Afterstate state{nullptr, weights.bias_row(HeadKind::guide, row), scalars.data(),
                                 weights.pool(example.nodes)};
    scores.emplace_back();
    simd::kernels().score(&scores.back(), weights.head(HeadKind::guide), accumulator, &state, 1);
  }
  return scores;
}

double told_apart(const GuideSamples& samples, std::span<const std::int32_t> scores) {
  std::size_t pairs = 0, apart = 0;
  std::vector<std::uint32_t> before, list;
  for (std::size_t i = 1; i < samples.samples.size(); ++i) {
    const GuideSample &a = samples.samples[i - 1], &b = samples.samples[i];
    if (a.state != b.state) continue;
    samples.features_of(a, true, before), samples.features_of(b, true, list);
    std::sort(before.begin(), before.end()), std::sort(list.begin(), list.end());
    if (a.rule == b.rule && a.scalars == b.scalars && before == list) continue;
    ++pairs, apart += scores[i] != scores[i - 1] ? 1 : 0;
  }
  return pairs == 0 ? 1 : static_cast<double>(apart) / static_cast<double>(pairs);
}

namespace {

void add(DataDigest& digest, const GuideSamples& all) {
  digest.add(std::span<const std::uint32_t>(all.features));
  digest.add(std::span<const std::uint32_t>(all.changes));
  for (const GuideSamples::State& s : all.states) digest.add(s.first), digest.add(s.end), digest.add(s.nodes);
  for (const GuideSample& s : all.samples) {
    for (const std::uint32_t number : {s.state, s.first_lost, s.first_gained, s.end, s.nodes, s.graph})
      digest.add(number);
    digest.add(s.rule), digest.add(s.needed), digest.add(s.gain);
    digest.add(std::span<const std::int16_t>(s.scalars));
  }
}

std::string digest_of(const GuideSamples& train, const GuideSamples& held_out, std::span<const float> labels) {
  DataDigest digest;
  add(digest, train), add(digest, held_out);
  digest.add(labels);
  return digest.text();
}

// Shows some samples as if the rule were new, some without the scalars of place and past: a network that
// always has these relies on them and hardly looks at the term after the rewrite.
void hide_some(Example& example, std::uint64_t sample, std::uint64_t neighbour) {
  constexpr std::uint64_t kOf = 16, kWithoutRule = 4, kWithoutContext = 4;
  const std::uint64_t draw = (sample + 1'000'003 * neighbour) * 0x9E37'79B9'7F4A'7C15u >> 40;
  if (draw % kOf < kWithoutRule) example.rule = 0;
  if (draw / kOf % kOf >= kWithoutContext) return;
  using enum nnue::Scalar;
  for (const nnue::Scalar s : {cost_change, path_change, rule_hits, rule_benefit})
    example.scalars[static_cast<std::size_t>(s)] = 0;
}

}  // namespace

Result<train::TrainingResult> train_guide(Network& network, const GuideSamples& train, const GuideSamples& held_out,
                                          const GuideTraining& options) {
  const std::size_t batch = options.trainer.samples_per_shard;
  const std::size_t answers = options.labels.empty() ? 1 : 2;  // per sample: by hindsight, or either with its chance
  CHECK(options.labels.empty() || options.labels.size() == train.samples.size());
  struct OfShard {
    autodiff::Tape<float> tape;
    RecordedBatch recorded;
    autodiff::Integers labels;       // one row per sample and label, 0: needed
    autodiff::Value<float> weights;  // weights of the rows
    std::vector<std::vector<std::uint32_t>> lists;
    explicit OfShard(tensor::ParameterStore<float>& store) : tape(store, autodiff::Mode::train) {}
  };
  std::vector<std::unique_ptr<OfShard>> shards;
  train::Model model;
  model.store = &network.store();
  // Figures of different kinds must never be compared.
  model.architecture = network.architecture() + (options.judge ? "/judged" : "");
  for (std::size_t i = 0; i < kGuideShards; ++i) {
    shards.push_back(std::make_unique<OfShard>(network.store()));
    OfShard& s = *shards.back();
    s.recorded = network.record(s.tape, HeadKind::guide, batch, batch * kFeaturesMax, options.frozen);
    const autodiff::Value<float> zero = s.tape.input("other", {batch, 1});
    std::fill_n(zero.data, batch, 0.0f);
    const std::vector<autodiff::Value<float>> logits = {s.recorded.score, zero, s.recorded.score, zero};
    const autodiff::Value<float> rows = autodiff::concat(s.tape, std::span(logits).first(2 * answers));
    s.labels = s.tape.integers("needed", {answers * batch});
    s.weights = s.tape.input("weights", {answers * batch});
    const autodiff::Value<float> loss = autodiff::softmax_cross_entropy(
        s.tape, answers == 1 ? rows : autodiff::reshape(s.tape, rows, {answers * batch, 2}), s.labels, {}, s.weights);
    s.tape.finish(loss);
    s.lists.resize(batch);
    model.shards.push_back({&s.tape, loss});
  }
  const std::vector<float> weights = weights_of(train);
  model.load = [&](std::size_t shard, std::span<const std::uint32_t> samples) {
    OfShard& s = *shards[shard];
    std::vector<Example> examples;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const GuideSample& sample = train.samples[samples[i]];
      Example example = example_of(train, sample, options.sight, s.lists[i]);
      // The next sample in the batch differs in every epoch, so other parts are hidden.
      hide_some(example, samples[i], samples[(i + 1) % samples.size()]);
      examples.push_back(example);
      const float weight = weights[samples[i]];
      if (options.labels.empty()) {
        s.labels.data[i] = sample.needed ? 0 : 1;
        s.weights.data[i] = weight;
        continue;
      }
      const float needed = options.labels[samples[i]];
      s.labels.data[2 * i] = 0, s.labels.data[2 * i + 1] = 1;
      s.weights.data[2 * i] = weight * needed, s.weights.data[2 * i + 1] = weight * (1 - needed);
    }
    network.fill(s.recorded, examples);
  };
  std::vector<std::uint32_t> list;
  double auc = 0.5;
  model.beside = [&] { return auc; };
  model.validate = [&] {
    auc = area_under_curve(held_out, [&](const GuideSample& s) {
      return network.score(HeadKind::guide, example_of(held_out, s, options.sight, list));
    });
    return options.judge ? options.judge(auc) : 1 - auc;
  };
  std::vector<std::uint32_t> usable;
  for (std::uint32_t i = 0; i < train.samples.size(); ++i) {
    train.features_of(train.samples[i], true, list);
    if (list.size() <= kFeaturesMax) usable.push_back(i);
  }
  train::TrainerOptions trainer = options.trainer;
  trainer.terms.emplace_back(
      "samples", std::to_string(train.samples.size()) + " (" + digest_of(train, held_out, options.labels) + ")");
  return train::train(model, usable, trainer, options.progress);
}

std::vector<std::uint64_t> hits_of(const GuideSamples& samples) {
  std::vector<std::uint64_t> hits(nnue::kFeatures);
  for (const std::uint32_t f : samples.features) ++hits[f];
  for (const std::uint32_t f : samples.changes) ++hits[f];
  return hits;
}

}  // namespace trident::learn
