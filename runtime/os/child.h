// Children that a daemon supervises: the one descriptor over which they are spoken to, an end that can be polled for,
// and no life after their parent's. (process.h has the tools' children: commands and pipes.)
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::os {

/// How to start a child.
struct SpawnOptions {
  std::string program;                 ///< a path; no search
  std::vector<std::string> arguments;  ///< argv, the program's name first
  int inherited_fd = -1;               ///< becomes kInheritedFd in the child; -1: none. All others above 2 are closed
  int nice = 0;                        ///< added to this process's niceness
  bool die_with_parent = true;         ///< SIGKILL when the thread that spawned ends
};
inline constexpr int kInheritedFd = 3;

/// A child that is killed and reaped on destruction unless wait() reaped it.
class Child {
 public:
  Child() = default;
  static Result<Child> spawn(const SpawnOptions& options);
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}
  Child& operator=(Child&& other) noexcept;
  ~Child();

  [[nodiscard]] int pid() const { return pid_; }
  /// Becomes readable when the child has ended; not valid where the system refuses pidfds.
  [[nodiscard]] const Fd& pidfd() const { return pidfd_; }
  void kill();
  void signal(int number);
  /// Waits for the end and reaps. Says how it ended: "exit 3", "signal 9".
  std::string wait();
  /// Waits at most `timeout_ms` for the end. After true, wait() does not block.
  [[nodiscard]] bool ends_within(int timeout_ms) const;

 private:
  int pid_ = -1;
  Fd pidfd_;
};

/// The path under which this very program can be started again, even if its file was replaced meanwhile.
inline constexpr const char* kSelfProgram = "/proc/self/exe";

}  // namespace trident::os
