#include "daemon/net/listener.h"

#include <algorithm>

#include "runtime/log/log.h"
#include "runtime/os/self.h"

namespace trident::net {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr std::uint64_t kPauseMs = 100;

/// Descriptors that no connection gets: for new workers and for files.
std::uint64_t reserve() {
  constexpr std::uint64_t kReserveMax = 16;
  return std::min(kReserveMax, os::open_files_limit() / 4);
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::make(Loop& loop, os::UnixListener socket,
                                                 std::function<void(os::Fd)> on_connection,
                                                 std::function<void()> on_exhausted) {
  std::unique_ptr<Listener> listener(
      new Listener(loop, std::move(socket), std::move(on_connection), std::move(on_exhausted)));
  TRY(listener->poller_, Poller::make(loop, listener->socket_.fd()));
  listener->watch();
  return listener;
}

void Listener::watch() {
  poller_.watch(Poller::kReadable, [this](int) { accept(); });
}

void Listener::accept() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    os::Accepted accepted = os::accept_unix(socket_.fd(), reserve());
    switch (accepted.status) {
      case os::AcceptStatus::ok: on_connection_(std::move(accepted.socket)); break;
      case os::AcceptStatus::retry: break;
      case os::AcceptStatus::would_block: return;
      case os::AcceptStatus::exhausted:
      case os::AcceptStatus::failed:
        if (pauses_++ == 0)
          log::warning(
              "new connections must wait: the limit of {} open files is nearly reached (raise LimitNOFILE= or "
              "--open-files)",
              os::open_files_limit());
        on_exhausted_();
        poller_.stop();
        resume_.start(kPauseMs, [this] { watch(); });
        return;
    }
  }
}

}  // namespace trident::net
