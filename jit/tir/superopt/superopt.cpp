#include "jit/tir/superopt/superopt.h"

#include <algorithm>

#include "jit/tir/tasm/blocks.h"

namespace trident::tir::superopt {
namespace {

using Piece = std::vector<Instruction>;

constexpr std::size_t kWholeMax = 40;  ///< most instructions of a block that is searched as a whole
constexpr std::size_t kRounds = 3;

/// Returns a cheaper piece, or the piece itself if none is found.
Piece cheaper(std::span<const Instruction> piece, const SearchOptions& options) {
  const double bound = cost(piece, options.weights);
  if (const auto specification = specify(piece))
    if (auto found = search(*specification, bound, options)) return std::move(*found);
  return {piece.begin(), piece.end()};
}

Piece by_windows(Piece piece, std::size_t window, const SearchOptions& options) {
  for (std::size_t round = 0; round < kRounds; ++round) {
    const Piece before = piece;
    for (std::size_t at = 0; at < piece.size() && !options.over(); at += window / 2) {
      const std::size_t end = std::min(at + window, piece.size());
      const auto from = piece.begin() + static_cast<std::ptrdiff_t>(at);
      const auto to = piece.begin() + static_cast<std::ptrdiff_t>(end);
      const Piece shorter = cheaper(std::span(from, to), options);
      if (std::equal(from, to, shorter.begin(), shorter.end())) continue;
      piece.insert(piece.erase(from, to), shorter.begin(), shorter.end());
    }
    if (piece == before) break;
  }
  return piece;
}

/// Returns how far below its initial height the stack gets.
int lowest(std::span<const Instruction> block) {
  int height = 0, least = 0;
  for (const Instruction& instruction : block) least = std::min(least, height += instruction.stack_change());
  return least;
}

Piece found_for(std::span<const Instruction> block, std::size_t window, const SearchOptions& options) {
  Piece found = block.size() <= kWholeMax ? cheaper(block, options) : Piece(block.begin(), block.end());
  return by_windows(std::move(found), window, options);
}

}  // namespace

std::vector<Piece> propose(std::span<const Instruction> block, const Options& options) {
  std::vector<Piece> out;
  for (const Weights& weights : options.measures) {
    SearchOptions search{.weights = weights, .width = options.width, .stop = options.stop, .network = options.network};
    if (search.over()) break;
    Piece found = found_for(block, options.window, search);
    // Rarely needed; demanding it of each window would lose combinations of windows.
    if (lowest(found) != lowest(block)) {
      search.as_low = true;
      found = found_for(block, options.window, search);
    }
    const bool same = std::equal(found.begin(), found.end(), block.begin(), block.end());
    if (same || cost(found, weights) >= cost(block, weights)) continue;
    if (std::find(out.begin(), out.end(), found) == out.end()) out.push_back(std::move(found));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Piece& a, const Piece& b) { return tasm::words(a) < tasm::words(b); });
  return out;
}

}  // namespace trident::tir::superopt
