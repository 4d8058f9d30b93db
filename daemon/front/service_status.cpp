#include "daemon/front/service_status.h"

#include <algorithm>

#include "runtime/log/log.h"
#include "runtime/os/service.h"

namespace trident::front {

void tell_status(std::string status, const std::string& state) {
  std::replace(status.begin(), status.end(), '\n', ' ');
  os::notify_service_manager(state + "STATUS=" + status);
}

void Watchdog::start() {
  interval_ns_ = os::watchdog_interval_ns();
  const std::uint64_t interval_ms = interval_ns_ / 1'000'000;
  if (interval_ms == 0) return;
  const std::uint64_t every = std::max<std::uint64_t>(interval_ms / 3, 1);
  timer_.start(
      every, [this] { ping(); }, every);
}

void Watchdog::ping() {
  std::string trouble = jobs_.pool().trouble(interval_ns_);
  if (trouble != told_trouble_) {
    if (!trouble.empty()) log::error("the systemd watchdog is not pinged: {}", trouble);
    tell_status(trouble.empty() ? "serving" : trouble);
    told_trouble_ = trouble;
  }
  if (trouble.empty()) os::notify_service_manager("WATCHDOG=1");
}

}  // namespace trident::front
