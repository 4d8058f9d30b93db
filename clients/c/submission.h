// A submission: the library's record of anything that was submitted for compilation.
//
//   Kernel (Submitted: what only its domain knows) ── Submission ── Slot ── images
//     └── trident_kernel: the handle, with the entry                (what is swapped: slot.h)
//
// Context, JobTable and the two threads know submissions and the hooks of Submitted, but no domain.
//
// Kernel (kernel.h), FunctionHandle (function.h) and Loop (loop.h) are such domains. To add one:
// 1. Write `struct Kernel final : trident_kernel, Submitted`: the C handle, whose first word is the entry, and the
// hooks.
// 2. Make `Submission submission{*this, entry, &fallback}` its last member. Calls read the entry's cache line and the
//    library's threads write to the submission: fields that never change stand between them. The fallback must be right
//    from the first call on.
// 3. complete(): the fields of ImageClaim that tell its images from others'. image_map.cpp checks them.
// 4. append_request(): its message of schemas/control.fbs. The answers need nothing new: they name the job, and Context
//    publishes, revokes, counts and notes alike. feature(): the bit by which a daemon says that it knows the message.
// 5. compile(): the engine, or an error in the answer while the engine does not know the domain.
// 6. The C interface: Context::add() takes what was made with new, Context::remove() ends it. wait() and note_of() stay
//    as they are.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/c/engine_abi.h"
#include "clients/c/image_map.h"
#include "clients/c/slot.h"
#include "clients/c/trident.h"
#include "clients/c/wire.h"

namespace trident::client {

struct Engine;

/// Sentences kept of one submission's notes: they live as long as it does. After these the last one stays.
inline constexpr std::size_t kNotesMax = 16, kNoteBytesMax = 500;
/// Times that a job is sent again because its connection broke; a job that keeps killing its daemon ends here.
inline constexpr std::uint32_t kSendsMax = 100;

enum class JobState : std::uint8_t {
  waiting,    ///< for a connection or for its turn
  sent,       ///< the daemon has it
  compiling,  ///< the engine has it
  finished,   ///< nothing more will come
};

/// An answer of the engine, and how to take it.
struct EngineAnswer {
  trident_engine_result result{};
  bool is_last = false;                ///< no search follows an image of the baseline tier
  std::optional<std::uint8_t> tier{};  ///< of the image, where the engine chooses it
  void* kept = nullptr;                ///< a search that has had its first look and may go on (engine_thread.h)
  bool may_keep = false;               ///< the engine may leave one there
  bool is_refusal = false;             ///< of the thing itself; `result` has the sentence, and:
  std::uint32_t reason = 0;
  std::uint64_t reason_address = 0;
};

/// The thing that was submitted: the hooks of its domain. It has no fields, because the entry lies beside it.
class Submitted {
 public:
  Submitted() = default;
  Submitted(const Submitted&) = delete;
  Submitted& operator=(const Submitted&) = delete;
  virtual ~Submitted() = default;

  /// Fills in the fields of `claim` that no message carries. Called with the mutex.
  virtual void complete(ImageClaim& claim) const = 0;
  /// Bits of wire::Welcome::features that a daemon must have to be asked.
  [[nodiscard]] virtual std::uint64_t feature() const { return 0; }
  /// Appends the message that asks the daemon for code. Called without the mutex, pinned.
  virtual void append_request(wire::Frame& out, std::uint64_t job, bool inline_images) const = 0;
  /// Asks the engine for code of `tier`, prepared for that work; `cancel` ends the search. Called without the mutex,
  /// pinned.
  virtual void compile(const Engine& engine, std::uint32_t tier, const std::atomic<bool>& cancel,
                       EngineAnswer& answer) = 0;
  /// A compiler makes no code of it, for this reason. Called with the mutex.
  virtual void refused(std::uint32_t reason, std::uint64_t address) {
    static_cast<void>(reason);
    static_cast<void>(address);
  }

  /// Returns true when there is a callback. Called with the mutex.
  [[nodiscard]] virtual bool listens() const { return false; }
  /// Runs the callback, with `lock` released meanwhile. Called only if it listens(), pinned.
  virtual void tell(std::unique_lock<std::mutex>& lock) { static_cast<void>(lock); }

  /// Returns how much it was called so far: elements, each call counting for some more. Needs no mutex.
  [[nodiscard]] virtual std::uint64_t called() const { return 0; }

  /// Looks at what calls have done. Returns the time of the next look, UINT64_MAX for none. Called with the mutex.
  virtual std::uint64_t look(std::uint64_t now_ns) {
    static_cast<void>(now_ns);
    return UINT64_MAX;
  }

  /// Gives up an object that a thread of the parent may have locked; null if there is none. Called in the child of a
  /// fork(). The caller keeps the object without using it, and the next call makes another.
  [[nodiscard]] virtual void* give_up_locked() noexcept { return nullptr; }
};

/// All fields are guarded by the context's mutex.
struct Submission {
  template <class Function>
  Submission(Submitted& thing, Function*& entry, Function* fallback) : owner(thing), slot(entry, fallback) {}

  /// Makes `sentence` the note; an empty one takes the note away. Keeps the old one when memory runs out.
  void set_note(std::string_view sentence) noexcept;

  Submitted& owner;  ///< the thing that this is a member of
  Slot slot;

  std::uint64_t job = 0;              ///< the number that daemon and engine know it by (job_table.h)
  std::vector<wire::Range> observed;  ///< of arguments, by variable: hints for the daemon
  std::uint64_t observed_misses = 0;  ///< of code that these ranges are to replace; else 0
  bool observed_told = true;          ///< the compiler has them, or there are none
  std::uint64_t called_told = 0;      ///< called() as the daemon knows it
  bool by_engine = false;             ///< the engine has taken the job
  bool searched = false;              ///< the engine searches for it now, or keeps its search
  bool search_again = false;          ///< for ranges that this search does not know
  JobState state = JobState::waiting;
  std::uint32_t sends = 0;
  bool answered = false;  ///< an image or a line of progress has come since it was sent

  bool in_callback = false;  ///< owner.tell() is running, in
  pthread_t callback_thread{};
  Submission* next_closing = nullptr;  ///< of those that were closed while pinned

  double baseline_ns = 0, optimised_ns = 0;
  std::uint32_t stage = TRIDENT_STAGE_NONE, stage_done = 0, stage_total = 0;  ///< the last progress heard of
  double best_ratio = 0;
  std::deque<std::string> notes;  ///< every sentence that has been the note
  const char* note = nullptr;     ///< one of them: why no better code runs
};

}  // namespace trident::client
