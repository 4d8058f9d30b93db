// A contestant of the judge: a function over its own context, run in a sandboxed child. The judge need not know the
// contents of a context, so a kernel is one kind of contestant among others.
//
// A kernel reads arrays and writes other arrays, so it can be called again. Code that stores where it loads, or
// moves the registers in its context, would do different work at its next call: it has a reset, run before each call.
//
// A child has a copy of this process's memory. Its writes to a context are lost with it, unless the context lies in
// memory from os::map_shared() or os::GuardedMapping. Each child begins with the contexts as they are here.
#pragma once

#include <cstddef>
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
  /// Undoes the changes of a call, so that every call does the same work. Null when there is nothing to undo.
  void (*reset)(void* context) = nullptr;
};

/// One call of a kernel.
struct KernelCall {
  trident_entry entry = nullptr;
  std::uint64_t n = 0;
  const void* const* in = nullptr;
  void* const* out = nullptr;
  const std::uint64_t* params = nullptr;
  const void* self = nullptr;
};
/// The `self` of a call whose kernel counts misses (schemas/kernel_image.h).
struct CountingSelf {
  const void* unused = nullptr;
  std::uint64_t* misses = nullptr;
};
static_assert(offsetof(CountingSelf, misses) == TRIDENT_SELF_MISSES_OFFSET);

/// Makes the call with the KernelCall `call`: the function of a contestant that is a kernel.
void call_kernel(void* call);

/// The limits of a child that may use `cpu_ns` of CPU time.
os::SandboxLimits child_limits(std::uint64_t cpu_ns);

/// Runs body(context) in a sandboxed child with `cpu_ns` of CPU time. The child cannot write to the `read_only` regions
/// (whole pages). Errors: those of os::run_sandboxed.
Result<os::SandboxEnd> run_in_child(std::span<const std::span<std::byte>> read_only, std::uint64_t cpu_ns,
                                    void (*body)(void* context), void* context);

}  // namespace trident::judge
