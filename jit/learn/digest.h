// Digests tell data apart, so that a run goes on with its own samples only. Not against an adversary.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/split_mix.h"

namespace trident::learn {

class DataDigest {
 public:
  template <class Number>
  requires std::integral<Number> || std::floating_point<Number>
  void add(Number number) {
    std::uint64_t word = 0;
    if constexpr (std::floating_point<Number>)
      word = std::bit_cast<std::uint64_t>(static_cast<double>(number));
    else
      word = static_cast<std::uint64_t>(number);
    state_ = SplitMix64(state_ ^ word).next();
  }
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) add(c);
  }
  /// Adds the numbers after their count.
  template <class Number>
  void add(std::span<const Number> numbers) {
    add(numbers.size());
    for (const Number number : numbers) add(number);
  }
  [[nodiscard]] std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(state_));
    return digits;
  }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace trident::learn
