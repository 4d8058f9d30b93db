#include "jit/tir/neural/propose.h"

#include <algorithm>

#include "jit/tir/tasm/blocks.h"

namespace trident::tir::neural {
namespace {

using Piece = std::vector<Instruction>;

/// Compares words first, since each is hashed and stored; then cycles.
bool smaller(const Piece& a, const Piece& b) {
  const std::uint32_t x = tasm::words(a), y = tasm::words(b);
  return x != y ? x < y : a.size() < b.size();
}

std::vector<Piece> for_piece(Network& network, const Piece& piece, const ProposeOptions& options) {
  const auto original = Original::of(piece);
  if (!original.ok()) return {};
  std::vector<Piece> found;
  ProposeCounts unwanted, &counts = options.counts != nullptr ? *options.counts : unwanted;
  const DecodeOptions how{.width = options.width,
                          .end_when_reached = true,
                          .words_max = tasm::words(piece),
                          .stop = options.stop,
                          .counts = &counts.decoded};
  for (const Candidate& c : decode(network, *original, how)) {
    if (!smaller(c.block, piece))
      ++counts.not_smaller;
    else if (std::find(found.begin(), found.end(), c.block) != found.end())
      ++counts.repeated;
    else
      found.push_back(c.block);
  }
  std::stable_sort(found.begin(), found.end(), smaller);
  if (found.size() > options.proposals) {
    counts.beyond += found.size() - options.proposals;
    found.resize(options.proposals);
  }
  return found;
}

}  // namespace

std::vector<Piece> propose(Network& network, std::span<const Instruction> block, const ProposeOptions& options) {
  CHECK(options.window >= 2 && options.window <= kNodesMax);
  if (block.size() <= options.window) return for_piece(network, {block.begin(), block.end()}, options);
  Piece whole(block.begin(), block.end());
  bool changed = false;
  for (std::size_t at = 0; at < whole.size(); at += options.window / 2) {
    if (options.stop && options.stop()) break;
    const std::size_t end = std::min(at + options.window, whole.size());
    const auto from = whole.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = whole.begin() + static_cast<std::ptrdiff_t>(end);
    const std::vector<Piece> found = for_piece(network, {from, to}, options);
    if (found.empty()) continue;
    if (options.counts != nullptr) options.counts->merged += found.size() - (changed ? 0 : 1);
    whole.insert(whole.erase(from, to), found[0].begin(), found[0].end());
    changed = true;
  }
  if (!changed) return {};
  return {whole};
}

}  // namespace trident::tir::neural
