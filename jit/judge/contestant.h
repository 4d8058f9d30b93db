// What the judge runs: a function over a context of its own, and the sandboxed child in which it runs. The judge need
// not know what a context holds, so that a kernel is one kind of contestant among others.
//
// A kernel reads arrays and writes other arrays: it may be called again as it is. Code that stores where it loads, or
// moves the registers in its context, finds other work at its next call. It has a reset, which runs before each call.
//
// A child has a copy of this process's memory: what it writes into a context is gone with it, unless the context lies
// in memory from os::map_shared() or os::GuardedMapping. Each child begins with the contexts as they are here.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/result.h"
#include "runtime/os/sandbox.h"
#include "schemas/kernel_image.h"

namespace trident::judge {

/// Runs in the child: neither function may allocate, lock or make a system call (runtime/os/sandbox.h).
struct Contestant {
  void (*fn)(void* context) = nullptr;
  void* context = nullptr;
  /// Puts back what a call changes, so that every call does the same work. Null when there is nothing to put back.
  void (*reset)(void* context) = nullptr;
};

/// One call of a kernel.
struct KernelCall {
  trident_entry entry = nullptr;
  std::uint64_t n = 0;
  const void* const* in = nullptr;
  void* const* out = nullptr;
  const std::uint64_t* params = nullptr;
};
/// Makes the call with the KernelCall `call`: the function of a contestant that is a kernel.
void call_kernel(void* call);

/// Runs body(context) in a sandboxed child with `cpu_ns` of CPU time. The child cannot write to the `read_only` regions
/// (whole pages). Errors: those of os::run_sandboxed.
Result<os::SandboxEnd> run_in_child(std::span<const std::span<std::byte>> read_only, std::uint64_t cpu_ns,
                                    void (*body)(void* context), void* context);

}  // namespace trident::judge
