#include "daemon/programs/programs.h"

#include <cstring>

#include "daemon/worker/program_message.h"
#include "runtime/log/log.h"

namespace trident::programs {
namespace {

constexpr std::uint32_t kRetryMs = 1000;

}  // namespace

struct Programs::Job {
  Subscriber subscriber;
  std::uint32_t uid = 0;
  std::uint64_t milliseconds = 0;
  std::vector<std::byte> message;
  bool heard = true;  ///< somebody waits for it
  std::optional<jobs::FairQueue<worker::Ticket>::Place> place;
};

Programs::Programs(net::Loop& loop, const Options& options, Sink sink)
    : loop_(loop), options_(options), sink_(std::move(sink)) {}
Programs::~Programs() = default;

void Programs::submit(const Subscriber& subscriber, std::uint32_t uid, std::uint32_t milliseconds,
                      std::span<const std::byte> message) {
  ++stats_.submitted;
  if (queue_.size_of(uid) >= options_.queue_per_user || bytes_of_[uid] + message.size() > options_.bytes_per_user) {
    ++stats_.busy;
    sink_(subscriber, Failed{make_error(ErrorCode::kBusy, "too many programs of this user are waiting"), kRetryMs});
    return;
  }
  if (!pool_)
    pool_ = std::make_unique<worker::Pool>(
        loop_,
        worker::PoolOptions{.baseline_workers = 0,
                            .optimise_workers = 0,
                            .program_workers = 1,
                            .program_folder = options_.folder,
                            .optimise_grace_ms = options_.grace_ms},
        worker::PoolEvents{
            .on_response = [this](const auto& header, std::string_view tail) { on_response(header, tail); },
            .on_served = [this](worker::Ticket ticket,
                                auto worker_ns) { queue_.settle(jobs_.at(ticket)->uid, worker_ns); },
            .on_lost = [this](worker::Ticket ticket,
                              auto fate) { on_lost(ticket, fate == worker::PoolEvents::Fate::unharmed); },
            .on_free = [this](worker::Lane) { serve(); }});
  const worker::Ticket ticket = next_++;
  auto job = std::make_unique<Job>();
  *job = {subscriber, uid, milliseconds, {message.begin(), message.end()}, true, {}};
  bytes_of_[uid] += message.size();
  job->place = queue_.push_back(uid, ticket);
  jobs_.emplace(ticket, std::move(job));
  sink_(subscriber, Accepted{});
  serve();
}

void Programs::cancel(const Subscriber& subscriber) {
  for (auto& [ticket, job] : jobs_) {
    if (!job->heard || !(job->subscriber == subscriber)) continue;
    ++stats_.cancelled;
    job->heard = false;
    if (!job->place) return pool_->cancel(ticket);  // the worker has it, and is free for the next when it answers
    queue_.erase(*job->place);
    remove(ticket);
    return;
  }
}

void Programs::serve() {
  while (pool_ && pool_->has_room(worker::Lane::programs)) {
    const auto ticket = queue_.pop();
    if (!ticket) return;
    Job& job = *jobs_.at(*ticket);
    job.place.reset();
    worker::RequestHeader header;
    header.ticket = *ticket;
    header.lane = worker::Lane::programs;
    header.budget_ns = job.milliseconds * 1'000'000;
    pool_->request(header, job.message);
  }
}

void Programs::on_response(const worker::ResponseHeader& header, std::string_view tail) {
  const auto at = jobs_.find(header.ticket);
  if (at == jobs_.end()) return;
  const Subscriber subscriber = at->second->subscriber;
  const bool heard = at->second->heard;
  if (header.kind == worker::Kind::progress) {
    if (heard) sink_(subscriber, Progressed{header.done, header.total});
    return;
  }
  remove(header.ticket);
  if (!heard) return;  // counted when it was cancelled
  if (header.kind == worker::Kind::program) {
    // Worked on by code that read a client's text: what it says is read again before it goes out.
    std::vector<std::uint64_t> aligned(tail.size() / sizeof(std::uint64_t) + 1);
    std::memcpy(aligned.data(), tail.data(), tail.size());
    const auto message = std::as_bytes(std::span(aligned)).first(tail.size());
    if (worker::is_program_message(message, subscriber.job)) {
      ++(header.code != 0 ? stats_.cheaper : stats_.no_gain);
      sink_(subscriber, Ready{message, header.code != 0});
      return;
    }
    log::error("a programs worker sent a message of another form");
  }
  ++stats_.failed;
  const bool told = header.kind == worker::Kind::failed && header.code <= static_cast<std::uint8_t>(ErrorCode::kBusy);
  sink_(subscriber, Failed{told ? Error{static_cast<ErrorCode>(header.code), std::string(tail)}
                                : make_error(ErrorCode::kInternal, "the worker's answer was not understood"),
                           0});
}

void Programs::on_lost(worker::Ticket ticket, bool unharmed) {
  const auto at = jobs_.find(ticket);
  if (at == jobs_.end()) return;
  if (unharmed && at->second->heard) {
    at->second->place = queue_.push_front(at->second->uid, ticket);
    return;
  }
  const Subscriber subscriber = at->second->subscriber;
  const bool heard = at->second->heard;
  remove(ticket);
  if (!heard) return;  // counted when it was cancelled
  ++stats_.lost;
  sink_(subscriber, Failed{make_error(ErrorCode::kInternal, "the worker was lost over this program"), 0});
}

void Programs::remove(worker::Ticket ticket) {
  const auto at = jobs_.find(ticket);
  const auto bytes = bytes_of_.find(at->second->uid);
  bytes->second -= at->second->message.size();
  if (bytes->second == 0) bytes_of_.erase(bytes);
  jobs_.erase(at);
}

Stats Programs::stats() const {
  Stats out = stats_;
  out.waiting = queue_.size();
  out.running = jobs_.size() - queue_.size();
  return out;
}

}  // namespace trident::programs
