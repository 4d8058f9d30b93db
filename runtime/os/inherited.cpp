#include "runtime/os/inherited.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "runtime/os/service.h"

namespace trident::os {
namespace {

constexpr const char* kNothing = "/dev/null";
/// Opened beforehand: a confined process can open no file, nor can a handler that finds no descriptor free.
int g_nothing = -1;

void release(int stream) {
  const int saved = errno;
  const int nothing = g_nothing >= 0 ? g_nothing : ::open(kNothing, O_WRONLY | O_CLOEXEC);
  if (nothing >= 0) (void)::dup2(nothing, stream);
  if (nothing >= 0 && nothing != g_nothing) ::close(nothing);
  errno = saved;
}

bool is_pipe_or_socket(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

constexpr pid_t kInit = 1;

/// Whether init is what started this process. Init is also the parent of every process whose parent has ended, so the
/// number alone does not tell. The init of a container writes to the pipe that it hands on, or is a shell: then this
/// process is in its session. A session of number 0 is one from outside the namespace, which tells nothing.
bool init_started_this() {
  struct stat own {}, of_init {};
  if (::stat("/proc/1/fd/2", &of_init) == 0 && ::fstat(STDERR_FILENO, &own) == 0 && own.st_dev == of_init.st_dev &&
      own.st_ino == of_init.st_ino)
    return true;
  return ::getsid(kInit) > 0 && ::getsid(kInit) == ::getsid(0);
}

}  // namespace

void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) == -1) (void)::open(kNothing, fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void close_inherited_files() {
  const auto first = static_cast<unsigned>(kFirstPassedFd + passed_socket_count());
  if (::syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  const long open_max = ::sysconf(_SC_OPEN_MAX);  // before Linux 5.9
  for (auto fd = static_cast<int>(first); fd < open_max; ++fd) ::close(fd);
}

void release_standard_output() {
  release(STDOUT_FILENO);
}

void release_standard_error() {
  release(STDERR_FILENO);
}

void release_standard_error_on(int signal) {
  g_nothing = ::open(kNothing, O_WRONLY | O_CLOEXEC);
  struct sigaction action {};
  action.sa_handler = [](int) { release_standard_error(); };
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

std::optional<Starter> starter_of_standard_error() {
  if (!is_pipe_or_socket(STDERR_FILENO) || stderr_is_journal() || std::getenv("NOTIFY_SOCKET") != nullptr) return {};
  const pid_t parent = ::getppid();
  if (parent == 0) return {};  // the first process of a container
  if (parent == kInit && !init_started_this()) return Starter{};
  Starter starter{Fd(static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)))};
  if (::getppid() != parent) starter.ended.reset();  // it ended meanwhile, and the number may be another's
  if (starter.ended.valid()) ::fcntl(starter.ended.get(), F_SETFD, FD_CLOEXEC);
  return starter;
}

}  // namespace trident::os
