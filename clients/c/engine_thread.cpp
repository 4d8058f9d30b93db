#include "clients/c/engine_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "clients/c/quiet_thread.h"
#include "runtime/base/float_environment.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"

namespace trident::client {
namespace {

constexpr int kNice = 10;
constexpr std::size_t kEngineStackBytes = 8u << 20;
/// More would take memory from the program: a search takes tens of megabytes.
constexpr unsigned kOptimisersMax = 4;
/// Searches that are kept: some ten megabytes each. What comes when there are so many is searched in one go.
constexpr std::size_t kKeptMax = 4;

std::string said_of(const trident_engine_result& result) {
  return {result.message, ::strnlen(result.message, sizeof(result.message))};
}

/// Why there is no better code, in the engine's words if it has any (an older one says nothing of a search).
std::string reason_of(const trident_engine_result& result, std::uint32_t tier) {
  const std::string said = said_of(result);
  if (result.outcome == TRIDENT_ENGINE_ERROR)
    return (tier == TRIDENT_TIER_BASELINE ? "it cannot be compiled: " : "it cannot be optimised: ") + said;
  if (!said.empty()) return said;
  return result.outcome == TRIDENT_ENGINE_NO_GAIN ? "the search found nothing faster than the baseline code"
                                                  : "the code was revoked: its check against a reference failed";
}

/// Marks a submission while the engine searches for it, or keeps its search.
class Search {
 public:
  Search(Context& context, Submission& submission, std::uint32_t tier, const EngineAnswer& answer)
      : context_(context), submission_(submission), answer_(answer) {
    mark(tier == TRIDENT_TIER_OPTIMISED);
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  ~Search() { mark(answer_.kept != nullptr); }

 private:
  void mark(bool searched) {
    const std::lock_guard lock(context_.mutex);
    submission_.searched = searched;
  }
  Context& context_;
  Submission& submission_;
  const EngineAnswer& answer_;
};

}  // namespace

Result<std::unique_ptr<EngineThread>> EngineThread::start(Context& context) {
  TRY(const Engine loaded, load_engine());
  std::unique_ptr<EngineThread> engine(new EngineThread(context));
  engine->engine_ = loaded;
  engine->threads_.emplace_back();  // before the thread starts, which asks how many there are
  TRY(engine->threads_.front(),
      start_quiet_thread("trident-engine", kEngineStackBytes, &EngineThread::main, engine.get()));
  return engine;
}

void EngineThread::add(std::uint64_t job) {
  Submission* submission = context_.jobs.find(job);
  if (submission == nullptr || submission->state != JobState::waiting) return;
  baseline_.push_back(job);
  submission->state = JobState::compiling;
  submission->by_engine = true;
  if (baseline_.size() + optimise_.size() > 2 * context_.unfinished + kStaleMax) forget_closed();
  work_.notify_all();  // not every thread takes it
}

bool EngineThread::is_queued(std::uint64_t job) const {
  return std::find(baseline_.begin(), baseline_.end(), job) != baseline_.end() ||
         std::find(optimise_.begin(), optimise_.end(), job) != optimise_.end();
}

/// A job that waits has them with it when its turn comes. A search takes them with it if it does not assume others yet;
/// else the job is searched once more. But not where nothing is known any more and the slot has gone back to general
/// code.
void EngineThread::observe(Submission& submission) {
  submission.observed_told = true;
  const auto is_anything = [](const wire::Range& range) {
    return !(std::isfinite(range.lo) || std::isfinite(range.hi));
  };
  const bool unknown = std::all_of(submission.observed.begin(), submission.observed.end(), is_anything);
  if (unknown && !submission.slot.speculates()) return;
  queue_search(submission);
}

void EngineThread::queue_search(Submission& submission) {
  if (submission.searched)
    submission.search_again = true;
  else if (!is_queued(submission.job))
    optimise_.push_back(submission.job);
  work_.notify_all();
}

/// Closed submissions leave their numbers behind.
void EngineThread::forget_closed() {
  for (std::deque<std::uint64_t>* queue : {&baseline_, &optimise_})
    std::erase_if(*queue, [&](std::uint64_t job) { return context_.jobs.find(job) == nullptr; });
}

void EngineThread::give_back(std::deque<std::uint64_t>& waiting) {
  for (std::deque<std::uint64_t>* queue : {&baseline_, &optimise_}) {
    for (const std::uint64_t job : *queue) {
      Submission* submission = context_.jobs.find(job);
      if (submission == nullptr || submission->state != JobState::compiling) continue;
      submission->state = JobState::waiting;
      waiting.push_back(job);
    }
    queue->clear();
  }
  for (const Kept& kept : std::exchange(kept_, {})) {
    engine_.forget(kept.search);
    Submission* const submission = context_.jobs.find(kept.job);
    if (submission == nullptr || submission->state != JobState::compiling) continue;
    submission->searched = submission->search_again = false;
    submission->state = JobState::waiting;
    waiting.push_back(kept.job);
  }
}

void EngineThread::join() {
  cancel_.store(true, std::memory_order_relaxed);
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  for (const Kept& kept : std::exchange(kept_, {})) engine_.forget(kept.search);
}

void* EngineThread::main(void* self) {
  const StandardFloats floats;  // not those of the thread that has started this one
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  static_cast<EngineThread*>(self)->run(true);
  return nullptr;
}

void* EngineThread::optimise_main(void* self) {
  const StandardFloats floats;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  static_cast<EngineThread*>(self)->run(false);
  return nullptr;
}

void EngineThread::wait_for_optimise(std::uint64_t job) {
  const std::lock_guard lock(context_.mutex);
  Submission* const submission = context_.jobs.find(job);
  // Data that were seen during the baseline's compilation have begun a search before it.
  if (submission == nullptr || submission->searched || submission->state == JobState::finished) return;
  queue_search(*submission);
  const bool all_busy = optimising_ + optimise_.size() > threads_.size() - 1;
  if (all_busy && !context_.stopping && threads_.size() <= std::min(kOptimisersMax, os::usable_cpus())) {
    const auto more = start_quiet_thread("trident-engine", kEngineStackBytes, &EngineThread::optimise_main, this);
    if (more.ok()) threads_.push_back(*more);  // without it the others are as many as they were
  }
}

bool EngineThread::search_follows(std::uint64_t job) {
  const std::lock_guard lock(context_.mutex);
  Submission* const submission = context_.jobs.find(job);
  if (submission == nullptr || !submission->by_engine || context_.stopping) return false;
  if (std::exchange(submission->search_again, false)) queue_search(*submission);
  return submission->searched || is_queued(job);
}

std::uint32_t EngineThread::next_tier(bool baselines) const {
  if (baselines && !baseline_.empty()) return TRIDENT_TIER_BASELINE;
  const bool optimises = !baselines || threads_.size() == 1;
  return optimises && !(optimise_.empty() && kept_.empty()) ? TRIDENT_TIER_OPTIMISED : 0;
}

/// Waits for the end or for a job. In mode embedded, where nobody else does, the first thread looks at calls meanwhile.
void EngineThread::wait_for_work(std::unique_lock<std::mutex>& lock, bool baselines) {
  const bool looks = baselines && context_.settings().mode == TRIDENT_MODE_EMBEDDED;
  const auto has_work = [&] { return context_.stopping || next_tier(baselines) != 0; };
  while (!has_work()) {
    if (looks) context_.look(os::monotonic_ns());
    if (has_work()) return;
    if (!looks || context_.look_ns == UINT64_MAX)
      work_.wait(lock);
    else
      work_.wait_for(lock, std::chrono::nanoseconds(context_.look_ns - std::min(context_.look_ns, os::monotonic_ns())));
  }
}

std::uint64_t EngineThread::called(std::uint64_t job) const {
  const Submission* const submission = context_.jobs.find(job);
  return submission == nullptr ? 0 : submission->owner.called();
}

EngineThread::Work EngineThread::take(std::uint32_t tier) {
  if (tier == TRIDENT_TIER_OPTIMISED && optimise_.empty()) {
    const auto less = [this](const Kept& a, const Kept& b) { return called(a.job) < called(b.job); };
    const auto next = std::max_element(kept_.begin(), kept_.end(), less);
    const Kept kept = *next;
    kept_.erase(next);
    return {kept.job, tier, kept.search};
  }
  std::deque<std::uint64_t>& queue = tier == TRIDENT_TIER_BASELINE ? baseline_ : optimise_;
  const auto less = [this](std::uint64_t a, std::uint64_t b) { return called(a) < called(b); };
  const auto next = tier == TRIDENT_TIER_BASELINE ? queue.begin() : std::max_element(queue.begin(), queue.end(), less);
  const std::uint64_t job = *next;
  queue.erase(next);
  return {job, tier};
}

void EngineThread::run(bool baselines) {
  for (;;) {
    Work work;
    {
      std::unique_lock lock(context_.mutex);
      wait_for_work(lock, baselines);
      if (context_.stopping) return;
      work = take(next_tier(baselines));
      if (work.tier == TRIDENT_TIER_OPTIMISED) ++optimising_;
    }
    try {
      compile(work);
    } catch (const std::bad_alloc&) {
      context_.finish(work.job, Context::End::failed, "the engine in this process ran out of memory");
    }
    const std::lock_guard lock(context_.mutex);
    if (work.tier == TRIDENT_TIER_OPTIMISED) --optimising_;
  }
}

void EngineThread::compile(const Work& work) {
  EngineAnswer answer;
  answer.result.struct_size = sizeof(answer.result);
  answer.result.fd = -1;
  {
    const Pin submission = context_.pin(work.job);
    if (!submission) return work.kept != nullptr ? engine_.forget(work.kept) : void();
    const Search search(context_, *submission, work.tier, answer);
    if (work.kept != nullptr) {
      engine_.go_on(work.kept, &answer.result);
    } else {
      answer.may_keep = may_keep();
      submission->owner.compile(engine_, work.tier, cancel_, answer);
    }
  }
  answer.kept != nullptr ? keep(work.job, answer) : use(work.job, work.tier, answer);
}

bool EngineThread::may_keep() {
  const std::lock_guard lock(context_.mutex);
  return engine_.go_on != nullptr && engine_.forget != nullptr && kept_.size() < kKeptMax;
}

void EngineThread::keep(std::uint64_t job, EngineAnswer& answer) {
  const bool goes_on = answer.result.fd < 0 || deliver(job, TRIDENT_TIER_OPTIMISED, answer);
  if (!goes_on) return engine_.forget(answer.kept);
  const std::lock_guard lock(context_.mutex);
  kept_.push_back({job, answer.kept});
  work_.notify_all();
}

bool EngineThread::deliver(std::uint64_t job, std::uint32_t tier, EngineAnswer& answer) {
  const trident_engine_result& result = answer.result;
  Delivery delivery;
  delivery.claim.size = result.size;
  delivery.claim.digest_low = result.digest_low;
  delivery.claim.digest_high = result.digest_high;
  delivery.claim.tier = answer.tier.value_or(static_cast<std::uint8_t>(tier));
  delivery.file = os::Fd(result.fd);
  delivery.baseline_ns = result.baseline_ns;
  delivery.optimised_ns = result.optimised_ns;
  const auto delivered = context_.deliver(job, std::move(delivery));
  if (delivered) return true;
  if (delivered.error().code == ErrorCode::kExecDenied)
    context_.finish_all(delivered.error().message);
  else
    context_.finish(job, Context::End::failed, delivered.error().message);
  return false;
}

void EngineThread::use_image(std::uint64_t job, std::uint32_t tier, EngineAnswer& answer) {
  if (!deliver(job, tier, answer)) return;
  if (tier == TRIDENT_TIER_BASELINE && !answer.is_last) return wait_for_optimise(job);
  if (!search_follows(job)) context_.finish(job, Context::End::gain, {});
}

void EngineThread::use(std::uint64_t job, std::uint32_t tier, EngineAnswer& answer) {
  const trident_engine_result& result = answer.result;
  if (result.outcome == TRIDENT_ENGINE_IMAGE) return use_image(job, tier, answer);
  const os::Fd file(result.fd);
  if (answer.is_refusal) return context_.refuse(job, answer.reason, answer.reason_address, said_of(result));
  const std::string why = reason_of(result, tier);
  if (result.outcome == TRIDENT_ENGINE_NOT_EQUIVALENT) {
    for (const std::uint8_t revoked : {TRIDENT_TIER_BASELINE, TRIDENT_TIER_OPTIMISED})
      context_.revoke(job, revoked, why);
  }
  const bool no_gain = result.outcome == TRIDENT_ENGINE_NO_GAIN;
  if (no_gain && search_follows(job)) return;
  context_.finish(job, no_gain ? Context::End::no_gain : Context::End::failed, why);
}

}  // namespace trident::client
