// Oracles: the formula in doubles from the named parts of the store; the integer formula in 64 bits; the incumbent's
// accumulator against the same plain weights.
#include "jit/learn/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "jit/nnue/random_terms.h"
#include "runtime/autodiff/ops.h"
#include "runtime/train/sharded_step.h"

namespace trident::learn {
namespace {

using autodiff::Mode;
using autodiff::Tape;
using nn::HeadKind;
using nnue::naive::Random;

constexpr std::uint32_t kRules = 5;

/// A random term, its features, and random scalars.
struct Sample {
  nnue::naive::Term term;
  std::vector<std::uint32_t> features;
  Example example;
};

std::vector<Sample> samples(std::uint32_t seed, std::size_t count, unsigned depth = nnue::kDefaultDepth) {
  Random random(seed);
  std::vector<Sample> all(count);
  for (Sample& s : all) {
    s.term = nnue::naive::random_term(random, 5 + random() % 100);
    nnue::naive::each_feature(s.term, depth, [&](std::uint32_t f) { s.features.push_back(f); });
    s.example.features = s.features;
    s.example.nodes = 0;
    for (const std::uint32_t references : s.term.references()) s.example.nodes += references > 0;
    for (auto& scalar : s.example.scalars) scalar = static_cast<std::int16_t>(static_cast<int>(random() % 401) - 200);
    s.example.rule = random() % kRules;
  }
  return all;
}
std::vector<Example> examples(const std::vector<Sample>& all) {
  std::vector<Example> out;
  for (const Sample& s : all) out.push_back(s.example);
  return out;
}
std::size_t features_in(const std::vector<Sample>& all) {
  std::size_t count = 0;
  for (const Sample& s : all) count += s.features.size();
  return count;
}
std::vector<std::uint64_t> hits_of(const std::vector<Sample>& all) {
  std::vector<std::uint64_t> hits(nnue::kFeatures);
  for (const Sample& s : all)
    for (const std::uint32_t f : s.features) ++hits[f];
  return hits;
}

/// Makes a network with every weight random, R and biases too.
std::unique_ptr<Network> random_network(const std::vector<Sample>& all, std::uint32_t width = nn::kLanes) {
  NetworkShape shape{.width = width, .rules = kRules, .own_rows = features_met(hits_of(all))};
  EXPECT_FALSE(shape.own_rows.empty());
  auto network = std::make_unique<Network>(shape, nnue::naive::kHash, 3);
  Random random(9);
  const auto weight = [&](double bound) {
    return static_cast<float>(bound * (static_cast<double>(random()) * 0x1p-31 - 1));
  };
  for (const tensor::Slice& slice : network->store().slices())
    for (float& w : network->store().values(slice)) w = weight(slice.name == "embedding.bias" ? 2 : 0.25);
  for (const auto& table : network->store().tables())
    for (std::size_t r = 0; r < table->rows(); ++r)
      for (std::size_t l = 0; l < table->width(); ++l) table->row(r)[l] = weight(0.3);
  return network;
}

const float* slice_of(const Network& network, const std::string& name) {
  return network.store().values(*network.store().find(name)).data();
}

/// Computes the formula of network.h.
double formula(const Network& network, HeadKind head, const Sample& s) {
  const std::size_t width = network.shape().width;
  const tensor::RowTable<float>& table = *network.store().tables()[0];
  const std::string name = head == HeadKind::judge ? "judge" : "guide";
  std::vector<double> x(width);
  for (std::size_t l = 0; l < width; ++l) x[l] = slice_of(network, "embedding.bias")[l];
  for (const std::uint32_t f : s.features) {
    const std::size_t p = f / 128 / 56, d = f / 128 % 56, q = f % 128;
    const auto& own = network.shape().own_rows;
    const auto at = std::lower_bound(own.begin(), own.end(), f);
    const bool has_own = at != own.end() && *at == f;
    for (std::size_t l = 0; l < width; ++l) {
      x[l] += table.row(p * 56 + d)[l];
      x[l] += table.row(56 * 56 + p * 128 + q)[l];
      x[l] += table.row(56 * 56 + 56 * 128 + d * 128 + q)[l];
      if (has_own) x[l] += table.row(17'472 + static_cast<std::size_t>(at - own.begin()))[l];
    }
  }
  const float *w1 = slice_of(network, name + ".hidden.weight"), *b1 = slice_of(network, name + ".hidden.bias");
  double score = slice_of(network, name + ".out.bias")[0];
  for (std::size_t j = 0; j < 32; ++j) {
    double z = b1[j];
    for (std::size_t l = 0; l < width; ++l) z += std::clamp(x[l] / s.example.nodes, 0.0, 1.0) * w1[l * 32 + j];
    for (std::size_t k = 0; k < 16; ++k) z += s.example.scalars[k] / 127.0 * w1[(width + k) * 32 + j];
    if (head == HeadKind::guide) z += network.store().tables()[1]->row(s.example.rule)[j];
    score += std::clamp(z, 0.0, 1.0) * slice_of(network, name + ".out.weight")[j];
  }
  return score;
}

/// Computes the integer formula of runtime/simd/kernels.h from weights before they are packed.
std::int64_t integer_formula(const nn::PlainWeights& w, HeadKind kind, const Sample& s) {
  std::map<std::uint32_t, std::size_t> place;
  for (std::size_t r = 0; r < w.order.size(); ++r) place[w.order[r]] = r;
  const nn::PlainWeights::Head& head = w.heads[static_cast<std::size_t>(kind)];
  const auto& bias = head.bias[kind == HeadKind::guide ? s.example.rule : 0];
  std::array<std::int64_t, nn::kHidden> z{};
  for (std::size_t j = 0; j < nn::kHidden; ++j) z[j] = bias[j];
  for (std::size_t l = 0; l < nn::kLanes; ++l) {
    std::int64_t sum = w.bias[l];
    for (const std::uint32_t f : s.features)
      if (const auto at = place.find(f); at != place.end()) sum += w.rows[at->second * nn::kLanes + l];
    const std::int64_t mean = std::max<std::int64_t>(sum, 0) * (w.pool_factor / s.example.nodes) >> 16;
    for (std::size_t j = 0; j < nn::kHidden; ++j)
      z[j] += std::min<std::int64_t>(mean, 127) * head.w1[j * nn::kLanes + l];
  }
  std::int64_t score = head.b2;
  for (std::size_t j = 0; j < nn::kHidden; ++j) {
    for (std::size_t k = 0; k < nn::kScalars; ++k) z[j] += head.ws[j * nn::kScalars + k] * s.example.scalars[k];
    score += head.w2[j] * std::clamp<std::int64_t>(z[j] >> head.shift, 0, head.most);
  }
  return score;
}

/// Scores by the accumulator of an incumbent that is the sample's term.
std::int32_t incumbent_score(const nn::AccumulatorWeights& weights, HeadKind kind, const Sample& s) {
  nnue::Incumbent incumbent(weights);
  nnue::naive::begin(incumbent, s.term);
  EXPECT_EQ(s.example.nodes, incumbent.nodes());
  alignas(64) std::array<std::int16_t, nn::kScalars> scalars = s.example.scalars;
  simd::Afterstate state;
  state.bias = weights.bias_row(kind, kind == HeadKind::guide ? s.example.rule : 0);
  state.scalars = scalars.data();
  state.pool = weights.pool(incumbent.nodes());
  std::int32_t score = 0;
  simd::kernels().score(&score, weights.head(kind), incumbent.accumulator(), &state, 1);
  return score;
}

TEST(Network, BatchesAndSingleScoresAreTheFormula) {
  const auto all = samples(1, 20);
  for (const std::uint32_t width : {64u, 256u}) {
    const auto network = random_network(all, width);
    for (const HeadKind head : {HeadKind::judge, HeadKind::guide})
      for (const bool frozen : {false, true}) {
        Tape<float> tape(network->store(), Mode::infer);
        const RecordedBatch batch = network->record(tape, head, all.size(), features_in(all), frozen);
        tape.finish();
        network->fill(batch, examples(all));
        tape.forward();
        double lowest = 1e9, highest = -1e9;
        for (std::size_t s = 0; s < all.size(); ++s) {
          const double expected = formula(*network, head, all[s]);
          EXPECT_NEAR(expected, batch.score.data[s], 1e-4);
          EXPECT_NEAR(expected, network->score(head, all[s].example), 1e-4);
          lowest = std::min(lowest, expected), highest = std::max(highest, expected);
        }
        EXPECT_GT(highest - lowest, 0.05);  // else all of this would hold for a constant
      }
  }
}

// Tolerance for integers: 7 bits of a pooled lane, 7 bits of a weight, 7 bits of a hidden unit. Scores spread over
// 0.7 to 1.1 here; 0.015 is the most that was seen.
TEST(Network, IntegersScoreAsFloatsDo) {
  constexpr double kTolerance = 0.02;
  const auto all = samples(2, 60);
  const auto hits = hits_of(all);
  for (const std::uint32_t width : {64u, 256u}) {
    const auto network = random_network(all, width);
    const Quantised quantised = network->quantise(hits);
    EXPECT_EQ(features_met(hits, 1).size(), quantised.weights.order.size());
    const auto packed = nn::AccumulatorWeights::make(quantised.weights);
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    for (const HeadKind head : {HeadKind::judge, HeadKind::guide})
      for (const Sample& s : all) {
        const std::int32_t score = incumbent_score(*packed, head, s);
        ASSERT_EQ(integer_formula(quantised.weights, head, s), score);
        EXPECT_NEAR(formula(*network, head, s), score * quantised.unit[static_cast<std::size_t>(head)], kTolerance);
      }
  }
}

TEST(Network, AllRowsAreThereWhenAsked) {
  const auto all = samples(3, 5);
  const auto network = random_network(samples(2, 60), 16);
  const Quantised quantised = network->quantise(hits_of(all), true);
  EXPECT_EQ(nnue::kFeatures, quantised.weights.order.size());
  const auto packed = nn::AccumulatorWeights::make(quantised.weights);
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  for (const Sample& s : samples(4, 20))  // with features that have no hits
    EXPECT_NEAR(formula(*network, HeadKind::judge, s), incumbent_score(*packed, HeadKind::judge, s) * quantised.unit[0],
                0.04);
}

class File : public ::testing::Test {
 protected:
  File() : path_(std::filesystem::temp_directory_path() / ("network_" + std::to_string(getpid()) + ".safetensors")) {}
  ~File() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(File, ComesBackToTheBit) {
  const auto all = samples(5, 20);
  const auto network = random_network(all, 64);
  ASSERT_TRUE(network->save(path_, {{"note", "x"}}).ok());
  const auto loaded = Network::load(path_, nnue::naive::kHash);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(network->shape().own_rows, (*loaded)->shape().own_rows);
  for (const HeadKind head : {HeadKind::judge, HeadKind::guide})
    for (const Sample& s : all) EXPECT_EQ(network->score(head, s.example), (*loaded)->score(head, s.example));
}

TEST_F(File, OfAnotherNetworkIsRefused) {
  const auto network = random_network(samples(5, 20), 64);
  ASSERT_TRUE(network->save(path_).ok());
  const auto refused = [&](std::uint64_t kinds, const char* why) {
    const auto loaded = Network::load(path_, kinds);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(ErrorCode::kRejectedRecord, loaded.error().code);
    EXPECT_NE(std::string::npos, loaded.error().message.find(why)) << loaded.error().message;
  };
  refused(nnue::naive::kHash + 1, "another model");
  std::ifstream in(path_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = bytes;
    ASSERT_NE(std::string::npos, changed.find(from));
    changed.replace(changed.find(from), from.size(), to);
    std::ofstream(path_, std::ios::binary) << changed;
  };
  with(R"("depth":"3")", R"("depth":"4")");
  refused(nnue::naive::kHash, "another model");
  with(R"("width":"64")", R"("width":"32")");
  refused(nnue::naive::kHash, "");
  with(R"("rules":"5")", R"("rules":"x")");
  refused(nnue::naive::kHash, "not numbers");
  with(R"("own_rows")", R"("own_cows")");
  refused(nnue::naive::kHash, "own_rows");
}

/// Returns the mean loss over `steps` steps at a time.
double train(Network& network, HeadKind head, bool frozen, const std::vector<Sample>& all, int steps) {
  Tape<float> tape(network.store(), Mode::train);
  const RecordedBatch batch = network.record(tape, head, all.size(), features_in(all), frozen);
  const auto target = tape.input("target", {all.size(), 1});
  const auto loss = autodiff::huber(tape, batch.score, target);
  tape.finish(loss);
  Random random(4);
  for (std::size_t s = 0; s < all.size(); ++s) target.data[s] = static_cast<float>(random() % 1000) / 1000;
  train::Team team(1);
  train::ShardedStep step(network.store(), {{&tape, loss}}, {}, {}, team);
  double last = 0;
  for (int i = 0; i < steps; ++i) last = step.run(3e-3, [&](std::size_t) { network.fill(batch, examples(all)); });
  return last;
}

std::vector<float> embedding_of(const Network& network) {
  std::vector<float> all;
  const tensor::RowTable<float>& table = *network.store().tables()[0];
  for (std::size_t r = 0; r < table.rows(); ++r) all.insert(all.end(), table.row(r), table.row(r) + table.width());
  return all;
}

TEST(Network, LearnsABatchByHeart) {
  const auto all = samples(6, 16);
  for (const HeadKind head : {HeadKind::judge, HeadKind::guide}) {
    Network network({.width = 64, .rules = kRules, .own_rows = features_met(hits_of(all))}, 1, 1);
    const double first = train(network, head, false, all, 1);
    EXPECT_LT(train(network, head, false, all, 300), 0.05 * first);
  }
}

// Features with rows of their own in one network only get zeros in the other.
TEST(Network, TakesAllOfAnotherButRowsThatItHasNot) {
  const auto all = samples(7, 24);
  const std::unique_ptr<Network> other = random_network(all, 64);
  NetworkShape shape = other->shape();
  Network same(shape, nnue::naive::kHash, 8);
  ASSERT_TRUE(same.take(*other).ok());
  std::vector<std::uint32_t> half;
  for (std::size_t i = 0; i < shape.own_rows.size(); i += 2) half.push_back(shape.own_rows[i]);
  shape.own_rows = half;
  Network fewer(shape, nnue::naive::kHash, 8);
  ASSERT_TRUE(fewer.take(*other).ok());
  Network again(other->shape(), nnue::naive::kHash, 9);
  ASSERT_TRUE(again.take(fewer).ok());
  for (const HeadKind head : {HeadKind::judge, HeadKind::guide}) {
    double apart = 0;
    for (const Sample& s : all) {
      EXPECT_EQ(same.score(head, s.example), other->score(head, s.example));
      EXPECT_EQ(again.score(head, s.example), fewer.score(head, s.example));
      apart += std::fabs(fewer.score(head, s.example) - other->score(head, s.example));
    }
    EXPECT_GT(apart, 0);
  }
  shape.rules += 1;
  Network more(shape, nnue::naive::kHash, 8);
  EXPECT_NE(more.take(*other).error().message.find("for 5 rules, but this one has 6"), std::string::npos);
  shape.rules -= 1, shape.width = 32;
  Network narrow(shape, nnue::naive::kHash, 8);
  EXPECT_FALSE(narrow.take(*other).ok());
}

TEST(Network, TheJudgesBaseIsKeptInFilesAndInIntegers) {
  Network network({.width = 8, .own_rows = {}}, 1, 1);
  EXPECT_FALSE(network.linear_guess().has_value());
  EXPECT_FALSE(network.quantise(std::vector<std::uint64_t>(nnue::kFeatures)).weights.linear_guess.has_value());
  nn::LinearGuess base;
  for (std::size_t k = 0; k < nn::kScalars; ++k) base.per_scalar[k] = 1.0f / (3.0f + static_cast<float>(k));
  base.constant = -0.1f, base.margin = 0.03f;
  network.set_linear_guess(base);
  const std::string path = ::testing::TempDir() + "/trident_linear_guess.safetensors";
  ASSERT_TRUE(network.save(path).ok());
  const auto loaded = Network::load(path, 1);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ((*loaded)->linear_guess(), base);
  EXPECT_EQ((*loaded)->quantise(std::vector<std::uint64_t>(nnue::kFeatures)).weights.linear_guess, base);
  std::filesystem::remove(path);
}

TEST(Network, ScalesWhatAHeadSays) {
  const auto all = samples(7, 8);
  const std::unique_ptr<Network> network = random_network(all, 16);
  std::vector<double> before;
  for (const Sample& s : all) before.push_back(network->score(HeadKind::judge, s.example));
  network->scale_score(HeadKind::judge, 0.5f);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_NEAR(network->score(HeadKind::judge, all[i].example), before[i] / 2, 1e-6);
}

TEST(Network, FrozenEmbeddingStaysAndTheHeadLearns) {
  const auto all = samples(6, 16);
  Network network({.width = 64, .rules = kRules, .own_rows = {}}, 1, 1);
  const std::vector<float> before = embedding_of(network);
  const Example& one = all[0].example;
  const double judged = network.score(HeadKind::judge, one), guided = network.score(HeadKind::guide, one);
  train(network, HeadKind::guide, true, all, 20);
  EXPECT_EQ(before, embedding_of(network));
  EXPECT_EQ(judged, network.score(HeadKind::judge, one));
  EXPECT_NE(guided, network.score(HeadKind::guide, one));
}

}  // namespace
}  // namespace trident::learn
