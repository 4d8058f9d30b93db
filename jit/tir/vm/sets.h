// Memory of a run that grows with the program's work. All of it is kept between runs: clear() costs next to nothing,
// so that short programs can be run by the million.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/field/tip5.h"

namespace trident::tir::vm {

/// Maps keys of 128 bits to values: open addressing, linear probing, at most half full. A slot is in use when it has
/// the number of the current run.
class Map {
 public:
  struct Key {
    std::uint64_t a = 0, b = 0;
    bool operator==(const Key&) const = default;
  };

  explicit Map(std::size_t slots = 64) : slots_(slots) {}

  void clear() {
    size_ = 0;
    if (++run_ != 0) return;
    run_ = 1;
    for (Slot& slot : slots_) slot.run = 0;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::uint64_t* find(Key key) const {
    const Slot& slot = slots_[place(key)];
    return slot.run == run_ ? &slot.value : nullptr;
  }
  /// Returns the value of the key, and true if it is new: then the value is 0.
  std::pair<std::uint64_t*, bool> insert(Key key) {
    std::size_t at = place(key);
    if (slots_[at].run == run_) return {&slots_[at].value, false};
    if (2 * (size_ + 1) > slots_.size()) {
      grow();
      at = place(key);
    }
    ++size_;
    slots_[at] = {key, 0, run_};
    return {&slots_[at].value, true};
  }
  template <class F>
  void each(F f) const {
    for (const Slot& slot : slots_)
      if (slot.run == run_) f(slot.key, slot.value);
  }

 private:
  struct Slot {
    Key key;
    std::uint64_t value = 0;
    std::uint32_t run = 0;
  };

  [[nodiscard]] std::size_t place(Key key) const {
    std::uint64_t h = key.a * 0x9e37'79b9'7f4a'7c15 ^ std::rotl(key.b * 0xc2b2'ae3d'27d4'eb4f, 29);
    h = (h ^ h >> 32) * 0xd6e8'feb8'6659'fd93;
    std::size_t at = (h ^ h >> 29) & (slots_.size() - 1);
    while (slots_[at].run == run_ && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> slots(2 * slots_.size());
    slots.swap(slots_);
    for (const Slot& slot : slots)
      if (slot.run == run_) slots_[place(slot.key)] = slot;
  }

  std::vector<Slot> slots_;  ///< their number is a power of two
  std::size_t size_ = 0;
  std::uint32_t run_ = 1;
};

/// Set of the pieces of 16 bits that Tip5 has looked up.
class Cascade {
 public:
  void clear() {
    std::memset(words_, 0, sizeof words_);
    size_ = 0;
  }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  void insert(const field::Tip5Lookups& lookups) {
    for (const auto& round : lookups.word)
      for (const std::uint64_t word : round)
        for (unsigned shift = 0; shift < 64; shift += 16) insert(static_cast<std::uint16_t>(word >> shift));
  }

 private:
  void insert(std::uint16_t piece) {
    std::uint64_t& word = words_[piece >> 6];
    const std::uint64_t bit = std::uint64_t{1} << (piece & 63);
    size_ += (word & bit) == 0 ? 1 : 0;
    word |= bit;
  }

  std::uint64_t words_[1024] = {};
  std::uint32_t size_ = 0;
};

}  // namespace trident::tir::vm
