// One sandboxed child, from its fork to its end: the mechanism of sandbox.h and fork_server.h.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"
#include "runtime/os/memfd.h"
#include "runtime/os/sandbox.h"

namespace trident::os {

/// All that a child does. The child sees it as it was at the fork.
struct ChildPlan {
  void (*body)(void*) = nullptr;
  void* context = nullptr;
  std::span<const std::span<std::byte>> read_only{};
  pid_t parent = 0;
  std::uint32_t cpu_seconds = 0;
  volatile bool* body_began = nullptr;  ///< in shared memory
  /// The word by which the child is told to begin, and tells that it is done; null: it begins at once. The sandbox
  /// lets the child wait on this word and wake others that do, and on no other.
  std::atomic<std::uint32_t>* word = nullptr;
  void (*wait)(void*) = nullptr;  ///< called with `opaque` when the sandbox is closed, before the body
  void (*done)(void*) = nullptr;  ///< called with `opaque` after the body
  void* opaque = nullptr;
};

struct ChildProcess {
  pid_t pid = -1;
  Fd pidfd;
};

/// A stack for a child, between two pages that cannot be touched.
class ChildStack {
 public:
  static Result<ChildStack> make();
  [[nodiscard]] std::byte* top() const;

 private:
  explicit ChildStack(Mapping whole) : whole_(std::move(whole)) {}
  Mapping whole_;
};

/// Forks a process that runs main(opaque) on `stack`: without SIGCHLD at its end, without the handlers that other
/// libraries hang on fork(), and with all signals blocked, so that no handler of the host runs in it. OsError.
Result<ChildProcess> fork_quietly(int (*main)(void*), void* opaque, const ChildStack& stack);

/// Forks a child that closes its sandbox and then runs the body of `plan`.
Result<ChildProcess> fork_sandboxed(ChildPlan& plan, const ChildStack& stack);

/// SIGKILL for `child`.
void kill_child(const ChildProcess& child);

/// The end of a child, and the CPU time that it has used.
struct ChildEnd {
  Result<SandboxEnd> end;
  std::uint64_t used_ns = 0;
};
/// Waits for the end of `child`, which is killed at a limit, and reaps it. Errors: those of run_sandboxed().
ChildEnd wait_for_end(const ChildProcess& child, const SandboxLimits& limits, const volatile bool& body_began);

/// Adds a child and its CPU time to what thread_children() and thread_work_ns() say.
void count_child(std::uint64_t used_ns);

}  // namespace trident::os
