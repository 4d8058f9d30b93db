#include "runtime/log/ration.h"

#include <utility>

#include "runtime/os/clock.h"

namespace trident::log {

bool Ration::take_at(std::uint64_t now_ns) {
  if (lines_ == 0 || now_ns - began_ns_ >= interval_ns_) began_ns_ = now_ns, lines_ = 0;
  if (lines_ == lines_max_) {
    ++left_out_;
    return false;
  }
  ++lines_;
  return true;
}

std::string Ration::left_out() {
  const std::uint64_t count = std::exchange(left_out_, 0);
  return count == 0 ? "" : " (and " + std::to_string(count) + " similar lines left out)";
}

std::uint64_t Ration::now_ns() {
  return os::monotonic_ns();
}

}  // namespace trident::log
