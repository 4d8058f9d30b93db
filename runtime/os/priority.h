// How much a process asks of the machine.
#pragma once

#include "runtime/base/result.h"

namespace trident::os {

/// Gives this thread, and threads that it starts from now on, idle priority: SCHED_IDLE, the least nice
/// priority, input and output when the disk is idle. OsError names the first that the system refused; the others are
/// tried all the same.
Result<void> run_when_idle();

}  // namespace trident::os
