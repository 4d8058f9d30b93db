// Oracle: a product with the inverse is one.
#include "runtime/field/inverses.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/field/element.h"

namespace trident::field {
namespace {

TEST(FieldInverses, TimesTheWordIsOne) {
  constexpr std::uint64_t kEdges[] = {1, 2, kEpsilon, kEpsilon + 1, kModulus / 2, kModulus - 2, kModulus - 1};
  constexpr std::uint64_t kGuard = 0x1234'5678;
  std::mt19937_64 random(1);
  for (std::size_t count = 0; count < 600; count += count < 140 ? 1 : 37) {
    std::vector<std::uint64_t> words(count), scratch(2 * count + 64 + 1, kGuard);
    for (std::uint64_t& word : words)
      word = random() % 3 == 0 ? kEdges[random() % std::size(kEdges)] : 1 + random() % (kModulus - 1);
    std::vector<std::uint64_t> inverses = words;
    inverses.push_back(kGuard);
    invert_nonzero(inverses.data(), count, scratch.data());
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_LT(inverses[i], kModulus);
      ASSERT_EQ(Element(words[i]) * Element(inverses[i]), kOne) << words[i] << ", " << i << " of " << count;
    }
    ASSERT_EQ(inverses.back(), kGuard);
    ASSERT_EQ(scratch.back(), kGuard);
  }
}

}  // namespace
}  // namespace trident::field
