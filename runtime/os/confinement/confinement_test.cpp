// Checks what a confined process can and cannot do. The oracle is the kernel: each test tries the thing itself in a
// child, which reports the system's answer.
#include "runtime/os/confinement/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "runtime/os/memfd.h"
#include "runtime/os/process.h"
#include "runtime/os/sandbox.h"

namespace trident::os {
namespace {

/// The exit status of a child that is confined and then does this; beyond 255 a signal.
int confined(const std::function<int()>& body, const std::string& folder = "") {
  auto child = Process::fork_child([&](int) {
    confine(folder);
    return body();
  });
  if (!child.ok()) return -1;
  const auto exit = child->wait(20'000);
  if (!exit.ok()) return -2;
  return exit->signal != 0 ? 256 + exit->signal : exit->status;
}

/// The error of a call that must fail, 0 when it does not.
int error_of(long result) {
  return result < 0 ? errno : 0;
}

class Confinement : public ::testing::Test {
 protected:
  void SetUp() override {
    const Confined found = try_confinement();
    if (!found.system_calls) GTEST_SKIP() << found.missing;
  }
};

#define EXPECT_REFUSED(call) EXPECT_EQ(confined([&] { return error_of(call); }), EPERM) << #call

TEST_F(Confinement, NoFileCanBeOpenedOrChanged) {
  for (const char* path : {"/etc/passwd", "/proc/self/status", "/proc/self/mem", "/proc/1/status", "/dev/null", "/"}) {
    EXPECT_REFUSED(::open(path, O_RDONLY));
    EXPECT_REFUSED(::syscall(SYS_openat, AT_FDCWD, path, O_PATH));
    EXPECT_REFUSED(::syscall(SYS_openat2, AT_FDCWD, path, nullptr, 0));
  }
  EXPECT_REFUSED(::creat("/tmp/trident-confined", 0600));
  EXPECT_REFUSED(::mkdir("/tmp/trident-confined", 0700));
  EXPECT_REFUSED(::unlink("/tmp/trident-confined"));
  EXPECT_REFUSED(::rename("/tmp/trident-confined", "/tmp/trident-confined-too"));
  EXPECT_REFUSED(::symlink("/etc/passwd", "/tmp/trident-confined"));
  EXPECT_REFUSED(::chdir("/"));
  EXPECT_REFUSED(::syscall(SYS_io_uring_setup, 1, nullptr));
  EXPECT_REFUSED(::syscall(SYS_mount, "", "", "", 0, nullptr));
  EXPECT_REFUSED(::syscall(SYS_inotify_init1, 0));
}

TEST_F(Confinement, NobodyElseCanBeReached) {
  const pid_t other = ::getpid();
  iovec mine{}, theirs{};
  EXPECT_REFUSED(::kill(other, 0));
  EXPECT_REFUSED(::kill(0, SIGTERM));
  EXPECT_REFUSED(::syscall(SYS_tgkill, other, other, 0));
  EXPECT_REFUSED(::syscall(SYS_tkill, other, 0));
  EXPECT_REFUSED(::syscall(SYS_rt_sigqueueinfo, other, SIGTERM, nullptr));
  EXPECT_REFUSED(::syscall(SYS_pidfd_open, other, 0));
  EXPECT_REFUSED(::syscall(SYS_pidfd_getfd, 0, 0, 0));
  EXPECT_REFUSED(::ptrace(PTRACE_ATTACH, other, nullptr, nullptr));
  EXPECT_REFUSED(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
  EXPECT_REFUSED(::process_vm_readv(other, &mine, 1, &theirs, 1, 0));
  EXPECT_REFUSED(::process_vm_writev(other, &mine, 1, &theirs, 1, 0));
  EXPECT_REFUSED(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_REFUSED(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_REFUSED(::syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, nullptr));
  EXPECT_REFUSED(::syscall(SYS_execve, "/bin/true", nullptr, nullptr));
  EXPECT_REFUSED(::syscall(SYS_execveat, 0, "", nullptr, nullptr, AT_EMPTY_PATH));
  EXPECT_REFUSED(::syscall(SYS_clone, 0x10000000 | SIGCHLD, nullptr, nullptr, nullptr, nullptr));  // CLONE_NEWUSER
  EXPECT_REFUSED(::syscall(SYS_unshare, 0x10000000));
  EXPECT_REFUSED(::syscall(SYS_prlimit64, other, RLIMIT_NOFILE, nullptr, nullptr));
  EXPECT_REFUSED(::syscall(SYS_setpriority, PRIO_USER, 0, 19));
  EXPECT_REFUSED(::syscall(SYS_bpf, 0, nullptr, 0));
  EXPECT_REFUSED(::syscall(SYS_perf_event_open, nullptr, 0, 0, 0, 0));
  EXPECT_REFUSED(::syscall(SYS_userfaultfd, 0));
  EXPECT_REFUSED(::syscall(SYS_keyctl, 0, 0));
  EXPECT_REFUSED(::syscall(SYS_shmget, 0, 0, 0));
  EXPECT_REFUSED(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
  // The descriptors that are open: neither leases nor signals to others by them.
  EXPECT_REFUSED(::fcntl(0, F_SETOWN, other));
  EXPECT_REFUSED(::fcntl(0, F_SETLEASE, F_RDLCK));
  EXPECT_REFUSED(::syscall(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, ""));
}

TEST_F(Confinement, ChildrenAreConfinedToo) {
  EXPECT_EQ(confined([] {
              const pid_t child = ::fork();
              if (child == 0) ::_exit(error_of(::open("/etc/passwd", O_RDONLY)));
              int status = 0;
              ::waitpid(child, &status, 0);
              return WEXITSTATUS(status);
            }),
            EPERM);
}

TEST_F(Confinement, NobodyOfTheSameUserLooksIn) {
  EXPECT_EQ(confined([] { return ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == -1 && errno == EPERM ? 0 : 1; }), 0);
  auto child = Process::fork_child([](int) {
    if (::setresuid(65534, 65534, 65534) != 0) return 77;
    confine();
    ::raise(SIGSTOP);
    return 0;
  });
  ASSERT_TRUE(child.ok());
  if (::geteuid() != 0) GTEST_SKIP() << "another process of another user takes root";
  // Its parent is root here, so a second process of its user looks.
  auto looker = Process::fork_child([pid = child->pid()](int) {
    ::usleep(200'000);
    if (::setresuid(65534, 65534, 65534) != 0) return 77;
    const bool read = ::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY) >= 0;
    return read || ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 ? 1 : 0;
  });
  ASSERT_TRUE(looker.ok());
  const auto exit = looker->wait(20'000);
  ASSERT_TRUE(exit.ok());
  EXPECT_EQ(exit->status, 0);
}

TEST_F(Confinement, ComputingGoesOn) {
  EXPECT_EQ(confined([] {
              std::string text;
              std::thread([&] { text.assign(1 << 20, 'x'); }).join();
              return text.size() == 1 << 20 ? 0 : 1;
            }),
            0);
  EXPECT_EQ(confined([] {
              const auto code = map_code(std::as_bytes(std::span("\xC3", 1)));
              return code.ok() ? 0 : 1;
            }),
            0);
  EXPECT_EQ(confined([] {
              ::abort();
              return 0;
            }),
            256 + SIGABRT);
}

TEST_F(Confinement, SandboxedChildrenGoOn) {
  EXPECT_EQ(confined([] {
              const auto end = run_sandboxed(
                  {}, [](void*) {}, nullptr);
              return end.ok() && end->kind == SandboxEnd::Kind::finished ? 0 : 1;
            }),
            0);
  // One that hangs is killed, though nobody else can be.
  EXPECT_EQ(confined([] {
              const auto end = run_sandboxed(
                  {.cpu_ns = 30'000'000},
                  [](void*) {
                    volatile bool forever = true;
                    while (forever) asm volatile("");
                  },
                  nullptr);
              return end.ok() && end->kind == SandboxEnd::Kind::timed_out ? 0 : 1;
            }),
            0);
}

TEST_F(Confinement, OneFolderCanBeKept) {
  if (!try_confinement().files) GTEST_SKIP() << "no Landlock";
  char pattern[] = "/dev/shm/trident-confined-XXXXXX";
  const std::string folder = std::string(::mkdtemp(pattern)) + "/kept", beside = folder + "-not";
  std::ofstream(beside) << "secret";
  EXPECT_EQ(confined(
                [&] {
                  std::ofstream(folder + "/a") << "text";
                  std::filesystem::create_directory(folder + "/deeper");
                  std::filesystem::rename(folder + "/a", folder + "/deeper/b");
                  std::ifstream in(folder + "/deeper/b");
                  std::string text;
                  return in >> text && text == "text" ? 0 : 1;
                },
                folder),
            0);
  const auto refused = [&](const std::function<long()>& call) {
    return confined([&] { return error_of(call()); }, folder);
  };
  EXPECT_EQ(refused([&] { return ::open(beside.c_str(), O_RDONLY); }), EACCES);
  EXPECT_EQ(refused([&] { return ::open((folder + "/../kept-not").c_str(), O_RDONLY); }), EACCES);
  EXPECT_EQ(refused([] { return ::open("/proc/self/status", O_RDONLY); }), EACCES);
  EXPECT_EQ(refused([&] { return ::rename((folder + "/deeper/b").c_str(), (beside + "-too").c_str()); }), EACCES);
  EXPECT_EQ(refused([&] { return ::unlink(beside.c_str()); }), EACCES);
  EXPECT_EQ(refused([&] { return ::symlink("/etc/passwd", (folder + "/link").c_str()); }), EPERM);
  EXPECT_EQ(refused([] { return ::kill(::getppid(), 0); }), EPERM);
  std::filesystem::remove_all(pattern);
}

TEST(Confined, SaysWhatIsMissing) {
  const Confined found = try_confinement();
  EXPECT_EQ(found.missing.empty(), found.system_calls && found.files);
  EXPECT_EQ((Confined{.system_calls = true, .files = true, .missing = ""}).describe(), "system calls and files");
  EXPECT_EQ(Confined{}.describe(), "nothing");
  EXPECT_FALSE((Confined{.system_calls = true, .files = false, .missing = "x"}).has_folder());
}

}  // namespace
}  // namespace trident::os
