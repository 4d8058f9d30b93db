#include "runtime/os/directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace trident::os
