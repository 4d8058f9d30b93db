// Talks with a service manager such as systemd: readiness, watchdog, passed sockets, and whether standard error is the
// journal. The protocols are a few lines each, so no library is linked for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::os {

/// A socket that the service manager opened for us.
struct PassedSocket {
  Fd fd;
  std::string name;  ///< FileDescriptorName= of the unit, or "unknown"
};

/// The descriptor of the first passed socket (SD_LISTEN_FDS_START).
inline constexpr int kFirstPassedFd = 3;
/// How many sockets LISTEN_FDS says were passed to this process; 0 for a number that only a mistake can explain.
std::size_t passed_socket_count();

/// The sockets of LISTEN_FDS meant for this process, each made close-on-exec; the variables are removed from the
/// environment so that no child takes them for its own. Empty when none were passed.
std::vector<PassedSocket> take_passed_sockets();

/// Sends `state` ("READY=1", "STOPPING=1\nSTATUS=...") to $NOTIFY_SOCKET. False when there is none or it cannot be
/// reached, which is no error for a program run by hand.
bool notify_service_manager(std::string_view state);

/// The interval of WATCHDOG_USEC in nanoseconds when it is meant for this process, else 0. A ping ("WATCHDOG=1") is due
/// twice in each interval.
std::uint64_t watchdog_interval_ns();

/// Returns true when standard error goes to the journal (JOURNAL_STREAM). Lines may then start with "<priority>".
bool stderr_is_journal();

}  // namespace trident::os
