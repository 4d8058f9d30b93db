// Memory that is taken piece by piece while a model is recorded and given back all at once. Pieces never move, start at
// 64-byte boundaries, and come zeroed. One thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/os/memfd.h"

namespace trident::tensor {

inline constexpr std::size_t kAlignment = 64;

class Arena {
 public:
  explicit Arena(std::size_t block_bytes = std::size_t{1} << 20) : block_bytes_(block_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  /// `count` zeroed elements. Memory that cannot be had ends the process: a model that does not fit is no model.
  template <class T>
  T* take(std::size_t count = 1) {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    CHECK(count < SIZE_MAX / sizeof(T) / 2);
    return static_cast<T*>(take_bytes(count * sizeof(T)));
  }
  template <class T>
  std::span<T> take_span(std::size_t count) {
    return {take<T>(count), count};
  }
  /// Pieces and bytes handed out so far.
  [[nodiscard]] std::size_t pieces() const { return pieces_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* take_bytes(std::size_t bytes);

  std::size_t block_bytes_;
  std::vector<os::Mapping> blocks_;
  std::size_t used_ = 0;  // of the last block
  std::size_t pieces_ = 0, bytes_ = 0;
};

}  // namespace trident::tensor
