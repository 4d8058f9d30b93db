// A subscriber of a job's events.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trident::jobs {

/// A connection and its number for the job.
struct Subscriber {
  std::uint64_t session = 0, job = 0;
  friend bool operator==(const Subscriber&, const Subscriber&) = default;
};

struct SubscriberHash {
  std::size_t operator()(const Subscriber& s) const { return s.session * 0x9E3779B97F4A7C15u ^ s.job; }
};

}  // namespace trident::jobs
