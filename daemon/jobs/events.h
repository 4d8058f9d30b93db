// Events of jobs, as subscribers hear them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>

#include "daemon/cache/cache.h"
#include "daemon/jobs/subscriber.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/base/result.h"
#include "schemas/stages.h"

namespace trident::jobs {

struct Accepted {
  bool cached = false;
  bool alone = false;  ///< nothing follows soon: it does not wait to travel with that
};
struct ImageReady {
  cache::SharedImage image;
  double baseline_ns = 0, optimised_ns = 0;
  bool more = false;  ///< the job's next event follows at once: both may travel together
};
struct Progressed {
  Stage stage = Stage::lower;
  std::uint32_t done = 0, total = 0;
  double best_ratio = 0;
};
/// The image of this tier, sent before, must not run any more.
struct Revoked {
  trident_tier tier = TRIDENT_TIER_BASELINE;
};
struct Finished {
  pipeline::Outcome outcome = pipeline::Outcome::no_gain;
  std::string reason{};  ///< why nothing better came; empty when published, and when only the outcome is known
};
/// A program's end: the message for its client, valid during the call.
struct ProgramReady {
  std::span<const std::byte> message;
  pipeline::Outcome outcome = pipeline::Outcome::no_gain;
};
/// No code is made of a loop.
struct LoopRefused {
  std::uint8_t reason = 0;  ///< loop::Reason
  std::int64_t offset = 0;  ///< from the loop's head to the instruction that is the reason
  std::string text{};
};
struct Failed {
  Error error;
  std::uint32_t retry_after_ms = 0;
};
/// Finished, ProgramReady, LoopRefused and Failed are a job's last, but for an ImageReady long after Finished
/// (renewals.h).
using Event = std::variant<Accepted, ImageReady, Progressed, Revoked, Finished, ProgramReady, LoopRefused, Failed>;
using Sink = std::function<void(const Subscriber&, const Event&)>;

}  // namespace trident::jobs
