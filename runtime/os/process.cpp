#include "runtime/os/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/os/clock.h"
#include "runtime/os/os_error.h"

extern char** environ;

namespace trident::os {
namespace {

struct Pipe {
  Fd read, write;
};
Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return os_error("pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

/// posix_spawn's file actions and attributes, freed at the end of the scope.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    // A tool may have blocked or ignored signals; its children start from the usual state.
    sigset_t none, by_default;
    sigemptyset(&none);
    sigemptyset(&by_default);
    sigaddset(&by_default, SIGPIPE);
    sigaddset(&by_default, SIGXFSZ);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &by_default);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

/// True when `fd` has something to read (or has ended) within `timeout_ms`.
Result<bool> wait_readable(int fd, std::uint32_t timeout_ms) {
  const std::uint64_t deadline_ns = monotonic_ns() + std::uint64_t{timeout_ms} * 1'000'000;
  while (true) {
    const std::uint64_t now_ns = monotonic_ns();
    const int left_ms = now_ns >= deadline_ns ? 0 : static_cast<int>((deadline_ns - now_ns + 999'999) / 1'000'000);
    pollfd p{fd, POLLIN, 0};
    const int ready = ::poll(&p, 1, left_ms);
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return os_error("poll");
  }
}

Result<std::size_t> read_once(int fd, std::byte* buffer, std::size_t size, std::uint32_t timeout_ms) {
  TRY(const bool ready, wait_readable(fd, timeout_ms));
  if (!ready) return make_error(ErrorCode::kTimeout, "a child process wrote nothing for %u ms", timeout_ms);
  while (true) {
    const ssize_t n = ::read(fd, buffer, size);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) return os_error("read");
  }
}

}  // namespace

std::string Exit::describe() const {
  if (signal == 0) return "exit status " + std::to_string(status);
  return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

Result<Process> Process::spawn(std::span<const std::string> argv, const Options& options) {
  CHECK(!argv.empty());
  SpawnPlan plan;
  Pipe in, out;
  if (options.pipe_input) {
    TRY(in, make_pipe());
    posix_spawn_file_actions_adddup2(&plan.actions, in.read.get(), STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  if (options.pipe_output) {
    TRY(out, make_pipe());
    posix_spawn_file_actions_adddup2(&plan.actions, out.write.get(), STDOUT_FILENO);
    if (options.merge_errors) posix_spawn_file_actions_adddup2(&plan.actions, out.write.get(), STDERR_FILENO);
  }
  std::vector<char*> arguments, environment;
  for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  for (const std::string& e : options.environment) environment.push_back(const_cast<char*>(e.c_str()));
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view name = std::string_view(*e).substr(0, std::string_view(*e).find('=') + 1);
    bool replaced = false;
    for (const std::string& added : options.environment) replaced = replaced || added.starts_with(name);
    if (!replaced) environment.push_back(*e);
  }
  environment.push_back(nullptr);

  pid_t pid = -1;
  const int failed =
      ::posix_spawnp(&pid, arguments[0], &plan.actions, &plan.attributes, arguments.data(), environment.data());
  if (failed == ENOENT) return make_error(ErrorCode::kNotFound, "%s: no such program", argv[0].c_str());
  if (failed != 0) return os_error(argv[0].c_str(), failed);
  return Process(pid, std::move(in.write), std::move(out.read));
}

Result<Process> Process::fork_child(const std::function<int(int)>& body) {
  TRY(Pipe pipe, make_pipe());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return os_error("fork");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a killed tool must not leave a child that burns the processor
    if (::getppid() != parent) ::_exit(127);
    pipe.read.reset();
    ::_exit(body(pipe.write.get()));
  }
  return Process(pid, Fd(), std::move(pipe.read));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), input_(std::move(other.input_)), output_(std::move(other.output_)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill_and_reap();
    pid_ = std::exchange(other.pid_, -1);
    input_ = std::move(other.input_);
    output_ = std::move(other.output_);
  }
  return *this;
}

Process::~Process() {
  kill_and_reap();
}

void Process::kill_and_reap() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void Process::send_signal(int signal) {
  if (pid_ > 0) ::kill(pid_, signal);
}

Result<std::size_t> Process::read_some(std::byte* buffer, std::size_t size, std::uint32_t timeout_ms) {
  return read_once(output_.get(), buffer, size, timeout_ms);
}

Result<std::string> Process::read_all(std::uint32_t timeout_ms) {
  std::string text;
  std::array<std::byte, 16384> buffer;
  while (true) {
    TRY(const std::size_t n, read_some(buffer.data(), buffer.size(), timeout_ms));
    if (n == 0) return text;
    text.append(reinterpret_cast<const char*>(buffer.data()), n);
  }
}

Result<Exit> Process::wait(std::uint32_t timeout_ms) {
  if (pid_ <= 0) return make_error(ErrorCode::kNotFound, "the process has already been waited for");
  const std::uint64_t deadline_ns = monotonic_ns() + std::uint64_t{timeout_ms} * 1'000'000;
  for (useconds_t pause_us = 50;; pause_us = pause_us < 5000 ? pause_us * 2 : pause_us) {
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == pid_) {
      pid_ = -1;
      if (WIFSIGNALED(status)) return Exit{0, WTERMSIG(status)};
      return Exit{WEXITSTATUS(status), 0};
    }
    if (got < 0 && errno != EINTR) return os_error("waitpid");
    if (monotonic_ns() >= deadline_ns) return make_error(ErrorCode::kTimeout, "the process is still running");
    ::usleep(pause_us);
  }
}

Result<CommandResult> run_command(std::span<const std::string> argv, std::uint32_t timeout_ms) {
  Process::Options options;
  options.merge_errors = true;
  TRY(Process process, Process::spawn(argv, options));
  TRY(std::string output, process.read_all(timeout_ms));
  TRY(const Exit exit, process.wait(timeout_ms));
  return CommandResult{exit, std::move(output)};
}

Result<void> write_fully(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE) return make_error(ErrorCode::kDisconnected, "the reader of a pipe is gone");
    if (n <= 0) return os_error("write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> read_fully(int fd, std::byte* buffer, std::size_t size, std::uint32_t timeout_ms) {
  while (size > 0) {
    TRY(const std::size_t n, read_once(fd, buffer, size, timeout_ms));
    if (n == 0) return make_error(ErrorCode::kDisconnected, "the writer of a pipe is gone");
    buffer += n;
    size -= n;
  }
  return {};
}

TerminalSize terminal_size(int fd) {
  if (::isatty(fd) == 0) return {};
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

Result<SharedObject> SharedObject::open(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return make_error(ErrorCode::kOsError, "%s", why != nullptr ? why : "dlopen failed");
  }
  return SharedObject(handle);
}

SharedObject& SharedObject::operator=(SharedObject&& other) noexcept {
  if (this != &other) {
    if (handle_ != nullptr) ::dlclose(handle_);
    handle_ = std::exchange(other.handle_, nullptr);
  }
  return *this;
}

SharedObject::~SharedObject() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

Result<void*> SharedObject::symbol(const char* name) const {
  void* address = ::dlsym(handle_, name);
  if (address == nullptr) return make_error(ErrorCode::kNotFound, "no symbol '%s' in the shared object", name);
  return address;
}

}  // namespace trident::os
