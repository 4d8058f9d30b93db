// Which matches of a round are applied, and in which order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/egraph/search.h"
#include "runtime/base/split_mix.h"

namespace trident::egraph {

/// Numbers seen since the last clear(), which is cheap. Open addressing; zero marks an empty place. Keeps 32 bits of
/// each: a number that shares them with an earlier one counts as seen, which loses a match now and then.
class SeenSet {
 public:
  SeenSet() : slots_(1u << 12, 0) {}
  void clear() {
    if (used_ > 0) std::fill(slots_.begin(), slots_.end(), 0);
    used_ = 0;
  }
  /// Returns false if it was there.
  bool insert(std::uint64_t number) {
    const auto key = static_cast<std::uint32_t>(number >> 32) | 1u;
    if (used_ * 2 >= slots_.size()) grow();
    const std::size_t at = place(key);
    if (slots_[at] == key) return false;
    slots_[at] = key;
    ++used_;
    return true;
  }

  /// Returns how many numbers have to be moved soon.
  [[nodiscard]] std::size_t growth() const { return used_ * 2 + 512 >= slots_.size() ? used_ : 0; }
  [[nodiscard]] std::size_t bytes() const { return slots_.capacity() * sizeof(slots_[0]); }

 private:
  [[nodiscard]] std::size_t place(std::uint32_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key >> 1) & mask;
    while (slots_[at] != 0 && slots_[at] != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<std::uint32_t> old(slots_.size() * 2, 0);
    old.swap(slots_);
    for (const std::uint32_t key : old) {
      if (key != 0) slots_[place(key)] = key;
    }
  }

  std::vector<std::uint32_t> slots_;
  std::size_t used_ = 0;
};

/// Orders matches: as found, or by expected gain.
class MatchOrder {
 public:
  explicit MatchOrder(const SearchSpace& space);

  /// Orders the matches to apply; false when the budget ended. Weighs them by `way` and by noise.
  bool order(const Matches& matches, Strategy way, double noise, SplitMix64& random, Watch& watch);
  [[nodiscard]] std::span<const std::uint32_t> list() const { return order_; }

  [[nodiscard]] std::size_t bytes() const {
    return order_.capacity() * sizeof(order_[0]) + keys_.capacity() * sizeof(keys_[0]);
  }
  /// Returns the bytes that ordering `count` matches may take.
  [[nodiscard]] std::size_t bytes_for(std::size_t count) const {
    return std::max(order_.capacity(), count) * (sizeof(order_[0]) + sizeof(keys_[0]));
  }

 private:
  // Returns a match's key; small keys come first.
  std::uint16_t key_of(const Match& m, Strategy way, double noise, SplitMix64& random) const;

  std::vector<double> gains_;  ///< per rule: cost of the left side's ops less the right side's
  std::vector<std::uint32_t> order_;
  std::vector<std::uint16_t> keys_;
  std::vector<std::uint32_t> place_;  ///< scratch
};

}  // namespace trident::egraph
