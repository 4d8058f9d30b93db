// Division of 64-bit integers by a constant as a product: Hacker's Delight (Warren), chapter 10. The high half of
// multiplier * n, corrected and shifted, is n / divisor.
#pragma once

#include <cstdint>

namespace trident::codegen {

/// n / divisor = q + (q < 0 ? 1 : 0) for q = (high half of multiplier * n, signed, + added * n) >> shift.
struct SignedDivision {
  std::int64_t multiplier = 0;
  int added = 0;  ///< -1, 0 or 1
  unsigned shift = 0;
};
/// `divisor` is none of -1, 0 and 1.
SignedDivision signed_division(std::int64_t divisor);

/// n / divisor = high half of multiplier * n, unsigned, >> shift; or if `adds`, for that half h before it is shifted,
/// (((n - h) >> 1) + h) >> (shift - 1).
struct UnsignedDivision {
  std::uint64_t multiplier = 0;
  bool adds = false;
  unsigned shift = 0;
};
/// `divisor` is at least 2, and no power of two.
UnsignedDivision unsigned_division(std::uint64_t divisor);

}  // namespace trident::codegen
