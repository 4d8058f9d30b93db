// The daemon under a service manager. Oracle: systemd's own tools, and a notification socket of the test's own.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <thread>
#include <vector>

#include "tests/daemon/notify_socket.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/raw_client.h"

namespace trident::tests {
namespace {

TEST(Service, ReportsReadyWatchdogReloadAndStop) {
  NotifySocket manager;
  ::setenv("WATCHDOG_USEC", "300000", 1);
  PrivateDaemon daemon;
  ::unsetenv("WATCHDOG_USEC");
  EXPECT_TRUE(manager.hears("READY=1"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(manager.hears("WATCHDOG=1", 300));
  daemon.signal(SIGHUP);
  EXPECT_TRUE(manager.hears("RELOADING=1"));
  EXPECT_TRUE(manager.hears("READY=1"));
  daemon.signal(SIGSTOP);  // a hung daemon pings no more: that is when systemd kills it
  while (manager.hears("WATCHDOG=1", 50)) {
  }
  EXPECT_FALSE(manager.hears("WATCHDOG=1", 400));
  daemon.signal(SIGCONT);
  daemon.signal(SIGTERM);
  EXPECT_TRUE(manager.hears("STOPPING=1"));
  EXPECT_EQ(daemon.wait(), "exit 0");
}

// The loop turns all the while: the daemon answers, yet it could not compile anything.
TEST(Service, WithoutWorkersTheWatchdogIsNotToldThatAllIsWell) {
  NotifySocket manager;
  char pattern[] = "/dev/shm/trident-watchdog-XXXXXX";
  const std::filesystem::path directory = ::mkdtemp(pattern);
  const std::string program = directory / "tridentd", socket = directory / "tridentd.sock";
  std::filesystem::copy_file(TRIDENTD_PATH, program);
  ::setenv("WATCHDOG_USEC", "600000", 1);
  auto daemon = os::Child::spawn({.program = program,
                                  .arguments = {"tridentd", "--socket", socket, "--cache", "none", "--log-level",
                                                "error", "--baseline-workers", "1"}});
  ::unsetenv("WATCHDOG_USEC");
  ASSERT_TRUE(daemon.ok());
  EXPECT_TRUE(manager.hears("READY=1"));
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  // A worker that dies now and then is replaced, and no reason for alarm.
  ::kill(workers_of(daemon->pid(), "baseline").at(0), SIGKILL);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(manager.hears("WATCHDOG=1", 600)) << i;
  // Not even root may execute what nobody may execute.
  std::filesystem::permissions(program, std::filesystem::perms::owner_read);
  ::kill(workers_of(daemon->pid(), "baseline").at(0), SIGKILL);
  EXPECT_TRUE(manager.hears("STATUS=no baseline worker can be kept alive"));
  EXPECT_FALSE(RawClient::ready(socket).stats().empty());
  EXPECT_FALSE(manager.hears("WATCHDOG=1", 1200));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_TRUE(manager.hears("STATUS=serving"));
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  RawClient client = RawClient::ready(socket);
  client.send(submit_message("x + y"));
  EXPECT_EQ(client.next_result()->kind(), wire::Body::KernelReady);
  daemon->kill();
  daemon->wait();
  std::filesystem::remove_all(directory);
}

/// Runs `body` where these system calls fail with EPERM, for it and whatever it starts.
void where_refused(std::initializer_list<long> calls, const std::function<void()>& body) {
  std::thread([&] {
    std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const long call : calls) {
      filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<__u32>(call), 0, 1));
      filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    body();
  }).join();
}

TEST(Service, WithoutPidfdsWorkersAreSupervisedAllTheSame) {
  where_refused({SYS_pidfd_open}, [] {
    NotifySocket manager;
    PrivateDaemon daemon;
    EXPECT_TRUE(manager.hears("READY=1"));
    RawClient client = RawClient::ready(daemon.socket());
    client.send(submit_message("x + y"));
    EXPECT_EQ(client.next_result()->kind(), wire::Body::KernelReady);
    ::kill(daemon.workers("baseline").at(0), SIGKILL);
    client.send(submit_message("x - y", {.job = 2}));
    while (true) {
      const auto answer = client.next_result();
      ASSERT_TRUE(answer.has_value());
      ASSERT_NE(answer->kind(), wire::Body::Failure);
      const auto* ready = answer->message().body_as_KernelReady();
      if (ready != nullptr && ready->job() == 2) break;
    }
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), "exit 0");
  });
}

TEST(Service, WithoutWorkersItSaysSoAndIsNeverReady) {
  where_refused({SYS_socketpair}, [] {  // without which none can be spoken to
    NotifySocket manager;
    PrivateDaemon daemon;
    EXPECT_TRUE(manager.hears("STATUS=cannot start: no baseline worker can be kept alive"));
    EXPECT_EQ(daemon.wait(), "exit 1");
    EXPECT_FALSE(manager.hears("READY=1", 100));
  });
}

TEST(Service, WhereNoKernelCanBeMadeClientsAreToldAndTheLogOnce) {
  ::testing::internal::CaptureStderr();  // the daemon's too
  where_refused({SYS_memfd_create}, [] {
    PrivateDaemon daemon;
    for (int i = 0; i < 5; ++i) {
      RawClient client(daemon.socket());
      client.send(hello_message());
      const auto answer = client.next();
      ASSERT_TRUE(answer.has_value());
      const auto* failure = answer->message().body_as_Failure();
      ASSERT_NE(failure, nullptr);
      EXPECT_EQ(failure->job(), 0u);
      EXPECT_EQ(static_cast<ErrorCode>(failure->code()), ErrorCode::kUnsupported);
      EXPECT_NE(failure->message()->str().find("memfd_create"), std::string::npos);
      EXPECT_TRUE(client.closed_by_daemon());
    }
  });
  const std::string log = ::testing::internal::GetCapturedStderr();
  // A worker may tell of its own trouble with the same call, if it lives long enough.
  constexpr std::string_view kLine = "kernels cannot be compiled here, so clients are refused: memfd_create";
  const std::size_t first = log.find(kLine);
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find(kLine, first + 1), std::string::npos) << log;
}

TEST(Service, IsActivatedByTheFirstConnection) {
  char pattern[] = "/dev/shm/trident-activate-XXXXXX";
  const std::string directory = ::mkdtemp(pattern);
  const std::string socket = directory + "/tridentd.sock";
  auto manager = os::Child::spawn({.program = "/usr/bin/systemd-socket-activate",
                                   .arguments = {"systemd-socket-activate", "-l", socket, "--fdname=trident",
                                                 TRIDENTD_PATH, "--cache", "none", "--log-level", "warning"}});
  ASSERT_TRUE(manager.ok());
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(socket); }));
  {
    RawClient client = RawClient::ready(socket);  // waits in the queue while the daemon starts
    client.send(submit_message("x + y"));
    EXPECT_EQ(client.next_result()->kind(), wire::Body::KernelReady);
  }
  ::kill(manager->pid(), SIGTERM);  // systemd-socket-activate has become the daemon
  EXPECT_EQ(manager->wait(), "exit 0");
  EXPECT_TRUE(std::filesystem::exists(socket));  // the giver's, not the daemon's to remove
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace trident::tests
