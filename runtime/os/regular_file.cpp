#include "runtime/os/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace trident::os {

Error folder_error(const std::string& path) {
  return make_error(ErrorCode::kInvalidArgument, "%s: is a folder, not a file", path.c_str());
}

Result<Fd> open_regular_file(const std::string& path) {
  const auto failed = [&] {
    const bool absent = errno == ENOENT || errno == ENOTDIR;  // what lies on the way to it is no folder
    return make_error(absent ? ErrorCode::kNotFound : ErrorCode::kOsError, "%s: cannot be read: %s", path.c_str(),
                      std::strerror(errno));
  };
  // Without O_NONBLOCK opening a FIFO waits for a writer; to a regular file it means nothing.
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid() && errno == ENXIO)
    return make_error(ErrorCode::kInvalidArgument, "%s: is a device or a socket, not a regular file", path.c_str());
  if (!file.valid()) return failed();
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed();
  if (S_ISREG(status.st_mode)) return file;
  if (S_ISDIR(status.st_mode)) return folder_error(path);
  return make_error(
      ErrorCode::kInvalidArgument, "%s: is %s", path.c_str(),
      S_ISFIFO(status.st_mode) ? "a FIFO, not a regular file" : "a device or a socket, not a regular file");
}

bool is_at(const Fd& file, const std::string& path) {
  struct stat open {};
  struct stat there {};
  return ::fstat(file.get(), &open) == 0 && ::stat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

}  // namespace trident::os
