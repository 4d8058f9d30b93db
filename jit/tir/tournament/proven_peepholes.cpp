#include "jit/tir/tournament/proven_peepholes.h"

#include <algorithm>

#include "jit/tir/equiv/equiv.h"
#include "jit/tir/lowering/peepholes.h"
#include "jit/tir/tasm/blocks.h"

namespace trident::tir::tournament {
namespace {

using tasm::Instruction;

constexpr std::size_t kPieceMax = 64;
constexpr int kRoundsMax = 10;

bool equal(std::span<const Instruction> a, std::span<const Instruction> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

const ProvenPeepholes::Instructions& ProvenPeepholes::of_piece(std::span<const Instruction> piece) {
  std::vector<std::uint64_t> key;
  for (const Instruction& i : piece) key.push_back(static_cast<std::uint64_t>(i.op)), key.push_back(i.argument.value());
  const auto [at, fresh] = known_.try_emplace(std::move(key));
  Instructions& out = at->second;
  if (!fresh) return out;
  if (time_ <= time_.zero() || (stop_ && stop_())) {
    out.assign(piece.begin(), piece.end());
    return out;
  }
  const auto began = std::chrono::steady_clock::now();
  out = lowering::peephole(piece);
  const bool sound = equal(piece, out) || equiv::decide(piece, out).answer == equiv::Answer::equal;
  time_ -= std::chrono::steady_clock::now() - began;
  if (sound) return out;
  out.assign(piece.begin(), piece.end());
  ++refused_;
  if (piece.size() < 8) return out;
  // An unproven rewriting must not spoil the others.
  const std::size_t half = piece.size() / 2;
  Instructions halves = of_piece(piece.first(half));
  const Instructions& second = of_piece(piece.subspan(half));
  halves.insert(halves.end(), second.begin(), second.end());
  return out = std::move(halves);
}

ProvenPeepholes::Instructions ProvenPeepholes::of_block(std::span<const Instruction> block) {
  // Uses other pieces each time, to rewrite across the borders of those before.
  Instructions now(block.begin(), block.end());
  std::size_t same = 0;
  for (int round = 0; round < kRoundsMax && same < 2 && now.size() > kPieceMax; ++round) {
    Instructions next;
    for (std::size_t at = 0, size = round % 2 == 0 ? kPieceMax : kPieceMax / 2; at < now.size(); size = kPieceMax) {
      size = std::min(size, now.size() - at);
      const Instructions& piece = of_piece(std::span(now).subspan(at, size));
      next.insert(next.end(), piece.begin(), piece.end());
      at += size;
    }
    same = equal(now, next) ? same + 1 : 0;
    now = std::move(next);
  }
  return now.size() > kPieceMax ? now : of_piece(now);
}

tasm::Program ProvenPeepholes::of(const tasm::Program& program) {
  std::vector<tasm::Replacement> replacements;
  for (const tasm::Block& block : tasm::straight_blocks(program)) {
    const auto piece = std::span(program.instructions).subspan(block.begin, block.size());
    Instructions shorter = of_block(piece);
    if (!equal(piece, shorter)) replacements.push_back({block, std::move(shorter)});
  }
  return tasm::with_blocks(program, replacements);
}

}  // namespace trident::tir::tournament
