// The worker's end of its socketpair: requests in, responses out.
#pragma once

#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/worker/protocol.h"
#include "runtime/base/limits.h"
#include "runtime/os/socket.h"

namespace trident::worker {

/// Blocks. Requests may stand in a queue in the socket: what a read brings beyond the first is kept for the next.
class RequestSocket {
 public:
  explicit RequestSocket(os::Fd socket) : socket_(std::move(socket)) {}

  /// The next request, aligned; empty when the front has gone.
  std::span<const std::byte> next();
  /// The oldest descriptor that was received and not taken yet.
  std::optional<os::Fd> take_fd();
  /// While a request is worked on: whether its front has gone or says Tail::cancel of it. Does not wait. next() brings
  /// what the front has said once more.
  [[nodiscard]] bool is_cancelled(std::uint64_t ticket);
  /// Returns true when all of it was sent.
  bool send(const ResponseHeader& header, std::string_view tail = {});

 private:
  bool read_more();

  os::Fd socket_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(64 * 1024);
  std::size_t begin_ = 0, end_ = 0, taken_ = 0;
  std::vector<std::uint64_t> aligned_;
  std::deque<os::Fd> fds_;
};

/// Ends a request.
bool send_failure(RequestSocket& front, std::uint64_t ticket, const Error& error, std::uint64_t cpu_ns = 0);

}  // namespace trident::worker
