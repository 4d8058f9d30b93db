// The compiler in this process, for mode embedded and for mode auto where no daemon answers: libtrident-engine.so is
// loaded on first need. A thread of low priority makes baselines, others of low priority optimise, what was called most
// first: a search takes seconds, and no baseline waits for one. When a search has found its first good kernel it is
// left, and goes on when all others that wait have theirs; while it has found none, it is not left.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "clients/c/context.h"
#include "clients/c/engine_library.h"
#include "runtime/base/result.h"

namespace trident::client {

class EngineThread {
 public:
  /// Loads the engine and starts the thread. Errors of load_engine(), OsError.
  static Result<std::unique_ptr<EngineThread>> start(Context& context);

  /// Takes a waiting job. Needs the context's mutex.
  void add(std::uint64_t job);
  /// Takes ranges of data that the submission, whose job this thread has taken, was not told. Needs the context's
  /// mutex.
  void observe(Submission& submission);
  /// Returns true when jobs wait for their turn. Needs the context's mutex.
  [[nodiscard]] bool has_waiting() const { return !baseline_.empty() || !optimise_.empty() || !kept_.empty(); }
  /// Appends those jobs to `waiting` and forgets them. Needs the context's mutex.
  void give_back(std::deque<std::uint64_t>& waiting);
  /// Call with the context's `stopping` set; then join().
  void wake() { work_.notify_all(); }
  void join();

 private:
  /// A job that a thread is to do.
  struct Work {
    std::uint64_t job = 0;
    std::uint32_t tier = 0;  ///< 0: none
    void* kept = nullptr;    ///< the search that goes on
  };
  /// A search that waits to go on.
  struct Kept {
    std::uint64_t job = 0;
    void* search = nullptr;
  };

  explicit EngineThread(Context& context) : context_(context) {}
  static void* main(void* self);
  static void* optimise_main(void* self);
  void forget_closed();
  /// Runs jobs until the context stops: baselines, or optimisations.
  void run(bool baselines);
  /// Adds a job to those that wait for the second tier, and a thread if it would wait for another job.
  void wait_for_optimise(std::uint64_t job);
  /// Takes the next job of the tier: of the second what was called most, and kept searches behind all others. Needs the
  /// context's mutex.
  Work take(std::uint32_t tier);
  [[nodiscard]] std::uint64_t called(std::uint64_t job) const;
  void wait_for_work(std::unique_lock<std::mutex>& lock, bool baselines);
  /// Returns the tier of the job that a thread is to take, 0 for none. Needs the context's mutex.
  [[nodiscard]] std::uint32_t next_tier(bool baselines) const;
  [[nodiscard]] bool is_queued(std::uint64_t job) const;
  /// Adds a job to those that wait for the second tier. Needs the context's mutex.
  void queue_search(Submission& submission);
  /// Returns true, and lets the job wait for another search, where data were seen that the last one did not know.
  bool search_follows(std::uint64_t job);
  void compile(const Work& work);
  [[nodiscard]] bool may_keep();
  /// Keeps a search that has had its first look, and uses what that has found.
  void keep(std::uint64_t job, EngineAnswer& answer);
  void use(std::uint64_t job, std::uint32_t tier, EngineAnswer& answer);
  void use_image(std::uint64_t job, std::uint32_t tier, EngineAnswer& answer);
  /// Publishes the image of an answer. Returns false where that has ended the job.
  bool deliver(std::uint64_t job, std::uint32_t tier, EngineAnswer& answer);

  Context& context_;
  Engine engine_;
  std::vector<pthread_t> threads_;    ///< the first makes baselines, and optimises if it is the only one
  std::size_t optimising_ = 0;        ///< threads that optimise
  std::atomic<bool> cancel_ = false;  // read by the engine
  std::condition_variable work_;      // with the context's mutex
  std::deque<std::uint64_t> baseline_, optimise_;
  std::deque<Kept> kept_;
};

}  // namespace trident::client
