#include "clients/emu/layouts.h"

#include <fcntl.h>

namespace trident::emu {
namespace {

struct Flag {
  std::uint64_t guest;
  int host;
};

/// Flags whose numbers may differ; all others are equal.
constexpr Flag kMoved[] = {{040000, O_DIRECTORY}, {0100000, O_NOFOLLOW}, {0200000, O_DIRECT}, {0400000, 0}};
constexpr std::uint64_t kMovedMask = 0740000;

}  // namespace

GuestStat guest_stat(const struct stat& host) {
  GuestStat guest{};
  guest.device = host.st_dev, guest.inode = host.st_ino;
  guest.mode = host.st_mode, guest.links = static_cast<std::uint32_t>(host.st_nlink);
  guest.user = host.st_uid, guest.group = host.st_gid;
  guest.special_device = host.st_rdev;
  guest.bytes = host.st_size, guest.blocks = host.st_blocks;
  guest.block_bytes = static_cast<std::int32_t>(host.st_blksize);
  guest.accessed_s = host.st_atim.tv_sec, guest.accessed_ns = host.st_atim.tv_nsec;
  guest.modified_s = host.st_mtim.tv_sec, guest.modified_ns = host.st_mtim.tv_nsec;
  guest.changed_s = host.st_ctim.tv_sec, guest.changed_ns = host.st_ctim.tv_nsec;
  return guest;
}

int host_open_flags(std::uint64_t guest) {
  int host = static_cast<int>(guest & ~kMovedMask);
  for (const Flag& flag : kMoved)
    if ((guest & flag.guest) != 0) host |= flag.host;
  return host;
}

std::uint64_t guest_open_flags(int host) {
  std::uint64_t guest = static_cast<std::uint64_t>(host) & ~kMovedMask;
  for (const Flag& flag : kMoved)
    if (flag.host != 0 && (host & flag.host) == flag.host) guest |= flag.guest;
  return guest;
}

}  // namespace trident::emu
