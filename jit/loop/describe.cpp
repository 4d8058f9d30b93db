#include "jit/loop/describe.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "jit/loop/aarch64/lifter.h"
#include "jit/loop/lift.h"
#include "jit/region/liveness.h"

namespace trident::loop {
namespace {

constexpr std::uint32_t kFlagsBit = 32;

/// Instructions that stand in a row are one range. Offsets rise although addresses may wrap.
std::vector<trident_loop_range> ranges_of(const Loop& loop) {
  std::vector<std::int64_t> offsets;
  for (const auto& [address, instruction] : loop.instructions)
    offsets.push_back(static_cast<std::int64_t>(address - loop.head));
  std::sort(offsets.begin(), offsets.end());
  std::vector<trident_loop_range> ranges;
  for (const std::int64_t offset : offsets) {
    if (!ranges.empty() && ranges.back().offset + ranges.back().bytes == offset)
      ranges.back().bytes += sizeof(std::uint32_t);
    else
      ranges.push_back({offset, sizeof(std::uint32_t), 0});
  }
  return ranges;
}

/// In the order of windows_of(), which a map keeps.
std::vector<trident_loop_window_use> window_uses_of(const Loop& loop) {
  std::map<Window, trident_loop_window_use> uses;
  for (const auto& [address, instruction] : loop.instructions) {
    const auto use = aarch64::memory_use(instruction);
    if (!use) continue;
    trident_loop_window_use& window = uses[{loop.cycle_of(address), use->base}];
    window.base = use->base;
    window.access |= static_cast<std::uint8_t>(use->stores ? TRIDENT_LOOP_STORES : TRIDENT_LOOP_LOADS);
    window.widest = std::max(window.widest, use->bytes);
  }
  std::vector<trident_loop_window_use> windows;
  for (const auto& [window, use] : uses) windows.push_back(use);
  return windows;
}

/// The registers among `variables`, as bits of a description.
std::uint64_t registers_of(const region::Region& region, const region::Liveness::Variables& variables) {
  std::uint64_t bits = 0;
  for (std::size_t v = 0; v < region.variables.size(); ++v) {
    const std::uint32_t slot = region.variables[v].slot;
    if (!variables[v]) continue;
    if (slot >= aarch64::kXSlot && slot < aarch64::kPcSlot) bits |= std::uint64_t{1} << (slot - aarch64::kXSlot) / 8;
    if (slot == aarch64::kNzcvSlot) bits |= std::uint64_t{1} << kFlagsBit;
  }
  return bits;
}

template <class T>
void append(std::vector<std::byte>& bytes, std::span<const T> items) {
  const auto more = std::as_bytes(items);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

}  // namespace

Description describe(const Loop& loop, const region::Region& region) {
  Description description{.ranges = ranges_of(loop), .windows = window_uses_of(loop)};
  const region::Liveness liveness(region);
  trident_loop_description& counts = description.counts;
  counts.guest = TRIDENT_GUEST_AARCH64;
  counts.windows = static_cast<std::uint16_t>(description.windows.size());
  counts.ranges = static_cast<std::uint32_t>(description.ranges.size());
  counts.instructions = static_cast<std::uint32_t>(loop.instructions.size());
  counts.registers_read = registers_of(region, liveness.wanted_at_entry());
  counts.registers_written = registers_of(region, liveness.written());
  counts.bytes = static_cast<std::uint32_t>(bytes_of(description).size());
  return description;
}

std::vector<std::byte> bytes_of(const Description& description) {
  std::vector<std::byte> bytes;
  append(bytes, std::span(&description.counts, 1));
  append(bytes, std::span(description.ranges));
  append(bytes, std::span(description.windows));
  return bytes;
}

}  // namespace trident::loop
