// The order of reductions written down a second time, from the text of jit/kir/reduction.h and without its code: chunks
// of 4,096 elements; in each 256 bytes of partial results and a tree; above them the trees of a binary counter, here by
// recursion: the left part of several chunks is the greatest power of two that leaves a right part.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

namespace trident::testing {

template <class Take, class Value, class Join>
Value reduced_chunks(Take take, std::size_t n, std::size_t first, std::size_t chunks, std::size_t partials, Value start,
                     Join join) {
  constexpr std::size_t kChunk = 4096;
  if (chunks > 1) {
    const std::size_t left = std::bit_floor(chunks - 1);
    return join(reduced_chunks(take, n, first, left, partials, start, join),
                reduced_chunks(take, n, first + left * kChunk, chunks - left, partials, start, join));
  }
  std::vector<Value> partial(partials, start);
  for (std::size_t i = first; i < std::min(n, first + kChunk); ++i)
    partial[i % partials] = take(partial[i % partials], i);
  while (partial.size() > 1) {
    const std::size_t half = partial.size() / 2;
    for (std::size_t j = 0; j < half; ++j) partial[j] = join(partial[j], partial[j + half]);
    partial.resize(half);
  }
  return partial[0];
}

/// Reduces n elements of `bytes` bytes each. `take(partial, i)` joins a partial result with element i, `join(earlier,
/// later)` two of them.
template <class Take, class Value, class Join>
Value reduced_by(Take take, std::size_t n, std::size_t bytes, Value start, Join join) {
  return reduced_chunks(take, n, 0, std::max<std::size_t>((n + 4095) / 4096, 1), 256 / bytes, start, join);
}

/// Reduces element(0) .. element(n - 1): `join` takes elements too.
template <class Element, class Value, class Join>
Value reduced_in_order(Element element, std::size_t n, std::size_t bytes, Value start, Join join) {
  return reduced_by([&](const Value& partial, std::size_t i) { return join(partial, element(i)); }, n, bytes, start,
                    join);
}

}  // namespace trident::testing
