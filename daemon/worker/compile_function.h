// A baseline worker's answer to a function with loops.
#pragma once

#include "daemon/ingest/ingest.h"
#include "daemon/worker/protocol.h"
#include "daemon/worker/request_socket.h"

namespace trident::worker {

/// Parses, compiles and tries the function, and answers: with its image, or with an error. Returns false when the front
/// has gone.
bool compile_function(RequestSocket& front, const RequestHeader& request, const ingest::SubmitFunction& submit);

/// Makes the stage for the trials of this process, and does a function once, before the first client waits for one.
void stage_functions();

}  // namespace trident::worker
