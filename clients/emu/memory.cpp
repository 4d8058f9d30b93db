#include "clients/emu/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace trident::emu {
namespace {

constexpr std::uint64_t kMappedBytesMax = std::uint64_t{16} << 30;
constexpr std::size_t kAreasMax = 32'768;
constexpr std::uint64_t kHeapBytesMax = std::uint64_t{4} << 30;
/// Mappings that choose their own address end here; the stack is above.
constexpr std::uint64_t kMappingsEnd = std::uint64_t{1} << 38;
constexpr std::uint64_t kMappingsBegin = std::uint64_t{1} << 20;

std::byte* host_pages(std::uint64_t bytes) {
  void* const pages =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<std::byte*>(pages);
}

bool in_address_space(std::uint64_t base, std::uint64_t bytes) {
  return bytes <= kAddressEnd && base <= kAddressEnd - bytes;
}

std::uint64_t end_of(const Area& area) {
  return area.base + area.bytes;
}

/// Returns the part [begin, end) of an area.
Area part_of(const Area& area, std::uint64_t begin, std::uint64_t end) {
  Area part = area;
  part.base = begin;
  part.bytes = end - begin;
  part.host = area.host + (begin - area.base);
  return part;
}

}  // namespace

GuestMemory::~GuestMemory() {
  for (const auto& [base, area] : areas_)
    if (!area.reserved) ::munmap(area.host, area.bytes);
  if (heap_ != nullptr) ::munmap(heap_, kHeapBytesMax);
}

bool GuestMemory::place(Area area) {
  if (!watch_.map(area)) return false;
  areas_[area.base] = area;
  mapped_bytes_ += area.bytes;
  return true;
}

bool GuestMemory::map(std::uint64_t base, std::uint64_t bytes, std::uint32_t permissions) {
  if (bytes == 0 || !in_address_space(base, bytes) || bytes > kMappedBytesMax - mapped_bytes_) return false;
  if (areas_.size() >= kAreasMax) return false;
  std::byte* const host = host_pages(bytes);
  if (host == nullptr) return false;
  unmap(base, bytes);
  if (place({base, bytes, host, permissions, false})) return true;
  ::munmap(host, bytes);
  return false;
}

void GuestMemory::give_back(const Area& area) {
  if (area.reserved)
    ::madvise(area.host, area.bytes, MADV_DONTNEED);
  else
    ::munmap(area.host, area.bytes);
}

/// Replaces [base, end) of an area: by the same pages with other permissions, or, without any, by nothing.
void GuestMemory::take_out(Areas::iterator at, std::uint64_t base, std::uint64_t end,
                           std::optional<std::uint32_t> permissions) {
  const Area whole = at->second;
  const std::uint64_t begin = std::max(base, whole.base), stop = std::min(end, end_of(whole));
  about_to_change(whole.base, whole.bytes);
  watch_.unmap(whole.base, whole.bytes);
  mapped_bytes_ -= whole.bytes;
  areas_.erase(at);
  if (whole.base < begin) place(part_of(whole, whole.base, begin));
  Area middle = part_of(whole, begin, stop);
  if (permissions) {
    middle.permissions = *permissions;
    place(middle);
  } else {
    give_back(middle);
  }
  if (stop < end_of(whole)) place(part_of(whole, stop, end_of(whole)));
}

void GuestMemory::unmap(std::uint64_t base, std::uint64_t bytes) {
  const std::uint64_t end = base + bytes;
  while (true) {
    auto at = areas_.lower_bound(base);
    if (at != areas_.begin() && end_of(std::prev(at)->second) > base) --at;
    if (at == areas_.end() || at->first >= end) return;
    take_out(at, base, end, std::nullopt);
  }
}

bool GuestMemory::protect(std::uint64_t base, std::uint64_t bytes, std::uint32_t permissions) {
  if (!in_address_space(base, bytes) || !is_mapped(base, bytes, 0) || areas_.size() + 2 > kAreasMax) return false;
  for (std::uint64_t at = base; at < base + bytes;) {
    const auto found = std::prev(areas_.upper_bound(at));
    const std::uint64_t next = end_of(found->second);
    if (found->second.permissions != permissions) take_out(found, base, base + bytes, permissions);
    at = next;
  }
  return true;
}

std::uint64_t GuestMemory::free_range(std::uint64_t bytes) const {
  std::uint64_t end = kMappingsEnd;
  for (auto at = areas_.rbegin(); at != areas_.rend(); ++at) {
    if (at->first >= kMappingsEnd) continue;
    const std::uint64_t below = end_of(at->second);
    if (below < end && end - below >= bytes) return end - bytes;
    end = std::min(end, at->first);
  }
  return bytes <= end && end - bytes >= kMappingsBegin ? end - bytes : 0;
}

bool GuestMemory::is_free(std::uint64_t base, std::uint64_t bytes) const {
  if (!in_address_space(base, bytes)) return false;
  const auto next = areas_.lower_bound(base);
  if (next != areas_.end() && next->first < base + bytes) return false;
  return next == areas_.begin() || end_of(std::prev(next)->second) <= base;
}

bool GuestMemory::is_mapped(std::uint64_t base, std::uint64_t bytes, std::uint32_t permissions) const {
  if (!in_address_space(base, bytes)) return false;
  for (std::uint64_t at = base; at < base + bytes;) {
    const Area* const area = area_at(at);
    if (area == nullptr || (area->permissions & permissions) != permissions) return false;
    at = end_of(*area);
  }
  return true;
}

const Area* GuestMemory::area_at(std::uint64_t address) const {
  const auto next = areas_.upper_bound(address);
  if (next == areas_.begin()) return nullptr;
  const Area& area = std::prev(next)->second;
  return address < end_of(area) ? &area : nullptr;
}

bool GuestMemory::reserve_heap(std::uint64_t base) {
  heap_ = host_pages(kHeapBytesMax);
  heap_base_ = heap_end_ = base;
  return heap_ != nullptr;
}

void GuestMemory::shrink_heap(std::uint64_t from, std::uint64_t to) {
  if (to < from) unmap(to, from - to);
}

bool GuestMemory::set_heap_end(std::uint64_t end) {
  if (end < heap_base_ || end - heap_base_ > kHeapBytesMax) return false;
  const std::uint64_t from = page_up(heap_end_), to = page_up(end);
  if (to > from) {
    if (!is_free(from, to - from) || to - from > kMappedBytesMax - mapped_bytes_) return false;
    Area grown{from, to - from, heap_ + (from - heap_base_), kRead | kWrite, true};
    const Area* const below = from > heap_base_ ? area_at(from - 1) : nullptr;
    if (below != nullptr && below->reserved && below->permissions == grown.permissions) {
      grown = {below->base, to - below->base, below->host, grown.permissions, true};
      watch_.unmap(below->base, below->bytes);
      mapped_bytes_ -= below->bytes;
    }
    if (!place(grown)) return false;
  }
  shrink_heap(from, to);
  heap_end_ = end;
  return true;
}

void GuestMemory::about_to_change(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t end = address + bytes;
  auto at = areas_.upper_bound(address);
  if (at != areas_.begin() && end_of(std::prev(at)->second) > address) --at;
  for (; at != areas_.end() && at->first < end; ++at) {
    const std::uint64_t begin = std::max(address, at->first);
    if ((at->second.permissions & kExecute) != 0) watch_.code_changes(begin, std::min(end, end_of(at->second)) - begin);
  }
}

std::optional<std::vector<Piece>> GuestMemory::pieces(std::uint64_t address, std::uint64_t bytes,
                                                      std::uint32_t permissions) const {
  std::vector<Piece> found;
  if (!in_address_space(address, bytes)) return std::nullopt;
  for (std::uint64_t at = address, end = address + bytes; at < end;) {
    const Area* const area = area_at(at);
    if (area == nullptr || (area->permissions & permissions) != permissions) return std::nullopt;
    const std::uint64_t stop = std::min(end, end_of(*area));
    found.push_back({area->host + (at - area->base), stop - at});
    at = stop;
  }
  return found;
}

bool GuestMemory::read(std::uint64_t address, void* to, std::size_t bytes) const {
  const auto from = pieces(address, bytes, kRead);
  if (!from) return false;
  for (auto* out = static_cast<std::byte*>(to); const Piece& piece : *from) {
    std::memcpy(out, piece.host, piece.bytes);
    out += piece.bytes;
  }
  return true;
}

bool GuestMemory::write(std::uint64_t address, const void* from, std::size_t bytes) {
  if (!is_mapped(address, bytes, kWrite)) return false;
  about_to_change(address, bytes);
  fill(address, from, bytes);
  return true;
}

void GuestMemory::fill(std::uint64_t address, const void* from, std::size_t bytes) {
  const auto to = pieces(address, bytes, 0);
  if (!to) return;
  for (const auto* in = static_cast<const std::byte*>(from); const Piece& piece : *to) {
    std::memcpy(piece.host, in, piece.bytes);
    in += piece.bytes;
  }
}

std::optional<std::string> GuestMemory::text(std::uint64_t address, std::size_t bytes_max) const {
  std::string text;
  while (text.size() < bytes_max) {
    const Area* const area = area_at(address);
    if (area == nullptr || (area->permissions & kRead) == 0) return std::nullopt;
    const std::size_t there = std::min<std::uint64_t>(end_of(*area) - address, bytes_max - text.size());
    const auto* const chars = reinterpret_cast<const char*>(area->host + (address - area->base));
    const std::size_t length = ::strnlen(chars, there);
    text.append(chars, length);
    if (length < there) return text;
    address += there;
  }
  return text;
}

}  // namespace trident::emu
