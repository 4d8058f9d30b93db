// Kernels that clients still have open after their jobs ended, so that they can be searched once more when the search
// has learnt something: what was submitted, and how good the kernel is that they have. Bookkeeping only; jobs.cpp runs
// the searches when there is nothing else to do.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/jobs/order.h"
#include "daemon/jobs/subscriber.h"

namespace trident::jobs {

/// Times that one kernel may be replaced: a client keeps every kernel of a slot (clients/c/slot.h, kMapsMax).
inline constexpr std::uint32_t kRenewalsMax = 5;
/// A new kernel is sent when its time is below this share of the old kernel's; smaller gains are noise.
inline constexpr double kRenewalGain = 0.97;

class Renewals {
 public:
  struct Kernel {
    std::string id;  ///< of its job: user and key
    std::uint32_t uid = 0;
    OrderPtr order;
    double ratio = 1;           ///< its time over the baseline's, as measured
    std::uint64_t weights = 0;  ///< the generation of weights that it was searched by
    bool speculates = false;    ///< its code assumes ranges
    std::uint32_t renewed = 0;  ///< times that another one was sent
    std::vector<Subscriber> subscribers{};
    bool queued = false;
  };
  using Number = std::uint64_t;

  /// Bytes of orders that are remembered; what comes when they are used up keeps the kernel that it has.
  explicit Renewals(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  /// The subscriber's job has ended with this kernel; those of equal ids share one.
  void remember(const Subscriber& subscriber, Kernel kernel);
  /// The subscriber has closed it; nothing if it was not remembered.
  void forget(const Subscriber& subscriber);
  /// The kernel that the subscriber has; null if it was not remembered.
  [[nodiscard]] const Kernel* of(const Subscriber& subscriber) const;
  /// Others are chosen: what was not searched by these waits to be.
  void set_weights(std::uint64_t generation);
  [[nodiscard]] std::uint64_t weights() const { return weights_; }

  /// A kernel that waits, which then no longer does.
  std::optional<Number> next();
  /// Null when nobody has it any more. Valid until the next call of another function.
  Kernel* find(Number number);

  [[nodiscard]] std::size_t size() const { return kernels_.size(); }
  [[nodiscard]] std::size_t speculating() const;
  [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void enqueue(Number number, Kernel& kernel);

  std::uint64_t bytes_max_, bytes_ = 0, weights_ = 0;
  Number next_number_ = 1;
  std::unordered_map<Number, Kernel> kernels_;
  std::unordered_map<std::string, Number> by_id_;
  std::unordered_map<Subscriber, Number, SubscriberHash> by_subscriber_;
  std::deque<Number> queue_;  ///< may name some that are gone
};

}  // namespace trident::jobs
