// The front process, put together: listener, sessions, jobs, cache, signals, service manager. It executes no kernel and
// compiles nothing.
#pragma once

#include "daemon/config/config.h"

namespace trident::front {

/// Serves until SIGTERM or SIGINT, then lets running baseline jobs finish. `argc` and `argv` are read again on SIGHUP.
/// The exit status of the process.
int run_front(const config::Settings& settings, int argc, const char* const* argv);

}  // namespace trident::front
