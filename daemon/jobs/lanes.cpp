// Who waits for which workers, what these are asked, and what follows when one is lost.
#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/jobs/flight.h"
#include "runtime/os/clock.h"

namespace trident::jobs {
namespace {

/// The first try's time of a check alone; each has twice that of the one before.
constexpr std::uint64_t kCheckBudgetNs = 2'000'000'000;
/// Messages up to here may stand in a worker's socket with others: all that it holds is a fraction of the work that the
/// largest expression is.
constexpr std::size_t kBriefBytesMax = 2048;
/// Charged for a compilation that was ended because it took too long.
constexpr std::uint64_t kTimedOutNs = 1'000'000'000;
/// Nobody waits for what is searched again, so it is searched for longer.
constexpr std::uint8_t kRenewalEffort = 8;

}  // namespace

worker::Lane Jobs::lane_of(Step step) {
  switch (step) {
    case Step::baseline: return worker::Lane::baseline;
    case Step::program: return worker::Lane::programs;
    case Step::optimise:
    case Step::check:
    case Step::renewal: break;
  }
  return worker::Lane::optimise;
}

worker::PoolEvents Jobs::events() {
  return {.on_response = [this](const auto& header, auto tail) { on_response(header, tail); },
          .on_served = [this](auto ticket, auto worker_ns) { on_served(ticket, worker_ns); },
          .on_lost = [this](auto ticket, auto fate) { on_lost(ticket, fate); },
          .on_free = [this](auto lane) { serve(lane); }};
}

worker::Pool& Jobs::pool_of(worker::Lane lane) {
  return lane == worker::Lane::programs ? *program_pool_ : pool_;
}

FairQueue<Jobs::Flight*>& Jobs::queue_of(worker::Lane lane) {
  if (lane == worker::Lane::programs) return program_queue_;
  return lane == worker::Lane::baseline ? baseline_queue_ : optimise_queue_;
}

void Jobs::wait_for_program(Flight& flight, bool in_front) {
  if (!program_pool_) program_pool_ = std::make_unique<worker::Pool>(loop_, program_workers_, events());
  flight.step = Step::program;
  flight.place =
      in_front ? program_queue_.push_front(flight.uid, &flight) : program_queue_.push_back(flight.uid, &flight);
  run_waiting(worker::Lane::programs);
}

void Jobs::wait_for_baseline(Flight& flight, bool in_front) {
  flight.step = Step::baseline;
  flight.place = in_front ? baseline_queue_.push_front(flight.uid, &flight)
                          : baseline_queue_.push_back(flight.uid, &flight, flight.connection);
  run_waiting(worker::Lane::baseline);
}

void Jobs::wait_for_optimise(Flight& flight, bool in_front) {
  const bool at_once = optimise_queue_.size() == 0 && pool_.has_room(worker::Lane::optimise);
  if (!in_front && !at_once && optimise_queue_.size_of(flight.uid) >= limits_.optimise_queue_per_user) {
    flight.reason = "this user has " + std::to_string(limits_.optimise_queue_per_user) +
                    " kernels waiting for the search already, the limit of optimise_queue_per_user";
    return flight.baseline_checked ? keep_baseline(flight, flight.reason) : wait_for_check(flight);
  }
  flight.step = Step::optimise;
  flight.place = in_front ? optimise_queue_.push_front(flight.uid, &flight)
                          : optimise_queue_.push_back(flight.uid, &flight, flight.connection);
  optimise_queue_.set_weight(*flight.place, flight.called);
  run_waiting(worker::Lane::optimise);
}

/// A search that nobody waits for any more goes on, too: its end is cached.
void Jobs::wait_to_go_on(Flight& flight, worker::Ticket kept) {
  baseline_holds(flight);
  flight.kept = kept;
  kept_[kept] = &flight;
  flight.place = optimise_queue_.push_later(flight.uid, &flight, flight.called);
  run_waiting(worker::Lane::optimise);
}

void Jobs::note_called(const Subscriber& subscriber, std::uint64_t weight) {
  const auto at = waiting_.find(subscriber);
  if (at == waiting_.end()) return;
  Flight& flight = *at->second;
  flight.called = std::max(flight.called, weight);
  if (flight.step == Step::optimise && flight.place) optimise_queue_.set_weight(*flight.place, flight.called);
}

/// A user's checks go before its optimisations, and there is always room for one: at most as many wait as there are
/// flights.
void Jobs::wait_for_check(Flight& flight) {
  flight.step = Step::check;
  flight.place = optimise_queue_.push_urgent(flight.uid, &flight);
  run_waiting(worker::Lane::optimise);
}

worker::RequestHeader Jobs::request_of(Flight& flight) const {
  worker::RequestHeader header;
  header.ticket = flight.ticket;
  header.lane = lane_of(flight.step);
  header.isa = flight.order->isa;
  header.seed = search_.seed;
  header.key = flight.key;
  header.assumed = flight.order->assumed;
  switch (flight.step) {
    case Step::baseline: break;
    case Step::program: header.budget_ns = flight.order->budget_ns; break;
    case Step::renewal: header.effort = kRenewalEffort; [[fallthrough]];
    case Step::optimise:
      header.may_keep = flight.step == Step::optimise ? 1 : 0;
      header.budget_ns = limits_.optimise_budget_ms * 1'000'000;
      break;
    case Step::check:
      header.check_only = 1;
      header.budget_ns = kCheckBudgetNs << flight.checks++;
      break;
  }
  return header;
}

void Jobs::run(Flight& flight) {
  flight.place.reset();
  const worker::Ticket kept = std::exchange(flight.kept, 0);
  flight.ticket = kept != 0 ? kept : next_ticket_++;
  running_[flight.ticket] = {&flight, flight.uid, lane_of(flight.step), flight.renewal.has_value()};
  if (kept_.erase(kept) != 0) {
    worker::RequestHeader header = request_of(flight);
    header.tail = worker::Tail::go_on;
    header.may_keep = 0;
    return pool_.go_on(header, claim_of(flight));
  }
  pool_of(lane_of(flight.step)).request(request_of(flight), flight.order->message, claim_of(flight));
}

worker::Claim Jobs::claim_of(const Flight& flight) const {
  const std::uint64_t now = os::monotonic_ns();
  const bool brief = !heavy_users_.is_slow(flight.uid, now) && !flight.order->is_tried() &&
                     flight.order->message.size() <= kBriefBytesMax;
  return {flight.uid, brief, heavy_users_.is_heavy(flight.uid, now)};
}

void Jobs::serve(worker::Lane lane) {
  run_waiting(lane);
  if (lane == worker::Lane::optimise && optimise_queue_.size() == 0) renew_next();
}

void Jobs::run_waiting(worker::Lane lane) {
  auto& queue = queue_of(lane);
  const auto has_worker = [&](const Flight* first) {
    return first->kept != 0 ? pool_.may_go_on(first->kept) : pool_of(lane).has_room(lane, claim_of(*first));
  };
  while (const auto next = queue.pop(has_worker)) {
    Flight& flight = **next;
    flight.place.reset();
    // The images of those before it may have taken the user's share: whoever asked asks again, and loses nothing.
    if (lane == worker::Lane::baseline && !has_room(flight.uid, 0)) {
      queue.settle(flight.uid, 0);
      ++counts_of(*flight.order).busy;
      fail(flight, too_many_jobs(), kBusyRetryMs);
      continue;
    }
    run(flight);
  }
}

void Jobs::on_served(worker::Ticket ticket, std::uint64_t worker_ns) {
  const auto at = running_.find(ticket);
  if (at != running_.end() && !at->second.renewal) queue_of(at->second.lane).settle(at->second.uid, worker_ns);
}

void Jobs::on_lost(worker::Ticket ticket, worker::PoolEvents::Fate fate) {
  using Fate = worker::PoolEvents::Fate;
  if (const auto kept = kept_.find(ticket); kept != kept_.end()) return on_kept_lost(*kept->second);
  const auto at = running_.find(ticket);
  if (at == running_.end()) return;
  const Running running = at->second;
  running_.erase(at);
  const bool baseline = running.lane == worker::Lane::baseline;
  if (baseline && fate == Fate::timed_out) heavy_users_.note(running.uid, kTimedOutNs, os::monotonic_ns());
  if (running.flight == nullptr) return;
  Flight& flight = *running.flight;
  flight.ticket = 0;
  if (flight.step == Step::program) return program_lost(flight, fate);
  bool retry = fate == Fate::unharmed;
  if (fate != Fate::unharmed) {
    ++counts_of(*flight.order).lost;
    const std::uint32_t strikes = failures_.strike(flight.uid, flight.id, running.lane, os::monotonic_ns());
    retry = strikes < kStrikesMax && fate == Fate::crashed;
  }
  if (flight.renewal || flight.subscribers.empty()) return remove(flight);
  if (flight.step == Step::check) return check_failed(flight);
  if (retry) {
    ++stats_.retried;
    return baseline ? wait_for_baseline(flight, true) : wait_for_optimise(flight, true);
  }
  if (!baseline)
    return keep_baseline(flight, fate == Fate::timed_out ? "searching for a better kernel took too long"
                                                         : "the search for a better kernel crashed");
  fail(flight, fate == Fate::timed_out ? make_error(ErrorCode::kTimeout, "compiling took too long")
                                       : make_error(ErrorCode::kInternal, "the compiler crashed on this expression"));
}

/// Its worker has ended over another job.
void Jobs::on_kept_lost(Flight& flight) {
  kept_.erase(std::exchange(flight.kept, 0));
  optimise_queue_.erase(*std::exchange(flight.place, std::nullopt));
  if (flight.subscribers.empty()) return remove(flight);
  ++stats_.retried;
  wait_for_optimise(flight, false);
}

}  // namespace trident::jobs
