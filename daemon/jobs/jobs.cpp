#include "daemon/jobs/jobs.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/image/image.h"
#include "jit/pipeline/key.h"
#include "runtime/log/log.h"
#include "runtime/os/clock.h"

namespace trident::jobs {
namespace {

constexpr std::uint32_t kBusyRetryMs = 50;
constexpr std::uint64_t kSeed = 1;
/// Times that a check alone is tried, and the first try's time; each has twice that of the one before.
constexpr std::uint32_t kChecksMax = 3;
constexpr std::uint64_t kCheckBudgetNs = 2'000'000'000;

/// Messages up to here may stand in a worker's socket with others: all that it holds is a fraction of the work that the
/// largest expression is.
constexpr std::size_t kBriefBytesMax = 2048;
/// The time that a compilation counts for which was ended because it took too long.
constexpr std::uint64_t kTimedOutNs = 1'000'000'000;

/// A worker's reason is one sentence.
constexpr std::size_t kReasonBytesMax = 500;
/// Reasons that the statistics keep.
constexpr std::size_t kNotesMax = 16;
/// Bytes of submissions that are kept to be searched again, of all users.
constexpr std::uint64_t kRenewalBytesMax = std::uint64_t{32} << 20;
/// Behind the id of a flight: no submission shares it, for it has no baseline to give.
constexpr char kRenewalMark = 'r';
/// Nobody waits for what is searched again, so it is searched for longer.
constexpr std::uint8_t kRenewalEffort = 8;

/// Of the time of the baseline what the entry's kernel takes.
double ratio_of(const cache::Entry& entry) {
  const bool better = entry.outcome == static_cast<std::uint8_t>(pipeline::Outcome::published);
  return better && entry.baseline_ns > 0 ? entry.winner_ns / entry.baseline_ns : 1;
}

Error too_many_jobs() {
  return make_error(ErrorCode::kBusy, "too many jobs are waiting");
}

/// Whether a user that has `own` of `all` may have `more`: as much as is left to others, so that no flood fills what
/// all users share.
bool leaves_room(std::uint64_t own, std::uint64_t all, std::uint64_t more, std::uint64_t max) {
  return all < max && own + more <= max - all;
}

std::string flight_id(std::uint32_t uid, const image::Key& key) {
  std::string id(sizeof(uid) + key.size(), '\0');
  std::memcpy(id.data(), &uid, sizeof(uid));
  std::memcpy(id.data() + sizeof(uid), key.data(), key.size());
  return id;
}

std::string why_not_optimised(const Error& error) {
  return "it cannot be optimised: " + error.message;
}

/// The tail of a response that carries an image, which the pool has checked.
cache::SharedImage shared(std::string_view tail) {
  const auto bytes = std::as_bytes(std::span(tail));
  return std::make_shared<const image::ImageBytes>(image::ImageBytes{{bytes.begin(), bytes.end()}});
}

}  // namespace

struct Jobs::Flight {
  /// For the log: the expression, shortened, with user and key.
  [[nodiscard]] std::string describe() const;

  std::string id;
  std::uint32_t uid = 0;
  std::uint8_t isa = 0;
  image::Key key{};
  std::vector<std::byte> canonical;
  std::vector<std::byte> message;
  std::uint64_t bytes = 0;  ///< charged to the user: the above, and the baseline's image
  std::uint64_t submitted_ns = 0;
  State state = State::baseline_waiting;
  worker::Ticket ticket = 0;                       ///< while running or optimising
  std::optional<FairQueue<Flight*>::Place> place;  ///< while waiting
  cache::SharedImage baseline;
  std::uint32_t checks = 0;                 ///< begun
  bool baseline_checked = false;            ///< an optimise worker has found it right
  std::uint64_t weights = 0;                ///< the generation that the key is of
  std::optional<Renewals::Number> renewal;  ///< of this: nobody waits for it, and there is no baseline
  std::vector<Subscriber> subscribers;
  std::string reason;  ///< why there will be no optimised kernel, while a check alone is still to come
};

std::string Jobs::Flight::describe() const {
  constexpr std::size_t kTextBytesMax = 160;
  std::string text = "?";
  if (const auto read = ingest::read(message); read.ok())
    if (const auto* submit = std::get_if<ingest::Submit>(&*read); submit != nullptr && submit->work.ok())
      text = expr::print_infix(submit->work->expr);
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
    : cache_(cache),
      limits_(limits),
      search_{.seed = kSeed, .costs = costs, .rules = rules},
      sink_(std::move(sink)),
      renewals_(kRenewalBytesMax),
      pool_(loop, workers,
            {.on_response = [this](const auto& header, auto tail) { on_response(header, tail); },
             .on_served = [this](auto ticket, auto worker_ns) { on_served(ticket, worker_ns); },
             .on_lost = [this](auto ticket, auto fate) { on_lost(ticket, fate); },
             .on_free = [this](auto lane) { serve(lane); }}) {}

Jobs::~Jobs() = default;

image::Key Jobs::key_of(const ingest::Work& work, std::span<const std::byte> canonical, codegen::Isa isa) const {
  const pipeline::Target target{.isa = isa, .policy = work.policy, .elements = work.elements};
  return pipeline::expr_key(work.expr, canonical, target, search_);
}

void Jobs::submit(const Subscriber& subscriber, std::uint32_t uid, std::uint8_t isa, const ingest::Work& work,
                  std::span<const std::byte> message) {
  const std::uint64_t now = os::monotonic_ns();
  ++stats_.submitted;
  const auto known_isa = image::isa_of(isa);
  if (!known_isa.ok()) return sink_(subscriber, Failed{known_isa.error()});
  std::vector<std::byte> canonical = expr::canonical_bytes(work.expr);
  const image::Key key = key_of(work, canonical, *known_isa);
  std::string id = flight_id(uid, key);

  if (failures_.quarantined(uid, id, worker::Lane::baseline, now)) {
    ++stats_.quarantined;
    return sink_(subscriber, Failed{make_error(ErrorCode::kUnsupported,
                                               "compiling this expression failed repeatedly; it is left alone for now"),
                                    static_cast<std::uint32_t>(kFailuresRememberedNs / 1'000'000)});
  }
  if (const Error* known = failures_.known(uid, id, worker::Lane::baseline, now)) {
    ++stats_.known_failures;
    return sink_(subscriber, Failed{Error(*known)});
  }
  if (const auto at = flights_.find(id); at != flights_.end()) {
    ++stats_.shared;
    return subscribe(*at->second, subscriber);
  }
  const auto kernel = [&, weights = renewals_.weights()] {
    Renewals::Kernel made{id, uid, isa, {message.begin(), message.end()}};
    made.weights = weights;
    return made;
  };
  if (const cache::Entry* entry = cache_.find_hot(uid, key, canonical)) return answer(subscriber, *entry, kernel());
  const std::uint64_t bytes = message.size() + canonical.size();
  if (baseline_queue_.size_of(uid) >= limits_.baseline_queue_per_user || !admits(uid, bytes)) {
    ++stats_.busy;
    return sink_(subscriber, Failed{too_many_jobs(), kBusyRetryMs});
  }

  auto owned = std::make_unique<Flight>();
  Flight& flight = *owned;
  flight.id = id;
  flight.uid = uid;
  flight.isa = isa;
  flight.key = key;
  flight.canonical = std::move(canonical);
  flight.message.assign(message.begin(), message.end());
  flight.submitted_ns = now;
  flight.weights = renewals_.weights();
  admit(std::move(owned), bytes);
  wait_for_baseline(flight, false);
  if (journal_) journal_(uid, work.expr);
  if (const cache::Entry* entry = cache_.find_stored(uid, key, flight.canonical)) {
    remove(flight);  // the worker's answer, if any is under way, finds no flight and is dropped
    return answer(subscriber, *entry, kernel());
  }
  subscribe(flight, subscriber);
}

void Jobs::subscribe(Flight& flight, const Subscriber& subscriber) {
  flight.subscribers.push_back(subscriber);
  waiting_[subscriber] = &flight;
  sink_(subscriber, Accepted{});
  if (flight.baseline) sink_(subscriber, ImageReady{flight.baseline, 0, 0});
}

void Jobs::answer(const Subscriber& subscriber, const cache::Entry& entry, const Renewals::Kernel& kernel) {
  if (entry.image) remember(subscriber, kernel, ratio_of(entry));
  sink_(subscriber, Accepted{true});
  if (entry.image) {
    const bool optimised = entry.image->header().tier == TRIDENT_TIER_OPTIMISED;
    sink_(subscriber, ImageReady{entry.image, entry.baseline_ns, optimised ? entry.winner_ns : 0, true});
  }
  sink_(subscriber, Finished{static_cast<pipeline::Outcome>(entry.outcome), entry.reason});
}

void Jobs::cancel(const Subscriber& subscriber) {
  const auto at = waiting_.find(subscriber);
  if (at == waiting_.end()) return renewals_.forget(subscriber);
  ++stats_.cancelled;
  Flight& flight = *at->second;
  waiting_.erase(at);
  std::erase(flight.subscribers, subscriber);
  if (flight.subscribers.empty() && flight.place) remove(flight);
}

void Jobs::tell_all(Flight& flight, const Event& event) {
  // A copy: a subscriber may cancel while it is told.
  for (const Subscriber& subscriber : std::vector(flight.subscribers))
    if (waiting_.contains(subscriber)) sink_(subscriber, event);
}

void Jobs::finish(Flight& flight, pipeline::Outcome outcome, const std::string& reason, double ratio) {
  switch (outcome) {
    case pipeline::Outcome::published: ++stats_.published; break;
    case pipeline::Outcome::no_gain: ++stats_.no_gain; break;
    case pipeline::Outcome::budget_spent: ++stats_.budget_spent; break;
    case pipeline::Outcome::not_equivalent: ++stats_.not_equivalent; break;
  }
  if (outcome != pipeline::Outcome::not_equivalent) {
    Renewals::Kernel kernel{flight.id, flight.uid, flight.isa, flight.message};
    kernel.weights = flight.weights;
    for (const Subscriber& subscriber : flight.subscribers) remember(subscriber, kernel, ratio);
  }
  note(reason);
  tell_all(flight, Finished{outcome, reason});
  remove(flight);
}

void Jobs::note(const std::string& reason) {
  if (reason.empty()) return;
  if (stats_.notes.size() == kNotesMax) stats_.notes.pop_front();
  stats_.notes.push_back(reason);
}

void Jobs::fail(Flight& flight, const Error& error, std::uint32_t retry_after_ms) {
  ++stats_.failed;
  note(error.message);
  tell_all(flight, Failed{error, retry_after_ms});
  remove(flight);
}

void Jobs::remove(Flight& flight) {
  if (flight.place)
    queue_of(flight.state == State::baseline_waiting ? worker::Lane::baseline : worker::Lane::optimise)
        .erase(*flight.place);
  if (flight.ticket != 0) running_.at(flight.ticket).flight = nullptr;
  if (renewing_ == &flight) renewing_ = nullptr;
  for (const Subscriber& subscriber : flight.subscribers) waiting_.erase(subscriber);
  const auto user = usage_.find(flight.uid);
  user->second.bytes -= flight.bytes;
  all_bytes_ -= flight.bytes;
  if (--user->second.flights == 0) usage_.erase(user);
  flights_.erase(std::string(flight.id));
}

Jobs::Usage Jobs::usage_of(std::uint32_t uid) const {
  const auto at = usage_.find(uid);
  return at == usage_.end() ? Usage() : at->second;
}

bool Jobs::admits(std::uint32_t uid, std::uint64_t bytes) const {
  const Usage own = usage_of(uid);
  return leaves_room(own.flights, flights_.size(), 1, limits_.flights) &&
         leaves_room(own.bytes, all_bytes_, bytes, limits_.flight_bytes) && has_room(uid, bytes);
}

void Jobs::admit(std::unique_ptr<Flight> flight, std::uint64_t bytes) {
  ++usage_[flight->uid].flights;
  charge(*flight, bytes);
  const std::string id = flight->id;
  flights_.emplace(id, std::move(flight));
}

bool Jobs::has_room(std::uint32_t uid, std::uint64_t bytes) const {
  return usage_of(uid).bytes + bytes <= limits_.flight_bytes_per_user && all_bytes_ + bytes <= limits_.flight_bytes;
}

void Jobs::charge(Flight& flight, std::uint64_t bytes) {
  flight.bytes += bytes;
  usage_[flight.uid].bytes += bytes;
  all_bytes_ += bytes;
}

FairQueue<Jobs::Flight*>& Jobs::queue_of(worker::Lane lane) {
  return lane == worker::Lane::baseline ? baseline_queue_ : optimise_queue_;
}

void Jobs::wait_for_baseline(Flight& flight, bool in_front) {
  flight.state = State::baseline_waiting;
  flight.place =
      in_front ? baseline_queue_.push_front(flight.uid, &flight) : baseline_queue_.push_back(flight.uid, &flight);
  run_waiting(worker::Lane::baseline);
}

void Jobs::wait_for_optimise(Flight& flight, bool in_front) {
  const bool at_once = optimise_queue_.size() == 0 && pool_.has_room(worker::Lane::optimise);
  if (!in_front && !at_once && optimise_queue_.size_of(flight.uid) >= limits_.optimise_queue_per_user) {
    flight.reason = "this user has " + std::to_string(limits_.optimise_queue_per_user) +
                    " kernels waiting for the search already, the most that optimise_queue_per_user allows";
    return wait_for_check(flight);
  }
  flight.state = State::optimise_waiting;
  flight.place =
      in_front ? optimise_queue_.push_front(flight.uid, &flight) : optimise_queue_.push_back(flight.uid, &flight);
  run_waiting(worker::Lane::optimise);
}

/// A user's checks go before its optimisations, and there is always room for one: at most as many wait as there are
/// flights.
void Jobs::wait_for_check(Flight& flight) {
  flight.state = State::check_waiting;
  flight.place = optimise_queue_.push_urgent(flight.uid, &flight);
  run_waiting(worker::Lane::optimise);
}

/// An optimise job ended without an answer: the baseline stays, checked already or now.
void Jobs::keep_baseline(Flight& flight, const std::string& reason) {
  if (flight.baseline_checked) return finish(flight, pipeline::Outcome::budget_spent, reason);
  flight.reason = reason;
  wait_for_check(flight);
}

/// A check gave no answer. Again, behind the others; in the end the baseline goes, as nobody can say that it is right.
void Jobs::check_failed(Flight& flight) {
  if (flight.checks < kChecksMax) {
    ++stats_.retried;
    return wait_for_check(flight);
  }
  tell_of_revocation("could not be checked", flight);
  for (std::uint32_t i = 0; i < kStrikesMax; ++i)  // not sent out again
    failures_.strike(flight.uid, flight.id, worker::Lane::baseline, os::monotonic_ns());
  revoke(flight);
  finish(flight, pipeline::Outcome::not_equivalent,
         "the baseline was revoked: " + std::to_string(kChecksMax) + " checks of it gave no answer");
}

void Jobs::tell_of_revocation(const char* why, const Flight& flight) {
  if (revocations_.take())
    log::error("a baseline kernel of user {} {} and is revoked: {}{}", flight.uid, why, flight.describe(),
               revocations_.left_out());
}

void Jobs::revoke(Flight& flight) {
  ++stats_.revoked;
  tell_all(flight, Revoked{});
}

void Jobs::run(Flight& flight, worker::Lane lane) {
  const bool check = flight.state == State::check_waiting;
  flight.place.reset();
  flight.state = lane == worker::Lane::baseline ? State::baseline_running
                 : check                        ? State::checking
                 : flight.renewal               ? State::renewing
                                                : State::optimising;
  flight.ticket = next_ticket_++;
  running_[flight.ticket] = {&flight, flight.uid, lane, flight.renewal.has_value()};
  worker::RequestHeader header;
  header.ticket = flight.ticket;
  header.lane = lane;
  header.isa = flight.isa;
  header.seed = search_.seed;
  header.key = flight.key;
  header.budget_ns = lane == worker::Lane::optimise ? limits_.optimise_budget_ms * 1'000'000 : 0;
  if (flight.renewal) header.effort = kRenewalEffort;
  if (check) {
    header.check_only = 1;
    header.budget_ns = kCheckBudgetNs << flight.checks++;
  }
  pool_.request(header, flight.message, claim_of(flight));
}

worker::Claim Jobs::claim_of(const Flight& flight) const {
  const bool slow = slow_users_.contains(flight.uid, os::monotonic_ns());
  return {flight.uid, !slow && flight.message.size() <= kBriefBytesMax, slow};
}

void Jobs::serve(worker::Lane lane) {
  run_waiting(lane);
  if (lane == worker::Lane::optimise && optimise_queue_.size() == 0) renew_next();
}

void Jobs::run_waiting(worker::Lane lane) {
  auto& queue = queue_of(lane);
  while (const auto next = queue.pop([&](const Flight* first) { return pool_.has_room(lane, claim_of(*first)); })) {
    Flight& flight = **next;
    flight.place.reset();
    // The images of those before it may have taken the user's share: whoever asked asks again, and loses nothing.
    if (lane == worker::Lane::baseline && !has_room(flight.uid, 0)) {
      queue.settle(flight.uid, 0);
      ++stats_.busy;
      fail(flight, too_many_jobs(), kBusyRetryMs);
      continue;
    }
    run(flight, lane);
  }
}

void Jobs::on_served(worker::Ticket ticket, std::uint64_t worker_ns) {
  const auto at = running_.find(ticket);
  if (at != running_.end() && !at->second.renewal) queue_of(at->second.lane).settle(at->second.uid, worker_ns);
}

void Jobs::on_response(const worker::ResponseHeader& header, std::string_view tail) {
  const auto at = running_.find(header.ticket);
  if (at == running_.end()) return;
  const Running running = at->second;
  if (header.kind == worker::Kind::progress) return on_progress(running, header);
  running_.erase(at);
  const worker::Lane lane = running.lane;
  if (lane == worker::Lane::baseline) slow_users_.note(running.uid, header.cpu_ns, os::monotonic_ns());
  if (running.flight == nullptr) return;
  Flight& flight = *running.flight;
  flight.ticket = 0;
  switch (header.kind) {
    case worker::Kind::baseline_image: return on_baseline(flight, shared(tail));
    case worker::Kind::outcome: return on_outcome(flight, header, tail);
    case worker::Kind::progress:
    case worker::Kind::program:  // of another lane
    case worker::Kind::ready:
    case worker::Kind::failed: break;
  }
  if (flight.renewal) return end_renewal(flight, nullptr);
  const Error error{static_cast<ErrorCode>(std::min(header.code, static_cast<std::uint8_t>(ErrorCode::kBusy))),
                    std::string(tail)};
  failures_.remember(flight.uid, flight.id, lane, error, os::monotonic_ns());
  if (lane == worker::Lane::baseline) return fail(flight, error);
  const bool check = flight.state == State::checking;
  if (failed_.take())
    log::warning("{} job failed: {}: {}{}", check ? "a check" : "an optimise", name_of(error.code), error.message,
                 failed_.left_out());
  check ? check_failed(flight) : keep_baseline(flight, why_not_optimised(error));
}

void Jobs::on_progress(const Running& running, const worker::ResponseHeader& header) {
  if (running.flight == nullptr) return;
  if (running.lane == worker::Lane::optimise && header.baseline_checked != 0) running.flight->baseline_checked = true;
  tell_all(*running.flight, Progressed{static_cast<Stage>(header.code), header.done, header.total, header.best_ratio});
}

void Jobs::on_baseline(Flight& flight, cache::SharedImage image) {
  ++stats_.baseline_ready;
  const std::uint64_t us = (os::monotonic_ns() - flight.submitted_ns) / 1000;
  ++stats_.baseline_us_log2[std::min<std::size_t>(std::bit_width(us), stats_.baseline_us_log2.size() - 1)];
  flight.baseline = std::move(image);
  charge(flight, flight.baseline->bytes.size());
  tell_all(flight, ImageReady{flight.baseline, 0, 0});
  if (flight.subscribers.empty()) return remove(flight);
  if (draining_) return remove(flight);
  const std::uint64_t now = os::monotonic_ns();
  if (const Error* known = failures_.known(flight.uid, flight.id, worker::Lane::optimise, now)) {
    ++stats_.known_failures;
    flight.reason = why_not_optimised(*known);
    return wait_for_check(flight);
  }
  if (failures_.quarantined(flight.uid, flight.id, worker::Lane::optimise, now)) {
    flight.reason = "searching for a better kernel failed repeatedly; it is left alone for now";
    return wait_for_check(flight);
  }
  wait_for_optimise(flight, false);
}

void Jobs::on_outcome(Flight& flight, const worker::ResponseHeader& header, std::string_view tail) {
  const auto outcome = static_cast<pipeline::Outcome>(header.code);
  const bool check = flight.state == State::checking;
  const std::string_view reason =
      outcome == pipeline::Outcome::published ? std::string_view() : tail.substr(0, kReasonBytesMax);
  if (!check) failures_.forget(flight.uid, flight.id);
  if (flight.renewal) return on_renewed(flight, header, tail);
  if (outcome == pipeline::Outcome::budget_spent || (check && outcome == pipeline::Outcome::no_gain)) {
    if (!check) flight.reason = reason;
    if (header.baseline_checked == 0) return check ? check_failed(flight) : wait_for_check(flight);
    stats_.checked_alone += check ? 1 : 0;
    return finish(flight, pipeline::Outcome::budget_spent, std::string(flight.reason));
  }
  cache::Entry entry;
  entry.outcome = header.code;
  entry.baseline_ns = header.baseline_ns;
  entry.winner_ns = header.winner_ns;
  switch (outcome) {
    case pipeline::Outcome::published:
      entry.image = shared(tail);
      tell_all(flight, ImageReady{entry.image, header.baseline_ns, header.winner_ns, true});
      break;
    case pipeline::Outcome::no_gain: entry.image = flight.baseline; break;
    case pipeline::Outcome::budget_spent: break;  // above
    case pipeline::Outcome::not_equivalent:
      tell_of_revocation("differs from its reference", flight);
      revoke(flight);
      break;
  }
  entry.canonical = flight.canonical;
  entry.reason = reason;
  const std::uint32_t uid = flight.uid;
  const image::Key key = flight.key;
  // A key of other weights than those that the worker went by: the answer is as good, but not the key's.
  const bool of_key = flight.weights == renewals_.weights();
  finish(flight, outcome, entry.reason, ratio_of(entry));
  if (of_key) cache_.insert(uid, key, std::move(entry));
}

// Whatever is wrong with the baseline now, it was found right before: those who have it are told as ever.
void Jobs::on_renewed(Flight& flight, const worker::ResponseHeader& header, std::string_view tail) {
  const auto outcome = static_cast<pipeline::Outcome>(header.code);
  if (outcome == pipeline::Outcome::not_equivalent) {
    tell_of_revocation("differs from its reference", flight);
    if (const Renewals::Kernel* kernel = renewals_.find(*flight.renewal); kernel != nullptr)
      for (const Subscriber& subscriber : std::vector(kernel->subscribers)) sink_(subscriber, Revoked{});
  }
  if (outcome != pipeline::Outcome::published) return end_renewal(flight, nullptr);
  cache::Entry entry;
  entry.outcome = header.code;
  entry.baseline_ns = header.baseline_ns;
  entry.winner_ns = header.winner_ns;
  entry.image = shared(tail);
  entry.canonical = flight.canonical;
  if (flight.weights == renewals_.weights()) cache_.insert(flight.uid, flight.key, entry);
  end_renewal(flight, &entry);
}

void Jobs::end_renewal(Flight& flight, const cache::Entry* entry) {
  Renewals::Kernel* const kernel = renewals_.find(*flight.renewal);
  if (kernel != nullptr && entry != nullptr) offer(*kernel, *entry);
  remove(flight);
}

void Jobs::offer(Renewals::Kernel& kernel, const cache::Entry& entry) {
  const double ratio = ratio_of(entry);
  if (!(ratio < kernel.ratio * kRenewalGain)) return;
  kernel.ratio = ratio;
  ++kernel.renewed;
  ++stats_.republished;
  if (promotions_.take())
    log::info("user {} gets a better kernel for one that is open: {:.2f} of its baseline's time{}", kernel.uid, ratio,
              promotions_.left_out());
  // A copy: a subscriber may close while it is told.
  for (const Subscriber& subscriber : std::vector(kernel.subscribers))
    sink_(subscriber, ImageReady{entry.image, entry.baseline_ns, entry.winner_ns});
}

void Jobs::remember(const Subscriber& subscriber, const Renewals::Kernel& kernel, double ratio) {
  if (!renews_) return;
  Renewals::Kernel one = kernel;
  one.ratio = ratio;
  renewals_.remember(subscriber, std::move(one));
}

void Jobs::set_weights(const pipeline::SearchWeights* weights, const std::string& told) {
  const bool first = !std::exchange(renews_, true);
  search_.weights = weights;
  pool_.tell_weights(told);
  if (first) return;
  renewals_.set_weights(renewals_.weights() + 1);
  serve(worker::Lane::optimise);
}

void Jobs::set_costs(const expr::rewrite::OpCosts* costs, const std::string& told) {
  search_.costs = costs;
  pool_.tell_costs(told);
  // As other weights do: keys are others, and what clients have is searched again.
  renewals_.set_weights(renewals_.weights() + 1);
  serve(worker::Lane::optimise);
}

void Jobs::renew_next() {
  while (renewing_ == nullptr && !draining_ && pool_.has_room(worker::Lane::optimise)) {
    const auto number = renewals_.next();
    if (!number) return;
    renew(*number);
  }
}

void Jobs::renew(Renewals::Number number) {
  Renewals::Kernel& kernel = *renewals_.find(number);
  kernel.weights = renewals_.weights();
  const auto read = ingest::read(kernel.message);
  const auto* submit = read.ok() ? std::get_if<ingest::Submit>(&*read) : nullptr;
  const auto isa = image::isa_of(kernel.isa);
  if (submit == nullptr || !submit->work.ok() || !isa.ok()) return;
  auto owned = std::make_unique<Flight>();
  Flight& flight = *owned;
  flight.canonical = expr::canonical_bytes(submit->work->expr);
  flight.key = key_of(*submit->work, flight.canonical, *isa);
  flight.id = flight_id(kernel.uid, flight.key) + kRenewalMark;
  if (failures_.quarantined(kernel.uid, flight.id, worker::Lane::optimise, os::monotonic_ns()) ||
      !has_room(kernel.uid, kernel.message.size()))
    return;
  ++stats_.renewals;
  const cache::Entry* known = cache_.find_hot(kernel.uid, flight.key, flight.canonical);
  if (known == nullptr) known = cache_.find_stored(kernel.uid, flight.key, flight.canonical);
  if (known != nullptr && known->image) return offer(kernel, cache::Entry(*known));
  flight.uid = kernel.uid;
  flight.isa = kernel.isa;
  flight.message = kernel.message;
  flight.weights = renewals_.weights();
  flight.renewal = number;
  flight.state = State::renewing;
  admit(std::move(owned), flight.message.size() + flight.canonical.size());
  renewing_ = &flight;
  run(flight, worker::Lane::optimise);
}

void Jobs::on_lost(worker::Ticket ticket, worker::PoolEvents::Fate fate) {
  using Fate = worker::PoolEvents::Fate;
  const auto at = running_.find(ticket);
  if (at == running_.end()) return;
  const Running running = at->second;
  running_.erase(at);
  const worker::Lane lane = running.lane;
  const bool baseline = lane == worker::Lane::baseline;
  if (baseline && fate == Fate::timed_out) slow_users_.note(running.uid, kTimedOutNs, os::monotonic_ns());
  if (running.flight == nullptr) return;
  Flight& flight = *running.flight;
  flight.ticket = 0;
  const bool check = flight.state == State::checking;
  bool retry = fate == Fate::unharmed;
  if (fate != Fate::unharmed) {
    ++stats_.lost;
    const std::uint32_t strikes = failures_.strike(flight.uid, flight.id, lane, os::monotonic_ns());
    retry = strikes < kStrikesMax && fate == Fate::crashed;
  }
  if (flight.renewal || flight.subscribers.empty()) return remove(flight);
  if (check) return check_failed(flight);
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

void Jobs::drain() {
  draining_ = true;
  std::vector<Flight*> past_baseline;
  for (const auto& [id, flight] : flights_)
    if (flight->baseline || flight->renewal) past_baseline.push_back(flight.get());
  for (Flight* flight : past_baseline) remove(*flight);
}

Stats Jobs::stats() const {
  Stats copy = stats_;
  copy.flights = flights_.size();
  copy.baseline_waiting = baseline_queue_.size();
  copy.optimise_waiting = optimise_queue_.size() - optimise_queue_.urgent_size();
  copy.check_waiting = optimise_queue_.urgent_size();
  copy.open_kernels = renewals_.size();
  copy.renewals_waiting = renewals_.waiting();
  return copy;
}

}  // namespace trident::jobs
