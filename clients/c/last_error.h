// The text behind trident_last_error(): one fixed buffer per thread, so that reporting an error needs no memory and the
// library can be unloaded while threads live.
#pragma once

#include "clients/c/trident.h"
#include "runtime/base/result.h"

namespace trident::client {

/// Keeps the error's text for this thread and returns the status that a C caller sees.
trident_status report(const Error& error);
trident_status report(trident_status status, const char* text);
const char* last_error();

}  // namespace trident::client
