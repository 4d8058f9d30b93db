// Says when a file of a folder was put in place of another: a descriptor to be polled, so that nobody has to look.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::os {

class FolderWatch {
 public:
  /// Watches for names that are moved into the folder (AtomicFile::commit() does) or removed from it. OsError.
  static Result<FolderWatch> make(const std::string& folder);
  /// Readable when there is something to drain().
  [[nodiscard]] const Fd& fd() const { return fd_; }
  /// Returns true when `name` was moved in or removed since the last call, and when the system has lost count.
  bool drain(std::string_view name);

 private:
  explicit FolderWatch(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace trident::os
