// The peephole passes, held to equivalence: what they make of a block stands only where it is proven to do the same.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <vector>

#include "jit/tir/tasm/program.h"

namespace trident::tir::tournament {

/// Remembers what it has proven. When `time` is used up or `stop` says so, what is not known yet stays as it is.
class ProvenPeepholes {
 public:
  explicit ProvenPeepholes(std::chrono::milliseconds time = std::chrono::hours(1), std::function<bool()> stop = {})
      : time_(time), stop_(std::move(stop)) {}
  /// Long blocks are rewritten piece by piece, since a proof takes more than in proportion to its block.
  tasm::Program of(const tasm::Program& program);
  /// Rewritings that could not be proven.
  [[nodiscard]] std::size_t refused() const { return refused_; }

 private:
  using Instructions = std::vector<tasm::Instruction>;
  Instructions of_block(std::span<const tasm::Instruction> block);
  const Instructions& of_piece(std::span<const tasm::Instruction> piece);

  std::map<std::vector<std::uint64_t>, Instructions> known_;
  std::size_t refused_ = 0;
  std::chrono::steady_clock::duration time_;  ///< that is left
  std::function<bool()> stop_;
};

}  // namespace trident::tir::tournament
