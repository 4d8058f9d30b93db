// Limits of a submission beside those of its expression (limits.h has these). Client and daemon read the same numbers:
// the client must not send what the daemon refuses, or the kernel would stay interpreted without a word.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trident::limits {

/// Largest typical call length. The judge times calls of at most this many elements; longer ones only take longer.
inline constexpr std::uint32_t kElementsHintMax = 1u << 24;
/// The policy bounded(k): units of error an operation. With fewer than two, hardly any other form has room beside the
/// source's own errors. Above the greatest the bound says nothing.
inline constexpr double kPolicyKMin = 2, kPolicyKMax = 1e6;
/// Kernels of one context that a compiler has not finished with. Further ones stay with the interpreter for good, and
/// their notes say so: a daemon that hangs must not make its clients' queues grow without end.
inline constexpr std::size_t kUnfinishedKernelsMax = 1u << 16;

}  // namespace trident::limits
