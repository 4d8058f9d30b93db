// The value of a network that orders the superoptimiser's states (jit/tir/superopt/ordering.h): words saved on the
// straight-line blocks of the corpus's test programs, lowered with passes, by the heuristic alone and with
// the network, both in one run; at the same widths of the beam, and at the same time. Only what jit/tir/equiv proves
// counts.
//
//   bench_tir_superopt [--network WEIGHTS] [--train]
//
// Exit status 1 when the network saves fewer words than the heuristic alone at the default width of the beam (the last
// row), or than the heuristic in the same time.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "bench/tir_blocks.h"
#include "jit/tir/equiv/equiv.h"
#include "jit/tir/superopt/features.h"
#include "jit/tir/superopt/superopt.h"

namespace trident::bench {
namespace {

namespace superopt = tir::superopt;

/// The heuristic is measured at greater widths too, so that there is one that takes as long as the network's last.
constexpr std::size_t kWidths[] = {5, 10, 20, 40, 80, 160, 320};
constexpr std::size_t kWidthCount = std::size(kWidths), kDefault = kWidthCount - 2;

struct Sum {
  std::size_t saved = 0, unproven = 0;
  double seconds = 0;  // of the processor

  void add(const Piece& block, const superopt::Options& options) {
    const std::clock_t begin = std::clock();
    const std::vector<Piece> proposals = superopt::propose(block, options);
    seconds += double(std::clock() - begin) / CLOCKS_PER_SEC;
    const std::size_t words = tir::tasm::words(block);
    std::size_t best = words;
    for (const Piece& p : proposals) {
      if (tir::equiv::decide(block, p).answer == tir::equiv::Answer::equal)
        best = std::min<std::size_t>(best, tir::tasm::words(p));
      else
        ++unproven;
    }
    saved += words - best;
  }
};

/// Words that the heuristic alone would save in that time, interpolated between the measured widths.
double saved_in(double seconds, const Sum (&sums)[kWidthCount]) {
  if (seconds <= sums[0].seconds) return double(sums[0].saved);
  for (std::size_t i = 1; i < kWidthCount; ++i) {
    if (seconds > sums[i].seconds) continue;
    const double share = std::log(seconds / sums[i - 1].seconds) / std::log(sums[i].seconds / sums[i - 1].seconds);
    return double(sums[i - 1].saved) + share * (double(sums[i].saved) - double(sums[i - 1].saved));
  }
  return double(sums[kWidthCount - 1].saved);
}

int run(const nn::AccumulatorWeights& network, bool train) {
  const Pieces pieces = corpus_pieces(!train, {Form::peephole});
  Sum alone[kWidthCount], with[kWidthCount];
  std::size_t words = 0;
  for (const Piece& block : pieces.all()) {
    words += tir::tasm::words(block);
    for (std::size_t i = 0; i < kWidthCount; ++i) {
      superopt::Options options;
      options.measures = {{1, 0.1, 0.01}};
      options.width = kWidths[i];
      options.network = nullptr;
      alone[i].add(block, options);
      options.network = &network;
      if (i <= kDefault) with[i].add(block, options);
    }
  }
  std::printf("%zu blocks of %s programs, %zu words\n", pieces.all().size(), train ? "training" : "test", words);
  std::printf(
      "width | heuristic: saved, ms a block | network: saved, ms a block, more words | heuristic in its time, "
      "more words | not proven\n");
  for (std::size_t i = 0; i <= kDefault; ++i) {
    const double same_time = saved_in(with[i].seconds, alone), n = double(pieces.all().size());
    std::printf("%5zu | %6zu %8.2f | %6zu %8.2f %+6ld | %8.1f %+6.1f | %zu %zu\n", kWidths[i], alone[i].saved,
                1000 * alone[i].seconds / n, with[i].saved, 1000 * with[i].seconds / n,
                long(with[i].saved) - long(alone[i].saved), same_time, double(with[i].saved) - same_time,
                alone[i].unproven, with[i].unproven);
  }
  const double n = double(pieces.all().size());
  std::printf("%5zu | %6zu %8.2f |\n", kWidths[kWidthCount - 1], alone[kWidthCount - 1].saved,
              1000 * alone[kWidthCount - 1].seconds / n);
  const double same_time = saved_in(with[kDefault].seconds, alone);
  const bool good = with[kDefault].saved >= alone[kDefault].saved && double(with[kDefault].saved) >= same_time;
  std::printf("%-48s %10zu   bar: at least %.1f   %s\n", "words saved with the network at the default width",
              with[kDefault].saved, std::max(double(alone[kDefault].saved), same_time), good ? "held" : "MISSED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  using namespace trident;
  std::string path;
  bool train = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--train") == 0) train = true;
    if (std::strcmp(argv[i], "--network") == 0 && i + 1 < argc) path = argv[++i];
  }
  if (path.empty()) return bench::run(tir::superopt::shipped_ordering(), train);
  const auto network = nn::AccumulatorWeights::map(path, tir::superopt::feature_space());
  if (!network.ok()) {
    std::fprintf(stderr, "%s\n", network.error().message.c_str());
    return 2;
  }
  return bench::run(*network, train);
}
