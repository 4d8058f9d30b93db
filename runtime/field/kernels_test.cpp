// Every level that this machine has against single elements, and its Tip5 against the rounds that the library of
// Triton VM went through.
#include "runtime/field/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <vector>

#include "runtime/field/element.h"
#include "tests/support/unpacked.h"

namespace trident::field {
namespace {

using os::SimdLevel;

std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> found;
  for (const SimdLevel level : os::kSimdLevels)
    if (kernels_of(level) != nullptr) found.push_back(level);
  return found;
}

std::uint64_t draw(std::mt19937_64& random) {
  constexpr std::uint64_t kEdges[] = {0,           1, kEpsilon - 1, kEpsilon, kEpsilon + 1, kModulus / 2, kModulus - 2,
                                      kModulus - 1};
  const std::uint64_t kind = random();
  return kind % 3 == 0   ? kEdges[kind / 3 % std::size(kEdges)]
         : kind % 3 == 1 ? kEpsilon << (random() % 32)
                         : random() % kModulus;
}

TEST(FieldKernels, EveryLevelIsArithmeticModuloP) {
  std::mt19937_64 random(1);
  for (const SimdLevel level : levels()) {
    const Kernels& k = *kernels_of(level);
    for (std::size_t count = 0; count < 200; ++count) {
      std::vector<std::uint64_t> a(count), b(count), sum(count), difference(count), product(count);
      for (std::size_t i = 0; i < count; ++i) a[i] = draw(random), b[i] = draw(random);
      k.add(sum.data(), a.data(), b.data(), count);
      k.subtract(difference.data(), a.data(), b.data(), count);
      k.multiply(product.data(), a.data(), b.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        const Element x(a[i]), y(b[i]);
        ASSERT_EQ(sum[i], (x + y).value()) << name_of(level) << " " << a[i] << " " << b[i];
        ASSERT_EQ(difference[i], (x - y).value()) << name_of(level) << " " << a[i] << " " << b[i];
        ASSERT_EQ(product[i], (x * y).value()) << name_of(level) << " " << a[i] << " " << b[i];
      }
      k.multiply(a.data(), a.data(), b.data(), count);  // in place
      ASSERT_EQ(a, product);
    }
  }
}

struct alignas(64) State {
  std::uint64_t word[kTip5Width];
};

TEST(FieldKernels, EveryLevelIsTip5) {
  const auto vectors = nlohmann::json::parse(test::unpacked("tests/tir/oracles/data_vectors.json.xz"));
  ASSERT_EQ(vectors["tip5_permutation"].size(), 8u);
  for (const SimdLevel level : levels())
    for (const auto& row : vectors["tip5_permutation"]) {
      State s;
      for (unsigned i = 0; i < kTip5Width; ++i) s.word[i] = row["in"][i];
      Tip5Lookups lookups;
      kernels_of(level)->tip5(s.word, lookups);
      for (unsigned i = 0; i < kTip5Width; ++i) EXPECT_EQ(s.word[i], row["rounds"][kTip5Rounds][i]) << name_of(level);
      for (unsigned round = 0; round < kTip5Rounds; ++round)
        for (unsigned i = 0; i < kTip5LookedUp; ++i) {
          const Element value(row["rounds"][round][i].get<std::uint64_t>());
          EXPECT_EQ(lookups.word[round][i], (value * Element(kEpsilon)).value()) << name_of(level);
        }
    }
}

using Words = std::array<Element, kTip5Width>;

/// x with M x = y for the circulant matrix of Tip5: Gauss and Jordan.
Words matrix_undone(const Words& y) {
  std::array<std::array<Element, kTip5Width + 1>, kTip5Width> rows;
  for (unsigned i = 0; i < kTip5Width; ++i) {
    for (unsigned j = 0; j < kTip5Width; ++j) rows[i][j] = Element(kTip5Matrix[(i + kTip5Width - j) % kTip5Width]);
    rows[i][kTip5Width] = y[i];
  }
  for (unsigned c = 0; c < kTip5Width; ++c) {
    for (unsigned pivot = c; rows[c][c].is_zero(); ++pivot) std::swap(rows[c], rows[pivot]);
    const Element scale = inverse(rows[c][c]);
    for (Element& e : rows[c]) e *= scale;
    for (unsigned i = 0; i < kTip5Width; ++i) {
      const Element factor = rows[i][c];
      for (unsigned j = 0; i != c && j <= kTip5Width; ++j) rows[i][j] -= factor * rows[c][j];
    }
  }
  Words x;
  for (unsigned i = 0; i < kTip5Width; ++i) x[i] = rows[i][kTip5Width];
  return x;
}

/// The word whose bytes Tip5's table makes the bytes of `word`.
std::uint64_t bytes_undone(std::uint64_t word) {
  std::uint64_t out = 0;
  for (unsigned shift = 0; shift < 64; shift += 8)
    for (std::uint64_t b = 0; b < 256; ++b)
      if (((b + 1) * (b + 1) * (b + 1) - 1) % 257 == (word >> shift & 255)) out |= b << shift;
  return out;
}

/// A state that the first round takes to words whose Montgomery forms are `forms`; none if the table's inverse leaves
/// the field.
std::optional<State> before_one_round(const Words& forms) {
  Words y = forms;
  for (unsigned i = 0; i < kTip5Width; ++i) y[i] -= Element(kTip5Constants[i]);
  const Words x = matrix_undone(y);
  const Element unit = inverse(Element(kEpsilon));  // its Montgomery form is 1
  unsigned __int128 root = kModulus;                // 1/7 mod p - 1
  while (root % 7 != 0) root += kModulus - 1;
  State state;
  for (unsigned i = 0; i < kTip5Width; ++i) {
    if (i >= kTip5LookedUp) {
      state.word[i] = power(x[i] * unit, static_cast<std::uint64_t>(root / 7 % (kModulus - 1))).value();
      continue;
    }
    const std::uint64_t form = bytes_undone(x[i].value());
    if (form >= kModulus) return {};
    state.word[i] = (Element(form) * unit).value();
  }
  return state;
}

// Inside, a word may be either of two integers below 2^64 where its form is below 2^32, which chance never meets. The
// table of bytes wants the smaller.
TEST(FieldKernels, LookupsAreBelowP) {
  std::mt19937_64 random(3);
  int seen = 0;
  for (int i = 0; i < 40; ++i) {
    Words forms;
    for (unsigned w = 0; w < kTip5Width; ++w) forms[w] = Element(random() >> (w < kTip5LookedUp ? 33 + w : 0));
    const std::optional<State> start = before_one_round(forms);
    if (!start) continue;
    ++seen;
    for (const SimdLevel level : levels()) {
      State s = *start;
      Tip5Lookups lookups;
      kernels_of(level)->tip5(s.word, lookups);
      for (unsigned w = 0; w < kTip5LookedUp; ++w) ASSERT_EQ(lookups.word[1][w], forms[w].value()) << name_of(level);
    }
  }
  EXPECT_GT(seen, 30);
}

TEST(FieldKernels, LevelsAgreeOnTip5) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    State start;
    for (std::uint64_t& w : start.word) w = draw(random);
    State expected = start;
    Tip5Lookups expected_lookups;
    kernels_of(SimdLevel::portable)->tip5(expected.word, expected_lookups);
    for (const SimdLevel level : levels()) {
      State s = start;
      Tip5Lookups lookups;
      kernels_of(level)->tip5(s.word, lookups);
      ASSERT_EQ(0, memcmp(&s, &expected, sizeof s)) << name_of(level);
      ASSERT_EQ(0, memcmp(&lookups, &expected_lookups, sizeof lookups)) << name_of(level);
    }
  }
}

}  // namespace
}  // namespace trident::field
