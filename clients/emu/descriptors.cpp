#include "clients/emu/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace trident::emu {
namespace {

constexpr std::uint64_t kFilesMax = 1024;

/// Reads a descriptor as Linux does: the upper half of the register does not count.
int number_of(std::uint64_t guest) {
  return static_cast<int>(guest);
}

}  // namespace

Descriptors::Descriptors() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    files_.emplace_back(::fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

int Descriptors::host(std::uint64_t guest) const {
  const int number = number_of(guest);
  return number >= 0 && static_cast<std::size_t>(number) < files_.size() ? files_[number].get() : -1;
}

int Descriptors::host_folder(std::uint64_t guest) const {
  return number_of(guest) == AT_FDCWD ? AT_FDCWD : host(guest);
}

std::int64_t Descriptors::add(os::Fd file, std::uint64_t least) {
  std::uint64_t number = least;
  while (number < files_.size() && files_[number].valid()) ++number;
  if (number >= kFilesMax) return -EMFILE;
  return set(number, std::move(file));
}

std::int64_t Descriptors::set(std::uint64_t guest, os::Fd file) {
  const int number = number_of(guest);
  if (number < 0 || static_cast<std::uint64_t>(number) >= kFilesMax) return -EBADF;
  if (static_cast<std::size_t>(number) >= files_.size()) files_.resize(number + 1);
  files_[number] = std::move(file);
  return number;
}

std::int64_t Descriptors::close(std::uint64_t guest) {
  if (host(guest) < 0) return -EBADF;
  files_[number_of(guest)].reset();
  return 0;
}

}  // namespace trident::emu
