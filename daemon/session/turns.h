// Each user's share of the front's time for reading, where there are several users.
//
// A user is charged the time by the clock that reading its messages takes, over all its connections: receiving,
// checking, looking up, answering. It is what others wait for, so it counts whatever the messages ask for and however
// they end. A user that has had a slice rests for a multiple of it, while others have been heard of lately: its
// messages stay in its sockets, and its clients wait. Rest and slice together bound its share, however little of a busy
// processor the front gets. Several that rest do so for longer, so that their shares together are no more than one's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "daemon/jobs/presence.h"

namespace trident::session {

class Turns {
 public:
  /// Reading in a row after which a user rests.
  static constexpr std::uint64_t kSliceNs = 500'000;
  /// Rest for each time of reading, and its limit: a user's clients must not take the daemon for dead.
  static constexpr std::uint64_t kRestPerTime = 4, kRestMaxNs = 1'000'000'000;

  /// Reading this user's messages took so long until now.
  void charge(std::uint32_t user, std::uint64_t used_ns, std::uint64_t now_ns) {
    const bool alone = !presence_.others_present(user, now_ns);
    presence_.hear_of(user, now_ns);
    if (alone) return;
    if (users_.size() >= kUsersMax) forget_rested(now_ns);
    User& one = users_[user];
    one.owes_ns = std::min(one.owed_at(now_ns - used_ns) + (kRestPerTime * used_ns), kRestMaxNs);
    one.since_ns = now_ns;
    if (one.owes_ns < kRestPerTime * kSliceNs) return;
    one.rests_until_ns = now_ns + std::min(one.owes_ns * (1 + others_resting(user, now_ns)), kRestMaxNs);
  }

  /// When the user may be read again; a time that has passed if it may be now.
  [[nodiscard]] std::uint64_t rests_until_ns(std::uint32_t user) const {
    const auto at = users_.find(user);
    return at == users_.end() ? 0 : at->second.rests_until_ns;
  }

  /// Returns true when rest is due for what has been read already.
  [[nodiscard]] bool owes(std::uint32_t user, std::uint64_t now_ns) const {
    const auto at = users_.find(user);
    return at != users_.end() && at->second.owed_at(now_ns) != 0;
  }

 private:
  /// Number of users from which on those that owe nothing are forgotten.
  static constexpr std::size_t kUsersMax = 256;
  struct User {
    std::uint64_t owes_ns = 0, since_ns = 0;  ///< rest that was due at a time
    std::uint64_t rests_until_ns = 0;

    [[nodiscard]] std::uint64_t owed_at(std::uint64_t now_ns) const {
      return owes_ns - std::min(owes_ns, std::max(now_ns, since_ns) - since_ns);
    }
  };

  [[nodiscard]] std::uint64_t others_resting(std::uint32_t user, std::uint64_t now_ns) const {
    return static_cast<std::uint64_t>(std::count_if(users_.begin(), users_.end(), [&](const auto& entry) {
      return entry.first != user && entry.second.rests_until_ns > now_ns;
    }));
  }
  void forget_rested(std::uint64_t now_ns) {
    std::erase_if(users_, [&](const auto& entry) {
      return entry.second.owed_at(now_ns) == 0 && entry.second.rests_until_ns <= now_ns;
    });
  }

  std::unordered_map<std::uint32_t, User> users_;
  jobs::Presence presence_;
};

}  // namespace trident::session
