// Shapes of up to four dimensions, row-major, and views of memory that somebody else owns.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

#include "runtime/base/check.h"

namespace trident::tensor {

inline constexpr std::size_t kDimensionsMax = 4;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::size_t> extents) {
    CHECK(extents.size() <= kDimensionsMax);
    for (const std::size_t extent : extents) extents_[rank_++] = extent;
  }
  [[nodiscard]] std::size_t rank() const { return rank_; }
  /// Extent of dimension `i`; negative counts from the last.
  [[nodiscard]] std::size_t operator[](int i) const {
    const int index = i < 0 ? i + static_cast<int>(rank_) : i;
    CHECK(index >= 0 && index < static_cast<int>(rank_));
    return extents_[static_cast<std::size_t>(index)];
  }
  /// Product of all extents; 1 for rank 0.
  [[nodiscard]] std::size_t count() const {
    std::size_t product = 1;
    for (std::size_t i = 0; i < rank_; ++i) product *= extents_[i];
    return product;
  }
  /// Product of all extents but the last: a [B, T, C] array is this many rows of C.
  [[nodiscard]] std::size_t rows() const { return rank_ == 0 ? 1 : count() / (*this)[-1]; }
  void append(std::size_t extent) {
    CHECK(rank_ < kDimensionsMax);
    extents_[rank_++] = extent;
  }
  /// This shape with the last extent replaced.
  [[nodiscard]] Shape with_last(std::size_t extent) const {
    Shape other = *this;
    CHECK(rank_ > 0);
    other.extents_[rank_ - 1] = extent;
    return other;
  }
  friend bool operator==(const Shape&, const Shape&) = default;
  /// "[64, 6]"
  [[nodiscard]] std::string text() const;

 private:
  std::array<std::size_t, kDimensionsMax> extents_{};
  std::size_t rank_ = 0;
};

}  // namespace trident::tensor
