#include "tests/support/cube2x2.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace trident::testing {
namespace {

constexpr std::size_t kCorners = 7;
constexpr std::uint32_t kPermutations = 5040, kTwists = 729;
constexpr std::uint8_t kUnseen = 255;

struct Corners {
  std::array<std::uint8_t, kCorners> piece;  // which corner lies at a position
  std::array<std::uint8_t, kCorners> twist;  // how far it is turned clockwise there
};

// Position p receives the corner of position `from[p]`, turned by `twist[p]` (Kociemba's tables without the corner that
// never moves).
struct Turn {
  std::array<std::uint8_t, kCorners> from, twist;
};
constexpr Turn kTurns[3] = {
    {{4, 1, 2, 0, 6, 5, 3}, {2, 0, 0, 1, 1, 0, 2}},  // R
    {{3, 0, 1, 2, 4, 5, 6}, {0, 0, 0, 0, 0, 0, 0}},  // U
    {{1, 5, 2, 3, 0, 4, 6}, {1, 2, 0, 0, 2, 1, 0}},  // F
};
// The colours of each corner, clockwise from up or down; 0 to 5 are U R F D L B.
constexpr std::uint8_t kCornerColours[kCorners + 1][3] = {{0, 1, 2}, {0, 2, 4}, {0, 4, 5}, {0, 5, 1},
                                                          {3, 2, 1}, {3, 4, 2}, {3, 1, 5}, {3, 5, 4}};

std::uint32_t rank_of(const Corners& corners) {
  std::uint32_t permutation = 0, twist = 0;
  for (std::size_t i = 0; i < kCorners; ++i) {
    std::uint32_t smaller = 0;
    for (std::size_t j = i + 1; j < kCorners; ++j) smaller += corners.piece[j] < corners.piece[i];
    permutation = permutation * static_cast<std::uint32_t>(kCorners - i) + smaller;
  }
  for (std::size_t i = 0; i + 1 < kCorners; ++i) twist = twist * 3 + corners.twist[i];
  return permutation * kTwists + twist;
}

Corners corners_of(std::uint32_t state) {
  CHECK(state < Cube2x2::kStates);
  Corners corners{};
  std::uint32_t permutation = state / kTwists, twist = state % kTwists, sum = 0;
  std::array<std::uint8_t, kCorners> code{};
  for (std::size_t i = kCorners; i-- > 0;) {
    const auto radix = static_cast<std::uint32_t>(kCorners - i);
    code[i] = static_cast<std::uint8_t>(permutation % radix);
    permutation /= radix;
  }
  std::array<std::uint8_t, kCorners> left = {0, 1, 2, 3, 4, 5, 6};
  for (std::size_t i = 0; i < kCorners; ++i) {
    corners.piece[i] = left[code[i]];
    std::copy(left.begin() + code[i] + 1, left.end(), left.begin() + code[i]);
  }
  for (std::size_t i = kCorners - 1; i-- > 0; twist /= 3) {
    corners.twist[i] = static_cast<std::uint8_t>(twist % 3);
    sum += corners.twist[i];
  }
  corners.twist[kCorners - 1] = static_cast<std::uint8_t>((3 - sum % 3) % 3);
  return corners;
}

Corners turned(const Corners& corners, const Turn& turn) {
  Corners result{};
  for (std::size_t p = 0; p < kCorners; ++p) {
    result.piece[p] = corners.piece[turn.from[p]];
    result.twist[p] = static_cast<std::uint8_t>((corners.twist[turn.from[p]] + turn.twist[p]) % 3);
  }
  return result;
}

}  // namespace

Cube2x2::Cube2x2() : permutations_(kPermutations), twists_(kTwists), distances_(kStates, kUnseen) {
  // Twists move without regard to which corners they belong to, so that two small tables make all moves.
  const auto fill = [](std::vector<std::array<std::uint16_t, kMoves>>& table, std::uint32_t unit,
                       std::uint32_t modulus) {
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      for (std::size_t face = 0; face < 3; ++face) {
        Corners corners = corners_of(i * unit);
        corners = turned(corners, kTurns[face]);
        table[i][2 * face] = static_cast<std::uint16_t>(rank_of(corners) / unit % modulus);
        corners = turned(turned(corners, kTurns[face]), kTurns[face]);
        table[i][2 * face + 1] = static_cast<std::uint16_t>(rank_of(corners) / unit % modulus);
      }
    }
  };
  fill(permutations_, kTwists, kPermutations);
  fill(twists_, 1, kTwists);
  std::vector<std::uint32_t> ring = {kSolved}, outer;
  distances_[kSolved] = 0;
  for (std::uint8_t distance = 1; !ring.empty(); ++distance) {
    outer.clear();
    for (const std::uint32_t state : ring) {
      for (int m = 0; m < kMoves; ++m) {
        const std::uint32_t next = move(state, m);
        if (distances_[next] != kUnseen) continue;
        distances_[next] = distance;
        outer.push_back(next);
      }
    }
    ring.swap(outer);
  }
}

std::vector<std::uint32_t> Cube2x2::states_at(int distance) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t state = 0; state < kStates; ++state) {
    if (distances_[state] == distance) found.push_back(state);
  }
  return found;
}

std::array<std::uint8_t, 24> Cube2x2::colours(std::uint32_t state) {
  const Corners corners = corners_of(state);
  std::array<std::uint8_t, 24> all{};
  for (std::size_t p = 0; p <= kCorners; ++p) {
    const std::size_t piece = p < kCorners ? corners.piece[p] : kCorners, twist = p < kCorners ? corners.twist[p] : 0u;
    for (std::size_t k = 0; k < 3; ++k) all[3 * p + (k + twist) % 3] = kCornerColours[piece][k];
  }
  return all;
}

void Cube2x2::encode(std::uint32_t state, std::span<float> inputs) {
  CHECK(inputs.size() == kInputs);
  std::fill(inputs.begin(), inputs.end(), 0.0f);
  const auto all = colours(state);
  for (std::size_t i = 0; i < all.size(); ++i) inputs[6 * i + all[i]] = 1;
}

}  // namespace trident::testing
