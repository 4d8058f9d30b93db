// One writer at a time, over all processes, for files that are read and then replaced.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::os {

/// Held until destruction, and not beyond the end of the process however it ends. The file stays.
class FileLock {
 public:
  /// Waits until the holder lets go. Makes a missing file; a process that may only read it can hold it too. OsError.
  static Result<FileLock> hold(const std::string& path);
  /// Does not wait: returns nothing when another process holds it.
  static Result<std::optional<FileLock>> hold_now(const std::string& path);

 private:
  static Result<std::optional<FileLock>> held(const std::string& path, int how);
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace trident::os
