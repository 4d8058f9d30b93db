// Pairs of numbers for tests of exact remainders.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

namespace trident::testing {

/// Operands that try an exact remainder: of any exponents, with mantissas at the ends and few bits, multiples of each
/// other and their neighbours.
class RemainderOperands {
 public:
  std::pair<double, double> next() {
    const double y = number();
    switch (random_() % 6) {
      case 0: return {near(std::fmod(number(), 0x1p40) * y), y};
      case 1: return {near(std::ldexp(y, static_cast<int>(random_() % 2100))), y};
      case 2: return {std::ldexp(std::trunc(std::ldexp(number(0), 30)) * y, static_cast<int>(random_() % 1000)), y};
      case 3: return {number(), near(std::ldexp(1.0, static_cast<int>(random_() % 2098) - 1074))};
      default: return {number(), y};
    }
  }

 private:
  double number() { return number(static_cast<int>(random_() % 2100) - 1075); }
  double number(int exponent) {
    constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
    std::uint64_t fraction = random_() & kFraction;
    switch (random_() % 4) {
      case 0: fraction = random_() % 4 == 0 ? kFraction - random_() % 12 : random_() % 12; break;
      case 1: fraction &= random_() & random_(); break;
      case 2: fraction = fraction >> random_() % 52 << random_() % 52 & kFraction; break;
      default: break;
    }
    const double value = std::ldexp(std::ldexp(static_cast<double>(fraction), -52) + 1, exponent);
    return random_() % 2 == 0 ? value : -value;
  }
  double near(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value) + random_() % 5 - 2;
    return std::bit_cast<double>(bits);
  }
  std::mt19937_64 random_{35};
};

}  // namespace trident::testing
