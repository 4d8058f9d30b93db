// The cost of one generation of the network's evolution: 16 sets of weights write 16 tokens for each of 58 blocks of 12
// instructions, on two threads. First, every level's output must equal that of plain C++.
#include <atomic>
#include <thread>

#include "bench/ratio.h"
#include "jit/tir/neural/decode.h"
#include "jit/tir/neural/sample_blocks.h"
#include "runtime/base/check.h"

namespace trident::bench {
namespace {

using namespace tir::neural;

constexpr std::size_t kPopulation = 16, kBlocks = 58, kNodes = 12, kTokens = 16, kThreads = 2;
const DecodeOptions kOptions{.tokens_max = kTokens, .tokens_min = kTokens - 1};

std::vector<Original> blocks() {
  tensor::Generator random(58);
  std::vector<Original> originals;
  while (originals.size() < kBlocks) originals.push_back(*Original::of(sample_block(random, kNodes)));
  return originals;
}

struct Written {
  std::vector<std::vector<Token>> tokens;
  std::uint64_t multiply_adds = 0;
  bool operator==(const Written& other) const { return tokens == other.tokens; }
};

Written write(const Weights& weights, std::span<const Original> originals, os::SimdLevel level) {
  Network network(weights, level);
  Written written;
  for (const Draft& draft : decode_greedily(network, originals, kOptions)) written.tokens.push_back(draft.tokens());
  written.multiply_adds = network.multiply_adds();
  return written;
}

std::uint64_t generation(const std::vector<Weights>& population, std::span<const Original> originals) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> multiply_adds{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < population.size(); i = next++)
      multiply_adds += write(population[i], originals, tensor::best_level()).multiply_adds;
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < kThreads; ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  return multiply_adds;
}

void generations(benchmark::State& state) {
  const std::vector<Original> originals = blocks();
  std::vector<Weights> population;
  for (std::size_t i = 0; i < kPopulation; ++i) population.push_back(initial_weights(i + 1));
  const Written plain = write(population[0], originals, os::SimdLevel::portable);
  for (const os::SimdLevel level : {os::SimdLevel::avx2, os::SimdLevel::avx512})
    if (arithmetic_of(level) != nullptr) CHECK(write(population[0], originals, level) == plain);
  std::uint64_t multiply_adds = 0;
  const Rounds rounds = run_rounds(state, {[&] { multiply_adds = generation(population, originals); }});
  std::printf("%.3f G multiply-adds of %zu weights, level %s\n", static_cast<double>(multiply_adds) * 1e-9,
              kParameterCount, std::string(name_of(tensor::best_level())).c_str());
  print_figure("a generation, seconds on two threads", rounds.median_ns(0) * 1e-9);
}
BENCHMARK(generations)->Iterations(9)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
