// Kernels by job number. A number is a slot and the slot's generation, so that a late answer for a closed kernel finds
// nothing, and adding one allocates nothing once the table has grown.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trident::client {

struct Kernel;

class JobTable {
 public:
  /// Never 0.
  std::uint64_t add(Kernel* kernel) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      if (slots_.size() == slots_.capacity()) slots_.reserve(std::max<std::size_t>(16, 2 * slots_.size()));
      free_.reserve(slots_.capacity());  // erase() must not fail
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.push_back({});
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slots_[slot].kernel = kernel;
    return std::uint64_t{++slots_[slot].generation} << 32 | slot;
  }

  /// The kernel of `job`, or null when it is gone or never was.
  [[nodiscard]] Kernel* find(std::uint64_t job) const {
    const auto slot = static_cast<std::uint32_t>(job);
    if (slot >= slots_.size() || slots_[slot].generation != job >> 32) return nullptr;
    return slots_[slot].kernel;
  }

  void erase(std::uint64_t job) {
    const auto slot = static_cast<std::uint32_t>(job);
    slots_[slot].kernel = nullptr;
    free_.push_back(slot);
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.kernel != nullptr) visit(*slot.kernel);
    }
  }

 private:
  struct Slot {
    Kernel* kernel = nullptr;
    std::uint32_t generation = 0;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace trident::client
