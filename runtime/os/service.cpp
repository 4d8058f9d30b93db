#include "runtime/os/service.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace trident::os {
namespace {

constexpr std::size_t kPassedSocketsMax = 64;  // more would be a mistake of the unit

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc() || at != end || at == text) return std::nullopt;
  return value;
}

/// The colon-separated parts of `text`.
std::vector<std::string> split(const char* text) {
  std::vector<std::string> parts;
  if (text == nullptr) return parts;
  std::string_view rest(text);
  while (true) {
    const std::size_t colon = rest.find(':');
    parts.emplace_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace

std::size_t passed_socket_count() {
  const auto pid = number_in("LISTEN_PID");
  const auto count = number_in("LISTEN_FDS");
  const bool ours = pid && count && *pid == static_cast<std::uint64_t>(::getpid());
  return ours && *count <= kPassedSocketsMax ? *count : 0;
}

std::vector<PassedSocket> take_passed_sockets() {
  std::vector<PassedSocket> sockets;
  const std::size_t count = passed_socket_count();
  const std::vector<std::string> names = split(std::getenv("LISTEN_FDNAMES"));
  for (std::size_t i = 0; i < count; ++i) {
    const int fd = kFirstPassedFd + static_cast<int>(i);
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) continue;  // not open: the giver miscounted
    sockets.push_back({Fd(fd), i < names.size() ? names[i] : "unknown"});
  }
  ::unsetenv("LISTEN_PID");
  ::unsetenv("LISTEN_FDS");
  ::unsetenv("LISTEN_FDNAMES");
  return sockets;
}

bool notify_service_manager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // abstract namespace
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return false;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  while (true) {
    const ssize_t n =
        ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
    if (n >= 0) return static_cast<std::size_t>(n) == state.size();
    if (errno != EINTR) return false;
  }
}

std::uint64_t watchdog_interval_ns() {
  const auto interval_us = number_in("WATCHDOG_USEC");
  if (!interval_us || *interval_us == 0 || *interval_us > UINT64_MAX / 1000) return 0;
  const auto pid = number_in("WATCHDOG_PID");
  if (std::getenv("WATCHDOG_PID") != nullptr && (!pid || *pid != static_cast<std::uint64_t>(::getpid()))) return 0;
  return *interval_us * 1000;
}

bool stderr_is_journal() {
  const std::vector<std::string> parts = split(std::getenv("JOURNAL_STREAM"));
  struct stat s {};
  if (parts.size() != 2 || ::fstat(STDERR_FILENO, &s) != 0) return false;
  return parts[0] == std::to_string(s.st_dev) && parts[1] == std::to_string(s.st_ino);
}

}  // namespace trident::os
