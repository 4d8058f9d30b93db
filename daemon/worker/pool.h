// The front's side: starts workers, hands them requests, notices when they die or hang, starts new ones.
//
//   baseline lane   workers that take one request each, or several that are surely short (it need not wait for the
//                   front between two). Of two or more, one user never holds all, and the first is not for heavy users:
//                   theirs are at lower priority
//   optimise lane   1..N workers at lower priority, one request each; a worker may keep searches that have had their
//                   first look, kKeptMax at most: only it can go on with them
//   programs lane   likewise
//
// A worker that crashes, errs on the protocol or exceeds its time is killed and replaced. The request it was working on
// is reported lost; requests that stood behind it, and searches that it kept, are reported unharmed and may simply be
// sent again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/net/channel.h"
#include "daemon/worker/protocol.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/child.h"

namespace trident::worker {

using Ticket = std::uint64_t;

/// The asker of a baseline and how long the work may take; they decide which workers may take it.
struct Claim {
  std::uint32_t user = 0;
  bool brief = false;  ///< small, of a user that is not slow: may stand in a socket with others that are brief
  bool heavy = false;  ///< the user's compilations take long, or much together
};

/// How much longer than its budget of CPU time an optimise job may take by the clock.
inline constexpr std::uint64_t kWallPerBudget = pipeline::kWallPerBudget;
/// The most that a search uses without a budget of the request's: large expressions get more than others.
inline constexpr std::uint64_t kUsualBudgetNs = pipeline::kDefaultBudgetNs + pipeline::kLargeMoreNs;

/// Searches that a worker keeps: some ten megabytes each. What comes when it has so many is searched in one go.
inline constexpr std::size_t kKeptMax = 16;

struct PoolOptions {
  std::uint32_t baseline_workers = 1;
  std::uint32_t optimise_workers = 1;
  std::uint32_t program_workers = 0;
  std::string program_folder{};              ///< where those keep what they learn; empty: nowhere
  std::uint64_t baseline_timeout_ms = 1000;  ///< for one compilation
  std::string costs{};                       ///< cost::print() of a table for the optimise workers; empty: none
  std::string rules{};                       ///< for them too: text for SearchRules::parse(); empty: none
  std::string weights{};                     ///< for them too: told_weights(); empty: those of the program
  std::uint64_t optimise_grace_ms = 0;       ///< by the clock, beyond kWallPerBudget times its request's budget
};

struct PoolEvents {
  /// A checked response; the tail of one that carries an image is a valid image of the tier that was asked for.
  std::function<void(const ResponseHeader&, std::string_view tail)> on_response;
  enum class Fate : std::uint8_t { unharmed, crashed, timed_out };
  /// A request has ended and kept its worker for so long; on_response or on_lost follows.
  std::function<void(Ticket, std::uint64_t worker_ns)> on_served = [](Ticket, std::uint64_t) {};
  /// The request will get no response any more.
  std::function<void(Ticket, Fate)> on_lost;
  /// A worker of this lane can take a request.
  std::function<void(Lane)> on_free;
};

struct PoolStats {
  std::uint64_t started = 0, crashed = 0, timed_out = 0, protocol_errors = 0;
};

class Pool {
 public:
  Pool(net::Loop& loop, const PoolOptions& options, PoolEvents events);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Returns true when request() would be taken now. The claim counts in the baseline lane alone.
  [[nodiscard]] bool has_room(Lane lane, const Claim& claim = {}) const;
  /// Sends a request to a worker with room (there must be one).
  void request(const RequestHeader& header, std::span<const std::byte> message, const Claim& claim = {});
  /// Returns true when the worker that keeps this search is free.
  [[nodiscard]] bool may_go_on(Ticket kept) const;
  /// Has it go on with that search: a request again, whose header has Tail::go_on.
  void go_on(const RequestHeader& header, const Claim& claim);
  /// Nobody wants the kept search any more.
  void forget(Ticket kept);
  /// Nobody waits for this request of the programs lane any more: its worker is asked to end it, and is out of time
  /// when it has not soon. It ends as any other, by a response or by on_lost.
  void cancel(Ticket ticket);

  /// PoolOptions::weights from now on, for requests that follow; workers are told at once.
  void tell_weights(const std::string& told);
  /// Replaces PoolOptions::costs in the same way.
  void tell_costs(const std::string& told);

  /// Workers write their log lines nowhere from now on.
  void release_standard_error();

  /// Why the pool gets nowhere: a worker that has been missing or overdue for longer than `patience_ns`; empty when all
  /// is well. Workers that die of a request, or take too long over it, are replaced in time and are no reason.
  [[nodiscard]] std::string trouble(std::uint64_t patience_ns) const;
  /// Returns true when every worker has said that it can work.
  [[nodiscard]] bool ready() const;
  [[nodiscard]] const PoolStats& stats() const { return stats_; }
  [[nodiscard]] std::size_t alive() const;

 private:
  class Worker;
  [[nodiscard]] Worker* keeper_of(Ticket kept) const;
  Worker* find_room(Lane lane, const Claim& claim) const;

  net::Loop& loop_;
  PoolOptions options_;
  PoolEvents events_;
  PoolStats stats_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace trident::worker
