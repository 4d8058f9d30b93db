#include "clients/cli/verb/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/os/atomic_file.h"
#include "runtime/os/regular_file.h"

namespace trident::cli {
namespace {

namespace fs = std::filesystem;

Result<void> check_kind(const std::string& path, fs::file_type kind) {
  const char* what = nullptr;
  switch (kind) {
    case fs::file_type::none:
    case fs::file_type::not_found:
    case fs::file_type::unknown:  // what cannot be looked at cannot be opened either, and the system says why
    case fs::file_type::regular: return {};
    case fs::file_type::directory: return os::folder_error(path);
    case fs::file_type::symlink:
      what = "a symbolic link, which the file would replace; name the file that it leads to";
      break;
    case fs::file_type::fifo: what = "a FIFO, not a regular file; name a regular file or a new one"; break;
    case fs::file_type::socket: what = "a socket, not a regular file; name a regular file or a new one"; break;
    case fs::file_type::block:
    case fs::file_type::character: what = "a device, not a regular file; name a regular file or a new one"; break;
  }
  return make_error(ErrorCode::kInvalidArgument, "%s: is %s", path.c_str(), what);
}

}  // namespace

Result<void> can_be_drafted(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return check_kind(path, fs::file_type::directory);
  TRY(const os::AtomicFile draft, os::AtomicFile::create(path));
  return {};
}

Result<void> can_take_place(const std::string& path) {
  std::error_code ignored;
  TRY_VOID(check_kind(path, fs::symlink_status(path, ignored).type()));
  return can_be_drafted(path);
}

Result<void> can_be_written(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || path == "-") return {};
  if (fs::is_directory(path, ignored)) return check_kind(path, fs::file_type::directory);
  const fs::path folder = fs::path(path).parent_path();
  const std::string asked = fs::exists(path, ignored) ? path : folder.empty() ? "." : folder.string();
  if (::access(asked.c_str(), W_OK) == 0) return {};
  return make_error(ErrorCode::kOsError, "%s: cannot be written: %s", path.c_str(), std::strerror(errno));
}

Result<void> can_take_place_in_new_folder(const std::string& path) {
  std::error_code ignored;
  const fs::path folder = fs::path(path).parent_path();
  if (folder.empty() || fs::exists(folder, ignored)) return can_take_place(path);
  return {};
}

Result<void> can_be_written_in_place(const std::string& path) {
  std::error_code ignored;
  return check_kind(path, fs::status(path, ignored).type());
}

Result<void> is_none_of(const std::string& path, std::span<const std::string> others) {
  if (path.empty() || path == "-") return {};
  for (const std::string& other : others) {
    if (other.empty()) continue;
    std::error_code ignored;
    const bool same = fs::weakly_canonical(path, ignored) == fs::weakly_canonical(other, ignored) ||
                      fs::equivalent(path, other, ignored);  // hard links too
    if (same)
      return make_error(ErrorCode::kInvalidArgument, "%s: the output would overwrite %s; name another file",
                        path.c_str(), other.c_str());
  }
  return {};
}

}  // namespace trident::cli
