// A kernel as the client sees it: the handle whose first word is the entry, the expression behind it, the interpreter's
// form of it, and the slot that swaps the entry. The slot's fallback is the interpreter's trampoline, which finds the
// kernel through `self`.
//
// Fields below the line are guarded by the context's mutex. `plan` is made by whoever needs it first, without a
// lock, so that a call never waits for another thread and fork() cannot catch it half-way; a lost race costs one
// lowering thrown away.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "clients/c/image_map.h"
#include "clients/c/slot.h"
#include "clients/c/trident.h"
#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "runtime/base/result.h"

namespace trident::client {

class Context;

/// Sentences kept of one kernel's notes: they live as long as it does. After these the last one stays.
inline constexpr std::size_t kNotesMax = 16, kNoteBytesMax = 500;
/// Times that a job is sent again because its connection broke; a job that keeps killing its daemon ends here.
inline constexpr std::uint32_t kSendsMax = 100;

enum class JobState : std::uint8_t {
  waiting,    ///< for a connection or for its turn
  sent,       ///< the daemon has it
  compiling,  ///< the engine has it
  finished,   ///< nothing more will come
};

struct Kernel : trident_kernel {
  Kernel(Context& owner, expr::Expr&& expression, const expr::Policy& how, std::uint32_t length);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  static Kernel* of(trident_kernel* handle) { return static_cast<Kernel*>(handle); }
  static const Kernel* of(const trident_kernel* handle) { return static_cast<const Kernel*>(handle); }

  /// Returns the plan that the interpreter runs, made on first need. Errors (LimitExceeded, OutOfMemory) are not kept.
  Result<const kir::Plan*> lower() const;

  Context& context;
  const expr::Expr expr;
  const expr::Policy policy;
  const std::uint32_t elements;
  std::vector<expr::Variable> scalars;  ///< a call's parameters, in order
  std::uint32_t array_count = 0, scalar_count = 0;
  std::uint64_t scalar_outputs = 0;  ///< bit i: output i is one element
  mutable std::atomic<const kir::Plan*> plan{nullptr};

  // ---- guarded by the context's mutex ----
  std::uint64_t job = 0;
  JobState state = JobState::waiting;
  Slot slot;
  Kernel* next_closing = nullptr;  ///< of those that were closed while pinned
  bool in_callback = false;        ///< `changed` is running, in
  pthread_t callback_thread{};
  std::uint32_t sends = 0;
  bool answered = false;  ///< an image or a line of progress has come since it was sent
  double baseline_ns = 0, optimised_ns = 0;
  std::uint32_t stage = TRIDENT_STAGE_NONE, stage_done = 0, stage_total = 0;  ///< the last progress heard of
  double best_ratio = 0;
  void (*changed)(trident_kernel*, void*) = nullptr;
  void* changed_user = nullptr;
  std::deque<std::string> notes;  ///< every sentence that has been the note
  const char* note = nullptr;     ///< one of them: why no better code runs

  // The following need the mutex.
  [[nodiscard]] ImageClaim claim() const;  ///< with the counts of this kernel; the rest is the message's
  /// Makes `sentence` the note; an empty one takes the note away. Keeps the old one when memory runs out.
  void set_note(std::string_view sentence) noexcept;
};

}  // namespace trident::client
