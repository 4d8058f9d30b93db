// Fixed point in the field: the element for a real number x is the one whose centred lift is the integer nearest to
// 2^16 x.
//   lift   [0, p) -> (-p/2, p/2]     the integer that an element stands for
//   lower  the other way
//
// A product of two such integers carries 2^32, and one factor 2^16 has to go. In the field this cannot be done: a b / S
// by the inverse of S = 2^16 is exact division, right only where S divides the integer product, and a huge element
// otherwise (0.3 * 0.5 becomes about -1.4e14). So products are integers of 128 bits, sums of products are exact,
// and each sum is rounded once, half up:
//
//   sum + 2^15 = r 2^16 + e,   0 <= e < 2^16
//
// which is also what a proof would check, with one range check on e. The result differs by at most 2^-17 from
// the exact value. Sums are guarded: beyond 2^62 they saturate and are counted, so that no result is wrong silently.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/check.h"
#include "runtime/field/element.h"

namespace trident::tir::neural {

using field::Element;

inline constexpr int kFractionBits = 16;
inline constexpr std::int64_t kScale = std::int64_t{1} << kFractionBits;
/// Bound of sums of raw products: they stay within +- this.
inline constexpr std::int64_t kProductSumMax = std::int64_t{1} << 62;

/// Counts sums that were too large for their guard.
struct Overflows {
  std::uint64_t count = 0;
};

constexpr std::int64_t lift(Element x) {
  return x.value() <= field::kModulus / 2 ? static_cast<std::int64_t>(x.value())
                                          : -static_cast<std::int64_t>(field::kModulus - x.value());
}
/// Returns the element of an integer, |x| <= p/2.
constexpr Element lower(std::int64_t x) {
  const auto magnitude = x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  return x < 0 ? -Element(magnitude) : Element(magnitude);
}

/// Rescales a sum of raw products to one factor 2^16.
constexpr std::int64_t rescale(__int128 sum, Overflows& overflows) {
  if (sum > kProductSumMax || sum < -__int128{kProductSumMax}) {
    ++overflows.count;
    sum = sum > 0 ? __int128{kProductSumMax} : -__int128{kProductSumMax};
  }
  return static_cast<std::int64_t>((sum + kScale / 2) >> kFractionBits);
}

constexpr Element multiply(Element a, Element b, Overflows& overflows) {
  return lower(rescale(__int128{lift(a)} * lift(b), overflows));
}

/// Sums a[i] b[i], plus `bias`, rounded once. a and b have the same length, at most 2^16: their sum cannot wrap.
constexpr Element dot(std::span<const Element> a, std::span<const Element> b, Element bias, Overflows& overflows) {
  CHECK(a.size() == b.size() && a.size() <= std::size_t{1} << 16);
  // Each product is below 2^126; a sum of many could wrap, so it is kept in two halves that cannot.
  __int128 low = 0, high = 0;
  const auto take = [&](__int128 product) {
    high += product >> 64;
    low += static_cast<std::uint64_t>(product);
  };
  for (std::size_t i = 0; i < a.size(); ++i) take(__int128{lift(a[i])} * lift(b[i]));
  take(__int128{lift(bias)} * kScale);
  high += low >> 64;
  constexpr __int128 kHighMax = __int128{1} << 60;  // beyond the guard in any case
  const __int128 bounded = high > kHighMax ? kHighMax : high < -kHighMax ? -kHighMax : high;
  return lower(rescale(bounded * (__int128{1} << 64) + static_cast<std::uint64_t>(low), overflows));
}

/// Returns the nearest fixed-point number, halves away from 0. |x| < 2^46.
constexpr std::int64_t fixed_of(double x) {
  CHECK(x < 0x1p46 && x > -0x1p46);
  const double scaled = x * static_cast<double>(kScale);
  return static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}
constexpr double real_of(std::int64_t fixed) {
  return static_cast<double>(fixed) / static_cast<double>(kScale);
}

}  // namespace trident::tir::neural
