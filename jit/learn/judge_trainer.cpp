#include "jit/learn/judge_trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/language.h"
#include "jit/learn/variants.h"
#include "jit/nnue/feature_list.h"
#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"
#include "runtime/stats/robust.h"

namespace trident::learn {
namespace {

using expr::rewrite::TimeScalar;
using nn::HeadKind;

constexpr std::size_t kKernelFeaturesMax = 12'000;  // limit per kernel; larger ones are not trained on
constexpr double kHeldOut = 0.2, kValidation = 0.125;
// An error of 30 % and more counts by its size, not by its square; 10 % between two kernels are a clear order.
constexpr float kHuber = 0.3f;
constexpr double kSharpness = 10;
constexpr std::array kMargins = {0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2};
constexpr double kApart = 0.05;  // times that differ by less are not compared

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9u + 0x9E37'79B9'7F4A'7C15u;
  x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EBu;
  return x ^ x >> 31;
}

std::uint64_t mixed_hash(std::string_view text) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325u;  // FNV-1a, and a last mix, as near names differ in few bits
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100'0000'01B3u;
  hash = (hash ^ hash >> 32) * 0x9E37'79B9'7F4A'7C15u;
  return hash ^ hash >> 29;
}

/// Fits some scalars and a constant by least squares, with a small penalty on the coefficients.
class Ridge {
 public:
  Ridge(std::vector<std::size_t> columns, const JudgeSamples& samples, std::span<const std::uint32_t> train)
      : columns_(std::move(columns)) {
    constexpr double kPenalty = 1e-3;
    const std::size_t n = columns_.size() + 1;
    std::vector<double> normal(n * n), right(n), x(n);
    for (const std::uint32_t i : train) {
      row_of(samples.samples[i], x);
      for (std::size_t a = 0; a < n; ++a) {
        right[a] += x[a] * samples.samples[i].log_ns;
        for (std::size_t b = 0; b < n; ++b) normal[a * n + b] += x[a] * x[b];
      }
    }
    for (std::size_t a = 0; a + 1 < n; ++a) normal[a * n + a] += kPenalty * static_cast<double>(train.size());
    solve(normal, right);
  }
  [[nodiscard]] const std::vector<double>& coefficients() const { return coefficients_; }
  [[nodiscard]] double operator()(const JudgeSample& sample) const {
    std::vector<double> x(columns_.size() + 1);
    row_of(sample, x);
    return std::inner_product(x.begin(), x.end(), coefficients_.begin(), 0.0);
  }

 private:
  void row_of(const JudgeSample& sample, std::vector<double>& x) const {
    for (std::size_t c = 0; c < columns_.size(); ++c) x[c] = sample.scalars[columns_[c]] / 128.0;
    x.back() = 1;
  }
  // Solves by Gauss and Jordan; the matrix is symmetric and, but for the constant's row, positive definite.
  void solve(std::vector<double>& m, std::vector<double>& right) {
    const std::size_t n = right.size();
    for (std::size_t p = 0; p < n; ++p) {
      const double pivot = m[p * n + p];
      if (std::fabs(pivot) < 1e-12) continue;
      for (std::size_t r = 0; r < n; ++r) {
        if (r == p) continue;
        const double factor = m[r * n + p] / pivot;
        for (std::size_t c = 0; c < n; ++c) m[r * n + c] -= factor * m[p * n + c];
        right[r] -= factor * right[p];
      }
    }
    coefficients_.resize(n);
    for (std::size_t p = 0; p < n; ++p)
      coefficients_[p] = std::fabs(m[p * n + p]) < 1e-12 ? 0 : right[p] / m[p * n + p];
  }

  std::vector<std::size_t> columns_;
  std::vector<double> coefficients_;
};

GuessFigures figures_of_guess(std::string name, const JudgeSamples& samples, std::span<const std::uint32_t> of,
                              const std::function<double(const JudgeSample&)>& guess) {
  GuessFigures f{.name = std::move(name)};
  if (of.empty()) return f;
  std::vector<double> said, measured, errors;
  std::map<std::uint32_t, std::vector<std::size_t>> families;
  for (const std::uint32_t i : of) {
    families[samples.samples[i].family].push_back(said.size());
    said.push_back(guess(samples.samples[i]));
    measured.push_back(samples.samples[i].log_ns);
    errors.push_back(std::fabs(said.back() - measured.back()));
  }
  f.spearman = stats::rank_correlation(said, measured);
  f.median_error = stats::median(errors);
  double right = 0, pairs = 0;
  for (const auto& [family, members] : families) {
    std::size_t first = members[0];
    double fastest = measured[members[0]];
    for (const std::size_t a : members) {
      if (said[a] < said[first]) first = a;
      fastest = std::min(fastest, measured[a]);
      for (const std::size_t b : members) {
        if (measured[b] - measured[a] < kApart) continue;
        ++pairs;
        right += said[a] < said[b] ? 1 : said[a] == said[b] ? 0.5 : 0;
      }
    }
    f.regret += (measured[first] - fastest) / static_cast<double>(families.size());
  }
  f.pairs = pairs > 0 ? right / pairs : 0.5;
  return f;
}

double fault_of(const GuessFigures& f) {
  return 1 - (f.spearman + f.pairs) / 2;
}

Extraction extraction_of(const JudgeSamples& samples, std::span<const std::uint32_t> of, double margin,
                         const std::function<double(const JudgeSample&)>& guess) {
  struct Family {
    const JudgeSample* fixed = nullptr;  ///< the statically cheapest
    const JudgeSample* learned = nullptr;
    double guessed = 0, guessed_fixed = 0, fastest = 0;
  };
  std::map<std::uint32_t, Family> families;
  for (const std::uint32_t i : of) {
    const JudgeSample& s = samples.samples[i];
    Family& f = families[s.family];
    const double said = guess(s);
    if (s.static_best) f.fixed = &s, f.guessed_fixed = said;
    if (f.learned == nullptr || said < f.guessed) f.guessed = said;
    if (f.learned == nullptr || said <= f.guessed) f.learned = &s;
    f.fastest = &s == f.learned && f.fastest == 0 ? s.log_ns : std::min(f.fastest, s.log_ns);
  }
  Extraction e{.margin = margin};
  constexpr double kNoise = 0.01;
  double gain = 0, possible = 0, slower = 0, faster = 0, count = 0;
  for (const auto& [number, f] : families) {
    if (f.fixed == nullptr) continue;
    const JudgeSample& taken = f.guessed < f.guessed_fixed - margin ? *f.learned : *f.fixed;
    const double difference = f.fixed->log_ns - taken.log_ns;
    gain += difference, possible += f.fixed->log_ns - f.fastest, ++count;
    slower += difference < -kNoise ? 1 : 0, faster += difference > kNoise ? 1 : 0;
  }
  if (count == 0) return e;
  e.gain = std::exp(gain / count), e.possible = std::exp(possible / count);
  e.slower = slower / count, e.faster = faster / count;
  return e;
}

}  // namespace

bool JudgeSamples::add(const expr::Expr& expr, const kir::Kernel& kernel, const cost::Table& costs, double ns,
                       std::uint32_t family, unsigned depth) {
  CHECK(family < families.size() && ns > 0);
  const Result<egraph::Term> term = expr::rewrite::to_term(expr);
  if (!term.ok()) return false;
  const nnue::FeatureList list = nnue::features_of(*term, expr::rewrite::op_rows(), expr::rewrite::node_kinds(), depth);
  const expr::rewrite::KernelWork work = expr::rewrite::work_of(kernel, costs);
  JudgeSample s;
  s.first = static_cast<std::uint32_t>(features.size());
  features.insert(features.end(), list.list.begin(), list.list.end());
  s.end = static_cast<std::uint32_t>(features.size());
  s.nodes = list.nodes;
  s.family = family;
  s.scalars = expr::rewrite::scalars_of(work, costs, list.nodes);
  s.log_ns = std::log(ns);
  s.static_log = std::log(expr::rewrite::static_ns(work, costs));
  samples.push_back(s);
  return true;
}

Example JudgeSamples::example_of(const JudgeSample& sample) const {
  Example example;
  example.features = std::span(features).subspan(sample.first, sample.end - sample.first);
  example.nodes = sample.nodes;
  example.scalars = sample.scalars;
  return example;
}

Result<JudgeSamples> samples_of(const TimedKernels& timed, std::uint32_t machine, unsigned depth,
                                const std::function<void(std::size_t done)>& progress) {
  JudgeSamples out;
  const Machine& where = timed.machines[machine];
  const cost::Table& costs = cost::shipped(where.isa, where.cpu);
  for (const TimedFamily& family : timed.families) {
    if (family.machine != machine) continue;
    out.families.push_back({family.name, family.generator});
    for (std::uint32_t k = family.first; k < family.end; ++k) {
      TRY(const expr::Expr expr, expr::parse(timed.kernels[k].text));
      TRY(const kir::Kernel kernel, kernel_of(timed.kernels[k].text));
      if (!out.add(expr, kernel, costs, std::sqrt(timed.kernels[k].ns * timed.kernels[k].ns_again),
                   static_cast<std::uint32_t>(out.families.size() - 1), depth))
        continue;
      // The source, if no form is cheaper.
      const bool has_best = family.first + 1 < family.end && timed.kernels[family.first + 1].how == "best";
      out.samples.back().static_best = k == family.first + (has_best ? 1u : 0u);
    }
    if (progress) progress(family.end);
  }
  return out;
}

Ceiling ceiling_of(const TimedKernels& timed, std::uint32_t machine) {
  std::vector<double> first, again, first_attempt, first_attempt_again;
  for (const TimedKernel& kernel : timed.kernels) {
    if (timed.families[kernel.family].machine != machine) continue;
    first.push_back(kernel.ns), again.push_back(kernel.ns_again);
    first_attempt.push_back(kernel.first_ns > 0 ? kernel.first_ns : kernel.ns);
    first_attempt_again.push_back(kernel.first_ns > 0 ? kernel.first_ns_again : kernel.ns_again);
  }
  return {stats::rank_correlation(first, again),
          timed.knows_attempts ? stats::rank_correlation(first_attempt, first_attempt_again) : 0};
}

JudgeSplit split_of(const JudgeSamples& samples, const std::string& by_hand, std::span<const std::string> without) {
  JudgeSplit split;
  for (std::uint32_t i = 0; i < samples.samples.size(); ++i) {
    const JudgeSamples::Family& family = samples.families[samples.samples[i].family];
    const bool left_out = std::find(without.begin(), without.end(), family.generator) != without.end();
    const std::uint64_t hash = mixed_hash(family.name);
    const double draw = static_cast<double>(hash >> 11) * 0x1p-53;
    const double again = static_cast<double>(hash * 0xD134'2543'DE82'EF95u >> 11) * 0x1p-53;
    (family.generator == by_hand ? split.by_hand
     : left_out                  ? split.left_out
     : draw < kHeldOut           ? split.held_out
     : again < kValidation       ? split.validation
                                 : split.train)
        .push_back(i);
  }
  return split;
}

JudgeFigures figures_of(const Network& network, const JudgeSamples& samples, std::span<const std::uint32_t> train,
                        std::span<const std::uint32_t> held_out) {
  JudgeFigures out;
  out.samples = held_out.size();
  std::vector<std::uint32_t> families;
  for (const std::uint32_t i : held_out) families.push_back(samples.samples[i].family);
  std::sort(families.begin(), families.end());
  out.families = static_cast<std::size_t>(std::unique(families.begin(), families.end()) - families.begin());
  const auto guess = [&](const JudgeSample& s) { return guess_of(network, samples, s); };
  const double margin = network.linear_guess() ? double{network.linear_guess()->margin} : 0;
  for (const double m : {0.0, margin}) out.extraction.push_back(extraction_of(samples, held_out, m, guess));
  out.guesses.push_back(figures_of_guess("network", samples, held_out, guess));
  if (const expr::rewrite::TimeModel* shipped = expr::rewrite::shipped_time_model())
    out.guesses.push_back(figures_of_guess("shipped judge", samples, held_out, [&](const JudgeSample& s) {
      return shipped->log_ns(samples.example_of(s).features, s.nodes, s.scalars);
    }));
  std::vector<std::size_t> all(nn::kScalars);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto column = [](TimeScalar s) { return std::vector<std::size_t>{static_cast<std::size_t>(s)}; };
  for (const auto& [name, columns] : {std::pair{"ridge regression", all},
                                      {"analytical model", column(TimeScalar::static_guess)},
                                      {"sum of throughputs", column(TimeScalar::throughput)},
                                      {"sum of latencies", column(TimeScalar::latency)},
                                      {"critical path", column(TimeScalar::path)},
                                      {"nodes", column(TimeScalar::nodes)}})
    out.guesses.push_back(figures_of_guess(name, samples, held_out, Ridge(columns, samples, train)));
  return out;
}

// Fills a short group up with its first kernel in a batch, where the copies do not count.
std::vector<std::vector<std::uint32_t>> groups_of(const JudgeSamples& samples, std::span<const std::uint32_t> train) {
  std::vector<std::vector<std::uint32_t>> groups;
  for (const std::uint32_t i : train) {
    if (samples.samples[i].end - samples.samples[i].first > kKernelFeaturesMax) continue;
    if (groups.empty() || groups.back().size() == kGroup ||
        samples.samples[groups.back()[0]].family != samples.samples[i].family)
      groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

double guess_of(const Network& network, const JudgeSamples& samples, const JudgeSample& sample) {
  const nn::LinearGuess* base = network.linear_guess() ? &*network.linear_guess() : nullptr;
  return expr::rewrite::base_of(base, sample.scalars) + network.score(HeadKind::judge, samples.example_of(sample));
}

double judge_fault(const Network& network, const JudgeSamples& samples, std::span<const std::uint32_t> of) {
  const GuessFigures f =
      figures_of_guess("", samples, of, [&](const JudgeSample& s) { return guess_of(network, samples, s); });
  return fault_of(f);
}

nn::LinearGuess fit_base(const JudgeSamples& samples, std::span<const std::uint32_t> train) {
  std::vector<std::size_t> all(nn::kScalars);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Ridge ridge(all, samples, train);
  nn::LinearGuess base;
  for (std::size_t k = 0; k < all.size(); ++k) base.per_scalar[k] = static_cast<float>(ridge.coefficients()[k]);
  base.constant = static_cast<float>(ridge.coefficients().back());
  return base;
}

double best_margin(const Network& network, const JudgeSamples& samples, std::span<const std::uint32_t> of,
                   double slower_max) {
  std::vector<double> guesses(samples.samples.size());
  for (const std::uint32_t i : of) guesses[i] = guess_of(network, samples, samples.samples[i]);
  const auto guess = [&](const JudgeSample& s) {
    return guesses[static_cast<std::size_t>(&s - samples.samples.data())];
  };
  double best = kMargins.back(), gain = 0;
  for (const double margin : kMargins) {
    const Extraction e = extraction_of(samples, of, margin, guess);
    if (e.slower <= slower_max && e.gain > gain) best = margin, gain = e.gain;
  }
  return best;
}

Result<train::TrainingResult> train_judge(Network& network, const JudgeSamples& samples,
                                          std::span<const std::uint32_t> train,
                                          std::span<const std::uint32_t> validation, const JudgeTraining& options) {
  nn::LinearGuess base = fit_base(samples, train);
  network.set_linear_guess(base);
  network.scale_score(HeadKind::judge, 0);
  const std::vector<std::vector<std::uint32_t>> groups = groups_of(samples, train);
  const std::size_t per_shard = options.trainer.samples_per_shard, batch = per_shard * kGroup;
  std::size_t features_max = 1;
  for (const auto& group : groups)
    for (const std::uint32_t i : group)
      features_max = std::max<std::size_t>(features_max, samples.samples[i].end - samples.samples[i].first);

  struct OfShard {
    autodiff::Tape<float> tape;
    RecordedBatch recorded;
    autodiff::Value<float> model, target, weights;
    autodiff::Integers families;
    explicit OfShard(tensor::ParameterStore<float>& store) : tape(store, autodiff::Mode::train) {}
  };
  std::vector<std::unique_ptr<OfShard>> shards;
  train::Model model;
  model.store = &network.store();
  model.architecture = network.architecture();
  for (std::size_t k = 0; k < kShards; ++k) {
    shards.push_back(std::make_unique<OfShard>(network.store()));
    OfShard& s = *shards.back();
    s.recorded = network.record(s.tape, HeadKind::judge, batch, batch * features_max);
    const auto constant = [&](const char* name, const autodiff::Shape& shape, double value) {
      const autodiff::Value<float> made = s.tape.input(name, shape);
      std::fill_n(made.data, made.shape.count(), static_cast<float>(value));
      return made;
    };
    s.model = s.tape.input("model", {batch, 1});
    s.target = s.tape.input("log_ns", {batch, 1});
    s.weights = s.tape.input("weights", {batch, 1});
    s.families = s.tape.integers("families", {batch});
    const auto guess = autodiff::add(s.tape, s.recorded.score, s.model);
    const auto error = autodiff::huber(s.tape, guess, s.target, s.weights, kHuber);
    const auto sharp = autodiff::multiply(s.tape, guess, constant("sharpness", {batch, 1}, kSharpness));
    const auto order = autodiff::pairwise_rank(s.tape, sharp, s.target, s.families);
    const auto loss = autodiff::add(
        s.tape, error, autodiff::multiply(s.tape, order, constant("pairwise", order.shape, options.pairwise)));
    s.tape.finish(loss);
    model.shards.push_back({&s.tape, loss});
  }
  model.load = [&](std::size_t shard, std::span<const std::uint32_t> numbers) {
    OfShard& s = *shards[shard];
    std::vector<Example> examples;
    for (std::size_t g = 0; g < numbers.size(); ++g) {
      const std::vector<std::uint32_t>& group = groups[numbers[g]];
      for (std::size_t k = 0; k < kGroup; ++k) {
        const bool real = k < group.size();
        const JudgeSample& sample = samples.samples[group[real ? k : 0]];
        const std::size_t at = g * kGroup + k;
        examples.push_back(samples.example_of(sample));
        s.model.data[at] = static_cast<float>(expr::rewrite::base_of(&base, sample.scalars));
        s.target.data[at] = static_cast<float>(sample.log_ns);
        s.weights.data[at] = real ? 1.0f : 0.0f;
        // A filler is a family of its own.
        s.families.data[at] = static_cast<std::int32_t>(real ? g : numbers.size() + at);
      }
    }
    std::vector<std::vector<std::uint32_t>> kept(examples.size());
    if (options.drop > 0) {
      std::uint64_t random = options.trainer.seed;
      for (const std::uint32_t n : numbers) random = mixed(random ^ n);
      for (std::size_t i = 0; i < examples.size(); ++i) {
        for (const std::uint32_t f : examples[i].features)
          if (static_cast<double>((random = mixed(random)) >> 11) * 0x1p-53 >= options.drop) kept[i].push_back(f);
        examples[i].features = kept[i];
      }
    }
    network.fill(s.recorded, examples);
    if (options.drop > 0)
      for (std::size_t i = 0; i < s.recorded.per_node.shape.count(); ++i)
        s.recorded.per_node.data[i] /= static_cast<float>(1 - options.drop);
  };
  model.validate = [&] { return judge_fault(network, samples, validation); };
  std::vector<std::uint32_t> numbers(groups.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  TRY(train::TrainingResult result, train::train(model, numbers, options.trainer, options.progress));
  if (result.interrupted) return result;
  // Scales the score as is best on families that it was not trained on: perhaps by 0.
  std::vector<double> scores(samples.samples.size());
  for (const std::uint32_t i : validation)
    scores[i] = network.score(HeadKind::judge, samples.example_of(samples.samples[i]));
  double best_share = 1;
  for (const double share : {0.75, 0.5, 0.25, 0.0}) {
    const GuessFigures f = figures_of_guess("", samples, validation, [&](const JudgeSample& s) {
      return expr::rewrite::base_of(&base, s.scalars) +
             share * scores[static_cast<std::size_t>(&s - samples.samples.data())];
    });
    const double fault = fault_of(f);
    if (fault < result.best_metric) result.best_metric = fault, best_share = share;
  }
  network.scale_score(HeadKind::judge, static_cast<float>(best_share));
  // The larger margin: with few validating families a share of slower ones is a matter of luck, and with those trained
  // on it is too good.
  base.margin =
      static_cast<float>(std::max(best_margin(network, samples, validation), best_margin(network, samples, train)));
  network.set_linear_guess(base);
  return result;
}

std::vector<std::uint64_t> hits_of(const JudgeSamples& samples, std::span<const std::uint32_t> of) {
  std::vector<std::uint64_t> hits(nnue::kFeatures);
  for (const std::uint32_t i : of)
    for (std::uint32_t f = samples.samples[i].first; f < samples.samples[i].end; ++f) ++hits[samples.features[f]];
  return hits;
}

}  // namespace trident::learn
