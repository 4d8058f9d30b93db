// Oracle: stickers as vectors in space, turned by quarter turns of the axes; the published number of states at each
// distance (God's number of quarter turns is 14).
#include "tests/support/cube2x2.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/random.h"

namespace trident::testing {
namespace {

using Vector = std::array<int, 3>;  // right, up, towards us

/// A quarter turn clockwise, as seen from outside at the end of axis `axis`.
Vector quarter(Vector v, std::size_t axis) {
  const std::size_t j = (axis + 1) % 3, k = (axis + 2) % 3;
  Vector turned = v;
  turned[j] = v[k];
  turned[k] = -v[j];
  return turned;
}

struct Sticker {
  Vector corner, face;
  std::uint8_t colour;
};

class Stickers {
 public:
  Stickers() {
    // As colours() numbers them: corners by name, faces in the order of the name's letters turned clockwise.
    const char* names[8] = {"URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DRB", "DBL"};
    for (const char* name : names) {
      Vector corner{};
      for (const char* face = name; *face; ++face) {
        const Vector v = vector_of(*face);
        for (std::size_t i = 0; i < 3; ++i) corner[i] += v[i];
      }
      for (const char* face = name; *face; ++face) places_.push_back({corner, vector_of(*face)});
    }
    const std::string order = "URFDLB";
    std::size_t i = 0;
    for (const char* name : names) {
      for (const char* face = name; *face; ++face, ++i) {
        now_.push_back({places_[i].first, places_[i].second, static_cast<std::uint8_t>(order.find(*face))});
      }
    }
  }
  void move(int move) {
    const std::size_t axis = move / 2 == 0 ? 0 : move / 2 == 1 ? 1 : 2;  // R, U, F
    for (Sticker& sticker : now_) {
      if (sticker.corner[axis] < 0) continue;
      for (int n = 0; n < (move % 2 ? 3 : 1); ++n) {
        sticker.corner = quarter(sticker.corner, axis);
        sticker.face = quarter(sticker.face, axis);
      }
    }
  }
  [[nodiscard]] std::array<std::uint8_t, 24> colours() const {
    std::array<std::uint8_t, 24> all{};
    for (std::size_t i = 0; i < 24; ++i) {
      const auto here = std::find_if(now_.begin(), now_.end(), [&](const Sticker& sticker) {
        return std::pair(sticker.corner, sticker.face) == places_[i];
      });
      all[i] = here->colour;
    }
    return all;
  }

 private:
  static Vector vector_of(char face) {
    const std::string axes = "RUF", opposite = "LDB";
    Vector v{};
    if (axes.find(face) != std::string::npos) {
      v[axes.find(face)] = 1;
    } else {
      v[opposite.find(face)] = -1;
    }
    return v;
  }
  std::vector<std::pair<Vector, Vector>> places_;
  std::vector<Sticker> now_;
};

const Cube2x2& cube() {
  static const Cube2x2 shared;
  return shared;
}

TEST(Cube2x2, MovesAsStickersInSpaceDo) {
  Random random(1);
  Stickers stickers;
  std::uint32_t state = Cube2x2::kSolved;
  ASSERT_EQ(Cube2x2::colours(state), stickers.colours());
  for (int n = 0; n < 5000; ++n) {
    const int move = static_cast<int>(random.below(Cube2x2::kMoves));
    state = cube().move(state, move);
    stickers.move(move);
    ASSERT_EQ(Cube2x2::colours(state), stickers.colours()) << n;
  }
}

TEST(Cube2x2, HasThePublishedNumberOfStatesAtEachDistance) {
  const std::uint32_t published[15] = {1,      6,      27,     120,     534,    2256,  8969, 33058,
                                       114149, 360508, 930588, 1350852, 782536, 90280, 276};
  std::array<std::uint32_t, 15> counts{};
  for (std::uint32_t state = 0; state < Cube2x2::kStates; ++state) {
    ASSERT_LE(cube().distance(state), Cube2x2::kDistanceMax);
    ++counts[static_cast<std::size_t>(cube().distance(state))];
  }
  for (std::size_t d = 0; d < counts.size(); ++d) EXPECT_EQ(counts[d], published[d]) << d;
  EXPECT_EQ(cube().states_at(14).size(), 276u);
}

TEST(Cube2x2, ADistanceIsOneMoreThanTheNearestNeighbours) {
  for (std::uint32_t state = 0; state < Cube2x2::kStates; ++state) {
    int nearest = 99;
    for (int move = 0; move < Cube2x2::kMoves; ++move) {
      const std::uint32_t next = cube().move(state, move);
      ASSERT_LT(next, Cube2x2::kStates);
      ASSERT_EQ(cube().move(next, move ^ 1), state);
      nearest = std::min(nearest, cube().distance(next));
    }
    ASSERT_EQ(cube().distance(state), state == Cube2x2::kSolved ? 0 : nearest + 1);
  }
}

TEST(Cube2x2, EncodesEachStickerAsOneOfSix) {
  Random random(2);
  for (int n = 0; n < 100; ++n) {
    const std::uint32_t state = random.below(Cube2x2::kStates);
    std::array<float, Cube2x2::kInputs> inputs;
    inputs.fill(7);
    Cube2x2::encode(state, inputs);
    const auto colours = Cube2x2::colours(state);
    for (std::size_t i = 0; i < inputs.size(); ++i) ASSERT_EQ(inputs[i], colours[i / 6] == i % 6 ? 1 : 0);
  }
}

}  // namespace
}  // namespace trident::testing
