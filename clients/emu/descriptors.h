// The guest's file descriptors. The guest's numbers are its own, so that it neither sees nor closes files of the
// emulator and of libtrident, and gets the lowest free number, as POSIX promises.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/os/fd.h"

namespace trident::emu {

class Descriptors {
 public:
  /// Begins with copies of this process's standard input, output and error.
  Descriptors();

  /// Returns the host's number, -1 where the guest has none.
  [[nodiscard]] int host(std::uint64_t guest) const;
  /// Returns the host's number of a folder that a path is relative to; AT_FDCWD stays itself.
  [[nodiscard]] int host_folder(std::uint64_t guest) const;
  /// Returns the guest's number, `least` or the lowest free one above it; -EMFILE when there is none.
  std::int64_t add(os::Fd file, std::uint64_t least = 0);
  /// Gives `file` the number `guest`, in place of what has it. Returns the number, or -EBADF.
  std::int64_t set(std::uint64_t guest, os::Fd file);
  /// Returns 0 or -EBADF.
  std::int64_t close(std::uint64_t guest);

 private:
  std::vector<os::Fd> files_;
};

}  // namespace trident::emu
