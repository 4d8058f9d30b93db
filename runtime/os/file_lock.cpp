#include "runtime/os/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/check.h"

namespace trident::os {

Result<std::optional<FileLock>> FileLock::held(const std::string& path, int how) {
  const auto failed = [&](const char* what) {
    return make_error(ErrorCode::kOsError, "%s: %s: %s", path.c_str(), what, std::strerror(errno));
  };
  Fd fd(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return failed("cannot open");
  while (::flock(fd.get(), how) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<FileLock>();
    if (errno != EINTR) return failed("cannot lock");
  }
  return std::optional(FileLock(std::move(fd)));
}

Result<FileLock> FileLock::hold(const std::string& path) {
  TRY(auto lock, held(path, LOCK_EX));
  CHECK(lock.has_value());  // it waited
  return std::move(*lock);
}
Result<std::optional<FileLock>> FileLock::hold_now(const std::string& path) {
  return held(path, LOCK_EX | LOCK_NB);
}

}  // namespace trident::os
