// Runs the peephole passes and keeps only those results that are proven to do the same as their blocks.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <vector>

#include "jit/tir/tasm/program.h"

namespace trident::tir::tournament {

/// Caches its proofs. When `time` is used up or `stop` returns true, blocks not proven yet stay as they are.
class ProvenPeepholes {
 public:
  explicit ProvenPeepholes(std::chrono::milliseconds time = std::chrono::hours(1), std::function<bool()> stop = {})
      : time_(time), stop_(std::move(stop)) {}
  /// Rewrites long blocks piece by piece, since the time of a proof grows faster than its block.
  tasm::Program of(const tasm::Program& program);
  /// Returns the number of rewritings that could not be proven.
  [[nodiscard]] std::size_t refused() const { return refused_; }

 private:
  using Instructions = std::vector<tasm::Instruction>;
  Instructions of_block(std::span<const tasm::Instruction> block);
  const Instructions& of_piece(std::span<const tasm::Instruction> piece);

  std::map<std::vector<std::uint64_t>, Instructions> known_;
  std::size_t refused_ = 0;
  std::chrono::steady_clock::duration time_;  ///< time that is left
  std::function<bool()> stop_;
};

}  // namespace trident::tir::tournament
