// The 2x2x2 cube, the test bed of reinforcement learning here: small enough that the true distance of each of its
// 3,674,160 states is known, so that what was learned is judged by fact. One corner (down, back, left) never moves;
// moves are the quarter turns R R' U U' F F'.
//
// A state is its rank: 729 times the rank of the permutation of seven corners (Lehmer code) plus the twists of the
// first six in base 3 (the seventh's follows, as the sum is 0 modulo 3). Ranks are dense: distances need no hashing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace trident::testing {

class Cube2x2 {
 public:
  static constexpr std::uint32_t kStates = 5040 * 729, kSolved = 0;
  static constexpr int kMoves = 6, kDistanceMax = 14;
  static constexpr std::size_t kInputs = 144;

  /// Tables of moves, and distances by breadth-first search.
  Cube2x2();
  /// Moves 0 to 5: R R' U U' F F'; move ^ 1 undoes it.
  [[nodiscard]] std::uint32_t move(std::uint32_t state, int move) const {
    return permutations_[state / 729][static_cast<std::size_t>(move)] * 729u +
           twists_[state % 729][static_cast<std::size_t>(move)];
  }
  /// Quarter turns to the solved state at least.
  [[nodiscard]] int distance(std::uint32_t state) const { return distances_[state]; }
  /// Every state at `distance`, in ascending order.
  [[nodiscard]] std::vector<std::uint32_t> states_at(int distance) const;
  /// The colours, 0 to 5 (up, right, front, down, left, back in the solved state), of the 24 stickers. Stickers go by
  /// corner: URF UFL ULB UBR DFR DLF DRB DBL, each with its three faces clockwise from up or down.
  [[nodiscard]] static std::array<std::uint8_t, 24> colours(std::uint32_t state);
  /// Encodes the colours as 24 times six numbers of which one is 1; `inputs` has kInputs.
  static void encode(std::uint32_t state, std::span<float> inputs);

 private:
  std::vector<std::array<std::uint16_t, kMoves>> permutations_, twists_;
  std::vector<std::uint8_t> distances_;
};

}  // namespace trident::testing
