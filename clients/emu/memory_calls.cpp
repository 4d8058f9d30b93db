// brk, mmap and what belongs to them.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "clients/emu/syscalls.h"

namespace trident::emu {
namespace {

// Linux' numbers; MREMAP_MAYMOVE and MAP_FIXED_NOREPLACE are the same on every machine.
constexpr std::uint64_t kBytesMax = kAddressEnd;

/// PROT_READ, PROT_WRITE and PROT_EXEC are numbered as Permission.
std::uint32_t permissions_of(std::uint64_t protection) {
  return static_cast<std::uint32_t>(protection) & (kRead | kWrite | kExecute);
}

bool whole_pages(std::uint64_t address) {
  return address % kPageBytes == 0;
}

/// Copies a file's bytes into pages that were just mapped. What lies behind the file's end stays zero.
std::int64_t fill_from_file(Kernel& kernel, std::uint64_t base, std::uint64_t bytes, int file, std::uint64_t offset) {
  const auto pieces = kernel.memory.pieces(base, bytes, 0);
  if (!pieces) return -ENOMEM;
  for (const Piece& piece : *pieces) {
    for (std::size_t done = 0; done < piece.bytes;) {
      const ssize_t got = ::pread(file, piece.host + done, piece.bytes - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno != EINTR) return -errno;
      if (got == 0) return 0;
      done += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    }
    offset += piece.bytes;
  }
  return 0;
}

/// Returns where a mapping goes, or minus an errno.
std::int64_t place_of(const Kernel& kernel, std::uint64_t wanted, std::uint64_t bytes, std::uint64_t flags) {
  const bool fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  if (fixed && (!whole_pages(wanted) || wanted == 0 || bytes > kAddressEnd || wanted > kAddressEnd - bytes))
    return -EINVAL;
  if (fixed && (flags & MAP_FIXED) == 0 && !kernel.memory.is_free(wanted, bytes)) return -EEXIST;
  if (fixed) return static_cast<std::int64_t>(wanted);
  const std::uint64_t hint = page_down(wanted);
  if (hint != 0 && kernel.memory.is_free(hint, bytes)) return static_cast<std::int64_t>(hint);
  const std::uint64_t found = kernel.memory.free_range(bytes);
  return found == 0 ? -ENOMEM : static_cast<std::int64_t>(found);
}

std::int64_t map_file(Kernel& kernel, std::uint64_t base, std::uint64_t bytes, const Arguments& a) {
  const std::int64_t filled = fill_from_file(kernel, base, bytes, kernel.files.host(a[4]), a[5]);
  if (filled == 0) return static_cast<std::int64_t>(base);
  kernel.memory.unmap(base, bytes);
  return filled;
}

/// Checks what is mapped: memory alone, or a file. A shared file that may be written is not to be had.
std::int64_t check_source(const Kernel& kernel, const Arguments& a) {
  const std::uint64_t type = a[3] & MAP_TYPE;
  const bool is_file = (a[3] & MAP_ANONYMOUS) == 0;
  if (is_file && kernel.files.host(a[4]) < 0) return -EBADF;
  if (type != MAP_PRIVATE && type != MAP_SHARED && (type != MAP_SHARED_VALIDATE || !is_file)) return -EINVAL;
  return is_file && type != MAP_PRIVATE && (a[2] & PROT_WRITE) != 0 ? -ENODEV : 0;
}

/// Moves a mapping to a larger range.
std::int64_t move(Kernel& kernel, std::uint64_t from, std::uint64_t old_bytes, std::uint64_t bytes) {
  if (!kernel.memory.is_mapped(from, old_bytes, kRead | kWrite)) return -EFAULT;
  const std::uint64_t to = kernel.memory.free_range(bytes);
  if (to == 0 || !kernel.memory.map(to, bytes, kRead | kWrite)) return -ENOMEM;
  const auto pieces = kernel.memory.pieces(from, old_bytes, 0);
  std::uint64_t at = to;
  for (const Piece& piece : *pieces) {
    kernel.memory.fill(at, piece.host, piece.bytes);
    at += piece.bytes;
  }
  kernel.memory.unmap(from, old_bytes);
  return static_cast<std::int64_t>(to);
}

}  // namespace

std::int64_t call_brk(Kernel& kernel, const Arguments& a) {
  (void)kernel.memory.set_heap_end(a[0]);  // a refusal shows in the answer
  return static_cast<std::int64_t>(kernel.memory.heap_end());
}

std::int64_t call_mmap(Kernel& kernel, const Arguments& a) {
  if (a[1] == 0 || !whole_pages(a[5])) return -EINVAL;
  if (a[1] > kBytesMax) return -ENOMEM;
  if (const std::int64_t wrong = check_source(kernel, a); wrong != 0) return wrong;
  const std::uint64_t bytes = page_up(a[1]);
  const std::int64_t base = place_of(kernel, a[0], bytes, a[3]);
  if (base < 0) return base;
  if (!kernel.memory.map(base, bytes, permissions_of(a[2]))) return -ENOMEM;
  return (a[3] & MAP_ANONYMOUS) != 0 ? base : map_file(kernel, base, bytes, a);
}

std::int64_t call_munmap(Kernel& kernel, const Arguments& a) {
  if (!whole_pages(a[0]) || a[1] == 0 || a[1] > kBytesMax || a[0] > kAddressEnd - page_up(a[1])) return -EINVAL;
  kernel.memory.unmap(a[0], page_up(a[1]));
  return 0;
}

std::int64_t call_mprotect(Kernel& kernel, const Arguments& a) {
  if (!whole_pages(a[0])) return -EINVAL;
  if (a[1] == 0) return 0;
  if (a[1] > kBytesMax) return -ENOMEM;
  return kernel.memory.protect(a[0], page_up(a[1]), permissions_of(a[2])) ? 0 : -ENOMEM;
}

std::int64_t call_mremap(Kernel& kernel, const Arguments& a) {
  if (!whole_pages(a[0]) || a[1] == 0 || a[2] == 0 || a[1] > kBytesMax || a[2] > kBytesMax) return -EINVAL;
  if ((a[3] & ~std::uint64_t{MREMAP_MAYMOVE}) != 0) return -EINVAL;
  const std::uint64_t old_bytes = page_up(a[1]), bytes = page_up(a[2]);
  if (!kernel.memory.is_mapped(a[0], old_bytes, 0)) return -EFAULT;
  if (bytes < old_bytes) kernel.memory.unmap(a[0] + bytes, old_bytes - bytes);
  if (bytes <= old_bytes) return static_cast<std::int64_t>(a[0]);
  return (a[3] & MREMAP_MAYMOVE) != 0 ? move(kernel, a[0], old_bytes, bytes) : -ENOMEM;
}

/// Advice is not taken, except for the one that empties pages: malloc relies on zeros there.
std::int64_t call_madvise(Kernel& kernel, const Arguments& a) {
  if (!whole_pages(a[0]) || a[1] > kBytesMax) return -EINVAL;
  if (a[2] != MADV_DONTNEED) return 0;
  const auto pieces = kernel.memory.pieces(a[0], page_up(a[1]), 0);
  if (!pieces) return -ENOMEM;
  kernel.memory.about_to_change(a[0], page_up(a[1]));
  for (const Piece& piece : *pieces) ::madvise(piece.host, piece.bytes, MADV_DONTNEED);
  return 0;
}

}  // namespace trident::emu
