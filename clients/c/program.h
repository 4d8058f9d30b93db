// Hands a program of Triton VM to the daemon and waits for its answer, on a connection of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "clients/c/wire.h"
#include "runtime/base/result.h"

namespace trident::client {

/// Returns whether an error of build_program() speaks of the daemon and not of the program: there is none, it may not
/// be trusted or reached, it cannot or will not take the work. The program can be built elsewhere then.
bool nobody_builds(const Error& error);

/// Waits until the program is there. `progress(done, total)` is called now and then; false gives up (Cancelled).
/// `path`: as of daemon_socket_path(). Errors: Disconnected (nobody listens, or went away), Unsupported (a daemon that
/// does not know programs), and what the daemon says of the program.
Result<wire::ProgramReady> build_program(const std::string& path, const wire::SubmitProgram& program,
                                         const std::function<bool(std::uint32_t, std::uint32_t)>& progress);

}  // namespace trident::client
