// Teaches the network that orders the superoptimiser's states (jit/tir/superopt/ordering.h) by hindsight, and writes
// its weights: of each number of instructions, the state on the way to the best answer should come before the other
// candidates of the search.
//
//   bench_tir_superopt_training OUT [--blocks N] [--rounds N] [--steps N] [--threads N] [--seed N]
//
// Blocks: bench/tir_training_blocks.h. In the first round candidates come from searches by the heuristic, later from
// searches with the network as it is by then; best answers from a wide beam. No program of the test split is looked at.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "bench/tir_training_blocks.h"
#include "jit/tir/superopt/features.h"
#include "jit/tir/superopt/superopt.h"
#include "runtime/autodiff/ops.h"
#include "runtime/nn/layers.h"
#include "runtime/os/atomic_file.h"
#include "runtime/train/sharded_step.h"

namespace trident::bench {
namespace {

namespace superopt = tir::superopt;
using autodiff::Activation;
using superopt::State;

constexpr std::size_t kBlockMax = 36;  // instructions
constexpr std::size_t kWide = 400, kNarrow = 64;
constexpr std::size_t kCandidates = 12;  // of a lesson; the first is the right one
constexpr std::size_t kLayersMax = 8;    // lessons from one search
constexpr float kTemperature = 0.5f;     // moves on the stack
constexpr std::size_t kRowsMax = 900;    // of the embedding, so that the file stays small
constexpr std::size_t kShards = 2, kLessonsPerShard = 32;
constexpr double kRate = 1e-3, kOne = 127;  // integers that stand for 1

struct Options {
  std::string out;
  std::uint64_t blocks = 8'000, rounds = 3, steps = 1'500, seed = 1;
  unsigned threads = 2;
};

struct Candidate {
  std::vector<superopt::Feature> features;
  superopt::Scalars scalars{};
  float by_heuristic = 0;  // in moves
};
using Lesson = std::array<Candidate, kCandidates>;

// --- lessons ---

Candidate candidate_of(superopt::Onlooker& onlooker, const State& state, const superopt::Weights& weights) {
  superopt::Seen seen;
  onlooker.look(state, seen);
  Candidate out;
  for (const superopt::Feature f : seen.places)
    if (f != superopt::kNoFeature) out.features.push_back(f);
  out.scalars = seen.scalars;
  out.by_heuristic = static_cast<float>((state.spent + state.left) / superopt::move_cost(weights));
  return out;
}

void add_lessons(const Piece& block, const nn::AccumulatorWeights* network, tensor::Generator& random,
                 std::vector<Lesson>& out) {
  const auto specification = superopt::specify(block);
  if (!specification) return;
  const superopt::Weights weights =
      superopt::kMeasures[random.below(2) == 0 ? 0 : random.below(superopt::kMeasures.size())];
  // The block itself is an answer too: how it is found is worth knowing where there is no better one.
  const double bound = superopt::cost(block, weights) + 0.01;
  superopt::Trace wide, narrow;
  superopt::search(*specification, bound,
                   {.weights = weights, .width = kWide, .stop = {}, .network = network, .trace = &wide});
  superopt::search(*specification, bound,
                   {.weights = weights, .width = kNarrow, .stop = {}, .network = network, .trace = &narrow});
  const bool narrow_is_better = !narrow.path.empty() && (wide.path.empty() || narrow.spent < wide.spent);
  const std::vector<State>& path = narrow_is_better ? narrow.path : wide.path;
  std::vector<std::size_t> depths;
  for (std::size_t d = 0; d < std::min(path.size(), narrow.layers.size()); ++d)
    if (narrow.layers[d].size() >= 2 * kCandidates) depths.push_back(d);
  superopt::Onlooker onlooker(*specification, weights);
  for (std::size_t taken = 0; taken < kLayersMax && !depths.empty(); ++taken) {
    const std::size_t at = random.below(depths.size());
    const std::size_t depth = depths[at];
    depths.erase(depths.begin() + static_cast<std::ptrdiff_t>(at));
    const std::vector<State>& layer = narrow.layers[depth];
    Lesson lesson;
    lesson[0] = candidate_of(onlooker, path[depth], weights);
    for (std::size_t c = 1; c < kCandidates;) {
      const std::size_t among = c % 2 == 0 ? layer.size() : std::min(layer.size(), kNarrow);
      const State& other = layer[random.below(among)];
      if (other.hash() == path[depth].hash()) continue;
      lesson[c++] = candidate_of(onlooker, other, weights);
    }
    out.push_back(std::move(lesson));
  }
}

std::vector<Lesson> lessons_of(const Options& options, const TrainingBlocks& source, std::uint64_t round,
                               const nn::AccumulatorWeights* network) {
  std::vector<std::vector<Lesson>> by_block(options.blocks);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < by_block.size(); i = next++) {
      tensor::Generator random(options.seed + round * 1'000'000, i);
      add_lessons(source.piece(random, random.below(2) == 0 ? kPieceMax : kBlockMax), network, random, by_block[i]);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < options.threads; ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  std::vector<Lesson> all;
  for (auto& some : by_block) std::move(some.begin(), some.end(), std::back_inserter(all));
  return all;
}

// --- the network in floats ---

class Twin {
 public:
  explicit Twin(std::uint64_t seed) : store_(seed, 1 << 16) {}

  struct Recorded {
    std::unique_ptr<autodiff::Tape<float>> tape;
    autodiff::Bags features;
    autodiff::Value<float> scalars, by_heuristic, loss, logits;
  };
  /// -log of the share that the first candidate has of exp(-estimate / temperature).
  Recorded record() {
    constexpr std::size_t kSamples = kLessonsPerShard * kCandidates;
    Recorded r;
    r.tape = std::make_unique<autodiff::Tape<float>>(store_, autodiff::Mode::train);
    autodiff::Tape<float>& tape = *r.tape;
    r.features = tape.bags("features", kSamples, kSamples * superopt::kPlaces);
    r.scalars = tape.input("scalars", {kSamples, nn::kScalars});
    r.by_heuristic = tape.input("heuristic", {kLessonsPerShard, kCandidates});
    const auto embedded = nn::sparse_bag(tape, "embedding", r.features, superopt::feature_space().features, nn::kLanes,
                                         train::planes_of(train::RowAlgorithm::adam), 40, Activation::clipped_relu);
    const autodiff::Value<float> seen[] = {embedded, r.scalars};
    const auto hidden =
        nn::linear(tape, "hidden", autodiff::concat(tape, std::span<const autodiff::Value<float>>(seen)), nn::kHidden,
                   Activation::clipped_relu);
    const auto said = nn::linear(tape, "out", hidden, 1, Activation::none);
    r.logits = autodiff::add(tape, autodiff::reshape(tape, said, {kLessonsPerShard, kCandidates}), r.by_heuristic);
    const auto labels = tape.integers("first", {kLessonsPerShard});
    std::fill_n(labels.data, kLessonsPerShard, 0);
    r.loss = autodiff::softmax_cross_entropy(tape, r.logits, labels, {}, {});
    tape.finish(r.loss);
    return r;
  }
  /// `shown`: per feature, whether it has a row.
  static void fill(const Recorded& r, std::size_t place, const Lesson& lesson, const std::vector<bool>& shown) {
    for (std::size_t c = 0; c < kCandidates; ++c) {
      const std::size_t s = place * kCandidates + c;
      if (s == 0) r.features.offsets.data[0] = 0;
      std::int32_t at = r.features.offsets.data[s];
      for (const superopt::Feature f : lesson[c].features)
        if (shown[f]) r.features.ids.data[at++] = f;
      r.features.offsets.data[s + 1] = at;
      for (std::size_t k = 0; k < nn::kScalars; ++k)
        r.scalars.data[s * nn::kScalars + k] = static_cast<float>(lesson[c].scalars[k] / kOne);
      r.by_heuristic.data[s] = (lesson[0].by_heuristic - lesson[c].by_heuristic) / kTemperature;
    }
  }
  /// Quantises the weights, with a row for each of `order`.
  [[nodiscard]] nn::PlainWeights quantised(const std::vector<std::uint32_t>& order) const;
  tensor::ParameterStore<float>& store() { return store_; }

 private:
  [[nodiscard]] std::span<const float> values(const char* name) const { return store_.values(*store_.find(name)); }

  tensor::ParameterStore<float> store_;
};

std::int8_t to_int8(double value) {
  return static_cast<std::int8_t>(std::lround(std::clamp(value, -kOne, kOne)));
}

double largest(std::span<const float> values) {
  float most = 1e-3f;
  for (const float v : values) most = std::max(most, std::fabs(v));
  return most;
}

nn::PlainWeights Twin::quantised(const std::vector<std::uint32_t>& order) const {
  nn::PlainWeights w;
  w.space = superopt::feature_space();
  w.order = order;
  const tensor::RowTable<float>& table = *store_.tables()[0];
  std::vector<float> sizes;
  for (const std::uint32_t f : w.order)
    for (std::size_t l = 0; l < nn::kLanes; ++l) sizes.push_back(std::fabs(table.row(f)[l]));
  // All but one in ten thousand fit; those are cut.
  const auto nearly_all = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() - 1 - sizes.size() / 10'000);
  std::nth_element(sizes.begin(), nearly_all, sizes.end());
  const double scale = kOne / std::max(1e-3, static_cast<double>(*nearly_all));
  for (const std::uint32_t f : w.order)
    for (std::size_t l = 0; l < nn::kLanes; ++l) w.rows.push_back(to_int8(table.row(f)[l] * scale));
  for (std::size_t l = 0; l < nn::kLanes; ++l)
    w.bias[l] = static_cast<std::int32_t>(std::lround(values("embedding.bias")[l] * scale));
  w.pool_factor = static_cast<std::uint32_t>(std::clamp(std::lround(kOne * 65536 / scale), 1l, 1l << 24));

  const auto w1 = values("hidden.weight"), b1 = values("hidden.bias"), w2 = values("out.weight");
  nn::PlainWeights::Head& head = w.heads[static_cast<std::size_t>(nn::HeadKind::judge)];
  std::uint32_t shift = 0;
  while (shift < 12 && largest(w1) * std::ldexp(1.0, static_cast<int>(shift) + 1) <= kOne) ++shift;
  const double scale1 = std::ldexp(1.0, static_cast<int>(shift));
  const std::uint32_t finer = std::min(6u, shift);  // steps between 0 and 1 finer than the lanes': candidates are near
  head.shift = shift - finer;
  head.most = 127 << finer;
  const double step = std::ldexp(1.0, static_cast<int>(finer)), half = std::ldexp(0.5, static_cast<int>(head.shift));
  const double scale2 = kOne / largest(w2);
  head.bias.assign(1, {});
  for (std::size_t j = 0; j < nn::kHidden; ++j) {
    for (std::size_t l = 0; l < nn::kLanes; ++l)
      head.w1[j * nn::kLanes + l] = to_int8(w1[l * nn::kHidden + j] * scale1);
    for (std::size_t k = 0; k < nn::kScalars; ++k)
      head.ws[j * nn::kScalars + k] = to_int8(w1[(nn::kLanes + k) * nn::kHidden + j] * scale1);
    head.w2[j] = to_int8(-w2[j] * scale2);  // less is better
    head.bias[0][j] = static_cast<std::int32_t>(std::lround(b1[j] * kOne * scale1 + half));
  }
  w.judge_unit = static_cast<float>(kTemperature / (kOne * step * scale2));
  return w;
}

struct Figures {
  double loss = 0, first = 0, first_by_heuristic = 0;
};

/// Examines the network on lessons that it was not taught.
Figures examine(Twin::Recorded& r, std::span<const Lesson> lessons, const std::vector<bool>& shown) {
  Figures f;
  std::size_t asked = 0;
  for (std::size_t at = 0; at + kLessonsPerShard <= lessons.size(); at += kLessonsPerShard) {
    for (std::size_t i = 0; i < kLessonsPerShard; ++i) Twin::fill(r, i, lessons[at + i], shown);
    r.tape->forward();
    f.loss += r.loss.data[0];
    for (std::size_t i = 0; i < kLessonsPerShard; ++i, ++asked) {
      const float* with = r.logits.data + i * kCandidates;
      const float* without = r.by_heuristic.data + i * kCandidates;
      f.first += with[0] > *std::max_element(with + 1, with + kCandidates) ? 1 : 0;
      f.first_by_heuristic += without[0] > *std::max_element(without + 1, without + kCandidates) ? 1 : 0;
    }
  }
  const double n = static_cast<double>(std::max<std::size_t>(asked, 1));
  return {f.loss * kLessonsPerShard / n, f.first / n, f.first_by_heuristic / n};
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int run(const Options& options) {
  const TrainingBlocks source(options.seed);
  Twin twin(options.seed);
  train::Team team(options.threads);
  std::vector<Twin::Recorded> recorded;
  std::vector<train::Shard> shards;
  for (std::size_t i = 0; i < kShards; ++i) {
    recorded.push_back(twin.record());
    shards.push_back({recorded[i].tape.get(), recorded[i].loss});
  }
  train::ShardedStep stepper(twin.store(), shards, {.decay = 1e-4, .clip_norm = 1}, {}, team);
  std::vector<Lesson> lessons;
  std::vector<std::uint64_t> hits(superopt::feature_space().features);
  std::optional<nn::AccumulatorWeights> network;
  nn::PlainWeights plain;
  for (std::uint64_t round = 0; round < options.rounds; ++round) {
    std::vector<Lesson> fresh = lessons_of(options, source, round, network ? &*network : nullptr);
    const std::vector<Lesson> held_out(fresh.end() - static_cast<std::ptrdiff_t>(fresh.size() / 20), fresh.end());
    fresh.resize(fresh.size() - held_out.size());
    for (const Lesson& lesson : fresh)
      for (const Candidate& c : lesson)
        for (const superopt::Feature f : c.features) ++hits[f];
    std::move(fresh.begin(), fresh.end(), std::back_inserter(lessons));
    std::vector<std::uint32_t> order = nn::hot_first(hits);
    if (order.size() > kRowsMax) order.resize(kRowsMax);
    std::vector<bool> shown(hits.size());
    for (const std::uint32_t f : order) shown[f] = true;
    std::printf("round %llu: %zu lessons\n", (unsigned long long)round, lessons.size());
    double loss = 0;
    for (std::uint64_t step = 0; step < options.steps; ++step) {
      const double rate = kRate * (1 - 0.9 * static_cast<double>(step) / static_cast<double>(options.steps));
      loss += stepper.run(rate, [&](std::size_t shard) {
        tensor::Generator random(options.seed + 77, (round * options.steps + step) * kShards + shard);
        for (std::size_t i = 0; i < kLessonsPerShard; ++i)
          Twin::fill(recorded[shard], i, lessons[random.below(lessons.size())], shown);
      });
      if ((step + 1) % 500 == 0) {
        const Figures f = examine(recorded[0], held_out, shown);
        std::printf("step %llu: loss %.3f, held out %.3f; the right one first: %.3f, by the heuristic alone %.3f\n",
                    (unsigned long long)step + 1, loss / 500, f.loss, f.first, f.first_by_heuristic);
        std::fflush(stdout);
        loss = 0;
      }
    }
    plain = twin.quantised(order);
    auto made = nn::AccumulatorWeights::make(plain);
    if (!made.ok()) return fail(made.error());
    network.emplace(std::move(*made));
  }
  const auto bytes = nn::AccumulatorWeights::pack(plain);
  if (!bytes.ok()) return fail(bytes.error());
  std::printf("%zu rows, %zu bytes\n", plain.order.size(), bytes->size());
  auto file = os::AtomicFile::create(options.out);
  if (!file.ok()) return fail(file.error());
  if (const auto written = file->append(*bytes); !written.ok()) return fail(written.error());
  if (const auto done = file->commit(); !done.ok()) return fail(done.error());
  return 0;
}

int main_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (std::strcmp(argv[i], "--blocks") == 0)
      options.blocks = number();
    else if (std::strcmp(argv[i], "--rounds") == 0)
      options.rounds = number();
    else if (std::strcmp(argv[i], "--steps") == 0)
      options.steps = number();
    else if (std::strcmp(argv[i], "--threads") == 0)
      options.threads = static_cast<unsigned>(number());
    else if (std::strcmp(argv[i], "--seed") == 0)
      options.seed = number();
    else
      options.out = argv[i];
  }
  if (options.out.empty() || options.blocks == 0 || options.rounds == 0 || options.steps == 0 || options.threads == 0) {
    std::fprintf(stderr, "usage: %s OUT [--blocks N] [--rounds N] [--steps N] [--threads N] [--seed N]\n", argv[0]);
    return 2;
  }
  return run(options);
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::main_of(argc, argv);
}
