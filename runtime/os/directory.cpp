#include "runtime/os/directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace trident::os {

Result<void> make_private_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return {};
  const std::string directory = path.substr(0, slash);
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno == ENOENT) {
    TRY_VOID(make_private_directory_of(directory));
    if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  }
  return make_error(ErrorCode::kOsError, "mkdir %s: %s", directory.c_str(), std::strerror(errno));
}

Result<void> make_usable_directory(const std::string& directory) {
  TRY_VOID(make_private_directory_of(directory + "/."));
  if (::access((directory + "/.").c_str(), R_OK | W_OK | X_OK) == 0) return {};
  return make_error(ErrorCode::kOsError, "%s: %s", directory.c_str(), std::strerror(errno));
}

Result<void> check_usable_directory(const std::string& directory) {
  const std::string path = directory.empty() ? "." : directory;
  if (::access((path + "/.").c_str(), R_OK | W_OK | X_OK) == 0) return {};
  const int cause = errno;
  const std::size_t slash =
      path.find_last_not_of('/') == std::string::npos ? std::string::npos : path.rfind('/', path.find_last_not_of('/'));
  struct stat s {};
  if (cause == ENOENT && ::lstat(path.c_str(), &s) != 0 && slash != 0)
    return check_usable_directory(slash == std::string::npos ? "." : path.substr(0, slash));
  if (cause == ENOENT && slash == 0 && ::access("/", W_OK) == 0) return {};
  return make_error(ErrorCode::kOsError, "%s: %s", path.c_str(), std::strerror(cause));
}

Result<std::string> make_temporary_directory(const std::string& name) {
  const char* parent = std::getenv("TMPDIR");
  std::string path = std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/" + name + "-XXXXXX";
  if (::mkdtemp(path.data()) != nullptr) return path;
  return make_error(ErrorCode::kOsError, "%s: cannot be made: %s (TMPDIR names the folder for such files)", path.c_str(),
                    std::strerror(errno));
}

}  // namespace trident::os
