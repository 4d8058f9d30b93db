// The handles of expressions and of functions share this: trident_submit() makes both, and trident.h's functions take
// either. The handle's first words are read by machine code, so they stand in front of everything else.
#pragma once

#include <mutex>

#include "clients/c/submission.h"
#include "clients/c/trident.h"

namespace trident::client {

class Context;

/// The handle with the pointer that speculative code reads (schemas/kernel_image.h).
struct CountingKernel : trident_kernel {
  std::uint64_t* misses = nullptr;
};

/// Who is told of changes; guarded by the context's mutex.
struct Listener {
  void (*changed)(trident_kernel*, void*) = nullptr;
  void* user = nullptr;
};

struct Handle : CountingKernel, Submitted {
  Handle(Context& owner, bool with_loops) : CountingKernel{}, context(owner), is_function(with_loops) {}

  static Handle* of(trident_kernel* handle) { return static_cast<Handle*>(handle); }
  static const Handle* of(const trident_kernel* handle) { return static_cast<const Handle*>(handle); }

  [[nodiscard]] virtual Submission& record() = 0;
  [[nodiscard]] virtual Listener& listener() = 0;
  [[nodiscard]] const Submission& record() const { return const_cast<Handle*>(this)->record(); }

  /// Replaces the callback. When this returns, the one before does not run any more.
  void set_callback(void (*callback)(trident_kernel*, void*), void* user);
  /// Runs the callback, if there is one, with `lock` released meanwhile.
  void tell(std::unique_lock<std::mutex>& lock) override;

  Context& context;
  const bool is_function;
};

}  // namespace trident::client
