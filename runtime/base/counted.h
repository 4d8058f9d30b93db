// Counts in messages: "1 expression", "2 expressions".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trident {

/// Returns the count with its noun. `many` is the plural where it is not `one` with an s.
inline std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {}) {
  std::string out = std::to_string(count) + " ";
  if (count == 1) return out.append(one);
  return many.empty() ? out.append(one) + "s" : out.append(many);
}

}  // namespace trident
