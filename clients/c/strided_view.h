// Where the elements of one array lie, in C order, and copies of some of them to and from a buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "clients/c/trident.h"

namespace trident::client {

class StridedView {
 public:
  /// `strides`: bytes from one index to the next, by dimension; null: element after element. The array has an
  /// element, and spans less than 2^62 bytes.
  StridedView(std::uint32_t dimensions, const std::uint64_t* shape, const std::int64_t* strides, std::uint32_t bytes,
              const void* data);

  /// Returns whether the elements lie one after the other, at an address that a value of their size may have.
  [[nodiscard]] bool is_plain() const;
  /// Returns the address of an element of a plain array.
  [[nodiscard]] const std::byte* at(std::uint64_t element) const { return data_ + element * bytes_; }
  [[nodiscard]] std::uint32_t bytes() const { return bytes_; }

  void gather(std::uint64_t first, std::uint64_t count, std::byte* to) const;
  /// Only of an array that may be written.
  void scatter(std::uint64_t first, std::uint64_t count, const std::byte* from) const;

 private:
  struct Dimension {
    std::uint64_t extent;
    std::int64_t stride;
  };
  template <class Row>
  void each_row(std::uint64_t first, std::uint64_t count, Row row) const;

  std::vector<Dimension> dimensions_;  ///< as few as the elements take, and one at least
  std::uint32_t bytes_;
  const std::byte* data_;
};

}  // namespace trident::client
