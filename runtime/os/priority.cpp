#include "runtime/os/priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace trident::os {

Result<void> run_when_idle() {
  constexpr int kLeast = 19;
  constexpr int kIoOfThisThread = 1, kIoIdle = 3 << 13;  // IOPRIO_WHO_PROCESS, IOPRIO_CLASS_IDLE (linux/ioprio.h)
  std::optional<Error> first;
  const auto check = [&](const char* what, bool well) {
    if (!well && !first) first = make_error(ErrorCode::kOsError, "%s: %s", what, std::strerror(errno));
  };
  const sched_param none{};
  check("SCHED_IDLE", ::sched_setscheduler(0, SCHED_IDLE, &none) == 0);
  check("nice 19", ::setpriority(PRIO_PROCESS, 0, kLeast) == 0);
  check("idle input and output", ::syscall(SYS_ioprio_set, kIoOfThisThread, 0, kIoIdle) == 0);
  if (first) return *first;
  return {};
}

}  // namespace trident::os
