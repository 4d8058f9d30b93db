// A slot: code that is swapped while calls run through it. A kernel has one; whatever else is submitted has one too. It
// knows neither what its code computes nor how that code was asked for.
//
//   call ──> handle's entry ──┬──> fallback          tier 0: before the first image and after a revocation
//                             └──> current image     tier 1 or 2
//                                  retired images    still mapped: calls may be in them
//
// The entry is a word of the C handle, because callers read it inline: one load with acquire order, one jump. publish()
// and revoke() store it with release order. An image that has ever been the entry stays mapped until the slot is
// destroyed, so a call that loaded the entry just before a swap still runs mapped code and no call needs to announce
// itself (no epochs, no pins, 0 ns). The price is bounded: kMapsMax mappings a slot, after which it keeps the entry it
// has.
//
// Calls and pins keep a slot alive. The handle's owner promises that no call runs when he closes it. A thread of the
// library that uses the slot without the mutex pins it. Whichever comes later, close() or the last unpin(), returns
// true; its caller then destroys the slot's owner.
//
// While calls are to be watched they take a detour: the entry is a function that notes the call and jumps to code().
// Publications then change code() alone. A resting detour stands in where there is no other: it counts calls while code
// is waited for.
//
// All functions here but code() need the context's mutex. Calls need nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "clients/c/image_map.h"

namespace trident::client {

/// Images mapped for one slot over its life; further ones are refused.
inline constexpr std::size_t kMapsMax = 8;

class Slot {
 public:
  /// Makes `fallback` the entry. `entry` is the handle's word; it must live as long as the slot. Keep it on a cache
  /// line that nobody else writes to, so apart from this slot: every call reads it.
  template <class Function>
  Slot(Function*& entry, Function* fallback)
      : entry_(&entry), store_(&store_entry<Function>), fallback_(reinterpret_cast<Code>(fallback)) {
    enter(fallback_);
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  /// Returns true when an image of `new_tier` with this digest would be a step forward.
  [[nodiscard]] bool wants(std::uint8_t new_tier, std::uint64_t digest_low, std::uint64_t digest_high) const;
  /// Makes `map` the entry and keeps it. Needs room: wants() was true under the same lock.
  void publish(ImageMap map);
  /// Brings the fallback back if the entry is of this tier. The image that was the entry is not wanted again.
  void revoke(std::uint8_t revoked_tier);

  /// Replaces a speculative image by the last other one of its tier that was not revoked. Returns false if there is
  /// none: one of a lower tier is slower than the general kernel in the speculative image.
  bool leave_speculation();

  /// Makes `function`, which jumps to code(), the entry wherever there is no other detour. Null: no longer.
  template <class Function>
  void set_resting_detour(Function* function) {
    const bool rests = detour_ == resting_;
    resting_ = reinterpret_cast<Code>(function);
    if (rests) set_detour(function);
  }
  void end_resting_detour() { set_resting_detour<void()>(nullptr); }

  /// Makes `function` the entry; it jumps to code(). Null ends the detour.
  template <class Function>
  void set_detour(Function* function) {
    detour_ = reinterpret_cast<Code>(function);
    store_(entry_, detour_ != nullptr ? detour_ : code_.load(std::memory_order_relaxed));
  }
  void end_detour() { set_detour(resting_); }
  [[nodiscard]] bool has_detour() const { return detour_ != nullptr; }
  /// The image's function or the fallback: the entry but for detours. Needs no mutex.
  template <class Function>
  [[nodiscard]] Function* code() const {
    return reinterpret_cast<Function*>(code_.load(std::memory_order_acquire));
  }

  /// Returns whether `function`, which code() has returned, gives an element the same bits wherever it stands in a
  /// call: it does not choose between kernels. Needs no mutex.
  template <class Function>
  [[nodiscard]] bool is_steady(Function* function) const {
    return steady_.load(std::memory_order_acquire) == reinterpret_cast<Code>(function);
  }

  /// The image that is the entry; null for the fallback. It stays where it is as long as the slot.
  [[nodiscard]] const ImageMap* image() const { return current_; }
  /// The entry's tier.
  [[nodiscard]] std::uint8_t tier() const { return current_ == nullptr ? 0 : current_->header().tier; }
  /// Returns whether the entry is code that assumes ranges.
  [[nodiscard]] bool speculates() const;
  /// The entry's instruction set; 0 for the fallback.
  [[nodiscard]] std::uint8_t isa() const { return current_ == nullptr ? 0 : current_->header().isa; }
  /// Times that the entry was replaced.
  [[nodiscard]] std::uint32_t swaps() const { return swaps_; }
  /// Returns true when kMapsMax images have been the entry.
  [[nodiscard]] bool is_full() const { return map_count_ == kMapsMax; }

  void pin() { ++pins_; }
  /// Takes one pin away. Returns true when it was the last one of a closed slot: destroy the owner.
  [[nodiscard]] bool unpin() { return --pins_ == 0 && closed_; }
  /// Ends the slot's use: it wants nothing more. Returns true when nobody pins it: destroy the owner.
  [[nodiscard]] bool close();
  [[nodiscard]] bool is_closed() const { return closed_; }
  /// Takes all pins away. For the child of a fork(), which has none of the threads that took them.
  void forget_pins() { pins_ = 0; }

 private:
  using Code = void (*)();

  template <class Function>
  static void store_entry(void* entry, Code code) {
    __atomic_store_n(static_cast<Function**>(entry), reinterpret_cast<Function*>(code), __ATOMIC_RELEASE);
  }

  void enter(Code code) {
    steady_.store(speculates() ? nullptr : code, std::memory_order_release);
    code_.store(code, std::memory_order_release);
    if (detour_ == nullptr) store_(entry_, code);
  }

  void* entry_;
  void (*store_)(void* entry, Code code);
  Code fallback_;
  std::atomic<Code> code_ = nullptr;
  std::atomic<Code> steady_ = nullptr;  ///< code_, or null where that assumes ranges
  Code detour_ = nullptr, resting_ = nullptr;
  std::array<ImageMap, kMapsMax> maps_;   ///< every image that has been the entry, in order
  std::array<bool, kMapsMax> revoked_{};  ///< withdrawn: not to be taken again
  std::uint32_t map_count_ = 0;
  const ImageMap* current_ = nullptr;  ///< one of them; null for the fallback
  std::uint32_t swaps_ = 0;
  std::uint32_t pins_ = 0;
  bool closed_ = false;
};

}  // namespace trident::client
