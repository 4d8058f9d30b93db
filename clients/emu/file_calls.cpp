// Calls on open files.
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "clients/emu/syscalls.h"

namespace trident::emu {
namespace {

/// Linux moves no more in one call.
constexpr std::uint64_t kTransferMax = 0x7fff'f000;
constexpr std::size_t kTermiosBytes = 36;
constexpr std::uint64_t kPollMax = 1024;

using Vectors = std::vector<iovec>;

/// Appends the host's memory behind a range of the guest's; false for a bad one.
bool append(Vectors& vectors, const Kernel& kernel, std::uint64_t address, std::uint64_t bytes, std::uint32_t allowed) {
  const auto pieces = kernel.memory.pieces(address, std::min(bytes, kTransferMax), allowed);
  if (!pieces) return false;
  if ((allowed & kWrite) != 0) kernel.memory.about_to_change(address, std::min(bytes, kTransferMax));
  for (const Piece& piece : *pieces) vectors.push_back({piece.host, piece.bytes});
  return true;
}

/// Cuts to what one call of the host takes: a transfer may always be shorter than asked for.
int count_of(const Vectors& vectors) {
  return static_cast<int>(std::min<std::size_t>(vectors.size(), IOV_MAX));
}

/// Moves bytes by `transfer(host's descriptor, vectors, count)`.
template <class Transfer>
std::int64_t moved(const Kernel& kernel, const Arguments& a, std::uint32_t allowed, Transfer transfer) {
  Vectors vectors;
  if (kernel.files.host(a[0]) < 0) return -EBADF;
  if (!append(vectors, kernel, a[1], a[2], allowed)) return -EFAULT;
  return result_of(transfer(kernel.files.host(a[0]), vectors.data(), count_of(vectors)));
}

/// Address and bytes of a range, as a program lays it out.
using GuestVector = std::array<std::uint64_t, 2>;

/// Reads the guest's array of ranges; minus an errno for a bad one.
std::int64_t read_vectors(const Kernel& kernel, const Arguments& a, std::vector<GuestVector>& ranges) {
  if (a[2] > IOV_MAX) return -EINVAL;
  ranges.resize(a[2]);
  if (!kernel.memory.read(a[1], ranges.data(), ranges.size() * sizeof(GuestVector))) return -EFAULT;
  const bool has_negative =
      std::any_of(ranges.begin(), ranges.end(), [](const GuestVector& range) { return range[1] > INT64_MAX; });
  return has_negative ? -EINVAL : 0;
}

/// Moves bytes as moved() does, of many ranges. What stands before a bad range is moved.
template <class Transfer>
std::int64_t moved_all(const Kernel& kernel, const Arguments& a, std::uint32_t allowed, Transfer transfer) {
  std::vector<GuestVector> ranges;
  Vectors vectors;
  if (kernel.files.host(a[0]) < 0) return -EBADF;
  if (const std::int64_t wrong = read_vectors(kernel, a, ranges); wrong != 0) return wrong;
  for (const GuestVector& range : ranges) {
    if (append(vectors, kernel, range[0], range[1], allowed)) continue;
    if (vectors.empty()) return -EFAULT;
    break;
  }
  return result_of(transfer(kernel.files.host(a[0]), vectors.data(), count_of(vectors)));
}

std::int64_t copied(Kernel& kernel, int file, std::uint64_t request, std::uint64_t to, std::size_t bytes) {
  std::array<std::byte, 64> answer{};
  const int done = ::ioctl(file, request, answer.data());
  if (done < 0) return -errno;
  return kernel.memory.write(to, answer.data(), bytes) ? done : -EFAULT;
}

os::Fd copy_of(int file, bool close_on_exec) {
  return os::Fd(::fcntl(file, close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, STDERR_FILENO + 1));
}

std::int64_t set_flags(int file, std::uint64_t flags) {
  return result_of(::fcntl(file, F_SETFL, host_open_flags(flags)));
}

std::int64_t get_flags(int file) {
  const int flags = ::fcntl(file, F_GETFL);
  return flags < 0 ? -errno : static_cast<std::int64_t>(guest_open_flags(flags));
}

std::int64_t lock(Kernel& kernel, int file, int command, std::uint64_t address) {
  auto range = kernel.memory.get<struct flock>(address);
  if (!range) return -EFAULT;
  const std::int64_t done = result_of(::fcntl(file, command, &*range));
  return done == 0 && command == F_GETLK && !kernel.memory.put(address, *range) ? -EFAULT : done;
}

}  // namespace

std::int64_t call_read(Kernel& kernel, const Arguments& a) {
  return moved(kernel, a, kWrite, ::readv);
}
std::int64_t call_write(Kernel& kernel, const Arguments& a) {
  return moved(kernel, a, kRead, ::writev);
}
std::int64_t call_readv(Kernel& kernel, const Arguments& a) {
  return moved_all(kernel, a, kWrite, ::readv);
}
std::int64_t call_writev(Kernel& kernel, const Arguments& a) {
  return moved_all(kernel, a, kRead, ::writev);
}
std::int64_t call_pread64(Kernel& kernel, const Arguments& a) {
  return moved(kernel, a, kWrite, [&](int file, const iovec* to, int count) {
    return ::preadv(file, to, count, static_cast<off_t>(a[3]));
  });
}
std::int64_t call_pwrite64(Kernel& kernel, const Arguments& a) {
  return moved(kernel, a, kRead, [&](int file, const iovec* from, int count) {
    return ::pwritev(file, from, count, static_cast<off_t>(a[3]));
  });
}

std::int64_t call_close(Kernel& kernel, const Arguments& a) {
  return kernel.files.close(a[0]);
}

std::int64_t call_lseek(Kernel& kernel, const Arguments& a) {
  return result_of(::lseek(kernel.files.host(a[0]), static_cast<off_t>(a[1]), static_cast<int>(a[2])));
}

std::int64_t call_fsync(Kernel& kernel, const Arguments& a) {
  return result_of(::fsync(kernel.files.host(a[0])));
}
std::int64_t call_ftruncate(Kernel& kernel, const Arguments& a) {
  return result_of(::ftruncate(kernel.files.host(a[0]), static_cast<off_t>(a[1])));
}
std::int64_t call_fchmod(Kernel& kernel, const Arguments& a) {
  return result_of(::fchmod(kernel.files.host(a[0]), static_cast<mode_t>(a[1])));
}
std::int64_t call_fchown(Kernel& kernel, const Arguments& a) {
  return result_of(::fchown(kernel.files.host(a[0]), static_cast<uid_t>(a[1]), static_cast<gid_t>(a[2])));
}

std::int64_t call_fstat(Kernel& kernel, const Arguments& a) {
  struct stat host;
  if (::fstat(kernel.files.host(a[0]), &host) < 0) return -errno;
  return kernel.memory.put(a[1], guest_stat(host)) ? 0 : -EFAULT;
}

std::int64_t call_dup(Kernel& kernel, const Arguments& a) {
  os::Fd copy = copy_of(kernel.files.host(a[0]), false);
  return copy.valid() ? kernel.files.add(std::move(copy)) : -errno;
}

std::int64_t call_dup3(Kernel& kernel, const Arguments& a) {
  if (static_cast<int>(a[0]) == static_cast<int>(a[1])) return -EINVAL;
  os::Fd copy = copy_of(kernel.files.host(a[0]), (a[2] & O_CLOEXEC) != 0);
  return copy.valid() ? kernel.files.set(a[1], std::move(copy)) : -errno;
}

std::int64_t call_fcntl(Kernel& kernel, const Arguments& a) {
  const int file = kernel.files.host(a[0]), command = static_cast<int>(a[1]);
  if (file < 0) return -EBADF;
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: return kernel.files.add(copy_of(file, command == F_DUPFD_CLOEXEC), a[2]);
    case F_GETFD: return result_of(::fcntl(file, F_GETFD));
    case F_SETFD: return result_of(::fcntl(file, F_SETFD, static_cast<int>(a[2])));
    case F_GETFL: return get_flags(file);
    case F_SETFL: return set_flags(file, a[2]);
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW: return lock(kernel, file, command, a[2]);
  }
  return -EINVAL;
}

/// Requests whose answers are laid out alike on every machine; for all others the file is no terminal.
std::int64_t call_ioctl(Kernel& kernel, const Arguments& a) {
  const int file = kernel.files.host(a[0]);
  if (file < 0) return -EBADF;
  switch (static_cast<std::uint32_t>(a[1])) {
    case TCGETS: return copied(kernel, file, TCGETS, a[2], kTermiosBytes);
    case TIOCGWINSZ: return copied(kernel, file, TIOCGWINSZ, a[2], sizeof(winsize));
    case FIONREAD: return copied(kernel, file, FIONREAD, a[2], sizeof(int));
  }
  return -ENOTTY;
}

std::int64_t call_pipe2(Kernel& kernel, const Arguments& a) {
  int ends[2];
  if (!kernel.memory.is_mapped(a[0], sizeof ends, kWrite)) return -EFAULT;
  if (::pipe2(ends, host_open_flags(a[1])) < 0) return -errno;
  const std::int64_t in = kernel.files.add(os::Fd(ends[0])), out = kernel.files.add(os::Fd(ends[1]));
  if (out < 0) {
    if (in >= 0) (void)kernel.files.close(in);
    return -EMFILE;
  }
  (void)kernel.memory.put(a[0], std::array<int, 2>{static_cast<int>(in), static_cast<int>(out)});  // checked above
  return 0;
}

std::int64_t call_getdents64(Kernel& kernel, const Arguments& a) {
  std::vector<std::byte> entries(std::min<std::uint64_t>(a[2], 1 << 16));
  if (!kernel.memory.is_mapped(a[1], entries.size(), kWrite)) return -EFAULT;
  const auto got = ::syscall(SYS_getdents64, kernel.files.host(a[0]), entries.data(), entries.size());
  if (got < 0) return -errno;
  return kernel.memory.write(a[1], entries.data(), static_cast<std::size_t>(got)) ? got : -EFAULT;
}

std::int64_t call_sendfile(Kernel& kernel, const Arguments& a) {
  const int to = kernel.files.host(a[0]), from = kernel.files.host(a[1]);
  if (to < 0 || from < 0) return -EBADF;
  if (a[2] == 0) return result_of(::sendfile(to, from, nullptr, a[3]));
  auto offset = kernel.memory.get<off_t>(a[2]);
  if (!offset || !kernel.memory.put(a[2], *offset)) return -EFAULT;
  const std::int64_t sent = result_of(::sendfile(to, from, &*offset, a[3]));
  (void)kernel.memory.put(a[2], *offset);
  return sent;
}

std::int64_t call_ppoll(Kernel& kernel, const Arguments& a) {
  if (a[1] > kPollMax) return -EINVAL;
  std::vector<pollfd> guest(a[1]);
  const std::size_t bytes = guest.size() * sizeof(pollfd);
  if (!kernel.memory.read(a[0], guest.data(), bytes) || !kernel.memory.is_mapped(a[0], bytes, kWrite)) return -EFAULT;
  std::vector<pollfd> host = guest;
  for (pollfd& file : host)
    if (file.fd >= 0) file.fd = kernel.files.host(file.fd);
  const auto limit = kernel.memory.get<timespec>(a[2]);
  if (a[2] != 0 && !limit) return -EFAULT;
  const int ready = ::ppoll(host.data(), host.size(), limit ? &*limit : nullptr, nullptr);
  if (ready < 0) return -errno;
  for (std::size_t i = 0; i < guest.size(); ++i) guest[i].revents = host[i].revents;
  return kernel.memory.write(a[0], guest.data(), bytes) ? ready : -EFAULT;
}

}  // namespace trident::emu
