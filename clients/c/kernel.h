// A kernel as the client sees it: the handle whose first word is the entry, the expression behind it, the interpreter's
// form of it, and its submission, whose slot swaps the entry. The slot's fallback is the interpreter's trampoline,
// which finds the kernel through `self`.
//
// Fields below the line are guarded by the context's mutex. `lowered` is made by whoever needs it first, without a
// lock, so that a call never waits for another thread and fork() cannot catch it half-way; a lost race costs one
// lowering thrown away.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "clients/c/data_watch.h"
#include "clients/c/divided_call.h"
#include "clients/c/handle.h"
#include "clients/c/submission.h"
#include "clients/c/trident.h"
#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "runtime/base/result.h"

namespace trident::client {

class Context;

/// An expression as this process has lowered it.
struct Lowered {
  kir::Plan plan;  ///< what the interpreter runs
  Division division;
};

struct Kernel final : Handle {
  Kernel(Context& owner, expr::Expr&& expression, const expr::Policy& how, std::uint32_t length);
  ~Kernel() override;

  static Kernel* of(trident_kernel* handle) { return static_cast<Kernel*>(handle); }
  static const Kernel* of(const trident_kernel* handle) { return static_cast<const Kernel*>(handle); }

  /// Lowers on first need. Errors (LimitExceeded, OutOfMemory) are not kept.
  Result<const Lowered*> lower() const;
  /// Returns the code that a call of these arguments runs, and notes the call where calls are counted or watched.
  trident_entry_fn enter(std::uint64_t n, const void* const* in, const std::uint64_t* params) const;
  /// Returns the code that calls run now; for a part of a call that notes itself.
  trident_entry_fn code() const;
  /// Adds such a part's elements to the call's weight, where calls are counted.
  void count_part(std::uint64_t elements) const;
  /// Tells the daemon the ranges of a call's arguments; once.
  void observe(std::uint64_t n, const void* const* in, const std::uint64_t* params) const;

  // The hooks of a submitted thing:
  using Handle::record;
  [[nodiscard]] Submission& record() override { return submission; }
  [[nodiscard]] Listener& listener() override { return told; }
  void complete(ImageClaim& claim) const override;
  void append_request(wire::Frame& out, std::uint64_t job, bool inline_images) const override;
  void compile(const Engine& engine, std::uint32_t tier, const std::atomic<bool>& cancel,
               EngineAnswer& answer) override;
  [[nodiscard]] bool listens() const override { return told.changed != nullptr; }
  [[nodiscard]] std::uint64_t called() const override { return call_weight.load(std::memory_order_relaxed); }
  std::uint64_t look(std::uint64_t now_ns) override;
  [[nodiscard]] void* give_up_locked() noexcept override;

  const expr::Expr expr;
  const expr::Policy policy;
  const std::uint32_t elements;
  std::vector<expr::Variable> scalars;  ///< a call's parameters, in order
  std::uint32_t array_count = 0, scalar_count = 0;
  std::uint64_t scalar_outputs = 0;  ///< bit i: output i is one element
  mutable std::atomic<const Lowered*> lowered{nullptr};
  alignas(64) std::uint64_t miss_count = 0;           ///< written by calls, atomically, and so apart from all else
  mutable std::atomic<std::uint64_t> call_weight{0};  ///< likewise, while code is waited for
  mutable ShortCalls short_calls;                     ///< likewise, of calls that ask for threads

  // ---- guarded by the context's mutex ----
  alignas(64) Listener told;
  Submission submission;
  std::uint64_t counted_since_ns = 0;
  std::unique_ptr<DataWatch> watch;  ///< null: nothing is learnt; set for good by the constructor
};

}  // namespace trident::client
