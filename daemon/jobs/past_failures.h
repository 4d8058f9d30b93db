// Jobs that failed before, so that a known failure costs no worker time again: their errors, and how often they killed
// or hung a worker. Each user has a memory of its own, of the latest failures: a flood of one user displaces no
// failures of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "daemon/worker/protocol.h"
#include "runtime/base/result.h"

namespace trident::jobs {

/// Deaths or hangs of workers after which a job is refused.
inline constexpr std::uint32_t kStrikesMax = 3;
inline constexpr std::uint64_t kFailuresRememberedNs = 600'000'000'000;
/// Failures of one user that are remembered, and users whose failures are.
inline constexpr std::size_t kFailuresPerUserMax = 256;
inline constexpr std::size_t kFailingUsersMax = 256;

/// An error, and for a loop of which no code is made the reason.
struct PastFailure : Error {
  struct LoopReason {
    std::uint8_t reason = 0;
    std::int64_t offset = 0;
  };
  std::optional<LoopReason> refusal{};
};

class PastFailures {
 public:
  using Id = std::string;  ///< of a job: user and key

  /// A worker died or hung over the job. Returns how many have.
  std::uint32_t strike(std::uint32_t uid, const Id& id, worker::Lane lane, std::uint64_t now_ns);
  /// A worker answered with this error. Errors that may pass, as lack of memory does, are not remembered.
  void remember(std::uint32_t uid, const Id& id, worker::Lane lane, const Error& error, std::uint64_t now_ns,
                std::optional<PastFailure::LoopReason> refusal = {});
  void forget(std::uint32_t uid, const Id& id);

  /// Returns true when kStrikesMax workers have died or hung over the job in this lane.
  [[nodiscard]] bool quarantined(std::uint32_t uid, const Id& id, worker::Lane lane, std::uint64_t now_ns);
  /// The error that this lane gave; null when none is known. Valid until the next call.
  [[nodiscard]] const PastFailure* known(std::uint32_t uid, const Id& id, worker::Lane lane, std::uint64_t now_ns);
  [[nodiscard]] std::size_t size_of(std::uint32_t uid) const;

 private:
  struct InLane {
    std::uint32_t strikes = 0;
    std::optional<PastFailure> error;
  };
  struct Failure {
    Id id;
    std::uint64_t forgotten_at_ns = 0;
    InLane baseline{}, optimise{};
    InLane& of(worker::Lane lane) { return lane == worker::Lane::baseline ? baseline : optimise; }
  };
  struct User {
    std::list<Failure> latest;  ///< first
    std::unordered_map<Id, std::list<Failure>::iterator> by_id;
    std::uint64_t failed_at_ns = 0;  ///< last
  };

  Failure* find(std::uint32_t uid, const Id& id, std::uint64_t now_ns);
  Failure& note(std::uint32_t uid, const Id& id, std::uint64_t now_ns);
  User& user(std::uint32_t uid);

  std::unordered_map<std::uint32_t, User> users_;
};

}  // namespace trident::jobs
