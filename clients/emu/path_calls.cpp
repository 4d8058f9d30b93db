// Calls that name files by paths. Paths are the host's; only /proc/self/exe is the guest's program.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "clients/emu/syscalls.h"

namespace trident::emu {
namespace {

constexpr const char* kOwnProgram = "/proc/self/exe";
constexpr const char* kPrograms = "/proc/";

/// Calls `act(folder, path)` with the host's folder and the text of the path at `address`.
template <class Act>
std::int64_t with_path(const Kernel& kernel, std::uint64_t folder, std::uint64_t address, Act act) {
  const GuestPath path = path_at(kernel, address);
  return path.error != 0 ? path.error : act(kernel.files.host_folder(folder), path.text);
}

/// Calls `act` with two folders and paths.
template <class Act>
std::int64_t with_paths(const Kernel& kernel, const Arguments& a, Act act) {
  return with_path(kernel, a[0], a[1], [&](int from_folder, const std::string& from) {
    return with_path(kernel, a[2], a[3], [&](int to_folder, const std::string& to) {
      return result_of(act(from_folder, from.c_str(), to_folder, to.c_str()));
    });
  });
}

bool is_own_program(const std::string& path) {
  return path == kOwnProgram || path == kPrograms + std::to_string(::getpid()) + "/exe";
}

std::string on_host(const Kernel& kernel, const std::string& path) {
  return is_own_program(path) ? kernel.program : path;
}

std::int64_t access_of(const Kernel& kernel, const Arguments& a, int flags) {
  return with_path(kernel, a[0], a[1], [&](int folder, const std::string& path) {
    return result_of(::faccessat(folder, path.c_str(), static_cast<int>(a[2]), flags));
  });
}

}  // namespace

std::int64_t call_openat(Kernel& kernel, const Arguments& a) {
  return with_path(kernel, a[0], a[1], [&](int folder, const std::string& path) -> std::int64_t {
    const int flags = host_open_flags(a[2]) | O_NOCTTY;
    os::Fd file(::openat(folder, on_host(kernel, path).c_str(), flags, static_cast<mode_t>(a[3])));
    return file.valid() ? kernel.files.add(std::move(file)) : -errno;
  });
}

std::int64_t call_newfstatat(Kernel& kernel, const Arguments& a) {
  return with_path(kernel, a[0], a[1], [&](int folder, const std::string& path) -> std::int64_t {
    struct stat host;
    if (::fstatat(folder, path.c_str(), &host, static_cast<int>(a[3])) < 0) return -errno;
    return kernel.memory.put(a[2], guest_stat(host)) ? 0 : -EFAULT;
  });
}

std::int64_t call_readlinkat(Kernel& kernel, const Arguments& a) {
  return with_path(kernel, a[0], a[1], [&](int folder, const std::string& path) -> std::int64_t {
    char target[PATH_MAX];
    ssize_t length = static_cast<ssize_t>(kernel.program.size());
    if (is_own_program(path))
      std::memcpy(target, kernel.program.data(), std::min(kernel.program.size(), sizeof target));
    else
      length = ::readlinkat(folder, path.c_str(), target, sizeof target);
    if (length < 0) return -errno;
    if (static_cast<std::int64_t>(a[3]) <= 0) return -EINVAL;
    const std::size_t bytes =
        std::min({static_cast<std::size_t>(length), static_cast<std::size_t>(a[3]), sizeof target});
    return kernel.memory.write(a[2], target, bytes) ? static_cast<std::int64_t>(bytes) : -EFAULT;
  });
}

std::int64_t call_faccessat(Kernel& kernel, const Arguments& a) {
  return access_of(kernel, a, 0);  // the call, unlike the library's function, has no flags
}

std::int64_t call_mkdirat(Kernel& kernel, const Arguments& a) {
  return with_path(kernel, a[0], a[1], [&](int folder, const std::string& path) {
    return result_of(::mkdirat(folder, path.c_str(), static_cast<mode_t>(a[2])));
  });
}

std::int64_t call_unlinkat(Kernel& kernel, const Arguments& a) {
  return with_path(kernel, a[0], a[1], [&](int folder, const std::string& path) {
    return result_of(::unlinkat(folder, path.c_str(), static_cast<int>(a[2])));
  });
}

std::int64_t call_linkat(Kernel& kernel, const Arguments& a) {
  return with_paths(kernel, a, [&](int from_folder, const char* from, int to_folder, const char* to) {
    return ::linkat(from_folder, from, to_folder, to, static_cast<int>(a[4]));
  });
}

std::int64_t call_renameat(Kernel& kernel, const Arguments& a) {
  return with_paths(kernel, a, ::renameat);
}

std::int64_t call_renameat2(Kernel& kernel, const Arguments& a) {
  return with_paths(kernel, a, [&](int from_folder, const char* from, int to_folder, const char* to) {
    return ::renameat2(from_folder, from, to_folder, to, static_cast<unsigned>(a[4]));
  });
}

std::int64_t call_fchmodat(Kernel& kernel, const Arguments& a) {
  return with_path(kernel, a[0], a[1], [&](int folder, const std::string& path) {
    return result_of(::fchmodat(folder, path.c_str(), static_cast<mode_t>(a[2]), 0));
  });
}

std::int64_t call_fchownat(Kernel& kernel, const Arguments& a) {
  return with_path(kernel, a[0], a[1], [&](int folder, const std::string& path) {
    return result_of(
        ::fchownat(folder, path.c_str(), static_cast<uid_t>(a[2]), static_cast<gid_t>(a[3]), static_cast<int>(a[4])));
  });
}

/// Without a path the times are those of the open file.
std::int64_t call_utimensat(Kernel& kernel, const Arguments& a) {
  const auto times = kernel.memory.get<std::array<timespec, 2>>(a[2]);
  if (a[2] != 0 && !times) return -EFAULT;
  const timespec* const given = times ? times->data() : nullptr;
  if (a[1] == 0) return result_of(::futimens(kernel.files.host(a[0]), given));
  return with_path(kernel, a[0], a[1], [&](int folder, const std::string& path) {
    return result_of(::utimensat(folder, path.c_str(), given, static_cast<int>(a[3])));
  });
}

std::int64_t call_chdir(Kernel& kernel, const Arguments& a) {
  return with_path(kernel, 0, a[0], [](int, const std::string& path) { return result_of(::chdir(path.c_str())); });
}

std::int64_t call_fchdir(Kernel& kernel, const Arguments& a) {
  return result_of(::fchdir(kernel.files.host(a[0])));
}

std::int64_t call_getcwd(Kernel& kernel, const Arguments& a) {
  char path[PATH_MAX];
  const auto bytes = ::syscall(SYS_getcwd, path, sizeof path);
  if (bytes < 0) return -errno;
  if (static_cast<std::uint64_t>(bytes) > a[1]) return -ERANGE;
  return kernel.memory.write(a[0], path, static_cast<std::size_t>(bytes)) ? bytes : -EFAULT;
}

}  // namespace trident::emu
