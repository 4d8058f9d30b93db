// Child processes of the tools: commands with captured output, and forked children that stream records back.
//
// Not for untried machine code from the daemon: that needs a sandbox. A child made here is killed and reaped when its
// owner goes, so that a tool that stops halfway leaves nothing behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::os {

/// How a process ended: an exit status, or the signal that killed it.
struct Exit {
  int status = 0;  ///< meaningful when signal == 0
  int signal = 0;
  [[nodiscard]] bool clean() const { return signal == 0 && status == 0; }
  /// "exit status 3" or "signal 11 (Segmentation fault)".
  [[nodiscard]] std::string describe() const;
};

class Process {
 public:
  struct Options {
    bool pipe_input = false;    ///< else the child reads /dev/null
    bool pipe_output = true;    ///< else the child writes to this process's standard output
    bool merge_errors = false;  ///< standard error into the output pipe; else to this process's standard error
    std::vector<std::string> environment;  ///< NAME=value, added to this process's
  };
  /// Starts argv[0], searched in PATH. NotFound when there is no such program.
  static Result<Process> spawn(std::span<const std::string> argv, const Options& options);
  /// Forks a child that runs `body(write end of a pipe)` and then ends with the status that `body` returns, without
  /// running destructors or exit handlers of the parent. This process must have one thread.
  static Result<Process> fork_child(const std::function<int(int)>& body);

  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();

  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] bool running() const { return pid_ > 0; }
  [[nodiscard]] int input() const { return input_.get(); }
  [[nodiscard]] int output() const { return output_.get(); }
  void close_input() { input_.reset(); }

  /// Reads up to `size` bytes of the output; 0 at its end. Timeout after `timeout_ms` without a byte.
  Result<std::size_t> read_some(std::byte* buffer, std::size_t size, std::uint32_t timeout_ms);
  /// Reads everything up to the end of the output.
  Result<std::string> read_all(std::uint32_t timeout_ms);
  /// Waits for the end; on Timeout the process still runs.
  Result<Exit> wait(std::uint32_t timeout_ms);
  /// Sends a signal (SIGTERM for a polite end); nothing when it has ended already.
  void send_signal(int signal);

 private:
  Process(int pid, Fd input, Fd output) : pid_(pid), input_(std::move(input)), output_(std::move(output)) {}
  void kill_and_reap();
  int pid_ = -1;
  Fd input_, output_;
};

struct CommandResult {
  Exit exit;
  std::string output;  ///< standard output and error
};
/// Runs a command to its end; killed after `timeout_ms`. Safe to call from several threads.
Result<CommandResult> run_command(std::span<const std::string> argv, std::uint32_t timeout_ms);

/// Writes all of `bytes`, however often the system interrupts. Disconnected when the reader is gone.
Result<void> write_fully(int fd, std::span<const std::byte> bytes);
/// Reads exactly `size` bytes. Disconnected at an early end, Timeout after `timeout_ms` without a byte.
Result<void> read_fully(int fd, std::byte* buffer, std::size_t size, std::uint32_t timeout_ms);

/// Both 0 when it is no terminal.
struct TerminalSize {
  unsigned columns = 0, rows = 0;
  bool operator==(const TerminalSize&) const = default;
};
/// Size of the terminal behind `fd` now.
TerminalSize terminal_size(int fd);

/// A shared object, open until destruction.
class SharedObject {
 public:
  static Result<SharedObject> open(const std::string& path);
  SharedObject(SharedObject&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SharedObject& operator=(SharedObject&& other) noexcept;
  ~SharedObject();
  /// The address of `name`; NotFound when there is none.
  [[nodiscard]] Result<void*> symbol(const char* name) const;

 private:
  explicit SharedObject(void* handle) : handle_(handle) {}
  void* handle_ = nullptr;
};

}  // namespace trident::os
