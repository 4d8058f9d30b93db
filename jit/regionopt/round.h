// One round of a loop as values: what each variable holds at its end, what is read, written and asked on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/region/region.h"
#include "jit/regionopt/bulk_loop.h"

namespace trident::regionopt {

/// Blocks of an innermost loop, in ascending order. Control comes back to the first of them, and to no other.
struct Loop {
  std::vector<std::uint32_t> blocks;
  [[nodiscard]] std::uint32_t head() const { return blocks.front(); }
};

/// Finds innermost loops whose other edges all lead to blocks with greater numbers.
std::vector<Loop> innermost_loops(const region::Region& region);

struct Round {
  struct Access {
    std::uint32_t window = 0;
    std::uint8_t bytes = 0;
    std::uint32_t index = 0;  ///< node
    friend bool operator==(const Access&, const Access&) = default;
  };
  struct Store {
    std::uint32_t access = 0, node = 0;
  };
  std::vector<Node> nodes;             ///< those of kind load name an access
  std::vector<Access> accesses;        ///< all of them must lie inside their windows
  std::vector<Store> stores;           ///< in the order of the round
  std::vector<std::uint32_t> leaves;   ///< nodes: control leaves where one is not 0
  std::vector<std::uint32_t> results;  ///< per variable: the node that it holds at the end
};

/// Returns nothing where a round does what this form cannot say: windows of addresses, stores that not every
/// round does, loads behind stores to the same window.
std::optional<Round> evaluate_round(const region::Region& region, const Loop& loop);

}  // namespace trident::regionopt
