#include "daemon/jobs/jobs.h"

#include <algorithm>
#include <cstring>

#include "daemon/jobs/flight.h"
#include "runtime/os/clock.h"

namespace trident::jobs {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::uint32_t kProgramRetryMs = 1000;
/// By the clock, beyond what the client allows for the search.
constexpr std::uint64_t kProgramGraceMs = 5000;
/// Reasons that the statistics keep.
constexpr std::size_t kNotesMax = 16;
/// Bytes of orders that are kept to be searched again, of all users.
constexpr std::uint64_t kRenewalBytesMax = std::uint64_t{64} << 20;

std::string flight_id(std::uint32_t uid, const image::Key& key) {
  std::string id(sizeof(uid) + key.size(), '\0');
  std::memcpy(id.data(), &uid, sizeof(uid));
  std::memcpy(id.data() + sizeof(uid), key.data(), key.size());
  return id;
}

/// No kernel's: those begin with a user and a key.
std::string program_id(std::uint64_t number) {
  return "program " + std::to_string(number);
}

Failed busy(const Order& order) {
  if (order.lane != worker::Lane::programs) return {too_many_jobs(), kBusyRetryMs};
  return {make_error(ErrorCode::kBusy, "too many programs of this user are waiting"), kProgramRetryMs};
}

}  // namespace

Error too_many_jobs() {
  return make_error(ErrorCode::kBusy, "too many jobs are waiting");
}

std::string Jobs::Flight::describe() const {
  constexpr std::size_t kTextBytesMax = 160;
  std::string text = order->describe();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > kTextBytesMax) text = text.substr(0, kTextBytesMax) + "...";
  std::string hex;
  for (std::size_t i = 0; i < std::min<std::size_t>(key.size(), 8); ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto byte = static_cast<std::uint8_t>(key[i]);
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return "job " + hex + " of user " + std::to_string(uid) + ": " + text;
}

Jobs::Jobs(net::Loop& loop, const worker::PoolOptions& workers, const Limits& limits, cache::Cache& cache, Sink sink,
           const expr::rewrite::OpCosts* costs, const pipeline::SearchRules* rules)
    : loop_(loop),
      cache_(cache),
      limits_(limits),
      search_{.seed = kSeed, .costs = costs, .rules = rules},
      sink_(std::move(sink)),
      renewals_(kRenewalBytesMax),
      program_workers_{.baseline_workers = 0,
                       .optimise_workers = 0,
                       .program_workers = 1,
                       .program_folder = workers.program_folder,
                       .optimise_grace_ms = kProgramGraceMs},
      pool_(loop, workers, events()) {}

Jobs::~Jobs() = default;

std::unique_ptr<Jobs::Flight> Jobs::make_flight(std::uint32_t uid, OrderPtr order) {
  auto flight = std::make_unique<Flight>();
  if (order->identify) {
    Order::Identity identity = order->identify(search_);
    flight->id = flight_id(uid, identity.key);
    flight->key = identity.key;
    flight->canonical = std::move(identity.canonical);
  } else {
    flight->id = program_id(next_program_++);
  }
  flight->uid = uid;
  flight->order = std::move(order);
  flight->submitted_ns = os::monotonic_ns();
  flight->weights = renewals_.weights();
  return flight;
}

void Jobs::submit(const Subscriber& subscriber, std::uint32_t uid, OrderPtr order) {
  ++counts_of(*order).submitted;
  begin(subscriber, uid, std::move(order));
}

void Jobs::begin(const Subscriber& subscriber, std::uint32_t uid, OrderPtr order) {
  const bool known_by_key = order->identify != nullptr;
  std::unique_ptr<Flight> owned = make_flight(uid, order);
  if (known_by_key && answer_at_once(*owned, subscriber)) return;
  if (!admits(*owned)) {
    ++counts_of(*order).busy;
    return sink_(subscriber, busy(*order));
  }
  Flight& flight = admit(std::move(owned));
  flight.connection = subscriber.session;
  order->lane == worker::Lane::programs ? wait_for_program(flight, false) : wait_for_baseline(flight, false);
  if (journal_ && order->journal) journal_(uid, *order->journal);
  const cache::Entry* entry = known_by_key ? cache_.find_stored(uid, flight.key, flight.canonical) : nullptr;
  if (entry == nullptr) return subscribe(flight, subscriber);
  answer(flight, subscriber, *entry);
  remove(flight);  // the worker's answer, if any is under way, finds no flight and is dropped
}

bool Jobs::answer_at_once(const Flight& flight, const Subscriber& subscriber) {
  const std::uint32_t uid = flight.uid;
  if (failures_.quarantined(uid, flight.id, worker::Lane::baseline, flight.submitted_ns)) {
    ++counts_of(*flight.order).quarantined;
    sink_(subscriber, Failed{make_error(ErrorCode::kUnsupported,
                                        "compiling this expression failed repeatedly; it will be tried again later"),
                             static_cast<std::uint32_t>(kFailuresRememberedNs / 1'000'000)});
    return true;
  }
  if (const PastFailure* known = failures_.known(uid, flight.id, worker::Lane::baseline, flight.submitted_ns)) {
    answer_as_before(*flight.order, subscriber, *known);
    return true;
  }
  if (const auto at = flights_.find(flight.id); at != flights_.end()) {
    ++counts_of(*flight.order).shared;
    subscribe(*at->second, subscriber);
    return true;
  }
  const cache::Entry* entry = cache_.find_hot(uid, flight.key, flight.canonical);
  if (entry != nullptr) answer(flight, subscriber, *entry);
  return entry != nullptr;
}

void Jobs::answer_as_before(const Order& order, const Subscriber& subscriber, const PastFailure& known) {
  ++counts_of(order).known_failures;
  if (!known.refusal) return sink_(subscriber, Failed{Error(known)});
  ++stats_.loops.refused[known.refusal->reason];
  sink_(subscriber, LoopRefused{known.refusal->reason, known.refusal->offset, known.message});
}

void Jobs::subscribe(Flight& flight, const Subscriber& subscriber) {
  flight.subscribers.push_back(subscriber);
  waiting_[subscriber] = &flight;
  sink_(subscriber, Accepted{.alone = !flight.order->publish_unchecked});
  if (flight.sent.image) sink_(subscriber, flight.sent);
}

void Jobs::answer(const Flight& flight, const Subscriber& subscriber, const cache::Entry& entry) {
  if (flight.order->is_tried()) ++tried_stats_of(*flight.order).cached;
  sink_(subscriber, Accepted{true});
  if (entry.image) {
    ImageReady kernel = ready_of(entry);
    kernel.more = true;
    remember(flight, subscriber, kernel);
    sink_(subscriber, kernel);
  }
  sink_(subscriber, Finished{static_cast<pipeline::Outcome>(entry.outcome), entry.reason});
}

void Jobs::cancel(const Subscriber& subscriber) {
  if (const auto at = waiting_.find(subscriber); at != waiting_.end()) ++counts_of(*at->second->order).cancelled;
  withdraw(subscriber);
}

void Jobs::observe(const Subscriber& subscriber, std::uint32_t uid, const Hint& hint) {
  const auto at = waiting_.find(subscriber);
  const Renewals::Kernel* const open = renewals_.of(subscriber);
  if (at == waiting_.end() && open == nullptr) return;
  if (at != waiting_.end() && at->second->is_searched()) return void(at->second->hints[subscriber] = hint);
  const OrderPtr order = at != waiting_.end() ? at->second->order : open->order;
  const std::string id = at != waiting_.end() ? at->second->id : open->id;
  if (!order->assume || draining_) return;
  const OrderPtr next = order->assume(*order, hint.seen);
  const std::unique_ptr<Flight> flight = make_flight(uid, next);
  if (flight->id == id || !admits(*flight)) return;
  count_observed(*order, *next, hint);
  const std::uint64_t called = at != waiting_.end() ? at->second->called : 0;
  withdraw(subscriber);
  begin(subscriber, uid, next);
  note_called(subscriber, called);
}

void Jobs::count_observed(const Order& before, const Order& next, const Hint& hint) {
  stats_.misses += hint.misses;
  if (hint.misses == 0 || before.assumed == 0) return void(++stats_.observed);
  ++(next.assumed == 0 ? stats_.dropped : stats_.widened);
}

void Jobs::withdraw(const Subscriber& subscriber) {
  const auto at = waiting_.find(subscriber);
  if (at == waiting_.end()) return renewals_.forget(subscriber);
  Flight& flight = *at->second;
  waiting_.erase(at);
  std::erase(flight.subscribers, subscriber);
  if (!flight.subscribers.empty()) return;
  if (flight.waits() && flight.kept == 0) return remove(flight);
  // The worker is free for the next when it has answered.
  if (flight.step == Step::program) program_pool_->cancel(flight.ticket);
}

void Jobs::tell_all(Flight& flight, const Event& event) {
  // A copy: a subscriber may cancel while it is told.
  for (const Subscriber& subscriber : std::vector(flight.subscribers))
    if (waiting_.contains(subscriber)) sink_(subscriber, event);
}

void Jobs::finish(Flight& flight, pipeline::Outcome outcome, const std::string& reason) {
  switch (outcome) {
    case pipeline::Outcome::published: ++stats_.published; break;
    case pipeline::Outcome::no_gain: ++stats_.no_gain; break;
    case pipeline::Outcome::budget_spent: ++stats_.budget_spent; break;
    case pipeline::Outcome::not_equivalent: ++stats_.not_equivalent; break;
  }
  if (outcome != pipeline::Outcome::not_equivalent)
    for (const Subscriber& subscriber : flight.subscribers) remember(flight, subscriber, flight.sent);
  note(reason);
  tell_all(flight, Finished{outcome, reason});
  const auto hints = std::move(flight.hints);
  const std::uint32_t uid = flight.uid;
  remove(flight);
  for (const auto& [subscriber, hint] : hints) observe(subscriber, uid, hint);
}

void Jobs::note(const std::string& reason) {
  if (reason.empty()) return;
  if (stats_.notes.size() == kNotesMax) stats_.notes.pop_front();
  stats_.notes.push_back(reason);
}

void Jobs::fail(Flight& flight, const Error& error, std::uint32_t retry_after_ms) {
  ++counts_of(*flight.order).failed;
  note(error.message);
  tell_all(flight, Failed{error, retry_after_ms});
  remove(flight);
}

void Jobs::remove(Flight& flight) {
  if (flight.place) queue_of(lane_of(flight.step)).erase(*flight.place);
  if (flight.ticket != 0) running_.at(flight.ticket).flight = nullptr;
  if (kept_.erase(flight.kept) != 0) pool_.forget(flight.kept);
  if (renewing_ == &flight) renewing_ = nullptr;
  for (const Subscriber& subscriber : flight.subscribers) waiting_.erase(subscriber);
  shares_of(*flight.order).end_job(flight.uid, flight.bytes);
  flights_.erase(std::string(flight.id));
}

Shares& Jobs::shares_of(const Order& order) {
  return order.lane == worker::Lane::programs ? program_shares_ : shares_;
}

Counts& Jobs::counts_of(const Order& order) {
  if (order.is_tried()) return tried_stats_of(order);
  return order.lane == worker::Lane::programs ? static_cast<Counts&>(stats_.programs) : stats_;
}

bool Jobs::admits(const Flight& flight) const {
  const std::uint64_t bytes = flight.order->bytes() + flight.canonical.size();
  if (flight.order->lane == worker::Lane::programs)
    return program_queue_.size_of(flight.uid) < limits_.program_queue_per_user &&
           program_shares_.of(flight.uid).bytes + bytes <= limits_.program_bytes_per_user;
  if (baseline_queue_.size_of(flight.uid) >= limits_.baseline_queue_per_user) return false;
  const Shares::Usage own = shares_.of(flight.uid), all = shares_.all();
  return leaves_room(own.jobs, all.jobs, 1, limits_.flights) &&
         leaves_room(own.bytes, all.bytes, bytes, limits_.flight_bytes) && has_room(flight.uid, bytes);
}

Jobs::Flight& Jobs::admit(std::unique_ptr<Flight> flight) {
  Flight& one = *flight;
  shares_of(*one.order).begin_job(one.uid);
  charge(one, one.order->bytes() + one.canonical.size());
  flights_.emplace(one.id, std::move(flight));
  return one;
}

bool Jobs::has_room(std::uint32_t uid, std::uint64_t bytes) const {
  return shares_.of(uid).bytes + bytes <= limits_.flight_bytes_per_user &&
         shares_.all().bytes + bytes <= limits_.flight_bytes;
}

void Jobs::charge(Flight& flight, std::uint64_t bytes) {
  flight.bytes += bytes;
  shares_of(*flight.order).charge(flight.uid, bytes);
}

void Jobs::release_standard_error() {
  pool_.release_standard_error();
  if (program_pool_) program_pool_->release_standard_error();
}

void Jobs::drain() {
  draining_ = true;
  std::vector<Flight*> past_baseline;
  for (const auto& [id, flight] : flights_)
    if (flight->baseline || flight->renewal) past_baseline.push_back(flight.get());
  for (Flight* flight : past_baseline) remove(*flight);
}

Stats Jobs::stats() const {
  Stats copy = stats_;
  copy.flights = shares_.all().jobs;
  copy.programs.waiting = program_queue_.size();
  copy.programs.running = program_shares_.all().jobs - program_queue_.size();
  copy.baseline_waiting = baseline_queue_.size();
  copy.optimise_waiting = optimise_queue_.size() - optimise_queue_.urgent_size();
  copy.check_waiting = optimise_queue_.urgent_size();
  copy.open_kernels = renewals_.size();
  copy.speculating = renewals_.speculating();
  copy.renewals_waiting = renewals_.waiting();
  return copy;
}

}  // namespace trident::jobs
