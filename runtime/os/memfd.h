// Memory behind a file descriptor: sealed memfds that another process can map as code, and mappings of every kind.
//
// A memfd sealed against writing and mapped PROT_READ | PROT_EXEC works where every other way of making code is
// refused (PR_SET_MDWE, noexec /dev/shm, vm.memfd_noexec). MAP_SHARED comes first, because the mapping can then never
// be made writable; kernels before about 6.7 refuse that with EPERM, so MAP_PRIVATE is the fallback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::os {

/// A mapping, unmapped on destruction.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* base, std::size_t size) : base_(base), size_(size) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  [[nodiscard]] void* base() const { return base_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(base_), size_}; }

 private:
  void* base_ = nullptr;
  std::size_t size_ = 0;
};

std::size_t page_bytes();
/// `size` rounded up to whole pages.
std::size_t round_to_pages(std::size_t size);

/// A memfd that holds `bytes`, padded with `padding` to whole pages and sealed against write, shrink, grow and seal.
/// `name` shows in /proc/PID/maps.
Result<Fd> make_sealed_memfd(const char* name, std::span<const std::byte> bytes, std::byte padding);

/// The size of a memfd that carries all four seals; RejectedImage for anything else. For descriptors from outside.
Result<std::size_t> sealed_size(const Fd& fd);

/// The first `size` bytes of a sealed memfd as code. ExecDenied where the system refuses.
Result<Mapping> map_executable(const Fd& fd, std::size_t size);
/// The first `size` bytes read-only.
Result<Mapping> map_read_only(const Fd& fd, std::size_t size);

/// Zeroed memory that children made by fork() share with this process.
Result<Mapping> map_shared(std::size_t size);

/// Zeroed memory of this process alone. Pages are given when first touched, huge ones where the system has them, so
/// that reserving far more than is used costs address space only.
Result<Mapping> map_private(std::size_t size);

/// Code of this process alone: a copy of `code` in a sealed memfd, so that PR_SET_MDWE and MemoryDenyWriteExecute=
/// allow it. Errors: those of make_sealed_memfd and map_executable.
Result<Mapping> map_code(std::span<const std::byte> code);

/// Code that is written anew from time to time, through a descriptor: the mapping itself cannot be written. For code
/// that only sandboxed children run.
class CodeFile {
 public:
  /// OsError, ExecDenied as map_executable().
  static Result<CodeFile> make(std::size_t bytes);
  /// Puts `code` at the start, and trapping bytes where code before it was longer. CHECKs that it fits.
  Result<void> write(std::span<const std::byte> code);
  [[nodiscard]] std::span<const std::byte> bytes() const { return mapping_.bytes(); }

 private:
  CodeFile(Fd fd, Mapping mapping) : fd_(std::move(fd)), mapping_(std::move(mapping)) {}
  Fd fd_;
  Mapping mapping_;
  std::size_t written_ = 0;  ///< bytes of the code that was written last
};

/// `size` bytes (rounded to pages) shared with children, with as much inaccessible address space before and after.
/// Anything that steps over an end dies at once.
class GuardedMapping {
 public:
  static Result<GuardedMapping> make(std::size_t size);
  [[nodiscard]] std::span<std::byte> bytes() const;

 private:
  explicit GuardedMapping(Mapping whole) : whole_(std::move(whole)) {}
  Mapping whole_;
};

}  // namespace trident::os
