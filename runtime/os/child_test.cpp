// Oracle: /proc, wait statuses, and readelf's build id in the form that the linker writes.
#include "runtime/os/child.h"

#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "runtime/os/self.h"
#include "runtime/os/service.h"
#include "runtime/os/socket.h"

namespace trident::os {
namespace {

std::string read_until_end(const Fd& fd) {
  std::string text;
  char buffer[256];
  for (ssize_t n; (n = ::read(fd.get(), buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

TEST(Child, InheritsExactlyOneDescriptorAndReportsItsExit) {
  auto pair = socket_pair(Blocking::yes, Blocking::yes);
  ASSERT_TRUE(pair.ok());
  const Fd stray(::dup2(pair->first.get(), 200));  // without close-on-exec
  auto child = Child::spawn(
      {.program = "/bin/sh",
       .arguments = {"sh", "-c", "for i in 3 4 5 6 7 8 9 200; do test -e /proc/$$/fd/$i && echo $i >&3; done; exit 5"},
       .inherited_fd = pair->second.get()});
  ASSERT_TRUE(child.ok());
  pair->second.reset();
  EXPECT_EQ(read_until_end(pair->first), "3\n");
  EXPECT_EQ(child->wait(), "exit 5");
}

TEST(Child, PidfdTellsTheEndAndKillIsReported) {
  auto child = Child::spawn({.program = "/bin/sleep", .arguments = {"sleep", "100"}});
  ASSERT_TRUE(child.ok());
  pollfd p{child->pidfd().get(), POLLIN, 0};
  EXPECT_EQ(::poll(&p, 1, 0), 0);
  child->kill();
  EXPECT_EQ(::poll(&p, 1, 10'000), 1);
  EXPECT_EQ(child->wait(), "signal 9");
}

TEST(Child, EndsWithinItsTimeOrNot) {
  auto quick = Child::spawn({.program = "/bin/true", .arguments = {"true"}});
  ASSERT_TRUE(quick.ok());
  EXPECT_TRUE(quick->ends_within(10'000));
  EXPECT_EQ(quick->wait(), "exit 0");
  auto slow = Child::spawn({.program = "/bin/sleep", .arguments = {"sleep", "60"}});
  ASSERT_TRUE(slow.ok());
  EXPECT_FALSE(slow->ends_within(20));
}

TEST(Child, NiceAndMissingProgram) {
  auto pair = socket_pair(Blocking::yes, Blocking::yes);
  auto child = Child::spawn(
      {.program = "/bin/sh", .arguments = {"sh", "-c", "nice >&3"}, .inherited_fd = pair->second.get(), .nice = 7});
  ASSERT_TRUE(child.ok());
  pair->second.reset();
  // The suite itself may run under nice; 19 is the end of the scale.
  EXPECT_EQ(read_until_end(pair->first), std::to_string(std::min(19, ::getpriority(PRIO_PROCESS, 0) + 7)) + "\n");
  auto missing = Child::spawn({.program = "/nonexistent", .arguments = {"x"}});
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(missing->wait(), "exit 127");
}

TEST(Child, DestructionKills) {
  int pid = 0;
  {
    auto child = Child::spawn({.program = "/bin/sleep", .arguments = {"sleep", "100"}});
    ASSERT_TRUE(child.ok());
    pid = child->pid();
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(BuildId, IsTwentyBytesOfHexAndStable) {
  EXPECT_EQ(build_id().size(), 40u) << build_id();
  EXPECT_EQ(build_id().find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Service, NotifySendsOneDatagram) {
  char pattern[] = "/tmp/trident-notify-XXXXXX";
  const std::string directory = ::mkdtemp(pattern);
  const std::string path = directory + "/n";
  for (const std::string& name : {path, "@" + path}) {
    Fd receiver(::socket(AF_UNIX, SOCK_DGRAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    ASSERT_EQ(::bind(receiver.get(), reinterpret_cast<sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    EXPECT_TRUE(notify_service_manager("READY=1\nSTATUS=here"));
    char buffer[64];
    const ssize_t n = ::recv(receiver.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    ASSERT_GT(n, 0);
    EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(n)), "READY=1\nSTATUS=here");
  }
  ::setenv("NOTIFY_SOCKET", (directory + "/absent").c_str(), 1);
  EXPECT_FALSE(notify_service_manager("READY=1"));
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(notify_service_manager("READY=1"));
  (void)!std::system(("rm -rf " + directory).c_str());
}

TEST(Service, WatchdogIntervalOnlyForThisProcess) {
  EXPECT_EQ(watchdog_interval_ns(), 0u);
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  EXPECT_EQ(watchdog_interval_ns(), 3'000'000'000u);
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(watchdog_interval_ns(), 0u);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_EQ(watchdog_interval_ns(), 3'000'000'000u);
  ::setenv("WATCHDOG_USEC", "12x", 1);
  EXPECT_EQ(watchdog_interval_ns(), 0u);
  ::unsetenv("WATCHDOG_USEC");
  ::unsetenv("WATCHDOG_PID");
}

TEST(Service, PassedSocketsForAnotherProcessAreIgnored) {
  ::setenv("LISTEN_PID", "1", 1);
  ::setenv("LISTEN_FDS", "1", 1);
  EXPECT_TRUE(take_passed_sockets().empty());
  EXPECT_EQ(::getenv("LISTEN_FDS"), nullptr);
}

}  // namespace
}  // namespace trident::os
