// What a submission may ask for beside its expression (limits.h has the bounds of that). Client and daemon read the
// same numbers: what one refuses the other must not send, or a kernel would stay interpreted without a word.
#pragma once

#include <cstdint>

namespace trident::limits {

/// Of the typical call length: the judge times calls of at most this many elements, more would only take longer.
inline constexpr std::uint32_t kElementsHintMax = 1u << 24;
/// The policy bounded(k): below 1 nothing could pass, above this the bound says nothing.
inline constexpr double kPolicyKMin = 1, kPolicyKMax = 1e6;

}  // namespace trident::limits
