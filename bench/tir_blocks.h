// The straight-line blocks of the corpus (tests/tir/corpus), by its split: what the network of TASM is taught with, and
// what it is measured on.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "jit/tir/lowering/lowering.h"
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
  /// Whether it is new.
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

 private:
  std::set<std::string> seen_;
  std::vector<Piece> all_;
};

enum class Form : std::uint8_t { plain, peephole, hand };

/// Of the programs of one side of the split, in these forms.
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

}  // namespace trident::bench
