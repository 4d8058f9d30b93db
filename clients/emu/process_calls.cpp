// Calls about the process itself: its end, signals, identity, clocks.
#include <fcntl.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "clients/emu/syscalls.h"

namespace trident::emu {
namespace {

constexpr std::uint64_t kSignalSetBytes = 8;
constexpr std::uint64_t kIgnored = 1;  ///< SIG_IGN as a number

bool harmless_by_default(int signal) {
  return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

/// Sends a signal to the guest: it is ignored, or ends the program. Handlers are not run.
std::int64_t raise(Kernel& kernel, std::uint64_t number) {
  const int signal = static_cast<int>(number);
  if (signal < 0 || static_cast<std::size_t>(signal) >= Kernel::kSignals) return -EINVAL;
  const std::uint64_t handler = kernel.actions[signal].handler;
  if (signal == 0 || handler == kIgnored || (handler == 0 && harmless_by_default(signal))) return 0;
  kernel.ending = Ending{0, signal};
  return 0;
}

std::int64_t raise_if_own(Kernel& kernel, std::uint64_t process, std::uint64_t signal) {
  const int id = static_cast<int>(process);
  return id == ::getpid() || id == 0 ? raise(kernel, signal) : -EPERM;
}

std::int64_t end(Kernel& kernel, std::uint64_t status) {
  kernel.ending = Ending{static_cast<int>(status & 0xff), 0};
  return 0;
}

/// A broken pipe ends guests that do not ignore it, as it would natively: the host's process gets the signal.
void follow_pipe_signal(const Kernel& kernel) {
  ::signal(SIGPIPE, kernel.actions[SIGPIPE].handler == kIgnored ? SIG_IGN : SIG_DFL);
}

std::int64_t sleep(Kernel& kernel, int clock, int flags, std::uint64_t wanted, std::uint64_t left) {
  const auto time = kernel.memory.get<timespec>(wanted);
  if (!time) return -EFAULT;
  timespec rest{};
  const int error = ::clock_nanosleep(clock, flags, &*time, &rest);
  if (error == EINTR && left != 0 && !kernel.memory.put(left, rest)) return -EFAULT;
  return -error;
}

void copy_name(char (&to)[65], const char* from) {
  std::memset(to, 0, sizeof to);
  std::strncpy(to, from, sizeof to - 1);
}

}  // namespace

std::int64_t call_exit(Kernel& kernel, const Arguments& a) {
  return end(kernel, a[0]);
}
std::int64_t call_exit_group(Kernel& kernel, const Arguments& a) {
  return end(kernel, a[0]);
}

std::int64_t call_set_tid_address(Kernel&, const Arguments&) {
  return ::getpid();
}
std::int64_t call_set_robust_list(Kernel&, const Arguments&) {
  return 0;
}
std::int64_t call_sched_yield(Kernel&, const Arguments&) {
  return result_of(::sched_yield());
}

std::int64_t call_kill(Kernel& kernel, const Arguments& a) {
  return raise_if_own(kernel, a[0], a[1]);
}
std::int64_t call_tkill(Kernel& kernel, const Arguments& a) {
  return raise_if_own(kernel, a[0], a[1]);
}
std::int64_t call_tgkill(Kernel& kernel, const Arguments& a) {
  return raise_if_own(kernel, a[0], a[2]);
}

std::int64_t call_rt_sigaction(Kernel& kernel, const Arguments& a) {
  if (a[0] == 0 || a[0] >= Kernel::kSignals || a[0] == SIGKILL || a[0] == SIGSTOP || a[3] != kSignalSetBytes)
    return -EINVAL;
  GuestAction& action = kernel.actions[a[0]];
  const auto wanted = kernel.memory.get<GuestAction>(a[1]);
  if (a[1] != 0 && !wanted) return -EFAULT;
  if (a[2] != 0 && !kernel.memory.put(a[2], action)) return -EFAULT;
  if (wanted) action = *wanted;
  if (a[0] == SIGPIPE) follow_pipe_signal(kernel);
  return 0;
}

std::int64_t call_rt_sigprocmask(Kernel& kernel, const Arguments& a) {
  if (a[3] != kSignalSetBytes) return -EINVAL;
  const auto given = kernel.memory.get<std::uint64_t>(a[1]);
  if (a[1] != 0 && !given) return -EFAULT;
  if (a[2] != 0 && !kernel.memory.put(a[2], kernel.blocked_signals)) return -EFAULT;
  if (!given) return 0;
  switch (static_cast<int>(a[0])) {
    case SIG_BLOCK: kernel.blocked_signals |= *given; return 0;
    case SIG_UNBLOCK: kernel.blocked_signals &= ~*given; return 0;
    case SIG_SETMASK: kernel.blocked_signals = *given; return 0;
  }
  return -EINVAL;
}

std::int64_t call_uname(Kernel& kernel, const Arguments& a) {
  utsname names;
  if (::uname(&names) < 0) return -errno;
  copy_name(names.machine, "aarch64");
  return kernel.memory.put(a[0], names) ? 0 : -EFAULT;
}

std::int64_t call_umask(Kernel&, const Arguments& a) {
  return ::umask(static_cast<mode_t>(a[0] & 0777));
}

std::int64_t call_getpid(Kernel&, const Arguments&) {
  return ::getpid();
}
std::int64_t call_gettid(Kernel&, const Arguments&) {
  return ::getpid();
}
std::int64_t call_getppid(Kernel&, const Arguments&) {
  return ::getppid();
}
std::int64_t call_getuid(Kernel&, const Arguments&) {
  return ::getuid();
}
std::int64_t call_geteuid(Kernel&, const Arguments&) {
  return ::geteuid();
}
std::int64_t call_getgid(Kernel&, const Arguments&) {
  return ::getgid();
}
std::int64_t call_getegid(Kernel&, const Arguments&) {
  return ::getegid();
}

/// Limits are shown, and are not to be set: they would bind the emulator.
std::int64_t call_prlimit64(Kernel& kernel, const Arguments& a) {
  if (a[0] != 0 && static_cast<int>(a[0]) != ::getpid()) return -ESRCH;
  if (a[2] != 0) return -EPERM;
  rlimit limit;
  if (::getrlimit(static_cast<__rlimit_resource>(a[1]), &limit) < 0) return -errno;
  return a[3] == 0 || kernel.memory.put(a[3], limit) ? 0 : -EFAULT;
}

std::int64_t call_clock_gettime(Kernel& kernel, const Arguments& a) {
  timespec time;
  if (::clock_gettime(static_cast<clockid_t>(a[0]), &time) < 0) return -errno;
  return kernel.memory.put(a[1], time) ? 0 : -EFAULT;
}

std::int64_t call_gettimeofday(Kernel& kernel, const Arguments& a) {
  timeval time;
  ::gettimeofday(&time, nullptr);
  return a[0] == 0 || kernel.memory.put(a[0], time) ? 0 : -EFAULT;
}

std::int64_t call_nanosleep(Kernel& kernel, const Arguments& a) {
  return sleep(kernel, CLOCK_MONOTONIC, 0, a[0], a[1]);
}
std::int64_t call_clock_nanosleep(Kernel& kernel, const Arguments& a) {
  return sleep(kernel, static_cast<clockid_t>(a[0]), static_cast<int>(a[1]), a[2], a[3]);
}

std::int64_t call_getrandom(Kernel& kernel, const Arguments& a) {
  constexpr std::uint64_t kAtOnce = 256;  // a call may always give fewer, and so many it gives at once
  std::array<std::byte, kAtOnce> bytes;
  const std::uint64_t wanted = std::min(a[1], kAtOnce);
  if (!kernel.memory.is_mapped(a[0], wanted, kWrite)) return -EFAULT;
  const ssize_t got = ::getrandom(bytes.data(), wanted, static_cast<unsigned>(a[2]));
  if (got < 0) return -errno;
  return kernel.memory.write(a[0], bytes.data(), static_cast<std::size_t>(got)) ? got : -EFAULT;
}

}  // namespace trident::emu
