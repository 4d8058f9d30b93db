#include "jit/codegen/constant_division.h"

namespace trident::codegen {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr unsigned kBits = 64;

}  // namespace

/// Finds the least p for which 2^p > greatest |n| * (|divisor| - 2^p mod |divisor|).
SignedDivision signed_division(std::int64_t divisor) {
  const auto bits = static_cast<std::uint64_t>(divisor);
  const Wide d = divisor < 0 ? 0 - bits : bits;
  const Wide above = (Wide{1} << (kBits - 1)) + (bits >> (kBits - 1));
  const Wide greatest = above - 1 - above % d;
  unsigned p = kBits - 1;
  Wide power = 0;
  do {
    ++p;
    power = Wide{1} << p;
  } while (power <= greatest * (d - power % d));
  const auto multiplier = static_cast<std::uint64_t>((power + d - power % d) / d);
  SignedDivision division{static_cast<std::int64_t>(divisor < 0 ? 0 - multiplier : multiplier), 0, p - kBits};
  if (divisor > 0 && division.multiplier < 0) division.added = 1;
  if (divisor < 0 && division.multiplier > 0) division.added = -1;
  return division;
}

/// The multiplier is 2^64 + `multiplier` where it `adds`.
UnsignedDivision unsigned_division(std::uint64_t divisor) {
  const Wide d = divisor;
  unsigned shift = 0;
  while (Wide{1} << shift < d) ++shift;
  // 2^64 * (2^shift - d) / d + 1: the low word of the multiplier for this shift, which always suffices.
  const Wide low = (((Wide{1} << shift) - d) << kBits) / d + 1;
  const Wide multiplier = (Wide{1} << kBits) + low;
  // Half of it suffices where its error does: an even multiplier is one of a shift less.
  const Wide less = (Wide{1} << (kBits + shift - 1)) / d + 1;
  const Wide error = less * d - (Wide{1} << (kBits + shift - 1));
  if (error <= Wide{1} << (shift - 1)) return {static_cast<std::uint64_t>(less), false, shift - 1};
  return {static_cast<std::uint64_t>(multiplier), true, shift};
}

}  // namespace trident::codegen
