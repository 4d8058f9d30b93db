// A process that forks sandboxed children for this one, and keeps the next child waiting before it is needed.
//
// After a fork() the first write to every page of the forking process is a fault, which takes 11 us where memory is
// virtualised; a compiler writes hundreds of pages. The server is forked once and writes few pages, so these faults and
// the fork itself are not in the way of whoever waits for a child's results.
//
// All children run one body on one context, which are fixed when the server starts. They share the memory that was
// shared then (map_shared, GuardedMapping), and see all else as it was then.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/result.h"
#include "runtime/os/sandbox.h"

namespace trident::os {

/// For one thread. The server and its child are killed on destruction, and when the thread that started them ends.
class ForkServer {
 public:
  /// The functions of children. They run in the sandbox (see sandbox.h for what a body may do).
  struct Work {
    void (*prepare)(void* context) = nullptr;  ///< run while nobody waits: touches pages. May be null
    void (*body)(void* context) = nullptr;
    void* context = nullptr;
    /// Cannot be written by children; the spans themselves live as long as the server.
    std::span<const std::span<std::byte>> read_only{};
  };
  /// OsError when the server cannot be made.
  static Result<ForkServer> start(const SandboxLimits& limits, const Work& work);
  ForkServer(ForkServer&&) noexcept;
  ForkServer& operator=(ForkServer&&) = delete;
  ~ForkServer();

  /// Waits until a child waits. Until then the child before it may still write to shared memory. OsError when there is
  /// no server any more or it cannot make children.
  Result<void> wait_for_child();
  /// Lets the child run its body, and waits for its end; wait_for_child() comes first. Errors: those of
  /// run_sandboxed().
  Result<SandboxEnd> run();

 private:
  struct State;
  explicit ForkServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trident::os
