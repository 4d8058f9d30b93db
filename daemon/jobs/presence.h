// Whether a user is the only one: what is kept for others is kept only while there are any.
#pragma once

#include <cstdint>

namespace trident::jobs {

class Presence {
 public:
  /// A user counts as present for so long after it was last heard of.
  static constexpr std::uint64_t kPresentNs = 10'000'000'000;

  [[nodiscard]] bool others_present(std::uint32_t user, std::uint64_t now_ns) const {
    const std::uint64_t heard_ns = user == latest_ ? others_heard_ns_ : latest_heard_ns_;
    return heard_ns != 0 && now_ns - heard_ns < kPresentNs;
  }
  void hear_of(std::uint32_t user, std::uint64_t now_ns) {
    if (user != latest_) others_heard_ns_ = latest_heard_ns_;
    latest_ = user;
    latest_heard_ns_ = now_ns;
  }

 private:
  std::uint32_t latest_ = 0;                                 ///< the user that was heard of last
  std::uint64_t latest_heard_ns_ = 0, others_heard_ns_ = 0;  ///< 0: never
};

}  // namespace trident::jobs
