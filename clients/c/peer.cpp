#include "clients/c/peer.h"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "runtime/os/socket.h"

namespace trident::client {
namespace {

std::optional<uid_t> configured_uid() {
  const char* text = ::secure_getenv("TRIDENT_TRUSTED_UID");
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (errno != 0 || *end != '\0' || value > 0xFFFF'FFFEul) return std::nullopt;
  return static_cast<uid_t>(value);
}

bool is_trusted(uid_t uid) {
  return uid == 0 || uid == ::geteuid() || configured_uid() == uid;
}

Error distrust(const std::string& path, const std::string& why) {
  return make_error(ErrorCode::kOsError, "%s: %s; not trusted to send code", path.c_str(), why.c_str());
}

std::string owned_by(uid_t uid) {
  return "it belongs to another user (" + std::to_string(uid) + ")";
}

/// A daemon that starts makes what is not there yet; everything else stays as it is.
Error unreachable(const std::string& path, int error) {
  const bool absent = error == ENOENT || error == ECONNREFUSED;
  return make_error(absent ? ErrorCode::kDisconnected : ErrorCode::kOsError, "%s: %s", path.c_str(),
                    std::strerror(error));
}

Result<void> check_directory(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return unreachable(path, errno);
  if (!S_ISDIR(status.st_mode)) return distrust(path, "not a directory");
  if (!is_trusted(status.st_uid)) return distrust(path, owned_by(status.st_uid));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return distrust(path, "other users can write to it");
  }
  return {};
}

}  // namespace

bool is_privileged_process() {
  return ::getauxval(AT_SECURE) != 0;
}

std::string daemon_socket_path(const char* option) {
  if (option != nullptr && *option != '\0') return option;
  if (const char* path = ::secure_getenv("TRIDENT_SOCKET"); path != nullptr && *path != '\0') return path;
  if (const char* runtime = ::secure_getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/') {
    std::string path = std::string(runtime) + "/trident/tridentd.sock";
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  return "/run/trident/tridentd.sock";
}

Result<std::string> check_socket_path(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) {
    const int error = errno;
    if (const auto fits = os::check_socket_length(path); !fits) return Error{ErrorCode::kOsError, fits.error().message};
    return unreachable(path, error);
  }
  std::string real = resolved;
  if (const auto fits = os::check_socket_length(real); !fits) return Error{ErrorCode::kOsError, fits.error().message};
  for (std::size_t slash = real.rfind('/'); slash != std::string::npos; slash = real.rfind('/', slash - 1)) {
    TRY_VOID(check_directory(slash == 0 ? std::string("/") : real.substr(0, slash)));
    if (slash == 0) break;
  }
  struct stat status {};
  if (::lstat(real.c_str(), &status) != 0) return unreachable(real, errno);
  if (!S_ISSOCK(status.st_mode)) return distrust(real, "not a socket");
  if (!is_trusted(status.st_uid)) return distrust(real, owned_by(status.st_uid));
  return real;
}

Result<os::Fd> connect_to_daemon(const std::string& path) {
  TRY(const std::string real, check_socket_path(path));
  auto socket = os::connect_unix(real, os::Blocking::no);
  if (!socket) {
    const bool denied = ::access(real.c_str(), W_OK) != 0 && errno == EACCES;
    return Error{denied ? ErrorCode::kOsError : ErrorCode::kDisconnected, socket.error().message};
  }
  TRY(const os::Peer peer, os::peer_of(*socket));
  if (!is_trusted(peer.uid)) return distrust(real, "another user runs the daemon (" + std::to_string(peer.uid) + ")");
  return socket;
}

}  // namespace trident::client
