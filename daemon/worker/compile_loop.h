// A baseline worker's answer to a guest's loop.
#pragma once

#include "daemon/ingest/ingest.h"
#include "daemon/worker/protocol.h"
#include "daemon/worker/request_socket.h"

namespace trident::worker {

/// Compiles and tries the loop, and answers: with its image, or with why no code is made of it. Returns false when the
/// front has gone.
bool compile_loop(RequestSocket& front, const RequestHeader& request, const ingest::SubmitLoop& submit);

/// Makes the stage for the trials of this process, and does a loop once, before the first client waits for one.
void stage_loops();

}  // namespace trident::worker
