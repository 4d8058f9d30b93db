// Reads and writes the arguments of calls, for the oracles of all areas.
#pragma once

#include <optional>
#include <string>

#include "tests/library/oracle.h"

namespace trident::test {

using Int = std::int64_t;
using Word = std::uint64_t;
using Answer = std::optional<Int>;
using List = std::vector<Int>;

inline List& list(Arguments& a, std::size_t i) {
  return a[i].elements;
}

inline Int number(const Arguments& a, std::size_t i) {
  return a[i].number;
}

inline Word word(const Arguments& a, std::size_t i) {
  return static_cast<Word>(a[i].number);
}

inline Int wrapped(Word bits) {
  return static_cast<Int>(bits);
}

inline Int sign_of(Int a) {
  return a < 0 ? -1 : a > 0;
}

/// The whole array as bytes, zero bytes too.
inline std::string bytes(const Arguments& a, std::size_t i) {
  std::string all;
  for (const Int byte : a[i].elements) all += static_cast<char>(byte);
  return all;
}

inline Int below(Random& random, std::size_t n) {
  return static_cast<Int>(random() % n);
}

inline void often_equal(Arguments& a, Random& random) {
  if (random() % 2 == 0) a[1].elements = a[0].elements;
  if (random() % 2 == 0 && !a[1].elements.empty()) a[1].elements.back() ^= 1;
}

inline void often_found(Arguments& a, Random& random) {
  if (!list(a, 0).empty() && random() % 2 == 0) a[1].number = list(a, 0)[random() % list(a, 0).size()];
}

inline std::string bytes(const List& list, std::size_t count) {
  return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count)};
}

// By area.
std::span<const Oracle> math_oracles();
std::span<const Oracle> array_oracles();
std::span<const Oracle> bitwise_oracles();
std::span<const Oracle> string_oracles();
std::span<const Oracle> float_oracles();
std::span<const Oracle> collections_oracles();

}  // namespace trident::test
