// A node of an e-graph.
#pragma once

#include <array>
#include <cstdint>

namespace trident::egraph {

struct ENode {
  std::uint8_t op = 0;
  std::uint8_t sort = 0;  ///< the value's type; merged classes have one sort
  std::uint16_t flags = 0;
  std::array<std::uint32_t, 3> child{};
};
static_assert(sizeof(ENode) == 16);

}  // namespace trident::egraph
