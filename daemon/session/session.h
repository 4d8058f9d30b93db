// The conversation with one client, and the limits of a user over all its connections.
//
//   connected --Hello--> ready --Submit/Cancel/StatsRequest--> ...
//       \-- no Hello in time, a malformed message, a version that does not fit: Failure{job 0}, closed
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "daemon/ingest/ingest.h"
#include "daemon/jobs/jobs.h"
#include "daemon/net/channel.h"
#include "daemon/session/turns.h"
#include "runtime/log/ration.h"
#include "runtime/os/cpu.h"
#include "runtime/os/socket.h"

namespace trident::session {

struct Limits {
  std::uint32_t connections = 0, connections_per_user = 0;
  std::uint64_t hello_timeout_ms = 0, frame_timeout_ms = 0;
  std::size_t frame_bytes_max = 0, write_queue_bytes_max = 0;
  /// Images sent as memfds, which are the daemon's memory, over connections that are open: what goes beyond travels in
  /// the message.
  std::uint64_t shared_image_bytes = 0;
  /// Jobs of one connection whose kernels have not been closed.
  std::uint32_t jobs_per_connection = 0;
};

struct Stats {
  std::uint64_t accepted = 0, refused = 0, malformed = 0, hello_timeouts = 0, frame_timeouts = 0, overflows = 0;
  std::uint64_t over_image_bytes = 0;
  std::size_t connections = 0, users = 0;
  std::uint64_t image_bytes = 0;  ///< sent as memfds over connections that are open
};

/// Decides whether a connection from `peer` is served. Limits, jobs and cache go by user, so a peer that cannot be told
/// from others is refused: the overflow uid stands for all users that this daemon's user namespace does not map (and
/// for "nobody"). A daemon that runs under that uid serves it. The pid may be 0 (a process in a namespace that this one
/// does not see): it is used for nothing, and the uid is as good as any.
Result<void> admit(const os::Peer& peer, std::uint32_t own_uid, std::uint32_t overflow_uid);

/// The instruction set for a client's kernels: the greatest that both the client and this processor have. 0: none.
std::uint8_t common_isa(std::uint8_t clients, const os::CpuFeatures& cpu);

class Sessions {
 public:
  /// `stats_json` answers StatsRequest.
  Sessions(net::Loop& loop, const Limits& limits, std::function<std::string()> stats_json);
  ~Sessions();
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  /// Where submissions go; must be called before the first connection.
  void set_jobs(jobs::Jobs& jobs) { jobs_ = &jobs; }
  /// Takes a connection that was just accepted.
  void add(os::Fd socket);
  /// Descriptors run out: connections that say nothing give way before their time.
  void make_room();
  /// An event of a job, for the session that asked for it.
  void on_event(const jobs::Subscriber& subscriber, const jobs::Event& event);

  void set_limits(const Limits& limits) { limits_ = limits; }
  /// No client is served from now on: each is told why in answer to its hello, and does its work itself.
  void turn_away(Error why) { why_not_ = std::move(why); }
  [[nodiscard]] Stats stats() const;
  /// Bytes that clients have not read yet.
  [[nodiscard]] bool all_written() const;

 private:
  class Session;
  struct User {
    std::uint32_t connections = 0;
  };

  class Gate;
  /// Sessions of a user that rests, in the order in which they are read again.
  struct Resting {
    explicit Resting(net::Loop& loop) : over(loop) {}
    std::deque<std::uint64_t> sessions;
    net::Timer over;
  };

  /// More will follow a submission of the user: the loop stays awake for it, unless it serves the user slowly.
  void linger_for(std::uint32_t uid);
  bool may_read(std::uint32_t uid, std::uint64_t id);
  void wake_after_rest(std::uint32_t uid, Resting& resting);
  void read_again(std::uint32_t uid);
  [[nodiscard]] bool full(std::uint32_t uid) const;
  void refuse(os::Fd socket, std::uint32_t uid, const Error& error, std::uint32_t retry_after_ms);
  void tell_of_refusal(std::uint32_t uid, const Error& error);
  void tell_of_user(std::uint32_t uid);
  void remove(std::uint64_t id);

  net::Loop& loop_;
  Limits limits_;
  std::function<std::string()> stats_json_;
  jobs::Jobs* jobs_ = nullptr;
  Stats stats_;
  std::uint32_t own_uid_, overflow_uid_;
  std::optional<Error> why_not_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint32_t, User> users_;
  std::unordered_set<std::uint32_t> users_seen_;  ///< whose first connection the log has told of
  log::Ration refusals_, told_to_wait_;
  Turns turns_;
  std::unordered_map<std::uint32_t, Resting> resting_;
  std::uint64_t first_in_line_ = 0;  ///< the session that is read again just now
  std::unordered_map<std::uint64_t, std::unique_ptr<Session>> sessions_;
};

}  // namespace trident::session
