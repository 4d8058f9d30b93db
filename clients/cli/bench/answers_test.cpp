// Answers made by hand: right ones, ones an ulp or two off, and wrong ones.
#include "clients/cli/bench/answers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "clients/cli/bench/answers_fixture.h"

namespace trident::cli {
namespace {

struct Fixture : SquareRoot {
  /// sqrt computed by the machine (correctly rounded), then changed by `change(i, value)`.
  std::vector<std::vector<std::byte>> answer(float (*change)(std::size_t, float)) const {
    const auto* x = static_cast<const float*>(workload->inputs()[0]);
    std::vector<std::byte> bytes(512 * sizeof(float));
    for (std::size_t i = 0; i < 512; ++i) {
      const float y = change(i, std::sqrt(x[i]));
      std::memcpy(bytes.data() + i * sizeof y, &y, sizeof y);
    }
    return {bytes};
  }
};

constexpr expr::Policy kBounded{expr::PolicyKind::bounded, 2};

TEST(Answers, CorrectlyRoundedIsRightWithinHalfAnUlp) {
  Fixture f;
  const Answer a = f.checker->ours(f.answer([](std::size_t, float y) { return y; }), kBounded);
  EXPECT_EQ(a.wrong, "");
  EXPECT_GT(a.max_ulp, 0.3);
  EXPECT_LE(a.max_ulp, 0.5);
  EXPECT_LE(a.bound_share, 0.5 / 3);  // a root has one unit: from half an ulp to one, twice, and 2 ulp
  EXPECT_GE(a.bound_share, 0.3 / 4);
}

TEST(Answers, AnErrorBeyondThePolicyIsWrongForUsButNotForACompiler) {
  Fixture f;
  const auto off = f.answer([](std::size_t i, float y) { return i == 77 ? y * (1 + 40 * 0x1p-23f) : y; });
  const Answer ours = f.checker->ours(off, kBounded);
  EXPECT_NE(ours.wrong.find("[77]"), std::string::npos) << ours.wrong;
  const Answer theirs = f.checker->theirs(off);
  EXPECT_EQ(theirs.wrong, "");
  EXPECT_GT(theirs.max_ulp, 30);
}

TEST(Answers, FarOffOrNotFiniteIsWrongForAnyone) {
  Fixture f;
  EXPECT_NE(f.checker->theirs(f.answer([](std::size_t i, float y) { return i == 5 ? y * 1.01f : y; })).wrong, "");
  const auto nan =
      f.answer([](std::size_t i, float y) { return i == 5 ? std::numeric_limits<float>::quiet_NaN() : y; });
  EXPECT_NE(f.checker->theirs(nan).wrong, "");
  EXPECT_NE(f.checker->ours(nan, kBounded).wrong, "");
}

TEST(Answers, SameBits) {
  Fixture f;
  const auto right = f.answer([](std::size_t, float y) { return y; });
  const auto next = f.answer([](std::size_t i, float y) { return i == 511 ? std::nextafter(y, 9.0f) : y; });
  EXPECT_EQ(f.checker->same_bits(right, right).wrong, "");
  EXPECT_NE(f.checker->same_bits(right, next).wrong, "");
}

}  // namespace
}  // namespace trident::cli
