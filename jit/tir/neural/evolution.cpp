#include "jit/tir/neural/evolution.h"

#include <algorithm>
#include <cstring>

#include "runtime/os/atomic_file.h"
#include "runtime/store/sha256.h"
#include "runtime/tensor/generator.h"
#include "runtime/train/team.h"

namespace trident::tir::neural {
namespace {

constexpr std::uint64_t kFounderStream = 0xf0, kChildStream = 0xc0;

/// PopulationHeader of the file; each individual's fitness, whether it was judged, and weights follow; then SHA-256 of
/// all.
struct PopulationHeader {
  char magic[8];
  std::uint64_t seed, generations, individuals, weights;
  double mutation_rate, mutation_spread;
};
constexpr char kPopulationMagic[8] = {'T', 'I', 'R', 'E', 'V', 'O', 'L', '1'};
struct StoredIndividual {
  std::int64_t fitness;
  std::uint64_t judged;
};
constexpr std::size_t kIndividualBytes = sizeof(StoredIndividual) + kParameterCount * sizeof(std::int32_t);
constexpr std::size_t kFileBytes = sizeof(PopulationHeader) + kPopulation * kIndividualBytes + sizeof(store::Digest);

/// Moves about one weight in 1 / rate.
void mutate(Weights& weights, const EvolutionOptions& options, tensor::Generator& random) {
  for (std::int32_t& w : weights) {
    if (random.uniform() >= options.mutation_rate) continue;
    w = weight_of(real_of(w) + options.mutation_spread * (2 * random.uniform() - 1));
  }
}

}  // namespace

Evolution::Evolution(const EvolutionOptions& options, std::span<const Weights> founders) : options_(options) {
  CHECK(founders.size() <= kPopulation && options.threads >= 1);
  for (const Weights& founder : founders) {
    CHECK(founder.size() == kParameterCount);
    population_.push_back({founder, 0, false});
  }
  for (std::size_t i = founders.size(); i < kPopulation; ++i) {
    if (founders.empty())
      population_.push_back({initial_weights(tensor::mix(options.seed) + i), 0, false});
    else
      population_.push_back({mutant(founders[i % founders.size()], i), 0, false});
  }
}

Weights Evolution::mutant(std::span<const std::int32_t> weights, std::uint64_t stream) const {
  tensor::Generator random(options_.seed, kFounderStream << 32 | stream);
  Weights moved(weights.begin(), weights.end());
  mutate(moved, options_, random);
  return moved;
}

void Evolution::judge(const Fitness& fitness) {
  train::Team team(options_.threads);
  team.run(population_.size(), [&](std::size_t i) {
    Individual& individual = population_[i];
    if (individual.judged) return;
    individual.fitness = fitness(individual.weights);
    individual.judged = true;
  });
  std::stable_sort(population_.begin(), population_.end(),
                   [](const Individual& a, const Individual& b) { return a.fitness > b.fitness; });
}

Weights Evolution::child(std::size_t index) const {
  tensor::Generator random(options_.seed, kChildStream << 32 | (generations_ * kPopulation + index));
  const std::size_t a = random.below(kSurvivors), b = (a + 1 + random.below(kSurvivors - 1)) % kSurvivors;
  const Weights &one = population_[a].weights, &other = population_[b].weights;
  Weights weights(kParameterCount);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kParameterCount; ++i) {
    if (i % 64 == 0) bits = random.next();
    weights[i] = bits >> (i % 64) & 1 ? one[i] : other[i];
  }
  mutate(weights, options_, random);
  return weights;
}

void Evolution::breed() {
  for (const Individual& individual : population_) CHECK(individual.judged);
  std::vector<Weights> children;
  for (std::size_t i = kSurvivors; i < kPopulation; ++i) children.push_back(child(i));
  for (std::size_t i = kSurvivors; i < kPopulation; ++i)
    population_[i] = {std::move(children[i - kSurvivors]), 0, false};
}

void Evolution::generation(const Fitness& fitness) {
  if (generations_ > 0) {
    judge(fitness);
    breed();
  }
  judge(fitness);
  ++generations_;
}

void Evolution::replace_last(std::span<const Weights> weights) {
  CHECK(weights.size() <= kPopulation - kSurvivors);
  for (std::size_t i = 0; i < weights.size(); ++i) population_[kPopulation - 1 - i] = {weights[i], 0, false};
}

void Evolution::forget_fitness() {
  for (Individual& individual : population_) individual.judged = false;
}

Result<void> Evolution::save(const std::string& path) const {
  std::vector<std::byte> bytes;
  bytes.reserve(kFileBytes);
  const auto append = [&](const void* data, std::size_t count) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), from, from + count);
  };
  PopulationHeader header{
      {}, options_.seed, generations_, kPopulation, kParameterCount, options_.mutation_rate, options_.mutation_spread};
  std::memcpy(header.magic, kPopulationMagic, sizeof kPopulationMagic);
  append(&header, sizeof header);
  for (const Individual& individual : population_) {
    const StoredIndividual standing{individual.fitness, individual.judged ? 1u : 0u};
    append(&standing, sizeof standing);
    append(individual.weights.data(), individual.weights.size() * sizeof(std::int32_t));
  }
  const store::Digest digest = store::sha256_of(bytes);
  append(digest.data(), digest.size());
  TRY(os::AtomicFile file, os::AtomicFile::create(path));
  TRY_VOID(file.append(bytes));
  return file.commit();
}

Result<Evolution> Evolution::load(const std::string& path, unsigned threads) {
  TRY(const std::vector<std::byte> bytes, os::read_file(path, kFileBytes));
  const auto refused = [&] {
    return make_error(ErrorCode::kRejectedRecord, "%s: not a population of this network, or a damaged one",
                      path.c_str());
  };
  if (bytes.size() != kFileBytes) return refused();
  const auto body = std::span(bytes).first(kFileBytes - sizeof(store::Digest));
  const store::Digest digest = store::sha256_of(body);
  if (std::memcmp(digest.data(), bytes.data() + body.size(), digest.size()) != 0) return refused();
  PopulationHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kPopulationMagic, sizeof kPopulationMagic) != 0 || header.individuals != kPopulation ||
      header.weights != kParameterCount)
    return refused();
  Evolution evolution;
  evolution.options_ = {header.seed, header.mutation_rate, header.mutation_spread, threads};
  evolution.generations_ = header.generations;
  const std::byte* at = bytes.data() + sizeof header;
  for (std::size_t i = 0; i < kPopulation; ++i, at += kIndividualBytes) {
    StoredIndividual standing;
    std::memcpy(&standing, at, sizeof standing);
    Individual individual{Weights(kParameterCount), standing.fitness, standing.judged != 0};
    std::memcpy(individual.weights.data(), at + sizeof standing, kParameterCount * sizeof(std::int32_t));
    for (const std::int32_t w : individual.weights)
      if (w <= -kWeightBound || w >= kWeightBound) return refused();
    evolution.population_.push_back(std::move(individual));
  }
  return evolution;
}

}  // namespace trident::tir::neural
