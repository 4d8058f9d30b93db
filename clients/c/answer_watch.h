// Finds out whether the daemon still answers. The library's thread asks; times are given, so that tests need no clock.
//
// Silence alone says nothing: a search may wait for its turn for minutes. So when a daemon has been silent for a while
// although jobs are unfinished, it is asked for its counters, which its front answers at once whatever its workers do.
// A daemon that is silent then is stopped, hung or swapped out. A daemon that answers that and other jobs, but never
// mentioned a job that it was sent long ago, has lost the job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace trident::client {

class AnswerWatch {
 public:
  /// Silence after which the daemon is asked whether it is there, and the time for the answer.
  static constexpr std::uint64_t kSilenceNs = 1'500'000'000, kProbeNs = 1'500'000'000;
  /// Time for the first word of a job: its baseline takes microseconds, after those that the user sent before.
  static constexpr std::uint64_t kFirstWordNs = 10'000'000'000;
  /// For an Accepted that the daemon's front sends at once.
  static constexpr std::uint64_t kAcceptedNs = 5'000'000'000;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  struct Sent {
    std::uint64_t job, due_ns;
  };

  explicit AnswerWatch(std::uint64_t now_ns) : heard_ns_(now_ns) {}

  void heard(std::uint64_t now_ns) { heard_ns_ = now_ns, probed_ns_ = 0; }
  void probed(std::uint64_t now_ns) { probed_ns_ = now_ns; }
  void sent(std::uint64_t job, std::uint64_t now_ns, std::uint64_t patience_ns = kFirstWordNs) {
    const Sent sent{job, now_ns + patience_ns};
    const auto later = [](const Sent& a, const Sent& b) { return a.due_ns < b.due_ns; };
    sent_.insert(std::upper_bound(sent_.begin(), sent_.end(), sent, later), sent);
  }

  [[nodiscard]] bool wants_probe(std::uint64_t now_ns) const {
    return probed_ns_ == 0 && now_ns - heard_ns_ >= kSilenceNs;
  }
  [[nodiscard]] bool is_silent(std::uint64_t now_ns) const {
    return probed_ns_ != 0 && now_ns - probed_ns_ >= kProbeNs;
  }
  /// Time to call the next of these two.
  [[nodiscard]] std::uint64_t look_ns() const {
    return probed_ns_ != 0 ? probed_ns_ + kProbeNs : heard_ns_ + kSilenceNs;
  }

  /// Takes away the oldest job that is overdue, 0 if there is none; those that `is_answered` says are forgotten.
  template <class Answered>
  std::uint64_t take_overdue(std::uint64_t now_ns, Answered is_answered) {
    while (!sent_.empty() && is_answered(sent_.front().job)) sent_.pop_front();
    if (sent_.empty() || now_ns < sent_.front().due_ns) return 0;
    const std::uint64_t job = sent_.front().job;
    sent_.pop_front();
    return job;
  }
  [[nodiscard]] std::uint64_t overdue_ns() const { return sent_.empty() ? kNever : sent_.front().due_ns; }

 private:
  std::uint64_t heard_ns_, probed_ns_ = 0;
  std::deque<Sent> sent_;  ///< the next one due first
};

}  // namespace trident::client
