#include "runtime/os/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "runtime/base/float_environment.h"
#include "runtime/os/clock.h"

#ifndef PR_SET_MDWE  // Linux 6.3; Debian 12's headers are older
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

namespace trident::os {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
#error "the sandbox knows x86-64 and AArch64"
#endif

/// Exit status of a child whose sandbox could not be built. The body cannot exit with a status of its own.
constexpr int kNoSandbox = 97;

/// The stack that a body and the code under test may use: touched beforehand, because nothing grows in the sandbox.
constexpr std::size_t kStackBytes = 256 * 1024;

constexpr sock_filter jump_equal(std::uint32_t value, std::uint8_t if_equal, std::uint8_t otherwise) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, if_equal, otherwise);
}
constexpr sock_filter load_word(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
constexpr sock_filter answer(std::uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

// exit_group and clock_gettime; anything else, or another calling convention, kills the process. Numbers of the x32
// convention have bit 30 set and so match neither.
constexpr std::array<sock_filter, 8> kFilter = {
    load_word(offsetof(seccomp_data, arch)), jump_equal(kArch, 0, 4),
    load_word(offsetof(seccomp_data, nr)),   jump_equal(__NR_exit_group, 1, 0),
    jump_equal(__NR_clock_gettime, 0, 1),    answer(SECCOMP_RET_ALLOW),
    answer(SECCOMP_RET_KILL_PROCESS),        answer(SECCOMP_RET_KILL_PROCESS),
};

struct ChildPlan {
  void (*body)(void*);
  void* context;
  std::span<const std::span<std::byte>> read_only;
  pid_t parent;
  std::uint32_t cpu_seconds;
};

[[noreturn]] void leave(int status) {
  for (;;) ::syscall(__NR_exit_group, status);
}

// The handlers of the host program must not see the signals of the code under test.
void reset_signal_handlers() {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &by_default, nullptr);
}

[[gnu::noinline]] void touch_stack() {
  char stack[kStackBytes];
  for (std::size_t i = 0; i < kStackBytes; i += 1024) const_cast<volatile char*>(stack)[i] = 0;
}

bool limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  return ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both) == 0;
}

bool set_limits(std::uint32_t cpu_seconds) {
  return limit(RLIMIT_CPU, cpu_seconds) && limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NPROC, 0) &&
         limit(RLIMIT_NOFILE, 0) && limit(RLIMIT_AS, 0);
}

bool close_the_kernel() {
  const sock_fprog program{static_cast<unsigned short>(kFilter.size()), const_cast<sock_filter*>(kFilter.data())};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  ::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0,
          0);  // absent before Linux 6.3; the filter forbids mprotect anyway
  return ::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ||
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

[[noreturn]] void child_main(const ChildPlan& plan) {
  reset_signal_handlers();
  const StandardFloats floats;  // the host thread may have others
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || ::getppid() != plan.parent) leave(kNoSandbox);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  touch_stack();
  for (const auto& region : plan.read_only)
    if (::mprotect(region.data(), region.size(), PROT_READ) != 0) leave(kNoSandbox);
  if (!set_limits(plan.cpu_seconds) || !close_the_kernel()) leave(kNoSandbox);
  plan.body(plan.context);
  leave(0);
}

// fork() without SIGCHLD at the end and without the handlers that other libraries hang on fork(). `pidfd` receives a
// descriptor of the child. All signals are blocked around it, so that no handler of the host runs in the child.
pid_t fork_quietly(const ChildPlan& plan, int* pidfd) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return -1;
  // The order of the last two arguments differs between architectures; both are null.
  const long pid = ::syscall(__NR_clone, CLONE_PIDFD, nullptr, pidfd, nullptr, nullptr);
  if (pid == 0) child_main(plan);
  const int saved = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = saved;
  return static_cast<pid_t>(pid);
}

/// A child is looked at that often at least while it runs, to see how much CPU time it has used.
constexpr std::uint64_t kLookNs = 100'000'000;
/// And not more often than that, when it is nearly at its limit.
constexpr std::uint64_t kShortestLookNs = 1'000'000;

thread_local std::uint64_t t_children_cpu_ns = 0;

std::uint64_t clock_ns(clockid_t clock) {
  timespec t{};
  if (::clock_gettime(clock, &t) != 0) return 0;
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

// True when the child has ended within its limits.
bool wait_within(const SandboxLimits& limits, pid_t pid, const Fd& pidfd) {
  clockid_t cpu_clock{};
  const bool has_clock = ::clock_getcpuclockid(pid, &cpu_clock) == 0;
  const std::uint64_t end_ns = monotonic_ns() + limits.wall_ns;
  for (;;) {
    const std::uint64_t now_ns = monotonic_ns();
    const std::uint64_t used_ns = has_clock ? clock_ns(cpu_clock) : 0;
    if (now_ns >= end_ns || used_ns >= limits.cpu_ns) return false;
    // No sooner can the limit be met: one thread.
    std::uint64_t left_ns = std::min({end_ns - now_ns, std::max(limits.cpu_ns - used_ns, kShortestLookNs), kLookNs});
    const timespec left{static_cast<time_t>(left_ns / 1'000'000'000u), static_cast<long>(left_ns % 1'000'000'000u)};
    pollfd p{pidfd.get(), POLLIN, 0};
    const int ready = ::ppoll(&p, 1, &left, nullptr);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

std::uint64_t in_ns(const timeval& t) {
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_usec) * 1'000u;
}

}  // namespace

Result<SandboxEnd> run_sandboxed(const SandboxLimits& limits, void (*body)(void* context), void* context,
                                 std::span<const std::span<std::byte>> read_only) {
  const ChildPlan plan{body, context, read_only, ::getpid(), limits.cpu_seconds};
  int raw_pidfd = -1;
  const pid_t pid = fork_quietly(plan, &raw_pidfd);
  if (pid < 0) return make_error(ErrorCode::kOsError, "cannot fork a sandboxed child: %s", std::strerror(errno));
  const Fd pidfd(raw_pidfd);
  const bool in_time = wait_within(limits, pid, pidfd);
  if (!in_time) ::kill(pid, SIGKILL);  // not reaped yet, so the number cannot have been taken by another process
  int status = 0;
  rusage used{};
  while (::wait4(pid, &status, __WALL, &used) < 0)
    if (errno != EINTR) return make_error(ErrorCode::kOsError, "wait4: %s", std::strerror(errno));
  t_children_cpu_ns += in_ns(used.ru_utime) + in_ns(used.ru_stime);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return SandboxEnd{SandboxEnd::Kind::finished, 0};
  if (WIFEXITED(status)) return make_error(ErrorCode::kOsError, "the sandbox of a child could not be built");
  const int signal = WTERMSIG(status);
  const bool killed = signal == SIGKILL || signal == SIGXCPU;
  if (!in_time || killed) return SandboxEnd{SandboxEnd::Kind::timed_out, signal};
  return SandboxEnd{SandboxEnd::Kind::crashed, signal};
}

std::uint64_t thread_work_ns() {
  return thread_cpu_ns() + t_children_cpu_ns;
}

std::string describe(const SandboxEnd& end) {
  switch (end.kind) {
    case SandboxEnd::Kind::finished: return "finished";
    case SandboxEnd::Kind::timed_out: return "timed out";
    case SandboxEnd::Kind::crashed: {
      const char* name = ::sigabbrev_np(end.signal);
      return std::string("crashed (SIG") + (name != nullptr ? name : "?") + ")";
    }
  }
  CHECK(false);
}

}  // namespace trident::os
