// Structs and flags that AArch64 Linux lays out in its own way. errno values, signals, timespec, iovec, dirent64,
// termios, rlimit, statx and utsname are those of the host.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace trident::emu {

/// `struct stat` of AArch64.
struct GuestStat {
  std::uint64_t device, inode;
  std::uint32_t mode, links, user, group;
  std::uint64_t special_device, padding;
  std::int64_t bytes;
  std::int32_t block_bytes, padding2;
  std::int64_t blocks;
  std::int64_t accessed_s, accessed_ns, modified_s, modified_ns, changed_s, changed_ns;
  std::uint32_t unused[2];
};
static_assert(sizeof(GuestStat) == 128);

GuestStat guest_stat(const struct stat& host);

/// The kernel's `struct sigaction` of AArch64.
struct GuestAction {
  std::uint64_t handler, flags, restorer, mask;
};

/// Flags of openat() and F_SETFL, there and back.
int host_open_flags(std::uint64_t guest);
std::uint64_t guest_open_flags(int host);

}  // namespace trident::emu
