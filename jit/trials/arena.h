// The host's memory of trials: one mapping that children share, between pages that nobody may touch.
//
//   | no access | frame, margin | log | local arrays | mapping 1, gap | mapping 2, gap | .. | mapping 0 | no access |
//
// One mapping, because each page that a child touches costs microseconds. Margin and gaps hold bytes that a run may not
// change. Bytes behind mapping 0 cannot even be read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/result.h"
#include "runtime/os/memfd.h"

namespace trident::trials {

inline constexpr std::size_t kMappings = 5;
/// Few bytes, because every run begins with a copy.
inline constexpr std::size_t kMappingBytes = 1024;

struct Digest {
  std::array<std::uint64_t, 2> frame{}, memory{};
  friend bool operator==(const Digest&, const Digest&) = default;
};

class Arena {
 public:
  /// Memory for runs on a frame of `frame_bytes` whose digests fit a log of `runs`, with up to `local_bytes` of local
  /// arrays.
  static Result<Arena> make(std::size_t frame_bytes, std::size_t runs, std::size_t local_bytes = 0);

  /// All of it.
  [[nodiscard]] std::span<std::byte> bytes() const { return whole_.bytes(); }
  [[nodiscard]] std::span<std::byte> frame() const { return frame_; }
  [[nodiscard]] std::span<std::byte> mapping(std::size_t number) const;
  /// The memory of local arrays that a subject uses: the `bytes` right before that of the mappings.
  [[nodiscard]] std::span<std::byte> locals(std::size_t bytes) const { return locals_.last(bytes); }
  [[nodiscard]] Digest& log(std::size_t run) const { return log_[run]; }

  /// The mappings with the gaps between them: kMemoryBytes.
  [[nodiscard]] std::span<std::byte> memory() const { return memory_; }
  static constexpr std::size_t kGapBytes = 256;
  static constexpr std::size_t kMemoryBytes = kMappings * kMappingBytes + (kMappings - 1) * kGapBytes;

  /// The digest of frame and memory as they are, with margin and gaps, and `local_bytes` of local arrays. Allocates
  /// nothing.
  [[nodiscard]] Digest digest(std::size_t local_bytes = 0) const;

 private:
  explicit Arena(os::GuardedMapping whole) : whole_(std::move(whole)) {}

  os::GuardedMapping whole_;
  std::span<std::byte> frame_, framed_, locals_, memory_;  ///< framed_: the frame and its margin
  std::span<Digest> log_;
};

}  // namespace trident::trials
