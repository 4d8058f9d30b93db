// What a submission may ask for beside its expression (limits.h has the bounds of that). Client and daemon read the
// same numbers: what one refuses the other must not send, or a kernel would stay interpreted without a word.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trident::limits {

/// Of the typical call length: the judge times calls of at most this many elements, more would only take longer.
inline constexpr std::uint32_t kElementsHintMax = 1u << 24;
/// The policy bounded(k). The strict evaluation rounds correctly, half an ulp a step; functions good to one ulp cannot
/// promise less than twice its error. Above the greatest the bound says nothing.
inline constexpr double kPolicyKMin = 2, kPolicyKMax = 1e6;
/// Kernels of one context that a compiler has not finished with. Further ones stay with the interpreter for good, and
/// their notes say so: a daemon that hangs must not make its clients' queues grow without end.
inline constexpr std::size_t kUnfinishedKernelsMax = 1u << 16;

}  // namespace trident::limits
