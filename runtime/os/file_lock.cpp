#include "runtime/os/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

namespace trident::os {

Result<FileLock> FileLock::hold(const std::string& path) {
  const auto failed = [&](const char* what) {
    return make_error(ErrorCode::kOsError, "%s: %s: %s", path.c_str(), what, std::strerror(errno));
  };
  Fd fd(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return failed("cannot open");
  while (::flock(fd.get(), LOCK_EX) != 0)
    if (errno != EINTR) return failed("cannot lock");
  return FileLock(std::move(fd));
}

}  // namespace trident::os
