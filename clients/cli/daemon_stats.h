// A running daemon's statistics.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/json/json.h"

namespace trident::cli {

/// Returns the daemon's counters as JSON text. Errors, without a cure: NotFound where none can be reached, Timeout
/// where it does not answer, Disconnected where it says why it does not.
/// An empty `socket` stands for the standard one.
Result<std::string> daemon_stats(const std::string& socket = {});

/// Returns an error about a daemon that cannot be reached, with the cure.
Error no_daemon(ErrorCode code, const char* why);

/// Returns the counters as a JSON object. Errors come with their cure; RejectedMessage where they are no object.
Result<Json> daemon_counters(const std::string& socket);

}  // namespace trident::cli
