// Teaches the network of TASM (jit/tir/neural) what the superoptimiser answers, and writes its weights.
//
//   bench_tir_network_training OUT [--pairs N] [--steps N] [--threads N] [--from WEIGHTS] [--seed N]
//
// Blocks: those of the corpus's training programs, as they are lowered and with peephole passes, pieces of them with
// some instructions changed, and blocks of random programs. No program of the test split is looked at. Answers: the
// superoptimiser's cheapest by words, where jit/tir/equiv proves it, else the block itself.
//
// The shipped weights were taught three times, each time by other pairs (--seed) from the weights before (--from).
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "bench/tir_training_blocks.h"
#include "jit/tir/equiv/equiv.h"
#include "jit/tir/neural/warm_start.h"
#include "jit/tir/superopt/superopt.h"
#include "runtime/os/atomic_file.h"
#include "runtime/tensor/generator.h"

namespace trident::bench {
namespace {

namespace neural = tir::neural;

constexpr std::size_t kAnswerTokensMax = 28, kTeacherWidth = 48;

struct Options {
  std::string out, from;
  std::uint64_t pairs = 45'000, steps = 12'000, seed = 1;
  unsigned threads = 2;
};

/// The block and the teacher's answer, or the block itself when there is no answer.
neural::Pair pair_of(const Piece& block) {
  tir::superopt::Options options;
  options.measures = {{1, 0.1, 0.01}};
  options.width = kTeacherWidth;
  for (const Piece& answer : tir::superopt::propose(block, options))
    if (tir::equiv::decide(block, answer).answer == tir::equiv::Answer::equal) return {block, answer};
  return {block, block};
}

std::vector<neural::Pair> pairs_of(const Options& options) {
  const TrainingBlocks source(options.seed);
  std::vector<neural::Pair> pairs(options.pairs);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < pairs.size(); i = next++) {
      tensor::Generator random(options.seed, i);
      do pairs[i] = pair_of(source.piece(random));
      while (pairs[i].baseline.empty() || (pairs[i].better == pairs[i].baseline && random.below(3) != 0));
      if (i % 5000 == 0) std::fprintf(stderr, "pair %zu\n", i);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < options.threads; ++t) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  return pairs;
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int run(const Options& options) {
  neural::Weights from = neural::initial_weights(options.seed);
  if (!options.from.empty()) {
    const auto file = os::read_file(options.from, 1u << 20);
    if (!file.ok()) return fail(file.error());
    auto read = neural::weights_in(*file);
    if (!read.ok()) return fail(read.error());
    from = *std::move(read);
  }
  const std::vector<neural::Pair> pairs = pairs_of(options);
  std::size_t better = 0, words = 0, answer_words = 0;
  for (const neural::Pair& p : pairs) {
    better += p.better != p.baseline ? 1 : 0;
    words += tir::tasm::words(p.baseline), answer_words += tir::tasm::words(p.better);
  }
  std::printf("%zu pairs, %zu with a better answer, %zu words to %zu\n", pairs.size(), better, words, answer_words);
  const auto taught =
      neural::warm_start(pairs, from,
                         {.seed = options.seed,
                          .steps = options.steps,
                          .lessons_per_step = 64,
                          .nodes_max = kPieceMax,
                          .tokens_max = kAnswerTokensMax,
                          .threads = options.threads},
                         [](std::uint64_t step, double loss) {
                           if (step % 500 == 0)
                             std::printf("step %llu: %.4f nats a token\n", (unsigned long long)step, loss);
                           std::fflush(stdout);
                           return true;
                         });
  if (!taught.ok()) return fail(taught.error());
  std::printf("taught by %zu pairs, %zu left out; %.4f nats a token at the end\n", taught->used, taught->left_out,
              taught->loss);
  auto file = os::AtomicFile::create(options.out);
  if (!file.ok()) return fail(file.error());
  if (const auto written = file->append(neural::file_of(taught->weights)); !written.ok()) return fail(written.error());
  if (const auto done = file->commit(); !done.ok()) return fail(done.error());
  return 0;
}

int main_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (std::strcmp(argv[i], "--pairs") == 0)
      options.pairs = number();
    else if (std::strcmp(argv[i], "--steps") == 0)
      options.steps = number();
    else if (std::strcmp(argv[i], "--threads") == 0)
      options.threads = static_cast<unsigned>(number());
    else if (std::strcmp(argv[i], "--seed") == 0)
      options.seed = number();
    else if (std::strcmp(argv[i], "--from") == 0 && i + 1 < argc)
      options.from = argv[++i];
    else
      options.out = argv[i];
  }
  if (options.out.empty() || options.pairs == 0 || options.steps == 0 || options.threads == 0) {
    std::fprintf(stderr, "usage: %s OUT [--pairs N] [--steps N] [--threads N] [--from WEIGHTS] [--seed N]\n", argv[0]);
    return 2;
  }
  return run(options);
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::main_of(argc, argv);
}
