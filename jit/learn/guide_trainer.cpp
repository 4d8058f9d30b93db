#include "jit/learn/guide_trainer.h"

#include <algorithm>
#include <numeric>

#include "jit/expr/rewrite/kinds.h"
#include "runtime/autodiff/ops.h"

namespace trident::learn {
namespace {

using nn::HeadKind;

// Samples with more features than this are left out: a batch has room for so many each.
constexpr std::size_t kFeaturesMax = 2'000;
constexpr std::size_t kShards = 2;

expr::Expr episode_source(const EpisodeOptions& options, std::uint32_t episode, std::uint64_t& seed) {
  const std::size_t own = options.expressions.size();
  if (own != 0 && episode / 2 % 2 == 0) {  // of either kind with and without the guide (play)
    const std::uint64_t turn = options.seed * 131 + episode / 4 * 2 + episode % 2;
    const expr::Expr& one = options.expressions[turn % own];
    if (turn / own % 2 == 0) return one;
    auto worse = worsened(one, seed++, options.scrambles);
    return worse ? std::move(worse->expr) : one;
  }
  std::optional<Scramble> scramble;
  while (!scramble) scramble = scrambled(seed++, options.scrambles);
  return std::move(scramble->expr);
}

}  // namespace

Example example_of(const GuideSamples& samples, const GuideSample& s, bool delta, std::vector<std::uint32_t>& list) {
  samples.features_of(s, delta, list);
  return {list, delta ? s.nodes : samples.states[s.state].nodes, GuideSamples::scalars_of(s, delta), s.rule + 1u};
}

GuideSamples play(const EpisodeOptions& options) {
  GuideSamples out;
  const nnue::KindTable& kinds = expr::rewrite::node_kinds();
  const auto rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size());
  const nn::AccumulatorWeights& weights = counting_weights(kinds, options.depth, rules);
  egraph::StaticGuide by_cost(egraph::StaticGuide::Order::best_first);
  egraph::RandomGuide random;
  std::uint64_t seed = options.seed * 1'000'003;
  for (std::uint32_t episode = 0; episode < options.episodes; ++episode) {
    const expr::Expr source = episode_source(options, episode, seed);
    egraph::Guide* const policy = options.guide != nullptr && episode % 2 == 0 ? options.guide
                                  : episode % 4 == 3                           ? static_cast<egraph::Guide*>(&random)
                                                                               : &by_cost;
    Witness witness(*policy, weights, kinds, {.episode = episode, .depth = options.depth}, out);
    expr::rewrite::RewriteOptions how;
    how.policy.kind = expr::PolicyKind::fast;
    how.strategy = egraph::Strategy::guided;
    how.guide = &witness;
    how.seed = options.seed * 7919 + episode;
    how.costs = episode % 2 == 0 ? expr::rewrite::reference_costs() : expr::rewrite::default_costs();
    how.budget = {.nodes = options.nodes,
                  .nanoseconds = 0,
                  .applications = options.applications,
                  .graph_nodes = 2 * options.nodes};
    how.explain = true;
    static_cast<void>(expr::rewrite::rewrite(source, how));
    if (options.progress && !options.progress(episode + 1)) break;
  }
  return out;
}

double area_under_curve(std::span<const double> scores, std::span<const bool> needed) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  double right = 0, below = 0;
  std::size_t positives = 0;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i, p = 0, n = 0;
    for (; j < order.size() && scores[order[j]] == scores[order[i]]; ++j) (needed[order[j]] ? p : n) += 1;
    right += static_cast<double>(p) * (below + static_cast<double>(n) / 2);
    below += static_cast<double>(n);
    positives += p;
    i = j;
  }
  return positives == 0 || below == 0 ? 0.5 : right / (static_cast<double>(positives) * below);
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

GuideFigures figures_of(const Network& network, const GuideSamples& train, const GuideSamples& held_out) {
  GuideFigures f;
  f.samples = held_out.samples.size();
  std::vector<std::uint32_t> list;
  const auto by_network = [&](bool delta) {
    return area_under_curve(held_out, [&](const GuideSample& s) {
      return network.score(HeadKind::guide, example_of(held_out, s, delta, list));
    });
  };
  f.auc = by_network(true);
  f.auc_no_delta = by_network(false);
  f.auc_static = area_under_curve(held_out, [](const GuideSample& s) {
    return -double{s.scalars[static_cast<std::size_t>(nnue::Scalar::cost_change)]};
  });
  std::vector<double> share(network.shape().rules), count(network.shape().rules);
  for (const GuideSample& s : train.samples) ++count[s.rule], share[s.rule] += s.needed ? 1 : 0;
  f.auc_rule =
      area_under_curve(held_out, [&](const GuideSample& s) { return (share[s.rule] + 0.1) / (count[s.rule] + 1); });
  for (const GuideSample& s : held_out.samples) f.needed += s.needed ? 1 : 0;
  return f;
}

Result<train::TrainingResult> train_guide(Network& network, const GuideSamples& train, const GuideSamples& held_out,
                                          const GuideTraining& options) {
  const std::size_t batch = options.trainer.samples_per_shard;
  struct OfShard {
    autodiff::Tape<float> tape;
    RecordedBatch recorded;
    autodiff::Integers labels;
    std::vector<std::vector<std::uint32_t>> lists;
    explicit OfShard(tensor::ParameterStore<float>& store) : tape(store, autodiff::Mode::train) {}
  };
  std::vector<std::unique_ptr<OfShard>> shards;
  train::Model model;
  model.store = &network.store();
  model.architecture = network.architecture();
  for (std::size_t i = 0; i < kShards; ++i) {
    shards.push_back(std::make_unique<OfShard>(network.store()));
    OfShard& s = *shards.back();
    s.recorded = network.record(s.tape, HeadKind::guide, batch, batch * kFeaturesMax, options.frozen);
    const autodiff::Value<float> zero = s.tape.input("other", {batch, 1});
    std::fill_n(zero.data, batch, 0.0f);
    const autodiff::Value<float> both[] = {s.recorded.score, zero};
    s.labels = s.tape.integers("needed", {batch});
    const autodiff::Value<float> loss = autodiff::softmax_cross_entropy(
        s.tape, autodiff::concat(s.tape, std::span<const autodiff::Value<float>>(both)), s.labels, {});
    s.tape.finish(loss);
    s.lists.resize(batch);
    model.shards.push_back({&s.tape, loss});
  }
  model.load = [&](std::size_t shard, std::span<const std::uint32_t> samples) {
    OfShard& s = *shards[shard];
    std::vector<Example> examples;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const GuideSample& sample = train.samples[samples[i]];
      // Some are shown as a search sees them first, before their delta is worked out, and some as if the rule were new.
      const std::uint64_t draw = samples[i] * 0x9E37'79B9'7F4A'7C15u >> 40;
      Example example = example_of(train, sample, draw % 8 != 0, s.lists[i]);
      if (draw / 8 % 16 == 0) example.rule = 0;
      examples.push_back(example);
      s.labels.data[i] = sample.needed ? 0 : 1;
    }
    network.fill(s.recorded, examples);
  };
  std::vector<std::uint32_t> list;
  model.validate = [&] {
    return 1 - area_under_curve(held_out, [&](const GuideSample& s) {
             return network.score(HeadKind::guide, example_of(held_out, s, true, list));
           });
  };
  std::vector<std::uint32_t> usable;
  for (std::uint32_t i = 0; i < train.samples.size(); ++i) {
    train.features_of(train.samples[i], true, list);
    if (list.size() <= kFeaturesMax) usable.push_back(i);
  }
  return train::train(model, usable, options.trainer, options.progress);
}

std::vector<std::uint64_t> hits_of(const GuideSamples& samples) {
  std::vector<std::uint64_t> hits(nnue::kFeatures);
  for (const std::uint32_t f : samples.features) ++hits[f];
  for (const std::uint32_t f : samples.changes) ++hits[f];
  return hits;
}

}  // namespace trident::learn
