// A running daemon's statistics.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace trident::cli {

/// The daemon's counters as JSON text. Errors: NotFound where none can be reached, Disconnected where it does not
/// answer.
Result<std::string> daemon_stats();

}  // namespace trident::cli
