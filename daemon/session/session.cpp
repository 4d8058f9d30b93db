#include "daemon/session/session.h"

#include <algorithm>
#include <vector>

#include "daemon/publish/publish.h"
#include "runtime/log/log.h"
#include "runtime/os/clock.h"
#include "runtime/os/memfd.h"
#include "runtime/os/self.h"
#include "schemas/control_generated.h"

namespace trident::session {
namespace {

constexpr std::uint32_t kConnectionRetryMs = 1000;
constexpr std::uint32_t kQuotaRetryMs = 1000;
constexpr std::uint32_t kUnreadRetryMs = 50;
constexpr auto kRegions =
    static_cast<std::uint64_t>(wire::Feature::loops) | static_cast<std::uint64_t>(wire::Feature::functions);
constexpr auto kObserved = static_cast<std::uint64_t>(wire::Feature::observed);
constexpr auto kMissing = static_cast<std::uint64_t>(wire::Feature::missing);
constexpr auto kCalled = static_cast<std::uint64_t>(wire::Feature::called);
constexpr auto kInlineImages = static_cast<std::uint64_t>(wire::Feature::inline_images);

}  // namespace

std::uint8_t common_isa(std::uint8_t clients, const os::CpuFeatures& cpu) {
  if (clients == TRIDENT_ISA_AVX512 && cpu.avx512) return TRIDENT_ISA_AVX512;
  if ((clients == TRIDENT_ISA_AVX512 || clients == TRIDENT_ISA_AVX2) && cpu.avx2_fma) return TRIDENT_ISA_AVX2;
  if (clients == TRIDENT_ISA_NEON && cpu.neon) return TRIDENT_ISA_NEON;
  return 0;
}

class Sessions::Session {
 public:
  Session(Sessions& all, std::uint64_t id, std::uint32_t uid);
  ~Session();
  Result<void> open(os::Fd socket);
  void on_event(std::uint64_t job, const jobs::Event& event);
  void read_again() { channel_->resume(); }
  [[nodiscard]] bool is_silent_since(std::uint64_t ns) const { return !ready_ && opened_ns_ < ns; }
  /// Destroys this session.
  void end_without_hello() {
    ++all_.stats_.hello_timeouts;
    close_with(make_error(ErrorCode::kTimeout, "it sent no hello message in time"));
  }
  [[nodiscard]] std::size_t unwritten() const { return channel_->queued_bytes(); }

 private:
  struct Job {
    bool inline_images = false;
    std::optional<std::uint64_t> head{};  ///< of a loop
  };

  void on_frame(std::span<const std::byte> frame);
  void on_hello(const ingest::Hello& hello);
  void on_submit(ingest::Submit& submit, std::span<const std::byte> frame);
  void on_submit(const ingest::SubmitProgram& submit, std::span<const std::byte> frame);
  void on_submit(ingest::SubmitLoop& submit, std::span<const std::byte> frame);
  void on_submit(ingest::SubmitFunction& submit, std::span<const std::byte> frame);
  void on_seen(const ingest::LoopSeen& seen);
  void on_observed(const ingest::Observed& observed);
  void on_called(const ingest::Called& called);
  /// Begins a job of any kind, or says why it is refused. `work`: what its message asks for, or what is wrong with it.
  /// `noun`: such jobs, in sentences.
  template <class Work, class MakeOrder>
  void admit(std::uint64_t number, Work& work, const Job& job, const char* noun, MakeOrder make_order);
  void on_cancel(std::uint64_t job);
  void tell(std::uint64_t job, const jobs::Accepted& event);
  void tell(std::uint64_t job, const jobs::ProgramReady& event);
  void tell(std::uint64_t job, const jobs::ImageReady& event);
  void tell(std::uint64_t job, const jobs::Progressed& event);
  void tell(std::uint64_t job, const jobs::Revoked& e) { publish::revoke(*channel_, job, e.tier); }
  void tell(std::uint64_t job, const jobs::Finished& event);
  void tell(std::uint64_t job, const jobs::LoopRefused& event);
  void tell(std::uint64_t job, const jobs::Failed& event);

  /// The image as a memfd; null where its bytes are to travel in the message, so that the client pays for the memory.
  /// Whoever has a memfd can hold its pages, which are the daemon's memory, in ways that the daemon cannot see. So only
  /// processes of its own user get any, and each is charged until its connection ends.
  net::SharedFd shared_file(const Job& job, const image::ImageBytes& image);

  /// The job ends for this client; others may still wait for it.
  void give_up(std::uint64_t job, const Error& error, std::uint32_t retry_after_ms);

  /// Says why and closes. Destroys this session.
  void close_with(const Error& error);
  void close_after(const Error& error);
  void on_close(net::CloseReason reason);

  Sessions& all_;
  std::uint64_t id_;
  std::uint32_t uid_;
  std::unique_ptr<net::Channel> channel_;
  net::Timer hello_;
  const std::uint64_t opened_ns_ = os::monotonic_ns();
  bool ready_ = false;
  std::uint64_t shared_bytes_ = 0;  ///< of Stats::image_bytes
  std::uint8_t isa_ = 0;
  std::unordered_map<std::uint64_t, Job> jobs_;
};

/// Gives a connection its user's turns.
class Sessions::Gate : public net::Gate {
 public:
  Gate(Sessions& all, std::uint32_t uid, std::uint64_t id) : all_(all), uid_(uid), id_(id) {}
  bool open() override { return all_.may_read(uid_, id_); }

 protected:
  void took(std::uint64_t ns) override { all_.turns_.charge(uid_, ns, os::monotonic_ns()); }

 private:
  Sessions& all_;
  std::uint32_t uid_;
  std::uint64_t id_;
};

Sessions::Session::Session(Sessions& all, std::uint64_t id, std::uint32_t uid)
    : all_(all), id_(id), uid_(uid), hello_(all.loop_) {
  ++all_.users_[uid_].connections;
}

Sessions::Session::~Session() {
  for (const auto& [job, state] : jobs_) all_.jobs_->cancel({id_, job});
  all_.stats_.image_bytes -= shared_bytes_;
  const auto user = all_.users_.find(uid_);
  if (--user->second.connections == 0) all_.users_.erase(user);
}

Result<void> Sessions::Session::open(os::Fd socket) {
  const Limits& limits = all_.limits_;
  TRY(channel_, net::Channel::make(
                    all_.loop_, std::move(socket),
                    {.frame_bytes_max = limits.frame_bytes_max,
                     // A message more than the limit: what is above half of it waits (tell).
                     .queue_bytes_max = limits.write_queue_bytes_max + limits.frame_bytes_max,
                     .frame_timeout_ms = limits.frame_timeout_ms},
                    [this](auto frame) { on_frame(frame); }, [this](net::CloseReason reason) { on_close(reason); }));
  channel_->set_gate(std::make_shared<Gate>(all_, uid_, id_));
  if (limits.hello_timeout_ms != 0) hello_.start(limits.hello_timeout_ms, [this] { end_without_hello(); });
  return {};
}

void Sessions::Session::on_event(std::uint64_t job, const jobs::Event& event) {
  std::visit([&](const auto& e) { tell(job, e); }, event);
}

void Sessions::Session::on_frame(std::span<const std::byte> frame) {
  auto request = ingest::read(frame);
  if (!request.ok()) {
    ++all_.stats_.malformed;
    return close_with(request.error());
  }
  if (const auto* hello = std::get_if<ingest::Hello>(&*request)) return on_hello(*hello);
  if (!ready_) {
    ++all_.stats_.malformed;
    return close_with(make_error(ErrorCode::kRejectedMessage, "the first message must be a hello"));
  }
  if (auto* submit = std::get_if<ingest::Submit>(&*request)) return on_submit(*submit, frame);
  if (const auto* program = std::get_if<ingest::SubmitProgram>(&*request)) return on_submit(*program, frame);
  if (auto* loop = std::get_if<ingest::SubmitLoop>(&*request)) return on_submit(*loop, frame);
  if (auto* function = std::get_if<ingest::SubmitFunction>(&*request)) return on_submit(*function, frame);
  if (const auto* seen = std::get_if<ingest::LoopSeen>(&*request)) return on_seen(*seen);
  if (const auto* observed = std::get_if<ingest::Observed>(&*request)) return on_observed(*observed);
  if (const auto* called = std::get_if<ingest::Called>(&*request)) return on_called(*called);
  if (const auto* cancel = std::get_if<ingest::Cancel>(&*request)) return on_cancel(cancel->job);
  if (const auto* stats = std::get_if<ingest::StatsRequest>(&*request))
    publish::stats(*channel_, stats->request, all_.stats_json_());
}

void Sessions::Session::on_hello(const ingest::Hello& hello) {
  constexpr auto kVersion = static_cast<std::uint16_t>(wire::Protocol::version);
  if (ready_) {
    ++all_.stats_.malformed;
    return close_with(make_error(ErrorCode::kRejectedMessage, "a second hello"));
  }
  if (hello.version_min > kVersion || hello.version_max < kVersion)
    return close_with(make_error(ErrorCode::kUnsupported,
                                 "the client speaks protocol versions %u to %u, this daemon version %u",
                                 hello.version_min, hello.version_max, kVersion));
  isa_ = common_isa(hello.isa, os::cpu_features());
  if (isa_ == 0)
    return close_with(make_error(ErrorCode::kUnsupported,
                                 "client and daemon have no instruction set in common (the client's bits are %u)",
                                 hello.isa));
  if (all_.why_not_) return close_after(*all_.why_not_);  // the log has said it once, for all
  ready_ = true;
  hello_.stop();
  const std::uint64_t regions = isa_ == TRIDENT_ISA_NEON ? 0 : kRegions;
  publish::welcome(*channel_, isa_, kInlineImages | kObserved | kMissing | kCalled | regions, os::build_id());
}

void Sessions::Session::on_submit(ingest::Submit& submit, std::span<const std::byte> frame) {
  admit(submit.job, submit.work, {.inline_images = submit.inline_images}, "kernels", [&](ingest::Work& work) {
    all_.linger_for(uid_);  // for the worker's answer and for the next submission
    return jobs::kernel_order(std::move(work), isa_, frame);
  });
}

void Sessions::Session::on_submit(const ingest::SubmitProgram& submit, std::span<const std::byte> frame) {
  admit(submit.job, submit.request, {}, "jobs", [&](const tir::build::Request& request) {
    return Result<jobs::OrderPtr>(jobs::program_order(request.milliseconds, frame));
  });
}

void Sessions::Session::on_submit(ingest::SubmitLoop& submit, std::span<const std::byte> frame) {
  const std::uint64_t head = submit.work.ok() ? submit.work->head : 0;
  admit(submit.job, submit.work, {submit.inline_images, head}, "loops", [&](ingest::LoopWork& work) {
    all_.linger_for(uid_);
    return jobs::loop_order(std::move(work), isa_, frame);
  });
}

void Sessions::Session::on_submit(ingest::SubmitFunction& submit, std::span<const std::byte> frame) {
  admit(submit.job, submit.work, {.inline_images = submit.inline_images}, "functions", [&](ingest::FunctionWork& work) {
    all_.linger_for(uid_);
    return jobs::function_order(std::move(work), isa_, frame);
  });
}

void Sessions::Session::on_seen(const ingest::LoopSeen& seen) {
  const auto at = jobs_.find(seen.job);
  if (at != jobs_.end() && at->second.head) all_.jobs_->note_seen(seen);
}

void Sessions::Session::on_observed(const ingest::Observed& observed) {
  if (jobs_.contains(observed.job)) all_.jobs_->observe({id_, observed.job}, uid_, {observed.ranges, observed.misses});
}

void Sessions::Session::on_called(const ingest::Called& called) {
  if (jobs_.contains(called.job)) all_.jobs_->note_called({id_, called.job}, called.weight);
}

template <class Work, class MakeOrder>
void Sessions::Session::admit(std::uint64_t number, Work& work, const Job& job, const char* noun,
                              MakeOrder make_order) {
  const auto fail = [&](const Error& error, std::uint32_t retry_after_ms) {
    publish::failure(*channel_, number, error, retry_after_ms);
  };
  // Job 0 is the connection's own number in Failure.
  if (number == 0 || jobs_.contains(number))
    return fail(make_error(ErrorCode::kInvalidArgument, "the job number is 0 or in use"), 0);
  if (!work.ok()) return fail(work.error(), 0);
  if (jobs_.size() >= all_.limits_.jobs_per_connection)
    return fail(make_error(ErrorCode::kBusy, "too many %s are open on this connection", noun), kQuotaRetryMs);
  auto order = make_order(*work);
  if (!order.ok()) return fail(order.error(), 0);
  jobs_[number] = job;
  all_.jobs_->submit({id_, number}, uid_, std::move(*order));
}

void Sessions::Session::on_cancel(std::uint64_t job) {
  const auto at = jobs_.find(job);
  if (at == jobs_.end()) return;
  all_.jobs_->cancel({id_, job});
  jobs_.erase(at);
  channel_->flush();  // its Accepted may have waited for an answer that will not come
}

void Sessions::Session::tell(std::uint64_t job, const jobs::Accepted& event) {
  publish::accepted(*channel_, job, event.cached);
  if (event.alone) channel_->flush();
}

void Sessions::Session::tell(std::uint64_t job, const jobs::ProgramReady& event) {
  jobs_.erase(job);
  publish::program(*channel_, event.message);
  publish::done(*channel_, job, static_cast<std::uint8_t>(event.outcome));
}

void Sessions::Session::tell(std::uint64_t job, const jobs::ImageReady& event) {
  const auto at = jobs_.find(job);
  if (at == jobs_.end()) return;
  if (channel_->queued_bytes() > all_.limits_.write_queue_bytes_max / 2)
    return give_up(job,
                   make_error(ErrorCode::kBusy, "the client has not read earlier answers: read them and submit again"),
                   kUnreadRetryMs);
  const auto sent = publish::kernel_ready(*channel_, job, *event.image, {event.baseline_ns, event.optimised_ns},
                                          {.file = shared_file(at->second, *event.image), .more = event.more});
  if (!sent.ok()) give_up(job, sent.error(), 0);
}

net::SharedFd Sessions::Session::shared_file(const Job& job, const image::ImageBytes& image) {
  if (uid_ != all_.own_uid_ || job.inline_images) return nullptr;
  if (channel_->blocked()) return nullptr;  // no descriptor waits in a queue
  const std::uint64_t bytes = os::round_to_pages(image.bytes.size());
  if (all_.stats_.image_bytes + bytes > all_.limits_.shared_image_bytes) {
    ++all_.stats_.over_image_bytes;
    return nullptr;
  }
  auto file = image::seal(image);
  if (!file.ok()) return nullptr;  // no descriptor is left
  shared_bytes_ += bytes;
  all_.stats_.image_bytes += bytes;
  return std::make_shared<const os::Fd>(std::move(*file));
}

void Sessions::Session::give_up(std::uint64_t job, const Error& error, std::uint32_t retry_after_ms) {
  all_.jobs_->cancel({id_, job});
  jobs_.erase(job);
  publish::failure(*channel_, job, error, retry_after_ms);
}

void Sessions::Session::tell(std::uint64_t job, const jobs::Progressed& event) {
  publish::progress(*channel_, job, event.stage, event.done, event.total, event.best_ratio);
}

void Sessions::Session::tell(std::uint64_t job, const jobs::Finished& event) {
  if (!jobs_.contains(job)) return;  // given up
  publish::done(*channel_, job, static_cast<std::uint8_t>(event.outcome), event.reason);
}

void Sessions::Session::tell(std::uint64_t job, const jobs::LoopRefused& event) {
  const auto at = jobs_.find(job);
  if (at == jobs_.end() || !at->second.head) return;
  const std::uint64_t address = *at->second.head + static_cast<std::uint64_t>(event.offset);
  jobs_.erase(at);
  publish::loop_refused(*channel_, job, event.reason, address, event.text);
}

void Sessions::Session::tell(std::uint64_t job, const jobs::Failed& event) {
  if (event.error.code == ErrorCode::kBusy && all_.told_to_wait_.take())
    log::warning("told user {} to wait: {}{}", uid_, event.error.message, all_.told_to_wait_.left_out());
  jobs_.erase(job);
  publish::failure(*channel_, job, event.error, event.retry_after_ms);
}

void Sessions::Session::close_with(const Error& error) {
  all_.tell_of_refusal(uid_, error);
  close_after(error);
}

void Sessions::Session::close_after(const Error& error) {
  publish::failure(*channel_, 0, error);
  all_.remove(id_);
}

void Sessions::Session::on_close(net::CloseReason reason) {
  if (reason == net::CloseReason::frame_timeout) ++all_.stats_.frame_timeouts;
  if (reason == net::CloseReason::queue_overflow) ++all_.stats_.overflows;
  if (reason == net::CloseReason::frame_too_large || reason == net::CloseReason::unasked_descriptor)
    ++all_.stats_.malformed;
  if (reason != net::CloseReason::peer_closed)
    log::debug("a connection of user {} ended: {}", uid_, net::name_of(reason));
  all_.remove(id_);
}

Sessions::Sessions(net::Loop& loop, const Limits& limits, std::function<std::string()> stats_json)
    : loop_(loop),
      limits_(limits),
      stats_json_(std::move(stats_json)),
      own_uid_(os::effective_uid()),
      overflow_uid_(os::overflow_uid()) {}

Result<void> admit(const os::Peer& peer, std::uint32_t own_uid, std::uint32_t overflow_uid) {
  if (peer.uid != overflow_uid || peer.uid == own_uid) return {};
  return make_error(ErrorCode::kUnsupported,
                    "user %u stands for every user that this daemon's user namespace does not map, so it is not "
                    "served: run a daemon inside the namespace, or run this one without a namespace (PrivateUsers=no)",
                    peer.uid);
}

Sessions::~Sessions() = default;

void Sessions::add(os::Fd socket) {
  const auto peer = os::peer_of(socket);
  if (!peer.ok()) return;
  if (const auto admitted = admit(*peer, own_uid_, overflow_uid_); !admitted.ok())
    return refuse(std::move(socket), peer->uid, admitted.error(), 0);
  if (full(peer->uid))
    return refuse(std::move(socket), peer->uid, make_error(ErrorCode::kBusy, "too many connections"),
                  kConnectionRetryMs);
  const std::uint64_t id = next_id_++;
  auto session = std::make_unique<Session>(*this, id, peer->uid);
  if (const auto opened = session->open(std::move(socket)); !opened.ok()) {
    log::warning("could not serve a connection: {}", opened.error().message);
    return;
  }
  sessions_.emplace(id, std::move(session));
  ++stats_.accepted;
  tell_of_user(peer->uid);
}

void Sessions::make_room() {
  constexpr std::uint64_t kPatienceNs = 250'000'000;  // a client says hello at once
  const std::uint64_t now = os::monotonic_ns(), since = now - std::min(now, kPatienceNs);
  std::vector<Session*> silent;
  for (const auto& [id, session] : sessions_)
    if (session->is_silent_since(since)) silent.push_back(session.get());
  for (Session* session : silent) session->end_without_hello();
}

/// The daemon's own user shares it with nobody who would have to be protected from it.
bool Sessions::full(std::uint32_t uid) const {
  if (sessions_.size() >= limits_.connections) return true;
  const auto user = users_.find(uid);
  return uid != own_uid_ && user != users_.end() && user->second.connections >= limits_.connections_per_user;
}

void Sessions::tell_of_user(std::uint32_t uid) {
  if (users_seen_.insert(uid).second) log::info("user {} has connected for the first time since the start", uid);
}

void Sessions::tell_of_refusal(std::uint32_t uid, const Error& error) {
  if (refusals_.take()) log::warning("refused a connection of user {}: {}{}", uid, error.message, refusals_.left_out());
}

/// One frame if the socket takes it, then the end.
void Sessions::refuse(os::Fd socket, std::uint32_t uid, const Error& error, std::uint32_t retry_after_ms) {
  ++stats_.refused;
  tell_of_refusal(uid, error);
  auto channel = net::Channel::make(
      loop_, std::move(socket), {.frame_bytes_max = 0, .queue_bytes_max = 4096}, [](auto) {}, [](auto) {});
  if (channel.ok()) publish::failure(**channel, 0, error, retry_after_ms);
}

void Sessions::linger_for(std::uint32_t uid) {
  if (!turns_.owes(uid, os::monotonic_ns())) loop_.linger();
}

/// A session whose user rests, or before which others of the user wait, is read when its turn comes.
bool Sessions::may_read(std::uint32_t uid, std::uint64_t id) {
  auto at = resting_.find(uid);
  const bool first = at == resting_.end() || id == first_in_line_;
  if (first && turns_.rests_until_ns(uid) <= os::monotonic_ns()) return true;
  if (at == resting_.end()) at = resting_.try_emplace(uid, loop_).first;
  at->second.sessions.push_back(id);
  if (!at->second.over.running()) wake_after_rest(uid, at->second);
  return false;
}

void Sessions::wake_after_rest(std::uint32_t uid, Resting& resting) {
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  const std::uint64_t now = os::monotonic_ns(), until = std::max(now, turns_.rests_until_ns(uid));
  resting.over.start((until - now + kNsPerMs - 1) / kNsPerMs, [this, uid] { read_again(uid); });
}

void Sessions::read_again(std::uint32_t uid) {
  Resting& resting = resting_.at(uid);
  while (!resting.sessions.empty() && turns_.rests_until_ns(uid) <= os::monotonic_ns()) {
    first_in_line_ = resting.sessions.front();
    resting.sessions.pop_front();
    if (const auto at = sessions_.find(first_in_line_); at != sessions_.end()) at->second->read_again();
  }
  first_in_line_ = 0;
  if (resting.sessions.empty())
    resting_.erase(uid);
  else
    wake_after_rest(uid, resting);
}

void Sessions::remove(std::uint64_t id) {
  // Out of the table first: destroying it cancels jobs, which may look here.
  const auto at = sessions_.find(id);
  if (at == sessions_.end()) return;
  const std::unique_ptr<Session> session = std::move(at->second);
  sessions_.erase(at);
}

void Sessions::on_event(const jobs::Subscriber& subscriber, const jobs::Event& event) {
  if (const auto at = sessions_.find(subscriber.session); at != sessions_.end())
    at->second->on_event(subscriber.job, event);
}

Stats Sessions::stats() const {
  Stats copy = stats_;
  copy.connections = sessions_.size();
  copy.users = users_.size();
  return copy;
}

bool Sessions::all_written() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& entry) { return entry.second->unwritten() == 0; });
}

}  // namespace trident::session
