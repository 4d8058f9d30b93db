// Users whose compilations have taken long lately. Such users share the baseline workers that are not kept for others
// (worker::Claim). A user that is not known to be slow gets in among the others with at most a tenth of its time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace trident::jobs {

class SlowUsers {
 public:
  /// Longest compilation that does not count as slow: some ten times that of 30 operations.
  static constexpr std::uint64_t kBriefNs = 1'000'000;
  /// A user counts as slow for this many times the slow compilation, and for a second at least.
  static constexpr std::uint64_t kFactor = 10, kSlowMinNs = 1'000'000'000;

  /// A compilation of this user took so much processor time.
  void note(std::uint32_t user, std::uint64_t cpu_ns, std::uint64_t now_ns) {
    if (cpu_ns <= kBriefNs) return;
    if (until_ns_.size() >= kUsersMax)
      std::erase_if(until_ns_, [&](const auto& entry) { return entry.second < now_ns; });
    std::uint64_t& until = until_ns_[user];
    until = std::max(until, now_ns + std::max(kFactor * cpu_ns, kSlowMinNs));
  }

  [[nodiscard]] bool contains(std::uint32_t user, std::uint64_t now_ns) const {
    const auto at = until_ns_.find(user);
    return at != until_ns_.end() && now_ns < at->second;
  }

 private:
  /// Number of users from which on those that are slow no more are forgotten.
  static constexpr std::size_t kUsersMax = 256;
  std::unordered_map<std::uint32_t, std::uint64_t> until_ns_;
};

}  // namespace trident::jobs
