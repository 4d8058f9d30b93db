// How a daemon starts, and what it keeps of its starter. Oracle: the kernel: locks, ends of pipes, /proc, exit
// statuses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "runtime/os/confinement/confinement.h"
#include "runtime/os/process.h"
#include "tests/daemon/notify_socket.h"
#include "tests/daemon/private_daemon.h"
#include "tests/daemon/raw_client.h"

namespace trident::tests {
namespace {

namespace fs = std::filesystem;
constexpr uid_t kNobody = 65534;
constexpr double kSoon = 10;  // seconds, on a busy machine; a pipe that the daemon holds does not end at all

std::string read_all(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Maps each descriptor of a process to its file.
std::map<int, std::string> descriptors_of(int pid) {
  std::map<int, std::string> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd", failed))
    found[std::stoi(entry.path().filename())] = fs::read_symlink(entry.path(), failed).string();
  return found;
}

/// The word behind `name` in /proc/PID/status.
std::string status_of(int pid, const std::string& name) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string word, value; in >> word;)
    if (word == name + ":" && in >> value) return value;
  return {};
}

class Start : public ::testing::Test {
 protected:
  Start() {
    char pattern[] = "/dev/shm/trident-start-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~Start() override {
    if (const int pid = daemon(); pid > 0) ::kill(pid, SIGKILL);
    fs::remove_all(folder_);
  }

  [[nodiscard]] std::string at(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::string command(const std::string& flags = "") const {
    return std::string(TRIDENTD_PATH) + " --socket " + at("s.sock") + " --cache none --state none --config none " +
           flags;
  }
  /// A shell that starts a daemon in the background, leaves its number and waits until it listens; then it ends.
  [[nodiscard]] std::string in_background(const std::string& redirected = "") const {
    return command() + " " + redirected + " & echo $! >" + at("pid") + "; while ! [ -S " + at("s.sock") +
           " ]; do sleep 0.02; done; sleep 0.3";
  }
  [[nodiscard]] int daemon() const {
    int pid = -1;
    std::ifstream(at("pid")) >> pid;
    return pid;
  }
  void expect_served() {
    RawClient client = RawClient::ready(at("s.sock"));
    client.send(submit_message("x + y"));
    const auto result = client.next_result();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->kind(), wire::Body::KernelReady);
  }
  /// Runs the shell with a pipe to `text`'s end on descriptors 1 (and 2), and reads it until it ends: how long that
  /// took from the shell's end.
  double seconds_to_the_pipes_end(const std::string& shell, bool with_errors) {
    os::Process::Options options;
    options.merge_errors = with_errors;
    options.pipe_output = true;
    const std::string words[] = {"/bin/sh", "-c", shell};
    auto process = os::Process::spawn(words, options);
    EXPECT_TRUE(process.ok());
    if (!process.ok()) return -1;
    EXPECT_TRUE(process->wait(30'000).ok());
    const auto ended = std::chrono::steady_clock::now();
    const auto text = process->read_all(20'000);
    EXPECT_TRUE(text.ok()) << "the pipe has not ended";
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - ended).count();
  }

  std::string folder_;
};

TEST_F(Start, KeepsNoLockAndNoPipeOfTheShellThatStartsIt) {
  const double waited = seconds_to_the_pipes_end(
      "exec 9>" + at("lock") + "; flock 9; exec 8<" + at("lock") + "; " + in_background("2>" + at("log")), false);
  EXPECT_LT(waited, kSoon);
  const os::Fd lock(::open(at("lock").c_str(), O_RDONLY));
  EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  expect_served();
  for (const auto& [fd, what] : descriptors_of(daemon())) EXPECT_EQ(what.find(at("lock")), std::string::npos) << fd;
  EXPECT_EQ(descriptors_of(daemon())[1], "/dev/null");
}

// Its log goes there as long as somebody who started it may read it; workers let go as well.
TEST_F(Start, LetsGoOfAPipeOfErrorsWhenWhoStartedItEnds) {
  EXPECT_LT(seconds_to_the_pipes_end(in_background(), true), kSoon);
  expect_served();
  EXPECT_EQ(descriptors_of(daemon())[2], "/dev/null");
  // A double fork: the starter has gone already.
  ::kill(daemon(), SIGKILL);
  fs::remove(at("s.sock"));
  const std::string orphan = "( " + command() + " & echo $! >" + at("pid") + " ); sleep 0.1";
  EXPECT_LT(seconds_to_the_pipes_end(orphan, true), kSoon);
}

TEST_F(Start, KeepsALogThatIsAFile) {
  EXPECT_LT(seconds_to_the_pipes_end(in_background("2>" + at("log")), false), kSoon);
  expect_served();
  EXPECT_TRUE(eventually([&] { return read_all(at("log")).find("has connected") != std::string::npos; }))
      << read_all(at("log"));
  EXPECT_EQ(descriptors_of(daemon())[2], at("log"));
}

// A daemon without a home stores and learns nothing, and says so; one that is told to store nothing does not.
TEST_F(Start, SaysThatItHasNoHome) {
  const auto warnings = [this](const std::string& places) {
    fs::remove(at("log"));  // else the loop may find the line of the daemon before
    seconds_to_the_pipes_end("unset HOME XDG_CACHE_HOME XDG_STATE_HOME CACHE_DIRECTORY STATE_DIRECTORY; " +
                                 std::string(TRIDENTD_PATH) + " --config none --socket " + at("s.sock") + places +
                                 " 2>" + at("log") + " & echo $! >" + at("pid") + "; while ! grep -qs serving " +
                                 at("log") + "; do sleep 0.02; done; kill $!; wait $!",
                             false);
    return read_all(at("log"));
  };
  const std::string said = warnings("");
  EXPECT_NE(said.find("warning: there is no file for the cache"), std::string::npos) << said;
  EXPECT_NE(said.find("warning: there is no state folder"), std::string::npos) << said;
  const std::string told = warnings(" --cache none --state none");
  EXPECT_EQ(told.find("warning"), std::string::npos) << told;
}

TEST_F(Start, ClosedStandardStreamsAreNobodyElses) {
  seconds_to_the_pipes_end(in_background("<&- >&- 2>&-"), false);
  expect_served();
  for (int fd = 0; fd < 3; ++fd) EXPECT_EQ(descriptors_of(daemon())[fd], "/dev/null") << fd;
  for (const int worker : workers_of(daemon(), "baseline", 2))
    for (int fd = 0; fd < 3; ++fd) EXPECT_EQ(descriptors_of(worker)[fd], "/dev/null") << fd;
}

TEST_F(Start, AMistakeInTheSettingsHasAStatusOfItsOwn) {
  std::ofstream(at("wrong.toml")) << "workesr = 1\n";
  std::ofstream(at("wrong.rules")) << "nothing\n";
  std::ofstream(at("file")) << "text";
  fs::create_directory(at("folder"));
  const auto status = [&](const std::string& flags) {
    const std::string words[] = {"/bin/sh", "-c", "exec " + command(flags) + " 2>" + at("log")};
    const auto done = os::run_command(words, 60'000);
    return done.ok() ? done->exit.status : -1;
  };
  const std::vector<std::string> mistakes = {"--config " + at("wrong.toml"),
                                             "--config " + at("folder"),
                                             "--config " + at("none.toml"),
                                             "--costs " + at("none.costs"),
                                             "--costs " + at("folder"),
                                             "--costs " + at("file"),
                                             "--rules " + at("wrong.rules"),
                                             "--rules " + at("none.rules"),
                                             "--rules " + at("folder"),
                                             "--state " + at("file"),
                                             "--workers 257",
                                             "--open-files 8",
                                             "--open-files 39",
                                             "--open-files 64 --workers 64",
                                             "--socket /proc/nowhere/socket",
                                             "--socket /dev/null",
                                             "--socket " + std::string(200, 'x')};
  for (const std::string& flags : mistakes) {
    EXPECT_EQ(status(flags), 2) << flags;
    const std::string said = read_all(at("log"));
    EXPECT_FALSE(said.empty()) << flags;
    if (flags.find(folder_) != std::string::npos) {
      EXPECT_NE(said.find(flags.substr(flags.find(' ') + 1)), std::string::npos) << said;
    }
    EXPECT_EQ(status("--check-config " + flags) == 2, flags.find("wrong.rules") == std::string::npos) << flags;
  }
  EXPECT_EQ(status("--check-config"), 0);
  EXPECT_EQ(status("--check-config --cache " + at("kernels.db")), 0);
  for (const std::string& cache :
       std::vector<std::string>{"/dev/null", "/proc/nowhere/kernels.db", at("file") + "/kernels.db"}) {
    EXPECT_EQ(status("--check-config --cache " + cache), 2) << cache;
    EXPECT_NE(read_all(at("log")).find("another file (or none) with --cache"), std::string::npos) << cache;
  }
  EXPECT_EQ(status("--check-config --cache " + at("new/a/kernels.db") + " --state " + at("new/b")), 0);
  EXPECT_FALSE(fs::exists(at("new")));  // asking makes nothing
  EXPECT_EQ(status("--help >/dev/full"), 1);
  EXPECT_EQ(status("--manual >/dev/full"), 1);
  // Somebody else listens there: no mistake in the settings, and it may be over soon.
  PrivateDaemon other;
  EXPECT_EQ(status("--socket " + other.socket()), 1);
  // A reload asks while the daemon serves, and its socket may be in a folder that only the service manager writes to.
  const fs::path served = fs::path(other.socket()).parent_path();
  const auto before = fs::status(served).permissions();
  fs::permissions(served, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(status("--check-config --socket " + other.socket()), 0) << read_all(at("log"));
  fs::permissions(served, before);
}

// A socket that was promised and is closed: its number must not become that of somebody else, who would lose it.
TEST_F(Start, AClosedSocketThatWasPassedInIsRefused) {
  const std::string words[] = {"/bin/sh", "-c",
                               "LISTEN_FDS=1 LISTEN_PID=$$ XDG_RUNTIME_DIR=/dev/null exec " TRIDENTD_PATH
                               " --config none --cache none --state none 3<&- 2>" +
                                   at("log")};
  const auto done = os::run_command(words, 60'000);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->exit.status, 2) << read_all(at("log"));
}

// As nobody: root may read everything.
TEST_F(Start, WhatCannotBeReadIsNamedWithWhatMendsIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user's files take root";
  fs::permissions(folder_, fs::perms(0755));
  std::ofstream(at("secret")) << "workers = 1\n";
  fs::permissions(at("secret"), fs::perms(0600));
  fs::create_directory(at("closed"));
  fs::permissions(at("closed"), fs::perms(0700));
  // The program, where nobody may look.
  fs::copy_file(TRIDENTD_PATH, at("tridentd"));
  fs::permissions(at("tridentd"), fs::perms(0755));
  for (const char* flag : {"--config", "--costs", "--rules", "--state"}) {
    const std::string file = at(std::string(flag) == "--state" ? "closed" : "secret");
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      ::unsetenv("HOME");  // root's, whose configuration nobody may read
      ::unsetenv("XDG_CONFIG_HOME");
      if (::setresgid(kNobody, kNobody, kNobody) != 0 || ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(77);
      ::execl(at("tridentd").c_str(), "tridentd", "--cache", "none", "--socket", "/nowhere/s.sock", flag, file.c_str(),
              nullptr);
      ::_exit(78);
    }
    ::close(ends[1]);
    std::string said;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 2) << flag << ": " << said;
    EXPECT_NE(said.find(file + ": "), std::string::npos) << said;
    EXPECT_NE(said.find("Permission denied"), std::string::npos) << said;
    EXPECT_NE(said.find(std::string("with ") + flag), std::string::npos) << said;
  }
}

// Otherwise the service manager would start the daemon again for them, and again.
TEST_F(Start, AMistakeInTheSettingsLetsWaitingClientsGo) {
  const std::string socket = at("s.sock");
  auto manager =
      os::Child::spawn({.program = "/usr/bin/systemd-socket-activate",
                        .arguments = {"systemd-socket-activate", "-l", socket, TRIDENTD_PATH, "--workers", "257"}});
  ASSERT_TRUE(manager.ok());
  ASSERT_TRUE(eventually([&] { return fs::exists(socket); }));
  RawClient client(socket);
  EXPECT_FALSE(client.next(20'000));
  EXPECT_EQ(manager->wait(), "exit 2");
}

TEST(Reload, NamesWhatWaitsForARestartAndFailsAsAWhole) {
  NotifySocket manager;
  char pattern[] = "/dev/shm/trident-reload-XXXXXX";
  const std::string folder = ::mkdtemp(pattern), file = folder + "/t.toml";
  const auto configure = [&](const std::string& text) { std::ofstream(file) << text; };
  configure("budget_ms = 400\n");
  PrivateDaemon daemon({"--config", file});
  const auto reload = [&](const std::string& text) {
    configure(text);
    daemon.signal(SIGHUP);
  };
  const auto stats = [&] { return RawClient::ready(daemon.socket()).stats(); };
  EXPECT_TRUE(manager.hears("READY=1"));
  reload("open_files = 4000\ncache_hot = 7\nbudget_ms = 500\n");
  EXPECT_TRUE(manager.hears("STATUS=serving; settings that need a restart: cache_hot, open_files"));
  EXPECT_NE(stats().find("\"restart_due\": [\n      \"cache_hot\",\n      \"open_files\"\n    ]"), std::string::npos)
      << stats();
  reload("connections = 1\nbudget_ms = 600001\n");  // out of range: nothing of it holds
  EXPECT_TRUE(manager.hears("STATUS=serving; the last reload failed: " + file + ":2: budget_ms is outside"));
  const RawClient first = RawClient::ready(daemon.socket());
  EXPECT_NE(stats().find("\"reload_error\": \"" + file + ":2: budget_ms is outside"), std::string::npos) << stats();
  reload("budget_ms = 500\n");
  EXPECT_TRUE(manager.hears("STATUS=serving"));
  EXPECT_NE(stats().find("\"restart_due\": []"), std::string::npos);
  EXPECT_NE(stats().find("\"reload_error\": \"\""), std::string::npos);
  fs::remove_all(folder);
}

// Damaged costs fail a reload too: the same signal has them read again.
TEST(Reload, FailsForCostsThatAreDamaged) {
  NotifySocket manager;
  PrivateDaemon daemon;
  EXPECT_TRUE(manager.hears("READY=1"));
  fs::create_directories(daemon.state());
  std::ofstream(daemon.state() + "/costs") << "nothing of the kind\n";
  daemon.signal(SIGHUP);
  EXPECT_TRUE(manager.hears("STATUS=serving; the last reload failed: "));
}

TEST(Sharing, TheDaemonsOwnUserIsNotHeldToAShare) {
  PrivateDaemon daemon({"--connections-per-user", "2", "--connections", "20"});
  std::vector<RawClient> clients;
  for (int i = 0; i < 10; ++i) clients.push_back(RawClient::ready(daemon.socket()));
  EXPECT_FALSE(clients.back().stats().empty());
}

/// Processes of a worker make the children in which loops are tried: they may do no more than it may, and hold nothing.
void expect_confined_children(int worker) {
  const std::string number = std::to_string(worker);
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  for (int child = 0; children >> child;) {
    EXPECT_EQ(status_of(child, "Seccomp"), "2");
    EXPECT_EQ(status_of(child, "NoNewPrivs"), "1");
    for (const auto& [fd, what] : descriptors_of(child)) EXPECT_EQ(what, "anon_inode:[pidfd]") << fd;
  }
}

TEST(Confined, EveryWorkerIsBeforeItsFirstRequest) {
  if (const os::Confined found = os::try_confinement(); !found.system_calls) GTEST_SKIP() << found.missing;
  PrivateDaemon daemon;
  RawClient client = RawClient::ready(daemon.socket());
  client.send(submit_message(text_with_certain_gain(1)));
  bool done = false;
  while (!done) {
    const auto message = client.next();
    ASSERT_TRUE(message);
    EXPECT_NE(message->kind(), wire::Body::Failure);
    EXPECT_NE(message->kind(), wire::Body::Revoke);
    done = message->kind() == wire::Body::Done;
  }
  for (const char* lane : {"baseline", "optimise"})
    for (const int worker : daemon.workers(lane)) {
      EXPECT_EQ(status_of(worker, "Seccomp"), "2") << lane;
      EXPECT_EQ(status_of(worker, "NoNewPrivs"), "1") << lane;
      for (const auto& [fd, what] : descriptors_of(worker))
        EXPECT_TRUE(fd <= 3 || what == "/dev/null" || what.find("memfd:") != std::string::npos ||
                    what == "anon_inode:[pidfd]")
            << fd << " " << what;
      expect_confined_children(worker);
    }
  const std::string stats = client.stats();
  EXPECT_NE(stats.find("\"confined\": \"system calls"), std::string::npos) << stats;
}

// Whoever runs code as the daemon's user must not see everybody's kernels in the front. As nobody: root sees
// everything.
TEST_F(Start, TheFrontCannotBeLookedInto) {
  if (::geteuid() != 0) GTEST_SKIP() << "a daemon of another user takes root";
  const std::string as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups ";
  fs::permissions(folder_, fs::perms(0777));
  fs::copy_file(TRIDENTD_PATH, at("tridentd"));
  const std::string shell = as_nobody + at("tridentd") + " --socket " + at("s.sock") +
                            " --cache none --state none --config none & echo $! >" + at("pid") + "; while ! [ -S " +
                            at("s.sock") + " ]; do sleep 0.02; done";
  ASSERT_EQ(std::system(shell.c_str()), 0);
  const auto looks = [&](int pid) {
    return std::system((as_nobody + "head -c1 /proc/" + std::to_string(pid) + "/maps >/dev/null 2>&1").c_str()) == 0;
  };
  const int watched = ::fork();
  if (watched == 0) {
    if (::setresgid(kNobody, kNobody, kNobody) == 0 && ::setresuid(kNobody, kNobody, kNobody) == 0)
      ::execl("/bin/sleep", "sleep", "60", nullptr);
    ::_exit(1);
  }
  EXPECT_TRUE(eventually([&] { return looks(watched); }));  // a process of that user that does not mind
  ::kill(watched, SIGKILL);
  ::waitpid(watched, nullptr, 0);
  EXPECT_FALSE(looks(daemon()));
  // Workers are confined before their first request: the one that served is, the other is about to be.
  expect_served();
  const auto workers = workers_of(daemon(), "baseline", 2);
  EXPECT_FALSE(std::all_of(workers.begin(), workers.end(), looks));
  for (const int worker : workers) EXPECT_TRUE(eventually([&] { return !looks(worker); }));
}

// The children that try kernels have a stack of their own.
TEST_F(Start, ALittleStackIsNoFaultOfAnyKernel) {
  seconds_to_the_pipes_end("ulimit -s 256; " + in_background("2>" + at("log")), false);
  RawClient client = RawClient::ready(at("s.sock"));
  client.send(submit_message(text_with_certain_gain(2)));
  while (true) {
    const auto message = client.next();
    ASSERT_TRUE(message);
    EXPECT_NE(message->kind(), wire::Body::Revoke);
    EXPECT_NE(message->kind(), wire::Body::Failure);
    if (message->kind() == wire::Body::Done || message->kind() == wire::Body::Failure) break;
  }
  EXPECT_EQ(read_all(at("log")).find("revoked"), std::string::npos) << read_all(at("log"));
}

}  // namespace
}  // namespace trident::tests
