#include "clients/c/strided_view.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/check.h"

namespace trident::client {
namespace {

/// Copies with few instructions for each element, so that the processor sees many elements ahead.
template <std::size_t kBytes>
void copy_elements(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                   std::uint64_t count) {
  constexpr int kAtOnce = 8;
  for (; count >= kAtOnce; count -= kAtOnce, from += kAtOnce * from_step, to += kAtOnce * to_step)
#pragma GCC unroll 8
    for (int i = 0; i < kAtOnce; ++i) std::memcpy(to + i * to_step, from + i * from_step, kBytes);
  for (; count > 0; --count, from += from_step, to += to_step) std::memcpy(to, from, kBytes);
}

template <std::size_t kBytes>
void copy_row_of(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                 std::uint64_t count) {
  constexpr auto kStep = static_cast<std::int64_t>(kBytes);
  if (from_step == kStep && to_step == kStep)
    std::memcpy(to, from, count * kBytes);
  else if (to_step == kStep)
    copy_elements<kBytes>(from, from_step, to, kStep, count);
  else
    copy_elements<kBytes>(from, kStep, to, to_step, count);
}

/// One of the steps is that of elements which lie one after the other.
void copy_row(std::uint32_t bytes, const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
              std::uint64_t count) {
  switch (bytes) {
    case 1: return copy_row_of<1>(from, from_step, to, to_step, count);
    case 2: return copy_row_of<2>(from, from_step, to, to_step, count);
    case 4: return copy_row_of<4>(from, from_step, to, to_step, count);
    case 8: return copy_row_of<8>(from, from_step, to, to_step, count);
    default: CHECK(false);
  }
}

}  // namespace

StridedView::StridedView(std::uint32_t dimensions, const std::uint64_t* shape, const std::int64_t* strides,
                         std::uint32_t bytes, const void* data)
    : bytes_(bytes), data_(static_cast<const std::byte*>(data)) {
  std::int64_t next = bytes;  // the stride of the dimension at hand where elements lie one after the other
  for (std::uint32_t d = dimensions; d-- > 0;) {
    const std::int64_t stride = strides != nullptr ? strides[d] : next;
    if (strides == nullptr) next *= static_cast<std::int64_t>(shape[d]);
    if (shape[d] == 1) continue;
    Dimension* const inner = dimensions_.empty() ? nullptr : &dimensions_.back();
    if (inner != nullptr && stride == inner->stride * static_cast<std::int64_t>(inner->extent))
      inner->extent *= shape[d];
    else
      dimensions_.push_back({shape[d], stride});
  }
  if (dimensions_.empty()) dimensions_.push_back({1, bytes});
}

bool StridedView::is_plain() const {
  return dimensions_.size() == 1 && dimensions_[0].stride == bytes_ &&
         reinterpret_cast<std::uintptr_t>(data_) % bytes_ == 0;
}

/// Calls row(place, count, stride) for the parts of rows that hold the elements. The innermost dimension comes first.
template <class Row>
void StridedView::each_row(std::uint64_t first, std::uint64_t count, Row row) const {
  std::array<std::uint64_t, TRIDENT_DIMENSIONS_MAX> index;
  const std::byte* place = data_;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    index[d] = first % dimensions_[d].extent;
    first /= dimensions_[d].extent;
    place += static_cast<std::int64_t>(index[d]) * dimensions_[d].stride;
  }
  const Dimension inner = dimensions_[0];
  for (;;) {
    const std::uint64_t part = std::min(count, inner.extent - index[0]);
    row(place, part, inner.stride);
    if ((count -= part) == 0) return;
    place -= static_cast<std::int64_t>(index[0]) * inner.stride;
    index[0] = 0;
    for (std::size_t d = 1; d < dimensions_.size(); ++d) {
      place += dimensions_[d].stride;
      if (++index[d] < dimensions_[d].extent) break;
      place -= static_cast<std::int64_t>(dimensions_[d].extent) * dimensions_[d].stride;
      index[d] = 0;
    }
  }
}

void StridedView::gather(std::uint64_t first, std::uint64_t count, std::byte* to) const {
  each_row(first, count, [&](const std::byte* place, std::uint64_t part, std::int64_t stride) {
    copy_row(bytes_, place, stride, to, bytes_, part);
    to += part * bytes_;
  });
}

void StridedView::scatter(std::uint64_t first, std::uint64_t count, const std::byte* from) const {
  each_row(first, count, [&](const std::byte* place, std::uint64_t part, std::int64_t stride) {
    copy_row(bytes_, from, bytes_, const_cast<std::byte*>(place), stride, part);
    from += part * bytes_;
  });
}

}  // namespace trident::client
