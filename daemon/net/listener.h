// Accepts connections from a listening socket. When descriptors run low it stops asking for a while instead of
// spinning: those connected are served on, those waiting stay in the kernel's queue. The last descriptors are for
// others, such as workers that are started anew.
#pragma once

#include <functional>
#include <memory>

#include "daemon/net/loop.h"
#include "runtime/os/socket.h"

namespace trident::net {

class Listener {
 public:
  static Result<std::unique_ptr<Listener>> make(Loop& loop, os::UnixListener socket,
                                                std::function<void(os::Fd)> on_connection,
                                                std::function<void()> on_exhausted);

  [[nodiscard]] std::uint64_t pauses() const { return pauses_; }

 private:
  Listener(Loop& loop, os::UnixListener socket, std::function<void(os::Fd)> on_connection,
           std::function<void()> on_exhausted)
      : socket_(std::move(socket)),
        on_connection_(std::move(on_connection)),
        on_exhausted_(std::move(on_exhausted)),
        resume_(loop) {}
  void accept();
  void watch();

  os::UnixListener socket_;
  std::function<void(os::Fd)> on_connection_;
  std::function<void()> on_exhausted_;
  Poller poller_;
  Timer resume_;
  std::uint64_t pauses_ = 0;
};

}  // namespace trident::net
