// Blocks that networks of TASM are taught with: those of the corpus's training programs, as they are lowered, with
// peephole passes and by hand, pieces of them with some instructions changed, and blocks of random programs. No program
// of the test split is looked at.
#pragma once

#include "bench/tir_blocks.h"
#include "jit/tir/language/program.h"
#include "jit/tir/lowering/random_program.h"
#include "runtime/tensor/generator.h"

namespace trident::bench {

constexpr std::size_t kPieceMax = 20;  ///< instructions

class TrainingBlocks {
 public:
  /// `seed`: of the random programs.
  explicit TrainingBlocks(std::uint64_t seed)
      : corpus_(corpus_pieces(false, {Form::plain, Form::peephole, Form::hand})) {
    for (std::uint64_t i = 0; i < 400; ++i) {
      tir::lowering::RandomProgram random(seed * 1000 + i);
      const auto parsed = tir::language::parse(ir::SourceText(random.text()));
      if (parsed.ok()) random_.add_blocks(tir::lowering::lower(*parsed));
    }
  }
  /// One by chance, of at most `most` instructions.
  [[nodiscard]] Piece piece(tensor::Generator& random, std::size_t most = kPieceMax) const {
    Piece piece = part(random, most);
    if (random.below(4) == 0) {
      const Piece other = part(random, most);
      piece.insert(piece.end(), other.begin(), other.end());
    }
    if (random.below(3) != 0) change(piece, random);
    if (piece.size() > most) piece.resize(most);
    return piece;
  }

 private:
  using Argument = tir::tasm::Argument;
  using Op = tir::tasm::Op;
  const Piece& block(tensor::Generator& random) const {
    const auto& all = random.below(6) == 0 ? random_.all() : corpus_.all();
    return all[random.below(all.size())];
  }
  [[nodiscard]] Piece part(tensor::Generator& random, std::size_t most) const {
    const Piece& whole = block(random);
    if (whole.size() <= most && random.below(3) == 0) return whole;
    const std::size_t length = std::min<std::size_t>(whole.size(), 2 + random.below(most - 1));
    const auto from = whole.begin() + static_cast<std::ptrdiff_t>(random.below(whole.size() - length + 1));
    return {from, from + static_cast<std::ptrdiff_t>(length)};
  }
  /// Some instructions become others that take and give as much, get other arguments, go, or come.
  void change(Piece& piece, tensor::Generator& random) const {
    constexpr Op kTwoToOne[] = {Op::kAdd, Op::kMul, Op::kEq, Op::kLt, Op::kAnd, Op::kXor, Op::kPow};
    for (std::size_t i = 0; i < piece.size(); ++i) {
      if (random.below(8) != 0) continue;
      tir::tasm::Instruction& at = piece[i];
      const Argument argument = tir::tasm::row(at.op).argument;
      if (random.below(6) == 0) {
        piece.erase(piece.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      if (random.below(6) == 0) {
        const Piece& other = block(random);
        piece.insert(piece.begin() + static_cast<std::ptrdiff_t>(i), other[random.below(other.size())]);
      } else if (argument == Argument::index) {
        at.argument = tir::tasm::Element(std::min<std::uint64_t>(at.argument.value() + random.below(3), 15));
      } else if (argument == Argument::element) {
        at.argument = tir::tasm::Element(random.below(2) == 0 ? random.below(10) : random.next() >> random.below(64));
      } else if (std::find(std::begin(kTwoToOne), std::end(kTwoToOne), at.op) != std::end(kTwoToOne)) {
        at.op = kTwoToOne[random.below(std::size(kTwoToOne))];
      }
    }
  }

  Pieces corpus_, random_;
};

}  // namespace trident::bench
