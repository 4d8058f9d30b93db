// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): small, seedable, the same numbers everywhere.
#pragma once

#include <bit>
#include <cstdint>
#include <iterator>

namespace trident::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E37'79B9'7F4A'7C15u);
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9u;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EBu;
    return z ^ (z >> 31);
  }
  /// A number in [0, bound).
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  /// A number in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }
  /// The bits of a double of any kind: small numbers, zeros, infinities, NaN of all sorts, subnormals, any bits.
  std::uint64_t float_bits() {
    constexpr std::uint64_t kCorners[] = {0,                       // 0
                                          0x3FF0'0000'0000'0000,   // 1
                                          0x3FE0'0000'0000'0000,   // 1/2
                                          0x3FDF'FFFF'FFFF'FFFF,   // just below
                                          0x7FF0'0000'0000'0000,   // infinity
                                          0x7FF8'0000'0000'0000,   // NaN
                                          0x7FF8'0000'0000'1234,   // NaN with a payload
                                          0x7FF0'0000'0000'0001,   // NaN that signals
                                          0x0000'0000'0000'0001,   // least subnormal
                                          0x000F'FFFF'FFFF'FFFF,   // greatest subnormal
                                          0x0010'0000'0000'0000,   // least normal
                                          0x7FEF'FFFF'FFFF'FFFF,   // greatest
                                          0x43E0'0000'0000'0000,   // 2^63
                                          0x4330'0000'0000'0001};  // 2^52 + 1
    const std::uint64_t sign = next() & std::uint64_t{1} << 63;
    switch (below(4)) {
      case 0: return sign | kCorners[below(std::size(kCorners))];
      case 1: return next();
      case 2: return sign | (0x3C00'0000'0000'0000 + next() % 0x0800'0000'0000'0000);  // 2^-63 to 2^65
      default: return sign | std::bit_cast<std::uint64_t>(static_cast<double>(below(64)) / 4);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace trident::testing
