// Unix stream sockets that carry bytes and descriptors.
//
// libuv 1.44 can pass neither memfds nor arbitrary descriptors, so the daemon polls its own non-blocking sockets and
// reads and writes them here. Every descriptor that is made or received is close-on-exec. Nothing here raises SIGPIPE.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::os {

/// Descriptors that one receive takes at most; a sender that attaches more is cut off (IoStatus::failed).
inline constexpr std::size_t kFdsPerMessageMax = 16;

enum class IoStatus : std::uint8_t {
  ok,
  would_block,
  closed,  ///< the peer has closed, orderly or not
  failed   ///< anything else, truncated descriptors included
};

struct Io {
  IoStatus status = IoStatus::ok;
  std::size_t bytes = 0;
};

/// Descriptors received, in order.
struct ReceivedFds {
  std::array<Fd, kFdsPerMessageMax> fds;
  std::size_t count = 0;
};

/// Sends the pieces in one sendmsg, with `fd` (-1: none) attached to the first byte. May send a part: the descriptor
/// has gone with the first byte of it.
Io send_pieces(const Fd& socket, std::span<const std::span<const std::byte>> pieces, int fd = -1);
Io send_bytes(const Fd& socket, std::span<const std::byte> bytes, int fd = -1);

/// Receives up to `into.size()` bytes; appends descriptors to `fds`. A blocking socket waits for at least one byte.
Io receive(const Fd& socket, std::span<std::byte> into, ReceivedFds& fds);

/// Waits until a byte or the end can be received. A reader asleep here, other than in receive(), is not woken by the
/// other side's reading.
void wait_readable(const Fd& socket);
/// Returns true when a byte or the end can be received now.
[[nodiscard]] bool is_readable(const Fd& socket);

enum class Blocking : bool { no, yes };

/// A connected pair.
Result<std::pair<Fd, Fd>> socket_pair(Blocking first, Blocking second);

/// InvalidArgument for a path that no socket can have: an empty one, or one longer than 107 bytes.
Result<void> check_socket_length(const std::string& path);

Result<Fd> connect_unix(const std::string& path, Blocking blocking);

/// Returns whether root made the socket at `path`, as a service manager does before it passes the socket on.
bool is_socket_of_root(const std::string& path);

/// A listening socket at a path, with the lock that makes it the only one there.
///
/// The lock is a flock on `path`.lock, held as long as the object lives and released by the kernel when the process
/// dies: whoever holds it may remove a stale socket without a race.
class UnixListener {
 public:
  /// Makes the last directory of `path` (mode 0700) where absent. Errors: Busy when another process listens there,
  /// InvalidArgument when the path is too long or names something that is not a socket.
  static Result<UnixListener> bind(const std::string& path, unsigned mode, int backlog);
  /// Takes over a socket that is listening already (socket activation); the path stays the giver's.
  static Result<UnixListener> adopt(Fd socket);

  UnixListener(UnixListener&&) noexcept = default;
  UnixListener& operator=(UnixListener&&) noexcept = default;
  /// Removes the socket that bind() made.
  ~UnixListener();
  [[nodiscard]] const Fd& fd() const { return socket_; }

 private:
  UnixListener(Fd socket, Fd lock, std::string path)
      : socket_(std::move(socket)), lock_(std::move(lock)), path_(std::move(path)) {}
  Fd socket_;
  Fd lock_;
  std::string path_;  ///< empty when adopted
};

enum class AcceptStatus : std::uint8_t {
  ok,
  would_block,
  exhausted,  ///< too few descriptors or no memory: stop accepting for a while
  retry,      ///< this connection is gone; the next may be fine
  failed      ///< the listening socket itself is unusable
};
struct Accepted {
  AcceptStatus status = AcceptStatus::ok;
  Fd socket;  ///< non-blocking
};
/// Leaves `reserve` of the descriptors that the process may have to others.
Accepted accept_unix(const Fd& listener, std::uint64_t reserve = 0);

/// The process at the other end of a connected socket, as the kernel saw it at connect() (for the connecting side: when
/// the other side called listen()).
struct Peer {
  std::uint32_t uid = 0, gid = 0;
  std::int32_t pid = 0;
};
Result<Peer> peer_of(const Fd& socket);

}  // namespace trident::os
