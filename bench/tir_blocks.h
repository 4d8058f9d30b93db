// The straight-line blocks of the corpus (tests/tir/corpus), by its split: what the network of TASM is taught with, and
// what it is measured on.
#pragma once

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "jit/tir/lowering/lowering.h"
#include "jit/tir/neural/propose.h"
#include "jit/tir/tasm/blocks.h"
#include "tests/tir/corpus/corpus.h"

namespace trident::bench {

using Piece = std::vector<tir::tasm::Instruction>;

inline std::string text_of(const Piece& piece) {
  std::string text;
  for (const auto& i : piece) text += tir::tasm::print(i) + " ";
  return text;
}

/// Blocks, each once, in the order in which they were met.
class Pieces {
 public:
  /// Adds the block unless it is known; returns true when it is new.
  bool add(const Piece& piece) {
    if (!seen_.insert(text_of(piece)).second) return false;
    all_.push_back(piece);
    return true;
  }
  void add_blocks(const tir::tasm::Program& program) {
    for (const auto& block : tir::tasm::straight_blocks(program)) {
      const auto from = program.instructions.begin() + block.begin;
      add(Piece(from, from + block.size()));
    }
  }
  [[nodiscard]] const std::vector<Piece>& all() const { return all_; }
  [[nodiscard]] bool contains(const Piece& piece) const { return seen_.contains(text_of(piece)); }

 private:
  std::set<std::string> seen_;
  std::vector<Piece> all_;
};

enum class Form : std::uint8_t { plain, peephole, hand };

/// Collects the blocks of the programs of one side of the split, in these forms.
inline Pieces corpus_pieces(bool held_out, std::initializer_list<Form> forms) {
  Pieces pieces;
  tir::lowering::Options plain;
  plain.passes = tir::lowering::PassSet::none();
  for (const tir::corpus::Case& c : tir::corpus::read_cases()) {
    if (c.held_out != held_out) continue;
    for (const Form form : forms) {
      if (form == Form::plain) pieces.add_blocks(tir::lowering::lower(tir::corpus::program_of(c), plain));
      if (form == Form::peephole) pieces.add_blocks(tir::lowering::lower(tir::corpus::program_of(c)));
      if (form != Form::hand) continue;
      if (const auto by_hand = tir::corpus::hand_of(c)) pieces.add_blocks(*by_hand);
    }
  }
  return pieces;
}

/// Drafts of the network filter by filter, in two lines; `filtered`: what is left of those that ended.
inline void print_counts(const tir::neural::ProposeCounts& counts, std::size_t filtered) {
  const tir::neural::DecodeCounts& d = counts.decoded;
  std::printf(
      "the network's drafts: %zu looked at, of which the abstract state dropped %zu as lost, %zu as standing where "
      "another does, and %zu were too long\n",
      d.looked_at, d.lost, d.repeated, d.too_long);
  std::printf(
      "ends: %zu decoded, of which the abstract state refused %zu; %zu no smaller, %zu repeated, %zu beyond the "
      "number of proposals, %zu merged with other windows of their block, %zu left for equivalence\n",
      d.ended + d.ends_refused, d.ends_refused, counts.not_smaller, counts.repeated, counts.beyond, counts.merged,
      filtered);
}

}  // namespace trident::bench
