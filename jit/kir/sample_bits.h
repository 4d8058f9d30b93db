// Bits for tests: corners of every type, and random bits that reach exponents, small integers and special values.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "jit/ir/type.h"

namespace trident::kir {

inline double double_of(ir::Type type, std::uint64_t bits) {
  return type == ir::Type::f32 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits)) : std::bit_cast<double>(bits);
}

inline std::uint64_t bits_of_double(ir::Type type, double value) {
  return type == ir::Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                               : std::bit_cast<std::uint64_t>(value);
}

inline std::uint64_t exponent_mask(ir::Type type) {
  return type == ir::Type::f32 ? 0x7F80'0000u : 0x7FF0'0000'0000'0000u;
}

/// Equal bits, or both NaN (whose sign and payload are not part of kir's meaning).
inline bool same_bits(ir::Type type, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  return is_float(type) && std::isnan(double_of(type, a)) && std::isnan(double_of(type, b));
}

inline std::vector<std::uint64_t> corner_bits(ir::Type type) {
  std::vector<std::uint64_t> out;
  if (is_float(type)) {
    const bool narrow = type == ir::Type::f32;
    const double least = narrow ? 0x1p-149 : 0x1p-1074, normal = narrow ? 0x1p-126 : 0x1p-1022;
    const double greatest = narrow ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const double inf = std::numeric_limits<double>::infinity();
    for (const double x : {0.0, least, 3 * least, normal - least, normal, 0.1, 0.5, 1.0, 1.5, 2.5, 3.0, 1e9, 0x1p23,
                           0x1p24, 0x1p52, 0x1p53, greatest / 2, greatest, inf})
      for (const double signed_x : {x, -x}) out.push_back(bits_of_double(type, signed_x));
    out.push_back(bits_of_double(type, std::nan("")));
    out.push_back(exponent_mask(type) + 1);  // a signalling NaN
    out.push_back(bits_of_double(type, -std::nan("")));
    return out;
  }
  const std::uint64_t lanes = ir::bytes_of(type) == 4 ? 0xFFFF'FFFFu : ~std::uint64_t{0};
  if (is_mask(type)) return {0, lanes};
  const std::uint64_t least = lanes / 2 + 1;
  for (const std::uint64_t x : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{31},
                                std::uint64_t{32}, std::uint64_t{33}, std::uint64_t{63}, std::uint64_t{64},
                                std::uint64_t{1000}, least, least + 1, least - 1, lanes, lanes - 1, lanes / 3})
    out.push_back(x & lanes);
  return out;
}

class SampleBits {
 public:
  explicit SampleBits(std::uint64_t seed) : random_(seed) {}

  std::uint64_t operator()(ir::Type type) {
    const bool narrow = ir::bytes_of(type) == 4;
    const std::uint64_t lanes = narrow ? 0xFFFF'FFFFu : ~std::uint64_t{0};
    if (is_mask(type)) return random_() % 2 == 0 ? 0 : lanes;
    const std::uint64_t kind = random_() % 16;
    if (kind == 0) {
      const std::vector<std::uint64_t> corners = corner_bits(type);
      return corners[random_() % corners.size()];
    }
    if (kind < 4) return random_() & lanes;
    if (is_float(type)) {
      const double unit = 1 + double(random_() >> 12) * 0x1p-52;
      return bits_of_double(type, std::ldexp(random_() % 2 == 0 ? unit : -unit, int(random_() % 80) - 40));
    }
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(random_()) >> (random_() % 64)) & lanes;
  }

  std::uint64_t number() { return random_(); }

 private:
  std::mt19937_64 random_;
};

}  // namespace trident::kir
