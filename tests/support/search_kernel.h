// A search whose exit is no promise: greater elements behind the chunk that decides would show that they were read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "jit/kir/reduction.h"

namespace trident::testing {

/// Results: the greatest and the least element up to the end of the first chunk with one of at least 5.
inline constexpr const char* kStopsAtFive = R"(input x i32
%0 = input i32 0
%1 = maxof i32 %0
%2 = minof i32 %0
%3 = const i32 5
%4 = le b32 %3, %1
output scalar most %1
output scalar least %2
exit %4
)";

/// n elements of which `chunk` is the first chunk that decides, and what a loop that stops there finds.
struct SearchCase {
  SearchCase(std::uint64_t n, std::int32_t chunk) : x(n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto number = static_cast<std::int32_t>(i / kir::kChunk);
      x[i] = number < chunk ? -number : 5 + number;
    }
    for (std::uint64_t i = 0; i < n && (i % kir::kChunk != 0 || most < 5); ++i)
      most = std::max(most, x[i]), least = std::min(least, x[i]);
  }

  std::vector<std::int32_t> x;
  std::int32_t most = std::numeric_limits<std::int32_t>::min(), least = std::numeric_limits<std::int32_t>::max();
};

}  // namespace trident::testing
