#include "clients/c/guest_memory.h"

#include <algorithm>
#include <new>

namespace trident::client {
namespace {

constexpr std::uint32_t kPermissions = TRIDENT_LOOP_READ | TRIDENT_LOOP_WRITE | TRIDENT_LOOP_EXECUTE;

Error refused_region(const char* why) {
  return {ErrorCode::kInvalidArgument, std::string("trident_loop_memory: ") + why};
}

/// The first region that ends at `address` or later.
template <class Regions>
auto first_reaching(Regions& regions, std::uint64_t address) {
  return std::lower_bound(regions.begin(), regions.end(), address,
                          [](const GuestRegion& region, std::uint64_t at) { return region.last() < at; });
}

/// The part of `region` behind `address`, which it has.
GuestRegion behind(const GuestRegion& region, std::uint64_t address) {
  return {address, region.last() - address + 1, region.host_of(address), region.permissions};
}

/// Cuts `bytes` down to the part around `at` that keeps out of `others`; empty when `at` is in one of them.
HostRange kept_out(HostRange bytes, std::uintptr_t at, std::span<const HostRange> others) {
  for (const HostRange& other : others) {
    if (!bytes.overlaps(other)) continue;
    if (other.end <= at)
      bytes.begin = std::max(bytes.begin, other.end);
    else
      bytes.end = std::min(bytes.end, std::max(other.begin, bytes.begin));
  }
  return at < bytes.end ? bytes : HostRange();
}

}  // namespace

Result<void> GuestMemory::map(const GuestRegion& region) {
  if (region.size == 0 || region.last() < region.base) return refused_region("the region is empty or wraps around");
  if (region.host == 0 || region.host + (region.size - 1) < region.host) return refused_region("no such host memory");
  if ((region.permissions & ~kPermissions) != 0) return refused_region("unknown permissions");
  const auto at = first_reaching(regions_, region.base);
  if (at != regions_.end() && at->base <= region.last()) return refused_region("the region overlaps another one");
  regions_.insert(at, region);
  return {};
}

void GuestMemory::unmap(std::uint64_t base, std::uint64_t size) noexcept {
  if (size == 0) return;
  const std::uint64_t last = base + (size - 1) < base ? ~std::uint64_t{0} : base + (size - 1);
  auto at = first_reaching(regions_, base);
  while (at != regions_.end() && at->base <= last) {
    const bool keeps_begin = at->base < base, keeps_end = last < at->last();
    const GuestRegion whole = *at;
    if (keeps_begin) at->size = base - at->base;
    if (keeps_end && keeps_begin) {
      try {
        at = regions_.insert(at + 1, behind(whole, last + 1));
      } catch (const std::bad_alloc&) {  // the guest does without it
      }
      return;
    }
    if (keeps_end) *at = behind(whole, last + 1);
    if (keeps_begin || keeps_end)
      ++at;
    else
      at = regions_.erase(at);
  }
}

const GuestRegion* GuestMemory::find(std::uint64_t address) const {
  const auto at = first_reaching(regions_, address);
  return at != regions_.end() && at->contains(address) ? &*at : nullptr;
}

bool GuestMemory::is_shared(const HostRange& bytes, std::uint32_t permission) const {
  return std::any_of(regions_.begin(), regions_.end(), [&](const GuestRegion& region) {
    return (region.permissions & permission) != 0 && region.bytes().overlaps(bytes);
  });
}

bool GuestMemory::permits(const GuestRegion& region, const WindowNeed& need) const {
  if (need.loads && (region.permissions & TRIDENT_LOOP_READ) == 0) return false;
  if (!need.stores) return true;
  return (region.permissions & TRIDENT_LOOP_WRITE) != 0 && !is_shared(region.bytes(), TRIDENT_LOOP_EXECUTE);
}

trident_region_window GuestMemory::window(std::uint64_t address, const WindowNeed& need,
                                          std::span<const HostRange> own_code) const {
  const GuestRegion* region = find(address);
  if (region == nullptr || !permits(*region, need)) return {};
  HostRange bytes = region->bytes();
  if (need.stores) bytes = kept_out(bytes, region->host_of(address), own_code);
  if (bytes.end - bytes.begin < need.widest) return {};
  return {region->base + (bytes.begin - region->host), bytes.end - bytes.begin, region->host - region->base};
}

bool GuestMemory::append_host(std::uint64_t base, std::uint64_t size, std::vector<HostRange>& to) const {
  while (size != 0) {
    const GuestRegion* region = find(base);
    if (region == nullptr) return false;
    const std::uint64_t bytes = std::min(size, region->last() - base + 1);  // never 2^64: `size` is not
    const std::uintptr_t host = region->host_of(base);
    to.push_back({host, host + bytes});
    base += bytes;
    size -= bytes;
  }
  return true;
}

}  // namespace trident::client
