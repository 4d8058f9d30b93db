// Typed indices: an Id<Tag> indexes one kind of table and does not mix with another kind.
#pragma once

#include <compare>
#include <cstdint>

namespace trident {

template <class Tag>
struct Id {
  static constexpr std::uint32_t kNoIndex = 0xFFFF'FFFFu;
  std::uint32_t index = kNoIndex;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t i) : index(i) {}
  [[nodiscard]] constexpr bool valid() const { return index != kNoIndex; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace trident
