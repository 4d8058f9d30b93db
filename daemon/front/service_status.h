// Word to the service manager: the status of the daemon, and that it is well.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/jobs/jobs.h"
#include "daemon/net/loop.h"

namespace trident::front {

/// Tells a status, after `state`, if any. Newlines in the status would begin other variables.
void tell_status(std::string status, const std::string& state = "");

/// Pings the service manager's watchdog unless the workers are in trouble: the loop turns, but without workers only a
/// restart may help.
class Watchdog {
 public:
  Watchdog(net::Loop& loop, const jobs::Jobs& jobs) : jobs_(jobs), timer_(loop) {}
  /// Starts only under a service manager that asked for it: an idle daemon otherwise has no timer at all.
  void start();

 private:
  void ping();

  const jobs::Jobs& jobs_;
  net::Timer timer_;
  std::uint64_t interval_ns_ = 0;
  std::string told_trouble_;
};

}  // namespace trident::front
