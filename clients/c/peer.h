// Finds the daemon's socket, and decides whether its listener may be trusted: its kernels run with our rights.
//
// Trusted uids are our own (not when we are root: a root process must not run a user's code), root's, and the one
// that TRIDENT_TRUSTED_UID names. The socket and every directory above it must belong to one of them and be writable
// by nobody else (a sticky directory such as /tmp may be, because the socket's own owner is checked too); the peer's
// SO_PEERCRED must name one of them. A setuid program (AT_SECURE) gets no daemon and no environment at all.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::client {

/// `option` if not null, else TRIDENT_SOCKET, else $XDG_RUNTIME_DIR/trident/tridentd.sock when that exists, else
/// /run/trident/tridentd.sock.
std::string daemon_socket_path(const char* option);

/// True in a setuid or setgid program: nothing from the environment is to be believed.
bool is_privileged_process();

/// Connects without waiting. Errors: Disconnected (nobody listens yet), OsError (not to be trusted, not to be reached).
Result<os::Fd> connect_to_daemon(const std::string& path);

/// The ownership rules above, for the tests. Returns the path with symbolic links resolved.
Result<std::string> check_socket_path(const std::string& path);

}  // namespace trident::client
