#include "daemon/worker/pool.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "daemon/worker/compile.h"
#include "daemon/worker/response_check.h"
#include "runtime/base/limits.h"
#include "runtime/log/log.h"
#include "runtime/os/clock.h"
#include "runtime/os/regular_file.h"

namespace trident::worker {
namespace {

/// Brief requests in a baseline worker's socket. Deep enough that it never idles between two, shallow enough that a
/// crash sends few of them twice and that the next request waits for little.
constexpr std::size_t kBriefDepth = 8;
constexpr std::size_t kResponseBytesMax = sizeof(ResponseHeader) + limits::kImageBytesMax;
constexpr std::size_t kProgramBytesMax = sizeof(ResponseHeader) + limits::kFrameBytesMax;
constexpr std::size_t kQueueBytesMax = 16u << 20;
/// Niceness of workers that make nobody wait for a first kernel, or that heavy users may use.
constexpr int kLowPriorityNice = 10;
/// A worker that dies younger than this is started again only after a pause, doubled each time.
constexpr std::uint64_t kHealthyAgeNs = 1'000'000'000;
constexpr std::uint64_t kRestartPauseMinMs = 20, kRestartPauseMaxMs = 5000;
/// Time for a worker to end a request that nobody waits for. A busy machine needs seconds for what takes 50 ms alone.
constexpr std::uint64_t kCancelMs = 10'000;

/// Time for idle workers to end by themselves when the front does; busy ones are killed after it.
#ifdef __SANITIZE_ADDRESS__  // the search for leaks comes last
constexpr std::uint64_t kFarewellMs = 10'000;
#else
constexpr std::uint64_t kFarewellMs = 100;
#endif

/// How a worker ends that a signal to the whole process group (Ctrl+C, `kill -TERM 0`) has met as well as the front: it
/// was asked to, and nothing is wrong with it.
bool was_asked_to(std::string_view end) {
  return end == "signal 15" || end == "signal 2";
}

/// The file of told_weights(); none where it cannot be opened any more.
net::SharedFd open_weights(std::string_view told) {
  auto file = os::open_regular_file(path_of_weights(told));
  if (file.ok()) return std::make_shared<const os::Fd>(std::move(*file));
  if (!told.empty()) log::warning("{}: the search uses the shipped weights", file.error().message);
  return nullptr;
}

std::string_view name_of(Lane lane) {
  return lane == Lane::baseline ? "baseline" : lane == Lane::optimise ? "optimise" : "programs";
}

}  // namespace

class Pool::Worker {
 public:
  /// `number`: in its lane.
  Worker(Pool& pool, Lane lane, std::uint32_t number);
  [[nodiscard]] Lane lane() const { return lane_; }
  [[nodiscard]] bool alive() const { return channel_ != nullptr; }
  [[nodiscard]] bool ready() const { return alive() && ready_; }
  [[nodiscard]] bool has_room(const Claim& claim) const;
  /// The first of several baseline workers is kept for users that are not heavy.
  [[nodiscard]] bool is_kept() const;
  [[nodiscard]] bool holds_user(std::uint32_t user) const;
  [[nodiscard]] std::size_t requests() const { return running_.size(); }

  /// Pool::trouble() of this worker.
  [[nodiscard]] std::string trouble(std::uint64_t patience_ns) const;

  /// Ends the conversation: an idle worker reads the end of its socket and ends.
  void hang_up();
  void say_farewell(std::uint64_t until_ns);

  /// Sends new text, which replaces the text that the worker was sent before.
  void tell_again(Tail what, const std::string& text);
  void request(const RequestHeader& header, std::span<const std::byte> message, const Claim& claim);
  [[nodiscard]] bool keeps(Ticket ticket) const { return kept_.contains(ticket); }
  void go_on(const RequestHeader& header, const Claim& claim);
  void forget(Ticket ticket);
  void release_standard_error() { child_.signal(kReleaseStandardError); }
  [[nodiscard]] bool works_on(Ticket ticket) const { return !running_.empty() && running_.front().ticket == ticket; }

  /// Asks the worker to end the request that it works on.
  void cancel();

 private:
  using Fate = PoolEvents::Fate;
  struct Request {
    Ticket ticket;
    Claim claim;
  };

  /// The worker has come to the first of its requests.
  void begin_first();
  void send(const RequestHeader& header, std::span<const std::byte> tail, net::SharedFd file = nullptr);
  void tell(Tail what, const std::string& text);
  void start();
  [[nodiscard]] std::vector<std::string> arguments() const;
  Result<void> try_start();
  void start_timeout() { start_timeout(lane_ == Lane::baseline ? pool_.options_.baseline_timeout_ms : timeout_ms_); }
  void start_timeout(std::uint64_t ms);
  void on_frame(std::span<const std::byte> frame);
  void fail_protocol(const std::string& what);

  /// The worker is dead or is made so; its requests are reported and another is started.
  void end(Fate fate);
  void stop_timeout();

  /// Marks a worker that could not be started, or died of nothing, until it answers or lives long enough.
  void fall_ill();
  void restart_later();

  Pool& pool_;
  Lane lane_;
  std::uint32_t number_;
  os::Child child_;
  std::unique_ptr<net::Channel> channel_;
  net::Poller exit_;
  net::Timer timeout_, restart_;
  std::deque<Request> running_;  ///< the first is being worked on
  std::unordered_set<Ticket> kept_;
  bool may_keep_ = false;  ///< the optimise request under way
  std::vector<std::byte> message_;
  bool ready_ = false;            ///< it has said so
  std::uint64_t timeout_ms_ = 0;  ///< of the optimise request under way, which is alone
  std::uint64_t begun_ns_ = 0;    ///< when the worker came to the first request
  std::uint64_t started_ns_ = 0, pause_ms_ = kRestartPauseMinMs;
  std::uint64_t ill_since_ns_ = 0;  ///< 0: well
  std::uint64_t due_ns_ = 0;        ///< when the timeout ends the request under way; 0: none
};

Pool::Worker::Worker(Pool& pool, Lane lane, std::uint32_t number)
    : pool_(pool), lane_(lane), number_(number), timeout_(pool.loop_), restart_(pool.loop_) {
  start();
}

bool Pool::Worker::has_room(const Claim& claim) const {
  if (claim.heavy && is_kept()) return false;
  if (!alive() || running_.empty()) return alive();
  if (lane_ != Lane::baseline || running_.size() >= kBriefDepth) return false;
  return claim.brief && running_.front().claim.brief;
}

bool Pool::Worker::is_kept() const {
  return lane_ == Lane::baseline && number_ == 0 && pool_.options_.baseline_workers > 1;
}

bool Pool::Worker::holds_user(std::uint32_t user) const {
  return std::any_of(running_.begin(), running_.end(), [&](const Request& one) { return one.claim.user == user; });
}

std::string Pool::Worker::trouble(std::uint64_t patience_ns) const {
  const std::uint64_t now = os::monotonic_ns();
  const bool well = alive() && now - started_ns_ >= kHealthyAgeNs;
  if (ill_since_ns_ != 0 && !well && now - ill_since_ns_ > patience_ns)
    return "no " + std::string(name_of(lane_)) + " worker can be kept alive";
  if (due_ns_ != 0 && now > due_ns_ + patience_ns)
    return "a " + std::string(name_of(lane_)) + " worker is overdue and was not replaced";
  return {};
}

void Pool::Worker::hang_up() {
  timeout_.stop();
  restart_.stop();
  exit_ = {};
  channel_.reset();
}

void Pool::Worker::say_farewell(std::uint64_t until_ns) {
  const std::uint64_t now = os::monotonic_ns();
  if (!child_.ends_within(until_ns > now ? static_cast<int>((until_ns - now) / 1'000'000) : 0)) return;
  if (const std::string how = child_.wait(); how != "exit 0" && how != "reaped already" && !was_asked_to(how))
    log::warning("a worker of the {} lane ended with {}", name_of(lane_), how);
}

void Pool::Worker::tell_again(Tail what, const std::string& text) {
  if (alive() && lane_ == Lane::optimise) tell(what, text);
}

void Pool::Worker::request(const RequestHeader& header, std::span<const std::byte> message, const Claim& claim) {
  running_.push_back({header.ticket, claim});
  may_keep_ = header.may_keep != 0 && kept_.size() < kKeptMax;
  if (lane_ != Lane::baseline)
    timeout_ms_ = kWallPerBudget * (header.budget_ns != 0 ? header.budget_ns : kUsualBudgetNs) / 1'000'000 +
                  pool_.options_.optimise_grace_ms;
  if (running_.size() == 1) begin_first();
  RequestHeader sent = header;
  sent.may_keep = may_keep_ ? 1 : 0;
  send(sent, message);
}

void Pool::Worker::go_on(const RequestHeader& header, const Claim& claim) {
  kept_.erase(header.ticket);
  request(header, {}, claim);
}

void Pool::Worker::forget(Ticket ticket) {
  kept_.erase(ticket);
  send({.ticket = ticket, .lane = lane_, .tail = Tail::forget}, {});
}

void Pool::Worker::cancel() {
  const RequestHeader header{.ticket = running_.front().ticket, .lane = lane_, .tail = Tail::cancel};
  // The timer starts first: a message that cannot be sent ends the worker and its time limit with it.
  if (due_ns_ == 0 || os::monotonic_ns() + kCancelMs * 1'000'000 < due_ns_) start_timeout(kCancelMs);
  send(header, {});
}

void Pool::Worker::begin_first() {
  begun_ns_ = os::monotonic_ns();
  start_timeout();
}

void Pool::Worker::send(const RequestHeader& header, std::span<const std::byte> tail, net::SharedFd file) {
  message_.resize(sizeof(header) + tail.size());
  std::memcpy(message_.data(), &header, sizeof(header));
  std::memcpy(message_.data() + sizeof(header), tail.data(), tail.size());
  channel_->send(message_, std::move(file));
}

void Pool::Worker::tell(Tail what, const std::string& text) {
  net::SharedFd file = what == Tail::weights ? open_weights(text) : nullptr;
  // A file comes with every text of weights, and with no other.
  const std::string_view told = what == Tail::weights && !file ? std::string_view() : text;
  send({.lane = lane_, .tail = what}, std::as_bytes(std::span(told)), std::move(file));
}

void Pool::Worker::start() {
  if (auto started = try_start(); !started.ok()) {
    log::error("cannot start a worker of the {} lane: {}", name_of(lane_), started.error().message);
    fall_ill();
    restart_later();
  }
}

std::vector<std::string> Pool::Worker::arguments() const {
  std::vector<std::string> out = {"tridentd", kWorkerArgument, std::string(name_of(lane_))};
  if (lane_ == Lane::programs) out.push_back(pool_.options_.program_folder);
  return out;
}

Result<void> Pool::Worker::try_start() {
  TRY(auto pair, os::socket_pair(os::Blocking::no, os::Blocking::yes));
  TRY(child_, os::Child::spawn({.program = os::kSelfProgram,
                                .arguments = arguments(),
                                .inherited_fd = pair.second.get(),
                                .nice = lane_ == Lane::baseline && number_ == 0 ? 0 : kLowPriorityNice}));
  const net::ChannelLimits limits{.frame_bytes_max = lane_ == Lane::programs ? kProgramBytesMax : kResponseBytesMax,
                                  .queue_bytes_max = kQueueBytesMax};
  TRY(channel_, net::Channel::make(
                    pool_.loop_, std::move(pair.first), limits, [this](auto frame) { on_frame(frame); },
                    [this](net::CloseReason reason) {
                      if (reason != net::CloseReason::peer_closed) ++pool_.stats_.protocol_errors;
                      end(Fate::crashed);
                    }));
  // Without pidfds the end of the socket tells of the worker's end.
  if (child_.pidfd().valid()) {
    TRY(exit_, net::Poller::make(pool_.loop_, child_.pidfd()));
    exit_.watch(net::Poller::kReadable, [this](int) { end(Fate::crashed); });
  }
  ready_ = false;
  if (lane_ == Lane::optimise) {
    if (!pool_.options_.costs.empty()) tell(Tail::costs, pool_.options_.costs);
    if (!pool_.options_.rules.empty()) tell(Tail::rules, pool_.options_.rules);
    if (!pool_.options_.weights.empty()) tell(Tail::weights, pool_.options_.weights);
  }
  started_ns_ = os::monotonic_ns();
  ++pool_.stats_.started;
  return {};
}

void Pool::Worker::start_timeout(std::uint64_t ms) {
  if (ms == 0) return;
  due_ns_ = os::monotonic_ns() + ms * 1'000'000;
  timeout_.start(ms, [this] { end(Fate::timed_out); });
}

void Pool::Worker::on_frame(std::span<const std::byte> frame) {
  ResponseHeader header;
  if (frame.size() < sizeof(header)) return fail_protocol("a short response");
  std::memcpy(&header, frame.data(), sizeof(header));
  const auto tail = frame.subspan(sizeof(header));
  if (header.kind == Kind::ready) {
    ready_ = true;
    return;
  }
  if (!works_on(header.ticket)) return fail_protocol("a response to an unknown request");
  if (const auto sound = check_response(lane_, header, tail); !sound.ok()) return fail_protocol(sound.error().message);
  if (header.kind == Kind::kept && !may_keep_) return fail_protocol("a search that it was to end");
  ill_since_ns_ = 0;
  const std::uint64_t worker_ns = os::monotonic_ns() - begun_ns_;
  header.cpu_ns = std::min(header.cpu_ns, worker_ns);
  const bool ends = header.kind != Kind::progress && header.kind != Kind::interim;
  if (ends) {
    running_.pop_front();
    stop_timeout();
    if (header.kind == Kind::kept) kept_.insert(header.ticket);
    if (!running_.empty()) begin_first();
    pool_.events_.on_served(header.ticket, worker_ns);
  }
  pool_.events_.on_response(header, {reinterpret_cast<const char*>(tail.data()), tail.size()});
  if (ends && alive()) pool_.events_.on_free(lane_);
}

void Pool::Worker::fail_protocol(const std::string& what) {
  log::error("a worker of the {} lane sent {}", name_of(lane_), what);
  ++pool_.stats_.protocol_errors;
  end(Fate::crashed);
}

void Pool::Worker::end(Fate fate) {
  exit_ = {};
  stop_timeout();
  channel_.reset();
  child_.kill();
  const std::string how = child_.wait();
  if (pool_.stopping_) return;
  fate == Fate::timed_out ? ++pool_.stats_.timed_out : ++pool_.stats_.crashed;
  if (was_asked_to(how))
    log::info("a worker of the {} lane was terminated from outside ({}); it held {} requests", name_of(lane_), how,
              running_.size());
  else
    log::warning("a worker of the {} lane ended ({}{}); it held {} requests; starting another", name_of(lane_), how,
                 fate == Fate::timed_out ? ", out of time" : "", running_.size());
  const std::deque<Request> lost = std::exchange(running_, {});
  const std::unordered_set<Ticket> kept = std::exchange(kept_, {});
  const std::uint64_t worker_ns = os::monotonic_ns() - begun_ns_;
  const bool young = os::monotonic_ns() - started_ns_ < kHealthyAgeNs;
  if (!young) ill_since_ns_ = 0;
  if (lost.empty()) fall_ill();
  // Restarted first: what on_lost sends again finds the lane occupied, not gone.
  if (young)
    restart_later();
  else {
    pause_ms_ = kRestartPauseMinMs;
    start();
  }
  for (std::size_t i = 0; i < lost.size(); ++i) {
    pool_.events_.on_served(lost[i].ticket, i == 0 ? worker_ns : 0);
    pool_.events_.on_lost(lost[i].ticket, i == 0 ? fate : Fate::unharmed);
  }
  for (const Ticket ticket : kept) pool_.events_.on_lost(ticket, Fate::unharmed);
  if (alive()) pool_.events_.on_free(lane_);
}

void Pool::Worker::stop_timeout() {
  due_ns_ = 0;
  timeout_.stop();
}

void Pool::Worker::fall_ill() {
  if (ill_since_ns_ == 0) ill_since_ns_ = os::monotonic_ns();
}

void Pool::Worker::restart_later() {
  channel_.reset();
  exit_ = {};
  restart_.start(pause_ms_, [this] {
    start();
    if (alive()) pool_.events_.on_free(lane_);
  });
  pause_ms_ = std::min(pause_ms_ * 2, kRestartPauseMaxMs);
}

Pool::Pool(net::Loop& loop, const PoolOptions& options, PoolEvents events)
    : loop_(loop), options_(options), events_(std::move(events)) {
  for (std::uint32_t i = 0; i < options_.baseline_workers; ++i)
    workers_.push_back(std::make_unique<Worker>(*this, Lane::baseline, i));
  for (std::uint32_t i = 0; i < options_.optimise_workers; ++i)
    workers_.push_back(std::make_unique<Worker>(*this, Lane::optimise, i));
  for (std::uint32_t i = 0; i < options_.program_workers; ++i)
    workers_.push_back(std::make_unique<Worker>(*this, Lane::programs, i));
}

Pool::~Pool() {
  stopping_ = true;
  for (const auto& worker : workers_) worker->hang_up();
  const std::uint64_t until_ns = os::monotonic_ns() + kFarewellMs * 1'000'000;
  for (const auto& worker : workers_) worker->say_farewell(until_ns);
}

/// The worker with room that has the fewest requests.
Pool::Worker* Pool::find_room(Lane lane, const Claim& claim) const {
  std::size_t workers = 0, of_user = 0;
  for (const auto& worker : workers_) {
    if (worker->lane() != lane) continue;
    ++workers;
    of_user += worker->holds_user(claim.user) ? 1 : 0;
  }
  const std::size_t held_max = lane == Lane::baseline && workers > 1 ? workers - 1 : workers;
  Worker* best = nullptr;
  for (const auto& worker : workers_) {
    if (worker->lane() != lane || !worker->has_room(claim)) continue;
    if (of_user >= held_max && !worker->holds_user(claim.user)) continue;
    if (best == nullptr || worker->requests() < best->requests()) best = worker.get();
  }
  return best;
}

bool Pool::has_room(Lane lane, const Claim& claim) const {
  return find_room(lane, claim) != nullptr;
}

void Pool::request(const RequestHeader& header, std::span<const std::byte> message, const Claim& claim) {
  Worker* const worker = find_room(header.lane, claim);
  CHECK(worker != nullptr);
  worker->request(header, message, claim);
}

Pool::Worker* Pool::keeper_of(Ticket kept) const {
  const auto at = std::find_if(workers_.begin(), workers_.end(), [&](const auto& one) { return one->keeps(kept); });
  return at == workers_.end() ? nullptr : at->get();
}

bool Pool::may_go_on(Ticket kept) const {
  const Worker* const worker = keeper_of(kept);
  return worker != nullptr && worker->has_room({});
}

void Pool::go_on(const RequestHeader& header, const Claim& claim) {
  Worker* const worker = keeper_of(header.ticket);
  CHECK(worker != nullptr && worker->has_room(claim));
  worker->go_on(header, claim);
}

void Pool::forget(Ticket kept) {
  if (Worker* const worker = keeper_of(kept)) worker->forget(kept);
}

void Pool::cancel(Ticket ticket) {
  for (const auto& worker : workers_)
    if (worker->lane() == Lane::programs && worker->works_on(ticket)) return worker->cancel();
}

void Pool::tell_weights(const std::string& told) {
  options_.weights = told;
  for (const auto& worker : workers_) worker->tell_again(Tail::weights, told);
}

void Pool::tell_costs(const std::string& told) {
  options_.costs = told;
  for (const auto& worker : workers_) worker->tell_again(Tail::costs, told);
}

void Pool::release_standard_error() {
  for (const auto& worker : workers_) worker->release_standard_error();
}

std::string Pool::trouble(std::uint64_t patience_ns) const {
  patience_ns = std::max(patience_ns, 2 * kHealthyAgeNs);  // what was just replaced has to show that it lives
  for (const auto& worker : workers_)
    if (std::string why = worker->trouble(patience_ns); !why.empty()) return why;
  return {};
}

bool Pool::ready() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->ready(); });
}

std::size_t Pool::alive() const {
  return static_cast<std::size_t>(
      std::count_if(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->alive(); }));
}

}  // namespace trident::worker
