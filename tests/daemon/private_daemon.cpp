#include "tests/daemon/private_daemon.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/os/socket.h"

namespace trident::tests {

PrivateDaemon::PrivateDaemon(std::vector<std::string> flags) : flags_(std::move(flags)) {
  char pattern[] = "/dev/shm/trident-daemon-XXXXXX";
  directory_ = ::mkdtemp(pattern);
  start();
}

PrivateDaemon::~PrivateDaemon() {
  child_ = {};
  std::filesystem::remove_all(directory_);
}

void PrivateDaemon::start() {
  std::vector<std::string> arguments = {"tridentd",
                                        "--socket",
                                        socket(),
                                        "--cache",
                                        cache(),
                                        "--state",
                                        state(),
                                        "--log-level",
                                        "warning",
                                        "--baseline-timeout-ms",
                                        "60000",  // tests stop workers for a while
                                        "--baseline-workers",
                                        "1",  // which they know by their number
                                        "--workers",
                                        "1"};
  arguments.insert(arguments.end(), flags_.begin(), flags_.end());
  auto child = os::Child::spawn({.program = TRIDENTD_PATH, .arguments = arguments});
  CHECK(child.ok());
  child_ = std::move(*child);
  CHECK(eventually([this] { return os::connect_unix(socket(), os::Blocking::yes).ok(); }));
}

void PrivateDaemon::restart() {
  child_ = {};
  start();
}

void PrivateDaemon::restart(std::vector<std::string> flags) {
  flags_ = std::move(flags);
  restart();
}

void PrivateDaemon::signal(int number) const {
  ::kill(child_.pid(), number);
}

std::vector<int> PrivateDaemon::workers(const std::string& lane, std::size_t count) const {
  return workers_of(child_.pid(), lane, count);
}

std::vector<int> workers_of(int daemon, const std::string& lane, std::size_t count) {
  std::vector<int> found;
  eventually([&] {
    found.clear();
    const std::string pid = std::to_string(daemon);
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    for (int child; children >> child;) {
      std::ifstream command("/proc/" + std::to_string(child) + "/cmdline");
      std::stringstream text;
      text << command.rdbuf();
      if (text.str().find(std::string("--worker") + '\0' + lane) != std::string::npos) found.push_back(child);
    }
    return found.size() == count;
  });
  return found;
}

std::string text_with_certain_gain(unsigned number) {
  constexpr int kIdleOperations = 150;
  std::string text = "x";
  for (int i = 0; i < kIdleOperations; ++i) text += "*1";
  return text + " + y*" + std::to_string(number + 2);
}

bool is_running(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(stat, text)) return false;
  return text[text.rfind(')') + 2] != 'Z';
}

double cpu_seconds(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  // Field 2 is the name in brackets; utime and stime are fields 14 and 15.
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::uint64_t context_switches(int pid) {
  std::uint64_t switches = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;)
      if (std::uint64_t count = 0; word.find("ctxt_switches:") != std::string::npos && status >> count)
        switches += count;
  }
  return switches;
}

void sleep_ms(unsigned ms) {
  ::usleep(ms * 1000);
}

}  // namespace trident::tests
