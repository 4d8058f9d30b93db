// The order of reductions written down a second time, from the text of jit/kir/reduction.h and without its code: chunks
// of 4,096 elements; in each 256 bytes of partial results and a tree; above them the trees of a binary counter, here by
// recursion: the left part of several chunks is the greatest power of two that leaves a right part.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

namespace trident::testing {

template <class Element, class Value, class Join>
Value reduced_chunks(Element element, std::size_t n, std::size_t first, std::size_t chunks, std::size_t partials,
                     Value start, Join join) {
  constexpr std::size_t kChunk = 4096;
  if (chunks > 1) {
    const std::size_t left = std::bit_floor(chunks - 1);
    return join(reduced_chunks(element, n, first, left, partials, start, join),
                reduced_chunks(element, n, first + left * kChunk, chunks - left, partials, start, join));
  }
  std::vector<Value> partial(partials, start);
  for (std::size_t i = first; i < std::min(n, first + kChunk); ++i)
    partial[i % partials] = join(partial[i % partials], element(i));
  while (partial.size() > 1) {
    const std::size_t half = partial.size() / 2;
    for (std::size_t j = 0; j < half; ++j) partial[j] = join(partial[j], partial[j + half]);
    partial.resize(half);
  }
  return partial[0];
}

/// Reduces element(0) .. element(n - 1), of `bytes` bytes each. `join(earlier, later)` joins two values.
template <class Element, class Value, class Join>
Value reduced_in_order(Element element, std::size_t n, std::size_t bytes, Value start, Join join) {
  return reduced_chunks(element, n, 0, std::max<std::size_t>((n + 4095) / 4096, 1), 256 / bytes, start, join);
}

}  // namespace trident::testing
