// The state of one trident_ctx: its submissions, the queue of jobs, and the two threads that work behind its caller's
// back.
//
//   caller ── submit ──> fresh jobs ──> I/O thread ── socket ──> daemon
//                             │             │ no daemon, engine allowed
//                             └─────────────┴──> engine thread (libtrident-engine.so)
//
// A submission is a kernel's, or that of a thing of another domain: this file, the table and the threads know none
// (submission.h says how one is added).
//
// One mutex guards everything here, in Submission and in Kernel below its line; nobody holds it over a system call, a
// callback or an allocation of unbounded size. A thread that needs a submission outside the mutex pins it; closing a
// pinned one leaves the freeing to the one who unpins.
//
// fork(): the prepare handler takes the mutex of every context, so the child's copy is consistent. The child has no
// threads and must not use the parent's socket: it forgets both and starts anew at its next submission (fork.cpp).
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clients/c/image_map.h"
#include "clients/c/job_table.h"
#include "clients/c/submission.h"
#include "clients/c/team.h"
#include "clients/c/trident.h"
#include "clients/c/wire.h"
#include "runtime/base/result.h"

namespace trident::client {

class Context;
class IoThread;
class EngineThread;

/// Numbers of closed submissions that a thread's queues may hold.
inline constexpr std::size_t kStaleMax = 1024;

struct Settings {
  trident_mode mode = TRIDENT_MODE_AUTO;
  std::string socket_path;
  std::uint32_t connect_timeout_ms = 1000;
  bool speculate = true;     ///< tell the daemon about the data of calls
  unsigned threads = 1;      ///< of a divided call that does not say
  unsigned threads_max = 1;  ///< of any: processors that there were when the context was opened
};

/// One question for the daemon's counters; lives on the asker's stack.
struct StatsRequest {
  std::uint64_t id = 0;
  bool sent = false, answered = false, failed = false;
  std::string json;
};

/// A submission that this thread may use without the mutex; unpinned (and freed, if closed meanwhile) on destruction.
/// Its fields still need the mutex, the hooks of its owner do not.
class Pin {
 public:
  Pin() = default;
  Pin(Context& context, Submission& submission) : context_(&context), submission_(&submission) {}
  Pin(Pin&& other) noexcept : context_(other.context_), submission_(std::exchange(other.submission_, nullptr)) {}
  Pin& operator=(Pin&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(submission_, other.submission_);
    return *this;
  }
  ~Pin();
  explicit operator bool() const { return submission_ != nullptr; }
  Submission* operator->() const { return submission_; }
  Submission& operator*() const { return *submission_; }

 private:
  Context* context_ = nullptr;
  Submission* submission_ = nullptr;
};

/// How an image reached us.
struct Delivery {
  ImageClaim claim;  ///< as the message has it; the owner completes it
  os::Fd file;
  bool inline_image = false;
  std::vector<std::byte> bytes;
  double baseline_ns = 0, optimised_ns = 0;
};

class Context {
 public:
  explicit Context(Settings settings);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // ---- callers' side (api.cpp) ----
  /// Mode daemon: waits for the first welcome. Mode embedded: loads the engine.
  Result<void> start();
  /// Stops the threads; the memory goes when the last submission is closed too.
  void close();
  /// Takes over a submission, whose owner was made with new, and asks for code. Changes nothing when it throws
  /// bad_alloc.
  void add(Submission& submission);
  /// Closes the submission and destroys its owner, now or when no thread pins it any more.
  void remove(Submission& submission);
  /// Waits until code of `tier` runs or nothing more will come.
  Result<void> wait(Submission& submission, std::uint32_t tier, std::uint32_t timeout_ms);
  /// Locks the mutex at a moment when no other thread runs the submission's callback.
  std::unique_lock<std::mutex> lock_outside_callback(const Submission& submission);
  Result<std::string> daemon_stats(std::uint32_t timeout_ms);
  trident_stats stats();
  /// Passes on to the daemon what a loop has done, if the daemon made its code.
  void tell_seen(const Submission& submission, const wire::LoopSeen& seen);
  /// Passes ranges of a kernel's arguments on to the daemon; the first ones only.
  void tell_observed(Submission& submission, std::vector<wire::Range> ranges);
  /// Keeps the context beyond close(), until release().
  void hold();
  void release();

  // ---- the library's threads' side ----
  /// Looks at what calls have done, if it is time; the next time is look_ns. Needs the mutex.
  void look(std::uint64_t now_ns);
  Pin pin(std::uint64_t job);
  /// Maps, validates and publishes; counts a refusal. RejectedImage and ExecDenied as map_image().
  Result<void> deliver(std::uint64_t job, Delivery delivery);
  void note_progress(const wire::Progress& progress);
  void revoke(std::uint64_t job, std::uint8_t tier, std::string_view why);
  /// A compiler makes no code of it; its job ends.
  void refuse(std::uint64_t job, std::uint32_t reason, std::uint64_t address, std::string_view why);
  enum class End : std::uint8_t { gain, no_gain, revoked, failed, refused };
  /// `why`: the submission's note; empty for what is optimised.
  void finish(std::uint64_t job, End end, std::string_view why);
  /// Ends all jobs without code: this CPU or system cannot run images.
  void finish_all(std::string_view why);
  /// Why no better code runs; null when it does, or nothing stands in its way.
  const char* note_of(Submission& submission);

  Team team;  ///< helps with divided calls

  std::mutex mutex;
  std::condition_variable changed;  ///< tiers, finished jobs, connection state, answered stats
  // Guarded by the mutex:
  JobTable jobs;
  Submission* closing = nullptr;       ///< those that were closed while pinned, linked by next_closing
  std::vector<std::uint64_t> fresh;    ///< waiting jobs that no thread has taken yet
  std::vector<std::uint64_t> dropped;  ///< closed submissions' jobs that the daemon should forget
  std::vector<StatsRequest*> stats_requests;
  std::vector<wire::LoopSeen> seen;  ///< for the daemon; one a job
  bool has_called = false;           ///< a submission was called much more often than the daemon was told
  bool has_observed = false;         ///< a submission has ranges that the daemon was not told
  std::uint64_t look_ns = 0;         ///< when look() has to be called
  std::uint64_t rested_ns = 0;       ///< before that it is not called again: many kernels take long to look at
  std::size_t unfinished = 0;        ///< submissions in any state but finished
  bool stopping = false;
  bool io_sleeping = false;     ///< the I/O thread is in, or on its way to, poll()
  bool io_called = false;       ///< wake_io() was called since the I/O thread's last turn
  bool connect_wanted = false;  ///< somebody waits for a connection although there is no job
  bool connected = false;       ///< welcomed
  int socket_fd = -1;           ///< the I/O thread's socket, for a forked child to close
  std::uint64_t failed_attempts = 0;
  bool unreachable = false;        ///< the last attempt failed for a reason that no starting daemon changes
  std::string last_failure;        ///< why the last attempt to connect failed
  std::string engine_failure;      ///< why there is no engine, once it was needed
  std::optional<Error> no_thread;  ///< why the last attempt to start the threads that ask a compiler failed
  trident_stats counters{};

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// Wakes the I/O thread if it sleeps; unlocks first, so that it does not wake into a held mutex.
  void wake_io(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] int wake_fd() const { return wake_fd_; }
  /// The engine in this process, loaded on first need by the I/O thread; null when there is none.
  EngineThread* engine();

  // ---- fork.cpp ----
  void prepare_fork() { mutex.lock(); }
  void after_fork_in_parent() { mutex.unlock(); }
  void after_fork_in_child();

 protected:
  virtual ~Context();

 private:
  friend class Pin;
  void unpin(Submission& submission);
  bool pass_on_observed(Submission& submission);
  void look_soon();
  [[nodiscard]] std::string_view why_no_compiler() const;
  bool ensure_threads();
  [[nodiscard]] std::string why_waiting() const;
  static std::string_view last_note(const Submission& submission, End end, std::string_view why);
  void end_job(Submission& submission, std::string_view why);
  void tell_change(Submission& submission, std::unique_lock<std::mutex>& lock);
  void forget(void* object) noexcept;
  void free_closed();

  Settings settings_;
  std::uint64_t references_ = 1;  // trident_open's, and one per submission and hold()
  std::uint64_t last_stats_id_ = 0;
  std::string exec_denial_;  ///< why this process can run no code, once that is known
  int wake_fd_ = -1;
  std::unique_ptr<IoThread> io_;
  std::unique_ptr<EngineThread> engine_;
  bool engine_tried_ = false;
  std::vector<void*> forgotten_;  // the parent's threads' objects in a forked child: never to be touched
};

/// fork.cpp: every open context is known to the fork handlers.
void register_for_fork(Context* context);
void unregister_for_fork(Context* context);

}  // namespace trident::client
