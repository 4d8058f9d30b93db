#include "runtime/os/linger.h"

#include <sched.h>

#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"

namespace trident::os {

void Linger::begin() {
  static const bool alone = usable_cpus() < 2;
  if (!alone) until_ns_ = monotonic_ns() + kNs;
}

bool Linger::goes_on() const {
  if (until_ns_ == 0 || monotonic_ns() >= until_ns_) return false;
  ::sched_yield();
  return true;
}

}  // namespace trident::os
