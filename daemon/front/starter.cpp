#include "daemon/front/starter.h"

#include "runtime/log/log.h"
#include "runtime/os/inherited.h"

namespace trident::front {

void Starter::watch() {
  auto starter = os::starter_of_standard_error();
  if (!starter) return;
  process_ = std::move(starter->ended);
  auto poller = process_.valid() ? net::Poller::make(loop_, process_) : Result<net::Poller>(net::Poller());
  if (!process_.valid() || !poller.ok()) return release_standard_error();
  ended_ = std::move(*poller);
  ended_.watch(net::Poller::kReadable, [this](int) { release_standard_error(); });
}

void Starter::release_standard_error() {
  log::info(
      "the process that started this daemon has ended, so its standard error is closed and later log lines are lost "
      "(redirect with 2>FILE, or use the systemd unit)");
  ended_ = {};
  os::release_standard_error();
  on_end_();
}

}  // namespace trident::front
