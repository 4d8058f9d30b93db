#include "runtime/os/folder_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace trident::os {

Result<FolderWatch> FolderWatch::make(const std::string& folder) {
  const auto failed = [&] {
    return make_error(ErrorCode::kOsError, "%s: cannot be watched: %s", folder.c_str(), std::strerror(errno));
  };
  Fd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd.valid()) return failed();
  if (::inotify_add_watch(fd.get(), folder.c_str(), IN_MOVED_TO | IN_DELETE | IN_ONLYDIR) < 0) return failed();
  return FolderWatch(std::move(fd));
}

bool FolderWatch::drain(std::string_view name) {
  alignas(inotify_event) std::byte events[4096];
  bool found = false;
  while (true) {
    const ssize_t bytes = ::read(fd_.get(), events, sizeof events);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return found;
    for (std::size_t at = 0; at < static_cast<std::size_t>(bytes);) {
      inotify_event event;
      std::memcpy(&event, events + at, sizeof event);
      const auto* text = reinterpret_cast<const char*>(events + at + sizeof event);  // with zeros behind it
      found = found || (event.mask & IN_Q_OVERFLOW) != 0 || (event.len != 0 && name == text);
      at += sizeof event + event.len;
    }
  }
}

}  // namespace trident::os
