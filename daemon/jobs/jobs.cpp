#include "daemon/jobs/jobs.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/image/image.h"
#include "runtime/log/log.h"
#include "runtime/os/clock.h"
#include "runtime/os/memfd.h"

namespace trident::jobs {
namespace {

constexpr std::uint32_t kStrikesMax = 3;
constexpr std::uint64_t kStrikesRememberedNs = 600'000'000'000;
/// Keys with strikes that are remembered at a time.
constexpr std::size_t kStruckKeysMax = 4096;
constexpr std::uint32_t kBusyRetryMs = 50;
constexpr std::uint64_t kSeed = 1;
/// wire::Stage of the first progress that follows the check of the baseline.
constexpr std::uint8_t kStageEmit = 1;
/// Times that a check alone is tried, and the first try's time; each has twice that of the one before.
constexpr std::uint32_t kChecksMax = 3;
constexpr std::uint64_t kCheckBudgetNs = 2'000'000'000;

Error too_many_jobs() {
  return make_error(ErrorCode::kBusy, "too many jobs are waiting");
}

std::string flight_id(std::uint32_t uid, const image::Key& key) {
  std::string id(sizeof(uid) + key.size(), '\0');
  std::memcpy(id.data(), &uid, sizeof(uid));
  std::memcpy(id.data() + sizeof(uid), key.data(), key.size());
  return id;
}

cache::SharedImage shared(const worker::ResponseHeader& header, os::Fd fd, trident_tier tier) {
  cache::SharedImage image;
  image.file = std::make_shared<cache::ImageFile>(std::move(fd));
  image.size = header.size;
  image.digest[0] = header.digest[0];
  image.digest[1] = header.digest[1];
  image.tier = static_cast<std::uint8_t>(tier);
  return image;
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
  std::uint32_t checks = 0;       ///< begun
  bool baseline_checked = false;  ///< an optimise worker has come past the check
  std::vector<Subscriber> subscribers;
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
      costs_(costs),
      rules_(rules),
      sink_(std::move(sink)),
      pool_(loop, workers,
            {.on_response = [this](const auto& header, auto tail,
                                   os::Fd fd) { on_response(header, tail, std::move(fd)); },
             .on_lost = [this](auto ticket, auto fate) { on_lost(ticket, fate); },
             .on_free = [this](auto lane) { serve(lane); }}) {}

Jobs::~Jobs() = default;

void Jobs::submit(const Subscriber& subscriber, std::uint32_t uid, std::uint8_t isa, const ingest::Work& work,
                  std::span<const std::byte> message) {
  const std::uint64_t now = os::monotonic_ns();
  ++stats_.submitted;
  pipeline::Options options;
  const auto known_isa = image::isa_of(isa);
  if (!known_isa.ok()) return sink_(subscriber, Failed{known_isa.error()});
  options.policy = work.policy;
  options.isa = *known_isa;
  options.seed = kSeed;
  options.elements = work.elements;
  options.costs = costs_;
  options.rules = rules_;
  std::vector<std::byte> canonical = expr::canonical_bytes(work.expr);
  const image::Key key = pipeline::key_of(work.expr, canonical, options);
  std::string id = flight_id(uid, key);

  if (quarantined(id, worker::Lane::baseline)) {
    ++stats_.quarantined;
    return sink_(subscriber, Failed{make_error(ErrorCode::kUnsupported,
                                               "compiling this expression failed repeatedly; it is left alone for now"),
                                    static_cast<std::uint32_t>(kStrikesRememberedNs / 1'000'000)});
  }
  if (const auto at = flights_.find(id); at != flights_.end()) {
    ++stats_.shared;
    return subscribe(*at->second, subscriber);
  }
  if (const cache::Entry* entry = cache_.find_hot(uid, key, canonical)) return answer(subscriber, *entry);
  const std::uint64_t bytes = message.size() + canonical.size();
  if (flights_.size() >= limits_.flights || baseline_queue_.size_of(uid) >= limits_.baseline_queue_per_user ||
      !has_room(uid, bytes)) {
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
  charge(flight, bytes);
  flights_.emplace(std::move(id), std::move(owned));
  wait_for_baseline(flight, false);
  if (const cache::Entry* entry = cache_.find_stored(uid, key, flight.canonical)) {
    remove(flight);  // the worker's answer, if any is under way, finds no flight and is dropped
    return answer(subscriber, *entry);
  }
  subscribe(flight, subscriber);
}

void Jobs::subscribe(Flight& flight, const Subscriber& subscriber) {
  flight.subscribers.push_back(subscriber);
  waiting_[subscriber] = &flight;
  sink_(subscriber, Accepted{});
  if (flight.baseline.file) sink_(subscriber, ImageReady{flight.baseline, 0, 0});
}

void Jobs::answer(const Subscriber& subscriber, const cache::Entry& entry) {
  sink_(subscriber, Accepted{true});
  if (entry.image.file) {
    const bool optimised = entry.image.tier == TRIDENT_TIER_OPTIMISED;
    sink_(subscriber, ImageReady{entry.image, entry.baseline_ns, optimised ? entry.winner_ns : 0, true});
  }
  sink_(subscriber, Finished{static_cast<pipeline::Outcome>(entry.outcome)});
}

void Jobs::cancel(const Subscriber& subscriber) {
  const auto at = waiting_.find(subscriber);
  if (at == waiting_.end()) return;
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

void Jobs::finish(Flight& flight, pipeline::Outcome outcome) {
  switch (outcome) {
    case pipeline::Outcome::published: ++stats_.published; break;
    case pipeline::Outcome::no_gain: ++stats_.no_gain; break;
    case pipeline::Outcome::budget_spent: ++stats_.budget_spent; break;
    case pipeline::Outcome::not_equivalent: ++stats_.not_equivalent; break;
  }
  tell_all(flight, Finished{outcome});
  remove(flight);
}

void Jobs::fail(Flight& flight, const Error& error, std::uint32_t retry_after_ms) {
  ++stats_.failed;
  tell_all(flight, Failed{error, retry_after_ms});
  remove(flight);
}

void Jobs::remove(Flight& flight) {
  if (flight.place) queue_of(flight).erase(*flight.place);
  if (flight.ticket != 0) running_.erase(flight.ticket);
  for (const Subscriber& subscriber : flight.subscribers) waiting_.erase(subscriber);
  const auto bytes = flight_bytes_.find(flight.uid);
  bytes->second -= flight.bytes;
  all_bytes_ -= flight.bytes;
  if (bytes->second == 0) flight_bytes_.erase(bytes);
  flights_.erase(std::string(flight.id));
}

bool Jobs::has_room(std::uint32_t uid, std::uint64_t bytes) const {
  const auto at = flight_bytes_.find(uid);
  return (at == flight_bytes_.end() ? 0 : at->second) + bytes <= limits_.flight_bytes_per_user &&
         all_bytes_ + bytes <= limits_.flight_bytes;
}

void Jobs::charge(Flight& flight, std::uint64_t bytes) {
  flight.bytes += bytes;
  flight_bytes_[flight.uid] += bytes;
  all_bytes_ += bytes;
}

FairQueue<Jobs::Flight*>& Jobs::queue_of(const Flight& flight) {
  if (flight.state == State::baseline_waiting) return baseline_queue_;
  return flight.state == State::check_waiting ? check_queue_ : optimise_queue_;
}

void Jobs::wait_for_baseline(Flight& flight, bool in_front) {
  if (pool_.has_room(worker::Lane::baseline) && baseline_queue_.size() == 0) return run(flight, worker::Lane::baseline);
  flight.state = State::baseline_waiting;
  flight.place =
      in_front ? baseline_queue_.push_front(flight.uid, &flight) : baseline_queue_.push_back(flight.uid, &flight);
}

void Jobs::wait_for_optimise(Flight& flight, bool in_front) {
  if (pool_.has_room(worker::Lane::optimise) && optimise_queue_.size() == 0) return run(flight, worker::Lane::optimise);
  if (!in_front && optimise_queue_.size_of(flight.uid) >= limits_.optimise_queue_per_user)
    return wait_for_check(flight);
  flight.state = State::optimise_waiting;
  flight.place =
      in_front ? optimise_queue_.push_front(flight.uid, &flight) : optimise_queue_.push_back(flight.uid, &flight);
}

/// Checks go before optimisations, and there is always room for one: at most as many wait as there are flights.
void Jobs::wait_for_check(Flight& flight) {
  flight.state = State::check_waiting;
  if (pool_.has_room(worker::Lane::optimise) && check_queue_.size() == 0) return run(flight, worker::Lane::optimise);
  flight.place = check_queue_.push_back(flight.uid, &flight);
}

/// An optimise job ended without an answer: the baseline stays, checked already or now.
void Jobs::keep_baseline(Flight& flight) {
  if (flight.baseline_checked) return finish(flight, pipeline::Outcome::budget_spent);
  wait_for_check(flight);
}

/// A check gave no answer. Again, behind the others; in the end the baseline goes, as nobody can say that it is right.
void Jobs::check_failed(Flight& flight) {
  if (flight.checks < kChecksMax) {
    ++stats_.retried;
    return wait_for_check(flight);
  }
  log::error("a baseline kernel could not be checked and is revoked: {}", flight.describe());
  for (std::uint32_t i = 0; i < kStrikesMax; ++i) strike(flight.id, worker::Lane::baseline);  // not sent out again
  revoke(flight);
  finish(flight, pipeline::Outcome::not_equivalent);
}

void Jobs::revoke(Flight& flight) {
  ++stats_.revoked;
  tell_all(flight, Revoked{});
}

void Jobs::run(Flight& flight, worker::Lane lane) {
  const bool check = flight.state == State::check_waiting;
  flight.place.reset();
  flight.state = lane == worker::Lane::baseline ? State::baseline_running : check ? State::checking : State::optimising;
  flight.ticket = next_ticket_++;
  running_[flight.ticket] = &flight;
  worker::RequestHeader header;
  header.ticket = flight.ticket;
  header.lane = lane;
  header.isa = flight.isa;
  header.seed = kSeed;
  header.key = flight.key;
  header.budget_ns = lane == worker::Lane::optimise ? limits_.optimise_budget_ms * 1'000'000 : 0;
  if (check) {
    header.check_only = 1;
    header.budget_ns = kCheckBudgetNs << flight.checks++;
  }
  pool_.request(header, flight.message);
}

void Jobs::serve(worker::Lane lane) {
  while (pool_.has_room(lane)) {
    auto& queue = lane == worker::Lane::baseline ? baseline_queue_
                  : check_queue_.size() > 0      ? check_queue_
                                                 : optimise_queue_;
    if (queue.size() == 0) return;
    Flight& flight = **queue.pop();
    flight.place.reset();
    // The images of those before it may have taken the user's share: whoever asked asks again, and loses nothing.
    if (lane == worker::Lane::baseline && !has_room(flight.uid, 0)) {
      ++stats_.busy;
      fail(flight, too_many_jobs(), kBusyRetryMs);
      continue;
    }
    run(flight, lane);
  }
}

void Jobs::on_response(const worker::ResponseHeader& header, std::string_view tail, os::Fd fd) {
  const auto at = running_.find(header.ticket);
  if (at == running_.end()) return;
  Flight& flight = *at->second;
  const worker::Lane lane = flight.state == State::baseline_running ? worker::Lane::baseline : worker::Lane::optimise;
  if (header.kind == worker::Kind::progress) {
    // Nothing is emitted before the baseline was found right (jit/pipeline/optimise.cpp, run_passes).
    if (lane == worker::Lane::optimise && header.code >= kStageEmit) flight.baseline_checked = true;
    return tell_all(flight, Progressed{header.code, header.done, header.total, header.best_ratio});
  }
  running_.erase(at);
  flight.ticket = 0;
  switch (header.kind) {
    case worker::Kind::baseline_image: return on_baseline(flight, shared(header, std::move(fd), TRIDENT_TIER_BASELINE));
    case worker::Kind::outcome: return on_outcome(flight, header, std::move(fd));
    case worker::Kind::progress:
    case worker::Kind::failed: break;
  }
  const Error error{static_cast<ErrorCode>(std::min(header.code, static_cast<std::uint8_t>(ErrorCode::kBusy))),
                    std::string(tail)};
  if (lane == worker::Lane::baseline) return fail(flight, error);
  const bool check = flight.state == State::checking;
  log::warning("{} job failed: {}: {}", check ? "a check" : "an optimise", name_of(error.code), error.message);
  check ? check_failed(flight) : keep_baseline(flight);
}

void Jobs::on_baseline(Flight& flight, cache::SharedImage image) {
  ++stats_.baseline_ready;
  const std::uint64_t us = (os::monotonic_ns() - flight.submitted_ns) / 1000;
  ++stats_.baseline_us_log2[std::min<std::size_t>(std::bit_width(us), stats_.baseline_us_log2.size() - 1)];
  flight.baseline = std::move(image);
  charge(flight, os::round_to_pages(flight.baseline.size));
  tell_all(flight, ImageReady{flight.baseline, 0, 0});
  if (flight.subscribers.empty()) return remove(flight);
  if (draining_) return remove(flight);
  if (quarantined(flight.id, worker::Lane::optimise)) return wait_for_check(flight);
  wait_for_optimise(flight, false);
}

void Jobs::on_outcome(Flight& flight, const worker::ResponseHeader& header, os::Fd fd) {
  const auto outcome = static_cast<pipeline::Outcome>(header.code);
  const bool check = flight.state == State::checking;
  if (!check) strikes_.erase(flight.id);
  if (outcome == pipeline::Outcome::budget_spent || (check && outcome == pipeline::Outcome::no_gain)) {
    if (header.baseline_checked == 0) return check ? check_failed(flight) : wait_for_check(flight);
    stats_.checked_alone += check ? 1 : 0;
    return finish(flight, pipeline::Outcome::budget_spent);
  }
  cache::Entry entry;
  entry.outcome = header.code;
  entry.baseline_ns = header.baseline_ns;
  entry.winner_ns = header.winner_ns;
  switch (outcome) {
    case pipeline::Outcome::published:
      entry.image = shared(header, std::move(fd), TRIDENT_TIER_OPTIMISED);
      tell_all(flight, ImageReady{entry.image, header.baseline_ns, header.winner_ns, true});
      break;
    case pipeline::Outcome::no_gain: entry.image = flight.baseline; break;
    case pipeline::Outcome::budget_spent: break;  // above
    case pipeline::Outcome::not_equivalent:
      log::error("a baseline kernel differs from its reference and is revoked: {}", flight.describe());
      revoke(flight);
      break;
  }
  entry.canonical = flight.canonical;
  const std::uint32_t uid = flight.uid;
  const image::Key key = flight.key;
  finish(flight, outcome);
  cache_.insert(uid, key, std::move(entry));
}

void Jobs::on_lost(worker::Ticket ticket, worker::PoolEvents::Fate fate) {
  using Fate = worker::PoolEvents::Fate;
  const auto at = running_.find(ticket);
  if (at == running_.end()) return;
  Flight& flight = *at->second;
  running_.erase(at);
  flight.ticket = 0;
  const bool baseline = flight.state == State::baseline_running;
  const bool check = flight.state == State::checking;
  const worker::Lane lane = baseline ? worker::Lane::baseline : worker::Lane::optimise;
  bool retry = fate == Fate::unharmed;
  if (fate != Fate::unharmed) {
    ++stats_.lost;
    retry = strike(flight.id, lane) < kStrikesMax && fate == Fate::crashed;
  }
  if (flight.subscribers.empty()) return remove(flight);
  if (check) return check_failed(flight);
  if (retry) {
    ++stats_.retried;
    return baseline ? wait_for_baseline(flight, true) : wait_for_optimise(flight, true);
  }
  if (!baseline) return keep_baseline(flight);
  fail(flight, fate == Fate::timed_out ? make_error(ErrorCode::kTimeout, "compiling took too long")
                                       : make_error(ErrorCode::kInternal, "the compiler crashed on this expression"));
}

std::uint32_t Jobs::strike(const std::string& id, worker::Lane lane) {
  if (strikes_.size() >= kStruckKeysMax && !strikes_.contains(id)) strikes_.erase(strikes_.begin());
  Strikes& strikes = strikes_[id];
  strikes.forgotten_at_ns = os::monotonic_ns() + kStrikesRememberedNs;
  return ++strikes.of(lane);
}

bool Jobs::quarantined(const std::string& id, worker::Lane lane) {
  if (strikes_.empty()) return false;
  const auto at = strikes_.find(id);
  if (at == strikes_.end() || at->second.of(lane) < kStrikesMax) return false;
  if (os::monotonic_ns() < at->second.forgotten_at_ns) return true;
  strikes_.erase(at);
  return false;
}

void Jobs::drain() {
  draining_ = true;
  std::vector<Flight*> past_baseline;
  for (const auto& [id, flight] : flights_)
    if (flight->baseline.file) past_baseline.push_back(flight.get());
  for (Flight* flight : past_baseline) remove(*flight);
}

Stats Jobs::stats() const {
  Stats copy = stats_;
  copy.flights = flights_.size();
  copy.baseline_waiting = baseline_queue_.size();
  copy.optimise_waiting = optimise_queue_.size();
  copy.check_waiting = check_queue_.size();
  return copy;
}

}  // namespace trident::jobs
