// Checks of what a worker answers. Untrusted input may have broken it, so the front believes nothing that it can check.
#pragma once

#include <cstddef>
#include <span>

#include "daemon/worker/protocol.h"
#include "runtime/base/result.h"

namespace trident::worker {

/// Returns an error when a worker of `lane` may not send such a response, or when the tail is not what the header
/// announces. Kind::ready answers no request and is refused.
Result<void> check_response(Lane lane, const ResponseHeader& header, std::span<const std::byte> tail);

}  // namespace trident::worker
