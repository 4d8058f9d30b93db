// Runs a block in eight states at once. A row holds one element per state; the stack is a list of rows, so that moving
// elements moves no data, and arithmetic is a call of the field's vector kernels (runtime/field/kernels.h).
//
// A state that fails goes on with arbitrary values: only its bit in `failed` counts. RAM before the block is a
// function of the address, so that no state needs a table.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "jit/tir/equiv/state.h"
#include "runtime/field/kernels.h"

namespace trident::tir::equiv {

inline constexpr std::size_t kLanes = 8;
struct alignas(64) Row {
  std::uint64_t word[kLanes];
};
using RowId = std::uint32_t;
/// One bit per state.
using LaneMask = std::uint8_t;
inline constexpr LaneMask kAllLanes = 0xff;
inline LaneMask lane_bit(bool condition, std::size_t lane) {
  return static_cast<LaneMask>(static_cast<unsigned>(condition) << lane);
}

/// End of a block in eight states.
struct LaneEnd {
  struct Store {
    RowId address, word;
  };
  LaneMask failed = 0;
  std::vector<RowId> stack;  ///< bottom first
  std::vector<RowId> output;
  std::vector<Store> stores;  ///< in order
  bool sponge_touched = false;
  std::array<RowId, field::kTip5Width> sponge{};
};

class Lanes {
 public:
  /// Gives every input `extra` words more than `shape` reads, and the stack as many more cells.
  Lanes(States& source, std::uint64_t seed, const Shape& shape, std::size_t extra);

  /// Runs a straight block that needs no more stack and inputs than there are; its rows stay.
  void run(Block block, LaneEnd& end);
  /// Runs a straight block in the rows of the last run_again(). Stops as soon as a state in `must_live` fails.
  /// The rows do not stay.
  void run_again(Block block, LaneMask must_live, LaneEnd& end);
  /// Returns the states in which the ends differ, among those in which neither has failed.
  LaneMask difference(const LaneEnd& a, const LaneEnd& b);

  [[nodiscard]] std::size_t cells() const { return cells_.size(); }
  [[nodiscard]] std::size_t public_words() const { return public_.size(); }
  [[nodiscard]] std::size_t secret_words() const { return secret_.size(); }
  [[nodiscard]] std::size_t digests() const { return digests_.size(); }
  /// Returns the state with the topmost `size` cells, and RAM at all addresses that the blocks have read.
  [[nodiscard]] State state(std::size_t lane, std::size_t size) const;
  [[nodiscard]] Element word(RowId id, std::size_t lane) const { return Element::canonical(rows_[id].word[lane]); }

 private:
  friend class LaneExecution;
  struct Permutation {
    std::array<RowId, field::kTip5Width> in, out;
  };

  RowId row() {
    if (used_ == rows_.size()) rows_.resize(2 * rows_.size());
    return used_++;
  }
  [[nodiscard]] std::uint64_t first_ram(std::size_t lane, std::uint64_t address) const;
  RowId loaded(const std::vector<LaneEnd::Store>& stores, RowId address);
  std::array<RowId, field::kTip5Width> permuted(const std::array<RowId, field::kTip5Width>& in);

  const field::Kernels& kernels_;
  std::uint64_t seed_;
  std::vector<Row> rows_;
  RowId used_ = 0, kept_ = 0;
  RowId zero_ = 0, one_ = 0;
  std::vector<RowId> cells_;  ///< bottom first
  std::vector<RowId> public_, secret_;
  std::vector<std::array<RowId, field::kDigestWords>> digests_;
  LaneMask has_sponge_ = 0;
  std::array<Row, field::kTip5Rate> absorbed_{};
  std::array<RowId, field::kTip5Width> sponge_{};
  std::vector<Permutation> permutations_;  ///< of blocks whose rows stay
  std::size_t permutations_kept_ = 0;
  std::vector<RowId> addresses_;  ///< that were read
  std::size_t addresses_kept_ = 0;
};

}  // namespace trident::tir::equiv
