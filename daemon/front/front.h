// The front process, put together: listener, sessions, jobs, cache, signals, service manager. It executes no kernel and
// compiles nothing.
#pragma once

#include "daemon/config/config.h"

namespace trident::front {

/// Exit status of mistakes in the settings and in the files that they name, and of nothing else: a service manager need
/// not start the daemon again (RestartPreventExitStatus=).
inline constexpr int kExitConfiguration = 2;

/// Ends the connections that wait in sockets that were passed in. A service manager would start the daemon again for
/// them at once, and for ever; clients do their work themselves and come back later.
void turn_clients_away();

/// Checks whether a start or a reload with these settings would be refused. Rules take minutes to check, so their files
/// are only opened. Prints errors. Returns the exit status of the process.
int check_settings(const config::Settings& settings);

/// Serves until SIGTERM or SIGINT, then lets running baseline jobs finish. `argc` and `argv` are read again on SIGHUP.
/// The exit status of the process.
int run_front(const config::Settings& settings, int argc, const char* const* argv);

}  // namespace trident::front
