// Programs that are to become cheaper to prove: waiting, being worked on, answered. Nothing is cached: a program comes
// with its inputs and with the learning since.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "daemon/jobs/fair_queue.h"
#include "daemon/jobs/subscriber.h"
#include "daemon/net/loop.h"
#include "daemon/worker/pool.h"
#include "runtime/base/result.h"

namespace trident::programs {

using jobs::Subscriber;

struct Accepted {};
struct Progressed {
  std::uint32_t done = 0, total = 0;
};
/// The message for the client; valid during the call.
struct Ready {
  std::span<const std::byte> message;
  bool cheaper = false;
};
struct Failed {
  Error error;
  std::uint32_t retry_after_ms = 0;
};
/// Ready and Failed are a job's last.
using Event = std::variant<Accepted, Progressed, Ready, Failed>;
using Sink = std::function<void(const Subscriber&, const Event&)>;

struct Options {
  std::string folder;                        ///< where the worker keeps what it learns; empty: nowhere
  std::uint32_t queue_per_user = 16;         ///< above it: Busy
  std::uint64_t bytes_per_user = 16u << 20;  ///< of messages that wait; above it: Busy
  std::uint64_t grace_ms = 5'000;            ///< beyond what the client allows for the search
};

struct Stats {
  std::uint64_t submitted = 0, cheaper = 0, no_gain = 0, failed = 0, busy = 0, cancelled = 0, lost = 0;
  std::size_t waiting = 0, running = 0;
};

class Programs {
 public:
  Programs(net::Loop& loop, const Options& options, Sink sink);
  ~Programs();

  /// `message` is the client's SubmitProgram as it came and was found right, `milliseconds` what it allows.
  void submit(const Subscriber& subscriber, std::uint32_t uid, std::uint32_t milliseconds,
              std::span<const std::byte> message);
  /// Nobody hears of it any more. If it is being worked on, the worker ends it and goes on with the next.
  void cancel(const Subscriber& subscriber);
  /// The worker writes its log lines nowhere from now on.
  void release_standard_error() {
    if (pool_) pool_->release_standard_error();
  }
  [[nodiscard]] Stats stats() const;

 private:
  struct Job;
  void serve();
  void on_response(const worker::ResponseHeader& header, std::string_view tail);
  void on_lost(worker::Ticket ticket, bool unharmed);
  void remove(worker::Ticket ticket);

  net::Loop& loop_;
  Options options_;
  Sink sink_;
  std::unique_ptr<worker::Pool> pool_;  ///< with the first program
  std::unordered_map<worker::Ticket, std::unique_ptr<Job>> jobs_;
  jobs::FairQueue<worker::Ticket> queue_;
  std::unordered_map<std::uint32_t, std::uint64_t> bytes_of_;  ///< by user
  worker::Ticket next_ = 1;
  Stats stats_;
};

}  // namespace trident::programs
