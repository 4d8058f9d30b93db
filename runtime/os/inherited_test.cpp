// Checks what a process keeps of its inheritance. Oracle: the kernel, asked from outside the process.
#include "runtime/os/inherited.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace trident::os {
namespace {

/// The exit status of a child that does this.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST(Inherited, ClosedStandardStreamsAreOccupied) {
  for (unsigned closed = 0; closed < 8; ++closed)
    EXPECT_EQ(in_child([&] {
                for (int fd = 0; fd < 3; ++fd)
                  if ((closed >> fd & 1) != 0) ::close(fd);
                occupy_standard_streams();
                const int next = ::open("/dev/null", O_RDONLY);
                if (next < 3) return 1;
                // Writing to a closed stream still fails; it does not swallow the bytes.
                if ((closed & 2) != 0 && ::write(1, "x", 1) >= 0) return 2;
                return 0;
              }),
              0)
        << closed;
}

TEST(Inherited, AllButPassedSocketsAreClosed) {
  const auto open_after = [](const char* passed) {
    return in_child([&] {
      for (int fd = 3; fd < 10; ++fd) ::dup2(0, fd);
      ::dup2(0, 200);
      ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
      ::setenv("LISTEN_FDS", passed, 1);
      close_inherited_files();
      int open = 0;
      for (int fd = 3; fd < 300; ++fd) open += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
      return open;
    });
  };
  EXPECT_EQ(open_after("0"), 0);
  EXPECT_EQ(open_after("2"), 2);
  EXPECT_EQ(open_after("100000"), 0);
  EXPECT_EQ(open_after("x"), 0);
}

TEST(Inherited, AnotherProcessesPassedSocketsAreClosedToo) {
  EXPECT_EQ(in_child([] {
              ::dup2(0, 3);
              ::setenv("LISTEN_PID", "1", 1);
              ::setenv("LISTEN_FDS", "1", 1);
              close_inherited_files();
              return ::fcntl(3, F_GETFD) < 0 ? 0 : 1;
            }),
            0);
}

TEST(Inherited, WhoWaitsForThePipeOfStandardErrorIsWatched) {
  EXPECT_EQ(in_child([] {
              int ends[2];
              if (::pipe(ends) != 0) return 1;
              ::dup2(ends[1], STDERR_FILENO);
              ::unsetenv("NOTIFY_SOCKET");
              const auto starter = starter_of_standard_error();
              if (!starter || !starter->ended.valid()) return 2;
              // A file is nobody's to wait for.
              ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
              return starter_of_standard_error() ? 3 : 0;
            }),
            0);
}

TEST(Inherited, AWorkerLetsGoOfStandardErrorWhenItIsTold) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    close_inherited_files();
    release_standard_error_on(SIGUSR1);
    (void)!::write(STDERR_FILENO, "r", 1);
    for (;;) ::pause();
  }
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  ::kill(child, SIGUSR1);
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
}

}  // namespace
}  // namespace trident::os
