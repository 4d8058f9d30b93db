// How much a process asks of the machine.
#pragma once

#include "runtime/base/result.h"

namespace trident::os {

/// From now on the threads that this one starts, and it itself, run where nothing else wants to: SCHED_IDLE, the least
/// priority, input and output when the disk is idle. OsError names the first that the system refused; the others are
/// tried all the same.
Result<void> run_when_idle();

}  // namespace trident::os
