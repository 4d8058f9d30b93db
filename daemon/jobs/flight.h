// One order of one user in the works, and where it stands.
#pragma once

#include "daemon/jobs/jobs.h"

namespace trident::jobs {

struct Jobs::Flight {
  /// For the log: the order, shortened, with user and key.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] bool waits() const { return place.has_value(); }
  /// Returns whether a worker searches for better code, which is worth its end.
  [[nodiscard]] bool is_searched() const { return step == Step::optimise && (ticket != 0 || kept != 0); }

  std::string id;
  std::uint32_t uid = 0;
  std::uint64_t connection = 0;  ///< of the first subscriber: those of a user take turns
  OrderPtr order;
  image::Key key{};
  std::vector<std::byte> canonical;
  std::uint64_t bytes = 0;  ///< charged to the user: the order, the above, and images
  std::uint64_t submitted_ns = 0;
  std::uint64_t called = 0;  ///< how much, as its subscribers tell
  Step step = Step::baseline;
  worker::Ticket ticket = 0;                       ///< while a worker has it
  worker::Ticket kept = 0;                         ///< while a worker keeps its search, which waits to go on
  std::optional<FairQueue<Flight*>::Place> place;  ///< while it waits
  cache::SharedImage baseline;
  cache::SharedImage interim;               ///< better than the baseline; the outcome is still to come
  std::uint32_t interims = 0;               ///< sent
  ImageReady sent;                          ///< what the subscribers have; no image: nothing yet
  std::uint32_t checks = 0;                 ///< begun
  bool baseline_checked = false;            ///< an optimise worker has found it right
  std::uint64_t weights = 0;                ///< the generation that the key is of
  std::optional<Renewals::Number> renewal;  ///< of this: nobody waits for it, and there is no baseline
  std::vector<Subscriber> subscribers;
  std::unordered_map<Subscriber, Hint, SubscriberHash> hints;  ///< that have come while a worker searched
  std::string reason;  ///< why there will be no optimised kernel, while a check alone is still to come
};

inline constexpr std::uint32_t kBusyRetryMs = 50;
Error too_many_jobs();
/// Kernel time divided by baseline time.
double ratio_of(const ImageReady& kernel);
/// The kernel of an entry that has an image.
ImageReady ready_of(const cache::Entry& entry);
/// The error that a worker tells; Internal where it has given another answer than the order's.
Error error_of(const worker::ResponseHeader& header, std::string_view tail);
/// The tail of a response that carries an image, which the pool has checked.
cache::SharedImage shared(std::string_view tail);

}  // namespace trident::jobs
