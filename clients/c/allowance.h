// How much a daemon may send: a bucket of messages and one of bytes, filled by time and by every submission. A daemon
// that floods its clients would otherwise take a processor of each of them.
//
// A client that is overdrawn does not read until the debt is paid: the work of a second is bounded, and the flood stays
// in the daemon's own queue. Debt that lasts for kFloodNs is a flood, and the daemon is given up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace trident::client {

class Allowance {
 public:
  static constexpr std::uint64_t kFloodNs = 3'000'000'000;

  explicit Allowance(std::uint64_t now_ns) : last_ns_(now_ns) {}

  /// A submission was sent: its answers are welcome, two images in the message among them.
  void grant() {
    messages_ = std::min(messages_ + kMessagesPerJob, kMessagesMax);
    bytes_ = std::min(bytes_ + kBytesPerJob, kBytesMax);
  }
  void take(std::size_t messages, std::size_t bytes, std::uint64_t now_ns) {
    refill(now_ns);
    messages_ -= static_cast<double>(messages);
    bytes_ -= static_cast<double>(bytes);
    const double debt_s = std::max(-messages_ / kMessagesPerSecond, -bytes_ / kBytesPerSecond);
    if (debt_s <= 0) return;
    if (indebted_since_ns_ == 0) indebted_since_ns_ = now_ns;
    pause_until_ns_ = now_ns + std::max(kPauseMinNs, static_cast<std::uint64_t>(debt_s * 1e9));
  }
  /// Time to read again; a time in the past means now.
  [[nodiscard]] std::uint64_t pause_until_ns() const { return pause_until_ns_; }
  [[nodiscard]] bool is_flood(std::uint64_t now_ns) const {
    return indebted_since_ns_ != 0 && now_ns - indebted_since_ns_ >= kFloodNs;
  }

 private:
  /// A pause is at least this long, so that paying takes few wake-ups.
  static constexpr std::uint64_t kPauseMinNs = 20'000'000;
  /// Above what the workers of a large machine tell of their progress, 20 lines a second each.
  static constexpr double kMessagesPerSecond = 2000, kBytesPerSecond = 1 << 20;
  static constexpr double kMessagesPerJob = 16, kBytesPerJob = 9 << 18;
  static constexpr double kMessagesAtFirst = 4096, kBytesAtFirst = 4 << 20;
  static constexpr double kMessagesMax = 1 << 18, kBytesMax = 256 << 20;

  void refill(std::uint64_t now_ns) {
    const double seconds = static_cast<double>(now_ns - last_ns_) * 1e-9;
    last_ns_ = now_ns;
    // Time fills up to the first amount; what submissions have granted beyond it stays.
    messages_ = std::max(messages_, std::min(messages_ + seconds * kMessagesPerSecond, kMessagesAtFirst));
    bytes_ = std::max(bytes_, std::min(bytes_ + seconds * kBytesPerSecond, kBytesAtFirst));
    if (messages_ >= kMessagesAtFirst / 2 && bytes_ >= kBytesAtFirst / 2) indebted_since_ns_ = 0;
  }

  std::uint64_t last_ns_, pause_until_ns_ = 0, indebted_since_ns_ = 0;
  double messages_ = kMessagesAtFirst, bytes_ = kBytesAtFirst;
};

}  // namespace trident::client
