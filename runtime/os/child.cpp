#include "runtime/os/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/os/os_error.h"

namespace trident::os {
namespace {

constexpr int kExecFailed = 127;

/// Runs in the child between fork and exec: async-signal-safe calls only, because other threads may hold locks.
[[noreturn]] void become(const SpawnOptions& options, char* const* argv, pid_t parent) {
  if (options.die_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kExecFailed);  // the parent died before the request took effect
  }
  if (options.nice != 0) (void)!::nice(options.nice);
  if (options.inherited_fd >= 0) {
    if (options.inherited_fd == kInheritedFd) {
      if (::fcntl(kInheritedFd, F_SETFD, 0) != 0) ::_exit(kExecFailed);
    } else if (::dup2(options.inherited_fd, kInheritedFd) < 0) {
      ::_exit(kExecFailed);
    }
  }
  // Descriptors that this process inherited without close-on-exec, or that a library opened so, do not reach the child.
  ::syscall(SYS_close_range, options.inherited_fd >= 0 ? kInheritedFd + 1 : kInheritedFd, ~0u, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execv(options.program.c_str(), argv);
  ::_exit(kExecFailed);
}

}  // namespace

Result<Child> Child::spawn(const SpawnOptions& options) {
  std::vector<char*> argv;
  argv.reserve(options.arguments.size() + 1);
  for (const std::string& argument : options.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return os_error("fork");
  if (pid == 0) become(options, argv.data(), parent);
  Child child;
  child.pid_ = pid;
  // By number: glibc gained the wrapper in 2.36, and older build machines lack it. It is closed on exec, and refused by
  // some containers and old kernels.
  child.pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return child;
}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    if (pid_ > 0) {
      kill();
      wait();
    }
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
  }
  return *this;
}

Child::~Child() {
  if (pid_ <= 0) return;
  kill();
  wait();
}

void Child::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void Child::signal(int number) {
  if (pid_ > 0) ::kill(pid_, number);
}

std::string Child::wait() {
  if (pid_ <= 0) return "reaped already";
  int status = 0;
  pid_t reaped = 0;
  do reaped = ::waitpid(pid_, &status, 0);
  while (reaped < 0 && errno == EINTR);
  pid_ = -1;
  if (reaped < 0) return "lost";
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit " + std::to_string(WEXITSTATUS(status));
}

bool Child::ends_within(int timeout_ms) const {
  if (pid_ <= 0) return true;
  if (pidfd_.valid()) {
    pollfd end{pidfd_.get(), POLLIN, 0};
    return ::poll(&end, 1, timeout_ms) == 1;
  }
  const auto has_ended = [this] {
    siginfo_t end{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == pid_;
  };
  for (; timeout_ms > 0 && !has_ended(); --timeout_ms) ::poll(nullptr, 0, 1);
  return has_ended();
}

}  // namespace trident::os
