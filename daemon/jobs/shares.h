// Users' shares of what all of them share: jobs in the works, and the bytes that these hold.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace trident::jobs {

class Shares {
 public:
  struct Usage {
    std::uint64_t jobs = 0, bytes = 0;
  };

  void begin_job(std::uint32_t uid) {
    ++by_user_[uid].jobs;
    ++all_.jobs;
  }
  /// Bytes more of a job that has begun.
  void charge(std::uint32_t uid, std::uint64_t bytes) {
    by_user_[uid].bytes += bytes;
    all_.bytes += bytes;
  }
  /// `bytes`: all that the job was charged.
  void end_job(std::uint32_t uid, std::uint64_t bytes) {
    const auto user = by_user_.find(uid);
    user->second.bytes -= bytes;
    all_.bytes -= bytes;
    --all_.jobs;
    if (--user->second.jobs == 0) by_user_.erase(user);
  }

  [[nodiscard]] Usage of(std::uint32_t uid) const {
    const auto at = by_user_.find(uid);
    return at == by_user_.end() ? Usage() : at->second;
  }
  [[nodiscard]] const Usage& all() const { return all_; }

 private:
  std::unordered_map<std::uint32_t, Usage> by_user_;
  Usage all_;
};

/// Whether a user that has `own` of `all` may have `more`: as much as is left to others, so that no flood fills what
/// all users share.
inline bool leaves_room(std::uint64_t own, std::uint64_t all, std::uint64_t more, std::uint64_t max) {
  return all < max && own + more <= max - all;
}

}  // namespace trident::jobs
