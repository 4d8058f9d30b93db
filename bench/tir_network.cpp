// How much of the superoptimiser's gain the network of TASM has, on blocks of programs that it never saw: words saved
// over all straight-line blocks of the corpus's test programs, lowered with peephole passes, counting only what
// jit/tir/equiv proves. The same blocks are in the numerator and the denominator. Blocks that programs to train with
// have too, in any of the forms that it is taught with, are not unseen: the bar is for the others, and both are
// printed.
//
// Then the fate of the network's drafts, filter by filter.
//
//   bench_tir_network [WEIGHTS] [--width N] [--train] [--list]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/tir_blocks.h"
#include "jit/tir/equiv/equiv.h"
#include "jit/tir/neural/propose.h"
#include "jit/tir/neural/shipped_weights.h"
#include "jit/tir/superopt/superopt.h"
#include "runtime/os/atomic_file.h"

namespace trident::bench {
namespace {

namespace neural = tir::neural;

constexpr double kShareBar = 0.5;

struct Sum {
  std::size_t blocks = 0, words = 0, improved = 0, saved = 0, proposed = 0, equal = 0, differ = 0;
  double seconds = 0;

  /// The fewest words among the proposals that are proven.
  template <class Propose>
  Piece add(const Piece& block, Propose&& propose) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Piece> proposals = propose(block);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::size_t size = tir::tasm::words(block);
    ++blocks;
    words += size;
    std::size_t best = size;
    Piece found = block;
    for (const Piece& p : proposals) {
      ++proposed;
      const auto answer = tir::equiv::decide(block, p).answer;
      equal += answer == tir::equiv::Answer::equal ? 1 : 0;
      differ += answer == tir::equiv::Answer::differs ? 1 : 0;
      if (answer != tir::equiv::Answer::equal || tir::tasm::words(p) >= best) continue;
      best = tir::tasm::words(p);
      found = p;
    }
    improved += best < size ? 1 : 0;
    saved += size - best;
    return found;
  }
  /// Adds the two sums.
  [[nodiscard]] Sum with(const Sum& o) const {
    return {blocks + o.blocks,     words + o.words, improved + o.improved, saved + o.saved,
            proposed + o.proposed, equal + o.equal, differ + o.differ,     seconds + o.seconds};
  }
  void print(const char* who) const {
    std::printf(
        "  %-15s %5zu words saved (%.1f %%); %zu proposals, %zu equal, %zu wrong, %zu not decided, %zu blocks won; "
        "%.2f ms a block\n",
        who, saved, 100 * double(saved) / double(words), proposed, equal, differ, proposed - equal - differ, improved,
        1000 * seconds / double(blocks));
  }
};

Result<neural::Weights> weights_at(const std::string& path) {
  if (path.empty()) return neural::shipped_weights();
  TRY(const std::vector<std::byte> file, os::read_file(path, 1u << 20));
  return neural::weights_in(file);
}

}  // namespace

struct Options {
  std::string path;
  std::size_t width = 16;
  bool train = false, list = false;
};

int run(const Options& options) {
  const auto weights = weights_at(options.path);
  if (!weights.ok()) {
    std::fprintf(stderr, "%s\n", weights.error().message.c_str());
    return 2;
  }
  neural::Network network(*weights);
  const Pieces pieces = corpus_pieces(!options.train, {Form::peephole});
  const Pieces taught = corpus_pieces(false, {Form::plain, Form::peephole, Form::hand});
  Sum teachers[2], nets[2];  // unseen; seen
  neural::ProposeCounts counts;
  for (const Piece& block : pieces.all()) {
    const std::size_t seen = !options.train && taught.contains(block) ? 1 : 0;
    const Piece answer = teachers[seen].add(block, [](const Piece& b) {
      return tir::superopt::propose(b, {.measures = {{1, 0.1, 0.01}}});
    });
    const Piece found = nets[seen].add(block, [&](const Piece& b) {
      return neural::propose(network, b, {.width = options.width, .counts = &counts});
    });
    if (options.list && answer != block)
      std::printf("%u %u %u words\n  block   %s\n  teacher %s\n  network %s\n", tir::tasm::words(block),
                  tir::tasm::words(answer), tir::tasm::words(found), text_of(block).c_str(), text_of(answer).c_str(),
                  text_of(found).c_str());
  }
  const auto share_of = [](const char* which, const Sum& teacher, const Sum& net) {
    std::printf("%zu %s, %zu words\n", net.blocks, which, net.words);
    teacher.print("superoptimiser");
    net.print("network");
    return double(net.saved) / double(teacher.saved);
  };
  std::printf("a beam of %zu\n", options.width);
  const Sum teacher = teachers[0].with(teachers[1]), net = nets[0].with(nets[1]);
  const double all = share_of(options.train ? "blocks of training programs" : "blocks of test programs", teacher, net);
  const double share = options.train ? all : share_of("of them in no training program", teachers[0], nets[0]);
  print_counts(counts, net.proposed);
  if (!options.train) std::printf("%-48s %10.4f\n", "the network's share of the superoptimiser's gain, all", all);
  std::printf("%-48s %10.4f   bar: at least %.4f   %s\n", "the network's share of the superoptimiser's gain", share,
              kShareBar, share >= kShareBar ? "held" : "MISSED");
  return share >= kShareBar ? 0 : 1;
}

}  // namespace trident::bench

int main(int argc, char** argv) {
  trident::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--width") == 0 && i + 1 < argc)
      options.width = std::strtoull(argv[++i], nullptr, 10);
    else if (std::strcmp(argv[i], "--train") == 0)
      options.train = true;
    else if (std::strcmp(argv[i], "--list") == 0)
      options.list = true;
    else
      options.path = argv[i];
  }
  return trident::bench::run(options);
}
