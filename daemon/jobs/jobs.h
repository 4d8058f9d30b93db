// The life of a job, from a checked submission to its last message.
//
//              hot cache hit ------------------------------> answered
//   submit --> flight: baseline waiting -> baseline running -> optimise waiting -> optimising -> answered, cached
//                  \-- stored cache hit: answered               \-- queue full: check waiting -> checking -> done
//
// A flight is one (user, key) in the works; equal submissions of a user share it. The stored cache is asked after the
// baseline worker was given the job: a new expression does not wait for the disk, a known one costs a spare
// compilation. A flight whose subscribers have all gone leaves the queues, but is not torn out of a worker: its result
// is cached.
//
// A baseline goes out before it is checked if its order allows that, else as soon as it was found right; the optimise
// job checks it first. That job may send up to three interim images before its outcome: what is better is used while
// the search goes on. Where there is no such job, or it was lost or cut short before that, a check alone follows, which
// no limit drops: no flight ends with a baseline that nobody has looked at. One whose check gives no answer three times
// is revoked like one that is wrong.
//
// Guests' loops and functions have no second step: their baseline worker has tried the image in a child before it
// answers. Or it says why no code is made of the loop, which is remembered like a failure.
//
// A key that kills or hangs baseline workers three times, or that cannot be compiled, is refused for ten minutes; one
// that does so to optimise workers gets its baseline and no more (past_failures.h).
//
// That job ends for now with the first good kernel, if more can be found: its worker keeps the search (worker/pool.h),
// which goes on behind all of the user's kernels that have not come so far, what was called most first. Where the first
// look finds no kernel, the job does not end before its search: whoever waits for it waits for no other's. Hints that
// come meanwhile wait for its end, as they do while a worker is busy with it. If the worker dies, it is searched anew.
//
// Jobs of one connection that wait to be searched are taken in the order of how much their kernels were called so far,
// as the connection tells; else in the order of submission.
//
// Workers serve the user that has used the least worker time (fair_queue.h). Failures, deaths of workers and abandoned
// work count as well. Users whose compilations take long, or much together, leave a baseline worker to the others
// (heavy_users.h). Shared resources keep room for one more user: nobody may hold more of them than is left.
//
// When the weights or costs of the search change, kernels that clients still have open are searched again and for
// longer, one at a time and behind all else (renewals.h). A kernel that was measured to be better replaces theirs;
// nothing else happens to them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/cache/cache.h"
#include "daemon/jobs/events.h"
#include "daemon/jobs/fair_queue.h"
#include "daemon/jobs/heavy_users.h"
#include "daemon/jobs/order.h"
#include "daemon/jobs/past_failures.h"
#include "daemon/jobs/renewals.h"
#include "daemon/jobs/shares.h"
#include "daemon/jobs/subscriber.h"
#include "daemon/worker/pool.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/log/ration.h"

namespace trident::jobs {

struct Limits {
  std::uint32_t baseline_queue_per_user = 0;  ///< above it: Busy
  std::uint32_t optimise_queue_per_user = 0;  ///< above it: done after the baseline
  std::uint32_t flights = 0;                  ///< of all users together; one has at most what is left, else: Busy
  std::uint64_t flight_bytes_per_user = 0;    ///< of messages and baseline images in the works; above it: Busy
  std::uint64_t flight_bytes = 0;             ///< of all users together, likewise
  std::uint64_t optimise_budget_ms = 0;
  std::uint32_t program_queue_per_user = 16;         ///< above it: Busy
  std::uint64_t program_bytes_per_user = 16u << 20;  ///< of messages in the works; above it: Busy
};

/// Ranges that a kernel's data were seen in.
struct Hint {
  std::vector<kir::Assumed> seen;  ///< by variable
  std::uint64_t misses = 0;        ///< of the speculative code that the subscriber has, which are why it tells; else 0
};

/// Counters that every kind of job has.
struct Counts {
  std::uint64_t submitted = 0, busy = 0, cancelled = 0, failed = 0, lost = 0;
  std::uint64_t shared = 0, quarantined = 0;
  std::uint64_t known_failures = 0;  ///< answered without a worker
};
/// Reasons to refuse a loop.
inline constexpr std::size_t kLoopReasons = 0
#define X(...) +1
#include "jit/loop/refusals.def"
#undef X
    ;
/// Counts jobs whose images workers try: loops, functions.
struct TriedStats : Counts {
  std::uint64_t compiled = 0, cached = 0;
  std::uint64_t not_equivalent = 0;  ///< of those that failed: a trial ended otherwise than it must
};
struct LoopStats : TriedStats {
  std::array<std::uint64_t, kLoopReasons> refused{};  ///< submissions that were told so, by loop::Reason
  /// As clients tell.
  std::uint64_t entries = 0, iterations = 0, guest_ns = 0, kernel_ns = 0;
};
struct ProgramStats : Counts {
  std::uint64_t cheaper = 0, no_gain = 0;
  std::size_t waiting = 0, running = 0;
};

/// Statistics: those of programs, loops and functions stand apart, all others are of kernels, flights and queues of
/// all.
struct Stats : Counts {
  ProgramStats programs;
  LoopStats loops;
  TriedStats functions;
  std::uint64_t baseline_ready = 0, published = 0, no_gain = 0, budget_spent = 0, not_equivalent = 0;
  std::uint64_t retried = 0, checked_alone = 0, revoked = 0;
  std::uint64_t observed = 0;                   ///< jobs that began anew with ranges of their data
  std::uint64_t misses = 0;                     ///< told of speculative code that does not fit its data
  std::uint64_t widened = 0, dropped = 0;       ///< such jobs that began anew with wider ranges, without any
  std::size_t speculating = 0;                  ///< open kernels whose code assumes ranges
  std::uint64_t renewals = 0, republished = 0;  ///< searched again for what clients have; better ones sent
  std::size_t open_kernels = 0, renewals_waiting = 0;
  std::size_t flights = 0, baseline_waiting = 0, optimise_waiting = 0, check_waiting = 0;
  /// Submission to baseline image: [i] counts those below 2^i microseconds (and not below 2^(i-1)).
  std::array<std::uint64_t, 24> baseline_us_log2{};
  std::deque<std::string> notes;  ///< why the last kernels that did not get faster did not, the newest last
};

class Jobs {
 public:
  /// `costs`: what the search weighs forms by, for PoolOptions::costs; null for what is shipped. `rules`: what it
  /// rewrites by, for PoolOptions::rules; null for the built-in ones alone. Both must outlive the jobs.
  Jobs(net::Loop& loop, const worker::PoolOptions& workers, const Limits& limits, cache::Cache& cache, Sink sink,
       const expr::rewrite::OpCosts* costs = nullptr, const pipeline::SearchRules* rules = nullptr);
  ~Jobs();

  void submit(const Subscriber& subscriber, std::uint32_t uid, OrderPtr order);
  /// Told every submission that is new to the cache's memory.
  void set_journal(std::function<void(std::uint32_t uid, const expr::Expr&)> journal) { journal_ = std::move(journal); }
  /// Sets the weights of the search's guide; null: the built-in ones. They must live until the next call. `told` is for
  /// worker::PoolOptions::weights. Before the first call no kernel is ever searched again.
  void set_weights(const pipeline::SearchWeights* weights, const std::string& told);
  /// Sets the costs that forms are weighed by; null: the built-in ones. `told` is for worker::PoolOptions::costs.
  void set_costs(const expr::rewrite::OpCosts* costs, const std::string& told);
  /// The subscriber wants no more events; nothing if it waits for none.
  void cancel(const Subscriber& subscriber);
  /// The subscriber has told ranges of its kernel's data: its job begins anew if they change what is looked for, at
  /// once or when a search that is under way has ended. A hint that comes when there is no room is dropped.
  void observe(const Subscriber& subscriber, std::uint32_t uid, const Hint& hint);

  /// The subscriber has told how much its kernel was called: of the jobs of a connection that wait to be searched, what
  /// was called most goes first.
  void note_called(const Subscriber& subscriber, std::uint64_t weight);

  /// A client has told how its loop does.
  void note_seen(const ingest::LoopSeen& seen);

  void set_limits(const Limits& limits) { limits_ = limits; }
  /// Drops jobs that have a baseline, without a final message: the clients send it to the next daemon.
  void drain();
  /// Whether no kernel is in the works.
  [[nodiscard]] bool idle() const { return shares_.all().jobs == 0; }
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] const worker::Pool& pool() const { return pool_; }
  /// Workers write their log lines nowhere from now on.
  void release_standard_error();

 private:
  /// The step that a worker does, or is to do, for a flight.
  enum class Step : std::uint8_t { baseline, optimise, check, renewal, program };
  struct Flight;
  /// A request that a worker has.
  struct Running {
    Flight* flight = nullptr;  ///< null: nobody waits for it any more
    std::uint32_t uid = 0;
    worker::Lane lane = worker::Lane::baseline;
    bool renewal = false;  ///< which came out of no queue
  };

  // jobs.cpp: how a job begins and ends.
  [[nodiscard]] std::unique_ptr<Flight> make_flight(std::uint32_t uid, OrderPtr order);
  /// Whether the subscriber got its answer, or a flight to share, without a new one.
  bool answer_at_once(const Flight& flight, const Subscriber& subscriber);
  /// Admits the order and has it worked on, unless it can be answered at once.
  void begin(const Subscriber& subscriber, std::uint32_t uid, OrderPtr order);
  void withdraw(const Subscriber& subscriber);
  void count_observed(const Order& before, const Order& next, const Hint& hint);
  void answer_as_before(const Order& order, const Subscriber& subscriber, const PastFailure& known);
  void subscribe(Flight& flight, const Subscriber& subscriber);
  void answer(const Flight& flight, const Subscriber& subscriber, const cache::Entry& entry);
  void tell_all(Flight& flight, const Event& event);
  void finish(Flight& flight, pipeline::Outcome outcome, const std::string& reason);
  void fail(Flight& flight, const Error& error, std::uint32_t retry_after_ms = 0);
  void note(const std::string& reason);
  void remove(Flight& flight);
  /// Whether the user's flights stay within what is its own.
  [[nodiscard]] bool has_room(std::uint32_t uid, std::uint64_t bytes) const;
  /// Whether a new flight of the user would, and leaves room for other users.
  [[nodiscard]] bool admits(const Flight& flight) const;
  Flight& admit(std::unique_ptr<Flight> flight);
  [[nodiscard]] Shares& shares_of(const Order& order);
  [[nodiscard]] Counts& counts_of(const Order& order);
  void charge(Flight& flight, std::uint64_t bytes);

  // lanes.cpp: who waits for which workers, and what they are asked.
  void wait_for_baseline(Flight& flight, bool in_front);
  void wait_for_optimise(Flight& flight, bool in_front);
  void wait_to_go_on(Flight& flight, worker::Ticket kept);
  void wait_for_check(Flight& flight);
  void wait_for_program(Flight& flight, bool in_front);
  static worker::Lane lane_of(Step step);
  [[nodiscard]] worker::Pool& pool_of(worker::Lane lane);
  [[nodiscard]] FairQueue<Flight*>& queue_of(worker::Lane lane);
  [[nodiscard]] worker::PoolEvents events();
  [[nodiscard]] worker::Claim claim_of(const Flight& flight) const;
  [[nodiscard]] worker::RequestHeader request_of(Flight& flight) const;
  void run(Flight& flight);
  void run_waiting(worker::Lane lane);
  void serve(worker::Lane lane);
  void on_served(worker::Ticket ticket, std::uint64_t worker_ns);
  void on_lost(worker::Ticket ticket, worker::PoolEvents::Fate fate);
  void on_kept_lost(Flight& flight);

  // answers.cpp: what workers say.
  void on_response(const worker::ResponseHeader& header, std::string_view tail);
  void on_progress(const Running& running, const worker::ResponseHeader& header);
  void on_baseline(Flight& flight, cache::SharedImage image);
  void on_interim(Flight& flight, const worker::ResponseHeader& header, std::string_view tail);
  void publish(Flight& flight, ImageReady ready);
  void baseline_holds(Flight& flight);
  void on_outcome(Flight& flight, const worker::ResponseHeader& header, std::string_view tail);
  void on_failure(Flight& flight, worker::Lane lane, const Error& error);
  void conclude(Flight& flight, const worker::ResponseHeader& header, std::string_view tail, const std::string& reason);
  void keep_baseline(Flight& flight, const std::string& reason);
  void check_failed(Flight& flight);
  void revoke(Flight& flight);
  void tell_of_revocation(const char* why, const Flight& flight);

  void on_tried(Flight& flight, const worker::ResponseHeader& header, std::string_view tail);
  void trials_failed(Flight& flight, const Error& error);
  TriedStats& tried_stats_of(const Order& order);
  void refuse_loop(Flight& flight, const LoopRefused& refusal);
  void on_program(Flight& flight, const worker::ResponseHeader& header, std::string_view tail);
  void program_lost(Flight& flight, worker::PoolEvents::Fate fate);
  void end_program(Flight& flight, const Error& error);

  // renewing.cpp: kernels that clients have are searched again.
  void remember(const Flight& flight, const Subscriber& subscriber, const ImageReady& sent);
  void begin_renewals();
  void renew_next();
  void renew(Renewals::Number number);
  void on_renewed(Flight& flight, const worker::ResponseHeader& header, std::string_view tail);
  void end_renewal(Flight& flight, const cache::Entry* entry);
  void offer(Renewals::Kernel& kernel, const cache::Entry& entry);

  net::Loop& loop_;
  cache::Cache& cache_;
  Limits limits_;
  pipeline::Search search_;  ///< goes into every key
  Sink sink_;
  Stats stats_;
  bool draining_ = false;
  worker::Ticket next_ticket_ = 1;
  std::uint64_t next_program_ = 1;
  std::unordered_map<std::string, std::unique_ptr<Flight>> flights_;  ///< by user and key
  std::unordered_map<worker::Ticket, Running> running_;
  std::unordered_map<worker::Ticket, Flight*> kept_;
  std::unordered_map<Subscriber, Flight*, SubscriberHash> waiting_;
  FairQueue<Flight*> baseline_queue_, optimise_queue_;  ///< checks are urgent in the latter
  FairQueue<Flight*> program_queue_;
  HeavyUsers heavy_users_;
  Shares shares_, program_shares_;
  PastFailures failures_;
  std::function<void(std::uint32_t uid, const expr::Expr&)> journal_;
  bool renews_ = false;  ///< set_weights() was called
  Renewals renewals_;
  Flight* renewing_ = nullptr;
  log::Ration revocations_, failed_, promotions_;
  worker::PoolOptions program_workers_;
  std::unique_ptr<worker::Pool> program_pool_;  ///< with the first program
  worker::Pool pool_;
};

}  // namespace trident::jobs
