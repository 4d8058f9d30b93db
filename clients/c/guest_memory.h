// The memory of a guest as native code may touch it: plain regions that lie in this process, sorted, never overlapping.
//
// A window is the part of one region that an access site may use. It never reaches into another region, even where the
// two touch. A window for stores lies in memory that the guest may write and does not execute, whichever address it is
// executed at: two regions may be the same host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clients/c/trident_loop.h"
#include "runtime/base/result.h"

namespace trident::client {

/// Bytes of this process: [begin, end).
struct HostRange {
  std::uintptr_t begin = 0, end = 0;
  [[nodiscard]] bool overlaps(const HostRange& other) const { return begin < other.end && other.begin < end; }
  friend bool operator==(const HostRange&, const HostRange&) = default;
};

struct GuestRegion {
  std::uint64_t base = 0, size = 0;  ///< may end at 2^64
  std::uintptr_t host = 0;
  std::uint32_t permissions = 0;  ///< bits of enum trident_loop_permission

  [[nodiscard]] std::uint64_t last() const { return base + (size - 1); }
  [[nodiscard]] bool contains(std::uint64_t address) const { return address - base < size; }
  [[nodiscard]] std::uintptr_t host_of(std::uint64_t address) const { return host + (address - base); }
  [[nodiscard]] HostRange bytes() const { return {host, host + size}; }
};

/// An access site's needs.
struct WindowNeed {
  bool loads = false, stores = false;
  std::uint32_t widest = 1;  ///< bytes of an access
};

class GuestMemory {
 public:
  /// InvalidArgument for regions that are empty, wrap around or overlap others.
  Result<void> map(const GuestRegion& region);
  /// Forgets [base, base + size), which may cut regions.
  void unmap(std::uint64_t base, std::uint64_t size) noexcept;

  /// The region that has `address`; null where there is none.
  [[nodiscard]] const GuestRegion* find(std::uint64_t address) const;
  /// The window around `address`; empty (span 0) where the need cannot be met there. `own_code`: host bytes that must
  /// not be stored to in any case.
  [[nodiscard]] trident_region_window window(std::uint64_t address, const WindowNeed& need,
                                             std::span<const HostRange> own_code) const;
  /// Returns true when the guest may write to these bytes, at whichever address.
  [[nodiscard]] bool is_writable(const HostRange& bytes) const { return is_shared(bytes, TRIDENT_LOOP_WRITE); }
  /// Appends the host bytes of [base, base + size), in order. Returns false when some of it is not mapped.
  bool append_host(std::uint64_t base, std::uint64_t size, std::vector<HostRange>& to) const;

  [[nodiscard]] std::span<const GuestRegion> regions() const { return regions_; }

 private:
  [[nodiscard]] bool is_shared(const HostRange& bytes, std::uint32_t permission) const;
  [[nodiscard]] bool permits(const GuestRegion& region, const WindowNeed& need) const;

  std::vector<GuestRegion> regions_;  ///< by base
};

}  // namespace trident::client
