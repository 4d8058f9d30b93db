// Random instructions, and loops of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/random.h"

namespace trident::tests {

/// Registers: x0..x15 hold data, x20..x23 point to memory, x24 is an index, x28 counts down, x27 in a second loop.
inline constexpr unsigned kDataRegisters = 16, kFirstBase = 20, kBases = 4, kIndex = 24, kSecondCounter = 27,
                          kCounter = 28;

class RandomBody {
 public:
  explicit RandomBody(testing::Random& random) : random_(random) {}

  /// `length` instructions.
  std::vector<std::uint32_t> straight(std::uint32_t length);
  /// `length` instructions, then the counter and the jump to the first.
  std::vector<std::uint32_t> code(std::uint32_t length, unsigned counter = kCounter);

 private:
  /// Nothing when the drawn word is reserved.
  std::optional<std::uint32_t> one(std::uint32_t left);

  testing::Random& random_;
};

}  // namespace trident::tests
