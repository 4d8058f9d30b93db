// Users whose compilations have lately taken long, one by one or together. Heavy users share the baseline workers that
// are not kept for others (worker::Claim), however many such users there are; a user that is not known to be heavy gets
// in among the others with a small part of its time.
//
// One compilation that takes long makes a user heavy at once, for it may hold a worker while others wait. Many short
// ones do where other users are present: the time that they take is added up, and a share of a worker is taken back
// from the sum as time passes. Asking for some hundreds of kernels at once, as programs do when they start, is not
// heavy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "daemon/jobs/presence.h"

namespace trident::jobs {

class HeavyUsers {
 public:
  /// Longest compilation that does not count as slow: some ten times that of 30 operations.
  static constexpr std::uint64_t kBriefNs = 1'000'000;
  /// A user counts as slow for this many times the slow compilation, and for a second at least.
  static constexpr std::uint64_t kFactor = 10, kSlowMinNs = 1'000'000'000;
  /// Time of compilations together from which on they are much, and the greatest that is remembered.
  static constexpr std::uint64_t kMuchNs = 20'000'000, kRememberedNs = 40'000'000;
  /// One in so many nanoseconds is taken back.
  static constexpr std::uint64_t kFreeShare = 50;

  /// A compilation of this user took so much processor time.
  void note(std::uint32_t user, std::uint64_t cpu_ns, std::uint64_t now_ns) {
    presence_.hear_of(user, now_ns);
    if (users_.size() >= kUsersMax)
      std::erase_if(users_, [&](const auto& entry) { return entry.second.is_idle(now_ns); });
    User& one = users_[user];
    one.used_ns = std::min(one.used_at(now_ns) + cpu_ns, kRememberedNs);
    one.since_ns = now_ns;
    if (cpu_ns > kBriefNs)
      one.slow_until_ns = std::max(one.slow_until_ns, now_ns + std::max(kFactor * cpu_ns, kSlowMinNs));
  }

  /// Returns whether one of the user's compilations has taken long.
  [[nodiscard]] bool is_slow(std::uint32_t user, std::uint64_t now_ns) const {
    const auto at = users_.find(user);
    return at != users_.end() && now_ns < at->second.slow_until_ns;
  }
  [[nodiscard]] bool is_heavy(std::uint32_t user, std::uint64_t now_ns) const {
    const auto at = users_.find(user);
    if (at == users_.end()) return false;
    return now_ns < at->second.slow_until_ns ||
           (at->second.used_at(now_ns) > kMuchNs && presence_.others_present(user, now_ns));
  }

 private:
  /// Number of users from which on those that are heavy no more are forgotten.
  static constexpr std::size_t kUsersMax = 256;
  struct User {
    std::uint64_t slow_until_ns = 0;
    std::uint64_t used_ns = 0, since_ns = 0;  ///< used at a time

    [[nodiscard]] std::uint64_t used_at(std::uint64_t now_ns) const {
      return used_ns - std::min(used_ns, (std::max(now_ns, since_ns) - since_ns) / kFreeShare);
    }
    [[nodiscard]] bool is_idle(std::uint64_t now_ns) const { return slow_until_ns <= now_ns && used_at(now_ns) == 0; }
  };

  std::unordered_map<std::uint32_t, User> users_;
  Presence presence_;
};

}  // namespace trident::jobs
