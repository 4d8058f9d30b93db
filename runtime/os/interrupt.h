// Ctrl-C: a verb that leaves files or processes behind while it runs ends in order when it is interrupted.
#pragma once

#include "runtime/base/result.h"

namespace trident::os {

/// From now on SIGINT, SIGTERM and SIGHUP are noted instead of ending the process; a second one ends it at once.
void note_interrupts();

/// Cancelled when an interrupt was noted: a verb's loops ask from time to time, and leave by the way of errors.
Result<void> check_interrupted();

/// In a forked child: interrupts end it again.
void restore_interrupts();

}  // namespace trident::os
