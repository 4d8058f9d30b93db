#include "runtime/os/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/os/directory.h"
#include "runtime/os/os_error.h"

namespace trident::os {
namespace {

IoStatus status_of(int error) {
  if (error == EAGAIN || error == EWOULDBLOCK) return IoStatus::would_block;
  if (error == EPIPE || error == ECONNRESET || error == ENOTCONN) return IoStatus::closed;
  return IoStatus::failed;
}

/// Control bytes for kFdsPerMessageMax descriptors.
union FdControl {
  char bytes[CMSG_SPACE(sizeof(int) * kFdsPerMessageMax)];
  cmsghdr align;
};

void attach(msghdr& message, FdControl& control, int fd) {
  message.msg_control = control.bytes;
  message.msg_controllen = CMSG_SPACE(sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
}

/// Moves the received descriptors into `fds`; false when they did not all fit (the surplus is closed).
bool take_fds(msghdr& message, ReceivedFds& fds) {
  bool fits = (message.msg_flags & MSG_CTRUNC) == 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int raw = -1;
      std::memcpy(&raw, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      Fd fd(raw);
      if (fds.count < fds.fds.size())
        fds.fds[fds.count++] = std::move(fd);
      else
        fits = false;
    }
  }
  return fits;
}

Result<sockaddr_un> address_of(const std::string& path) {
  TRY_VOID(check_socket_length(path));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

/// With the lock held, a socket file at `path` belongs to nobody, unless to a program that takes no lock: asked by
/// connecting.
Result<void> remove_stale(const std::string& path) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) {
    if (errno == ENOENT) return {};
    return os_error("stat", path);
  }
  if (!S_ISSOCK(s.st_mode))
    return make_error(ErrorCode::kInvalidArgument, "%s exists and is not a socket", path.c_str());
  if (connect_unix(path, Blocking::no).ok())
    return make_error(ErrorCode::kBusy, "another program listens on %s", path.c_str());
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return os_error("unlink", path);
  return {};
}

Result<Fd> lock_for(const std::string& path) {
  const std::string lock_path = path + ".lock";
  Fd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return os_error("open", lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return make_error(ErrorCode::kBusy, "another daemon serves %s (%s is locked)", path.c_str(), lock_path.c_str());
    return os_error("flock", lock_path);
  }
  return lock;
}

/// Returns true when `reserve` numbers are free above the lowest free descriptor. `any` is an open descriptor.
bool leaves_descriptors(const Fd& any, std::uint64_t reserve) {
  const Fd next(::fcntl(any.get(), F_DUPFD_CLOEXEC, 0));
  rlimit limit{};
  if (!next.valid() || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  return static_cast<std::uint64_t>(next.get()) + reserve < limit.rlim_cur;
}

}  // namespace

Io send_pieces(const Fd& socket, std::span<const std::span<const std::byte>> pieces, int fd) {
  std::array<iovec, 16> vectors{};
  std::size_t count = 0;
  for (const auto& piece : pieces) {
    if (count == vectors.size()) break;
    if (!piece.empty()) vectors[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  FdControl control;
  if (fd >= 0) attach(message, control, fd);
  while (true) {
    const ssize_t n = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL);
    if (n >= 0) return {IoStatus::ok, static_cast<std::size_t>(n)};
    if (errno != EINTR) return {status_of(errno), 0};
  }
}

Io send_bytes(const Fd& socket, std::span<const std::byte> bytes, int fd) {
  return send_pieces(socket, std::span(&bytes, 1), fd);
}

Io receive(const Fd& socket, std::span<std::byte> into, ReceivedFds& fds) {
  iovec vector{into.data(), into.size()};
  FdControl control;
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  while (true) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    const ssize_t n = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {status_of(errno), 0};
    if (!take_fds(message, fds)) return {IoStatus::failed, 0};
    if (n == 0) return {IoStatus::closed, 0};
    return {IoStatus::ok, static_cast<std::size_t>(n)};
  }
}

void wait_readable(const Fd& socket) {
  pollfd polled{socket.get(), POLLIN, 0};
  while (::poll(&polled, 1, -1) < 0 && errno == EINTR) {
  }
}

bool is_readable(const Fd& socket) {
  pollfd polled{socket.get(), POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

Result<std::pair<Fd, Fd>> socket_pair(Blocking first, Blocking second) {
  int raw[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, raw) != 0) return os_error("socketpair");
  std::pair<Fd, Fd> pair{Fd(raw[0]), Fd(raw[1])};
  for (const auto& [fd, blocking] : {std::pair{raw[0], first}, std::pair{raw[1], second}})
    if (blocking == Blocking::no && ::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return os_error("fcntl O_NONBLOCK");
  return pair;
}

Result<void> check_socket_length(const std::string& path) {
  constexpr std::size_t kBytesMax = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty()) return make_error(ErrorCode::kInvalidArgument, "the path of a socket is empty");
  if (path.size() <= kBytesMax) return {};
  return make_error(ErrorCode::kInvalidArgument, "%s: a socket path has at most %zu bytes", path.c_str(), kBytesMax);
}

Result<Fd> connect_unix(const std::string& path, Blocking blocking) {
  TRY(const sockaddr_un address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (blocking == Blocking::no ? SOCK_NONBLOCK : 0), 0));
  if (!fd.valid()) return os_error("socket");
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    if (errno != EINTR) return os_error("connect", path);
  return fd;
}

bool is_socket_of_root(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode) && found.st_uid == 0;
}

Result<UnixListener> UnixListener::bind(const std::string& path, unsigned mode, int backlog) {
  TRY(const sockaddr_un address, address_of(path));
  TRY_VOID(make_private_directory_of(path));
  TRY(Fd lock, lock_for(path));
  TRY_VOID(remove_stale(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return os_error("socket");
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return os_error("bind", path);
  UnixListener listener(std::move(fd), std::move(lock), path);
  // Nobody can connect before listen(), so the mode is in force for the first client.
  if (::chmod(path.c_str(), static_cast<mode_t>(mode)) != 0) return os_error("chmod", path);
  if (::listen(listener.socket_.get(), backlog) != 0) return os_error("listen", path);
  return listener;
}

Result<UnixListener> UnixListener::adopt(Fd socket) {
  int listening = 0, domain = 0;
  socklen_t size = sizeof(int);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0)
    return make_error(ErrorCode::kInvalidArgument, "the descriptor passed in is not a listening socket");
  size = sizeof(int);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX)
    return make_error(ErrorCode::kInvalidArgument, "the descriptor passed in is not a Unix socket");
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0) return os_error("fcntl O_NONBLOCK");
  return UnixListener(std::move(socket), Fd(), {});
}

UnixListener::~UnixListener() {
  if (socket_.valid() && !path_.empty()) ::unlink(path_.c_str());
}

Accepted accept_unix(const Fd& listener, std::uint64_t reserve) {
  if (reserve > 0 && !leaves_descriptors(listener, reserve)) return {AcceptStatus::exhausted, Fd()};
  const int raw = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (raw >= 0) return {AcceptStatus::ok, Fd(raw)};
  switch (errno) {
    case EAGAIN: return {AcceptStatus::would_block, Fd()};
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return {AcceptStatus::exhausted, Fd()};
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM: return {AcceptStatus::retry, Fd()};
    default: return {AcceptStatus::failed, Fd()};
  }
}

Result<Peer> peer_of(const Fd& socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return os_error("SO_PEERCRED");
  return Peer{credentials.uid, credentials.gid, credentials.pid};
}

}  // namespace trident::os
