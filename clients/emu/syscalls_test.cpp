// Oracle: Linux' rules for bad pointers and descriptors, and the host's own files and calls.
#include "clients/emu/syscalls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tests/support/random.h"

namespace trident::emu {
namespace {

constexpr std::uint64_t kGood = 0x100'0000, kBad = 0x900'0000;
/// A buffer that begins in mapped memory and ends behind it.
constexpr std::uint64_t kEdge = kGood + 4 * kPageBytes - 4;
constexpr std::uint64_t kHere = static_cast<std::uint64_t>(AT_FDCWD);

enum Number : std::uint64_t {
#define X(number, name) k_##name = number,
#include "clients/emu/syscalls.def"
#undef X
};

class Syscalls : public ::testing::Test {
 protected:
  Syscalls()
      : memory({[](const Area&) { return true; }, [](std::uint64_t, std::uint64_t) {}}),
        kernel(memory, "/guest/program") {
    EXPECT_TRUE(memory.map(kGood, 4 * kPageBytes, kRead | kWrite));
    EXPECT_TRUE(memory.reserve_heap(0x200'0000));
  }
  std::int64_t call(std::uint64_t number, Arguments arguments) { return answer(kernel, {number, arguments}); }
  std::uint64_t place(const std::string& text, std::uint64_t at = kGood) {
    memory.fill(at, text.c_str(), text.size() + 1);
    return at;
  }

  GuestMemory memory;
  Kernel kernel;
};

TEST_F(Syscalls, BadPointersGiveEfault) {
  const std::uint64_t name = place(".");
  const auto folder = static_cast<std::uint64_t>(call(k_openat, {kHere, name, 0}));
  ASSERT_LT(folder, 100u);
  memory.put(kGood + 512, std::array<std::uint64_t, 2>{kBad, 8});
  const std::pair<Number, Arguments> calls[] = {
      {k_read, {folder, kBad, 8}},
      {k_read, {folder, kEdge, 8}},
      {k_write, {1, kBad, 8}},
      {k_write, {1, kEdge, 8}},
      {k_readv, {0, kBad, 1}},
      {k_readv, {0, kGood + 512, 1}},
      {k_writev, {1, kEdge, 1}},
      {k_writev, {1, kGood + 512, 1}},
      {k_pread64, {0, kBad, 8, 0}},
      {k_pwrite64, {1, kBad, 8, 0}},
      {k_openat, {kHere, kBad, 0}},
      {k_fstat, {folder, kBad}},
      {k_fstat, {folder, kEdge}},
      {k_newfstatat, {kHere, kBad, kGood}},
      {k_newfstatat, {kHere, name, kBad}},
      {k_newfstatat, {kHere, name, kEdge}},
      {k_getcwd, {kBad, 4096}},
      {k_getdents64, {folder, kBad, 4096}},
      {k_readlinkat, {kHere, kBad, kGood, 8}},
      {k_faccessat, {kHere, kBad, 0}},
      {k_unlinkat, {kHere, kBad, 0}},
      {k_mkdirat, {kHere, kBad, 0700}},
      {k_renameat, {kHere, kBad, kHere, name}},
      {k_renameat, {kHere, name, kHere, kBad}},
      {k_linkat, {kHere, name, kHere, kBad}},
      {k_chdir, {kBad}},
      {k_utimensat, {kHere, kBad, 0, 0}},
      {k_utimensat, {kHere, name, kBad, 0}},
      {k_pipe2, {kBad, 0}},
      {k_pipe2, {kEdge, 0}},
      {k_ppoll, {kBad, 1, 0}},
      {k_ppoll, {kGood, 1, kBad}},
      {k_clock_gettime, {0, kBad}},
      {k_clock_gettime, {0, kEdge}},
      {k_gettimeofday, {kBad, 0}},
      {k_nanosleep, {kBad, 0}},
      {k_clock_nanosleep, {0, 0, kBad, 0}},
      {k_uname, {kBad}},
      {k_uname, {kEdge}},
      {k_getrandom, {kBad, 8, 0}},
      {k_getrandom, {kEdge, 8, 0}},
      {k_prlimit64, {0, 7, 0, kBad}},
      {k_rt_sigaction, {2, kBad, 0, 8}},
      {k_rt_sigaction, {2, 0, kBad, 8}},
      {k_rt_sigprocmask, {0, kBad, 0, 8}},
      {k_rt_sigprocmask, {0, 0, kBad, 8}},
      {k_sendfile, {1, folder, kBad, 8}},
      {k_fcntl, {folder, F_GETLK, kBad}},
      {k_fchmodat, {kHere, kBad, 0700}},
      {k_fchownat, {kHere, kBad, 0, 0, 0}},
  };
  for (const auto& [number, arguments] : calls) EXPECT_EQ(call(number, arguments), -EFAULT) << number;
  EXPECT_EQ(call(k_openat, {kHere, ~std::uint64_t{0}, 0}), -EFAULT);
}

TEST_F(Syscalls, UnknownDescriptorsGiveEbadf) {
  for (const Number number : {k_read, k_write, k_readv, k_writev, k_close, k_lseek, k_fstat, k_fcntl, k_ioctl, k_dup,
                              k_getdents64, k_fsync, k_ftruncate, k_fchmod, k_fchown, k_fchdir, k_sendfile})
    for (const std::uint64_t file : {std::uint64_t{77}, std::uint64_t{5000}, ~std::uint64_t{0}})
      EXPECT_EQ(call(number, {file, kGood, 8}), -EBADF) << number << " " << file;
}

/// Arguments that name no open file, and no path but the empty one: the host's files must stay as they are.
constexpr std::uint64_t kDrawn[] = {3,          4,
                                    77,         4096,
                                    kGood,      kEdge,
                                    kBad,       kGood + 4096,
                                    1u << 31,   ~0ULL,
                                    ~4095ULL,   kAddressEnd + 77,
                                    kEdge - 77, kAddressEnd - 4096};
/// Calls that would wait for ever, open a file, or change what a path names.
constexpr Number kLeftOut[] = {k_ppoll,     k_pipe2,  k_nanosleep, k_clock_nanosleep, k_openat,   k_mkdirat,
                               k_unlinkat,  k_linkat, k_renameat,  k_renameat2,       k_fchmodat, k_fchownat,
                               k_utimensat, k_chdir};

TEST_F(Syscalls, RandomArgumentsHurtNobody) {
  testing::Random random(3);
  std::vector<Number> numbers = {
#define X(number, name) k_##name,
#include "clients/emu/syscalls.def"
#undef X
  };
  for (const Number number : kLeftOut) std::erase(numbers, number);
  const std::vector<std::byte> zeros(4 * kPageBytes);
  const mode_t mask = ::umask(022);
  for (int i = 0; i < 100'000; ++i) {
    const Number number = numbers[random.next() % numbers.size()];
    Arguments arguments;
    for (std::uint64_t& a : arguments) a = kDrawn[random.next() % std::size(kDrawn)];
    EXPECT_GE(call(number, arguments), -4095) << number;
    memory.unmap(0, kAddressEnd);
    ASSERT_TRUE(memory.map(kGood, 4 * kPageBytes, kRead | kWrite));  // zero again: every path is empty
  }
  ::umask(mask);
}

TEST_F(Syscalls, StatsAsTheHostDoes) {
  struct stat host;
  ASSERT_EQ(::stat("README.md", &host), 0);
  ASSERT_EQ(call(k_newfstatat, {kHere, place("README.md"), kGood + 4096, 0}), 0);
  const auto guest = memory.get<GuestStat>(kGood + 4096);
  ASSERT_TRUE(guest);
  EXPECT_EQ(guest->inode, host.st_ino);
  EXPECT_EQ(guest->mode, host.st_mode);
  EXPECT_EQ(guest->links, host.st_nlink);
  EXPECT_EQ(guest->bytes, host.st_size);
  EXPECT_EQ(guest->blocks, host.st_blocks);
  EXPECT_EQ(guest->modified_s, host.st_mtim.tv_sec);
  EXPECT_EQ(guest->modified_ns, host.st_mtim.tv_nsec);
}

// asm/fcntl.h of AArch64: O_DIRECTORY 040000, O_NOFOLLOW 0100000, O_DIRECT 0200000.
TEST_F(Syscalls, OpensWithTheGuestsFlags) {
  constexpr std::uint64_t kDirectory = 040000, kNoFollow = 0100000, kMoved = 0740000;
  EXPECT_EQ(call(k_openat, {kHere, place("README.md"), kDirectory}), -ENOTDIR);
  EXPECT_EQ(call(k_openat, {kHere, place("/proc/self/cwd"), kNoFollow}), -ELOOP);
  EXPECT_EQ(call(k_openat, {kHere, place("."), kDirectory}), 3);
  EXPECT_EQ(call(k_fcntl, {3, F_GETFL}) & kMoved, kDirectory);
}

TEST_F(Syscalls, DescriptorsAreTheGuestsOwn) {
  const std::uint64_t name = place("README.md");
  EXPECT_EQ(call(k_openat, {kHere, name, 0}), 3);
  EXPECT_EQ(call(k_dup, {3}), 4);
  EXPECT_EQ(call(k_close, {3}), 0);
  EXPECT_EQ(call(k_fcntl, {4, F_DUPFD, 10}), 10);
  EXPECT_EQ(call(k_dup, {4}), 3);
  EXPECT_EQ(call(k_dup3, {4, 4, 0}), -EINVAL);
  EXPECT_EQ(call(k_dup3, {4, 20, 0}), 20);
  EXPECT_EQ(call(k_dup3, {4, 5000, 0}), -EBADF);
  EXPECT_EQ(call(k_close, {0}), 0);
  EXPECT_EQ(call(k_openat, {kHere, name, 0}), 0);
  EXPECT_GE(::fcntl(STDIN_FILENO, F_GETFD), 0);  // the host's own stays
  for (int i = 0; i < 2000; ++i) call(k_dup, {4});
  EXPECT_EQ(call(k_dup, {4}), -EMFILE);
}

TEST_F(Syscalls, KnowsItsProgram) {
  EXPECT_EQ(call(k_readlinkat, {kHere, place("/proc/self/exe"), kGood + 4096, 100}), 14);
  EXPECT_EQ(memory.text(kGood + 4096, 14), "/guest/program");
  EXPECT_EQ(call(k_readlinkat, {kHere, place("/proc/self/exe"), kGood + 4096, 6}), 6);
}

TEST_F(Syscalls, RecordsSignals) {
  const GuestAction action{kBad, 1, 2, 3};
  memory.put(kGood, action);
  EXPECT_EQ(call(k_rt_sigaction, {SIGTERM, kGood, 0, 8}), 0);
  EXPECT_EQ(call(k_rt_sigaction, {SIGTERM, 0, kGood + 64, 8}), 0);
  EXPECT_EQ(memory.get<GuestAction>(kGood + 64)->handler, kBad);
  EXPECT_EQ(call(k_rt_sigaction, {SIGKILL, kGood, 0, 8}), -EINVAL);
  EXPECT_EQ(call(k_rt_sigaction, {SIGTERM, kGood, 0, 16}), -EINVAL);
  EXPECT_EQ(call(k_kill, {static_cast<std::uint64_t>(::getpid()), SIGCHLD}), 0);
  EXPECT_FALSE(kernel.ending);
  EXPECT_EQ(call(k_kill, {1, SIGTERM}), -EPERM);
  EXPECT_EQ(call(k_kill, {static_cast<std::uint64_t>(::getpid()), SIGABRT}), 0);
  EXPECT_EQ(kernel.ending->signal, SIGABRT);
}

TEST_F(Syscalls, MapsFilesAndMemory) {
  std::FILE* const file = std::fopen("README.md", "rb");
  char text[64] = {};
  ASSERT_EQ(std::fread(text, 1, 63, file), 63u);
  std::fclose(file);
  EXPECT_EQ(call(k_openat, {kHere, place("README.md"), 0}), 3);
  const std::int64_t mapped = call(k_mmap, {0, 10'000, 1, 2, 3, 0});
  ASSERT_GT(mapped, 0);
  EXPECT_EQ(memory.text(mapped, 63), text);
  EXPECT_EQ(call(k_mmap, {0, 4096, 3, 1, 3, 0}), -ENODEV);  // shared and writable
  EXPECT_EQ(call(k_mmap, {0, 4096, 3, 2, 77, 0}), -EBADF);
  EXPECT_EQ(call(k_mmap, {0, 4096, 3, 2, 3, 5}), -EINVAL);
  EXPECT_EQ(call(k_mmap, {kGood, 4096, 3, 0x10'0022, ~0ULL, 0}), -EEXIST);  // MAP_FIXED_NOREPLACE
  EXPECT_EQ(call(k_munmap, {static_cast<std::uint64_t>(mapped), 10'000}), 0);
  EXPECT_FALSE(memory.text(mapped, 1));
  const std::int64_t small = call(k_mmap, {0, 4096, 3, 0x22, ~0ULL, 0});
  memory.put(small, std::uint64_t{42});
  const std::int64_t large = call(k_mremap, {static_cast<std::uint64_t>(small), 4096, 1 << 20, 1});
  ASSERT_GT(large, 0);
  EXPECT_EQ(memory.get<std::uint64_t>(large), 42u);
  EXPECT_EQ(call(k_madvise, {static_cast<std::uint64_t>(large), 4096, 4}), 0);
  EXPECT_EQ(memory.get<std::uint64_t>(large), 0u);
}

TEST_F(Syscalls, MapsOnlyWhatIsEitherPrivateOrShared) {
  EXPECT_EQ(call(k_openat, {kHere, place("README.md"), 0}), 3);
  for (const std::uint64_t file : {std::uint64_t{3}, ~std::uint64_t{0}}) {
    for (std::uint64_t type = 0; type <= MAP_SHARED_VALIDATE; ++type) {
      const std::uint64_t anonymous = file == 3 ? 0 : MAP_ANONYMOUS;
      void* const host = ::mmap(nullptr, 4096, PROT_READ, static_cast<int>(type | anonymous), file == 3 ? 0 : -1, 0);
      const bool is_wrong = host == MAP_FAILED && errno == EINVAL;
      if (host != MAP_FAILED) ::munmap(host, 4096);
      EXPECT_EQ(call(k_mmap, {0, 4096, 1, type | anonymous, file, 0}) == -EINVAL, is_wrong) << type << ' ' << file;
    }
  }
}

/// Three ranges of the guest and of the host, the same bytes but for one that nothing is mapped at.
struct Ranges {
  std::array<iovec, 3> host{};
  std::array<std::uint64_t, 6> guest{};

  Ranges(char* text, const std::array<std::size_t, 3>& lengths, std::size_t bad) {
    for (std::size_t i = 0; i < 3; ++i) {
      host[i] = {i == bad ? reinterpret_cast<char*>(8) : text + i, lengths[i]};
      guest[2 * i] = i == bad ? kBad : kGood + 512 + i;
      guest[2 * i + 1] = lengths[i];
    }
  }
};

// Oracle: the host's own calls on a file.
TEST_F(Syscalls, WhatStandsBeforeABadRangeIsMoved) {
  const std::string name = ::testing::TempDir() + "ranges." + std::to_string(::getpid());
  const int host = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(host, 0);
  const auto guest = static_cast<std::uint64_t>(call(k_openat, {kHere, place(name), O_RDWR, 0}));
  ::unlink(name.c_str());
  char text[] = "abcdefghijklmnopq";
  place(text, kGood + 512);
  ASSERT_EQ(::pwrite(host, text, sizeof text, 0), call(k_pwrite64, {guest, kGood + 512, sizeof text, 0}));
  const auto expect_same = [&](std::uint64_t number, ssize_t right, std::uint64_t count) {
    const std::int64_t wanted = right < 0 ? -errno : right;
    EXPECT_EQ(call(number, {guest, kGood + 64, count}), wanted) << number;
  };
  for (const std::array<std::size_t, 3>& lengths :
       {std::array<std::size_t, 3>{3, 2, 1}, {3, 0, 1}, {0, 2, 1}, {0, 0, 1}, {3, 2, 0}, {3, ~std::size_t{0}, 1}}) {
    for (const std::size_t bad : {0u, 1u, 2u, 3u}) {
      const Ranges ranges(text, lengths, bad);
      ASSERT_TRUE(memory.put(kGood + 64, ranges.guest));
      expect_same(k_writev, ::writev(host, ranges.host.data(), 3), 3);
      ::lseek(host, 0, SEEK_SET), call(k_lseek, {guest, 0, SEEK_SET});
      expect_same(k_readv, ::readv(host, ranges.host.data(), 3), 3);
      ::lseek(host, 0, SEEK_SET), call(k_lseek, {guest, 0, SEEK_SET});
    }
  }
  EXPECT_EQ(memory.text(kGood + 512, sizeof text), text);
  ::close(host);
}

TEST_F(Syscalls, CountsWhatItDoesNotKnow) {
  EXPECT_EQ(call(220, {}), -ENOSYS);  // clone
  EXPECT_EQ(call(220, {}), -ENOSYS);
  EXPECT_EQ(call(~std::uint64_t{0}, {}), -ENOSYS);
  EXPECT_EQ(kernel.unknown.at(220), 2u);
}

}  // namespace
}  // namespace trident::emu
