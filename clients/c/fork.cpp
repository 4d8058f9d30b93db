// fork() in a process that uses the library. The child is a copy with one thread: the forking one. The handlers take
// every context's mutex around the fork, so the child's copy is consistent; in the child each context forgets the
// threads (they do not exist), closes its copy of the socket (it is the parent's conversation) and puts unfinished jobs
// back to waiting. Kernels keep their mapped images and work at once; the next submission or wait starts new threads
// and connects anew.
//
// Things that are made once in a process must not be half made in the child either. The engine's part is made under the
// engine lock, taken last of all; this library's part before the first context is there (make_once).
#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <new>

#include "clients/c/context.h"
#include "clients/c/engine_library.h"
#include "clients/c/engine_thread.h"
#include "clients/c/io_thread.h"
#include "clients/c/quiet_thread.h"
#include "runtime/os/linger.h"
#include "runtime/os/memfd.h"

namespace trident::client {
namespace {

// Every open context, under a lock of its own that is taken before any context's.
struct Registry {
  std::mutex mutex;
  std::vector<Context*> contexts;
};

Registry& registry() {
  static Registry* const the_registry = new Registry;  // never destroyed: atexit handlers may still close contexts
  return *the_registry;
}

void before_fork() {
  registry().mutex.lock();
  for (Context* context : registry().contexts) context->prepare_fork();
  engine_lock().lock();
}

void after_fork_in_parent() {
  engine_lock().unlock();
  for (Context* context : registry().contexts) context->after_fork_in_parent();
  registry().mutex.unlock();
}

void after_fork_in_child() {
  engine_lock().unlock();
  for (Context* context : registry().contexts) context->after_fork_in_child();
  registry().mutex.unlock();
}

/// Runs when the library is loaded, before any user's thread can be in it.
[[gnu::constructor]] void install() {
  static_cast<void>(registry());
  pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
}

/// The statics that submissions, calls and the library's threads would make on first use.
void make_once() {
  static_cast<void>(greatest_isa());
  static_cast<void>(os::page_bytes());
  os::Linger().begin();
  static_cast<void>(thread_local_bytes());
}

}  // namespace

void register_for_fork(Context* context) {
  const std::lock_guard lock(registry().mutex);
  make_once();
  registry().contexts.push_back(context);
}

void unregister_for_fork(Context* context) {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().contexts, context);
}

/// Keeps an object of threads that do not exist here: its memory may be in any state. It is never used, but stays
/// reachable, so that no tool calls it a leak.
void Context::forget(void* object) noexcept {
  try {
    if (object != nullptr) forgotten_.push_back(object);
  } catch (const std::bad_alloc&) {
  }
}

void Context::after_fork_in_child() {
  new (&changed) std::condition_variable;  // waiters of the parent are not here; destroying it would wait for them
  if (!stopping) new (&team) Team;
  forget(io_.release());
  forget(engine_.release());
  if (socket_fd >= 0) ::close(socket_fd);
  socket_fd = -1;
  if (wake_fd_ >= 0) ::close(wake_fd_);
  wake_fd_ = -1;
  connected = connect_wanted = io_sleeping = engine_tried_ = false;
  look_ns = 0;
  stats_requests.clear();
  seen.clear();
  dropped.clear();
  fresh.clear();
  jobs.for_each([&](Submission& submission) {
    submission.slot.forget_pins();
    submission.in_callback = false;
    forget(submission.owner.give_up_locked());
    submission.by_engine = submission.searched = submission.search_again = false;
    if (submission.state == JobState::finished) return;
    submission.state = JobState::waiting;
    submission.observed_told = submission.observed.empty();
    has_observed |= !submission.observed_told;
    try {
      fresh.push_back(submission.job);
    } catch (const std::bad_alloc&) {
      end_job(submission, "this forked child had too little memory to ask a compiler");
    }
  });
  free_closed();
  mutex.unlock();
}

/// Frees submissions that the parent's threads had pinned: nobody is here to unpin them. (The context outlives them:
/// only threads that trident_close() waits for pin one.)
void Context::free_closed() {
  for (Submission** link = &closing; *link != nullptr;) {
    Submission* const submission = *link;
    // Closed in its own callback, from which this fork was made: that may use it until it ends the process.
    if (submission->in_callback && pthread_equal(submission->callback_thread, pthread_self())) {
      link = &submission->next_closing;
      continue;
    }
    *link = submission->next_closing;
    forget(submission->owner.give_up_locked());
    delete &submission->owner;
    --references_;
  }
}

}  // namespace trident::client
