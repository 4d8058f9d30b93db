// The daemon's counters as JSON, for StatsRequest.
#pragma once

#include <string>
#include <vector>

#include "daemon/cache/cache.h"
#include "daemon/jobs/jobs.h"
#include "daemon/session/session.h"

namespace trident::admin {

struct Learning {
  std::string weights;  ///< that the search goes by: a digest, or none
  std::uint64_t weights_changed = 0;
  std::string costs;  ///< what it weighs instructions by: where and when it was measured, or built in
  std::uint64_t costs_changed = 0, noted = 0;
  std::uint64_t lost = 0;     ///< expressions that the journal could not take
  std::string journal_fault;  ///< why it can be written no more; empty: it can
};

struct Condition {
  std::string confined;                  ///< what workers give up
  std::string not_confined;              ///< what they could not give up, and why; empty: nothing
  std::vector<std::string> restart_due;  ///< settings that wait for a restart
  std::string reload_error;              ///< of the last reload; empty: it went well
};

/// One JSON object: uptime, and one object per part of the daemon.
std::string stats_json(double uptime_s, const session::Stats& sessions, const jobs::Stats& jobs,
                       const worker::PoolStats& workers, std::size_t workers_alive, const cache::Stats& cache,
                       const Learning& learning, const Condition& condition);

}  // namespace trident::admin
