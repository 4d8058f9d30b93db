// The field of p = 2^64 - 2^32 + 1 elements ("Goldilocks"), one element at a time.
//
// An element is kept as the integer in [0, p) that it is, never in Montgomery form: the machine that is built on this
// compares, splits and prints elements far more often than a conversion would save. 2^64 = 2^32 - 1 and 2^96 = -1
// mod p, so a product needs one wide multiplication and no division:
//
//   x = x0 + 2^64 x1 + 2^96 x2  =  x0 - x2 + x1 (2^32 - 1),   x1, x2 < 2^32
#pragma once

#include <cstdint>

namespace trident::field {

inline constexpr std::uint64_t kModulus = 0xffff'ffff'0000'0001;
/// 2^64 mod p.
inline constexpr std::uint64_t kEpsilon = 0xffff'ffff;

class Element {
 public:
  constexpr Element() = default;
  /// The residue of any integer below 2^64.
  explicit constexpr Element(std::uint64_t value) : value_(value >= kModulus ? value - kModulus : value) {}
  /// Makes an element of an integer that is known to be below p.
  static constexpr Element canonical(std::uint64_t value) {
    Element e;
    e.value_ = value;
    return e;
  }

  /// The number, in [0, p).
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
  [[nodiscard]] constexpr bool is_zero() const { return value_ == 0; }
  [[nodiscard]] constexpr bool is_u32() const { return value_ >> 32 == 0; }

  constexpr bool operator==(const Element&) const = default;

  friend constexpr Element operator+(Element a, Element b) {
    // p - b is in (0, p], so the difference cannot wrap but below zero, where p brings it back.
    const std::uint64_t room = kModulus - b.value_;
    return canonical(a.value_ >= room ? a.value_ - room : a.value_ + b.value_);
  }
  friend constexpr Element operator-(Element a, Element b) {
    const std::uint64_t difference = a.value_ - b.value_;
    return canonical(a.value_ < b.value_ ? difference + kModulus : difference);
  }
  constexpr Element operator-() const { return Element() - *this; }
  friend constexpr Element operator*(Element a, Element b) {
    return reduced(static_cast<unsigned __int128>(a.value_) * b.value_);
  }
  constexpr Element& operator+=(Element other) { return *this = *this + other; }
  constexpr Element& operator-=(Element other) { return *this = *this - other; }
  constexpr Element& operator*=(Element other) { return *this = *this * other; }

  /// x mod p for any x below 2^128.
  static constexpr Element reduced(unsigned __int128 x) {
    const auto low = static_cast<std::uint64_t>(x), high = static_cast<std::uint64_t>(x >> 64);
    const std::uint64_t x1 = high & kEpsilon, x2 = high >> 32;
    std::uint64_t difference = low - x2;
    if (low < x2) difference -= kEpsilon;
    const std::uint64_t product = (x1 << 32) - x1;
    std::uint64_t sum = difference + product;
    if (sum < product) sum += kEpsilon;
    return Element(sum);
  }

 private:
  std::uint64_t value_ = 0;
};

inline constexpr Element kZero{}, kOne = Element::canonical(1), kMinusOne = Element::canonical(kModulus - 1);

/// x^n; 0^0 = 1.
constexpr Element power(Element x, std::uint64_t n) {
  Element result = kOne;
  for (; n != 0; n >>= 1, x *= x)
    if (n & 1) result *= x;
  return result;
}

/// 1/x; 0 for 0. By Fermat: x^(p-2), whose exponent is 2^64 - 2^32 - 1 = 0xfffffffe'ffffffff.
constexpr Element inverse(Element x) {
  // x^(2^k - 1) for k = 1, 2, 3, 6, 12, 24, 30, 31, 32, doubled up.
  const auto raised = [](Element base, int squarings) {
    for (int i = 0; i < squarings; ++i) base *= base;
    return base;
  };
  const Element t2 = raised(x, 1) * x, t3 = raised(t2, 1) * x, t6 = raised(t3, 3) * t3, t12 = raised(t6, 6) * t6;
  const Element t24 = raised(t12, 12) * t12, t30 = raised(t24, 6) * t6, t31 = raised(t30, 1) * x;
  const Element t32 = raised(t31, 1) * x;
  return raised(t31, 33) * t32;
}

}  // namespace trident::field
