#include "runtime/os/sandboxed_child.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
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
#error "the sandbox supports x86-64 and AArch64 only"
#endif

/// Exit status of a child whose sandbox could not be built. The body cannot exit with a status of its own.
constexpr int kNoSandbox = 97;

/// The stack that a body and the code under test may use. It is the child's own, so that neither RLIMIT_STACK nor how
/// deep the caller is has a say; pages are taken when they are touched.
constexpr std::size_t kStackBytes = 1024 * 1024;

constexpr sock_filter jump_equal(std::uint32_t value, std::uint8_t if_equal, std::uint8_t otherwise) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, if_equal, otherwise);
}
constexpr sock_filter load_word(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
constexpr sock_filter answer(std::uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

// exit_group and clock_gettime, and futex() on the word of a plan, to wait and to wake; anything else, or another
// calling convention, kills the process. Numbers of the x32 convention have bit 30 set and so match none.
std::array<sock_filter, 14> filter_for(const std::atomic<std::uint32_t>* word) {
  const auto address = reinterpret_cast<std::uint64_t>(word);
  const auto argument = [](int number) { return offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(number); };
  static_assert(std::endian::native == std::endian::little, "the low half of an argument comes first");
  return {
      load_word(offsetof(seccomp_data, arch)),
      jump_equal(kArch, 0, 11),
      load_word(offsetof(seccomp_data, nr)),
      jump_equal(__NR_exit_group, 8, 0),
      jump_equal(__NR_clock_gettime, 7, 0),
      jump_equal(__NR_futex, 0, 7),
      load_word(argument(1)),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, FUTEX_WAKE, 5, 0),  // FUTEX_WAIT is 0, FUTEX_WAKE 1
      load_word(argument(0)),
      jump_equal(static_cast<std::uint32_t>(address), 0, 3),
      load_word(argument(0) + 4),
      jump_equal(static_cast<std::uint32_t>(address >> 32), 0, 1),
      answer(SECCOMP_RET_ALLOW),
      answer(SECCOMP_RET_KILL_PROCESS),
  };
}

// Not [[noreturn]]: before a call that is, AddressSanitizer makes system calls, which the sandbox forbids.
void leave(int status) {
  for (;;) ::syscall(__NR_exit_group, status);
}

/// Signals that a fault of the code under test gives it, blocked or not.
constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

// The handlers of the host program must not see the signals of the code under test. All other signals are blocked in
// the child (fork_quietly) and stay so, because the filter forbids sigprocmask: their handlers need no call each.
void reset_fault_handlers() {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (const int signal : kFaults) ::sigaction(signal, &by_default, nullptr);
}

bool limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  return ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both) == 0;
}

bool set_limits(std::uint32_t cpu_seconds) {
  return limit(RLIMIT_CPU, cpu_seconds) && limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NPROC, 0) &&
         limit(RLIMIT_NOFILE, 0) && limit(RLIMIT_AS, 0);
}

bool close_the_kernel(const std::atomic<std::uint32_t>* word) {
  auto filter = filter_for(word);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  ::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0,
          0);  // absent before Linux 6.3; the filter forbids mprotect anyway
  return ::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ||
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// Not inlined, so that the frame of child_main stays small: between the frame of the code under test and the page above
// the stack lie few bytes that it could read in vain.
[[gnu::noinline]] bool enter_sandbox(const ChildPlan& plan) {
  reset_fault_handlers();
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || ::getppid() != plan.parent) return false;
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::syscall(SYS_close_range, 0, ~0u, 0);  // Linux 5.9; without it the filter still forbids their use
  for (const auto& region : plan.read_only)
    if (::mprotect(region.data(), region.size(), PROT_READ) != 0) return false;
  return set_limits(plan.cpu_seconds) && close_the_kernel(plan.word);
}

int child_main(void* opaque) {
  const auto& plan = *static_cast<const ChildPlan*>(opaque);
  if (!enter_sandbox(plan)) leave(kNoSandbox);
  const StandardFloats floats;  // the host thread may have others
  if (plan.wait != nullptr) plan.wait(plan.opaque);
  *plan.body_began = true;
  plan.body(plan.context);
  if (plan.done != nullptr) plan.done(plan.opaque);
  leave(0);
  return 0;
}

/// A child is looked at that often at least while it runs, to see how much CPU time it has used.
constexpr std::uint64_t kLookNs = 100'000'000;
/// And not more often than that, when it is nearly at its limit.
constexpr std::uint64_t kShortestLookNs = 1'000'000;

std::uint64_t clock_ns(clockid_t clock) {
  timespec t{};
  if (::clock_gettime(clock, &t) != 0) return 0;
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

enum class Watched : std::uint8_t { ended, used_its_time, got_no_time };

Watched watch(const SandboxLimits& limits, const ChildProcess& child) {
  clockid_t cpu_clock{};
  const bool has_clock = ::clock_getcpuclockid(child.pid, &cpu_clock) == 0;
  const std::uint64_t end_ns = monotonic_ns() + limits.wall_ns;
  for (;;) {
    const std::uint64_t now_ns = monotonic_ns();
    const std::uint64_t used_ns = has_clock ? clock_ns(cpu_clock) : 0;
    if (used_ns >= limits.cpu_ns) return Watched::used_its_time;
    if (now_ns >= end_ns) return Watched::got_no_time;
    // No sooner can the limit be met: one thread.
    std::uint64_t left_ns = std::min({end_ns - now_ns, std::max(limits.cpu_ns - used_ns, kShortestLookNs), kLookNs});
    const timespec left{static_cast<time_t>(left_ns / 1'000'000'000u), static_cast<long>(left_ns % 1'000'000'000u)};
    pollfd p{child.pidfd.get(), POLLIN, 0};
    const int ready = ::ppoll(&p, 1, &left, nullptr);
    if (ready > 0) return Watched::ended;
    if (ready < 0 && errno != EINTR) return Watched::got_no_time;
  }
}

std::uint64_t in_ns(const timeval& t) {
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_usec) * 1'000u;
}

/// How a child ended whose body had begun.
Result<SandboxEnd> end_of_body(const SandboxLimits& limits, Watched watched, int signal, std::uint64_t used_ns) {
  // The kernel's backstop is a SIGKILL as well, and accounts in ticks.
  constexpr std::uint64_t kTickNs = 10'000'000;
  const bool killed = signal == SIGKILL || signal == SIGXCPU;
  const std::uint64_t limit_ns = std::min(limits.cpu_ns, limits.cpu_seconds * std::uint64_t{1'000'000'000});
  if (watched == Watched::used_its_time || (killed && used_ns + kTickNs >= limit_ns))
    return SandboxEnd{SandboxEnd::Kind::timed_out, signal};
  if (watched == Watched::got_no_time)
    return make_error(ErrorCode::kOsError,
                      "a sandboxed child got %.3f s of processor time in %.3f s: the machine is busy",
                      static_cast<double>(used_ns) / 1e9, static_cast<double>(limits.wall_ns) / 1e9);
  if (killed)
    return make_error(ErrorCode::kOsError, "a sandboxed child was killed by another process or for lack of memory");
  return SandboxEnd{SandboxEnd::Kind::crashed, signal};
}

}  // namespace

// Above the stack the system might place any other mapping, or none: code that reads above its frame would crash in one
// process and not in another.
Result<ChildStack> ChildStack::make() {
  const std::size_t page = page_bytes();
  TRY(Mapping whole, map_private(page + kStackBytes + page));
  for (const std::size_t guard : {std::size_t{0}, page + kStackBytes})
    if (::mprotect(whole.bytes().data() + guard, page, PROT_NONE) != 0)
      return make_error(ErrorCode::kOsError, "cannot protect a guard page of a stack: %s", std::strerror(errno));
  return ChildStack(std::move(whole));
}

std::byte* ChildStack::top() const {
  return whole_.bytes().data() + page_bytes() + kStackBytes;
}

Result<ChildProcess> fork_quietly(int (*main)(void*), void* opaque, const ChildStack& stack) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int pidfd = -1;
  const pid_t pid = ::clone(main, stack.top(), CLONE_PIDFD, opaque, &pidfd);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return make_error(ErrorCode::kOsError, "cannot fork a sandboxed child: %s", std::strerror(error));
  return ChildProcess{pid, Fd(pidfd)};
}

Result<ChildProcess> fork_sandboxed(ChildPlan& plan, const ChildStack& stack) {
  return fork_quietly(child_main, &plan, stack);
}

// By the descriptor first: a confined process (confinement.h) may signal nothing else.
void kill_child(const ChildProcess& child) {
  if (::syscall(SYS_pidfd_send_signal, child.pidfd.get(), SIGKILL, nullptr, 0) != 0) ::kill(child.pid, SIGKILL);
}

ChildEnd wait_for_end(const ChildProcess& child, const SandboxLimits& limits, const volatile bool& body_began) {
  const Watched watched = watch(limits, child);
  if (watched != Watched::ended) kill_child(child);
  int status = 0;
  rusage used{};
  while (::wait4(child.pid, &status, __WALL, &used) < 0)
    if (errno != EINTR) return {make_error(ErrorCode::kOsError, "wait4: %s", std::strerror(errno))};
  const std::uint64_t used_ns = in_ns(used.ru_utime) + in_ns(used.ru_stime);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {SandboxEnd{SandboxEnd::Kind::finished, 0}, used_ns};
  const bool had_no_time = watched == Watched::got_no_time;  // which is not for want of a sandbox, begun or not
  if (WIFEXITED(status) || (!body_began && !had_no_time))
    return {make_error(ErrorCode::kOsError, "a child process could not set up its sandbox"), used_ns};
  return {end_of_body(limits, watched, WTERMSIG(status), used_ns), used_ns};
}

}  // namespace trident::os
