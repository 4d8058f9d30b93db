// The process that started the daemon. It may wait for the end of the pipe that the daemon's log lines go to: a build
// that starts the daemon ends when the build does.
#pragma once

#include <functional>

#include "daemon/net/loop.h"
#include "runtime/os/fd.h"

namespace trident::front {

class Starter {
 public:
  /// `on_end`: workers are to let go of the pipe too.
  Starter(net::Loop& loop, std::function<void()> on_end) : loop_(loop), on_end_(std::move(on_end)) {}
  /// Lets go of standard error when the starter ends, or at once when its end cannot be seen. Does nothing where
  /// standard error may be kept (os::starter_of_standard_error()).
  void watch();

 private:
  void release_standard_error();

  net::Loop& loop_;
  std::function<void()> on_end_;
  os::Fd process_;
  net::Poller ended_;
};

}  // namespace trident::front
