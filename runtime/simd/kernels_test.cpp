// Every level that this machine has against the definitions written out in 64-bit integers.
#include "runtime/simd/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <vector>

namespace trident::simd {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

constexpr std::size_t kRows = 300;

// Extremes are drawn often: bounds are where levels would differ.
int draw(Random& random, int lo, int hi) {
  const unsigned kind = random() % 8;
  if (kind == 0) return lo;
  if (kind == 1) return hi;
  return std::uniform_int_distribution<int>(lo, hi)(random);
}

struct Inputs {
  std::unique_ptr<NodeVector[]> storage = std::make_unique<NodeVector[]>(kRows / 2);  // rows, aligned as they must be
  std::int8_t* rows = reinterpret_cast<std::int8_t*>(storage.get());
  std::unique_ptr<NodeVector[]> vectors = std::make_unique<NodeVector[]>(4);
  std::vector<std::uint32_t> plus, minus;
  std::vector<const NodeVector*> plus_vectors, minus_vectors;
  Accumulator accumulator;

  explicit Inputs(Random& random) {
    for (std::size_t i = 0; i < kRows * kLanes; ++i) rows[i] = static_cast<std::int8_t>(draw(random, -128, 127));
    // A vector that stands for 30 rows.
    for (std::size_t v = 0; v < 4; ++v)
      for (auto& lane : vectors[v].lane) lane = static_cast<std::int16_t>(draw(random, -128 * 30, 127 * 30));
    std::size_t left = kRowsMax;
    for (std::size_t v = random() % 5; v > 0; --v, left -= 30)
      (random() % 2 ? plus_vectors : minus_vectors).push_back(&vectors[v - 1]);
    for (std::size_t count = random() % 4 == 0 ? left : random() % (left + 1); count > 0; --count)
      (random() % 2 ? plus : minus).push_back(random() % kRows);
    for (auto& lane : accumulator.lane) lane = draw(random, -2'000'000'000, 2'000'000'000);
  }
  [[nodiscard]] Terms terms() const {
    return {rows,
            plus.data(),
            minus.data(),
            plus.size(),
            minus.size(),
            plus_vectors.data(),
            minus_vectors.data(),
            plus_vectors.size(),
            minus_vectors.size()};
  }
  [[nodiscard]] std::int64_t sum(std::size_t lane) const {
    std::int64_t total = 0;
    for (const std::uint32_t r : plus) total += rows[r * kLanes + lane];
    for (const std::uint32_t r : minus) total -= rows[r * kLanes + lane];
    for (const NodeVector* v : plus_vectors) total += v->lane[lane];
    for (const NodeVector* v : minus_vectors) total -= v->lane[lane];
    return total;
  }
};

using os::SimdLevel;

std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> found;
  for (const SimdLevel level : os::kSimdLevels)
    if (kernels_of(level) != nullptr) found.push_back(level);
  return found;
}

class EachLevel : public testing::TestWithParam<SimdLevel> {
 protected:
  const Kernels* kernels_ = kernels_of(GetParam());
};

TEST_P(EachLevel, SumsRowsAndVectors) {
  Random random(1);
  for (int round = 0; round < 80; ++round) {
    Inputs in(random);
    NodeVector out;
    kernels_->sum(out, in.terms());
    Accumulator updated = in.accumulator;
    kernels_->update(updated, in.terms());
    for (std::size_t l = 0; l < kLanes; ++l) {
      ASSERT_EQ(in.sum(l), out.lane[l]) << "lane " << l;
      ASSERT_EQ(in.accumulator.lane[l] + in.sum(l), updated.lane[l]) << "lane " << l;
    }
  }
}

std::int64_t clipped(std::int64_t v, std::int64_t most) {
  return std::clamp<std::int64_t>(v, 0, most);
}

TEST_P(EachLevel, PoolsTheMeanAndClipsIt) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    Inputs in(random);
    const std::int64_t factor = std::uniform_int_distribution<int>(1, 1 << draw(random, 0, 24))(random);
    if (round % 2 == 0)  // where the answer is neither end
      for (auto& lane : in.accumulator.lane)
        lane = static_cast<std::int32_t>(
            draw(random, -1000, static_cast<int>(std::min<std::int64_t>((128 << 16) / factor + 1, 1 << 30))));
    const Pool pool{static_cast<std::int32_t>(factor), static_cast<std::int32_t>(((127 << 16) + factor - 1) / factor)};
    const NodeVector* delta = round % 3 == 0 ? nullptr : &in.vectors[0];
    alignas(64) std::uint8_t out[kLanes];
    kernels_->pool(out, in.accumulator, delta, pool);
    for (std::size_t l = 0; l < kLanes; ++l) {
      const std::int64_t a = std::int64_t{in.accumulator.lane[l]} + (delta ? delta->lane[l] : 0);
      ASSERT_EQ(clipped(a < 0 ? 0 : (a * factor) >> 16, 127), out[l]) << a << " by " << factor;
    }
  }
}

TEST_P(EachLevel, ScoresAfterstates) {
  Random random(3);
  std::size_t inside = 0;
  for (int round = 0; round < 40; ++round) {
    Inputs in(random);
    for (auto& lane : in.accumulator.lane) lane = draw(random, -20'000, 20'000);
    const auto head = std::make_unique<Head>();
    for (auto& group : head->w1)
      for (auto& unit : group)
        for (auto& w : unit) w = static_cast<std::int8_t>(draw(random, -128, 127));
    for (auto& group : head->ws)
      for (auto& unit : group)
        for (auto& w : unit) w = static_cast<std::int16_t>(draw(random, -128, 127));
    for (auto& w : head->w2) w = static_cast<std::int8_t>(draw(random, -128, 127));
    head->b2 = draw(random, -100'000, 100'000);
    head->shift = static_cast<std::uint32_t>(draw(random, 0, 24));
    head->most = draw(random, 0, 1) == 0 ? 127 : draw(random, 1, 1 << 16);
    struct alignas(64) State {
      std::int32_t bias[kHidden];
      std::int16_t scalars[kScalars];
    };
    std::array<State, 7> given;
    std::array<Afterstate, 7> states;
    for (std::size_t c = 0; c < states.size(); ++c) {
      for (auto& b : given[c].bias) b = draw(random, -(1 << 24), 1 << 24);
      for (auto& s : given[c].scalars) s = static_cast<std::int16_t>(draw(random, -2048, 2048));
      const int factor = draw(random, 1, 60'000);
      states[c] = {c % 4 == 3 ? nullptr : &in.vectors[c % 4],
                   given[c].bias,
                   given[c].scalars,
                   {factor, ((127 << 16) + factor - 1) / factor}};
    }
    std::array<std::int32_t, 7> out{};
    kernels_->score(out.data(), *head, in.accumulator, states.data(), states.size());
    for (std::size_t c = 0; c < states.size(); ++c) {
      std::int64_t expected = head->b2;
      for (std::size_t j = 0; j < kHidden; ++j) {
        std::int64_t z = states[c].bias[j];
        for (std::size_t k = 0; k < kScalars; ++k) z += std::int64_t{states[c].scalars[k]} * head->ws[k / 2][j][k % 2];
        for (std::size_t l = 0; l < kLanes; ++l) {
          const std::int64_t a =
              std::int64_t{in.accumulator.lane[l]} + (states[c].delta ? states[c].delta->lane[l] : 0);
          z += clipped(a < 0 ? 0 : (a * states[c].pool.factor) >> 16, 127) * head->w1[l / 4][j][l % 4];
        }
        const std::int64_t activation = clipped(z >> head->shift, head->most);
        inside += activation > 0 && activation < 127;
        expected += head->w2[j] * activation;
      }
      ASSERT_EQ(expected, out[c]) << "state " << c;
    }
  }
  EXPECT_GT(inside, 500u);  // not all of it was clipped away
}

std::string test_name(const testing::TestParamInfo<SimdLevel>& level) {
  return name_of(level.param);
}
INSTANTIATE_TEST_SUITE_P(Levels, EachLevel, testing::ValuesIn(levels()), test_name);

TEST(Choice, TakesTheBestLevelThatIsThere) {
  EXPECT_NE(kernels_of(SimdLevel::portable), nullptr);
  EXPECT_EQ(&kernels(), kernels_of(levels().back()));
}

}  // namespace
}  // namespace trident::simd
