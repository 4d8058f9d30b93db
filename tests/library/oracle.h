// Each function of the library, written again in plain C++: the oracle of texts, interpreter and machine code.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "jit/function/function.h"

namespace trident::test {

using Arguments = std::vector<function::Argument>;
using Random = std::mt19937_64;

struct Oracle {
  std::string_view name;
  /// Computes the result and changes arrays; nothing where the call must fail. Functions without a result return 0.
  std::optional<std::int64_t> (*call)(Arguments& arguments);
  /// Draws arguments of a shape that the function is made for; null: any within the declared ranges.
  void (*shape)(Arguments& arguments, Random& random);
  function::Failure failure = function::Failure::index;  ///< of calls that must fail
};

/// Returns all of them.
std::span<const Oracle> oracles();

}  // namespace trident::test
