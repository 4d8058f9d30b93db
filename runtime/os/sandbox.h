// Running untried machine code: in a forked child that can do nothing but compute, write to memory that it shares with
// its parent, read the clock and exit. A crash, an endless loop or a system call ends the child and is an answer; this
// process goes on.
//
// The child is made so that it does not matter what else this process is (Trident may be embedded in a threaded
// program with its own signal handlers): it sends no SIGCHLD and no stranger's wait() reaps it, signals are blocked and
// handlers of faults reset, it has a stack of its own and no descriptors, and between the fork and its end only
// async-signal-safe code runs. That includes the body: no allocation, no locks, no stdio; results go to memory from
// map_shared() or GuardedMapping.
//
// A SandboxEnd speaks of the body alone. What the machine did to the child (no memory, no processor, a signal from
// outside, a fault before the body began) is an error, so that nobody takes it for a fault of the code under test.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/result.h"
#include "runtime/os/memfd.h"

namespace trident::os {

struct SandboxLimits {
  std::uint64_t cpu_ns = 1'000'000'000;    ///< CPU time, after which the child is killed and has timed out
  std::uint64_t wall_ns = 30'000'000'000;  ///< by the clock: a child that has not used cpu_ns by then is an error
  std::uint32_t cpu_seconds = 10;          ///< the kernel's own backstop, should this process be stopped meanwhile
};

struct SandboxEnd {
  enum class Kind : std::uint8_t {
    finished,   ///< the body returned
    crashed,    ///< by `signal`: SIGSEGV, SIGILL, ...; SIGSYS means that it tried a system call
    timed_out,  ///< killed at the limit of CPU time
  };
  Kind kind = Kind::finished;
  int signal = 0;
};

/// Runs body(context) in a sandboxed child and waits for its end. The regions of `read_only` (whole pages) cannot be
/// written by the child. OsError when the child or its sandbox cannot be made (the body has not run then: it fails
/// closed), when the machine gave the child too little time, and when something else killed it.
Result<SandboxEnd> run_sandboxed(const SandboxLimits& limits, void (*body)(void* context), void* context,
                                 std::span<const std::span<std::byte>> read_only = {});

/// CPU time of this thread and of all sandboxed children that it has waited for: the cost of work, however busy the
/// machine is.
std::uint64_t thread_work_ns();
/// Counts work that another thread has done for this one.
void add_thread_work(std::uint64_t ns);

/// A limit of thread_work_ns() that can be asked often. That clock is a system call, of 1.5 us where memory is
/// virtualised; it is read only when, by the monotonic clock, the limit may be reached. For one thread.
class WorkLimit {
 public:
  explicit WorkLimit(std::uint64_t end_ns) : end_ns_(end_ns) {}
  [[nodiscard]] bool reached();
  [[nodiscard]] std::uint64_t end_ns() const { return end_ns_; }

 private:
  std::uint64_t end_ns_;
  std::uint64_t not_before_ns_ = 0;  ///< by monotonic_ns()
};

/// Sandboxed children that this thread has made. Where memory is virtualised each costs milliseconds: tests count them.
std::uint64_t thread_children();

/// "finished", "crashed (SIGSEGV)", "timed out": for messages.
std::string describe(const SandboxEnd& end);

}  // namespace trident::os
