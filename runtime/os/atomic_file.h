// Files that are either the old ones or whole new ones, whatever happens while they are written.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::os {

/// A file under a name beside the one it is to have. commit() makes it durable and moves it there in one step; without
/// commit() it is removed. It has the permissions of the file that it is to replace.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();
  Result<void> append(std::span<const std::byte> bytes);
  /// Writes what is buffered, fsync, rename, fsync of the folder. OsError names the file and what the system said.
  Result<void> commit();

 private:
  AtomicFile(std::string path, std::string draft, Fd fd);
  Result<void> write_out();

  std::string path_, draft_;
  Fd fd_;
  std::vector<std::byte> buffer_;
};

/// All bytes of a file; errors are those of open_regular_file(), LimitExceeded beyond `bytes_max`, OsError.
Result<std::vector<std::byte>> read_file(const std::string& path, std::size_t bytes_max);

}  // namespace trident::os
