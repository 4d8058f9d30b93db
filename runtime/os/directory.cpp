#include "runtime/os/directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

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
  std::vector<std::string> missing;  // the last is the uppermost
  for (std::string each = path; !each.empty() && ::access(each.c_str(), F_OK) != 0; each.resize(each.rfind('/'))) {
    missing.push_back(each);
    if (each.find('/') == std::string::npos) break;
  }
  auto usable = make_usable_directory(path);
  // Permissions do not tell where files can be made (/proc): one is tried.
  std::string draft = path + "/.trident-XXXXXX";
  if (usable.ok() && ::mkdtemp(draft.data()) == nullptr)
    usable = make_error(ErrorCode::kOsError, "%s: nothing can be made in it: %s", path.c_str(), std::strerror(errno));
  else if (usable.ok())
    ::rmdir(draft.c_str());
  for (const std::string& made : missing) ::rmdir(made.c_str());  // fails where somebody has used it meanwhile
  return usable;
}

Result<std::string> make_temporary_directory(const std::string& name) {
  const char* parent = std::getenv("TMPDIR");
  std::string path = std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/" + name + "-XXXXXX";
  if (::mkdtemp(path.data()) != nullptr) return path;
  return make_error(ErrorCode::kOsError, "%s: cannot be made: %s (TMPDIR names the folder for such files)",
                    path.c_str(), std::strerror(errno));
}

}  // namespace trident::os
