#include "jit/trials/arena.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace trident::trials {
namespace {

constexpr std::size_t kMarginBytes = 256;

std::size_t rounded(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

std::array<std::uint64_t, 2> digest_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t digest = XXH3_128bits(bytes.data(), bytes.size());
  return {digest.low64, digest.high64};
}

}  // namespace

Result<Arena> Arena::make(std::size_t frame_bytes, std::size_t runs, std::size_t local_bytes) {
  const std::size_t log = rounded(frame_bytes + kMarginBytes), locals = log + rounded(runs * sizeof(Digest));
  const std::size_t memory = locals + rounded(local_bytes);
  TRY(auto whole, os::GuardedMapping::make(memory + kMemoryBytes));
  Arena arena(std::move(whole));
  const std::span<std::byte> bytes = arena.whole_.bytes();
  arena.frame_ = bytes.first(frame_bytes);
  arena.framed_ = bytes.first(frame_bytes + kMarginBytes);
  arena.log_ = {reinterpret_cast<Digest*>(bytes.data() + log), runs};
  arena.locals_ = bytes.subspan(locals, rounded(local_bytes));
  arena.memory_ = bytes.last(kMemoryBytes);
  return arena;
}

std::span<std::byte> Arena::mapping(std::size_t number) const {
  const std::size_t place = number == 0 ? kMappings - 1 : number - 1;
  return memory_.subspan(place * (kMappingBytes + kGapBytes), kMappingBytes);
}

Digest Arena::digest(std::size_t local_bytes) const {
  return {digest_of(framed_), digest_of({memory_.data() - local_bytes, memory_.size() + local_bytes})};
}

}  // namespace trident::trials
